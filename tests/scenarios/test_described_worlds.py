"""Configurations of described maps: what a description gives, and what it leaves to the caller."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import multigrid.scenarios
from multigrid import Delays, Game, GridConfig, MultiGridEnv
from multigrid.core.rules import RULES_VERSION
from multigrid.maps import ParsedMap, maze, parse_map, save_map
from multigrid.scenarios import Scenario, find_world, save
from multigrid.scenarios._worlds import find_scenario, find_suite, grid_fields, make_grid

BASE = GridConfig(size=(9, 4), num_agents=5, on_target="leave", observe=("agent", "view"), max_cycles=40)
RULES = [field.name for field in dataclasses.fields(GridConfig) if field.name not in ("size", "num_agents", "walls")]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rules(config: GridConfig) -> dict[str, Any]:
    """The fields of a configuration that are neither its map nor its number of agents."""
    return {name: getattr(config, name) for name in RULES}


def run_folder(name: str, config: GridConfig) -> str:
    """A folder with the config.json of a run."""
    Path(name).mkdir()
    (Path(name) / "config.json").write_text(json.dumps({"rules": RULES_VERSION, "grid": grid_fields(config)}))
    return name


@pytest.mark.parametrize("name", ["warehouse-17x13-8", "empty-9x7-2", "maze-11x9-4"])
def test_a_name_of_the_suite_gives_everything_but_the_layout(name: str) -> None:
    """The map, the number of agents, the rules and the observations are the scenario's; layouts differ by seed."""
    scenario, config = multigrid.scenarios.get(name).config, find_world(name, base=BASE)
    np.testing.assert_array_equal(config.is_wall, scenario.is_wall)
    assert (config.num_agents, rules(config), config.layouts) == (scenario.num_agents, rules(scenario), None)
    env, layouts = MultiGridEnv(config), set()
    for seed in range(5):
        env.reset(seed=seed)
        layouts.add(env.state().tobytes())
    assert len(layouts) == 5


def test_maps_alone_leave_the_rest_to_the_caller() -> None:
    """Of a picture the letters give the number of agents; rules and observations are those of the base."""
    Path("letters.txt").write_text("a.#B\n...b\n#A..\n")
    save_map("open.map", np.zeros((6, 3), dtype=bool))
    letters, plain, made = (find_world(one, base=BASE) for one in ("letters.txt", "open.map", "maze:width=9,height=5"))
    assert [config.num_agents for config in (letters, plain, made)] == [2, 5, 5]
    assert all(rules(config) == rules(BASE) and config.layouts is None for config in (letters, plain, made))
    np.testing.assert_array_equal(letters.is_wall, [parse_map("a.#B\n...b\n#A..").walls])
    assert plain.size == (6, 3)
    np.testing.assert_array_equal(made.is_wall, [maze(9, 5, 0)])
    assert find_world("letters.txt") == GridConfig(walls="..#.\n....\n#...", num_agents=2)


def test_what_wins_over_what() -> None:
    """A given number of agents wins over all others, a file over the suite, and over a generator; a path is a file."""
    Path("letters.txt").write_text("a.#\n..A\n")
    assert [find_world(one, num_agents=3).num_agents for one in ("maze-9x7-2", "letters.txt")] == [3, 3]
    drawn = run_folder("drawn", GridConfig(size=(7, 4), num_agents=(2, 4)))
    found = [(one.num_agents, one.least_agents) for one in (find_world(drawn), find_world(drawn, num_agents=3))]
    assert found == [(4, 2), (3, None)]
    with pytest.raises(ValueError, match=r"num_agents is 9, but the map \(3 x 2\) has room for 5; use fewer agents"):
        find_world("letters.txt", num_agents=9)
    save(Scenario("mine", GridConfig(walls="a..A", on_target="leave")), "maze-9x7-2")
    Path("maze:width=9,height=5").write_text("...\n")
    assert (find_world("maze-9x7-2").size, find_world("maze-9x7-2").on_target) == ((4, 1), "leave")
    assert find_world("maze:width=9,height=5").size == (3, 1)
    assert find_world(Path("maze-9x7-2")).num_agents == 1
    with pytest.raises(FileNotFoundError, match="there is no file"):
        find_world(Path("maze-11x9-4"))


