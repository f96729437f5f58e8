"""Games on drawn maps, with a drawn number of agents and with delays: levels, turns, pictures, and who takes part."""

import copy
import pickle
import re
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from sample_games import SETTINGS, VARYING, Crew, Gems, Pickers, Toll

import multigrid
from helpers import frozen, same
from multigrid import Game, Outcome, games, testing
from multigrid.games._tuple_env import TupleEnv
from multigrid.games.foraging import Foraging
from multigrid.games.robotic_warehouse import RoboticWarehouse
from multigrid.maps import Level, Mazes, mutate

each_game = pytest.mark.parametrize("game", VARYING, ids=lambda game: game.__name__)
on_drawn_maps = pytest.mark.parametrize("game", [Gems, Toll], ids=lambda game: game.__name__)


def make(game: type[Game], **settings: Any) -> Any:
    """Return a ParallelEnv of a game."""
    return multigrid.parallel_env(game=game, **SETTINGS[game] | settings)


def make_many(game: type[Game], num_worlds: int = 3, **settings: Any) -> Any:
    """Return a vector env of a game."""
    return multigrid.vector_env(num_worlds, game=game, **SETTINGS[game] | settings)


def step(env: Any, random: np.random.Generator) -> Any:
    """Play a step of random actions."""
    return env.step({agent: int(random.integers(env.config.num_actions)) for agent in env.agents})


def play(env: Any, seed: int) -> list[Any]:
    """Play an episode to its end; return what its steps and its metrics show."""
    random, shown = np.random.default_rng(seed), []
    while env.agents:
        shown.append((step(env, random), env.metrics()))
    return shown


def begun(state: Any) -> Any:
    """Return a state without its random streams."""
    return {name: value for name, value in state.items() if name not in {"np_random", "delay_streams"}}


@on_drawn_maps
def test_a_level_has_the_state_as_the_episode_began(game: type[Game]) -> None:
    """It is kept through steps, copies, pickles and states; an episode that is given it begins alike, without draws."""
    env, envs = make(game), make_many(game)
    for seed in range(4):
        env.reset(seed=seed)
        state, level, count = env.get_state(), env.get_level(), len(env.agents)
        assert (level.walls == state["walls"]).all()
        assert (level.agents == state["location"][:count]).all()
        assert len(level.targets) == count * env.config.has_targets
        same(dict(level.state), {name: np.asarray(state[name]) for name in level.state})
        assert level not in {Level(*level), Level(*level, {name: value + 1 for name, value in level.state.items()})}
        random = np.random.default_rng(seed)
        for _ in range(3):
            step(env, random)
        others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), make(game)]
        others[2].set_state(env.get_state())
        assert {one.get_level() for one in (env, *others)} == {level} == {pickle.loads(pickle.dumps(level))}
        other, twin = make(game), make(game)
        other.reset(seed=99, options={"level": level})
        same(begun(other.get_state()), begun(state))
        assert other.get_level() == level
        stream = np.random.default_rng(99).bit_generator.state
        assert other.get_state()["np_random"] == stream
        twin.reset(seed=seed)
        twin.set_state({**state, **{name: other.get_state()[name] for name in ("np_random", "delay_streams")}})
        same(play(other, 5), play(twin, 5))
        envs.reset(seed=50)
        before = envs.get_levels()
        envs.reset(options={"level": level, "reset_mask": np.repeat([False, True, False], env.config.num_agents)})
        assert envs.get_levels() == [before[0], level, before[2]]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@on_drawn_maps
def test_next_levels_begin_with_the_next_automatic_reset(game: type[Game], mode: str) -> None:
    """A level that is set is that of its world's next episode alone, with its State, and of no other world's."""
    envs, random = make_many(game, autoreset_mode=mode, max_cycles=6), np.random.default_rng(1)
    envs.reset(seed=2)
    level, drawn = envs.get_levels()[0], set()
    envs.reset(seed=3)
    envs.set_next_levels([1], level, ids=[8])
    for _ in range(24):
        infos = envs.step(random.integers(envs.config.num_actions, size=envs.num_envs))[4]
        ids = infos["level"].reshape(3, -1)[:, 0].tolist()
        for k, one in enumerate(envs.get_levels()):
            assert (one == level) == (frozen(dict(one.state)) == frozen(dict(level.state))) == (ids[k] == 8)
            drawn.add(one)
    assert level in drawn
    assert len(drawn) > 6


