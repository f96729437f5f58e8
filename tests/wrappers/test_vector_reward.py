"""Rewards of one's own on the vector env: those of single envs, nothing else changed, and what is refused."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics, TransformReward

from helpers import frozen, same
from multigrid import parallel_env, vector_env
from multigrid.wrappers import VectorReward

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
by_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
# Neither square nor even: three agents on 4 x 3 cells, whose episodes are short.
WORLD: dict[str, Any] = {"size": (4, 3), "num_agents": 3, "max_cycles": 9}


def mixed(observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> Any:
    """A reward that depends on all that a step tells: of one agent, or of many in rows."""
    x = (observation["agent"] if isinstance(observation, dict) else observation)[..., 0].astype(np.float64)
    own = 2.0 * reward - 0.1 * info["distance"] - 0.25 * x + 3.0 * terminated - 5.0 * truncated
    return own + 0.001 * info["outcome"] + 0.5 * info["arrived"]


def step_cost(observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
    """The env's reward, less a cost of every step."""
    del observations, terminations, truncations, infos
    return rewards - 0.01


class Unsigned:
    """A function without a signature, as some that are written in C."""

    __signature__ = "none"

    def __call__(self, *step: Any) -> Any:
        """Return the env's rewards."""
        return step[1]


class Singles:
    """ParallelEnvs one by one: the mixed reward of each agent that plays, and 0 in all other rows."""

    def __init__(self, count: int, mode: AutoresetMode, settings: dict[str, Any]) -> None:
        self.envs, self.mode = [parallel_env(**settings) for _ in range(count)], mode
        self.ends = 0
        for seed, env in enumerate(self.envs):
            env.reset(seed=seed)

    def step(self, actions: np.ndarray) -> list[float]:
        """Play a step, and return the rewards of the rows."""
        rewards: list[float] = []
        for env, row in zip(self.envs, actions.reshape(len(self.envs), -1).tolist(), strict=True):
            own = dict.fromkeys(env.possible_agents, 0.0)
            if env.agents:
                by_name = dict(zip(env.possible_agents, row, strict=True))
                returned: Any = env.step({agent: by_name[agent] for agent in env.agents})
                own |= {agent: float(mixed(*(each[agent] for each in returned))) for agent in returned[1]}
            elif self.mode is NEXT_STEP:
                env.reset()
            self.ends += not env.agents
            if self.mode is SAME_STEP and not env.agents:
                env.reset()
            rewards += own.values()
        return rewards

    @property
    def over(self) -> np.ndarray:
        """The rows whose world's episode is over."""
        return np.repeat([not env.agents for env in self.envs], len(self.envs[0].possible_agents))

    def reset_ended(self) -> None:
        """Reset the envs whose episode is over."""
        for env in self.envs:
            if not env.agents:
                env.reset()


@by_mode
@pytest.mark.parametrize(
    "settings",
    [
        *({"on_target": rule} for rule in ("park", "leave", "stay", "restart")),
        {"on_target": "leave", "reward": "shared", "flatten": True},
        {"on_target": "leave", "observe": ("agent", "target", "action_mask"), "copy": False, "num_threads": 2},
        {"num_agents": 1, "flatten": True, "copy": False},
    ],
    ids=str,
)
def test_rewards_are_those_of_single_envs(mode: AutoresetMode, settings: dict[str, Any]) -> None:
    """Over whole episodes each row's reward is that of its agent in a ParallelEnv, and 0 where none has played."""
    own = {name: settings[name] for name in ("copy", "num_threads") if name in settings}
    settings = {name: value for name, value in (WORLD | settings).items() if name not in own}
    envs = VectorReward(vector_env(5, autoreset_mode=mode, **settings, **own), mixed)
    envs.reset(seed=0)
    singles, random = Singles(5, mode, settings), np.random.default_rng(3)
    for step in range(90):
        actions = random.integers(0, 4, envs.num_envs)
        rewards = envs.step(actions)[1]
        assert (rewards.dtype, rewards.tolist()) == (np.float64, singles.step(actions)), step
        if mode is DISABLED and singles.over.any():
            envs.reset(options={"reset_mask": singles.over})
            singles.reset_ended()
    assert singles.ends > 20


