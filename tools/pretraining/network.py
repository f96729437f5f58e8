"""The network in torch, with the weights of `multigrid.policies._network`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multigrid.planning._pibt import NUM_SCORES
from multigrid.policies._network import NUM_WAYS, Weights, add_gradients, add_vectors, describe_ways
from multigrid.policies._surroundings import NUM_AGENT_BITS, NUM_CELLS, NUM_GROUNDS, Windows

# The standard deviation of the vectors' parts at the beginning: the sums of windows are then of the order of 1.
_SPREAD = 0.06


class _Sum(torch.autograd.Function):
    """The sum of the vectors of a window's codes, and its gradients."""

    @staticmethod
    def forward(ctx: Any, windows: Windows, ground: Tensor, agents: Tensor) -> Tensor:
        sums = np.zeros((len(windows.ways), ground.shape[2]), np.float32)
        add_vectors(windows.grounds, windows.agents, ground.detach().numpy(), agents.detach().numpy(), sums)
        ctx.windows, ctx.shapes = windows, (ground.shape, agents.shape)
        return torch.from_numpy(sums)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, Tensor, Tensor]:
        of_ground, of_agents = (np.zeros(shape, np.float32) for shape in ctx.shapes)
        windows = ctx.windows
        add_gradients(windows.grounds, windows.agents, gradients[0].contiguous().numpy(), of_ground, of_agents)
        return None, torch.from_numpy(of_ground), torch.from_numpy(of_agents)


class Network(nn.Module):
    """The scores of the actions of R agents, float32 (R, 5), for their windows.

    Args:
        hidden: H, I and J, the numbers of units of the hidden layers.
    """

    def __init__(self, hidden: tuple[int, int, int] = (448, 128, 64)) -> None:
        super().__init__()
        first, second, third = hidden
        self.ground = nn.Parameter(torch.randn(NUM_CELLS, NUM_GROUNDS, first) * _SPREAD)
        self.agents = nn.Parameter(torch.randn(NUM_CELLS, NUM_AGENT_BITS, first) * _SPREAD)
        self.ways = nn.Linear(NUM_WAYS, first)
        self.second, self.third = nn.Linear(first, second), nn.Linear(second, third)
        self.last = nn.Linear(third, NUM_SCORES)

    def forward(self, windows: Windows) -> Tensor:
        """Return the scores, float32 (R, 5)."""
        sums: Tensor = _Sum.apply(windows, self.ground, self.agents)  # type: ignore[no-untyped-call]
        units = torch.relu(sums + self.ways(torch.from_numpy(describe_ways(windows.ways))))
        scores: Tensor = self.last(torch.relu(self.third(torch.relu(self.second(units)))))
        return scores

    def weights(self) -> Weights:
        """Return a copy of the weights for `multigrid.policies._network.score`."""
        layers = [
            part for layer in (self.ways, self.second, self.third, self.last) for part in (layer.weight.T, layer.bias)
        ]
        return Weights(*(np.array(part.detach().numpy(), order="C") for part in (self.ground, self.agents, *layers)))
