"""Maps: pictures, MovingAI's files, and the generators; what each refuses, and how it says so."""

import re
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multigrid.maps import (
    ParsedMap,
    ScenarioRow,
    format_map,
    load_map,
    load_scenario,
    maze,
    parse_map,
    random_map,
    rooms,
    save_map,
    save_scenario,
    warehouse,
)
from worldgen import components, walls_of

DATA = Path(__file__).parents[1] / "data"
WALLS = arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 7)))


def text(picture):
    """Lines of a picture without the indentation of the test."""
    return dedent(picture).strip("\n")


def regions(walls):
    """How many groups of free cells cannot reach one another."""
    return len({frozenset(cells) for cells in components(walls).values()})


def links(walls):
    """How many pairs of free cells lie side by side."""
    free = ~walls
    return int((free[1:] & free[:-1]).sum() + (free[:, 1:] & free[:, :-1]).sum())


def same(picture, walls, agents, targets):
    """Whether a picture is that one, types and all."""
    expected = [(walls, np.bool_, 2), (agents, np.int64, 2), (targets, np.int64, 2)]
    return isinstance(picture, ParsedMap) and all(
        (got.dtype, got.ndim, got.tolist()) == (dtype, ndim, np.asarray(array).tolist())
        for got, (array, dtype, ndim) in zip(picture, expected, strict=True)
    )


def test_a_picture_is_read_as_it_is_seen():
    """A line is y and a column is x; agents come in alphabetical order, each with its own target."""
    picture = parse_map("a.#c\nC#.B\n..Ab")
    walls = [[False, False, False], [False, True, False], [True, False, False], [False, False, False]]
    assert same(picture, walls, [[0, 0], [3, 2], [3, 0]], [[2, 2], [3, 1], [0, 1]])


def test_a_picture_without_agents():
    """No letters, no agents: the arrays keep their two columns."""
    picture = parse_map("..#")
    assert [array.shape for array in picture] == [(3, 1), (0, 2), (0, 2)]
    assert [array.dtype for array in picture] == [np.bool_, np.int64, np.int64]


@pytest.mark.parametrize(
    "given_text",
    [
        "z.#\nqZQ",
        "z.#\nqZQ\n",
        "\n\n  z.#\n  qZQ\n ",
        "\r\n\tz.#\r\n\tqZQ\r\n   \r\n",
        """
            z.#
            qZQ
        """,
    ],
    ids=range(5),
)
def test_layout_of_the_text_does_not_matter(given_text):
    """Shared indentation, blank lines around and the kind of line end are dropped; letters may leave gaps."""
    assert same(parse_map(given_text), walls_of("..#\n..."), [[0, 1], [0, 0]], [[2, 1], [1, 1]])


