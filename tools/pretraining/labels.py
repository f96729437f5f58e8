"""Labels: the actions that planners take from the states that the network leads to.

The network plays many worlds. From time to time a planner plans from the present state, and the actions of its plan are
labels: of the present state, and of the states that the plan leads to. LaCAM* plans the rest of an episode; in lifelong
worlds, windowed planning plans the next five steps. So the network learns what to do after its own mistakes (DAgger:
Ross, Gordon and Bagnell, AISTATS 2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._files import replace_file
from multigrid.actions import Action
from multigrid.config import GridConfig
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._controllers import Batch
from multigrid.planning._graph import Graph, build_graph
from multigrid.planning._lacam import search
from multigrid.planning._neighbourhoods import Windowed
from multigrid.planning._search import Budget, SearchProblem, count_costs
from multigrid.policies._network import Weights, score
from multigrid.policies._past import Patience, Temperatures
from multigrid.policies._surroundings import ARRIVED, NUM_CELLS, Surroundings, Windows
from tools.pretraining.worlds import sample_world

# The steps for which the worlds of a configuration are played; those that end begin another episode.
_STEPS = 128
# As many worlds of a configuration are played at once as have this number of agents together, within limits: so
# configurations with few agents and with many give about as many labels.
_NUM_AGENTS, _FEWEST_WORLDS, _MOST_WORLDS = 192, 4, 48
# LaCAM* expands at most one of these numbers of nodes, at random: more give better plans, fewer take less time. With at
# least this number of agents it expands more, for in crowded mazes it seldom finds a plan with few.
_EXPANSIONS, _MANY, _EXPANSIONS_OF_MANY = (200, 400, 800), 32, (1000, 4000)
# The number of steps until a world's next plan is random, from the first number to below the second; plans of lifelong
# worlds give labels of fewer steps, and are made more often.
_STEPS_BETWEEN_PLANS, _LIFELONG_STEPS_BETWEEN_PLANS = (4, 16), (2, 8)
# A plan gives labels of its first steps, because the network itself seldom reaches the states of later ones; but this
# share of plans give labels of all steps, for states in which most agents have arrived are reached seldom, too.
_FOLLOWED_STEPS, _WHOLE_PLANS = 12, 0.25
# The share that is kept of labels of agents that stay on their targets: they are many, and easy to learn.
_KEPT_RESTS = 0.25
# A plan is imitated if its cost is at most this many times the lower bound and this many steps for each agent: others
# lead agents on detours for which nothing in their sight is the reason.
_RATIO, _DELAY = 2.2, 6
# Lifelong plans have more steps, but later ones depend more and more on targets that nobody knows yet.
_LIFELONG_STEPS = 5
# How often a lifelong plan is improved for each agent: more often than by a controller, which goes on with the plan of
# the step before, while these plans are new.
_ROUNDS_PER_AGENT = 40
# The share of configurations that are played with a shield, which leads to other states.
_SHARE_OF_SHIELDED = 0.4
# The range of the lowest temperature, and that of the steps before it rises, from the first number to below the second:
# see `Temperatures`. They vary, so that the policy's own can be chosen afterwards.
_CALM, _PATIENCE = (0.1, 0.5), (2, 11)


class Labels(NamedTuple):
    """R windows and the actions that the planner takes there."""

    grounds: NDArray[np.uint8]
    """As in `Windows`."""
    agents: NDArray[np.uint16]
    """As in `Windows`."""
    ways: NDArray[np.int32]
    """As in `Windows`."""
    actions: NDArray[np.uint8]
    """uint8 (R,)."""

    def take(self, rows: NDArray[Any]) -> Labels:
        """Return the labels with some indices, or those where bools are True."""
        return Labels(self.grounds[rows], self.agents[rows], self.ways[rows], self.actions[rows])


def write_labels(file: Path, weights_file: Path, seed: int, number: int, count: int) -> None:
    """Produce the labels of a round, and write them to a file; see `produce`.

    Agents have the weights in the second file; if it is missing, they make random moves.
    """
    weights = None
    if weights_file.exists():
        with np.load(weights_file) as arrays:
            weights = Weights(**arrays)
    labels = produce(weights, seed, number, count)
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez(out, **labels._asdict())


def produce(weights: Weights | None, seed: int, number: int, count: int) -> Labels:
    """Return at least `count` labels, in random order; they depend on the arguments alone.

    Args:
        weights: of the network that plays; None if the agents make random moves.
        seed: of the training.
        number: of the round.
        count: the number of labels.

    >>> labels = produce(None, seed=0, number=0, count=100)
    >>> len(labels.actions) >= 100, labels.grounds.shape == (len(labels.actions), 121)
    (True, True)
    """
    generator = np.random.default_rng([seed, number])
    parts, total = [], 0
    while total < count:
        for labels in _play(weights, sample_world(generator), generator):
            parts.append(labels)
            total += len(labels.actions)
    labels = join(parts)
    return labels.take(generator.permutation(total))


def join(parts: list[Labels]) -> Labels:
    """Return the labels of several parts, one after the other."""
    return Labels(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _play(weights: Weights | None, config: GridConfig, generator: np.random.Generator) -> Iterator[Labels]:
    """Play worlds of a configuration, and yield the labels of each plan."""
    num_worlds = int(np.clip(_NUM_AGENTS // config.num_agents, _FEWEST_WORLDS, _MOST_WORLDS))
    envs = MultiGridVectorEnv(config, num_worlds)
    envs.reset(seed=int(generator.integers(2**31)))
    batch = Batch(config, num_worlds)
    surroundings = Surroundings(batch.tables, num_worlds, config.num_agents)
    graphs = [build_graph(walls) for walls in config.is_wall]
    pause = _LIFELONG_STEPS_BETWEEN_PLANS if config.on_target == "restart" else _STEPS_BETWEEN_PLANS
    is_shielded = weights is not None and generator.random() < _SHARE_OF_SHIELDED
    calm = float(generator.uniform(*_CALM))
    patience = Patience(Temperatures(calm, 1.0, int(generator.integers(*_PATIENCE)), arrived=calm))
    left = np.zeros(num_worlds, np.int64)
    for _ in range(_STEPS):
        states = envs.get_state()
        windows = surroundings.observe(states)
        for world in np.flatnonzero(~states["episode_over"] & (left <= 0)).tolist():
            graph = graphs[states["map_index"][world]]
            cells, goals = (graph.index[tuple(states[name][world].T)] for name in ("location", "target"))
            if config.on_target == "restart":
                steps = _plan_steps(batch, states, world, generator)
                yield _label_travellers(surroundings, graph, steps, goals, world)
            elif (plan := _plan(graph, cells, goals, generator)) is not None:
                yield _label(surroundings, graph, plan, world, generator)
            left[world] = generator.integers(*pause)
        left -= 1
        scores = _sample(weights, windows, patience.observe(states, windows.ways), generator)
        envs.step(batch.choose(states, scores) if is_shielded else scores.argmax(axis=1))


def _sample(
    weights: Weights | None, windows: Windows, temperatures: NDArray[np.float32], generator: np.random.Generator
) -> NDArray[np.float32]:
    """Return scores with noise: the largest is that of an action with the probability that the network gives it."""
    num_agents = len(windows.ways)
    scores = np.zeros((num_agents, len(Action)), np.float32) if weights is None else score(weights, windows)
    noise: NDArray[np.float32] = generator.gumbel(size=scores.shape).astype(np.float32)
    scores += temperatures[:, None] * noise
    return scores


def _plan(
    graph: Graph, cells: NDArray[np.int32], goals: NDArray[np.int32], generator: np.random.Generator
) -> NDArray[np.int32] | None:
    """Return the cells of agents in each step of a plan, int32 (T + 1, N); None if none is found that is worth it."""
    seed = int(generator.integers(2**31))
    expansions = int(generator.choice(_EXPANSIONS if len(goals) < _MANY else _EXPANSIONS_OF_MANY))
    budget = Budget(time_limit=None, max_expansions=expansions).start()
    found = search(SearchProblem(graph, cells, goals, "stay", None), budget, seed)
    if found.paths is None:
        return None
    cost = count_costs(found.paths, goals, "stay").sum()
    return found.paths if cost <= _RATIO * found.lower_bound + _DELAY * len(goals) else None


def _plan_steps(
    batch: Batch, states: Mapping[str, Any], world: int, generator: np.random.Generator
) -> NDArray[np.int32]:
    """Return the cells of agents in each of the next steps of a lifelong world, int32 (T + 1, N)."""
    map_index = int(states["map_index"][world])
    rounds = _ROUNDS_PER_AGENT * states["location"].shape[1]
    plan = Windowed(batch.make_team(map_index), "restart", int(generator.integers(2**31)), rounds=rounds)
    cells, goals, rows = (part[world] for part in batch.tables.locate(states))
    plan.advance(cells, goals, rows, states["arrival_step"][world], int(states["steps"][world]))
    return plan.paths[: _LIFELONG_STEPS + 1]


def _label_travellers(
    surroundings: Surroundings, graph: Graph, plan: NDArray[np.int32], goals: NDArray[np.int32], world: int
) -> Labels:
    """Return the labels of a plan, those of each agent until it has arrived: then it would have another target."""
    is_travelling = np.logical_and.accumulate(plan[:-1] != goals).ravel()
    return _follow(surroundings, graph, plan, world).take(is_travelling)


def _label(
    surroundings: Surroundings, graph: Graph, plan: NDArray[np.int32], world: int, generator: np.random.Generator
) -> Labels:
    """Return the labels of a plan: often of its first steps only, and of few of the agents that have arrived."""
    if generator.random() >= _WHOLE_PLANS:
        plan = plan[: _FOLLOWED_STEPS + 1]
    labels = _follow(surroundings, graph, plan, world)
    is_resting = ((labels.agents[:, NUM_CELLS // 2] & ARRIVED) != 0) & (labels.actions == Action.STAY)
    return labels.take(~is_resting | (generator.random(len(labels.actions)) < _KEPT_RESTS))


def _follow(surroundings: Surroundings, graph: Graph, plan: NDArray[np.int32], world: int) -> Labels:
    windows = surroundings.follow(graph.cells[plan], world)
    actions = (graph.neighbours[plan[:-1]] == plan[1:, :, None]).argmax(axis=2).ravel()
    return Labels(*windows, actions.astype(np.uint8))