def test_a_run_gives_its_world() -> None:
    """The folder of a run, or its config.json, gives the map, the agents, the rules, also without walls."""
    on_a_map = GridConfig(walls=["..#\n...", "...\n#.."], num_agents=3, on_target="restart", flatten=True)
    for source in (run_folder("run", on_a_map), "run/config.json"):
        assert find_world(source, base=BASE) == on_a_map
    plain = find_world(run_folder("plain", BASE))
    assert (plain.size, plain.num_agents, rules(plain)) == ((9, 4), 5, rules(BASE))
    fixed = find_world(run_folder("fixed", GridConfig(walls="a..\n#.A")))
    assert fixed == GridConfig(walls="...\n#..", num_agents=1)


def test_worlds_of_the_suite_by_parts_of_names() -> None:
    """No pattern gives all worlds, a part of a name those with it, and a pattern those whose whole names match."""
    names = multigrid.scenarios.names()
    assert list(find_suite([])) == names
    assert list(find_suite(["9x7"])) == [name for name in names if "9x7" in name]
    assert list(find_suite(["maze-*-4", "9x7-?"])) == ["maze-11x9-4"]
    assert find_suite(["maze-9x7-2"])["maze-9x7-2"] == multigrid.scenarios.get("maze-9x7-2").config


def test_several_maps_are_a_pool() -> None:
    """Maps of one size are drawn from, in order; what one of them gives holds for all."""
    Path("picture.txt").write_text("\n".join(["." * 9] * 7))
    config = find_world("maze-9x7-2", "picture.txt", "maze:width=9,height=7,maps=2", base=BASE)
    scenario = multigrid.scenarios.get("maze-9x7-2").config
    expected = [scenario.is_wall[0], np.zeros((9, 7), dtype=bool), maze(9, 7, 0), maze(9, 7, 1)]
    np.testing.assert_array_equal(config.is_wall, expected)
    assert (config.num_agents, rules(config)) == (2, rules(scenario))
    both = find_world("maze-9x7-2", "rooms-9x7-2")
    assert (both.num_maps, both.num_agents) == (2, 2)


class Toll(Game):
    """A game that pays for each step."""

    options: ClassVar = {"price": 0.5}


