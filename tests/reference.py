"""The rules for N agents, written a second time: straight from the prose, with dicts, sets and loops.

Nothing here is shared with the package. It is slow, and meant to be obviously right.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from worldgen import components

RIGHT, UP, LEFT, DOWN, STAY = range(5)
STEPS = {RIGHT: (1, 0), UP: (0, 1), LEFT: (-1, 0), DOWN: (0, -1)}
MOVED, STAYED, EDGE, WALL, OCCUPIED, CONTESTED, SWAP, PARKED, DELAYED = range(9)


class Clock:
    """Who is delayed, step by step: a second time, with the probabilities as fractions, and drawn from NumPy."""

    def __init__(self, delays: Any, num_agents: int, seed: int | np.random.PCG64) -> None:
        """Begin with nobody delayed; the generator of a seed, or a given one, is not drawn from."""
        self.delays, self.left = delays, [0] * num_agents
        bits = seed if isinstance(seed, np.random.PCG64) else np.random.PCG64(seed)
        self.stream = np.random.Generator(bits.jumped())
        p, n = Fraction(delays.probability), num_agents
        if delays.events == "bernoulli":
            exactly = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        else:
            # e to the power of -np, far beyond a double's digits.
            none = sum(((-n * p) ** k / Fraction(math.factorial(k)) for k in range(150)), Fraction(0))
            exactly = [none * (n * p) ** k / math.factorial(k) for k in range(n + 1)]
        self.at_most = rounded(itertools.accumulate(exactly))
        least, most = delays.duration
        span, normal = most - least, statistics.NormalDist
        if delays.durations == "uniform":
            self.at_most_steps = rounded(Fraction(k + 1, span + 1) for k in range(span + 1))
        else:
            bell = normal(delays.mean_ratio * span, max(delays.std_ratio * span, 1e-9))
            self.at_most_steps = rounded(bell.cdf(k + 0.5) for k in range(span + 1))

    def draw(self, at_most: list[float]) -> int:
        """A number whose probability of at most k is known; nothing is drawn if there is one only."""
        if len(at_most) == 1:
            return 0
        share = self.stream.random()
        return min(k for k, one in enumerate(at_most) if share < one)

    def tick(self) -> set[int]:
        """The agents that are delayed in the next step."""
        self.left = [max(one - 1, 0) for one in self.left]
        count = self.draw(self.at_most)
        bernoulli = self.delays.events == "bernoulli"
        pool = [i for i, one in enumerate(self.left) if bernoulli or one == 0]
        for k in range(min(count, len(pool))):
            other = k + int(self.stream.random() * (len(pool) - k))
            pool[k], pool[other] = pool[other], pool[k]
            if self.left[pool[k]] == 0:
                self.left[pool[k]] = self.delays.duration[0] + self.draw(self.at_most_steps)
        return {i for i, one in enumerate(self.left) if one}


def rounded(shares: Iterable[Any]) -> list[float]:
    """Probabilities to 40 binary digits, the last one 1."""
    return [*(min(round(one * 2**40) / 2**40, 1.0) for one in list(shares)[:-1]), 1.0]


def requests(
    walls: np.ndarray,
    at: dict[int, tuple[int, int]],
    parked: set[int],
    actions: dict[int, int],
    delayed: Collection[int] = (),
) -> Any:
    """What each agent asks for, and what is known of the outcome before anybody else is looked at."""
    wish, outcome = {}, {}
    for i, (x, y) in at.items():
        wish[i] = (x, y)
        if i in parked:
            outcome[i] = PARKED
        elif i in delayed:
            outcome[i] = DELAYED
        elif actions[i] == STAY:
            outcome[i] = STAYED
        else:
            dx, dy = STEPS[actions[i]]
            to = (x + dx, y + dy)
            if not (0 <= to[0] < walls.shape[0] and 0 <= to[1] < walls.shape[1]):
                outcome[i] = EDGE
            elif walls[to]:
                outcome[i] = WALL
            else:
                wish[i] = to
    return wish, outcome


def collide(rule: str, at: dict[int, tuple[int, int]], wish: dict[int, tuple[int, int]]) -> set[int]:
    """Who of those that ask for another cell gets it."""
    movers = [i for i in sorted(at) if wish[i] != at[i]]

    def newcomers(cell: tuple[int, int]) -> list[int]:
        return [i for i in movers if wish[i] == cell]

    def swaps(i: int) -> bool:
        return any(j != i and at[j] == wish[i] and wish[j] == at[i] for j in at)

    if rule == "none":
        return set(movers)
    if rule == "priority":
        now, granted = dict(at), set()
        for i in movers:
            if wish[i] not in now.values():
                now[i] = wish[i]
                granted.add(i)
        return granted
    if rule == "block_both":
        return {i for i in movers if wish[i] not in at.values() and len(newcomers(wish[i])) == 1}
    if rule == "symmetric":
        granted = {i for i in movers if len(newcomers(wish[i])) == 1 and not swaps(i)}
    else:
        assert rule == "soft"
        unswapped = [i for i in movers if not swaps(i)]
        granted = {i for i in unswapped if i == min(j for j in unswapped if wish[j] == wish[i])}
    while True:
        held = {i for i in granted if any(at[j] == wish[i] and j not in granted for j in at)}
        if not held:
            return granted
        granted -= held


def why_refused(i: int, at: dict[int, tuple[int, int]], wish: dict[int, tuple[int, int]]) -> int:
    """The first of swap, contested and occupied that holds."""
    others = [j for j in at if j != i]
    if any(at[j] == wish[i] and wish[j] == at[i] for j in others):
        return SWAP
    return CONTESTED if any(wish[j] == wish[i] and at[j] != wish[i] for j in others) else OCCUPIED


class Reference:
    """One world. `generator` is drawn from for the next targets of *restart* only."""

    def __init__(self, config: Any, agents: Any, targets: Any, walls: Any, generator: Any = None) -> None:
        """Begin an episode from a layout by hand; for lists of targets, set `lists` to one for each agent."""
        self.config, self.walls, self.generator = config, walls, generator
        self.reachable = components(walls)
        self.n = config.num_agents
        self.at = {i: tuple(cell) for i, cell in enumerate(np.asarray(agents).tolist())}
        self.target = {i: tuple(cell) for i, cell in enumerate(np.asarray(targets).tolist())}
        self.lists: list[list[tuple[int, ...]]] | None = None
        self.reached = [0] * self.n
        self.clock: Clock | None = None
        self.delayed: set[int] = set()
        self.parked: set[int] = set()
        self.stood: set[int] = set()
        self.arrived: dict[int, int] = {}
        self.steps = 0
        self.over = False

    def step(self, actions: dict[int, int]) -> dict[int, tuple[Any, float, bool, bool, float, int]]:
        """For each agent that was here: observation, reward, terminated, truncated, distance, outcome."""
        self.steps += 1
        here = sorted(self.at)
        held_up = set() if self.clock is None else self.clock.tick()
        self.delayed = (held_up & set(self.at)) - self.parked
        wish, outcome = requests(self.walls, self.at, self.parked, actions, self.delayed)
        granted = collide(self.config.collisions, self.at, wish)
        for i in here:
            if i not in outcome:
                outcome[i] = MOVED if i in granted else why_refused(i, self.at, wish)
        for i in granted:
            self.at[i] = wish[i]
        last_seen = dict(self.at)

        reward, terminated = self.arrive(here)
        at_limit = self.config.max_cycles is not None and self.steps >= self.config.max_cycles
        self.over = at_limit or (all(terminated.values()) if self.config.on_target != "leave" else not self.at)
        return {
            i: (
                self.observe(i, last_seen[i]),
                reward[i],
                terminated[i],
                at_limit,
                float(sum(abs(a - b) for a, b in zip(last_seen[i], self.target[i], strict=True))),
                outcome[i],
            )
            for i in here
        }

    def arrive(self, here: list[int]) -> tuple[dict[int, float], dict[int, bool]]:
        """What follows from standing on one's target: rewards and terminations."""
        reward, terminated = dict.fromkeys(here, 0.0), dict.fromkeys(here, False)
        mode = self.config.on_target
        standing = [i for i in here if self.at[i] == self.target[i]]
        # Nobody arrives where it has stood in the step before, but under restart, where its target is another then.
        self.arrived = {i: int(i in standing and (mode == "restart" or i not in self.stood)) for i in here}
        self.stood = set(standing)
        for i in standing:
            if mode == "park" and i not in self.parked:
                reward[i] = 1.0
                self.parked.add(i)
            elif mode == "leave":
                reward[i] = 1.0
                terminated[i] = True
            elif mode == "restart" and self.lists is not None:
                reward[i] = 1.0
                self.reached[i] += 1
                self.target[i] = self.lists[i][self.reached[i] % len(self.lists[i])]
            elif mode == "restart":
                reward[i] = 1.0
                free = self.reachable[self.at[i]] - {self.at[i]}
                while True:
                    x = int(self.generator.integers(self.walls.shape[0]))
                    y = int(self.generator.integers(self.walls.shape[1]))
                    if (x, y) in free:
                        break
                self.target[i] = (x, y)
        if mode in ("park", "stay") and len(standing) == len(here):
            terminated = dict.fromkeys(here, True)
            if mode == "stay":
                reward = dict.fromkeys(here, 1.0)
        if mode == "leave":
            for i in standing:
                del self.at[i]
        if self.config.reward == "shared":
            reward = dict.fromkeys(here, sum(reward.values()) / len(here))
        return reward, terminated

    def observe(self, i: int, me: tuple[int, int]) -> Any:
        """The parts in order: a dict of arrays, or with `flatten` one vector, but for the action mask beside it."""
        w, h = self.walls.shape
        r = self.config.view_radius
        parts: dict[str, Any] = {}
        for part in self.config.parts:
            if part == "agent":
                seen = np.array(me)
            elif part == "target":
                seen = np.array(self.target[i])
            elif part == "others":
                seen = np.array([self.at.get(j, (-1, -1)) for j in range(self.n) if j != i]).reshape(-1, 2)
            elif part == "offset":
                seen = np.array(self.target[i]) - np.array(me)
            elif part == "view":
                seen = np.zeros((3, 2 * r + 1, 2 * r + 1))
                for a in range(2 * r + 1):
                    for b in range(2 * r + 1):
                        cell = (me[0] + a - r, me[1] + b - r)
                        outside = not (0 <= cell[0] < w and 0 <= cell[1] < h)
                        seen[0, a, b] = outside or self.walls[cell]
                        seen[1, a, b] = cell in self.at.values()
                toward = [min(max(t - m, -r), r) + r for t, m in zip(self.target[i], me, strict=True)]
                seen[2][tuple(toward)] = 1
            elif part == "walls":
                seen = np.array(self.walls, dtype=int)
            elif part in ("delayed", "delay_left"):
                left = self.clock.left[i] if self.clock is not None and i in self.delayed else 0
                seen = np.array([left > 0 if part == "delayed" else max(left - 1, 0)], dtype=int)
            else:
                free = [
                    0 <= me[0] + dx < w and 0 <= me[1] + dy < h and not self.walls[me[0] + dx, me[1] + dy]
                    for dx, dy in STEPS.values()
                ]
                seen = np.array(free + [True] * self.config.allow_stay, dtype=int)
            parts[part] = seen
        if not self.config.flatten:
            return parts
        flat, mask = [], parts.pop("action_mask", None)
        for part, seen in parts.items():
            for k, value in enumerate(seen.ravel().tolist()):
                side = (w, h)[k % 2] - 1
                scaled = part == "offset" or (part in ("agent", "target", "others") and value >= 0)
                flat.append((value / side if side else 0.0) if scaled else value)
        vector = np.array(flat, dtype=np.float32)
        return vector if mask is None else {"observation": vector, "action_mask": mask}

    def state(self) -> list[list[int]]:
        """x, y, target x, target y of each agent; -1s for one that has left."""
        return [[*self.at[i], *self.target[i]] if i in self.at else [-1] * 4 for i in range(self.n)]
