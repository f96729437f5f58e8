"""What the class of a game may say beside its rules: spaces, infos, pictures, layouts, and what `prepare` returns."""

from __future__ import annotations

import copy
import dataclasses
import enum
import pickle
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray
from sample_games import SETTINGS, Kitchen

import multigrid
from helpers import frozen
from multigrid import Game, GridConfig, PartSpec, games, show_episode
from multigrid.envs._agent_dicts import pick_row
from multigrid.maps import RandomWalls
from multigrid.rendering.replay import replay_page
from multigrid.scenarios import RecordEpisode, find_world, load, replay, save
from multigrid.wrappers import VectorReward


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python run the games; `test_games` plays those of `sample_games` compiled, too."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")


class Hurry(Game):
    """A step pays the limit of steps."""

    def after_moves(w, s, e):
        w.rewards[e, 0] = w.max_cycles


def test_a_game_reads_the_limit_of_steps() -> None:
    """`w.max_cycles` is the limit that holds now, 0 for none, and a game cannot set it."""

    class Sets(Hurry):
        def after_moves(w, s, e):
            w.max_cycles = 3

    for limit, expected in ((7, 7), (None, 0)):
        env: Any = multigrid.parallel_env(game=Hurry, size=(4, 3), max_cycles=limit)
        env.reset(seed=0)
        assert env.step({"agent_0": 0, "agent_1": 0})[1]["agent_0"] == expected
    env.max_cycles = 5
    assert env.step({"agent_0": 0, "agent_1": 0})[1]["agent_0"] == 5
    with pytest.raises(TypeError, match=r"Sets\.after_moves .*w\.max_cycles"):
        multigrid.parallel_env(game=Sets, size=(4, 3))


class Quits(Game):
    """Agent 0 terminates in the second step."""

    def after_moves(w, s, e):
        w.terminated[e, 0] = w.steps[e] == 2


def test_an_agent_that_is_alone_does_not_leave_others() -> None:
    """A game of one agent needs no `departures = False`: its arrays without copies are those that the env has."""
    for num_agents in (1, 2):
        settings: Any = {"game": Quits, "num_agents": num_agents, "size": (4, 3), "autoreset_mode": "Disabled"}
        envs = multigrid.vector_env(2, copy=False, **settings)
        observations, _ = envs.reset(seed=0)
        assert envs.config.agents_can_leave == (num_agents > 1)
        assert np.shares_memory(observations["agent"], envs.reset(seed=1)[0]["agent"]) == (num_agents == 1)
        for _ in range(2):
            _, _, terminated, _, infos = envs.step(np.zeros(2 * num_agents, np.int64))
        assert terminated[::num_agents].all()
        assert infos["alive"].all()


class Counts(Game):
    """Agents see how many cells are to the left of them, and count them in scratch."""

    parts = {"left": PartSpec(np.int64, "1", 0, 99, "cells to the left.")}

    class State(NamedTuple):
        price: Annotated[NDArray[np.int64], "E"]
        queue: Annotated[NDArray[np.int64], "E W*H", games.SCRATCH]

    def write_left(w, s, e, i, out):
        s.queue[e, : w.location[e, i, 0]] = 1
        s.queue[e, w.location[e, i, 0] :] = 0
        out[0] = s.queue[e].sum()

    def metric_last(w, s, e):
        s.queue[e] = -1
        return s.queue[e, 0]

    def check(w, s, e):
        s.queue[e] = 7
        return True

    def marks(scene):
        assert not hasattr(scene, "queue")
        yield games.Mark((scene.price, 0))


def test_scratch_is_no_state() -> None:
    """An array marked `games.SCRATCH` is written by functions that only read, and is in no state, picture or pickle."""
    env: Any = multigrid.parallel_env(game=Counts, size=(40, 30), render_mode="rgb_array")
    env.reset(seed=0)
    env.step({"agent_0": 0, "agent_1": 2})
    state = env.get_state()
    assert "price" in state
    assert "queue" not in state
    assert env.state().shape == (4 * 2 + 1,) == env.state_space.shape
    assert env.metrics()["last"] == -1
    env.render()
    number = 0x123456789ABCDEF0
    env._worlds.arrays.own.queue[...] = number
    pickled = pickle.dumps(env)
    assert number.to_bytes(8, "little") not in pickled
    again = pickle.loads(pickled)
    again.set_state(state)
    seen, expected = (one.step({"agent_0": 0, "agent_1": 1})[0]["agent_1"] for one in (again, env))
    assert seen["left"] == expected["left"] == expected["agent"][0] > 0


