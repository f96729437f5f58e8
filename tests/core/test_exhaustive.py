"""Every joint action from every joint state of small worlds, against the reference; more with `--all-worlds`."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest

from multigrid import Delays, GridConfig
from multigrid.core import rules
from multigrid.core.arrays import LEFT, PARKED, TRAVELLING
from multigrid.core.worlds import Worlds
from multigrid.maps._text import ParsedMap
from multigrid.runtime import pcg64
from multigrid.runtime.compiled import COMPILED
from reference import MOVED, Reference, collide, requests, why_refused

pytestmark = pytest.mark.heavy

Cell: TypeAlias = tuple[int, int]

COLLISIONS = ["symmetric", "priority", "block_both", "soft", "none"]
NUM_ACTIONS = 5
DELAY = 5

# The letters are the targets; a world of N agents has the first N of them.
WORLDS = {
    "corner": "AB EC D#",
    "corridor": "AC.B#ED",
    "bay": "A.D.B ##CE#",
    "T": "A.BC #.## ED##",
    "crossing": "#A## BE.C #D##",
    "two regions": ".A#C BE#D",
    "hall": "A.E# C.BD",
    "ring": "A..B .##E C..D",
}
SMALL = [name for name in WORLDS if name != "ring"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose worlds, numbers of agents and rules: three million transitions, or with `--all-worlds` 850 million.

    "lists" is *restart* with lists of targets, in which targets repeat, and are those of others. With delays, to be
    delayed is one of the things that an agent can do.
    Every day, four agents have the worlds with the fewest states, and no case without collisions, where each of them
    plays as it does beside two others; and three agents or four meet two of the rules of collision.
    """
    if metafunc.config.getoption("--all-worlds"):
        cases = list(itertools.product(WORLDS, (2, 3, 4), ("stay", "park", "leave")))
        cases += itertools.product(SMALL, (2, 3, 4), ("restart",))
        cases += itertools.product(SMALL, (5,), ("stay", "park"))
        cases += itertools.product([name for name in SMALL if name != "two regions"], (2, 3, 4), ("lists",))
    else:
        cases = list(itertools.product(SMALL, (2, 3), ("stay",)))
        cases += itertools.product(("corner", "corridor", "crossing", "two regions"), (4,), ("stay",))
        cases += itertools.product(WORLDS, (2, 3), ("park",))
        cases += itertools.product(("corner",), (4,), ("park", "leave"))
        cases += itertools.product(("corner", "T"), (2, 3), ("leave",))
        cases += itertools.product(("corner", "T", "two regions"), (2, 3), ("restart",))
        cases += itertools.product(("corner", "T"), (2, 3), ("lists",))
    # Interpreted kernels play the same game, as other tests show, a hundred times slower.
    most = math.inf if metafunc.config.getoption("--all-worlds") else 3
    chosen = [
        (*case, COLLISIONS[rule])
        for number, case in enumerate(cases)
        for rule in range(5)
        if (COMPILED or case[1] < 4) and (COLLISIONS[rule] != "none" or case[1] <= most)
        if most > 3 or case[1] == 2 or (number + rule) % 5 < 2
    ]
    chosen = [(*case, False) for case in chosen]
    pictures = SMALL if metafunc.config.getoption("--all-worlds") else ("corner", "T")
    for picture, on_target, collisions in itertools.product(pictures, ("stay", "park", "leave"), COLLISIONS):
        chosen.append((picture, 3 if COMPILED and on_target == "park" else 2, on_target, collisions, True))
    metafunc.parametrize(("picture", "num_agents", "on_target", "collisions", "delays"), chosen)


def parsed(picture: str) -> tuple[np.ndarray, list[Cell]]:
    """Walls as bool (W, H), and the targets in the order of their letters."""
    marks = np.array([list(line) for line in picture.split()]).T
    lettered = sorted((str(mark), cell) for cell, mark in np.ndenumerate(marks) if mark.isalpha())
    return marks == "#", [(x, y) for _, (x, y) in lettered]