@st.composite
def drawable(draw):
    """A map, and agents and targets in free cells, each in one of its own."""
    walls = draw(WALLS)
    free = draw(st.permutations(np.argwhere(~walls).tolist()))
    num_agents = draw(st.integers(0, min(26, len(free) // 2)))
    agents, targets = free[:num_agents], free[num_agents : 2 * num_agents]
    return walls, np.array(agents, int).reshape(-1, 2), np.array(targets, int).reshape(-1, 2)


@given(drawable())
def test_pictures_round_trip(picture):
    """What is drawn is read again unchanged, and drawn again as the same text."""
    drawn = format_map(*picture)
    assert same(parse_map(drawn), *picture)
    assert format_map(*parse_map(drawn)) == drawn


@pytest.mark.parametrize(
    ("given_text", "message"),
    [
        ("", "the picture is empty; expected at least one line of '.', '#' and letters"),
        ("\n  \n", "the picture is empty; expected"),
        ("..\n..\n...", "line 3 of the picture, '...', has 3 characters; expected 2, as in line 1, '..'"),
        ("...\n..", "line 2 of the picture, '..', has 2 characters; expected 3, as in line 1, '...'"),
        ("..\n\n..", "line 2 of the picture, '', has 0 characters; expected 2, as in line 1, '..'"),
        (" ..\n...\n ..", "line 1, column 1 of the picture: ' ' in ' ..'; expected '.' for a free cell"),
        (
            "\n  ...\n  .#5\n",
            "line 2, column 3 of the picture: '5' in '.#5'; expected '.' for a free cell, '#' for a wall, a to z",
        ),
        ("..\n. ", "line 2, column 2 of the picture: ' ' in '. '; expected '.'"),
        (".é", "line 1, column 2 of the picture: 'é' in '.é'; expected '.'"),
        ("aA\n.a", "line 2, column 2 of the picture: 'a' stands in line 1, column 1 of the picture already; expected"),
        ("aA.A", "line 1, column 4 of the picture: 'A' stands in line 1, column 2 of the picture already"),
        (
            "...\naAb",
            "line 2, column 3 of the picture: agent 'b' has no target; expected one 'B' somewhere in the picture",
        ),
        ("..C", "line 1, column 3 of the picture: target 'C' has no agent; expected one 'c' somewhere in the picture"),
    ],
)
def test_bad_pictures(given_text, message):
    """An error names line and column, what stands there and what was expected."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_map(given_text)


def test_a_picture_is_text():
    """Lines in a list are refused with their type."""
    with pytest.raises(TypeError, match="the picture is of type list; expected a str, one line a row"):
        parse_map(["..", ".."])


def test_what_hides_what():
    """An agent hides a target, a lower index hides a higher one, and who is not there is not drawn."""
    walls = walls_of("...#\n....")
    agents = [[1, 0], [2, 1], [2, 1], [-1, -1]]
    targets = [[2, 1], [0, 0], [0, 0], [-1, -1]]
    assert format_map(walls, agents, targets) == "Ba.#\n..b."
    assert format_map(walls, agents) == ".a.#\n..b."
    assert format_map(walls, targets=targets) == "B..#\n..A."
    assert format_map(walls, [], np.empty((0, 2))) == format_map(walls) == "...#\n...."


def test_a_thousand_agents_are_drawn():
    """The 27th agent is another a: a crowd is drawn, line by line, in the alphabet again and again."""
    walls = np.zeros((50, 20), dtype=bool)
    agents = [(x, y) for y in range(20) for x in range(50)]
    drawn = format_map(walls, agents)
    assert drawn.split("\n")[0] == "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx"
    assert "".join(drawn.split("\n")) == ("abcdefghijklmnopqrstuvwxyz" * 39)[:1000]
    assert format_map(walls, targets=agents) == drawn.upper()


def test_drawing_changes_nothing():
    """The arrays that are drawn, and those that were read, stay the caller's own."""
    walls, agents = walls_of(".#."), np.array([[2, 0]])
    format_map(walls, agents, agents)
    assert (walls.tolist(), agents.tolist()) == ([[False], [True], [False]], [[2, 0]])
    first, second = parse_map("aA#"), parse_map("aA#")
    for array in first:
        array[:] = 0
    assert same(second, [[False], [False], [True]], [[0, 0]], [[1, 0]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[False]],), TypeError, "walls is of type list; expected a boolean array [x, y], True at a wall"),
        ((np.zeros((2, 2)),), TypeError, "walls is an array of float64; expected a boolean array [x, y], True at a"),
        ((np.zeros((2, 2, 2), bool),), ValueError, "walls has the shape (2, 2, 2); expected a boolean array [x, y]"),
        ((np.zeros((0, 2), bool),), ValueError, "walls has the shape (0, 2); expected a boolean array [x, y], True at"),
        ((walls_of(".#"), [[0.0, 0.0]]), TypeError, "agents is of float64; expected integers (N, 2), a cell [x, y]"),
        ((walls_of(".#"), [0, 0]), ValueError, "agents has the shape (2,); expected integers (N, 2), a cell [x, y]"),
        ((walls_of(".#"), None, [[0, 0, 0]]), ValueError, "targets has the shape (1, 3); expected integers (N, 2)"),
        (
            (walls_of(".#"), [[0, 0], [2, 0]]),
            ValueError,
            "row 1 of agents is [2, 0]; expected a cell of the map of 2 x 1 cells, or [-1, -1] for one that is not",
        ),
        ((walls_of(".#"), [[0, 1]]), ValueError, "row 0 of agents is [0, 1]; expected a cell of the map of 2 x 1"),
        ((walls_of(".#"), None, [[0, -1]]), ValueError, "row 0 of targets is [0, -1]; expected a cell of the map"),
        ((walls_of(".#"), [[-1, 0]]), ValueError, "row 0 of agents is [-1, 0]; expected a cell of the map"),
        ((walls_of(".#"), [[1, 0]]), ValueError, "row 0 of agents is [1, 0], which is a wall; expected a free cell"),
        (
            (walls_of(".#"), np.array([[2**64 - 1, 2**64 - 1]], np.uint64)),
            ValueError,
            "agents has the coordinate 18446744073709551615; expected integers (N, 2)",
        ),
        (
            (walls_of(".#"), [[0, 0]], [[0, 0], [0, 0]]),
            ValueError,
            "there are 1 agents but 2 targets; expected as many of one as of the other",
        ),
    ],
)
def test_what_cannot_be_drawn(arguments, error, message):
    """Arrays of another type or shape and cells that are none are refused, with the row."""
    with pytest.raises(error, match=re.escape(message)):
        format_map(*arguments)