class Named(Game):
    """The episode begins with a number from the options of `reset`, else with 0."""

    class State(NamedTuple):
        first: Annotated[NDArray[np.int64], "E", games.KEPT]
        number: Annotated[NDArray[np.int64], "E"]

    def reset(c: Any, options: Any, num_worlds: int) -> Any:
        return {name: options[name] for name in ("first", "number", "third") if name in options}

    def begin(w, s, e):
        s.number[e], s.first[e] = s.first[e], 0


def test_a_game_reads_options_of_reset() -> None:
    """What the function `reset` returns is kept for the next beginning, and can be nothing but kept arrays."""
    env: Any = multigrid.parallel_env(game=Named, size=(4, 3))
    envs: Any = multigrid.vector_env(3, game=Named, size=(4, 3))
    env.reset(options={"first": 7})
    envs.reset(options={"first": [5, 6, 7]})
    assert [int(env.get_state()["number"]), *envs.get_state()["number"].tolist()] == [7, 5, 6, 7]
    for bad in ({"number": 1}, {"third": 1}, {"first": [1, 2]}):
        for one in (env, envs):
            with pytest.raises(
                ValueError, match=r"\.reset: it sets .*; expected (arrays of State marked games\.KEPT|.* of shape)"
            ):
                one.reset(options=bad)
    assert [int(env.get_state()["number"]), *envs.get_state()["number"].tolist()] == [7, 5, 6, 7]
    env.reset()
    assert int(env.get_state()["number"]) == 0


class Asked(Named):
    """Without a number in the options, it is 9."""

    def reset(c: Any, options: Any, num_worlds: int) -> Any:
        return {"first": options.get("first", 9)}


def test_a_game_reads_options_that_reset_gets() -> None:
    """In each face `reset` of the game is called if there are options, and not without."""
    env: Any = multigrid.parallel_env(game=Asked, size=(4, 3))
    envs: Any = multigrid.vector_env(1, game=Asked, size=(4, 3))
    for keywords, expected in (({"seed": 0}, 0), ({"options": {}}, 9), ({"options": {"first": 3}}, 3), ({}, 0)):
        env.reset(**keywords), envs.reset(**keywords)
        assert [int(env.get_state()["number"]), *envs.get_state()["number"].tolist()] == [expected] * 2


class Stateless(Game):
    """A game without arrays of its own."""


def test_a_level_of_a_game_without_state_is_pickled() -> None:
    """A level whose state is empty is pickled and copied as it is."""
    env: Any = multigrid.parallel_env(game=Stateless, walls=RandomWalls(size=(5, 4)))
    env.reset(seed=0)
    level = env.get_level()
    assert level.state == {}
    assert pickle.loads(pickle.dumps(level)) == copy.deepcopy(level) == level


class Colour(enum.IntEnum):
    """Colours, by names in lower case."""

    red = 1
    blue = 2


class Case(enum.IntEnum):
    """Names that differ in their case alone."""

    a = 1
    A = 2


class Painted(Game):
    """A game with options of several types."""

    options = {"colour": Colour.red, "case": Case.A, "share": 0.5}


def test_options_are_read_by_their_types() -> None:
    """A member is named in any case, and a number that no float holds is refused."""
    for word in ("blue", "BLUE", 2, Colour.blue):
        assert GridConfig(game=Painted, options={"colour": word}).options["colour"] is Colour.blue
    assert GridConfig(game=Painted, options={"case": Case.a}).options["case"] is Case.a
    with pytest.raises(ValueError, match=r"share is .*; expected a number that a float can hold"):
        GridConfig(game=Painted, options={"share": 10**400})


