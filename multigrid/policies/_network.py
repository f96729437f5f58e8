"""The scores of actions, computed from surroundings by a small network, without torch.

The first hidden layer adds up vectors: one for the code of the ground of each cell, and one for each bit of its agents'
code. That equals a dense layer on one-hot codes, whose zeros take no time. Two more hidden layers and the scores
follow. All sums have a fixed order, so that the same weights and windows give the same scores on every machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid.planning._graph import Ints
from multigrid.planning._kernels import inlined, kernel
from multigrid.planning._pibt import NUM_SCORES
from multigrid.policies._surroundings import NUM_CELLS, Windows

NUM_WAYS = 2  # the number of features of the way to the target, see `describe_ways`
_LONGEST, _SCALE = 64, 32.0


class Weights(NamedTuple):
    """The weights of a network with hidden layers of H, I and J units."""

    ground: Any  # float32 (121, 20, H): the vector of each code of the ground of each cell
    agents: Any  # float32 (121, 16, H): the vector of each bit of the agents' code of each cell
    ways: Any  # float32 (2, H)
    bias: Any  # float32 (H,)
    second: Any  # float32 (H, I)
    second_bias: Any  # float32 (I,)
    third: Any  # float32 (I, J)
    third_bias: Any  # float32 (J,)
    last: Any  # float32 (J, 5)
    last_bias: Any  # float32 (5,)


def describe_ways(ways: Ints) -> NDArray[np.float32]:
    """Return the features of lengths of ways, float32 (R, 2)."""
    lengths = ways.astype(np.float32)
    return np.stack([np.minimum(lengths, _LONGEST) / np.float32(_SCALE), 1 / (1 + lengths)], axis=1)


def score(weights: Weights, windows: Windows) -> NDArray[np.float32]:
    """Return the scores of the actions of all agents, float32 (R, 5); agents that have left have zeros."""
    scratch = np.empty_like(weights.bias), np.empty_like(weights.second_bias), np.empty_like(weights.third_bias)
    scores = np.zeros((len(windows.ways), NUM_SCORES), np.float32)
    present = np.maximum(windows.ways, 0)
    _score(weights, windows, describe_ways(present), scratch, scores)
    return scores


@kernel
def _score(weights: Weights, windows: Windows, ways: Any, scratch: Any, scores: Any) -> None:
    first, second, third = scratch
    for r in range(scores.shape[0]):
        if windows.ways[r] < 0:
            continue
        first[:] = weights.bias
        for f in range(ways.shape[1]):
            for h in range(first.shape[0]):
                first[h] += ways[r, f] * weights.ways[f, h]
        _add_vectors(windows.grounds[r], windows.agents[r], weights.ground, weights.agents, first)
        _add_layer(first, weights.second, weights.second_bias, second)
        _add_layer(second, weights.third, weights.third_bias, third)
        _add_layer(third, weights.last, weights.last_bias, scores[r])


@kernel
def add_vectors(grounds: Any, agents: Any, ground_vectors: Any, agent_vectors: Any, outputs: Any) -> None:
    """Add the vectors of the codes of R windows to float32 (R, H)."""
    for r in range(outputs.shape[0]):
        _add_vectors(grounds[r], agents[r], ground_vectors, agent_vectors, outputs[r])


@kernel
def add_gradients(grounds: Any, agents: Any, gradients: Any, ground_vectors: Any, agent_vectors: Any) -> None:
    """Add the gradients of R outputs of `add_vectors`, float32 (R, H), to those of the vectors."""
    for r in range(gradients.shape[0]):
        for k in range(NUM_CELLS):
            _add(ground_vectors[k, grounds[r, k]], gradients[r])
            bits = agents[r, k]
            b = 0
            while bits > 0:
                if bits & 1:
                    _add(agent_vectors[k, b], gradients[r])
                bits >>= 1
                b += 1


@inlined
def _add_vectors(grounds: Any, agents: Any, ground_vectors: Any, agent_vectors: Any, output: Any) -> None:
    for k in range(NUM_CELLS):
        _add(output, ground_vectors[k, grounds[k]])
        bits = agents[k]
        b = 0
        while bits > 0:
            if bits & 1:
                _add(output, agent_vectors[k, b])
            bits >>= 1
            b += 1


@inlined
def _add(output: Any, vector: Any) -> None:
    for h in range(output.shape[0]):
        output[h] += vector[h]


@inlined
def _add_layer(inputs: Any, matrix: Any, bias: Any, outputs: Any) -> None:
    """Write the outputs of a layer; inputs that are not positive count as 0."""
    outputs[:] = bias
    for k in range(inputs.shape[0]):
        value = inputs[k]
        if value > 0:
            for h in range(outputs.shape[0]):
                outputs[h] += value * matrix[k, h]
