"""The standard form: masked float32 vectors of every agent, and one float32 vector of each world."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import parallel_api_test

import multigrid
from multigrid import GridConfig
from multigrid.wrappers import PotentialRewardParallel, StandardParallel, StandardVector, VectorReward, standard_config

MAPS = ["....#\n..#..\n.....", ".....\n.#.#.\n....."]


def make_config(**options: Any) -> GridConfig:
    """A world of five by three cells, not the same in both directions."""
    return GridConfig(**{"size": (5, 3), "num_agents": 3, "max_cycles": 25, **options})


CASES = {
    "park": make_config(),
    "leave": make_config(on_target="leave", observe=("offset", "view"), allow_stay=True),
    "restart": make_config(on_target="restart", observe=("agent", "action_mask", "others"), flatten=True),
    "pool": make_config(walls=MAPS, size=None, on_target="stay"),
}


def expected_state(config: GridConfig, cells: Any, walls: Any) -> list[float]:
    """The state, number by number."""
    vector = []
    for x, y, target_x, target_y in cells.tolist():
        scaled = [x / (config.width - 1), y / (config.height - 1)]
        scaled += [target_x / (config.width - 1), target_y / (config.height - 1)]
        vector += [-1.0] * 4 if x == -1 else scaled
    return vector + [float(wall) for column in walls for wall in column] * (config.num_maps > 1)


@pytest.mark.parametrize("name", CASES)
def test_other_fields_stay(name: str) -> None:
    """The standard config differs in flatten and in the action mask alone, which stands where it stood."""
    config = CASES[name]
    standard = standard_config(config)
    assert standard.flatten
    assert standard.parts.count("action_mask") == 1
    if "action_mask" in config.parts:
        assert standard == config
    else:
        assert standard.parts == (*config.parts, "action_mask")
    fields = set(GridConfig.__dataclass_fields__) - {"observe", "flatten", "walls"}
    assert all(getattr(standard, field) == getattr(config, field) for field in fields)
    np.testing.assert_array_equal(standard.is_wall, config.is_wall)


@pytest.mark.parametrize("name", CASES)
def test_parallel_states_are_those_of_the_env(name: str) -> None:
    """Over whole episodes the state is `MultiGridEnv.state`, scaled, and the walls of a pool; `alive` says who left."""
    config = standard_config(CASES[name])
    env, plain = StandardParallel(multigrid.parallel_env(config)), multigrid.parallel_env(config)
    generator = np.random.default_rng(0)
    with pytest.raises(ResetNeeded):
        env.state()
    maps, departed = set(), 0
    for seed in range(6):
        observations, _ = env.reset(seed=seed)
        plain.reset(seed=seed)
        over = False
        while not over:
            over = not env.agents
            state = env.state()
            assert env.state_space.contains(state)
            walls = config.is_wall[plain.map_index]
            np.testing.assert_array_equal(state, np.float32(expected_state(config, plain.state(), walls)))
            assert env.alive().dtype == np.int8
            assert env.alive().tolist() == [int(cell[0] != -1) for cell in plain.state().tolist()]
            for agent, observation in observations.items():
                assert list(observation) == ["observation", "action_mask"]
                assert env.observation_space(agent).contains(observation)
            maps.add(plain.map_index)
            departed += 3 - int(env.alive().sum())
            actions = {
                agent: int(generator.choice(np.flatnonzero(observations[agent]["action_mask"]))) for agent in env.agents
            }
            observations, *_ = env.step(actions)
            plain.step(actions)
    assert maps == set(range(config.num_maps))
    assert (departed > 0) == (config.on_target == "leave")


def check_row(row: Any, last: Any, *, has_left: bool) -> None:
    """A row is the agent's own observation; the mask of one that has left has one action, and later the rest zeros."""
    only = [0] * (len(row["action_mask"]) - 1) + [1]
    own = {"observation": np.zeros_like(row["observation"]), "action_mask": only} if last is None else last
    for part, array in own.items():
        np.testing.assert_array_equal(row[part], array)
    assert not has_left or row["action_mask"].tolist() == only


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_single_worlds(name: str, mode: str) -> None:
    """World i has the observations and states of a single world; agents that have left have one action to choose."""
    config = standard_config(CASES[name])
    envs = StandardVector(multigrid.vector_env(4, config, autoreset_mode=mode))
    singles = [StandardParallel(multigrid.parallel_env(config)) for _ in range(4)]
    observations, _ = envs.reset(seed=7)
    last = [single.reset(seed=7 + e)[0] for e, single in enumerate(singles)]
    generator, departed, finals = np.random.default_rng(1), 0, 0
    for t in range(80):
        assert envs.state_space.contains(envs.state())
        np.testing.assert_array_equal(envs.state(), [single.state() for single in singles])
        np.testing.assert_array_equal(envs.alive(), [single.alive() for single in singles])
        for row in range(envs.num_envs):
            expected = last[row // 3].get(config.agents[row % 3])
            departed += expected is None
            has_left = not singles[row // 3].alive()[row % 3]
            check_row({key: array[row] for key, array in observations.items()}, expected, has_left=has_left)
        over = np.array([not single.agents for single in singles])
        if mode == "Disabled" and t % 20 == 19:
            over[t // 20] = True
        if mode == "Disabled" and over.any():
            observations, _ = envs.reset(options={"reset_mask": np.repeat(over, 3)})
            for e in np.flatnonzero(over):
                last[e], _ = singles[e].reset()
            continue
        actions = generator.integers(0, config.num_actions, envs.num_envs)
        observations, _, _, _, infos = envs.step(actions)
        for e, single in enumerate(singles):
            if over[e]:
                last[e], _ = single.reset()
                continue
            last[e], *_ = single.step(dict(zip(config.agents, actions[3 * e : 3 * e + 3], strict=True)))
            if mode == "SameStep" and not single.agents:
                finals += 1
                for i, agent in enumerate(config.agents):
                    final = infos["final_obs"][3 * e + i]
                    if config.on_target == "park" and agent in last[e]:
                        final = {**final, "action_mask": last[e][agent]["action_mask"]}
                    check_row(final, last[e].get(agent), has_left=not single.alive()[i])
                last[e], _ = single.reset()
    assert (departed > 0) == (config.on_target == "leave")
    assert (finals > 0) == (mode == "SameStep")


def test_a_reset_of_other_worlds_changes_nothing() -> None:
    """The observations of an agent that has just left are the same after a reset of another world."""
    config = standard_config(GridConfig(walls="a.A..b....B", on_target="leave"))
    envs = StandardVector(multigrid.vector_env(2, config, autoreset_mode="Disabled"))
    envs.reset(seed=0)
    for _ in range(2):
        stepped, *_ = envs.step([multigrid.Action.RIGHT] * 4)
    assert stepped["action_mask"][:2].tolist() == [[0, 0, 0, 1], [1, 0, 1, 0]]
    reset, _ = envs.reset(options={"reset_mask": np.array([False, False, True, True])})
    for part, array in stepped.items():
        np.testing.assert_array_equal(reset[part][:2], array[:2])


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_an_agent_that_acts_no_more_has_one_action(on_target: Any) -> None:
    """From its arrival on, the mask of an agent that parks or leaves allows the last action alone, in both forms."""
    config = standard_config(GridConfig(walls="a.A..b....B\n...........", on_target=on_target, allow_stay=True))
    env, envs = StandardParallel(multigrid.parallel_env(config)), StandardVector(multigrid.vector_env(2, config))
    env.reset(seed=0)
    envs.reset(seed=0)
    for step in range(1, 4):
        observations, *_ = env.step(dict.fromkeys(env.agents, 0))
        rows, *_ = envs.step([0] * 4)
        arrived = step >= 2 and on_target in ("park", "leave")
        assert (rows["action_mask"][0].tolist() == [0, 0, 0, 0, 1]) == arrived
        assert rows["action_mask"][1].sum() > 1
        assert env.unwrapped.acting.tolist() == [not arrived, True]
        np.testing.assert_array_equal(envs.unwrapped.acting[1], [not arrived, True])
        for agent, observation in observations.items():
            row = rows["action_mask"][int(agent[-1])]
            np.testing.assert_array_equal(observation["action_mask"], row)


def test_rewards_of_the_team_are_means_over_all() -> None:
    """The team's reward is the mean over all agents of a world, whoever has left; other arrays are refused."""
    config = standard_config(GridConfig(walls="a.A..b....B", on_target="leave", reward="shared"))
    envs = StandardVector(multigrid.vector_env(2, config))
    envs.reset(seed=0)
    returns = np.zeros((2, 2))
    for _ in range(5):
        _, rewards, *_ = envs.step([0] * 4)
        returns += envs.team_rewards(rewards)
    assert returns.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="expected what step returned"):
        envs.team_rewards(np.zeros(3))


def test_what_is_returned_is_new() -> None:
    """Writing into a state or a mask changes no later one."""
    env = StandardParallel(multigrid.parallel_env(standard_config(CASES["pool"])))
    env.reset(seed=0)
    before = env.state().copy()
    env.state()[:] = 5
    env.alive()[:] = 5
    np.testing.assert_array_equal(env.state(), before)
    assert env.alive().tolist() == [1, 1, 1]
    envs = StandardVector(multigrid.vector_env(2, standard_config(CASES["pool"])))
    envs.reset(seed=0)
    worlds = envs.state().copy()
    envs.state()[:] = 5
    np.testing.assert_array_equal(envs.state(), worlds)


def minus_one(observations: Any, rewards: Any, *rest: Any) -> Any:
    """A reward of one's own."""
    return rewards - 1


def test_other_wrappers_go_inside() -> None:
    """Envs in wrappers of rewards are taken, and states of the game can be saved and set."""
    config = standard_config(CASES["leave"])
    env = StandardParallel(PotentialRewardParallel(multigrid.parallel_env(config), 1.0, lambda observation, info: 0.0))
    env.reset(seed=0)
    assert env.state().shape == env.state_space.shape
    envs = StandardVector(VectorReward(multigrid.vector_env(2, config), minus_one))
    envs.reset(seed=0)
    states, before = envs.get_state(), envs.state()
    assert envs.step(np.zeros(6, int))[1].tolist() == [-1.0] * 6
    envs.set_state(states)
    np.testing.assert_array_equal(envs.state(), before)
    assert set(envs.metrics()) == set(envs.unwrapped.metrics())
    copied = pickle.loads(pickle.dumps(envs))
    np.testing.assert_array_equal(copied.state(), before)


def test_pettingzoos_checks_pass() -> None:
    """The wrapper is a ParallelEnv by PettingZoo's own tests."""
    parallel_api_test(StandardParallel(multigrid.parallel_env(standard_config(CASES["leave"]))), num_cycles=100)


@pytest.mark.parametrize("options", [{}, {"flatten": True}, {"observe": ("agent", "action_mask")}])
def test_other_observations_are_refused(options: Any) -> None:
    """Envs whose observations are not of the form are refused, with what to do."""
    config = make_config(**options)
    with pytest.raises(ValueError, match=r"standard_config\(config\)"):
        StandardParallel(multigrid.parallel_env(config))
    with pytest.raises(ValueError, match=r"standard_config\(config\)"):
        StandardVector(multigrid.vector_env(2, config))


def test_other_envs_are_refused() -> None:
    """What is no env of multigrid is refused."""
    envs: Any = multigrid.vector_env(2, standard_config(make_config()))
    with pytest.raises(TypeError, match=r"expected what multigrid.parallel_env\(...\) returns"):
        StandardParallel(envs)
    with pytest.raises(TypeError, match=r"expected what multigrid.vector_env\(...\) returns"):
        StandardVector(gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"))
