"""The standard form: masked float32 vectors of every agent, and one float32 vector of each world."""

import dataclasses
import pickle
from typing import Annotated, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

import multigrid
from multigrid import GridConfig
from multigrid.wrappers import PotentialRewardParallel, StandardParallel, StandardVector, VectorReward, standard_config

MAPS = ["....#\n..#..\n.....", ".....\n.#.#.\n....."]


def make_config(**options):
    """A world of five by three cells, not the same in both directions."""
    return GridConfig(**{"size": (5, 3), "num_agents": 3, "max_cycles": 25, **options})


CASES = {
    "park": make_config(),
    "leave": make_config(on_target="leave", observe=("offset", "view"), allow_stay=True),
    "restart": make_config(on_target="restart", observe=("agent", "action_mask", "others"), flatten=True),
    "pool": make_config(walls=MAPS, size=None, on_target="stay"),
    "drawn": make_config(walls=multigrid.maps.RandomWalls(size=(5, 3), density=(0.1, 0.3)), size=None),
}


def expected_state(config, cells, walls):
    """The state, number by number."""
    vector = []
    for agent in cells.tolist():
        scaled = [x / (side - 1) for x, side in zip(agent, (config.width, config.height) * 2, strict=True)]
        vector += [-1.0] * 4 if agent[0] == -1 else scaled
    return vector + [float(wall) for column in walls for wall in column] * (config.num_maps > 1 or config.draws_maps)


class Departures(multigrid.Game):
    """One agent leaves in each step, and its number is noted."""

    targets = False

    class State(NamedTuple):  # noqa: D106
        noted: Annotated[NDArray[np.float64], "E N"]

    def after_moves(w, s, e):  # noqa: D102, N805
        s.noted[e, w.steps[e] - 1] = w.steps[e] + 0.5
        w.terminated[e, w.steps[e] - 1] = True


def test_other_fields_stay():
    """The standard config differs in flatten and in the action mask alone, which stands where it stood."""
    for config in CASES.values():
        parts = config.parts if "action_mask" in config.parts else (*config.parts, "action_mask")
        assert standard_config(config) == dataclasses.replace(config, flatten=True, observe=parts)


@pytest.mark.parametrize("name", CASES)
def test_parallel_states_are_those_of_the_env(name):
    """The state is `MultiGridEnv.state`, scaled, and walls where maps change; `alive` says who left."""
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
            over, state, alive, cells = not env.agents, env.state(), env.alive(), plain.state()
            assert env.state_space.contains(state)
            walls = plain.get_state()["walls"] if config.draws_maps else config.is_wall[plain.map_index]
            np.testing.assert_array_equal(plain.map_walls, walls)
            np.testing.assert_array_equal(state, np.float32(expected_state(config, cells, walls)))
            assert (alive.dtype, alive.tolist()) == (np.int8, [int(x != -1) for x in cells[:, 0].tolist()])
            for agent, observation in observations.items():
                assert list(observation) == ["observation", "action_mask"]
                assert env.observation_space(agent).contains(observation)
            maps.add(plain.map_index)
            departed += 3 - int(alive.sum())
            masks = {agent: np.flatnonzero(observations[agent]["action_mask"]) for agent in env.agents}
            actions = {agent: int(generator.choice(mask)) for agent, mask in masks.items()}
            observations, *_ = env.step(actions)
            plain.step(actions)
    assert maps == set(range(config.num_maps))
    assert (departed > 0) == (config.on_target == "leave")