@pytest.mark.parametrize("settings", [{"on_target": "leave"}, {"flatten": True}, {"observe": ("view",)}], ids=str)
def test_the_function_gets_the_step_and_not_the_reset(settings: dict[str, Any]) -> None:
    """In SAME_STEP mode its arguments are what worlds return that are not reset by the step, metrics included."""
    given: list[Any] = []

    def noting(*step: Any) -> Any:
        given.append(frozen(step))
        return step[1]

    resetting = VectorReward(vector_env(4, autoreset_mode=SAME_STEP, **WORLD | settings), noting)
    staying = vector_env(4, autoreset_mode=DISABLED, **WORLD | settings)
    for envs in (resetting, staying):
        envs.reset(seed=5)
    random, ends = np.random.default_rng(6), 0
    for _ in range(60):
        actions = random.integers(0, 4, 12)
        resetting.step(actions)
        expected = staying.step(actions)
        same(given[-1], frozen(expected))
        over = np.repeat(staying.episode_over, 3)
        ends += int(over.sum())
        if over.any():
            staying.reset(options={"reset_mask": over})
    assert ends > 20


@by_mode
def test_all_else_is_the_envs(mode: AutoresetMode) -> None:
    """Observations, flags and infos are those of the unwrapped env, whose rewards the function gets."""
    given: list[Any] = []

    def noting(*step: Any) -> Any:
        given.append(step[1].tolist())
        return step[1] + 1

    plain = vector_env(4, autoreset_mode=mode, **WORLD)
    envs = VectorReward(vector_env(4, autoreset_mode=mode, **WORLD), noting)
    same(plain.reset(seed=2), envs.reset(seed=2))
    random = np.random.default_rng(1)
    for _ in range(40):
        actions = random.integers(0, 4, 12)
        one, other = plain.step(actions), envs.step(actions)
        same((one[0], *one[2:]), (other[0], *other[2:]))
        assert given[-1] == one[1].tolist()
        if mode is DISABLED and plain.episode_over.any():
            over = np.repeat(plain.episode_over, 3)
            for each in (plain, envs):
                each.reset(options={"reset_mask": over})
    same(plain.metrics(), envs.metrics())
    assert envs.config == plain.config


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))], ids=["copied", "pickled"]
)
def test_it_goes_on_from_copies_and_states(again: Callable[[Any], Any]) -> None:
    """A copy, and another wrapper in which a state is set, play on alike, from the end of an episode too."""
    envs = VectorReward(vector_env(2, **WORLD), step_cost)
    other = VectorReward(vector_env(2, **WORLD), step_cost)
    for each in (envs, other):
        each.reset(seed=3)
    still = np.zeros(6, dtype=int)
    while not envs.unwrapped.episode_over.all():  # type: ignore[attr-defined]
        envs.step(still)
    other.set_state(envs.get_state())
    third = again(envs)
    assert third.unwrapped is not envs.unwrapped
    same(envs.get_state([1], single=True), other.get_state([1], single=True))
    assert envs.step(still)[1].tolist() == [0.0] * 6
    assert other.step(still)[1].tolist() == third.step(still)[1].tolist() == [0.0] * 6
    expected = envs.step(still)
    assert expected[1].tolist() == [-0.01] * 6
    same(expected, other.step(still))
    same(expected, third.step(still))


def test_over_and_under_gymnasiums_wrappers() -> None:
    """Gymnasium's wrappers go between and around; the function gets the rewards of the wrapper below."""
    inner = TransformReward(vector_env(2, **WORLD), lambda rewards: rewards + 7.0)
    envs = RecordEpisodeStatistics(VectorReward(inner, step_cost))
    envs.reset(seed=0)
    assert envs.step(np.zeros(6, dtype=int))[1].tolist() == [6.99] * 6


@by_mode
def test_the_documented_env_takes_it(mode: AutoresetMode) -> None:
    """Rewards on ``gym.make_vec`` are Gymnasium's own ones, changed by the function."""
    make: Any = gymnasium.make_vec
    envs = VectorReward(make("multigrid/GridWorld-v0", num_envs=4, size=3, autoreset_mode=mode), step_cost)
    single = "multigrid/GridWorld-v0"
    plain = SyncVectorEnv([lambda: gymnasium.make(single, size=3)] * 4, autoreset_mode=mode)
    for each in (envs, plain):
        each.reset(seed=8)
    resetting, random = np.zeros(4, dtype=bool), np.random.default_rng(0)
    for _ in range(50):
        actions = random.integers(0, 4, 4)
        rewards, (_, expected, ended, _, _) = envs.step(actions)[1], plain.step(actions)
        assert rewards.tolist() == np.where(resetting, 0.0, expected - 0.01).tolist()
        resetting = ended & (mode is NEXT_STEP)
        if mode is DISABLED and ended.any():
            for each in (envs, plain):
                each.reset(options={"reset_mask": ended.copy()})


