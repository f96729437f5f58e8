"""Rewards of one's own on the vector env: a function of what each step shows, nothing else changed, and refusals."""

import copy
import functools
import pickle
import re

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
WORLD = {"size": (4, 3), "num_agents": 3, "max_cycles": 9}


def mixed(observations, rewards, terminations, truncations, infos):
    """A reward that depends on all that a step tells."""
    first = next(iter(observations.values())) if isinstance(observations, dict) else observations
    x = first.reshape(len(rewards), -1)[:, 0]
    own = 2.0 * rewards - 0.1 * infos["distance"] - 0.25 * x + 3.0 * terminations - 5.0 * truncations
    return own + 0.001 * infos["outcome"] + 0.5 * infos["arrived"]


def step_cost(observations, rewards, terminations, truncations, infos):
    """The env's reward, less a cost of every step."""
    return rewards - 0.01


@by_mode
@pytest.mark.parametrize(
    "settings",
    [
        *({"on_target": rule} for rule in ("park", "leave", "stay", "restart")),
        {"on_target": "leave", "reward": "shared", "observe": ("view",)},
        {"on_target": "leave", "observe": ("agent", "target", "action_mask"), "copy": False, "num_threads": 2},
        {"num_agents": 1, "flatten": True, "copy": False},
    ],
    ids=str,
)
def test_the_function_gets_the_step_and_not_the_reset(mode, settings):
    """It gets what worlds return that the step does not reset, who plays nothing gets 0, and all else is the env's."""
    given = []

    def noting(*step):
        given.append(frozen(step))
        return mixed(*step)

    settings = WORLD | settings
    own = {name: settings.pop(name) for name in ("copy", "num_threads") if name in settings}
    envs = VectorReward(vector_env(5, autoreset_mode=mode, **settings, **own), noting)
    plain = vector_env(5, autoreset_mode=mode, **settings)
    staying = vector_env(5, autoreset_mode=NEXT_STEP if mode is NEXT_STEP else DISABLED, **settings)
    for each in (envs, plain, staying):
        each.reset(seed=5)
    random, ends = np.random.default_rng(3), 0
    for _ in range(90):
        actions, resetting = random.integers(0, 4, envs.num_envs), staying.episode_over.repeat(settings["num_agents"])
        returned, bare, expected = (each.step(actions) for each in (envs, plain, staying))
        assert given[-1] == frozen(expected)
        rewards = np.where(resetting | ~expected[4]["alive"], 0.0, mixed(*expected))
        assert (returned[1].dtype, returned[1].tolist()) == (np.float64, rewards.tolist())
        same((returned[0], *returned[2:]), (bare[0], *bare[2:]))
        over = staying.episode_over.repeat(settings["num_agents"])
        ends += int(over.sum())
        for each in {SAME_STEP: [staying], DISABLED: [envs, plain, staying]}.get(mode, []) if over.any() else []:
            each.reset(options={"reset_mask": over})
    assert ends > 20
    same(plain.metrics(), envs.metrics())
    assert envs.config == plain.config


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))], ids=["copied", "pickled"]
)
def test_it_goes_on_from_copies_and_states(again):
    """A copy, and another wrapper in which a state is set, play on alike, from the end of an episode too."""
    envs, other = (VectorReward(vector_env(2, **WORLD), step_cost) for _ in range(2))
    envs.reset(seed=3)
    other.reset(seed=3)
    still = np.zeros(6, dtype=int)
    while not envs.unwrapped.episode_over.all():
        envs.step(still)
    other.set_state(envs.get_state())
    third = again(envs)
    assert third.unwrapped is not envs.unwrapped
    same(envs.get_state([1], single=True), other.get_state([1], single=True))
    for reward in (0.0, -0.01):
        expected = envs.step(still)
        assert expected[1].tolist() == [reward] * 6
        same(expected, other.step(still))
        same(expected, third.step(still))


def test_over_and_under_gymnasiums_wrappers():
    """Gymnasium's wrappers go between and around; the function gets the rewards of the wrapper below."""
    inner = TransformReward(vector_env(2, **WORLD), lambda rewards: rewards + 7.0)
    envs = RecordEpisodeStatistics(VectorReward(inner, step_cost))
    envs.reset(seed=0)
    assert envs.step(np.zeros(6, dtype=int))[1].tolist() == [6.99] * 6