def test_a_game_is_played_on_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class or an id is that of the base: it is played on maps alone, and on those of path finding."""
    monkeypatch.setattr("multigrid.games._registry._GAMES", {})
    multigrid.register("Toll-v0", Toll, price=2.0, max_cycles=50)
    for source in ("maze:width=9,height=7", "maze-9x7-2"):
        by_class, by_id = find_world(source, game=Toll), find_world(source, game="Toll-v0")
        assert by_class == find_world(source, base=GridConfig(game=Toll))
        assert (by_class.game, dict(by_class.options), by_class.size) == (Toll, {"price": 0.5}, (9, 7))
        assert (by_id.game, by_id.options["price"]) == (Toll, 2.0)
    assert find_world("maze:width=9,height=7", game="Toll-v0").max_cycles == 50
    both = find_world("maze:width=9,height=7", base=BASE, game=Toll)
    assert (both.game, both.num_agents, both.parts) == (Toll, BASE.num_agents, BASE.parts)
    for base, game, message in (
        (GridConfig(game=Toll), Toll, "config is of the game Toll, and game is"),
        (None, 3, "game is 3 of type int; expected a subclass of multigrid.Game"),
    ):
        with pytest.raises(TypeError, match=message):
            find_world("maze-9x7-2", base=base, game=game)  # type: ignore[arg-type]
    for find in (find_scenario, lambda name, game: find_suite([name], game)):
        with pytest.raises(
            ValueError, match=r"maze-9x7-2\.json: the world is of no game, and game is Toll; leave out game"
        ):
            find("maze-9x7-2", Toll)
    with pytest.raises(ValueError, match=r"the game is 'Tol-v0' \(did you mean 'Toll-v0'\?\)"):
        find_world("maze-9x7-2", game="Tol-v0")


REFUSED = [
    ((), ValueError, "there is no map; expected a file, a name of the suite, or GENERATOR"),
    (("maze-9x7-2", "maze-11x9-4"), ValueError, "maze-9x7-2 and maze-11x9-4 differ in their size: (9, 7) and (11, 9)"),
    (("one.txt", "two.txt"), ValueError, "one.txt and two.txt differ in their number of agents: 1 and 2"),
    (("one.json", "one.txt", "two.json"), ValueError, "one.json and two.json differ in their on_target: park and stay"),
    (("maze-9x7",), FileNotFoundError, "there is no file 'maze-9x7', nor a scenario of this name in the suite"),
    (("maze-9x7",), FileNotFoundError, "the nearest of 36 names are 'maze-9x7-2',"),
    (("desert:width=9",), FileNotFoundError, "with the generator maze, random_map, rooms, warehouse"),
    (("folder",), IsADirectoryError, "name each file"),
    (("torn.json",), ValueError, "torn.json is not JSON"),
    (("older",), ValueError, "older was trained under version 0 of the rules"),
    (("broken",), ValueError, "config.json is not what `multigrid train` writes: AttributeError"),
    (("maze:width=9",), ValueError, "'maze:width=9' lacks height"),
]


@pytest.mark.parametrize(("maps", "kind", "complaint"), REFUSED)
def test_what_no_world_can_be_made_of_is_refused(maps: tuple[str, ...], kind: type[Exception], complaint: str) -> None:
    """The message names the description, or the two that do not go together, and what is expected."""
    for name, content in {"one.txt": "aA....", "two.txt": "aAbB..", "torn.json": "{"}.items():
        Path(name).write_text(content)
    for name, on_target in (("one", "park"), ("two", "stay")):
        save(Scenario(name, GridConfig(walls="aA....", on_target=on_target)), f"{name}.json")
    for name in ("folder", "older", "broken"):
        Path(name).mkdir()
    Path("older/config.json").write_text('{"rules": 0, "grid": {}}')
    Path("broken/config.json").write_text(f'{{"rules": {RULES_VERSION}, "grid": 3}}')
    with pytest.raises(kind, match=re.escape(complaint)):
        find_world(*maps)


SHARED = np.array([[0, 0], [2, 1]]), np.array([[2, 1], [0, 0]])
MANY = np.argwhere(np.ones((9, 4), dtype=bool))
STORED = {
    "no walls": GridConfig(size=(7, 4), num_agents=3, observe=("agent", "view"), max_cycles=None),
    "delays": GridConfig(delays=Delays(0.1, (2, 4), events="poisson", durations="gaussian", std_ratio=0.5)),
    "drawn agents": GridConfig(num_agents=(2, 5)),
    "one map": GridConfig(walls="..#.\n....\n#...", num_agents=2, flatten=True),
    "a pool": GridConfig(walls=["..#\n...", "...\n#.."], num_agents=3),
    "a pool of lines": GridConfig(walls=["..#.\n", "#...\n"]),
    "letters": GridConfig(walls=["a.#\nbAB", "ab.\n#BA"]),
    "lists": GridConfig(walls=["a.#\nb..\na: 1,0 0,0\nb: 1,0", "ab.\n#..\na: 0,0\nb: 2,0"], on_target="restart"),
    "each on the other's target": GridConfig(walls=ParsedMap(parse_map("..#\n...").walls, *SHARED)),
    "more agents than letters": GridConfig(walls=ParsedMap(np.zeros((9, 4), dtype=bool), MANY, MANY[::-1])),
}


@pytest.mark.parametrize("name", STORED)
def test_a_stored_configuration_is_read_again(name: str) -> None:
    """Through JSON every field comes back, and without a layout in the maps also by GridConfig alone."""
    config = STORED[name]
    content = json.loads(json.dumps(grid_fields(config)))
    assert make_grid(content) == config
    if name == "a pool of lines":  # as earlier versions have written it
        assert make_grid({**content, "walls": [line.rstrip() for line in content["walls"]]}) == config
    if config.layouts is None:
        assert GridConfig(**content) == config


def test_malformed_walls_are_no_configuration() -> None:
    """Lists of different lengths, fractions and other types are errors that `read_config` reports."""
    layouts = [{"agents": [[[0, 0]]], "targets": []}, {"agents": [[[0.5, 0]]], "targets": [[[1, 0]]]}, {}]
    others: list[Any] = [{"maps": 3, "agents": 3, "targets": 3}, [["."]], 3]
    for walls in [{"maps": [".."], **layout} for layout in layouts] + others:
        with pytest.raises((ValueError, TypeError, KeyError)):
            make_grid({"size": [2, 1], "num_agents": 1, "walls": walls})
