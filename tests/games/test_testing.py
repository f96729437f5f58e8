"""What `multigrid.testing` finds: games and environments that break one promise each, and what is said of them."""

import re
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray
from pettingzoo.utils import BaseParallelWrapper
from sample_games import SETTINGS, KeyAndDoor, Walk

import multigrid
from multigrid import Game, MultiGridEnv, PartSpec, games, testing
from multigrid.envs.aec import MultiGridAECEnv
from multigrid.games._one_agent import OneAgentEnv
from multigrid.games._tuple_env import TupleEnv
from multigrid.runtime.compiled import COMPILED

SPACE, SEEN = gymnasium.spaces.Box(0, 9, (2,), np.int64), np.zeros((2, 2), np.int64)


class Broken(Game):
    """A game with one mistake, whose number is an option."""

    options = {"mistake": 0}
    parts = {"number": PartSpec(np.int64, "1", 0, 99, "a number.")}

    class State(NamedTuple):
        count: Annotated[NDArray[np.int64], "E N"]
        start: Annotated[NDArray[np.int64], "E"]
        narrow: Annotated[NDArray[np.int32], "E"]

    def begin(w, s, e):
        s.start[0 if s.mistake == 1 else e] = games.draw_integer(w, e, 1, 9)

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            s.count[0 if s.mistake == 2 else e, i] += 1
        if s.mistake == 3:
            s.narrow[e] = 100_000 * s.start[e]
            w.rewards[e, 0] = s.narrow[e] * s.narrow[e]
        if s.mistake == 4 and w.steps[e] == 3:
            w.rewards[e, 0] = np.inf

    def write_number(w, s, e, i, out):
        out[0] = s.start[0 if s.mistake == 5 else e]
        if s.mistake == 6 and w.steps[e] == 3:
            out[0] = 100
        if s.mistake == 7 and w.steps[e] == 3:
            s.count[e, i] = 0

    def metric_start(w, s, e):
        return s.start[0 if s.mistake == 8 else e]

    def check(w, s, e):
        return s.mistake != 9 or s.count[e, 0] < 3

    def marks(scene):
        yield games.Mark(scene.door if scene.mistake == 10 else (0, 0))

    def describe(scene, i):
        number = scene.start if scene.mistake == 11 else scene.parts.get("number")
        return number if scene.mistake == 12 else f"The number is {number}."


class Mute(Game):
    """Nothing is allowed from the third step on."""

    actions = ("wait",)
    moves = False

    def step(w, s, e):
        pass

    def legal(w, s, e, i, action):
        return w.steps[e] < 3


class Hidden(Game):
    """The game keeps a number where nothing is kept."""

    def step(w, s, e):
        w.rewards[e, 0] = w.requested[0]
        w.requested[0] = w.steps[e]


class Shared(Game):
    """Each call returns the same array."""

    def observation_space(c):
        return SPACE

    def make_observations(c, parts):
        SEEN[: len(parts["agent"])] = parts["agent"]
        return SEEN[: len(parts["agent"])]


INDEX = "index the arrays of w and s by e"
BROKEN: list[tuple[type[Game], int, str]] = [
    (Broken, 1, f"Broken.begin: state['start'] in the reset with seed 0 is 2 .* 3 in world 0 of vector_env; {INDEX}"),
    (Broken, 2, f"Broken.after_moves: state['count'][0] in step 1 of seed 0 is 1 .* 3 in world 0 .*; {INDEX}"),
    (Broken, 4, "Broken.after_moves: rewards['agent_0'] in step 3 of seed 0 is inf; expected a finite number"),
    (Broken, 5, f"Broken.write_number: observations['agent_0']['number'][0] in the .* seed 2 is 3 .* 2 .*; {INDEX}"),
    (
        Broken,
        6,
        "Broken.write_number: observations['agent_0']['number'] in step 3 .*[100]; .* of Box(0, 99, (1,), int64)",
    ),
    (Broken, 7, "Broken.write_number writes into 'count', but it may only read, .*"),
    (Broken, 8, f"Broken.metric_start: metrics['start'] in the reset with seed 2 is 3.0 .* 2.0 in world 2 .*; {INDEX}"),
    (Broken, 9, "Broken.check: the state after step 20 of seed 20 is refused: .*"),
    (Broken, 10, "Broken.marks: a frame cannot be drawn: .* no attribute 'door'"),
    (Broken, 11, "Broken.describe: what agent_0 observes in the reset with seed 0 has no words: .* attribute 'start'"),
    (Broken, 12, "Broken.describe: what agent_0 observes .* Broken.describe returns .*; expected a str"),
    (Mute, 0, "Mute.legal: the mask of agent_0 in step 3 of seed 0 allows no action; expected one at least"),
    (
        Hidden,
        0,
        "Hidden.step: state['rewards'][0] in step 1 of seed 0 is 0.0 in a new environment, but 80.0 in a used one; .*",
    ),
    (Shared, 0, "Shared.make_observations: what the reset with seed 0 returned has changed since; return new arrays"),
    (type("Local", (Game,), {}), 0, "Local: it cannot be pickled; define the class at the top level of a module: .*"),
]
if COMPILED:
    narrow = "state['rewards'][0] in step 1 of seed 0 is 40000000000.0 compiled, but 1345294336.0 interpreted"
    BROKEN.append(
        (Broken, 3, f"Broken.after_moves: {narrow}; compute with int64 and float64, and add floats in a loop")
    )