def test_terrain():
    """Ground and swamp can be entered; out of bounds, trees and water cannot."""
    assert (load_map(DATA / "terrain.map") == walls_of("..###\n.#...\n..#..\n#....")).all()


def test_a_scenario():
    """Columns keep their order, and a map's name may hold spaces."""
    assert load_scenario(str(DATA / "terrain.scen")) == [
        ScenarioRow(0, "terrain.map", 5, 4, (0, 0), (3, 3), 4.82842712),
        ScenarioRow(0, "terrain.map", 5, 4, (4, 2), (4, 1), 1.0),
        ScenarioRow(1, "maps/of ours/terrain.map", 5, 4, (2, 1), (0, 2), 4.0),
    ]


@pytest.mark.parametrize("name", ["terrain.map", "terrain.scen"])
def test_unusual_files_are_accepted(name, tmp_path):
    """CRLF, a missing last newline, blank lines at the end, a byte order mark, a space after a header: no harm."""
    load = load_map if name.endswith("map") else load_scenario
    expected = np.array(load(DATA / name), dtype=object).tolist()
    lines = (DATA / name).read_bytes()
    variants = [
        lines.replace(b"\n", b"\r\n"),
        lines.rstrip(b"\n"),
        lines.replace(b"\n", b"\r\n").rstrip(b"\r\n"),
        lines + b"\n \n",
        b"\xef\xbb\xbf" + lines,
        lines.replace(b"\n", b" \n", 1),
    ]
    for variant in variants:
        (tmp_path / name).write_bytes(variant)
        assert np.array(load(tmp_path / name), dtype=object).tolist() == expected, variant


def test_other_writings_of_a_scenario(tmp_path):
    """Version 1.0 is version 1; a line without tabs is split at spaces; numbers may have an exponent or no decimals."""
    path = tmp_path / "one.scen"
    path.write_text("version 1.0\n3 one.map  8 9 7 0 0 8 1.5e1\n3\tone.map\t8\t9\t7\t0\t0\t8\t15\n")
    assert load_scenario(path) == [ScenarioRow(3, "one.map", 8, 9, (7, 0), (0, 8), 15.0)] * 2
    path.write_text("version 1\n")
    assert load_scenario(path) == []


@given(walls=WALLS)
def test_maps_round_trip(walls, tmp_path_factory):
    """What is written is read again, and written again byte for byte."""
    path = tmp_path_factory.mktemp("maps") / "one.map"
    save_map(path, walls)
    first = path.read_bytes()
    loaded = load_map(path)
    assert (loaded.dtype, loaded.tolist()) == (np.bool_, walls.tolist())
    save_map(str(path), loaded)
    assert path.read_bytes() == first


def test_a_written_map(tmp_path):
    """A map is written in the benchmarks' letters, height before width, each line ended by a newline alone."""
    save_map(tmp_path / "one.map", walls_of("..#\n#.."))
    assert (tmp_path / "one.map").read_bytes() == b"type octile\nheight 2\nwidth 3\nmap\n..@\n@..\n"


@st.composite
def scenario_rows(draw):
    """A row with any map, cells inside it and any length."""
    width, height = draw(st.integers(1, 3000)), draw(st.integers(1, 3000))
    cell = st.tuples(st.integers(0, width - 1), st.integers(0, height - 1))
    name = draw(st.text("am01-_./ \\\x85é地", min_size=1))
    return ScenarioRow(
        draw(st.integers(0, 10**9 - 1)),
        name,
        width,
        height,
        draw(cell),
        draw(cell),
        draw(st.floats(0, allow_infinity=False) | st.integers(0, 10**9).map(lambda count: count / 10**8)),
    )


@given(rows=st.lists(scenario_rows(), max_size=4))
@settings(max_examples=60)
def test_scenarios_round_trip(rows, tmp_path_factory):
    """What is written is read again to the last digit, and written again byte for byte."""
    path = tmp_path_factory.mktemp("maps") / "one.scen"
    save_scenario(path, iter(rows))
    first = path.read_bytes()
    assert load_scenario(path) == rows
    assert {type(value) for row in load_scenario(path) for value in (*row.start, row.width)} <= {int}
    save_scenario(path, load_scenario(path))
    assert path.read_bytes() == first


