"""Maps as pictures: how they are read and drawn, and what is refused."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multigrid.maps import ParsedMap, format_map, parse_map
from worldgen import walls_of

WALLS = arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 7)))


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
    assert same(parse_map("..#"), walls_of("..#"), np.empty((0, 2)), np.empty((0, 2)))


@pytest.mark.parametrize(
    "given_text",
    [
        "z.#\nqZQ",
        "z.#\nqZQ\n",
        "\n\n  z.#\n  qZQ\n ",
        "\r\n\tz.#\r\n\tqZQ\r\n   \r\n",
    ],
    ids=range(4),
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


def test_agents_may_have_no_targets():
    """Without targets a picture shows agents alone; targets that are there are left out, but have an agent."""
    for text in ("b.#\n..a", "bB#\n..a", "b.#\n..a\na: 1,1"):
        walls, agents, targets = parse_map(text, targets=False)
        assert (walls.shape, agents.tolist(), targets.shape) == ((3, 2), [[2, 1], [0, 0]], (0, 2))
    with pytest.raises(ValueError, match="the picture is empty"):
        parse_map("a: 1,1", targets=False)


@pytest.mark.parametrize(
    ("given_text", "message"),
    [
        ("", "the picture is empty; expected at least one line of '.', '#' and letters"),
        ("\n  \n", "the picture is empty; expected"),
        ("..\n..\n...", "line 3 of the picture, '...', has 3 characters; expected 2, as in line 1, '..'"),
        ("...\n..", "line 2 of the picture, '..', has 2 characters; expected 3, as in line 1, '...'"),
        ("..\n\n..", "line 2 of the picture, '', has 0 characters; expected 2, as in line 1, '..'"),
        (" ..\n...\n ..", "line 1, column 1 of the picture: ' ' in ' ..'; expected '.' for a free cell"),
        ("\n  ...\n  .#5\n", "line 2, column 3 of the picture: '5' in '.#5'; expected '.' for a free cell, '#' for"),
        ("..\n. ", "line 2, column 2 of the picture: ' ' in '. '; expected '.'"),
        (".é", "line 1, column 2 of the picture: 'é' in '.é'; expected '.'"),
        ("aA\n.a", "line 2, column 2 of the picture: 'a' stands in line 1, column 1 of the picture already; expected"),
        ("aA.A", "line 1, column 4 of the picture: 'A' stands in line 1, column 2 of the picture already"),
        ("...\naAb", "line 2, column 3 of the picture: agent 'b' has no target; expected one 'B' somewhere in the"),
        ("..C", "line 1, column 3 of the picture: target 'C' has no agent; expected one 'c' somewhere in the picture"),
    ],
)
def test_bad_pictures(given_text, message):
    """An error names line and column, what stands there and what was expected."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_map(given_text)
    with pytest.raises(TypeError, match="the picture is of type list; expected a str, one line a row"):
        parse_map([given_text])


def test_what_hides_what():
    """An agent hides a target, a lower index hides a higher one, and who is not there is not drawn."""
    walls = walls_of("...#\n....")
    agents = [[1, 0], [2, 1], [2, 1], [-1, -1]]
    targets = [[2, 1], [0, 0], [0, 0], [-1, -1]]
    assert format_map(walls, agents, targets) == "Ba.#\n..b."
    assert format_map(walls, agents) == ".a.#\n..b."
    assert format_map(walls, targets=targets) == "B..#\n..A."
    assert format_map(walls, [], np.empty((0, 2))) == format_map(walls) == "...#\n...."


def test_a_crowd_is_drawn():
    """The 27th agent is another a: a crowd is drawn, line by line, in the alphabet again and again."""
    drawn = format_map(np.zeros((50, 2), dtype=bool), cells := [(x, y) for y in range(2) for x in range(50)])
    assert drawn.replace("\n", "") == ("abcdefghijklmnopqrstuvwxyz" * 4)[:100]
    assert format_map(np.zeros((50, 2), dtype=bool), targets=cells) == drawn.upper()


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
        ((walls_of(".#"), [[0, 0], [2, 0]]), ValueError, "row 1 of agents is [2, 0]; expected a cell of the map of 2"),
        ((walls_of(".#"), [[0, 1]]), ValueError, "row 0 of agents is [0, 1]; expected a cell of the map of 2 x 1"),
        ((walls_of(".#"), None, [[0, -1]]), ValueError, "row 0 of targets is [0, -1]; expected a cell of the map"),
        ((walls_of(".#"), [[-1, 0]]), ValueError, "row 0 of agents is [-1, 0]; expected a cell of the map"),
        ((walls_of(".#"), [[1, 0]]), ValueError, "row 0 of agents is [1, 0], which is a wall; expected a free cell"),
        (
            (walls_of(".#"), np.full((1, 2), 2**64 - 1, np.uint64)),
            ValueError,
            "agents has the coordinate 184467440737",
        ),
        (
            (walls_of(".#"), [[0, 0]], [[0, 0], [0, 0]]),
            ValueError,
            "there are 1 agents but 2 targets; expected as",
        ),
    ],
)
def test_what_cannot_be_drawn(arguments, error, message):
    """Arrays of another type or shape and cells that are none are refused, with the row."""
    with pytest.raises(error, match=re.escape(message)):
        format_map(*arguments)