class Still(Game):
    """A game of three actions, none of which moves."""

    moves = False
    actions = ("left", "right", "idle")
    idle = "idle"

    def step(w, s, e):
        pass


def test_actions_of_a_game_need_no_stay() -> None:
    """The hint at `allow_stay` is for the action that it adds alone."""
    env: Any = multigrid.parallel_env(game=Still, size=(4, 3))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"expected an integer from 0 to 2$"):
        env.step({"agent_0": 4, "agent_1": 0})


@pytest.mark.parametrize(
    ("game_id", "options"),
    [
        ("rware-tiny-2ag-v2", {"observation_type": "dict", "max_steps": 2}),
        ("MiniGrid-GoToDoor-5x5-v0", {"mission": "text", "max_cycles": 2}),
    ],
)
def test_rewards_are_of_final_observations_of_any_form(game_id: str, options: dict[str, Any]) -> None:
    """A function of rewards gets the final rows in nested dicts, tuples and texts, too."""
    given: list[Any] = []

    def note(observations: Any, *_: Any) -> Any:
        given.append([pick_row(observations, row) for row in range(envs.num_envs)])
        return np.zeros(envs.num_envs)

    envs: Any = VectorReward(games.vector_env(game_id, 3, autoreset_mode="SameStep", **options), note)
    envs.reset(seed=2)
    for step in range(1, 5):
        observations, *_, infos = envs.step(np.zeros(envs.num_envs, int))
        final = infos.get("final_obs", [None] * envs.num_envs)
        expected = [pick_row(observations, row) if one is None else one for row, one in enumerate(final)]
        assert frozen(given.pop()) == frozen(expected)
        assert any(one is not None for one in final) == (step % 2 == 0)


def test_a_level_and_options_of_a_game_do_not_set_one_state() -> None:
    """A level has the State of an episode, so it is refused beside options that set some; without State, both hold."""
    settings: Any = {"game": Named, "walls": multigrid.maps.RandomWalls(size=(5, 4)), "num_agents": 2}
    env, envs = multigrid.parallel_env(**settings), multigrid.vector_env(2, **settings)
    env.reset(seed=0, options={"first": 3}), envs.reset(seed=0)
    level: Any = env.get_level()
    for one in (env, envs):
        with pytest.raises(ValueError, match="options has a level with the State of an episode, and what sets first"):
            one.reset(options={"first": 7, "level": level})
    bare = type(level)(level.walls, level.agents, level.targets)
    for given, number in (({"level": level}, 3), ({"first": 7, "level": bare}, 7), ({"first": 8}, 8)):
        env.reset(options=given), envs.reset(options=given)
        assert [int(env.get_state()["number"]), *envs.get_state()["number"].tolist()] == [number] * 3
        assert (env.get_level() == level) == (number == 3)


def test_only_scratch_is_written_by_functions_that_read() -> None:
    """Beside scratch, a function that only reads writes nothing; and scratch has the worlds first."""

    class Pays(Counts):
        def write_left(w, s, e, i, out):
            s.price[e] = 1

    class Alone(Counts):
        class State(NamedTuple):
            row: Annotated[NDArray[np.int64], "W", games.SCRATCH]

        def prepare(c):
            return {"row": np.zeros(c.size)}

    with pytest.raises(ValueError, match=r"Pays\.write_left writes into 'price', but it may only read"):
        multigrid.parallel_env(game=Pays, size=(4, 3))
    with pytest.raises(ValueError, match=r"Alone\.State\.row has the shape 'W'; expected the worlds first"):
        multigrid.parallel_env(game=Alone, size=3)


class Events(Game):
    """Infos are half of x, and how many others are above: of the state alone, so that they are there at any time."""

    infos = {
        "half": PartSpec(np.float64, "1", 0, 99, "half of x."),
        "above": PartSpec(np.int32, "1", 0, 9, "agents above."),
    }

    def write_info_half(w, s, e, i):
        return w.location[e, i, 0] / 2

    def write_info_above(w, s, e, i):
        count = 0
        for j in range(w.location.shape[1]):
            count += w.location[e, j, 1] < w.location[e, i, 1]
        return count