def test_a_file_of_the_benchmarks_is_written_unchanged(tmp_path):
    """Lengths keep their eight decimals; what needs more gets more."""
    save_scenario(tmp_path / "one.scen", load_scenario(DATA / "terrain.scen"))
    assert (tmp_path / "one.scen").read_bytes() == (DATA / "terrain.scen").read_bytes()
    row = ScenarioRow(np.int64(0), "one.map", 2, np.int32(1), (0, 0), (np.int64(1), 0), np.float64(1 / 3))
    save_scenario(tmp_path / "one.scen", [row])
    expected = b"version 1\n0\tone.map\t2\t1\t0\t0\t1\t0\t0.3333333333333333\n"
    assert (tmp_path / "one.scen").read_bytes() == expected


HEADER = "type octile\nheight 2\nwidth 3\nmap\n"
LETTERS = "., G, S, @, O, T, W"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "the file ends; expected 'type octile'"),
        ("type hex\nheight 2\nwidth 3\nmap\n...\n...\n", 1, "'type hex'; expected 'type octile'"),
        ("height 2\nwidth 3\nmap\n...\n...\n", 1, "'height 2'; expected 'type octile'"),
        ("type octile\n", 2, "the file ends; expected 'height' and a positive integer"),
        ("type octile\nheight two\n", 2, "'height two'; expected 'height' and a positive integer"),
        ("type octile\nheight 2.0\n", 2, "'height 2.0'; expected 'height' and a positive integer"),
        ("type octile\nheight 0\n", 2, "'height 0'; expected 'height' and a positive integer"),
        ("type octile\nheight -2\n", 2, "'height -2'; expected 'height' and a positive integer"),
        ("type octile\nheight ٢\n", 2, "'height ٢'; expected 'height' and a positive integer"),
        ("type octile\nheight 1٢\n", 2, "'height 1٢'; expected 'height' and a positive integer"),
        ("type octile\nheight\n", 2, "'height'; expected 'height' and a positive integer"),
        ("type octile\nheight 2 3\n", 2, "'height 2 3'; expected 'height' and a positive integer"),
        ("type octile\nwidth 3\nheight 2\n", 2, "'width 3'; expected 'height' and a positive integer"),
        ("type octile\nheight 2\nwidth x\n", 3, "'width x'; expected 'width' and a positive integer"),
        ("type octile\nheight 2\nheight 3\n", 3, "'height 3'; expected 'width' and a positive integer"),
        ("type octile\nheight 2\nwidth 3\n...\n...\n", 4, "'...'; expected 'map'"),
        (HEADER + "...\n", 6, "the file ends; expected row 2 of 2, of 3 letters"),
        (HEADER, 5, "the file ends; expected row 1 of 2, of 3 letters"),
        (HEADER + "....\n...\n", 5, "'....'; expected row 1 of 2, of 3 letters, not 4"),
        (HEADER + "...\n..\n", 6, "'..'; expected row 2 of 2, of 3 letters, not 2"),
        (HEADER + "\n...\n...\n", 5, "''; expected row 1 of 2, of 3 letters"),
        (HEADER + "...\n...\n\n...\n", 7, "''; expected the end of the file after 2 rows"),
        (HEADER + "...\n...\n...\n", 7, "'...'; expected the end of the file after 2 rows"),
        (HEADER + "...\n.#.\n", 6, f"'.#.'; expected a letter out of {LETTERS} in column 2, not '#'"),
        (HEADER + "..t\n...\n", 5, f"'..t'; expected a letter out of {LETTERS} in column 3, not 't'"),
        (HEADER.encode() + b"\xff..\n...\n", 5, "'\N{REPLACEMENT CHARACTER}..'; expected a letter out of"),
    ],
)
def test_malformed_maps(content, line, message, tmp_path):
    """An error names the file, the line, what stands there and what was expected."""
    path = tmp_path / "bad.map"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {line}: {message}")):
        load_map(path)


COLUMNS = "bucket, map, map width, map height, start x, start y, goal x, goal y, optimal length"