LISTED = """
    a.#b
    ....

    b: 3,1 3,0 3,1
    a: 2,1
"""


def test_lists_of_targets_follow_the_picture():
    """A line for each agent has its targets in order; lines may come in any order, and be indented with the picture."""
    walls, agents, targets = parse_map(LISTED)
    assert (walls.tolist(), agents.tolist()) == (walls_of("..#.\n....").tolist(), [[0, 0], [3, 0]])
    assert (targets.dtype, targets.tolist()) == (np.int64, [[[2, 1], [-1, -1], [-1, -1]], [[3, 1], [3, 0], [3, 1]]])
    assert format_map(walls, agents, targets) == "a.#b\n....\na: 2,1\nb: 3,1 3,0 3,1"
    assert format_map(walls, agents, [[[2, 1]], [[3, 1]]]).endswith("\na: 2,1\nb: 3,1")


@given(drawable(), st.data())
def test_pictures_with_lists_round_trip(picture, data):
    """Any lists of free cells are written and read again unchanged, those of starts and of shared cells too."""
    walls, agents, _ = picture
    if len(agents):
        cells = st.sampled_from([tuple(cell) for cell in np.argwhere(~walls).tolist()])
        lists = data.draw(st.lists(st.lists(cells, min_size=1, max_size=5), min_size=len(agents), max_size=len(agents)))
        drawn = format_map(walls, agents, lists)
        read = parse_map(drawn)
        assert [[tuple(cell) for cell in one if cell != [-1, -1]] for one in read.targets.tolist()] == lists
        assert (read.walls == walls).all()
        assert (read.agents == agents).all()
        assert format_map(*read) == drawn


@pytest.mark.parametrize(
    ("given_text", "message"),
    [
        ("a.\n..\na:", "line 3 of the picture, 'a:': the list is empty; expected at least one cell x,y"),
        ("a.\nb: 1,0", "line 2 of the picture, 'b: 1,0': there is no agent 'b'; expected the letter of an agent"),
        ("aA\nA: 1,0", "line 2 of the picture, 'A: 1,0': there is no agent 'A'"),
        ("a.\n: 1,0", "line 2 of the picture, ': 1,0': there is no agent ''"),
        ("a: 1,0", "the picture is empty"),
        ("a.\na: 1,0\na: 0,0", "line 3 of the picture, 'a: 0,0': agent 'a' has a list already; expected one line for"),
        ("ab\n..\na: 1,0", "line 1, column 2 of the picture: agent 'b' has no list of targets, unlike others"),
        ("aA\na: 1,0", "line 1, column 2 of the picture: target 'A' beside lists of targets; leave it out, and begin"),
        ("a#\na: 0,0 1,0", "line 2 of the picture, 'a: 0,0 1,0': 1,0 is a wall; expected a free cell"),
        ("a#\na: 0,1", "0,1 is outside the picture of 2 x 1 cells"),
        ("a#\na: 2,0", "2,0 is outside the picture of 2 x 1 cells"),
        ("a#\na: " + "9" * 5000 + ",0", "is outside the picture"),
        ("a#\na: -1,0", "'-1,0' is not a cell; expected x,y, two numbers from 0 on"),
        ("a#\na: 1.0,0", "'1.0,0' is not a cell"),
        ("a#\na: 1, 0", "'1,' is not a cell"),
        ("a#\na: 1,0,0", "'1,0,0' is not a cell"),
        ("a.\na: 0,0\n..", "line 3 of the picture, '..': there is no agent '..'"),
    ],
)
def test_bad_lists(given_text, message):
    """An error names the line, what stands there and what was expected."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_map(given_text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((walls_of(".#"), [[0, 0]], [[[1, 0]]]), "row 0 of the list of agent_0 in targets is [1, 0], which is a wall"),
        ((walls_of(".#"), [[0, 0]], [[[0, 0], [0, 1]]]), "row 1 of the list of agent_0 in targets is [0, 1]; expe"),
        ((walls_of(".#"), [[0, 0]], [[]]), "the list of agent_0 in targets is empty"),
        ((walls_of(".#"), [[0, 0]], [[[0, 0]]] * 2), "there are 1 agents but 2 lists of targets"),
        ((walls_of(".#"), None, [[[0, 0]]]), "there are 0 agents but 1 lists of targets"),
    ],
)
def test_lists_that_cannot_be_drawn(arguments, message):
    """Lists with cells that are none, empty ones, and others than those of the agents are refused."""
    with pytest.raises(ValueError, match=re.escape(message)):
        format_map(*arguments)
