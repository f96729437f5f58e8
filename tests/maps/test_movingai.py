"""Files of the MovingAI benchmarks: how they are read and written, and what is refused."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multigrid.maps import ScenarioRow, load_map, load_scenario, save_map, save_scenario
from worldgen import walls_of

DATA = Path(__file__).parents[1] / "data"
WALLS = arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 7)))


def test_terrain(tmp_path):
    """Ground, swamp, service and emitter points can be entered; out of bounds, trees and water cannot."""
    assert (load_map(DATA / "terrain.map") == walls_of("..###\n.#...\n..#..\n#....")).all()
    (tmp_path / "small.map").write_text("type octile\nheight 2\nwidth 3\nmap\nSE@\nT.E\n")
    assert (load_map(tmp_path / "small.map") == walls_of("..#\n#..")).all()


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
    windows, spaced = lines.replace(b"\n", b"\r\n"), lines.replace(b"\n", b" \n", 1)
    for variant in (windows, lines.rstrip(), windows.rstrip(), lines + b"\n \n", b"\xef\xbb\xbf" + lines, spaced):
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
    """A map is written in the benchmarks' letters, height before width; what is no map leaves no file."""
    with pytest.raises(TypeError, match="walls is an array of int64; expected a boolean array"):
        save_map(tmp_path / "one.map", np.zeros((2, 2), dtype=np.int64))
    assert list(tmp_path.iterdir()) == []
    save_map(tmp_path / "one.map", walls_of("..#\n#.."))
    assert (tmp_path / "one.map").read_bytes() == b"type octile\nheight 2\nwidth 3\nmap\n..@\n@..\n"


@st.composite
def scenario_rows(draw):
    """A row with any map, cells inside it and any length."""
    width, height = draw(st.integers(1, 3000)), draw(st.integers(1, 3000))
    cell = st.tuples(st.integers(0, width - 1), st.integers(0, height - 1))
    name, bucket = draw(st.text("am01-_./ \\\x85é地", min_size=1)), draw(st.integers(0, 10**9 - 1))
    lengths = st.floats(0, allow_infinity=False) | st.integers(0, 10**9).map(lambda count: count / 10**8)
    return ScenarioRow(bucket, name, width, height, draw(cell), draw(cell), draw(lengths))


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
LETTERS = "., G, S, E, @, O, T, W"


HEIGHT, WIDTH = (f"; expected {name!r} and a positive integer" for name in ("height", "width"))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "the file ends; expected 'type octile'"),
        ("type hex\nheight 2\nwidth 3\nmap\n...\n...\n", 1, "'type hex'; expected 'type octile'"),
        ("height 2\nwidth 3\nmap\n...\n...\n", 1, "'height 2'; expected 'type octile'"),
        ("type octile\n", 2, "the file ends" + HEIGHT),
        *(
            (f"type octile\n{words}\n", 2, f"'{words}'" + HEIGHT)
            for words in (
                *("height two", "height 2.0", "height 0", "height -2", "height ٢", "height 1٢", "height", "height 2 3"),
                "width 3",
            )
        ),
        *((f"type octile\nheight 2\n{words}\n", 3, f"'{words}'" + WIDTH) for words in ("width x", "height 3")),
        ("type octile\nheight 2\nwidth 3\n...\n...\n", 4, "'...'; expected 'map'"),
        (HEADER + "...\n", 6, "the file ends; expected row 2 of 2, of 3 letters"),
        (HEADER + "....\n...\n", 5, "'....'; expected row 1 of 2, of 3 letters, not 4"),
        (HEADER + "...\n..\n", 6, "'..'; expected row 2 of 2, of 3 letters, not 2"),
        (HEADER + "\n...\n...\n", 5, "''; expected row 1 of 2, of 3 letters"),
        (HEADER + "...\n...\n\n...\n", 7, "''; expected the end of the file after 2 rows"),
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


WHOLE = "to be an integer of at least 0, not"
NUMBER = "optimal length to be a number of at least 0, not"
BAD_COLUMNS = [
    ("bucket", "x", f"bucket {WHOLE} 'x'"),
    ("bucket", "-1", f"bucket {WHOLE} '-1'"),
    ("map", "", "map to be the name of a file, not ''"),
    ("map_width", "5.0", f"map width {WHOLE} '5.0'"),
    ("map_height", "1_0", f"map height {WHOLE} '1_0'"),
    ("start_x", "+4", f"start x {WHOLE} '+4'"),
    ("start_y", "٣", f"start y {WHOLE} '٣'"),
    ("goal_x", "", f"goal x {WHOLE} ''"),
    ("goal_y", "9" * 5000, f"goal y {WHOLE} '999"),
    ("start_x", "5", "start (5, 3) to be inside the map of 5 x 4 cells"),
    ("start_y", "4", "start (4, 4) to be inside the map of 5 x 4 cells"),
    ("goal_x", "5", "goal (5, 0) to be inside the map of 5 x 4 cells"),
    ("goal_y", "4", "goal (0, 4) to be inside the map of 5 x 4 cells"),
    *(("optimal_length", x, f"{NUMBER} {x!r}") for x in ("x", "", "-1", "nan", "inf", "1_0", ".", "1e")),
    ("optimal_length", "1e999", f"{NUMBER} inf"),
]
ONLY = "expected 'version 1', the only version that is supported"
NINE = f"expected 9 columns separated by tabs ({COLUMNS})"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, f"the file ends; {ONLY}"),
        ("version 2\n", 1, f"'version 2'; {ONLY}"),
        (columns(), 1, f"{columns()!r}; {ONLY}"),
        ("version 1\n" + columns() + "\t9\n", 2, f"{NINE}, not 10"),
        ("version 1\n" + columns() + "\n0\ta.map\n", 3, f"'0\\ta.map'; {NINE}"),
        ("version 1\n\n" + columns(), 2, f"''; {NINE}, not 0"),
        *(("version 1\n" + columns(**{name: text}), 2, message) for name, text, message in BAD_COLUMNS),
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
        *(
            (GOOD_ROW._replace(**{field: value}), f"{message} {value!r}")
            for field, value, message in [
                ("bucket", True, f"bucket {WHOLE}"),
                ("width", 5.0, f"map width {WHOLE}"),
                ("start", [4, 3], "start to be a cell (x, y), not"),
                ("goal", (1, 2, 3), "goal to be a cell (x, y), not"),
                *(("map_name", name, "map to be the name of a file, not") for name in ("a\tb", "a\nb", None)),
                *(("optimal_length", x, NUMBER) for x in (None, False, -0.5, float("nan"))),
            ]
        ),
        (GOOD_ROW._replace(goal=(-1, 2)), f"goal x {WHOLE} -1"),
        (GOOD_ROW._replace(goal=(5, 0)), "expected goal (5, 0) to be inside the map of 5 x 4 cells"),
    ],
)
def test_rows_that_could_not_be_read_are_not_written(row, message, tmp_path):
    """What `load_scenario` would refuse is refused with its index, and no file is left behind."""
    with pytest.raises(ValueError, match=re.escape(f"row 1 is {row}; ") + ".*" + re.escape(message)):
        save_scenario(tmp_path / "one.scen", [GOOD_ROW, row])
    assert list(tmp_path.iterdir()) == []