@on_drawn_maps
def test_an_interrupted_reset_forgets_the_state_of_its_level(game: type[Game], monkeypatch: pytest.MonkeyPatch) -> None:
    """After an exception in a reset to a level, the next episode begins as that of a new env."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    env, new = make(game), make(game)
    env.reset(seed=2)
    level = env.get_level()
    with monkeypatch.context() as patched:
        patched.setattr(
            env._worlds, "kernels", SimpleNamespace(**vars(env._worlds.kernels) | {"reset_worlds": interrupt})
        )
        with pytest.raises(KeyboardInterrupt):
            env.reset(options={"level": level})
    same(env.reset(seed=4), new.reset(seed=4))
    assert env.get_level() == new.get_level()


def test_a_level_without_state_begins_anew() -> None:
    """A changed level, or one made by hand, has no State: the game's `begin` runs on it, as on a layout by hand."""
    env, ran = make(Toll), set()
    env.reset(seed=4)
    level = mutate(env.get_level(), 1, np.random.default_rng(0))
    assert level.state is None
    for seed in range(3):
        env.reset(seed=seed, options={"level": level})
        begins = env.get_level()
        assert begins == Level(*level, begins.state)
        ran.add(begins.state["price"].tobytes())
    assert len(ran) == 3


def change(level: Any, **changes: Any) -> Level:
    """Return a level with other arrays in its State."""
    return Level(*level, {name: value for name, value in {**level.state, **changes}.items() if value is not None})


BAD_LEVELS = {
    "the game's check() refuses the state": lambda level: change(level, gem=np.array([9, 0])),
    "has the state {'gem': (dtype('int64'), (2,)), 'luck'": lambda level: change(level, found=None),
    "'luck': (dtype('float64'), (2,))": lambda level: change(level, luck=np.zeros(2)),
    "location in the state lies outside": lambda level: Level(level[0], level[1] + 9, level[2], level.state),
    "location in the state has walls": lambda level: Level(np.ones_like(level[0]), *level[1:], level.state),
    "has 1 agents; expected 2 to 5": lambda level: Level(level[0], level[1][:1], level[2], level.state),
}


@pytest.mark.parametrize("problem", BAD_LEVELS)
def test_levels_that_no_episode_begins_with_are_refused(problem: str) -> None:
    """A level whose State has other arrays, or such as the game's check refuses, is refused; nothing changes."""
    env, envs = make(Gems), make_many(Gems)
    env.reset(seed=1), envs.reset(seed=1)
    good, before = env.get_level(), (frozen(env.get_state()), frozen(envs.get_state()))
    bad = BAD_LEVELS[problem](good)
    for call in (
        lambda: env.reset(options={"level": bad}),
        lambda: envs.set_next_levels([0, 2], [good, bad]),
        lambda: envs.reset(options={"level": bad}),
    ):
        with pytest.raises(ValueError, match=re.escape(problem)):
            call()
    assert (frozen(env.get_state()), frozen(envs.get_state())) == before
    envs.reset()
    assert good not in envs.get_levels()


def test_a_level_without_state_replaces_place() -> None:
    """On a mutated level, which has no State, agents begin where it says, and the game goes on with `begin`."""
    env = make(Gems)
    env.reset(seed=1)
    level = mutate(env.get_level(), 1, np.random.default_rng(0))
    env.reset(seed=2, options={"level": level})
    state = env.get_state()
    assert state["location"][: len(level.agents)].tolist() == level.agents.tolist()
    assert state["placed"] == 0
    assert state["gem"].tolist() == level.agents[0].tolist()


def test_a_state_of_a_beginning_that_cannot_be_is_refused() -> None:
    """The layout at the beginning, in a state, is in the map; that of agents that take no part is -1."""
    env = make(Gems)
    env.reset(seed=1)
    state = env.get_state()
    for row, value in ((0, [9, 0, 0, 0]), (0, [-1, 0, 0, 0]), (4, [0, 0, 0, 0])):
        cells = state["beginnings"].copy()
        assert cells[4, 0] == -1
        cells[row] = value
        with pytest.raises(ValueError, match="beginnings in the state has"):
            env.set_state({**state, "beginnings": cells})


@each_game
def test_absent_agents_are_as_an_episode_begins(game: type[Game]) -> None:
    """What a game writes for an agent that takes no part changes nothing: its state, and the metrics, have no trace."""
    env, seen = make(game), set()
    for seed in range(12):
        env.reset(seed=seed)
        count, random = len(env.agents), np.random.default_rng(seed)
        seen.add(count)
        assert env.get_state().get("placed", count) == count
        while env.agents:
            assert set(env.agents) <= {f"agent_{i}" for i in range(count)}
            step(env, random)
            state = env.get_state()
            for name in ("location", "target", "rewards", "arrivals", "delayed_steps", "distances"):
                assert not state[name][count:].any()
            assert set(state["status"][count:]) <= {games.LEFT}
            assert set(state["outcomes"][count:]) <= {Outcome.STAYED}
        env.set_state(state)
    least = env.config.least_agents
    assert seen == set(range(least, env.config.num_agents + 1))