def check_infos(infos: Any, cells: Any) -> None:
    """Check the infos of agents in the cells (N, 2)."""
    for info, (x, y) in zip(infos, cells.tolist(), strict=True):
        assert (info["half"], info["above"]) == (x / 2, int((cells[:, 1] < y).sum()))
        assert (type(info["half"]), type(info["above"])) == (float, int)


@pytest.mark.parametrize("settings", [{}, {"observe": ("agent", "target")}, {"flatten": True}])
def test_a_game_adds_infos(settings: Any) -> None:
    """Infos of a game are numbers after each reset, step and set_state, by agent in ParallelEnv and AECEnv."""
    settings = {"game": Events, "num_agents": 3, "size": (5, 4), **settings}
    env: Any = multigrid.parallel_env(**settings)
    turns: Any = multigrid.env(**settings)
    _, infos = env.reset(seed=3)
    turns.reset(seed=3)
    random = np.random.default_rng(0)
    for _ in range(5):
        cells = env.get_state()["location"]
        check_infos(infos.values(), cells)
        check_infos(turns.infos.values(), cells)
        actions = {agent: int(random.integers(4)) for agent in env.agents}
        infos = env.step(actions)[4]
        for agent, action in actions.items():
            assert turns.last()[4] == turns.infos[agent]
            turns.step(action)
    turns.set_state(before := env.get_state() | {"location": np.array([[0, 3], [4, 0], [2, 1]])})
    check_infos(turns.infos.values(), before["location"])


def test_infos_of_many_worlds_are_arrays() -> None:
    """In a vector env, infos of a game are arrays with masks; those of an episode's last step are in `final_info`."""
    envs: Any = multigrid.vector_env(2, game=Events, num_agents=3, size=(5, 4), max_cycles=2, autoreset_mode="SameStep")

    def check(infos: Any, cells: Any) -> None:
        assert infos["above"].dtype == np.int32
        assert infos["_half"].all()
        for e in range(2):
            rows = [{name: infos[name][3 * e + i].item() for name in Events.infos} for i in range(3)]
            check_infos(rows, np.array(cells[3 * e : 3 * e + 3]))

    observations, infos = envs.reset(seed=1)
    check(infos, observations["agent"])
    observations, *_, infos = envs.step(np.zeros(6, np.int64))
    check(infos, observations["agent"])
    observations, *_, infos = envs.step(np.ones(6, np.int64))
    check(infos, observations["agent"])
    check(infos["final_info"], [one["agent"] for one in infos["final_obs"]])


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("above", "2", r"Wrong\.infos\['above'\] has the shape '2'; expected '1', a number"),
        ("below", "1", r"Wrong\.infos has 'below' but .*; add def write_info_below\(w, s, e, i\)"),
        ("isr", "1", "Wrong has the info isr, but every environment has that metric or info"),
        ("outcome", "1", "Wrong has the info outcome, but every environment has that metric or info"),
    ],
)
def test_infos_that_cannot_be(name: str, shape: str, message: str) -> None:
    """An info is a number with a function, under a name that is free."""
    written = {} if name == "below" else {f"write_info_{name}": lambda w, s, e, i: 0}
    wrong = type("Wrong", (Game,), {"infos": {name: PartSpec(np.int64, shape, 0, 9, "")}, **written})
    with pytest.raises(ValueError, match=message):
        multigrid.parallel_env(game=wrong, size=(4, 3))


LAYOUTS = {"hall": ("...#.\n.....\n#....", (1, 3)), "yard": (".....\n...##\n.....", (5, 7)), "cell": ("..\n..", (1, 1))}