def pattern(sentence: str) -> str:
    """Return a regular expression of a sentence, in which ".*" leaves something out."""
    return ".*".join(map(re.escape, sentence.split(".*"))) + "$"


@pytest.mark.parametrize(("game", "mistake", "sentence"), BROKEN)
def test_a_broken_game_is_one_sentence(
    game: type[Game], mistake: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the function, and where the game first breaks its promise."""
    monkeypatch.setenv("MULTIGRID_CHECK", "0")  # in a checked env, the step says so
    with pytest.raises((AssertionError, RuntimeError), match=pattern(sentence)) as raised:
        testing.check_game(game, size=(5, 3), **{"mistake": mistake} if mistake else {})
    assert "\n" not in str(raised.value)


def test_a_whole_game_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A game without a mistake passes, prints nothing and warns of nothing, with the same game broken before."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        testing.check_game(Broken, size=(5, 3))
        testing.check_game(Broken, size=(5, 3), num_agents=1, observe="view", flatten=True)
    assert capsys.readouterr().out == ""


FACES: dict[str, tuple[Any, Callable[..., Any], Any, str]] = {
    "in the AEC env": (MultiGridAECEnv, lambda env, agent: {"agent": np.zeros(2, np.int64)}, Walk, "observe"),
    "in the env of gymnasium.make": (OneAgentEnv, lambda env, action: ({}, 0.0, False, False, {}), KeyAndDoor, "step"),
    "in the env with tuples": (
        TupleEnv,
        lambda env, actions: ((), [], False, False, {}),
        "Foraging-5x5-2p-1f-v3",
        "step",
    ),
}


@pytest.mark.parametrize("where", FACES)
def test_an_environment_that_plays_another_game_is_found(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of environment is compared with the ParallelEnv."""
    kind, wrong, game, method = FACES[where]
    monkeypatch.setattr(kind, method, wrong)
    with pytest.raises(AssertionError, match=rf"in parallel_env, but .* {where}$"):
        testing.check_game(game, **{"num_agents": 1} if kind is OneAgentEnv else {})


@pytest.mark.parametrize(("test", "game"), [("api_test", Walk), ("seed_test", Walk), ("check_env", KeyAndDoor)])
def test_checks_of_others_are_run(test: str, game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What PettingZoo's tests of AEC envs and Gymnasium's `check_env` find is an error that names the game."""

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("no good")

    place = "multigrid.testing.check_gymnasium_env" if test == "check_env" else f"pettingzoo.test.{test}"
    monkeypatch.setattr(place, fail)
    with pytest.raises(AssertionError, match=rf"^{game.__name__}: (PettingZoo|Gymnasium)'s {test} fails: no good$"):
        testing.check_game(game, **{**SETTINGS[game], "num_agents": 1})


class Wrapper(BaseParallelWrapper[str, Any, Any]):
    """A wrapper with one mistake, whose name is `mistake`."""

    def __init__(self, env: MultiGridEnv[Any], mistake: str) -> None:
        super().__init__(env)
        self.mistake, self.kept = mistake, dict[str, Any]()
        if mistake == "pickle":
            self.function = lambda: None

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        return self.env.reset(None if self.mistake == "seed" else seed, options)

    def step(self, actions: Any) -> Any:
        observations, rewards, *rest = self.env.step(actions)
        if self.mistake == "reward":
            rewards["agent_0"] = np.nan
        if self.mistake == "space":
            observations["agent_0"]["agent"] += 9
        self.kept.update(rewards)
        return observations, self.kept if self.mistake == "shared" else rewards, *rest

    def state(self) -> Any:
        return super().state() + 99 * (self.mistake == "state")

    def observation_space(self, agent: str) -> Any:
        space = self.env.observation_space(agent)
        return gymnasium.spaces.Dict(space.spaces) if self.mistake == "api" else space


SENTENCES = {
    "seed": r"MultiGridEnv: state\['\w+'\].* in a new environment, but .* in a used one; a seed must set all",
    "reward": r"MultiGridEnv: rewards\['agent_0'\] in step 1 of seed 0 is nan; expected a finite number",
    "space": r"MultiGridEnv: observations\['agent_0'\]\['agent'\] in step 1 of seed 0 is .*; expected a value of Box",
    "state": r"MultiGridEnv: state\(\) in the reset with seed 0 is .*; expected a value of Box",
    "shared": r"MultiGridEnv: what step \d+ of seed 0 returned has changed since; return new arrays",
    "pickle": r"MultiGridEnv: it cannot be pickled; define the class at the top level of a module: ",
    "api": r"MultiGridEnv: PettingZoo's parallel_api_test fails: observation_space should return the exact same",
}


@pytest.mark.parametrize("mistake", SENTENCES)
def test_a_broken_environment_is_one_sentence(mistake: str) -> None:
    """A ParallelEnv around that of the package is checked as that one is."""
    with pytest.raises(AssertionError, match=SENTENCES[mistake]) as raised:
        testing.check_env(Wrapper(multigrid.parallel_env(size=(5, 3), max_cycles=9), mistake))
    assert "\n" not in str(raised.value)


def test_an_environment_that_is_checked_is_left_alone() -> None:
    """`check_env` plays a copy: the environment goes on with its episode."""
    env, other = (multigrid.parallel_env(size=(5, 3)) for _ in range(2))
    for one in (env, other):
        one.reset(seed=1)
    testing.check_env(env)
    actions = dict.fromkeys(env.agents, 1)
    assert testing.frozen(env.step(actions)) == testing.frozen(other.step(actions))