@each_game
def test_a_delayed_agent_idles(game: type[Game]) -> None:
    """It plays *stay*, or the game's idle action, and its outcome says why; delays are those of path finding."""
    idle = {Crew: 0, Pickers: 0}.get(game, 4)
    env, delayed = make(game, max_cycles=20), 0
    rules = {name: SETTINGS[game][name] for name in ("num_agents", "least_agents", "delays")}
    paths = multigrid.parallel_env(size=9, on_target="restart", max_cycles=None, **rules)
    for seed in range(5):
        env.reset(seed=seed), paths.reset(seed=seed)
        steps, random = np.zeros(env.config.num_agents, int), np.random.default_rng(seed)
        while env.agents:
            before = env.get_state()
            step(env, random)
            paths.step(dict.fromkeys(paths.agents, 0))
            state = env.get_state()
            assert (state["delay_left"] == paths.get_state()["delay_left"]).all()
            held = (state["delay_left"] > 0) & (before["status"] == games.TRAVELLING)
            assert (state["outcomes"][held] == Outcome.DELAYED).all()
            assert (state["actions"][held] == idle).all()
            assert (state["location"][held] == before["location"][held]).all()
            assert (state["outcomes"][~held] != Outcome.DELAYED).all()
            steps += held
        assert (state["delayed_steps"] == steps).all()
        assert env.metrics()["delays"] == steps.sum()
        delayed += steps.sum()
    assert delayed > 20


def test_a_delayed_agent_talks() -> None:
    """In the warehouse with messages, an agent that is always delayed sends them, but none of its actions counts."""
    settings = SETTINGS[RoboticWarehouse] | {"msg_bits": 2, "num_agents": 2}
    held = multigrid.parallel_env(game=RoboticWarehouse, delays=1.0, **settings)
    free = multigrid.parallel_env(game=RoboticWarehouse, **settings)
    held.reset(seed=3), free.reset(seed=3)
    while held.agents:
        shown, expected = (
            env.step({agent: list(action) for agent in env.agents})[0]
            for env, action in ((held, (1, 1, 0)), (free, (0, 1, 0)))
        )
        same(shown, expected)


@pytest.mark.parametrize("game", [RoboticWarehouse, Foraging])
def test_fewer_agents_of_a_ported_game_play_as_in_a_world_of_their_own(game: type[Game]) -> None:
    """An episode of n of N agents is that of a world of n, whose stream has drawn the number: observed, paid, ended."""
    settings: dict[str, Any] = SETTINGS[game] | {"num_agents": 5, "least_agents": 1}
    own: dict[str, Any] = {}
    if game is Foraging:
        settings |= {"fixed": True, "min_player_level": (1, 2, 1, 3, 1), "max_player_level": (2, 2, 3, 4, 1)}
        own = {"observe": "grid", "grid_observation": True}
    env, seen = multigrid.parallel_env(game=game, **settings | own), set()
    for seed in range(25):
        observations, _ = env.reset(seed=seed)
        count, stream = len(env.agents), np.random.default_rng(seed)
        assert stream.integers(1, 5, endpoint=True) == count
        fewer = {name: value[:count] for name, value in settings.items() if name.endswith("player_level")}
        fewer |= {"num_agents": count, "least_agents": None}
        alone = multigrid.parallel_env(game=game, **settings | own | fewer)
        alone.reset(seed=0)
        alone.np_random = stream
        same(alone.reset(), (observations, env.reset(seed=seed)[1]))
        random = np.random.default_rng(seed)
        while env.agents:
            actions = {agent: int(random.integers(env.config.num_actions)) for agent in env.agents}
            same(env.step(actions), alone.step(actions))
        seen.add(count)
    assert seen == {1, 2, 3, 4, 5}


def test_foods_are_not_too_heavy_for_the_fewest_players() -> None:
    """A food that the least number of players cannot lift is refused, and observations are in their space."""
    with pytest.raises(ValueError, match=r"min_food_level is 2, and the three lowest players.*may have 1"):
        multigrid.parallel_env(game=Foraging, num_agents=(1, 3), min_food_level=2)
    levels = {"min_player_level": (5, 5, 5, 1), "max_player_level": (5, 5, 5, 1)}
    env = multigrid.parallel_env(game=Foraging, num_agents=(1, 4), force_coop=True, **levels)
    for seed in range(20):
        observations, _ = env.reset(seed=seed)
        assert all(one in env.observation_space(agent) for agent, one in observations.items())