class Shops(Game):
    """Each layout has walls, and prices of two wares; whoever buys gets the price. One option leaves out a ware."""

    actions = ("buy", "order")
    targets = False
    options = {"layouts": ("hall", "yard"), "wares": 2}

    class State(NamedTuple):
        bought: Annotated[NDArray[np.int64], "E N"]
        price: Annotated[NDArray[np.float64], "M 2"]

    def prepare(c):
        return {
            "walls": [LAYOUTS[name][0] for name in c.layouts],
            "price": [LAYOUTS[name][1] for name in c.layouts],
            "actions": c.wares,
        }

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            if w.actions[e, i] >= 5:
                w.rewards[e, i] = s.price[w.map_index[e], w.actions[e, i] - 5]
                s.bought[e, i] += 1

    def metric_bought(w, s, e):
        return s.bought[e].sum()

    def marks(scene):
        yield games.Mark((0, 0), letter=str(int(scene.price[0])))


def test_prepare_returns_maps_and_constants_of_each() -> None:
    """Arrays with a first axis of maps M are read by `w.map_index[e]`: several layouts play in one vector env."""
    envs: Any = multigrid.vector_env(9, game=Shops, num_agents=3)
    assert (envs.config.width, envs.config.height, envs.config.num_maps) == (5, 3, 2)
    envs.reset(seed=0)
    assert set(envs.map_index.tolist()) == {0, 1}
    for action, prices in ((5, [1, 5]), (6, [3, 7])):
        rewards = envs.step(np.full(27, action))[1]
        assert rewards.reshape(9, 3).tolist() == [[prices[m]] * 3 for m in envs.map_index.tolist()]
    for m, shown in zip(envs.map_index.tolist(), envs.map_walls, strict=True):
        rows = LAYOUTS[("hall", "yard")[m]][0].split("\n")
        assert shown.T.tolist() == [[cell == "#" for cell in row] for row in rows]
    alone: Any = multigrid.parallel_env(game=Shops, layouts=("cell",), num_agents=1)
    alone.reset(seed=0)
    assert alone.config.width == 2
    assert alone.step({"agent_0": 6})[1] == {"agent_0": 1}