def columns(**changes):
    """A good row as text, with some columns written otherwise."""
    row = dict(zip(COLUMNS.split(", "), ["0", "a.map", "5", "4", "4", "3", "0", "0", "7.0"], strict=True))
    return "\t".join((row | {name.replace("_", " "): value for name, value in changes.items()}).values())


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "the file ends; expected 'version 1', the only version that is supported"),
        ("version 2\n", 1, "'version 2'; expected 'version 1', the only version that is supported"),
        (columns(), 1, f"{columns()!r}; expected 'version 1', the only version that is supported"),
        ("version 1\n" + columns() + "\t9\n", 2, f"expected 9 columns separated by tabs ({COLUMNS}), not 10"),
        (
            "version 1\n" + columns() + "\n0\ta.map\n",
            3,
            f"'0\\ta.map'; expected 9 columns separated by tabs ({COLUMNS})",
        ),
        ("version 1\n\n" + columns(), 2, f"''; expected 9 columns separated by tabs ({COLUMNS}), not 0"),
        ("version 1\n" + columns(bucket="x"), 2, "expected bucket to be an integer of at least 0, not 'x'"),
        ("version 1\n" + columns(bucket="-1"), 2, "expected bucket to be an integer of at least 0, not '-1'"),
        ("version 1\n" + columns(map=""), 2, "expected map to be the name of a file, not ''"),
        ("version 1\n" + columns(map_width="5.0"), 2, "map width to be an integer of at least 0, not '5.0'"),
        ("version 1\n" + columns(map_height="1_0"), 2, "map height to be an integer of at least 0, not '1_0'"),
        ("version 1\n" + columns(start_x="+4"), 2, "start x to be an integer of at least 0, not '+4'"),
        ("version 1\n" + columns(start_y="٣"), 2, "start y to be an integer of at least 0, not '٣'"),
        ("version 1\n" + columns(goal_x=""), 2, "goal x to be an integer of at least 0, not ''"),
        ("version 1\n" + columns(goal_y="9" * 5000), 2, "goal y to be an integer of at least 0, not '999"),
        ("version 1\n" + columns(start_x="5"), 2, "expected start (5, 3) to be inside the map of 5 x 4 cells"),
        ("version 1\n" + columns(start_y="4"), 2, "expected start (4, 4) to be inside the map of 5 x 4 cells"),
        ("version 1\n" + columns(goal_x="5"), 2, "expected goal (5, 0) to be inside the map of 5 x 4 cells"),
        ("version 1\n" + columns(goal_y="4"), 2, "expected goal (0, 4) to be inside the map of 5 x 4 cells"),
        *(
            (
                "version 1\n" + columns(optimal_length=length),
                2,
                f"expected optimal length to be a number of at least 0, not {length!r}",
            )
            for length in ("x", "", "-1", "nan", "inf", "1_0", ".", "1e")
        ),
        ("version 1\n" + columns(optimal_length="1e999"), 2, "optimal length to be a number of at least 0, not inf"),
    ],
)
def test_malformed_scenarios(content, line, message, tmp_path):
    """An error names the file, the line, the column and what was expected."""
    path = tmp_path / "bad.scen"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {line}: ") + ".*" + re.escape(message)):
        load_scenario(path)


GOOD_ROW = ScenarioRow(0, "a.map", 5, 4, (4, 3), (0, 0), 7.0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (tuple(GOOD_ROW), f"expected a ScenarioRow ({COLUMNS})"),
        (GOOD_ROW._replace(bucket=True), "expected bucket to be an integer of at least 0, not True"),
        (GOOD_ROW._replace(width=5.0), "expected map width to be an integer of at least 0, not 5.0"),
        (GOOD_ROW._replace(start=[4, 3]), "expected start to be a cell (x, y), not [4, 3]"),
        (GOOD_ROW._replace(goal=(1, 2, 3)), "expected goal to be a cell (x, y), not (1, 2, 3)"),
        (GOOD_ROW._replace(goal=(-1, 2)), "expected goal x to be an integer of at least 0, not -1"),
        (GOOD_ROW._replace(goal=(5, 0)), "expected goal (5, 0) to be inside the map of 5 x 4 cells"),
        (GOOD_ROW._replace(map_name="a\tb"), "expected map to be the name of a file, not 'a\\tb'"),
        (GOOD_ROW._replace(map_name="a\nb"), "expected map to be the name of a file, not 'a\\nb'"),
        (GOOD_ROW._replace(map_name=None), "expected map to be the name of a file, not None"),
        (GOOD_ROW._replace(optimal_length=None), "expected optimal length to be a number of at least 0, not None"),
        (GOOD_ROW._replace(optimal_length=False), "expected optimal length to be a number of at least 0, not False"),
        (GOOD_ROW._replace(optimal_length=-0.5), "expected optimal length to be a number of at least 0, not -0.5"),
        (GOOD_ROW._replace(optimal_length=float("nan")), "optimal length to be a number of at least 0, not nan"),
    ],
)
def test_rows_that_could_not_be_read_are_not_written(row, message, tmp_path):
    """What `load_scenario` would refuse is refused with its index, and no file is left behind."""
    with pytest.raises(ValueError, match=re.escape(f"row 1 is {row}; ") + ".*" + re.escape(message)):
        save_scenario(tmp_path / "one.scen", [GOOD_ROW, row])
    assert list(tmp_path.iterdir()) == []


