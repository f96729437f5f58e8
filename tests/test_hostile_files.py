"""Files and fields that somebody has changed by chance or on purpose: they work, or are refused by name, and no more.

Each case is numbered: its random numbers come from its kind and number alone, and a failure names both.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accidents import ODD, OwnError, Refuses, change_values, damage
from helpers import record_random_play
from multigrid import GridConfig, maps, parallel_env, scenarios
from multigrid._files import MOST_BYTES
from multigrid.maps import ParsedMap, format_map, parse_map
from multigrid.scenarios import Scenario, replay
from multigrid.scenarios._replay_page import show_episode
from multigrid.scenarios._scenario import _checksum, _render

pytestmark = pytest.mark.heavy

FIELDS = [field.name for field in dataclasses.fields(GridConfig)]
PARTS = ("agent", "target", "others", "offset", "view", "walls", "action_mask")
MAP = "type octile\nheight 3\nwidth 5\nmap\n..T.G\n@S..O\n....W\n"
SCEN = (
    "version 1\n0\tsmall.map\t5\t3\t0\t0\t3\t0\t3.00000000\n"
    "1\tsmall.map\t5\t3\t1\t0\t3\t2\t4.24264069\n"
    "1\tmaps/other.map\t7\t4\t6\t3\t0\t0\t7.5\n"
)
PICTURE = "a.#.B\n..#..\nb...A\n#...."
LONGER = 20
"""How many times as many cases there are with `--long`."""
LONGEST_MESSAGE = 10_000
PATIENCE = 300.0
"""Seconds that no case takes, unless something hangs."""


@pytest.fixture
def number_of(request: pytest.FixtureRequest) -> Callable[[int], range]:
    """Give the numbers of the cases of a test: so many, or twenty times as many with `--long`."""
    factor = LONGER if request.config.getoption("--long", default=False) else 1
    return lambda count: range(count * factor)


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    yield
    faulthandler.cancel_dump_traceback_later()


def result_of(case: str, call: Callable[[], Any], names: list[str]) -> Any:
    """What a call returns; None where it refuses with an error that names what it refuses. All else is a failure."""
    # A compiled loop hears no signal, so what hangs can only be ended, with a word on where.
    faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.__stderr__)
    try:
        return call()
    except (TypeError, ValueError) as error:
        refusal = error
    except OwnError:  # the value's own
        return None
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error
    message = str(refusal)
    assert any(name in message for name in names), f"{case}: {refusal!r} names none of {names}"
    assert len(message) < LONGEST_MESSAGE, f"{case}: a message of {len(message)} characters"
    return None


def check_play(case: str, config: GridConfig) -> None:
    """Play five steps of a configuration, and play them again."""
    try:
        played = record_random_play(parallel_env(config), 1, 5).scenario("played")
        assert list(replay(pickle.loads(pickle.dumps(played))))
        assert pickle.loads(pickle.dumps(config)) == config
    except Exception as error:
        raise AssertionError(f"{case}: {config} cannot be played: {error!r}") from error


# Scenario files -----------------------------------------------------------------------------------------------------


def recorded(**settings: Any) -> Scenario:
    """A short episode of random play."""
    env = parallel_env(**{"observe": PARTS, "view_radius": 1, "max_cycles": 40, **settings})
    return record_random_play(env, 4, 6).scenario("six steps")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Good scenario files of all kinds: with a stream, with agents that leave, without a recording."""
    path = tmp_path_factory.mktemp("good") / "good.json"
    good = []
    for scenario in (
        recorded(walls=PICTURE, on_target="restart", allow_stay=True),
        recorded(size=(4, 3), num_agents=3, on_target="leave", flatten=True, observe=("view", "others")),
        Scenario("plain", GridConfig(walls=PICTURE, on_target="stay")),
    ):
        scenarios.save(scenario, path)
        good.append(path.read_text())
    return good


def check_scenario(case: str, path: Path) -> bool:
    """Whether a file is read; one that is plays five steps, plays its recording or says why not, and is saved alike."""
    before = path.read_bytes()
    scenario = result_of(case, lambda: scenarios.load(path), [str(path)])
    assert [file.name for file in path.parent.iterdir()] == [path.name], case
    assert path.read_bytes() == before, case
    if scenario is None:
        return False
    scenarios.save(scenario, path)
    assert path.read_bytes() == before, f"{case}: what was read is saved as something else"
    if scenario.actions is not None:
        result_of(case, lambda: list(replay(scenario)), [f"scenario {scenario.name!r}", "agent_"])
    check_play(case, scenario.config)
    env = scenario.env()
    env.reset()
    for _ in range(5):
        env.step(dict.fromkeys(env.agents, 0))
    return True