def test_prepare_says_how_many_actions_there_are() -> None:
    """With "actions", agents have the first so many of the game's own; masks, spaces and checks know no others."""
    env: Any = multigrid.parallel_env(game=Shops, wares=1, observe=("agent", "action_mask"))
    observations, _ = env.reset(seed=0)
    assert env.action_space("agent_0").n == 6 == env.config.num_actions
    assert observations["agent_0"]["action_mask"].shape == (6,)
    assert env.config.own_actions == ("buy",)
    turns = multigrid.env(game=Shops, wares=1)
    turns.reset(seed=0)
    with pytest.raises(ValueError, match="action for agent_0 is 6; expected"):
        turns.step(6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_stored_of_a_game_with_its_own_maps(seed: int, tmp_path: Path) -> None:
    """Recordings, pictures, copies and dicts of a game with maps of its own have its options, and the map's index."""
    env: Any = RecordEpisode(multigrid.parallel_env(game=Shops, num_agents=2, render_mode="ansi"))
    env.reset(seed=seed)
    for action in (5, 6, 0):
        env.step({"agent_0": action, "agent_1": 3})
    m = env.unwrapped.map_index
    scenario = env.scenario("shops")
    save(scenario, tmp_path / "shops.json")
    loaded = load(tmp_path / "shops.json", Shops)
    assert loaded == scenario
    assert loaded.start["map_index"] == m
    assert len(list(replay(loaded))) == 4
    assert show_episode(env).episode.marks[0][0].letter == str((1, 5)[m])
    config = env.unwrapped.config
    assert GridConfig.from_dict(config.to_dict(), Shops) == config == pickle.loads(pickle.dumps(config))
    assert dataclasses.replace(config, options={"layouts": ("cell",)}).width == 2
    assert find_world(tmp_path / "shops.json", base=config).num_maps == 2


@pytest.mark.parametrize(
    ("prepared", "settings", "message"),
    [
        (
            {"walls": "...\n..#"},
            {"walls": "..\n.."},
            "walls are given, but by its options the game has its own; lea",
        ),
        ({"walls": "...\n..#"}, {"size": 4}, r"size is 4 but the map is 3 x 2 cells"),
        (
            {"walls": ["...\n..#", "...."]},
            {},
            r"Given\.prepare: map 1 of walls has the shape \(4, 1\), the first \(3,",
        ),
        ({"walls": 3}, {}, r"Given\.prepare: walls is of type int; expected a boolean array"),
        ({"actions": 3}, {}, r"Given\.prepare: actions is 3; expected an integer of at least 1, and at most 2"),
        ({"actions": 0}, {}, r"Given\.prepare: actions is 0; expected an integer of at least 1"),
        ({"actions": 1.5}, {}, r"Given\.prepare: actions is 1.5 of type float; expected an integer"),
        ({"row": np.zeros(1)}, {"walls": ["..\n..", ".#\n.."]}, r"array of float64 of shape \(1,\) for row; .*\(2,\)"),
        ({"row": np.zeros(2)}, {"walls": RandomWalls(size=(4, 3))}, "has 'M'; expected numbers, or out of"),
        ({"M": 3}, {}, "returns 'M', which is taken; choose another name"),
    ],
)
def test_what_prepare_cannot_return(prepared: Any, settings: Any, message: str) -> None:
    """Maps and numbers of actions that cannot be, and constants of another number of maps, name the function."""

    class Given(Game):
        actions = ("buy", "order")

        class State(NamedTuple):
            row: Annotated[NDArray[np.int64], "M"]

        def prepare(c):
            return prepared

    with pytest.raises((ValueError, TypeError), match=message):
        multigrid.parallel_env(game=Given, **settings)


class Tiles(Game):
    """The walls of this game are cells of its State: nothing of the library knows them."""

    targets = False
    walls = False

    class State(NamedTuple):
        tile: Annotated[NDArray[np.int64], "E W H"]

    def begin(w, s, e):
        s.tile[e, 2, 1] = 1

    def may_enter(w, s, e, i, x, y):
        return s.tile[e, x, y] == 0


NONE = r"the grid of Tiles has none \(walls = False\): what is in its cells is in its State; "


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"walls": "...#\n....\n...."}, f"walls are given, but {NONE}leave them out"),
        ({"walls": RandomWalls(size=(4, 3))}, f"walls are given, but {NONE}leave them out"),
        ({"observe": ("agent", "view")}, f"observe has 'view', which shows walls, but {NONE}expected other parts"),
        ({"observe": "walls"}, f"observe has 'walls', which shows walls, but {NONE}expected other parts"),
    ],
)
def test_what_knows_walls_is_refused_where_a_game_has_its_own(settings: Any, message: str) -> None:
    """A game with `walls = False` takes no walls and no part that shows some, and the error says why."""
    with pytest.raises(ValueError, match=message):
        multigrid.parallel_env(game=Tiles, **settings)


def test_a_game_without_walls_of_the_library() -> None:
    """Its grid has free cells alone, its recordings and named worlds play again, and `prepare` returns no walls."""
    env: Any = RecordEpisode(multigrid.parallel_env(game=Tiles, size=(4, 3), num_agents=1))
    env.reset(seed=0, options={"agents": [[1, 1]]})
    assert not env.unwrapped.map_walls.any()
    assert env.step({"agent_0": 0})[4]["agent_0"]["outcome"] == 3
    assert len(list(replay(env.scenario("tiles")))) == 2
    assert multigrid.parallel_env(game=Tiles, walls="....\n....\n....").config.width == 4

    class Both(Tiles):
        def prepare(c):
            return {"walls": "..\n.#"}

    with pytest.raises(ValueError, match=r"Both\.prepare returns walls, but Both\.walls is False"):
        multigrid.parallel_env(game=Both)


