"""Saved states, copies, frames, draws and mistakes, mixed: an env plays as one that is only reset and stepped.

A machine keeps several envs of one configuration. Beside each of them stands a twin, to which nothing else happens.
What both play is judged by test_invariants.py and test_documented.py.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.error import Error, ResetNeeded
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

import judged
from helpers import frozen, spoil
from multigrid import GridConfig, GridWorldEnv, MultiGridEnv, RowColumnGridWorldEnv
from multigrid.config import OnTarget

pytestmark = pytest.mark.heavy

SEEDS = st.integers(0, 2**32 - 1)
MOST_ENVS = 4
Log = list[tuple[str, Any]]


def perform(env: Any, call: str, argument: Any) -> Any:
    """Do to an env what its twin gets, too."""
    if call == "reset":
        seed, options = argument
        return env.reset(seed=seed, options=copy.deepcopy(options))
    if call == "step":
        return env.step(argument)
    if call == "draw":
        # All 64 bits of a word, or 32 of them, of which the stream keeps the others for later.
        return env.np_random.random() if argument == 64 else int(env.np_random.integers(9))
    setattr(env, call, copy.deepcopy(argument))
    return None


def shown(env: Any) -> Any:
    """All that an env can be asked for, but for its frame, which the state decides."""
    who = [env.agents, env.max_cycles, env.state()] if isinstance(env, MultiGridEnv) else []
    return frozen([env.get_state(), env.metrics(), *who])


@dataclasses.dataclass
class Player:
    """An env, its twin, what the twin has got, and the generator that the env once handed out."""

    env: Any
    twin: Any
    log: Log
    held: np.random.Generator | None = None


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

    make: Callable[[], Any]
    players: Bundle[Player] = Bundle("players")
    states: Bundle[tuple[dict[str, Any], Log]] = Bundle("states")

    def __init__(self) -> None:
        super().__init__()
        self.everyone: list[Player] = []
        self.returned: list[tuple[Any, Any]] = []

    def begin(self, seed: int) -> Player:
        """The first env, which knows no episode before its first reset."""
        player = Player(self.make(), self.make(), [])
        for call in (player.env.get_state, player.env.metrics):
            with pytest.raises(ResetNeeded):
                call()
        self.act(player, "reset", (seed, None))
        return self.join(player)

    def join(self, player: Player) -> Player:
        """Take an env into the game."""
        self.everyone.append(player)
        return player

    def twin(self, log: Log) -> Any:
        """A fresh env to which all of a log has happened."""
        env = self.make()
        for call, argument in log:
            perform(env, call, argument)
        return env

    def keep(self, returned: Any) -> None:
        """Remember what was returned, which may not change."""
        self.returned.append((returned, frozen(returned)))

    def act(self, player: Player, call: str, argument: Any, *, spoiled: bool = False) -> None:
        """Do the same to an env and to its twin, which must tell the same."""
        returned = perform(player.env, call, argument)
        assert frozen(returned) == frozen(perform(player.twin, call, argument))
        player.log.append((call, argument))
        if spoiled:
            spoil(returned)
        else:
            self.keep(returned)
        if call == "np_random" or (call == "reset" and argument[0] is not None):
            player.held = None

    def go_on(self, player: Player, then: Play) -> None:
        """Play on, from episode to episode, though not always at once."""
        random = np.random.default_rng(then.seed)
        for _ in range(then.count):
            state = player.twin.get_state()
            if state["episode_over"] and random.random() < 0.8:
                self.act(player, "reset", (None, None))
                state = player.twin.get_state()
            n = player.twin.config.num_actions
            toward = np.sign(state["target"] - state["location"])
            along = random.integers(2, size=len(toward))
            # Right, up, left, down are 0, 1, 2, 3, and under the other edition's axes just other actions.
            nearer = np.where(along, 2 - toward[:, 1], 1 - toward[:, 0])
            actions = np.where(
                then.straight & (random.random(len(toward)) < 0.8), nearer, random.integers(n, size=len(toward))
            )
            self.act(player, "step", self.joint(player.twin, actions.tolist()), spoiled=then.spoil)

    def joint(self, env: Any, actions: list[int]) -> Any:
        """The action of the only agent, or of each agent that is there."""
        return actions[0]

    def go_on_from(self, player: Player, saved: tuple[dict[str, Any], Log]) -> None:
        """Let an env go on from a state; the limit of steps and the name of the seed are no part of it."""
        state, log = saved
        limit = getattr(player.env, "max_cycles", None)
        player.log, player.twin, held = list(log), self.twin(log), player.held
        player.env.set_state(state)
        if isinstance(player.env, MultiGridEnv):
            self.act(player, "max_cycles", limit)
        player.held = held

    @rule(
        target=states, player=players, aside=st.sampled_from(["", "look", "close", "draw", "make mistakes"]), then=PLAYS
    )
    def play(self, player: Player, aside: str, then: Play) -> tuple[dict[str, Any], Log]:
        """Keep a state to go back to; do what must make no difference, or draw, which must; and play."""
        random = np.random.default_rng(then.seed)
        state, log = player.env.get_state(), list(player.log)
        before = frozen(state)
        self.keep(state)
        assert judged.breaches(player.env.config, state) == []
        if aside == "look":
            frame = player.env.render()
            np.testing.assert_array_equal(frame, player.twin.render())
        elif aside == "close":
            player.env.close()
        elif aside == "make mistakes":
            mistakes = self.mistakes(player)
            for index in random.choice(len(mistakes), size=8).tolist():
                with pytest.raises((TypeError, ValueError, Error)):
                    mistakes[index]()
        assert frozen(player.env.get_state()) == before
        if aside == "draw":
            player.held = player.held or player.env.np_random
            for bits in random.choice([32, 64], size=2).tolist():
                self.act(player, "draw", bits)
        self.every_env_is_as_its_twin()
        self.go_on(player, then)
        return state, log

    def mistakes(self, player: Player) -> list[Callable[[], Any]]:
        """Calls that every env refuses, at any moment; test_contract.py has what they say."""
        env, n = player.env, player.env.config.num_agents
        # Of another env, so that the rest of a bad state is not what is there already.
        state = self.everyone[0].env.get_state()
        nowhere = {name: state[name] - 99 for name in ("steps", "location", "target", "status")} | {"np_random": {}}
        states = [None, *({**state, name: spoilt} for name, spoilt in nowhere.items())]
        outside = {"map": 0, "agents": np.zeros((n, 2), int), "targets": np.full((n, 2), 99)}
        # After the end a step of several agents takes, and does, nothing.
        steps = (
            [] if env.get_state()["episode_over"] else [functools.partial(env.step, one) for one in ("1", None, [9])]
        )
        return [
            *(functools.partial(env.set_state, one) for one in states),
            *(functools.partial(env.reset, seed=seed) for seed in (-1, 1.5, "one")),
            *(functools.partial(env.reset, seed=5, options=one) for one in ({"map": 3}, outside, [outside])),
            functools.partial(setattr, env, "np_random", np.random.PCG64(5)),
            *steps,
        ]

    @rule(player=players, saved=states, then=PLAYS)
    def go_back(self, player: Player, saved: tuple[dict[str, Any], Log], then: Play) -> None:
        """Go on from a state of this env or of another."""
        self.go_on_from(player, saved)
        self.go_on(player, then)

    @precondition(lambda self: len(self.everyone) < MOST_ENVS)
    @rule(target=players, saved=states, then=PLAYS)
    def go_on_elsewhere(self, saved: tuple[dict[str, Any], Log], then: Play) -> Player:
        """Go on from a state in an env that has never been reset."""
        player = Player(self.make(), None, [])
        self.go_on_from(player, saved)
        assert player.env.np_random_seed == -1
        self.go_on(player, then)
        return self.join(player)

    @precondition(lambda self: len(self.everyone) < MOST_ENVS)
    @rule(target=players, player=players, pickled=st.booleans(), then=PLAYS)
    def duplicate(self, player: Player, pickled: bool, then: Play) -> Player:
        """Copy an env; the copy goes on, and so does the original."""
        other = pickle.loads(pickle.dumps(player.env)) if pickled else copy.deepcopy(player.env)
        assert other.np_random_seed == player.env.np_random_seed
        double = self.join(Player(other, self.twin(player.log), list(player.log)))
        self.go_on(double, then)
        self.every_env_is_as_its_twin()
        self.go_on(player, then)
        return double

    @rule(player=players, seed=SEEDS, then=PLAYS)
    def replace_the_stream(self, player: Player, seed: int, then: Play) -> None:
        """Go on with another stream."""
        self.act(player, "np_random", np.random.default_rng(seed))
        self.go_on(player, then)

    @invariant()
    def every_env_is_as_its_twin(self) -> None:
        """Nothing that happens to one env shows in another, and each stream is where it should be."""
        for player in self.everyone:
            assert shown(player.env) == shown(player.twin)
            if player.held is not None:
                assert player.env.np_random is player.held
                assert frozen(player.held.bit_generator.state) == frozen(player.twin.np_random.bit_generator.state)

    @invariant()
    def nothing_returned_changes(self) -> None:
        """What was returned, drawn or saved last stays what it was."""
        for returned, content in self.returned[-12:]:
            assert frozen(returned) == content

    def teardown(self) -> None:
        """Compare everything returned with what it was."""
        for returned, content in self.returned:
            assert frozen(returned) == content


class MultiGridMachine(Machine):
    """MultiGridEnv, whatever is mixed in."""

    on_target: OnTarget
    config: GridConfig

    def make(self) -> MultiGridEnv:
        """A fresh env."""
        return MultiGridEnv(self.config, render_mode="rgb_array")

    @initialize(target=Machine.players, number=SEEDS, seed=SEEDS)
    def begin_with(self, number: int, seed: int) -> Player:
        """Choose the world."""
        self.config = judged.some_config(number, self.on_target)
        return self.begin(seed)

    def joint(self, env: Any, actions: list[int]) -> Any:
        """An action for each agent that is there."""
        return {agent: actions[env.possible_agents.index(agent)] for agent in env.agents}

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
            other = self.make()
            other.reset(seed=layout, options=options)
            there = other.get_state()
            count = len(other.agents)
            options |= {"agents": there["location"][:count], "targets": there["target"][:count].tolist()}
        self.act(player, "reset", (seed, options or None))
        self.go_on(player, then)

    @rule(player=Machine.players, limit=st.none() | st.integers(1, 20), then=PLAYS)
    def set_the_limit(self, player: Player, limit: int | None, then: Play) -> None:
        """Set the limit of steps, which may have passed already."""
        self.act(player, "max_cycles", limit)
        self.go_on(player, then)


class GridWorldMachine(Machine):
    """GridWorldEnv, whatever is mixed in."""

    size: int
    kind: Any = GridWorldEnv

    def make(self) -> GridWorldEnv:
        """A fresh env."""
        return self.kind("rgb_array", self.size)

    @initialize(target=Machine.players, size=st.integers(2, 5), seed=SEEDS)
    def begin_with(self, size: int, seed: int) -> Player:
        """Choose the size."""
        self.size = size
        return self.begin(seed)

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

    kind = RowColumnGridWorldEnv


# Without health checks, as hypothesis itself has it for machines: a slow computer is no failure.
SETTINGS = settings(max_examples=8, stateful_step_count=30, suppress_health_check=list(HealthCheck))
MACHINES = [type(rule, (MultiGridMachine,), {"on_target": rule}) for rule in ("park", "leave", "stay", "restart")]
MACHINES += [GridWorldMachine, RowColumnMachine]
for machine in MACHINES:
    machine.TestCase.settings = SETTINGS
TestPark, TestLeave, TestStay, TestRestart, TestGridWorld, TestRowColumn = (machine.TestCase for machine in MACHINES)