@by_mode
def test_the_documented_env_takes_it(mode):
    """Rewards on ``gym.make_vec`` are Gymnasium's own ones, changed by the function."""
    make, name = gymnasium.make_vec, "multigrid/GridWorld-v0"
    envs = VectorReward(make(name, num_envs=4, size=3, autoreset_mode=mode), step_cost)
    plain = SyncVectorEnv([lambda: gymnasium.make(name, size=3)] * 4, autoreset_mode=mode)
    envs.reset(seed=8)
    plain.reset(seed=8)
    resetting, random = np.zeros(4, dtype=bool), np.random.default_rng(0)
    for _ in range(50):
        actions = random.integers(0, 4, 4)
        rewards, (_, expected, ended, _, _) = envs.step(actions)[1], plain.step(actions)
        assert rewards.tolist() == np.where(resetting, 0.0, expected - 0.01).tolist()
        resetting = ended & (mode is NEXT_STEP)
        for each in (plain, envs) if mode is DISABLED and ended.any() else ():
            each.reset(options={"reset_mask": ended.copy()})


RETURNED = {
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
def test_other_returns_are_refused(returned, message):
    """What is not a finite number for each row raises a ValueError that says what came."""
    envs = VectorReward(vector_env(2, **WORLD), lambda *_step: returned)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=f"the reward function .*{re.escape(message)}"):
        envs.step(np.zeros(6, dtype=int))


def test_rewards_of_any_size_are_taken():
    """Huge numbers, integers and lists are rewards, and the function's own array is not the one returned."""
    kept = np.full(6, 1e300)
    returns = [kept, [3] * 6, np.arange(6, dtype=np.uint8)]
    envs = VectorReward(vector_env(2, **WORLD), lambda *_step: returns[0])
    envs.reset(seed=0)
    while returns:
        rewards = envs.step(np.zeros(6, dtype=int))[1]
        assert (rewards.dtype, rewards.tolist()) == (np.float64, np.asarray(returns.pop(0)).tolist())
        rewards[:] = 0
    assert kept.tolist() == [1e300] * 6


def test_rows_that_play_no_step_may_get_any_number():
    """A division by the distance, which is 0 in the rows of agents that have left, is no error there."""

    def nearness(observations, rewards, terminations, truncations, infos):
        del observations, rewards, truncations
        with np.errstate(divide="ignore"):
            return np.where(terminations, 2.0, 1.0 / infos["distance"])

    envs = VectorReward(vector_env(1, size=(4, 3), num_agents=2, on_target="leave"), nearness)
    envs.reset(options={"agents": [[0, 0], [3, 2]], "targets": [[1, 0], [0, 2]]})
    rewards = [envs.step([0, 2])[1].tolist() for _ in range(4)]
    assert rewards == [[2.0, 0.5], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]]


def test_a_bad_action_changes_nothing():
    """The env refuses the action, the function is not called, and the worlds are as they were."""
    envs = VectorReward(vector_env(2, **WORLD), lambda *_step: pytest.fail("the function was called"))
    envs.reset(seed=0)
    before = frozen(envs.get_state())
    with pytest.raises(ValueError, match="action for row 2"):
        envs.step(np.array([0, 0, 9, 0, 0, 0]))
    assert frozen(envs.get_state()) == before


TAKES = "expected a function of observations, rewards, terminations"


@pytest.mark.parametrize(
    ("env", "function", "message"),
    [
        (parallel_env, step_cost, "of type MultiGridEnv; expected what multigrid.vector_env"),
        (lambda: SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")]), step_cost, "of type SyncVectorEnv"),
        (lambda: vector_env(1), 0.5, f"function is of type float; {TAKES}"),
        (lambda: vector_env(1), lambda rewards, infos: 0, f"function <lambda> takes (rewards, infos); {TAKES}"),
        (lambda: vector_env(1), functools.partial(step_cost, None), "function partial takes (rewards, "),
        (lambda: vector_env(1), lambda *step, scale: step[1], f"takes (*step, scale); {TAKES}"),
    ],
    ids=["ParallelEnv", "another vector env", "a number", "two arguments", "four arguments", "a keyword more"],
)
def test_other_arguments_are_refused(env, function, message):
    """An env whose rows are not known, and no function of five arguments, raise a TypeError that says what came."""
    with pytest.raises(TypeError, match=re.escape(message)):
        VectorReward(env(), function)


def test_functions_that_take_five_arguments_are_accepted():
    """Five arguments may be all of them or not, and what has no signature is tried by the first step."""
    partial = functools.partial(lambda scale, *step: scale * step[1], 1.0)
    # As some that are written in C.
    unsigned = type("Unsigned", (), {"__signature__": "none", "__call__": lambda _, *step: step[1]})()
    for function in (lambda a, b, c, d, e, f=0: b, partial, unsigned):
        envs = VectorReward(vector_env(1, **WORLD), function)
        envs.reset(seed=0)
        assert envs.step(np.zeros(3, dtype=int))[1].shape == (3,)