def test_only_maps_are_written(tmp_path):
    """What is no map leaves no file."""
    with pytest.raises(TypeError, match="walls is an array of int64; expected a boolean array"):
        save_map(tmp_path / "one.map", np.zeros((2, 2), dtype=np.int64))
    assert list(tmp_path.iterdir()) == []


SIZES = [(1, 1), (1, 7), (7, 1), (2, 2), (3, 8), (8, 3), (13, 6), (20, 31)]
GENERATED = {
    "random_map, sparse": lambda width, height, seed: random_map(width, height, 0.1, seed),
    "random_map, halved": lambda width, height, seed: random_map(width, height, 0.5, seed),
    "random_map, dense": lambda width, height, seed: random_map(width, height, 0.8 * (width * height > 2), seed),
    "maze": maze,
    "maze with loops": lambda width, height, seed: maze(width, height, seed, loops=0.3),
    "rooms": lambda width, height, seed: rooms(width, height, 2, seed),
    "rooms in a tree": lambda width, height, seed: rooms(width, height, 3, seed, loops=0),
    "rooms of one cell": lambda width, height, seed: rooms(width, height, 1, seed, loops=0.5),
    "warehouse": lambda width, height, seed: warehouse(width + 6, height + 3, fill=0.6, seed=seed),
}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", GENERATED)
def test_every_free_cell_reaches_every_other(kind, size):
    """Of whatever size and seed, a map is one region and has the shape that was asked for."""
    more = (6, 3) if kind == "warehouse" else (0, 0)
    for seed in range(12):
        walls = GENERATED[kind](*size, seed)
        assert (walls.shape, walls.dtype) == ((size[0] + more[0], size[1] + more[1]), np.bool_)
        assert regions(walls) == 1, format_map(walls)


@pytest.mark.parametrize("kind", GENERATED)
def test_seeds(kind):
    """A seed gives one map, another seed another; a generator is drawn from; nothing global is touched."""
    make = GENERATED[kind]
    state = np.random.get_state()[1].tolist()  # noqa: NPY002 (this is what must not change)
    made = [make(20, 13, seed) for seed in range(6)]
    assert len({walls.tobytes() for walls in made}) == 6
    assert (make(20, 13, np.int64(3)) == made[3]).all()
    generator = np.random.Generator(np.random.PCG64(3))
    assert (make(20, 13, generator) == made[3]).all()
    assert make(20, 13, generator).tobytes() != made[3].tobytes()
    made[3][:] = True
    assert not make(20, 13, 3).all()
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


@pytest.mark.parametrize(
    ("make", "picture"),
    [
        (
            lambda: random_map(13, 5, 0.35, 5),
            """
            ..........#..
            .##.###......
            .##....###.##
            ##.....###...
            #..#.##.....#
            """,
        ),
        (
            lambda: maze(13, 6, 5, loops=0.1),
            """
            .#...........
            .#.###.#####.
            ...#...#.#...
            .###.###.#.##
            .........#...
            #############
            """,
        ),
        (
            lambda: rooms(13, 9, 3, 5),
            """
            ...#....#....
            ...#.........
            ...#....#....
            ...#....#....
            ##.###.#####.
            ...#....#....
            ...#....#....
            ........#....
            ...#.........
            """,
        ),
        (
            lambda: warehouse(14, 9, shelf_length=3, fill=0.75, seed=5),
            """
            ..............
            ..............
            .....###.###..
            .....###.###..
            ..............
            .....###.###..
            .....###.###..
            ..............
            ..............
            """,
        ),
    ],
    ids=["random_map", "maze", "rooms", "warehouse"],
)
def test_maps_made_before_are_made_again(make, picture):
    """Maps that were made with NumPy 1.26 and 2.4 come out the same, on every platform."""
    assert format_map(make()) == text(picture)


@pytest.mark.parametrize("density", [0, 0.07, 0.2, 0.33, 0.5, 0.75, 0.9, 0.98])
def test_the_number_of_walls_is_exact(density):
    """A density means a number of walls, however few free cells are left to connect."""
    for width, height in [(10, 7), (1, 60), (31, 32)]:
        for seed in range(4):
            walls = random_map(width, height, density, seed)
            assert walls.sum() == round(Fraction(density) * width * height)
            assert regions(walls) == 1