RETURNED: dict[str, tuple[Any, str]] = {
    "nothing": (None, "returned object of shape (), of type NoneType"),
    "one number": (1.0, "returned float64 of shape (), of type float; expected"),
    "a mean": (np.float64(1.0), "returned float64 of shape (); expected"),
    "a row too many": (np.zeros(7), "float64 of shape (7,)"),
    "a column": (np.zeros((6, 1)), "float64 of shape (6, 1)"),
    "bools": (np.ones(6, dtype=bool), "returned bool of shape (6,)"),
    "complex": (np.zeros(6) * 1j, "returned complex128"),
    "ragged": ([[1.0], [1.0, 2.0]], "returned [[1.0], [1.0, 2.0]]"),
    "NaN": ([0, 0, 0, np.nan, 0, 0], "returned nan for row 3"),
    "infinite": ([0, -np.inf, 0, 0, 0, 0], "returned -inf for row 1"),
}


@pytest.mark.parametrize(("returned", "message"), RETURNED.values(), ids=RETURNED)
def test_other_returns_are_refused(returned: Any, message: str) -> None:
    """What is not a finite number for each row raises a ValueError that says what came."""
    envs = VectorReward(vector_env(2, **WORLD), lambda *_step: returned)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="the reward function returned") as caught:
        envs.step(np.zeros(6, dtype=int))
    assert message in str(caught.value)


def test_rewards_of_any_size_are_taken() -> None:
    """Huge numbers, integers and lists are rewards, and the function's own array is not the one returned."""
    kept = np.full(6, 1e300)
    returns: list[Any] = [kept, [3] * 6, np.arange(6, dtype=np.uint8)]
    envs = VectorReward(vector_env(2, **WORLD), lambda *_step: returns[0])
    envs.reset(seed=0)
    while returns:
        rewards = envs.step(np.zeros(6, dtype=int))[1]
        assert (rewards.dtype, rewards.tolist()) == (np.float64, np.asarray(returns.pop(0)).tolist())
        rewards[:] = 0
    assert kept.tolist() == [1e300] * 6


def test_rows_that_play_no_step_may_get_any_number() -> None:
    """A division by the distance, which is 0 in the rows of agents that have left, is no error there."""

    def nearness(observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any) -> Any:
        del observations, rewards, truncations
        with np.errstate(divide="ignore"):
            return np.where(terminations, 2.0, 1.0 / infos["distance"])

    envs = VectorReward(vector_env(1, size=(4, 3), num_agents=2, on_target="leave"), nearness)
    envs.reset(options={"agents": [[0, 0], [3, 2]], "targets": [[1, 0], [0, 2]]})
    rewards = [envs.step([0, 2])[1].tolist() for _ in range(4)]
    assert rewards == [[2.0, 0.5], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]]


def test_a_bad_action_changes_nothing() -> None:
    """The env refuses the action, the function is not called, and the worlds are as they were."""
    envs = VectorReward(vector_env(2, **WORLD), lambda *_step: pytest.fail("the function was called"))
    envs.reset(seed=0)
    before = frozen(envs.get_state())
    with pytest.raises(ValueError, match="action for row 2"):
        envs.step(np.array([0, 0, 9, 0, 0, 0]))
    assert frozen(envs.get_state()) == before


@pytest.mark.parametrize(
    ("env", "function", "message"),
    [
        (parallel_env, step_cost, "of type MultiGridEnv; expected what multigrid.vector_env"),
        (lambda: SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")]), step_cost, "of type SyncVectorEnv"),
        (lambda: vector_env(1), 0.5, "function is of type float; expected a function of observations"),
        (
            lambda: vector_env(1),
            lambda rewards, infos: rewards,
            "function <lambda> takes (rewards, infos); expected a function of observations, rewards, terminations",
        ),
        (lambda: vector_env(1), functools.partial(step_cost, None), "function partial takes (rewards: 'Any', "),
        (lambda: vector_env(1), lambda *step, scale: step[1], "takes (*step, scale); expected a function"),
    ],
    ids=["ParallelEnv", "another vector env", "a number", "two arguments", "four arguments", "a keyword more"],
)
def test_other_arguments_are_refused(env: Callable[[], Any], function: Any, message: str) -> None:
    """An env whose rows are not known, and no function of five arguments, raise a TypeError that says what came."""
    with pytest.raises(TypeError) as caught:
        VectorReward(env(), function)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [lambda a, b, c, d, e, f=0: b, functools.partial(lambda scale, *step: scale * step[1], 1.0), Unsigned()],
    ids=["a default more", "partial", "no signature"],
)
def test_functions_that_take_five_arguments_are_accepted(function: Any) -> None:
    """Five arguments may be all of them or not, and what has no signature is tried by the first step."""
    envs = VectorReward(vector_env(1, **WORLD), function)
    envs.reset(seed=0)
    assert envs.step(np.zeros(3, dtype=int))[1].shape == (3,)
