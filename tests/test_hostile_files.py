"""Files and fields that somebody has changed by chance or on purpose: they work, or are refused by name, and no more.

Each case is numbered: its random numbers come from its kind and number alone, and a failure names both.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import record_random_play
from hostile import ODD, OwnError, Refuses, change_values, damage
from multigrid import GridConfig, maps, parallel_env, scenarios
from multigrid._files import MOST_BYTES
from multigrid.maps import ParsedMap, format_map, parse_map
from multigrid.scenarios import replay
from multigrid.scenarios._replay_page import show_episode
from multigrid.scenarios._scenario import _checksum, _render

pytestmark = pytest.mark.heavy

FIELDS = [field.name for field in dataclasses.fields(GridConfig)]
PARTS = ("agent", "target", "others", "offset", "view", "walls", "action_mask")
PICTURE = "a.#.B\n..#..\nb...A\n#...."
ALPHABET = ".#aAbBcCzZ\n\r\t \0\x0b\x1c\u2028\u00e9\u212a\ud800{"


def result_of(case: str, call: Callable[[], Any], names: list[str]) -> Any:
    """What a call returns; None where it refuses with an error that names what it refuses. All else is a failure."""
    try:
        return call()
    except OwnError:  # the value's own
        return None
    except Exception as error:
        message = str(error)
        is_fine = isinstance(error, TypeError | ValueError) and any(name in message for name in names)
        if is_fine and len(message) < 10_000:
            return None
        raise AssertionError(f"{case}: {message[:300]!r} names none of {names}, or is too long") from error


def check_play(case: str, config: GridConfig) -> None:
    """Play five steps of a configuration, and play them again."""
    try:
        played = record_random_play(parallel_env(config), 1, 5).scenario("played")
        assert list(replay(pickle.loads(pickle.dumps(played))))
        assert pickle.loads(pickle.dumps(config)) == config
    except Exception as error:
        raise AssertionError(f"{case}: {config} cannot be played: {error!r}") from error


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """Good files by suffix; scenarios with a stream, with agents that leave, without a recording."""
    path = tmp_path_factory.mktemp("good") / "good.json"
    texts = []
    for settings in (
        {"walls": PICTURE, "on_target": "restart", "allow_stay": True, "observe": PARTS, "view_radius": 1},
        {"size": (4, 3), "num_agents": 3, "on_target": "leave", "flatten": True, "observe": ("view", "others")},
        {},
    ):
        plain = scenarios.Scenario("plain", GridConfig(walls=PICTURE, on_target="stay"))
        env = parallel_env(**{"max_cycles": 40, **settings})
        scenarios.save(record_random_play(env, 4, 6).scenario("six steps") if settings else plain, path)
        texts.append(path.read_bytes())
    terrain = b"type octile\nheight 3\nwidth 5\nmap\n..T.G\n@S..O\n....W\n"
    rows = b"0\tsmall.map\t5\t3\t0\t0\t3\t0\t3.00000000\n1\tmaps/other.map\t7\t4\t6\t3\t0\t0\t7.5\n"
    return {".json": texts, ".map": [terrain], ".scen": [b"version 1\n" + rows], ".txt": [PICTURE.encode()]}


def forge(text: bytes, random: np.random.Generator) -> bytes:
    """A scenario file with other values, and the checksum that fits."""
    content = change_values(json.loads(text), random)
    content.pop("checksum", None)
    return _render({**content, "checksum": _checksum(content)}).encode()


def redraw(text: bytes, random: np.random.Generator) -> bytes:
    """A picture with other characters and lines."""
    characters = list(text.decode())
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(len(characters) + 1))
        characters[at : at + int(random.integers(3))] = random.choice(list(ALPHABET), random.integers(3)).tolist()
    return "".join(characters).encode(errors="surrogatepass")


def check_scenario(case: str, path: Path) -> bool:
    """Whether a file is read; one that is plays five steps, plays its recording or says why not, and is saved alike."""
    before = path.read_bytes()
    scenario = result_of(case, lambda: scenarios.load(path), [str(path)])
    assert list(path.parent.iterdir()) == [path], case
    if scenario is not None:
        scenarios.save(scenario, path)
        if scenario.actions is not None:
            result_of(case, lambda: list(replay(scenario)), [f"scenario {scenario.name!r}", "agent_"])
        check_play(case, scenario.config)
        env = scenario.env()
        env.reset()
        for _ in range(5):
            env.step(dict.fromkeys(env.agents, 0))
    assert path.read_bytes() == before, f"{case}: the file has changed"
    return scenario is not None


def check_map(case: str, path: Path) -> bool:
    """Whether a .map is read; what is read is saved again as the same, and is played."""
    walls = result_of(case, lambda: maps.load_map(path), [str(path)])
    if walls is not None:
        maps.save_map(path, walls)
        np.testing.assert_equal(maps.load_map(path), walls, case)
        config = result_of(case, lambda: GridConfig(walls=walls, num_agents=1), ["num_agents"])
        if config is not None:
            check_play(case, config)
    return walls is not None


def check_rows(case: str, path: Path) -> bool:
    """Whether a .scen is read; what is read is saved again as the same."""
    rows = result_of(case, lambda: maps.load_scenario(path), [str(path)])
    if rows is not None:
        maps.save_scenario(path, rows)
        assert maps.load_scenario(path) == rows, case
    return rows is not None


def check_picture(case: str, path: Path) -> bool:
    """Whether a picture is one; what is, is drawn as the same, and is played or refused by a field's name."""
    text = path.read_bytes().decode(errors="surrogatepass")
    picture = result_of(case, lambda: parse_map(text), ["picture"])
    config = result_of(case, lambda: GridConfig(walls=text), ["walls", "num_agents"])
    assert picture is not None or config is None, case
    if picture is not None:
        np.testing.assert_equal(parse_map(format_map(*picture)), picture, case)
    if config is not None:
        check_play(case, config)
    return config is not None