@pytest.mark.parametrize("density", [0.2, 0.4, 0.6, 0.85])
def test_walls_come_in_a_random_order(density):
    """Slow and plain: the earliest cell in the order that can become a wall does, until there are enough."""
    for width, height in [(6, 5), (9, 4)]:
        for seed in range(8):
            words = np.random.Generator(np.random.PCG64(seed)).integers(0, 2**64, width * height, dtype=np.uint64)
            order = sorted(range(width * height), key=words.tolist().__getitem__)
            walls = np.zeros((width, height), dtype=bool)
            while walls.sum() < round(density * width * height):
                for cell in order:
                    tried = walls.copy()
                    tried.flat[cell] = True
                    if tried.sum() > walls.sum() and regions(tried) == 1:
                        walls = tried
                        break
            assert format_map(random_map(width, height, density, seed)) == format_map(walls)


@pytest.mark.parametrize("size", [(1, 1), (11, 7), (12, 7), (7, 12), (10, 10)], ids=str)
def test_a_perfect_maze(size):
    """One path joins any two cells; corridors meet at even coordinates, and pillars stand at odd ones."""
    for seed in range(10):
        walls = maze(*size, seed)
        assert not walls[::2, ::2].any()
        assert walls[1::2, 1::2].all()
        assert links(walls) == (~walls).sum() - 1
        for axis, side in enumerate(size):
            assert side % 2 == 1 or walls.take(-1, axis=axis).all()


def test_a_maze_with_loops():
    """Each wall that is opened adds one loop, and the share is of those that are there to open."""
    closed = 6 * 4 + 5 * 5 - (6 * 5 - 1)
    for loops in (0, 0.1, 0.5, 1):
        walls = maze(11, 9, 4, loops)
        assert links(walls) - (~walls).sum() + 1 == round(loops * closed)
    assert walls.sum() == 5 * 4


@pytest.mark.parametrize(
    ("size", "room_size", "wall_columns", "wall_rows"),
    [
        ((32, 32), 4, [4, 10, 15, 21, 26], [4, 10, 15, 21, 26]),
        ((14, 9), 4, [4, 9], [4]),
        ((13, 10), 4, [6], [4]),
        ((7, 3), 5, [], []),
        ((9, 6), 1, [1, 3, 5, 7], [1, 3]),
    ],
    ids=str,
)
def test_rooms_and_doors(size, room_size, wall_columns, wall_rows):
    """As many rooms as fit, alike to one cell, walls one cell thick, and one door in each wall that has any."""
    num_columns, num_rows = len(wall_columns) + 1, len(wall_rows) + 1
    num_pairs = (num_columns - 1) * num_rows + num_columns * (num_rows - 1)
    num_tree = num_columns * num_rows - 1
    undivided = np.zeros(size, dtype=bool)
    undivided[wall_columns] = undivided[:, wall_rows] = True
    for seed in range(5):
        for loops in (0, 0.4, 1):
            walls = rooms(*size, room_size, seed, loops)
            assert (walls <= undivided).all()
            doors = np.argwhere(undivided & ~walls).tolist()
            joined = {
                (x in wall_columns, sum(x > wall for wall in wall_columns), sum(y > wall for wall in wall_rows))
                for x, y in doors
            }
            assert len(joined) == len(doors) == num_tree + round(loops * (num_pairs - num_tree))


def test_doors_are_anywhere_in_a_wall():
    """Over many maps, doors open at every cell of the wall between two rooms."""
    across = {tuple(np.flatnonzero(~rooms(9, 4, 4, seed)[4]).tolist()) for seed in range(60)}
    along = {tuple(np.flatnonzero(~rooms(4, 9, 4, seed)[:, 4]).tolist()) for seed in range(60)}
    assert across == along == {(0,), (1,), (2,), (3,)}


@pytest.mark.parametrize(
    ("arguments", "options", "picture"),
    [
        (
            (17, 8),
            {},
            """
            .................
            ...#####.#####...
            ...#####.#####...
            .................
            ...#####.#####...
            ...#####.#####...
            .................
            .................
            """,
        ),
        (
            (10, 9),
            {"shelf_length": 2, "shelf_height": 3, "aisle_width": 2},
            """
            ..........
            ..........
            ..........
            ..##..##..
            ..##..##..
            ..##..##..
            ..........
            ..........
            ..........
            """,
        ),
        ((3, 4), {"shelf_length": 1}, "...\n.#.\n.#.\n..."),
        ((7, 4), {"fill": 0}, ".......\n" * 4),
    ],
    ids=["default", "wide aisles", "one shelf", "empty"],
)
def test_warehouses(arguments, options, picture):
    """Blocks stand in the middle, as many as fit with their aisles; with all of them there, no seed matters."""
    assert format_map(warehouse(*arguments, **options)) == text(picture)
    assert format_map(warehouse(*arguments, **options, seed=9)) == text(picture)