class Compass(Game):
    """Agents turn, and observe a number of a Discrete, a map and a text, made of parts of the same names."""

    targets = False
    parts = {
        "direction": PartSpec(np.int64, "1", 0, 3, "its direction."),
        "sketch": PartSpec(np.uint8, "W H", 0, 1, "where it is."),
        "mission": PartSpec(np.int64, "1", 0, 1, "what to do."),
    }

    class State(NamedTuple):
        direction: Annotated[NDArray[np.int64], "E N"]

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            s.direction[e, i] = w.actions[e, i]

    def observation_space(c):
        width, height = c.size
        return spaces.Dict(
            direction=spaces.Discrete(4),
            sketch=spaces.Box(0, 1, (width, height), np.uint8),
            mission=spaces.Text(9),
        )

    def make_observations(c, parts):
        made = {"sketch": parts["sketch"]} if "sketch" in parts else {}
        if "direction" in parts:
            made["direction"] = parts["direction"][:, 0]
        if "mission" in parts:
            made["mission"] = np.array(["stay", "go"])[parts["mission"][:, 0]]
        return made | {"unasked": parts}

    def write_direction(w, s, e, i, out):
        out[0] = s.direction[e, i]

    def write_sketch(w, s, e, i, out):
        out[:] = 0
        out[w.location[e, i, 0] * w.components.shape[2] + w.location[e, i, 1]] = 1

    def write_mission(w, s, e, i, out):
        out[0] = i


@pytest.mark.parametrize("observe", [("sketch", "direction"), ("mission",), "direction", "mission"])
def test_parts_that_are_keys_of_the_games_own_dict_keep_their_spaces(observe: Any) -> None:
    """With `observe`, the space is the game's own Dict of these keys alone, or for one name what it has under it."""
    settings: Any = {"game": Compass, "size": (4, 3), "num_agents": 2, "observe": observe}
    env: Any = multigrid.parallel_env(**settings)
    space = env.observation_space("agent_0")
    env.reset(seed=0)
    observations = env.step({"agent_0": 3, "agent_1": 2})[0]
    for agent, direction in (("agent_0", 3), ("agent_1", 2)):
        seen = observations[agent]
        assert seen in space
        if isinstance(observe, str):
            assert seen == {"direction": direction, "mission": ("stay", "go")[agent == "agent_1"]}[observe]
            continue
        assert tuple(seen) == tuple(space) == observe
        assert seen.get("direction", direction) == direction
    envs: Any = multigrid.vector_env(2, **settings)
    assert envs.single_observation_space == space
    first, _ = envs.reset(seed=0)
    if isinstance(observe, str):
        assert first.shape == (4,)
    else:
        assert {name: len(part) for name, part in first.items()} == dict.fromkeys(observe, 4)


def test_other_parts_are_observed_as_before() -> None:
    """Where one of the parts is no key of the game's own Dict, and with `flatten`, all are the Boxes that they are."""
    env: Any = multigrid.parallel_env(game=Compass, size=(4, 3), observe=("agent", "direction"))
    assert env.observation_space("agent_0")["direction"] == spaces.Box(0, 3, (1,), np.int64)
    assert env.reset(seed=0)[0]["agent_1"]["direction"].shape == (1,)
    flat: Any = multigrid.parallel_env(game=Compass, size=(4, 3), observe=("direction",), flatten=True)
    assert flat.reset(seed=0)[0]["agent_0"].tolist() == [0]


class Rows(Game):
    """Agents begin in a row that the game draws, and look along it."""

    targets = False

    class State(NamedTuple):
        row: Annotated[NDArray[np.int64], "E"]
        looks: Annotated[NDArray[np.int64], "E N"]

    def place(w, s, e):
        s.row[e] = games.draw_integer(w, e, 0, w.components.shape[2])
        for i in range(w.location.shape[1]):
            w.location[e, i, 0], w.location[e, i, 1] = i, s.row[e]

    def begin(w, s, e):
        s.looks[e] = 3


def test_a_layout_by_hand_replaces_place() -> None:
    """With a layout, `place` is not called, but `begin` is; the next reset without one calls it again."""
    env: Any = multigrid.parallel_env(game=Rows, size=(5, 4), num_agents=2)
    envs: Any = multigrid.vector_env(2, game=Rows, size=(5, 4), num_agents=2)
    cells = [[4, 0], [2, 3]]
    env.reset(seed=0, options={"agents": cells})
    envs.reset(seed=0, options={"agents": [cells, cells[::-1]]})
    states = [env.get_state(), *envs.get_state(single=True)]
    assert [state["location"].tolist() for state in states] == [cells, cells, cells[::-1]]
    assert [(state["row"], state["looks"].tolist()) for state in states] == [(0, [3, 3])] * 3
    env.reset(seed=1)
    state = env.get_state()
    assert state["location"].tolist() == [[0, state["row"]], [1, state["row"]]]
    with pytest.raises(ValueError, match="agents"):
        env.reset(options={"agents": [[4, 0], [4, 0]]})