def test_damaged_scenario_files(texts: list[str], number_of: Callable[[int], range], tmp_path: Path) -> None:
    """A scenario file whose bytes or lines were changed, lost, swapped or doubled is refused by its name."""
    path = tmp_path / "damaged.json"
    for number in number_of(250):
        random = np.random.default_rng([1, number])
        good = texts[random.integers(len(texts))].encode()
        path.write_bytes(damage(good, random))
        assert check_scenario(f"damaged scenario {number}", path) == (path.read_bytes() == good), number


def test_forged_scenario_files(texts: list[str], number_of: Callable[[int], range], tmp_path: Path) -> None:
    """A scenario file with other values and the checksum that fits works, or is refused by its name."""
    path = tmp_path / "forged.json"
    read = 0
    for number in number_of(350):
        random = np.random.default_rng([2, number])
        content = change_values(json.loads(texts[random.integers(len(texts))]), random)
        content.pop("checksum", None)
        path.write_text(_render({**content, "checksum": _checksum(content)}))
        read += check_scenario(f"forged scenario {number}", path)
    assert read > 10


@pytest.mark.parametrize(("opening", "closing"), ["[]", ('{"a":', "}")])
def test_deep_scenario_files(opening: str, closing: str, texts: list[str], tmp_path: Path) -> None:
    """However deep the lists and objects in a file are, it is refused by its name."""
    path = tmp_path / "deep.json"
    for depth in (1, 10, *range(50, 3000, 50), 5000, 50_000):
        path.write_text(texts[0].replace('"six steps"', opening * depth + "1" + closing * depth))
        assert not check_scenario(f"depth {depth}", path)


def test_numbers_and_keys_that_json_lacks(texts: list[str], tmp_path: Path) -> None:
    """Numbers of thousands of digits, NaN and Infinity, keys that come twice, and bytes before the text are refused."""
    path = tmp_path / "odd.json"
    limit = '"max_cycles": '
    for old, new in (
        *((f"{limit}40", limit + new) for new in ("9" * 5000, "NaN", "-Infinity", f"40, {limit}40")),
        *((' "schema": 1,\n', 2 * ' "schema": 1,\n'), ("{\n", "\ufeff{\n"), ("{\n", "{\r\n")),
    ):
        path.write_bytes(texts[0].replace(old, new, 1).encode())
        assert path.read_bytes() != texts[0].encode()
        assert not check_scenario(new[:40], path)


# Maps and pictures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "calls"),
    [(3, MAP, (maps.load_map, maps.save_map)), (4, SCEN, (maps.load_scenario, maps.save_scenario))],
    ids=["map", "scen"],
)
def test_damaged_maps_and_scens(kind: int, good: str, calls: Any, number_of: Any, tmp_path: Path) -> None:
    """A .map or .scen file after an accident is saved again as it was read, and played, or is refused by its name."""
    read, path, again, (load, save) = 0, tmp_path / "one", tmp_path / "again", calls
    for number in number_of(250):
        path.write_bytes(damage(good.encode(), np.random.default_rng([kind, number])) if number else good.encode())
        case = f"damaged {load.__name__} {number}"
        content = result_of(case, lambda: load(path), [str(path)])
        if content is None:
            continue
        read += 1
        save(again, content)
        np.testing.assert_equal(load(again), content, case)
        config = None
        if load is maps.load_map:
            config = result_of(case, lambda walls=content: GridConfig(walls=walls, num_agents=1), ["num_agents"])
        if config is not None:
            check_play(case, config)
    assert read > 10


def test_damaged_pictures(number_of: Callable[[int], range]) -> None:
    """A picture with other characters and lines is one that can be drawn and played, or is refused by its name."""
    alphabet = list(".#aAbBcCzZ\n\r\t \0\x0b\x1c\u2028\u00e9\u212a\ud800{")
    read = 0
    for number in number_of(250):
        random = np.random.default_rng([5, number])
        characters = list(PICTURE)
        for _ in range(random.integers(1, 4)):
            at = int(random.integers(len(characters) + 1))
            characters[at : at + int(random.integers(3))] = random.choice(alphabet, random.integers(3)).tolist()
        text, case = "".join(characters), f"damaged picture {number}"
        picture = result_of(case, lambda text=text: parse_map(text), ["picture"])
        config = result_of(case, lambda text=text: GridConfig(walls=text), ["walls", "num_agents"])
        assert picture is not None or config is None, case
        if picture is not None:
            np.testing.assert_equal(parse_map(format_map(*picture)), picture, case)
        if config is not None:
            read += 1
            check_play(case, config)
    assert read > 10


# The fields of GridConfig -------------------------------------------------------------------------------------------


