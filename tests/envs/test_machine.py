"""Whatever is mixed in (saved states, copies, frames, draws, mistakes), the game is the one of a slow, plain model.

A machine keeps several envs of one configuration. Beside each of them stands a model that is reset and stepped in the
same way, and a log by which a fresh env, that never gets anything else, must come to the same place.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import pickle
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.error import Error, ResetNeeded
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

import helpers
from judged import lists_of, some_config
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv, RowColumnGridWorldEnv
from multigrid.config import OnTarget
from multigrid.maps._text import ParsedMap
from oracle import DocumentedRowColumn, Oracle, plain
from reference import DELAYED, STAYED, Clock, Reference
from worldgen import oracle_layout

pytestmark = pytest.mark.heavy

SEEDS = st.integers(0, 2**32 - 1)
MOST_ENVS = 4
BIT_GENERATORS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.SFC64, np.random.Philox]


def listed(value: Any) -> Any:
    """The same in lists, so that it compares with ==: a NaN as None, and what is as large as a frame as a checksum."""
    if isinstance(value, dict):
        return {key: listed(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [listed(one) for one in value]
    if isinstance(value, np.ndarray):
        if value.size > 10_000:
            return zlib.crc32(np.ascontiguousarray(value))
        return listed(value.tolist()) if value.dtype.kind == "f" else value.tolist()
    return None if isinstance(value, float) and math.isnan(value) else value


def maps_of(config: GridConfig) -> list[np.ndarray]:
    """The maps to choose from, bool (W, H)."""
    return [np.zeros((config.width, config.height), dtype=bool)] if config.maps is None else list(config.maps)


class Slow:
    """What a model has of its own: a stream, and whether somebody has replaced it."""

    np_random_seed: int
    stream: np.random.Generator

    def replace(self, generator: np.random.Generator) -> None:
        """Go on with another stream."""
        self.stream, self.np_random_seed = generator, -1
        if type(generator.bit_generator) is np.random.PCG64:
            self.renew(generator.bit_generator)

    def renew(self, bits: np.random.PCG64) -> None:
        """Begin what else depends on the seed."""

    def seed(self, seed: int | None) -> None:
        """Begin the stream anew, or go on with it."""
        if seed is not None:
            self.stream, self.np_random_seed = np.random.default_rng(seed), seed
            self.renew(np.random.PCG64(seed))

    np_random = property(lambda self: self.stream, replace)


class SlowMultiGrid(Slow):
    """MultiGridEnv from the prose: layouts of the oracle, play of the reference, draws of NumPy, figures by hand."""

    def __init__(self, config: GridConfig) -> None:
        self.config = config
        self.game: Any = None
        self.clock: Clock | None = None

    def renew(self, bits: np.random.PCG64) -> None:
        """Begin the stream of delays."""
        if self.config.delays is not None:
            before, self.clock = self.clock, Clock(self.config.delays, self.config.num_agents, bits)
            if before is not None:
                self.clock.left = before.left
            if self.game is not None:
                self.game.clock = self.clock

    def copied(self) -> SlowMultiGrid:
        """A copy with a stream of its own. A configuration never changes, and is slow to copy."""
        return copy.deepcopy(self, {id(self.config): self.config})

    @property
    def max_cycles(self) -> int | None:
        """The limit of steps."""
        return self.config.max_cycles

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        self.config = self.game.config = dataclasses.replace(self.config, max_cycles=limit)

    @property
    def over(self) -> bool:
        """Whether the episode has ended for everyone."""
        return bool(self.game.over)

    @property
    def agents(self) -> list[str]:
        """Who is still there."""
        return [] if self.over else [f"agent_{i}" for i in sorted(self.game.at)]

    def reset(self, seed: int | None, options: Any) -> Any:
        """Begin an episode; return observations and infos."""
        self.seed(seed)
        options, n, lists = options or {}, self.config.num_agents, None
        maps, index = maps_of(self.config), options.get("map")
        if self.config.least_agents is not None and "agents" not in options:
            n = int(self.stream.integers(self.config.least_agents, n, endpoint=True))
        if "agents" in options:
            index, agents, targets = index or 0, options["agents"], options["targets"]
            n = len(agents)
        elif isinstance(self.config.walls, ParsedMap):
            index = int(self.stream.integers(len(maps))) if index is None else index
            agents, targets = self.config.layouts[index, :, :2], self.config.layouts[index, :, 2:]
            lists = None if self.config.target_lists is None else lists_of(self.config.target_lists[index])
        elif index is None:
            index, agents, targets = oracle_layout(maps, n, self.stream)
        else:
            _, agents, targets = oracle_layout([maps[index]], n, self.stream)
        self.game = Reference(self.config, agents, targets, maps[index])
        self.game.lists = lists
        self.delayed = 0
        if self.clock is not None:
            self.clock.left = [0] * self.config.num_agents
            self.game.clock = self.clock
        self.arrival_step: dict[int, int] = {}
        self.arrived, self.count = [0] * self.config.num_agents, n
        far = np.abs(np.subtract(agents, targets)).sum(axis=1).tolist()
        infos = {f"agent_{i}": {"distance": far[i], "outcome": STAYED, "arrived": 0} for i in range(n)}
        return {f"agent_{i}": self.game.observe(i, at) for i, at in self.game.at.items()}, infos

    def step(self, actions: dict[str, int]) -> Any:
        """Play a step; return observations, rewards, terminations, truncations and infos."""
        if self.over:
            return {}, {}, {}, {}, {}
        self.game.generator = self.stream
        moved = self.game.step({int(agent.removeprefix("agent_")): action for agent, action in actions.items()})
        for i in moved:
            if i not in self.game.at or self.game.at[i] == self.game.target[i]:
                self.arrival_step.setdefault(i, self.game.steps)
            else:
                self.arrival_step.pop(i, None)
            self.arrived[i] += self.game.arrived[i]
        seen, rewards, terminated, truncated, far, outcomes = (
            dict(zip((f"agent_{i}" for i in moved), column, strict=True))
            for column in zip(*moved.values(), strict=True)
        )
        self.delayed += list(outcomes.values()).count(DELAYED)
        arrived = {f"agent_{i}": count for i, count in self.game.arrived.items()}
        infos = {
            agent: {"distance": far[agent], "outcome": outcomes[agent], "arrived": arrived[agent]} for agent in far
        }
        return seen, rewards, terminated, truncated, infos

    def shown(self) -> Any:
        """Who is there, the limit, the state and the metrics."""
        n, steps = self.count, self.game.steps
        rest: list[Any]
        if self.config.on_target == "restart":
            success, arrival_step = [count > 0 for count in self.arrived], [None] * n
            rest = [None] * 4 + [sum(self.arrived) / steps if steps else None]
        else:
            success, arrival_step = (
                [i in self.arrival_step for i in range(n)],
                list(map(self.arrival_step.get, range(n))),
            )
            costs = [self.arrival_step.get(i, steps) for i in range(n)]
            rest = [float(all(success)), sum(success) / n, sum(costs), max(costs), None]
        names = ("success", "arrival_step", "csr", "isr", "sum_of_costs", "makespan", "throughput")
        absent = self.config.num_agents - n
        success, arrival_step = success[:n] + [False] * absent, arrival_step + [None] * absent
        metrics = dict(zip(names, [success, arrival_step, *rest], strict=True))
        metrics |= {} if self.config.delays is None else {"delays": self.delayed}
        return [self.agents, self.max_cycles, self.game.state(), metrics]


class SlowGridWorld(Slow, Oracle):
    """GridWorldEnv as it is documented, and with layouts by hand."""

    np_random_seed = -1  # in place of Gymnasium's property, which cannot be set

    @property
    def over(self) -> bool:
        """Whether the agent stands on the target."""
        return np.array_equal(self._agent_location, self._target_location)

    def copied(self) -> SlowGridWorld:
        """A copy with a stream of its own."""
        return copy.deepcopy(self)

    def reset(self, seed: int | None, options: Any) -> Any:
        """Begin an episode; return the observation and the info."""
        self.seed(seed)
        if options is None:
            return Oracle.reset(self)
        (self._agent_location,), (self._target_location,) = map(np.array, (options["agents"], options["targets"]))
        return plain((self._get_obs(), self._get_info()))

    def shown(self) -> Any:
        """Where the agent and the target are."""
        return [[self._agent_location.tolist()], [self._target_location.tolist()]]


def perform(one: Any, call: str, argument: Any) -> Any:
    """Do the same to an env and to a model."""
    if call == "reset":
        seed, options = argument
        return one.reset(seed=seed, options=copy.deepcopy(options))
    if call == "step":
        return one.step(argument)
    if call == "draw":
        # All 64 bits of a word, or 32 of them, of which the stream keeps the others for later.
        return one.np_random.random() if argument == 64 else int(one.np_random.integers(9))
    setattr(one, call, copy.deepcopy(argument))
    return None


def chosen(random: np.random.Generator, num_actions: int, straight: bool, at: Any, target: Any) -> int:
    """A random action, or mostly one towards the target."""
    x, y = (to - here for here, to in zip(at, target, strict=True))
    nearer = [action for action, is_nearer in enumerate((x > 0, y > 0, x < 0, y < 0)) if is_nearer]
    return int(random.choice(nearer if straight and nearer and random.random() < 0.8 else num_actions))


@dataclasses.dataclass
class Player:
    """An env, what it should be, how it came there, and the generator that it once handed out."""

    env: Any
    model: Any
    log: list[tuple[str, Any, Any]]
    held: np.random.Generator | None = None


@dataclasses.dataclass
class Saved:
    """A state, what the env should be that goes on from it, and how it came there."""

    state: dict[str, Any]
    model: Any
    log: list[tuple[str, Any, Any]]


@dataclasses.dataclass
class Play:
    """Some steps: how many, chosen how, and whether the caller writes over what they return."""

    count: int
    seed: int
    straight: bool
    spoil: bool


PLAYS = st.builds(Play, count=st.sampled_from([1, 2, 4, 9]), seed=SEEDS, straight=st.booleans(), spoil=st.booleans())


class Machine(RuleBasedStateMachine):
    """What can be mixed into any game."""

    # Of each game: a fresh env, what an env shows of itself, and what to do next.
    make: Callable[[], Any]
    shown: Callable[[Any], Any]
    next_action: Callable[[Player, np.random.Generator, bool], Any]

    players: Bundle[Player] = Bundle("players")
    states: Bundle[Saved] = Bundle("states")

    def __init__(self) -> None:
        super().__init__()
        self.everyone: list[Player] = []
        self.returned: list[tuple[Any, Any]] = []

    def begin(self, model: Any, seed: int) -> Player:
        """The first env, which knows no episode before its first reset."""
        player = Player(self.make(), model, [])
        for call in (player.env.get_state, player.env.metrics):
            with pytest.raises(ResetNeeded):
                call()
        self.act(player, "reset", (seed, None))
        return self.join(player)

    def join(self, player: Player) -> Player:
        """Take an env into the game."""
        self.everyone.append(player)
        return player

    def act(self, player: Player, call: str, argument: Any, *, spoil: bool = False) -> None:
        """Do something to an env and to its model, which must tell the same."""
        returned = perform(player.env, call, argument)
        content = listed(returned)
        assert content == listed(perform(player.model, call, argument))
        player.log.append((call, argument, content))
        if spoil:
            helpers.spoil(returned)
        else:
            self.returned.append((returned, content))
        self.release(player, replaced=call == "np_random" or (call == "reset" and argument[0] is not None))

    def release(self, player: Player, *, replaced: bool = False) -> None:
        """Forget the generator that was handed out when another one, or one of another kind, has taken its place."""
        kind = type(player.model.np_random.bit_generator)
        if replaced or (player.held is not None and type(player.held.bit_generator) is not kind):
            player.held = None

    def go_on(self, player: Player, then: Play) -> None:
        """Play on, from episode to episode, though not always at once."""
        random = np.random.default_rng(then.seed)
        for _ in range(then.count):
            if player.model.over and random.random() < 0.8:
                self.act(player, "reset", (None, None))
            self.act(player, "step", self.next_action(player, random, then.straight), spoil=then.spoil)

    def go_on_from(self, player: Player, saved: Saved) -> None:
        """Let an env go on from a state; the limit of steps and the name of the seed are no part of it."""
        before, player.model, player.log = player.model, saved.model.copied(), list(saved.log)
        player.env.set_state(saved.state)
        player.model.np_random_seed = before.np_random_seed
        if hasattr(before, "max_cycles"):
            self.act(player, "max_cycles", before.max_cycles)
        self.release(player)

    @rule(
        target=states, player=players, aside=st.sampled_from(["", "look", "close", "draw", "make mistakes"]), then=PLAYS
    )
    def play(self, player: Player, aside: str, then: Play) -> Saved:
        """Keep a state to go back to; do what must make no difference, or draw, which must; and play."""
        random = np.random.default_rng(then.seed)
        state = player.env.get_state()
        before = listed(state)
        self.returned.append((state, before))
        saved = Saved(state, player.model.copied(), list(player.log))
        if aside == "look":
            frame = player.env.render()
            self.returned.append((frame, listed(frame)))
            assert not hasattr(player.model, "render") or listed(frame) == listed(player.model.render())
        elif aside == "close":
            player.env.close()
        elif aside == "make mistakes":
            mistakes = self.mistakes(player)
            for index in random.choice(len(mistakes), size=8).tolist():
                with pytest.raises((TypeError, ValueError, Error)):
                    mistakes[index]()
        assert listed(player.env.get_state()) == before
        if aside == "draw":
            player.held = player.held or player.env.np_random
            for bits in random.choice([32, 64], size=2).tolist():
                self.act(player, "draw", bits)
        self.every_env_is_as_its_model()
        self.go_on(player, then)
        return saved

    def mistakes(self, player: Player) -> list[Callable[[], Any]]:
        """Calls that every env refuses, at any moment; test_contract.py has what they say."""
        env, n = player.env, player.env.config.num_agents
        # Of another env, so that the rest of a bad state is not what is there already.
        state = self.everyone[0].env.get_state()
        nowhere = {name: state[name] - 99 for name in ("steps", "location", "target", "status")} | {"np_random": {}}
        states = [None, *({**state, name: spoilt} for name, spoilt in nowhere.items())]
        outside = {"map": 0, "agents": np.zeros((n, 2), int), "targets": np.full((n, 2), 99)}
        # After the end a step of several agents takes, and does, nothing.
        steps = [] if player.model.over else [functools.partial(env.step, wrong) for wrong in ("1", None, [9])]
        return [
            *(functools.partial(env.set_state, one) for one in states),
            *(functools.partial(env.reset, seed=seed) for seed in (-1, 1.5, "one")),
            *(functools.partial(env.reset, seed=5, options=one) for one in ({"map": 3}, outside, [outside])),
            functools.partial(setattr, env, "np_random", np.random.PCG64(5)),
            *steps,
        ]

    @rule(player=players, saved=states, then=PLAYS)
    def go_back(self, player: Player, saved: Saved, then: Play) -> None:
        """Go on from a state of this env or of another."""
        self.go_on_from(player, saved)
        self.go_on(player, then)

    @precondition(lambda self: len(self.everyone) < MOST_ENVS)
    @rule(target=players, saved=states, then=PLAYS)
    def go_on_elsewhere(self, saved: Saved, then: Play) -> Player:
        """Go on from a state in an env that has never been reset."""
        player = Player(self.make(), saved.model.copied(), [])
        player.model.np_random_seed = -1
        if hasattr(player.model, "max_cycles"):
            player.model.max_cycles = player.env.max_cycles
        self.go_on_from(player, saved)
        self.go_on(player, then)
        return self.join(player)

    @precondition(lambda self: len(self.everyone) < MOST_ENVS)
    @rule(target=players, player=players, pickled=st.booleans(), then=PLAYS)
    def duplicate(self, player: Player, pickled: bool, then: Play) -> Player:
        """Copy an env; the copy goes on, and so does the original."""
        other = pickle.loads(pickle.dumps(player.env)) if pickled else copy.deepcopy(player.env)
        double = self.join(Player(other, player.model.copied(), list(player.log)))
        self.go_on(double, then)
        self.every_env_is_as_its_model()
        self.go_on(player, then)
        return double

    @rule(player=players, kind=st.sampled_from(BIT_GENERATORS), seed=SEEDS, then=PLAYS)
    def replace_the_stream(self, player: Player, kind: Any, seed: int, then: Play) -> None:
        """Go on with another stream, of another kind perhaps."""
        self.act(player, "np_random", np.random.Generator(kind(seed)))
        self.go_on(player, then)

    @invariant()
    def every_env_is_as_its_model(self) -> None:
        """Nothing that happens to one env shows in another, and each stream is where it should be."""
        for player in self.everyone:
            stream = listed(player.model.np_random.bit_generator.state)
            assert listed(self.shown(player.env)) == listed(player.model.shown())
            assert listed(player.env.get_state()["np_random"]) == stream
            assert player.env.np_random_seed == player.model.np_random_seed
            if player.held is not None:
                assert player.env.np_random is player.held
                assert listed(player.held.bit_generator.state) == stream

    @invariant()
    def nothing_returned_changes(self) -> None:
        """What was returned, drawn or saved last stays what it was."""
        for returned, content in self.returned[-12:]:
            assert listed(returned) == content

    def teardown(self) -> None:
        """Compare each env with one that was only reset and stepped, and everything returned with what it was."""
        for player in self.everyone:
            plain = self.make()
            for call, argument, content in player.log:
                assert listed(perform(plain, call, argument)) == content
            for ours, theirs in zip(self.all_of(player.env), self.all_of(plain), strict=True):
                assert listed(ours) == listed(theirs)
        for returned, content in self.returned:
            assert listed(returned) == content

    def all_of(self, env: Any) -> list[Any]:
        """Whatever an env can be asked for."""
        return [self.shown(env), env.get_state(), env.metrics(), env.render()]


class MultiGridMachine(Machine):
    """MultiGridEnv, whatever is mixed in."""

    on_target: OnTarget
    config: GridConfig

    def make(self) -> MultiGridEnv:
        """A fresh env."""
        return MultiGridEnv(self.config, render_mode="rgb_array")

    def shown(self, env: Any) -> Any:
        """Who is there, the limit, the state and the metrics."""
        return [env.agents, env.max_cycles, env.state(), env.metrics()]

    @initialize(target=Machine.players, number=SEEDS, seed=SEEDS)
    def begin_with(self, number: int, seed: int) -> Player:
        """Choose the world."""
        self.config = some_config(number, self.on_target)
        return self.begin(SlowMultiGrid(self.config), seed)

    def next_action(self, player: Player, random: np.random.Generator, straight: bool) -> Any:
        """An action for each agent that is there."""
        at, target = player.model.game.at, player.model.game.target
        return {
            agent: chosen(random, self.config.num_actions, straight, at[int(agent[-1])], target[int(agent[-1])])
            for agent in player.model.agents
        }

    @rule(
        player=Machine.players,
        seed=st.none() | SEEDS,
        index=st.none() | st.integers(0, 2),
        layout=st.none() | SEEDS,
        then=PLAYS,
    )
    def reset(self, player: Player, seed: int | None, index: int | None, layout: int | None, then: Play) -> None:
        """Begin an episode: seeded or not, on a map or a drawn one, from a layout by hand or a drawn one."""
        options: dict[str, Any] = {}
        if index is not None:
            options["map"] = index % self.config.num_maps
        if layout is not None and (index is not None or self.config.num_maps == 1):
            walls = maps_of(self.config)[options.get("map", 0)]
            _, agents, targets = oracle_layout([walls], self.config.num_agents, np.random.default_rng(layout))
            options |= {"agents": np.array(agents), "targets": targets}
        self.act(player, "reset", (seed, options or None))
        self.go_on(player, then)

    @rule(player=Machine.players, limit=st.none() | st.integers(1, 20), then=PLAYS)
    def set_the_limit(self, player: Player, limit: int | None, then: Play) -> None:
        """Set the limit of steps, which may have passed already."""
        self.act(player, "max_cycles", limit)
        self.go_on(player, then)


class SlowRowColumn(SlowGridWorld, DocumentedRowColumn):
    """The same of RowColumnGridWorldEnv."""


class GridWorldMachine(Machine):
    """GridWorldEnv, whatever is mixed in."""

    size: int
    kind: Any = GridWorldEnv
    slow: Any = SlowGridWorld

    def make(self) -> GridWorldEnv:
        """A fresh env."""
        return self.kind("rgb_array", self.size)

    def shown(self, env: Any) -> Any:
        """Where the agent and the target are."""
        state = env.get_state()
        return [state["location"], state["target"]]

    @initialize(target=Machine.players, size=st.integers(2, 5), seed=SEEDS)
    def begin_with(self, size: int, seed: int) -> Player:
        """Choose the size."""
        self.size = size
        return self.begin(self.slow(size), seed)

    def next_action(self, player: Player, random: np.random.Generator, straight: bool) -> Any:
        """An action."""
        return chosen(random, 4, straight, player.model._agent_location, player.model._target_location)

    @rule(player=Machine.players, seed=st.none() | SEEDS, layout=st.none() | SEEDS, then=PLAYS)
    def reset(self, player: Player, seed: int | None, layout: int | None, then: Play) -> None:
        """Begin an episode: seeded or not, from a layout by hand or a drawn one."""
        options = None
        if layout is not None:
            cells = np.random.default_rng(layout).permutation(self.size**2)[:2].tolist()
            agent, target = ([cell % self.size, cell // self.size] for cell in cells)
            options = {"agents": np.array([agent]), "targets": [target]}
        self.act(player, "reset", (seed, options))
        self.go_on(player, then)


class RowColumnMachine(GridWorldMachine):
    """RowColumnGridWorldEnv, the same."""

    kind, slow = RowColumnGridWorldEnv, SlowRowColumn

    def next_action(self, player: Player, random: np.random.Generator, straight: bool) -> Any:
        """An action; of the same step, action a of this env is action a + 1 of the other."""
        return (super().next_action(player, random, straight) - 1) % 4


# Without health checks, as hypothesis itself has it for machines: a slow computer is no failure.
SETTINGS = settings(max_examples=8, stateful_step_count=30, suppress_health_check=list(HealthCheck))
MACHINES = [type(rule, (MultiGridMachine,), {"on_target": rule}) for rule in ("park", "leave", "stay", "restart")]
MACHINES += [GridWorldMachine, RowColumnMachine]
for machine in MACHINES:
    machine.TestCase.settings = SETTINGS
TestPark, TestLeave, TestStay, TestRestart, TestGridWorld, TestRowColumn = (machine.TestCase for machine in MACHINES)