def check_row(row, last, *, has_left):
    """A row is the agent's own observation; the mask of one that has left has one action, and later the rest zeros."""
    only = [0] * (len(row["action_mask"]) - 1) + [1]
    own = {"observation": np.zeros_like(row["observation"]), "action_mask": only} if last is None else last
    for part, array in own.items():
        np.testing.assert_array_equal(row[part], array)
    assert not has_left or row["action_mask"].tolist() == only


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_single_worlds(name, mode):
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
        np.testing.assert_array_equal(envs.unwrapped.map_walls, [single.unwrapped.map_walls for single in singles])
        np.testing.assert_array_equal(envs.alive(), [single.alive() for single in singles])
        for row in range(envs.num_envs):
            expected = last[row // 3].get(config.agents[row % 3])
            departed += expected is None
            has_left = not envs.alive()[row // 3, row % 3]
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


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_an_agent_that_acts_no_more_has_one_action(on_target):
    """From its arrival on, the mask of an agent that parks or leaves allows the last action alone, in both forms."""
    config = standard_config(GridConfig(walls="a.A..b....B\n...........", on_target=on_target, allow_stay=True))
    env = StandardParallel(multigrid.parallel_env(config))
    envs = StandardVector(multigrid.vector_env(2, config, autoreset_mode="Disabled"))
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
    reset, _ = envs.reset(options={"reset_mask": np.array([False, False, True, True])})
    for part, array in rows.items():
        np.testing.assert_array_equal(reset[part][:2], array[:2], "another world's reset changes nothing")


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_masks_are_the_same_without_copies(mode):
    """With ``copy=False`` the masks are those of copies, and what the env owns is unchanged."""
    config = standard_config(GridConfig(walls="a.A..b....B\n...........", on_target="park", max_cycles=4))
    envs, others = (multigrid.vector_env(2, config, copy=one, autoreset_mode=mode) for one in (False, True))
    envs, others = StandardVector(envs), StandardVector(others)
    found = [one.reset(seed=0)[0] for one in (envs, others)]
    idle = 0
    for _ in range(4):
        np.testing.assert_equal(*found)
        found = [one.step([0] * 4)[0] for one in (envs, others)]
        idle += (found[0]["action_mask"].sum(axis=1) == 1).any()
    np.testing.assert_equal(*found)
    assert idle


def test_rewards_of_the_team_are_means_over_all():
    """The team's reward is the mean over all agents of a world, whoever has left; other arrays are refused."""
    config = standard_config(GridConfig(walls="a.A..b....B", on_target="leave", reward="shared"))
    envs = StandardVector(multigrid.vector_env(2, config))
    envs.reset(seed=0)
    returns = sum(envs.team_rewards(envs.step([0] * 4)[1]) for _ in range(5))
    assert np.asarray(returns).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="expected what step returned"):
        envs.team_rewards(np.zeros(3))


def minus_one(*step):
    """A reward of one's own."""
    return step[1] - 1


def test_other_wrappers_go_inside():
    """Wrappers of rewards are taken; states can be saved, set and pickled; writing into one changes no later one."""
    config = standard_config(CASES["leave"])
    env = StandardParallel(PotentialRewardParallel(multigrid.parallel_env(config), 1.0, lambda observation, info: 0.0))
    envs = StandardVector(VectorReward(multigrid.vector_env(2, config), minus_one))
    for each in (env, envs):
        each.reset(seed=0)
        before = each.state().copy()
        each.state()[:] = each.alive()[:] = 5
        np.testing.assert_array_equal(each.state(), before)
        assert each.alive().all()
        assert each.alive().max() == 1
    states = envs.get_state()
    assert envs.step(np.zeros(6, int))[1].tolist() == [-1.0] * 6
    envs.set_state(states)
    for each in (envs, pickle.loads(pickle.dumps(envs))):
        np.testing.assert_array_equal(each.state(), before)
    assert set(envs.metrics()) == set(envs.unwrapped.metrics())


def test_other_envs_are_refused():
    """Envs whose observations are not of the form are refused with what to do, and what is no env of multigrid is."""
    for options in ({}, {"flatten": True}, {"observe": ("agent", "action_mask")}):
        config = make_config(**options)
        envs = {StandardParallel: multigrid.parallel_env(config), StandardVector: multigrid.vector_env(2, config)}
        for wrap, env in envs.items():
            with pytest.raises(ValueError, match=r"standard_config\(config\)"):
                wrap(env)
    envs = multigrid.vector_env(2, standard_config(make_config()))
    with pytest.raises(TypeError, match=r"expected what multigrid.parallel_env\(...\) returns"):
        StandardParallel(envs)
    with pytest.raises(TypeError, match=r"expected what multigrid.vector_env\(...\) returns"):
        StandardVector(gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"))


def test_messages_are_refused():
    """A game whose actions have bits of messages is refused, and the error names how many there are."""
    for bits in (1, 2):
        config = standard_config(multigrid.games.config("rware-tiny-2ag-v2", msg_bits=bits))
        envs = {StandardParallel: multigrid.parallel_env(config), StandardVector: multigrid.vector_env(2, config)}
        for wrap, env in envs.items():
            with pytest.raises(ValueError, match=f"has {bits} bits of a message.*leave out the bits"):
                wrap(env)


def test_the_numbers_of_a_game_end_the_state(monkeypatch):
    """In a game the state goes on with the numbers of its own arrays, as they are, and stays in its space."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")  # interpreted: other tests compile games
    config = standard_config(make_config(walls=MAPS, size=None, game=Departures))
    env, envs = StandardParallel(multigrid.parallel_env(config)), StandardVector(multigrid.vector_env(2, config))
    env.reset(seed=7)
    envs.reset(seed=7)
    for step in range(3):
        noted = [1.5, 2.5][:step] + [0.0] * (3 - step)
        cells = env.unwrapped.state()[:12].reshape(3, 4)
        assert env.state().tolist() == pytest.approx(
            [*expected_state(config, cells, config.is_wall[env.unwrapped.map_index]), *noted]
        )
        assert env.alive().tolist() == [0] * step + [1] * (3 - step)
        assert env.state_space.contains(env.state())
        np.testing.assert_array_equal(envs.state()[0], env.state())
        np.testing.assert_array_equal(envs.alive()[0], env.alive())
        assert envs.state_space.contains(envs.state())
        env.step(dict.fromkeys(env.agents, 0))
        envs.step(np.zeros(6, int))