KINDS: dict[str, tuple[str, Any, Any]] = {
    "damaged scenario": (".json", damage, check_scenario),
    "forged scenario": (".json", forge, check_scenario),
    "damaged map": (".map", damage, check_map),
    "damaged scen": (".scen", damage, check_rows),
    "redrawn picture": (".txt", redraw, check_picture),
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_files(kind: str, good: dict[str, list[bytes]], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A file that has changed is read, and what is read works, or it is refused by its name."""
    suffix, change, check = KINDS[kind]
    path, read = tmp_path / f"one{suffix}", 0
    for number in range(5000 if request.config.getoption("--long") else 300):
        random = np.random.default_rng([list(KINDS).index(kind), number])
        path.write_bytes(change(good[suffix][random.integers(len(good[suffix]))], random))
        is_good = path.read_bytes() in good[suffix]
        read += (is_read := check(f"{kind} {number}", path))
        assert is_read == is_good or kind != "damaged scenario", number
    assert read > 5 or kind == "damaged scenario"


LIMIT = '"max_cycles": '
EDITS = [
    *(
        ('"six steps"', opening * depth + "1" + closing * depth)
        for opening, closing in ("[]", ('{"a":', "}"))
        for depth in (1, 10, 500, 1000, 3000, 50_000)
    ),
    *((f"{LIMIT}40", LIMIT + new) for new in ("9" * 5000, "NaN", "-Infinity", f"40, {LIMIT}40")),
    *((' "schema": 1,\n', 2 * ' "schema": 1,\n'), ("{\n", "\ufeff{\n"), ("{\n", "{\r\n")),
]


@pytest.mark.parametrize(("old", "new"), EDITS, ids=lambda text: text[:20])
def test_what_json_lacks(old: str, new: str, good: dict[str, list[bytes]], tmp_path: Path) -> None:
    """Deep lists, huge numbers, NaN and Infinity, keys that come twice, and bytes before the text are refused."""
    path = tmp_path / "odd.json"
    path.write_bytes(good[".json"][0].decode().replace(old, new, 1).encode())
    assert path.read_bytes() != good[".json"][0]
    assert not check_scenario(new[:40], path)


WALLS = np.array([[False, True, False], [False, False, False]])
HOSTILE_VALUES: list[Callable[[], Any]] = [
    *ODD,
    *(
        lambda value=value: value
        for value in (
            *(-(10**5000), (2, 2**40), (10**5000, 1), "restart", np.str_("soft"), ("view", "view"), PARTS),
            *("a.A\nb.B", ".a\nA", "#", ["a.A", "A.a"], WALLS, WALLS[None], [WALLS, WALLS.T], WALLS.view(np.uint8)),
            *(np.broadcast_to(np.False_, (10**9, 3, 2)), np.broadcast_to(np.int64(3), 10**10), bytearray(b"ab")),
            *(np.rec.array(WALLS), ParsedMap(WALLS, (), ()), ParsedMap(WALLS, None, None)),
            *(ParsedMap(WALLS, {0: 0}, {1: 1}), ParsedMap(WALLS, *np.full((2, 1, 2), 2**64 - 1, np.uint64))),
            *(ParsedMap(WALLS, [[one, 0]], [[1, 1]]) for one in (0, Refuses(), 0.5, 10**5000)),
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
    "observe": [None, PARTS, ("view",), ["walls", "target"], ("others", "action_mask")],
    "view_radius": [0, 1, 2, 9],
    "flatten": [True, False],
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


def hostile_fields(field: str, count: int) -> Iterator[dict[str, Any]]:
    """Each hostile value of a field alone, and among good values of other fields."""
    for make in HOSTILE_VALUES:
        yield {field: make()}
    for number in range(count):
        random = np.random.default_rng([FIELDS.index(field), number])
        chosen = [name for name in GOOD_VALUES if random.integers(2)]
        fields = {name: GOOD_VALUES[name][random.integers(len(GOOD_VALUES[name]))] for name in chosen}
        yield fields | ({field: HOSTILE_VALUES[random.integers(len(HOSTILE_VALUES))]()} if number % 2 else {})


@pytest.mark.parametrize("field", FIELDS)
def test_hostile_configurations(field: str, request: pytest.FixtureRequest) -> None:
    """A value of a field works, and can be played, or is refused by the name of a field; no argument changes."""
    made = 0
    for number, fields in enumerate(hostile_fields(field, 500 if request.config.getoption("--long") else 25)):
        before, case = [content_of(value) for value in fields.values()], f"hostile configuration {number} of {field}"
        config = result_of(case, lambda fields=fields: GridConfig(**fields), FIELDS)
        assert [content_of(value) for value in fields.values()] == before, f"{case}: an argument has changed"
        if config is not None:
            made += 1
            assert config.maps is None or type(config.maps) is np.ndarray, case
            check_play(case, config)
    assert made > 5


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
    for path in filter(Path.exists, others):
        with pytest.raises(ValueError, match=f"{path} is not a regular file; expected one"):
            load(path)
    path = tmp_path / "endless"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match=f"{path} has more than {MOST_BYTES} bytes"):
        load(path)
