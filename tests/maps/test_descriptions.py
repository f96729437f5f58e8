"""Maps from files of any kind, and from descriptions of generators."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from multigrid.maps import load_map, maze, random_map, read_map, rooms, warehouse
from multigrid.maps._descriptions import find_generator, generate_maps

DATA = Path(__file__).parents[1] / "data"

DESCRIBED = {
    "warehouse:width=17,height=13": [warehouse(17, 13)],
    "warehouse:width=19,height=11,shelf_length=3,aisle-width=2,fill=0.5,seed=3": [
        warehouse(19, 11, shelf_length=3, aisle_width=2, fill=0.5, seed=3)
    ],
    "random_map:width=9,height=7,density=0.3,seed=4,maps=3": [random_map(9, 7, 0.3, seed) for seed in (4, 5, 6)],
    "random-map:density=3e-1, height=7, width=9": [random_map(9, 7, 0.3, 0)],
    "rooms:width=14,height=8,room_size=2,loops=1,seed=1": [rooms(14, 8, 2, 1, loops=1.0)],
    "maze:maps=2,width=11,height=5": [maze(11, 5, 0), maze(11, 5, 1)],
}


@pytest.mark.parametrize("description", DESCRIBED)
def test_a_description_gives_the_maps_of_its_generator(description: str) -> None:
    """Keys are the generator's arguments in any order; the seed is 0 by default; ``maps=N`` counts seeds up."""
    np.testing.assert_array_equal(generate_maps(description), DESCRIBED[description])


REFUSED = {
    "desert:width=9": "'desert:width=9' begins with no generator; expected one of maze, random_map, rooms, warehouse",
    "maze": "'maze' lacks width and height; maze has the keys width, height, seed, loops, maps",
    "rooms:width=9,height=7": "lacks room_size; rooms has the keys width, height, room_size, seed, loops, maps",
    "maze:width=9,hight=7": "there is no key 'hight'; maze has the keys width, height,",
    "maze:width=9,height": "'height' is not KEY=VALUE; maze has the keys width, height,",
    "maze:width=9,height=7,": "'' is not KEY=VALUE",
    "maze:width=9,height=7,width=9": "width comes twice",
    "maze:width=9.5,height=7": "width is '9.5'; expected an integer",
    "maze:width=9,height=7,loops=half": "loops is 'half'; expected a number",
    "maze:width=9,height=7,loops=nan": "loops is nan; expected a number from 0 to 1",
    "maze:width=0,height=7": "width is 0; expected an integer of at least 1",
    "maze:width=9,height=7,maps=0": "maps is 0; expected an integer of at least 1",
    "maze:width=9,height=7,seed=-1": "seed is -1; expected an integer of at least 0",
    "maze:width=9999999,height=9999999": "bytes; expected at most",
    "maze:width=9,height=7,maps=99999999999": "maps of 9 x 7 cells, which takes about",
    "warehouse:width=5,height=3": "use a larger map or smaller blocks",
}


@pytest.mark.parametrize("description", REFUSED)
def test_a_wrong_description_is_refused_with_what_was_expected(description: str) -> None:
    """The message has the description, and the keys or the values that are expected; nothing is generated before."""
    with pytest.raises(ValueError, match=re.escape(REFUSED[description])) as error:
        generate_maps(description)
    assert repr(description) in str(error.value)


def test_a_generator_is_named_before_the_colon() -> None:
    """A path is no generator, also if it begins with the name of one."""
    names = ["maze", "maze:width=9", "random-map:", "maze.txt", "maps/maze", "mazes:width=9", ""]
    assert [find_generator(name) for name in names] == ["maze", "maze", "random_map", None, None, None, None]


def test_the_content_of_a_file_says_what_it_is(tmp_path: Path) -> None:
    """A picture is read under any name, and so is a file of MovingAI, here with CRLF line ends."""
    (tmp_path / "first.map").write_text("\n  a#B\n  .bA\n")
    walls, agents, targets = read_map(tmp_path / "first.map")
    assert np.argwhere(walls).tolist() == [[1, 0]]
    assert (agents.tolist(), targets.tolist()) == ([[0, 0], [1, 1]], [[2, 1], [2, 0]])
    (tmp_path / "terrain.txt").write_bytes((DATA / "terrain.map").read_bytes().replace(b"\n", b"\r\n"))
    terrain = read_map(tmp_path / "terrain.txt")
    np.testing.assert_array_equal(terrain.walls, load_map(DATA / "terrain.map"))
    assert (terrain.agents.shape, terrain.targets.shape) == ((0, 2), (0, 2))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"..\n...\n", "map.txt holds no map: line 2 of the picture"),
        (b"", "map.txt holds no map: the picture is empty"),
        (b"..\xff\n...\n", "map.txt holds no map: line 1, column 3"),
        (b"a..\n", "map.txt holds no map: .* agent 'a' has no target"),
        (b"type hexagonal\nheight 1\nwidth 1\nmap\n.\n", "map.txt, line 1: 'type hexagonal'; expected 'type octile'"),
        (b"version 1\n0\ta.map\t3\t2\t0\t0\t2\t0\t2.0\n", r"map.txt lists agents of a map \(.scen\)"),
    ],
)
def test_a_file_without_a_map_is_refused_by_name(content: bytes, complaint: str, tmp_path: Path) -> None:
    """Torn pictures, other files of MovingAI and lists of agents are refused with the file's name."""
    (tmp_path / "map.txt").write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        read_map(tmp_path / "map.txt")