def joint_states(
    cells: list[Cell], targets: list[Cell], shared: bool, on_target: str
) -> Iterator[tuple[dict[int, Cell], set[int]]]:
    """Where everyone stands who has not left, and who of them is parked, in every way that goes with the targets."""
    agents = range(len(targets))
    for size in agents if on_target == "leave" else [0]:
        for gone in itertools.combinations(agents, size):
            here = [i for i in agents if i not in gone]
            places = itertools.product(cells, repeat=len(here)) if shared else itertools.permutations(cells, len(here))
            for place in places:
                at = dict(zip(here, place, strict=True))
                standing = {i for i in here if at[i] == targets[i]}
                if on_target in ("stay", "lists"):
                    yield at, set()
                elif on_target == "park" and len(standing) < len(agents):
                    yield at, standing
                elif on_target in ("leave", "restart") and not standing:
                    yield at, set()


def how_many_states(cells: int, num_agents: int, shared: bool, on_target: str) -> int:
    """The number of joint states, by formula."""

    def off_target(count: int) -> int:
        if shared:
            return (cells - 1) ** count
        # Inclusion and exclusion: at least k of them stand on their targets.
        ways = (math.comb(count, k) * math.perm(cells - k, count - k) for k in range(min(count, cells) + 1))
        return sum((-1) ** k * ways_of_k for k, ways_of_k in enumerate(ways))

    if on_target == "leave":
        return sum(math.comb(num_agents, count) * off_target(count) for count in range(1, num_agents + 1))
    if on_target == "restart":
        return off_target(num_agents)
    everywhere: int = cells**num_agents if shared else math.perm(cells, num_agents)  # stay, lists, park
    return everywhere - (on_target == "park")