def test_a_warehouse_that_is_partly_filled():
    """The share is of the blocks, which are there as a whole or not at all, each as often as the others."""
    counts = np.zeros((3, 2))
    for seed in range(300):
        walls = warehouse(13, 7, shelf_length=3, fill=0.5, seed=seed)
        blocks = walls[1:].reshape(3, 4, 7)[:, :, 1:].reshape(3, 4, 2, 3).mean(axis=(1, 3)) * 2
        assert set(blocks.ravel()) == {0.0, 1.0}
        assert blocks.sum() == 3
        counts += blocks
    assert (np.abs(counts / 300 - 0.5) < 0.12).all()


GOOD = {
    random_map: {"width": 5, "height": 4, "density": 0.2, "seed": 1},
    maze: {"width": 5, "height": 4, "seed": 1, "loops": 0.5},
    rooms: {"width": 5, "height": 4, "room_size": 2, "seed": 1, "loops": 0.5},
    warehouse: {"width": 9, "height": 6, "shelf_length": 2, "shelf_height": 2, "aisle_width": 2, "fill": 1, "seed": 1},
}
# For each kind of argument: what is expected, values of another type, and values out of range.
SIDE = "an integer of at least 1", (2.0, "2", True, None), (0, -3)
SHARE = "a number from 0 to 1", ("0.5", None, True, 1j), (-0.01, 1.01, float("nan"))
SEED = "an integer of at least 0 or a numpy Generator", (None, 1.0, True, "1", np.random.PCG64(1)), (-1,)
KINDS = {"density": SHARE, "loops": SHARE, "fill": SHARE, "seed": SEED}


@pytest.mark.parametrize(("make", "argument"), [(make, argument) for make, good in GOOD.items() for argument in good])
def test_arguments_are_checked(make, argument):
    """Sides, shares and seeds of another type or out of range are refused; NumPy's numbers are taken."""
    expected, of_another_type, out_of_range = KINDS.get(argument, SIDE)
    for value in of_another_type:
        message = f"{argument} is {value!r} of type {type(value).__name__}; expected {expected}"
        with pytest.raises(TypeError, match=re.escape(message)):
            make(**{**GOOD[make], argument: value})
    for value in out_of_range:
        with pytest.raises(ValueError, match=f"{argument} is {value}; expected {expected.partition(' or ')[0]}"):
            make(**{**GOOD[make], argument: value})
    good = GOOD[make][argument]
    of_numpy = np.uint8(good) if isinstance(good, int) else np.float32(good)
    exact = {**GOOD[make], argument: of_numpy.item()}
    assert (make(**{**exact, argument: of_numpy}) == make(**exact)).all()


@pytest.mark.parametrize("make", GOOD)
@pytest.mark.parametrize("size", [(2**27 + 1, 1), (10**9, 10**9), (3, 2**62)], ids=str)
def test_maps_have_a_largest_size(make, size):
    """A map of more cells than can be worked out is refused with their number, before any is made."""
    with pytest.raises(ValueError, match=f"{size[0] * size[1]} cells; expected at most 134217728 cells"):
        make(**{**GOOD[make], "width": size[0], "height": size[1]})


def test_a_map_needs_a_free_cell():
    """A density that would leave none is refused; one that leaves one is not."""
    with pytest.raises(ValueError, match=r"density is 0.99, which leaves no free cell of 5 x 4; use a lower one"):
        random_map(5, 4, 0.99, 1)
    assert (~random_map(5, 4, 0.95, 1)).sum() == 1


@pytest.mark.parametrize("size", [(6, 4), (7, 3)])
def test_a_warehouse_needs_room(size):
    """A map that is too small for a block is refused with the least that it takes."""
    message = (
        f"the map is {size[0]} x {size[1]} cells, but a block of 5 x 2 with aisles of 1 around it needs 7 x 4; "
        "use a larger map or smaller blocks"
    )
    with pytest.raises(ValueError, match=message):
        warehouse(*size)
    assert warehouse(7, 4).sum() == 10