WALLS = np.array([[False, True, False], [False, False, False]])
NUMBERS = np.full((2, 1, 2), 2**64 - 1, np.uint64)
HOSTILE_VALUES: list[Callable[[], Any]] = [
    *ODD,
    *(
        lambda value=value: value
        for value in (
            *(-(10**5000), (2, 2**40), (10**5000, 1), "restart", np.str_("soft"), ("view", "view"), PARTS),
            *("a.A\nb.B", ".a\nA", "#", ["a.A", "A.a"], WALLS, WALLS[None], [WALLS, WALLS.T], WALLS.view(np.uint8)),
            *(np.broadcast_to(np.False_, (10**9, 3, 2)), np.broadcast_to(np.int64(3), 10**10), bytearray(b"ab")),
            np.rec.array(WALLS),
            *(ParsedMap(WALLS, (), ()), ParsedMap(WALLS, None, None), ParsedMap(WALLS, {0: 0}, {1: 1})),
            *(ParsedMap(WALLS, *NUMBERS), ParsedMap(WALLS, [[0, 0]], [[1, 2]]), ParsedMap(WALLS, [[0, 0]], [[0, 1]])),
            *(ParsedMap(WALLS, [[one, 0]], [[1, 1]]) for one in (Refuses(), 0.5, 10**5000)),
            *(ParsedMap(1, 2, 3), ParsedMap([[1], [1, 2]], [], []), ParsedMap(WALLS[None], [], 3)),
        )
    ),
]
GOOD_VALUES: dict[str, list[Any]] = {
    "size": [5, (4, 3), [2, 6], np.array([3, 2])],
    "num_agents": [1, 2, 3, 6],
    "walls": [None, None, None, WALLS, [WALLS, WALLS[::-1]], "a.A", ["a.A", "A.a"], "...\n.#."],
    "collisions": ["symmetric", "priority", "block_both", "soft", "none"],
    "on_target": ["park", "leave", "stay", "restart"],
    "reward": ["individual", "shared"],
    "observe": [None, PARTS, ("view",), ["walls", "target"], ("others", "action_mask")],
    "view_radius": [0, 1, 2, 9],
    "flatten": [True, False],
    "allow_stay": [True, False],
    "max_cycles": [None, 1, 3, 300],
}


def content_of(value: Any) -> Any:
    """What a field's value holds, comparable with ==, as far as it can be changed."""
    if isinstance(value, np.ndarray):
        small = value.size < 10**4 and value.dtype != object
        return value.shape, value.dtype, value.tobytes() if small else None
    if type(value) in (list, tuple, ParsedMap) and not any(one is value for one in value):
        return [len(value), *(id(one) if type(one) is list else content_of(one) for one in value)]
    return id(value)


def check_config(case: str, fields: dict[str, Any]) -> bool:
    """Whether a configuration is made; one that is can be played, and whether it is or not, no argument changes."""
    before = [content_of(value) for value in fields.values()]
    config = result_of(case, lambda: GridConfig(**fields), FIELDS)
    assert [content_of(value) for value in fields.values()] == before, f"{case}: an argument has changed"
    if config is not None:
        assert config.maps is None or type(config.maps) is np.ndarray, case
        check_play(case, config)
    return config is not None


@pytest.mark.parametrize("field", FIELDS)
def test_hostile_values(field: str) -> None:
    """Whatever a field is given, it works or is refused by the name of a field."""
    for number, make in enumerate(HOSTILE_VALUES):
        check_config(f"hostile value {number} of {field}", {field: make()})


def test_hostile_configurations(number_of: Callable[[int], range]) -> None:
    """Some hostile values among good ones work, or are refused by the name of a field."""
    made = 0
    for number in number_of(400):
        random = np.random.default_rng([6, number])
        chosen = [name for name in GOOD_VALUES if random.integers(2)]
        fields = {name: GOOD_VALUES[name][random.integers(len(GOOD_VALUES[name]))] for name in chosen}
        for name in random.choice(FIELDS, random.integers(3), replace=False).tolist():
            fields[name] = HOSTILE_VALUES[random.integers(len(HOSTILE_VALUES))]()
        made += check_config(f"hostile configuration {number}", fields)
    assert made > 50


# What is no file ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [scenarios.load, maps.load_map, maps.load_scenario, show_episode])
def test_what_is_no_file_or_has_no_end(load: Callable[[Path], Any], tmp_path: Path) -> None:
    """What is no file, or has more bytes than any map or recording, is refused by name, and not read to its end."""
    with pytest.raises((IsADirectoryError, PermissionError), match=tmp_path.name):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="none"):
        load(tmp_path / "none")
    others = [Path("/dev/zero"), Path("/dev/null")]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        others.append(tmp_path / "pipe")
    for path in others:
        if path.exists():
            with pytest.raises(ValueError, match=f"{path} is not a regular file; expected one"):
                load(path)
    path = tmp_path / "endless"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match=f"{path} has more than {MOST_BYTES} bytes"):
        load(path)