def play_kitchen(env: Any, cells: Any = None) -> list[Any]:
    """Return what a ParallelEnv shows of an episode of random actions, which begins in the cells if there are any."""
    random, options = np.random.default_rng(2), None if cells is None else {"agents": cells, "map": 1}
    shown = [env.reset(seed=3, options=options)]
    while env.agents:
        shown.append(env.step({agent: int(random.integers(7)) for agent in env.agents}))
    return shown


def test_a_game_with_all_of_it_plays_on_every_face() -> None:
    """The same episode, with own spaces and infos, is played by ParallelEnv, AECEnv, one agent, and many worlds."""
    settings = SETTINGS[Kitchen]
    shown = play_kitchen(multigrid.parallel_env(game=Kitchen, **settings))
    turns: Any = multigrid.env(game=Kitchen, **settings)
    envs: Any = multigrid.vector_env(2, game=Kitchen, autoreset_mode="Disabled", **settings)
    turns.reset(seed=3)
    observations, infos = envs.reset(seed=[3, 8])
    random = np.random.default_rng(2)
    for step in shown:
        for i, agent in enumerate(step[0]):
            assert frozen(turns.observe(agent)) == frozen(step[0][agent])
            assert frozen({key: part[i] for key, part in observations.items()}) == frozen(step[0][agent])
            assert turns.infos[agent] == step[-1][agent]
            assert {name: infos[name][i] for name in step[-1][agent]} == step[-1][agent]
        if turns.terminations["agent_0"] or turns.truncations["agent_0"]:
            break
        actions = [int(random.integers(7)) for _ in turns.agents]
        for action in actions:
            turns.step(action)
        observations, *_, infos = envs.step(actions + actions)
    assert len(shown) > 3
    multigrid.register("Kitchen-v0", Kitchen, layouts=("small",), max_cycles=9)
    one: Any = gymnasium.make("multigrid/Kitchen-v0", task="take")
    observation, info = one.reset(seed=0, options={"agents": [[2, 1]]})
    assert observation in one.observation_space
    assert observation["reach"].tolist() == [[0, 1], [1, 1], [1, 1]]
    assert (str(observation["order"]), info) == ("take it", {"outcome": 1, "shaped": 7.0, "held": 0})
    _, reward, *_, info = one.step(6)
    assert (reward, info["held"], info["shaped"]) == (7 * (1 - 0.9 / 9), 1, 7.5)


def test_what_is_kept_of_a_game_with_all_of_it(tmp_path: Path) -> None:
    """States, pickles, recordings and the page of such a game show the episode that was played."""
    env: Any = RecordEpisode(multigrid.parallel_env(game=Kitchen, render_mode="rgb_array", **SETTINGS[Kitchen]))
    shown = play_kitchen(env, [[4, 2], [1, 0], [2, 2]])
    save(env.scenario("kitchen"), tmp_path / "kitchen.json")
    again = list(replay(load(tmp_path / "kitchen.json", Kitchen)))
    assert [frozen(step[0]) for step in again] == [frozen(step[0]) for step in shown]
    assert again[-1].infos == shown[-1][-1]
    frame = env.render()
    assert frame.shape == (12, 20, 3)
    episode = show_episode(env).episode
    assert len(episode.looks) == len(shown)
    assert replay_page(episode).count("#d55e00") > 0
    other = pickle.loads(pickle.dumps(multigrid.parallel_env(game=Kitchen, **SETTINGS[Kitchen])))
    other.reset(seed=9)
    other.set_state(env.unwrapped.get_state())
    assert frozen(other.get_state()) == frozen(env.unwrapped.get_state())