@pytest.mark.parametrize("game_id", ["rware-tiny-4ag-v2", "Foraging-8x8-4p-2f-v3", "rware-imgdict-tiny-4ag-v2"])
def test_tuples_have_an_entry_for_absent_agents(game_id: str) -> None:
    """With a drawn number, tuples keep their length: the others observe zeros, get nothing, and may choose anything."""
    env, numbers = TupleEnv(game_id, num_agents=(1, 4), delays=0.1), set()
    for seed in range(8):
        observations, _ = env.reset(seed=seed)
        number = int((env.get_state()["status"] != games.LEFT).sum())
        numbers.add(number)
        for _ in range(6):
            for absent in observations[number:]:
                assert not any(np.any(part) for part in (absent.values() if isinstance(absent, dict) else [absent]))
            observations, rewards, *_ = env.step([1] * number + [99] * (4 - number))
            assert (len(observations), rewards[number:]) == (4, [0] * (4 - number))
    assert len(numbers) > 2


def test_pictures_show_the_game_on_its_map() -> None:
    """A frame has the walls of the drawn map, the marks of the game, and the agents that are present, on every face."""
    env, envs = make(Gems, render_mode="rgb_array"), make_many(Gems, 1, render_mode="rgb_array")
    text = make(Gems, render_mode="ansi")
    for seed in range(4):
        env.reset(seed=seed), envs.reset(seed=seed), text.reset(seed=seed)
        frame, state = env.render(), env.get_state()
        assert (envs.render()[0] == frame).all()
        side = frame.shape[0] // env.config.height
        corner = frame[4::side, 4::side]
        x, y = state["gem"]
        assert corner[y, x].tolist() == [0x8E, 0x24, 0xAA]
        walls = np.argwhere(state["walls"])
        assert len({tuple(corner[y, x].tolist()) for x, y in walls}) == 1
        letters = re.sub(r"\x1b\[[0-9;]*m", "", text.render())
        assert {one for one in letters if one.isalpha()} == set("abcde"[: len(env.agents)])
    crew = make(Crew, render_mode="rgb_array")
    for seed in range(4):
        crew.reset(seed=seed)
        assert crew.render().shape[2] == 3
        marks = crew._get_scene().look.marks
        assert len(marks) == len({mark.cell for mark in marks})


def test_one_agent_on_drawn_maps() -> None:
    """`gymnasium.make` and `make_vec` make a registered game of one agent on drawn maps, with delays and levels."""
    multigrid.register("Gems-v0", Gems, **SETTINGS[Gems] | {"num_agents": 1, "least_agents": None})
    testing.check_game("Gems-v0")
    env, envs = gymnasium.make("multigrid/Gems-v0").unwrapped, gymnasium.make_vec("multigrid/Gems-v0", num_envs=2)
    many, _ = envs.reset(seed=6)
    same({name: part[0] for name, part in many.items()}, env.reset(seed=6)[0])
    level = env.get_level()
    env.step(0)
    env.reset(options={"level": level})
    assert env.get_level() == level
    envs.close()


@each_game
def test_games_that_vary_are_evaluated_and_written_down(game: type[Game]) -> None:
    """`evaluate` has the game's metric and that of delays; a configuration comes back from a dict."""
    config = make(game, max_cycles=12).config
    assert multigrid.GridConfig.from_dict(config.to_dict(), game) == config
    table = multigrid.evaluate(config, multigrid.policies.random_policy(np.random.default_rng(0)), range(6))
    own = {Gems: "found", Toll: "paid", Crew: "deliveries", Pickers: "collected"}[game]
    assert table[own].mean >= 0
    assert table["delays"].mean > 0


def test_prepare_learns_of_the_generator_and_the_numbers() -> None:
    """`c.maps` is the generator, `c.size` the largest map's, `c.num_agents` and `c.least_agents` the numbers."""

    class Prepared(Game):
        """Counts what it is given."""

        def prepare(c):
            seen.append((c.maps, c.size, c.num_agents, c.least_agents))
            return {}

    seen: list[Any] = []
    walls = Mazes(side=(5, 9))
    multigrid.GridConfig(game=Prepared, walls=walls, num_agents=(2, 3))
    assert set(seen) == {(walls, (9, 9), 3, 2)}


def test_agents_without_targets_may_be_shut_in_on_drawn_maps() -> None:
    """Where nobody has a target, a drawn map has room in each free cell, as a known one; with targets it has none."""

    class Still(Game):
        """Nothing happens."""

        targets = False

    walls = multigrid.maps.RandomWalls(size=(4, 3), density=0.6, exact=True)
    env, alone = multigrid.parallel_env(game=Still, walls=walls, num_agents=5, max_cycles=3), 0
    for seed in range(8):
        env.reset(seed=seed)
        state = env.get_state()
        env.set_state(state)
        assert not state["walls"][tuple(state["location"].T)].any()
        known = multigrid.parallel_env(game=Still, walls=state["walls"], num_agents=5)
        cells = known.config.components[0]
        alone += (np.bincount(cells.ravel())[cells[tuple(state["location"].T)]] == 1).sum()
        play(env, seed)
        env.reset(options={"level": env.get_level()})
    assert alone > 0