class Judge:
    """What the reference says of all transitions of a world; it is asked once what holds in many of them."""

    def __init__(self, config: GridConfig, walls: np.ndarray, targets: list[Cell], has_lists: bool) -> None:
        """Judge one configuration, with the same targets in every state, or the same lists of them."""
        self.config, self.walls, self.targets = config, walls, targets
        self.reference = Reference(config, targets, targets, walls)
        # Of different lengths; an agent's own target comes twice, or another's once.
        lists = [[cell, cell, targets[i - 1]] if i % 2 else [cell, targets[i - 1]] for i, cell in enumerate(targets)]
        self.lists = lists if has_lists else None
        self.arrivals: dict[Any, tuple[list[Any], bool]] = {}

    def arrive(self, after: tuple[tuple[int, Cell], ...], parked: frozenset[int], seed: int) -> tuple[list[Any], bool]:
        """The rows of `rows_of` after moves to these cells, and whether the episode is over."""
        key = (after, parked, seed)
        if key not in self.arrivals:
            at, reference = dict(after), self.reference
            reference.at, reference.parked = dict(after), set(parked)
            reference.target = dict(enumerate(self.targets_at(seed)))
            reference.generator = np.random.default_rng(seed) if self.config.on_target == "restart" else None
            reference.lists, reference.reached = self.lists, [seed] * len(self.targets)
            reward, terminated = reference.arrive(sorted(at))
            rows = []
            for i, target in reference.target.items():
                x, y = at.get(i, target)
                status = LEFT if i not in reference.at else PARKED if i in reference.parked else TRAVELLING
                distance = abs(x - target[0]) + abs(y - target[1])
                rows.append([x, y, *target, status, reward.get(i, 0.0), terminated.get(i, False), distance])
            over = not reference.at if self.config.on_target == "leave" else all(terminated.values())
            self.arrivals[key] = rows, over
        return self.arrivals[key]

    def targets_at(self, turn: int) -> list[Cell]:
        """The agents' targets after so many arrivals of each; without lists always the same."""
        return self.targets if self.lists is None else [one[turn % len(one)] for one in self.lists]

    def step(
        self, at: dict[int, Cell], parked: set[int], actions: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `rows_of` must be after each joint action, and the outcomes, and where the episode is over."""
        asked = [requests(self.walls, at, parked, dict.fromkeys(at, action)) for action in range(NUM_ACTIONS)]
        asked.append(requests(self.walls, at, parked, dict.fromkeys(at, 0), set(at)))
        choices = {i: sorted({wish[i] for wish, _ in asked}) for i in at}
        # Joint actions in which everyone asks for the same cell differ in no more than why they ask for their own.
        case = np.zeros(len(actions), dtype=int)
        known = np.full(actions.shape, -1)
        for i in at:
            case = case * len(choices[i]) + np.array([choices[i].index(wish[i]) for wish, _ in asked])[actions[:, i]]
            known[:, i] = np.array([outcome.get(i, -1) for _, outcome in asked])[actions[:, i]]
        fixed = frozenset(parked)
        rows, reasons, over = [], [], []
        for wishes in itertools.product(*choices.values()):
            wish = dict(zip(at, wishes, strict=True))
            granted = collide(self.config.collisions, at, wish)
            after = tuple((i, wish[i] if i in granted else cell) for i, cell in at.items())
            arrived, ended = self.arrive(after, fixed, seed)
            rows.append(arrived)
            over.append(ended)
            reasons.append([-1] * len(self.targets))
            for i, cell in at.items():
                if wish[i] != cell:
                    reasons[-1][i] = MOVED if i in granted else why_refused(i, at, wish)
        return np.array(rows)[case], np.where(known == -1, np.array(reasons)[case], known), np.array(over)[case]


def rows_of(world: Worlds) -> np.ndarray:
    """Of each agent of each world: cell, target, status, reward, terminated, distance."""
    w = world.arrays
    return np.concatenate([w.location, w.target, np.stack([w.status, w.rewards, w.terminated, w.distances], -1)], -1)


def test_every_joint_action_from_every_joint_state(
    picture: str, num_agents: int, on_target: str, collisions: str, delays: bool
) -> None:
    """Every transition is the reference's: cells, outcomes, targets, rewards, who is parked, has left or terminates."""
    walls, letters = parsed(WORLDS[picture])
    targets = letters[:num_agents]
    has_lists = on_target == "lists"
    cells = [(int(x), int(y)) for x, y in np.argwhere(~walls)]
    config = GridConfig(
        walls=walls,
        num_agents=num_agents,
        collisions=collisions,
        on_target="restart" if has_lists else on_target,
        reward="shared" if num_agents == 3 else "individual",
        observe=("agent",),
        allow_stay=True,
        max_cycles=None,
        delays=Delays(0.0, (3, 3)) if delays else None,
    )
    # Backwards, because what kernels leave behind would be gone after a step in which everyone stays.
    num_choices = NUM_ACTIONS + delays
    actions = np.array(list(itertools.product(range(num_choices), repeat=num_agents)))[::-1]
    world = Worlds(config, len(actions))
    judge = Judge(config, walls, targets, has_lists)
    if has_lists:
        world = Worlds(dataclasses.replace(config, walls=ParsedMap(walls, targets, judge.lists)), len(actions))
        world.reset()
    transitions = 0
    for number, (at, parked) in enumerate(joint_states(cells, targets, collisions == "none", on_target)):
        # Where nothing is drawn, fewer cases to judge; with lists the seed is the number of arrivals.
        seed = number if on_target == "restart" else number % 7 if has_lists else 0
        here = sorted(at)
        world.arrays.location[:] = [at.get(i, targets[i]) for i in range(num_agents)]
        world.arrays.target[:] = judge.targets_at(seed)
        world.arrays.arrivals[:] = seed
        world.arrays.status[:] = [
            LEFT if i not in at else PARKED if i in parked else TRAVELLING for i in range(num_agents)
        ]
        world.arrays.distances[:] = 0  # what those who have left got, standing on their targets
        pcg64.write_stream(world.arrays.streams[0], np.random.PCG64(seed).state)
        world.arrays.streams[:] = world.arrays.streams[0]
        # What an agent that is delayed wants does not matter.
        world.arrays.actions[:] = np.where(actions == DELAY, np.arange(len(actions))[:, None] % NUM_ACTIONS, actions)
        if delays:
            world.arrays.delay_left[:] = np.where(actions == DELAY, 2, 0)
        assert world.step() == rules.ALL_VALID
        expected, outcomes, over = judge.step(at, parked, actions, seed)
        wrong = (rows_of(world) != expected).any(axis=(1, 2)) | (world.arrays.episode_over != over)
        wrong |= (world.arrays.outcomes != outcomes)[:, here].any(axis=1) | world.arrays.truncated.any(axis=1)
        assert not wrong.any(), (at, parked, actions[wrong.argmax()].tolist())
        transitions += len(wrong)
    assert (
        transitions
        == how_many_states(len(cells), num_agents, collisions == "none", on_target) * num_choices**num_agents
    )
