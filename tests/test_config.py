"""`GridConfig`: what it accepts, what it refuses and why, and that it is one frozen value."""

import copy
import dataclasses
import json
import operator
import pickle
import re
import tracemalloc
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import multigrid
from examples.games.tag import Tag
from multigrid import GridConfig, _memory, scenarios
from multigrid.config import Part
from multigrid.games.robotic_warehouse import RoboticWarehouse as Warehouse
from multigrid.maps import ParsedMap, RandomWalls, load_map, save_map

INSTEAD = (
    "leave it out, or to change the map of a configuration, use "
    "dataclasses.replace(config, walls=..., size=None, num_agents=None)"
)
RESOLVED = ("size", "num_agents", "least_agents", "observe", "max_cycles", "parts", "extents")
LETTERS = "aB.C\n.#.b\n.A.c"  # 4 x 3
MAP = np.array([[False, True], [False, False], [True, False]])  # 3 x 2

# For each field a value that is not its default, and another one.
VALUES = {
    "size": ((3, 2), (6, 2)),
    "num_agents": (3, 2),
    "walls": (MAP, np.array([[False, False], [False, False], [True, False]])),
    "collisions": ("priority", "soft"),
    "on_target": ("leave", "stay"),
    "reward": ("shared", "individual"),
    "observe": (("view", "agent"), ("agent", "view")),
    "view_radius": (1, 0),
    "rgb_tile": (4, 5),
    "flatten": (True, False),
    "allow_stay": (True, False),
    "max_cycles": (77, None),
}
FIELDS = {field: value for field, (value, _) in VALUES.items()}


def test_the_defaults():
    """Five by five, two agents, no walls, the documented rules, 300 steps; fields in the documented order."""
    defaults = {field.name: getattr(GridConfig(), field.name) for field in dataclasses.fields(GridConfig)}
    rules = {"collisions": "symmetric", "on_target": "park", "reward": "individual"}
    seen = {
        "observe": ("agent", "target", "others"),
        "view_radius": 2,
        "rgb_tile": 8,
        "flatten": False,
        "allow_stay": False,
        "max_cycles": 300,
    }
    seen |= {"game": None, "options": None, "delays": None, "least_agents": None, "message_bits": 0}
    assert list(defaults.items()) == list({"size": 5, "num_agents": 2, "walls": None, **rules, **seen}.items())


def test_sizes():
    """A size is the side of a square or (width, height), and is kept as plain ints."""
    for size in (7, np.int32(7), (7, 4), [7, 4], np.array([7, 4]), (np.int64(2), 9), (1, 2)):
        width, height = (7, 7) if np.ndim(size) == 0 else map(int, size)
        config = GridConfig(size=size)
        assert (config.width, config.height) == (width, height)
        assert repr(config.size) in (repr(width), repr((width, height)))
        assert repr(config).startswith(f"GridConfig(size={config.size}, num_agents=None,")
        assert config.components.tolist() == [[[1] * height] * width]


def test_what_follows_from_the_fields():
    """Names of agents, number of actions, number of maps, and the parts of an observation."""
    one, more = GridConfig(num_agents=1), GridConfig(num_agents=12, allow_stay=True)
    assert one.agents == ("agent_0",)
    assert more.agents == tuple(f"agent_{index}" for index in range(12))
    assert (one.num_actions, more.num_actions) == (4, 5)
    assert (one.parts, more.parts) == (("agent", "target"), ("agent", "target", "others"))
    assert GridConfig(observe=["view", "walls"]).parts == GridConfig(observe=("view", "walls")).observe
    assert GridConfig(num_agents=1, observe=get_args(Part)).parts == get_args(Part)
    assert (one.num_maps, GridConfig(walls=MAP).num_maps, GridConfig(walls=[MAP, MAP]).num_maps) == (1, 1, 2)


SIZES = "expected the side of a square, or (width, height), in whole cells"
NAMES = {"collisions": "'symmetric', 'priority', 'block_both', 'soft', 'none'", "reward": "'individual', 'shared'"}
NAMES["on_target"] = "'park', 'leave', 'stay', 'restart'"
COUNTS = {"num_agents": "1", "view_radius": "0", "rgb_tile": "1", "max_cycles": "1 or None for no limit"}
PARTS = "expected a tuple of names out of agent, target, others, offset, view, walls, "
BAD_INTEGERS = [2.0, 2.5, float("nan"), "2", True, np.True_, np.float64(2), np.array(2), np.array([2]), (2,), [2], 2j]


def of_type(field, value, expected):
    """Return a bad field, its error, and the message that names the type that came."""
    return field, value, TypeError, f"{field} is {value!r} of type {type(value).__name__}; {expected}"


BAD_FIELDS = [
    *(
        of_type(field, value, f"expected an integer of at least {least}")
        for field, least in COUNTS.items()
        for value in BAD_INTEGERS
    ),
    of_type("view_radius", None, "expected an integer of at least 0"),
    ("num_agents", 0, ValueError, "num_agents is 0; expected an integer of at least 1"),
    ("num_agents", -2, ValueError, "num_agents is -2; expected an integer of at least 1"),
    ("view_radius", -1, ValueError, "view_radius is -1; expected an integer of at least 0"),
    ("rgb_tile", 0, ValueError, "rgb_tile is 0; expected an integer of at least 1"),
    ("rgb_tile", 257, ValueError, "rgb_tile is 257; expected an integer of at least 1, and at most 256"),
    ("max_cycles", 0, ValueError, "max_cycles is 0; expected an integer of at least 1"),
    *(of_type("size", value, SIZES) for value in (*BAD_INTEGERS, (3, 4, 5), {3, 4}, b"ab")),
    *(
        ("size", value, TypeError, f"size is {value!r}; {SIZES}")
        for value in ((3.0, 4), (3, None), (True, 3), ("3", 4), ((3, 3), 4), np.array([3.0, 4.0]))
    ),
    *(
        ("size", value, ValueError, f"size is {value!r}; {SIZES}, each at least 1")
        for value in (0, -1, (0, 3), (3, 0), (3, -4), np.array([3, 0]))
    ),
    *(
        (field, value, ValueError, f"{field} is {value!r}; expected one of {names}")
        for field, names in NAMES.items()
        for value in ("upwards", "", None, 0, ("park",), np.array(["none"]), float("nan"))
    ),
    *(
        of_type(field, value, "expected True or False")
        for field in ("flatten", "allow_stay")
        for value in (0, 1, 1.0, "True", None, np.array(True))
    ),
    ("observe", "goal", ValueError, "a part of observe is 'goal'; expected one of 'agent'"),
    ("observe", {"agent"}, TypeError, f"observe is {{'agent'}}; {PARTS}"),
    ("observe", 7, TypeError, f"observe is 7; {PARTS}"),
    ("observe", (), ValueError, "observe is empty; expected at least one name out of agent, target, others, "),
    ("observe", ("agent", "goal"), ValueError, "a part of observe is 'goal'; expected one of 'agent', 'target', "),
    ("observe", ("agent", None), ValueError, "a part of observe is None; expected one of 'agent'"),
    ("observe", ("agent", ["view"]), ValueError, "a part of observe is ['view']; expected one of 'agent'"),
    ("observe", ("view", "agent", "view"), ValueError, "is ('view', 'agent', 'view'); name each part once"),
]


def test_bad_fields():
    """A field of another type or out of range is refused with what came and what was expected."""
    for field, value, error, message in BAD_FIELDS:
        with pytest.raises(error, match=re.escape(message)):
            GridConfig(**{field: value})


def test_fields_become_plain_python():
    """NumPy's integers and booleans are taken, and kept as Python's; None is a limit that never comes."""
    config = GridConfig(num_agents=np.uint8(3), view_radius=np.uint8(3), max_cycles=np.uint8(3), flatten=np.True_)
    values = [config.num_agents, config.view_radius, config.max_cycles]
    assert [(value, type(value)) for value in values] == [(3, int)] * 3
    assert config.flatten is GridConfig(allow_stay=np.True_).allow_stay is True
    assert GridConfig(max_cycles=None).max_cycles is None
    # One window may fit maps of several sizes, and a radius that nothing uses may be any.
    assert GridConfig(size=(4, 3), view_radius=64, observe=("view",)).view_radius == 64
    assert GridConfig(view_radius=2**63 - 1).view_radius == 2**63 - 1


HUGE = 10**9


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": HUGE}, "size is 1000000000 x 1000000000 cells, which takes about 25000000000000000000 bytes"),
        ({"size": 10**5000}, "size is <"),
        ({"walls": np.broadcast_to(np.False_, (10**5, 10**6))}, "walls has 1 maps of 100000 x 1000000 cells, which"),
        ({"walls": [np.broadcast_to(np.False_, (10**5, 10**6))]}, "walls has 1 maps of 100000 x 1000000 cells, which"),
        ({"walls": np.broadcast_to(np.False_, (HUGE, 3, 2))}, "walls has 1000000000 maps of 3 x 2 cells, which takes"),
        ({"view_radius": 10**4, "observe": ("view",)}, "view_radius is 10000: the part 'view' of observe, for one"),
        ({"view_radius": 2**63 - 1, "observe": ("view",)}, "use a smaller view_radius; 4 shows the whole grid"),
        ({"view_radius": 5000, "observe": ("view",), "flatten": True}, "takes about 1200240012 bytes"),
        ({"size": 40, "num_agents": 1200, "view_radius": 2000, "observe": ("view",)}, "for 1200 agents, with their"),
        ({"size": (9000, 7), "num_agents": 60_000}, "num_agents is 60000: the part 'others' of observe, for 60000"),
        ({"size": (9000, 70), "num_agents": 60_000, "observe": ("walls",)}, "the part 'walls' of observe, for 60000"),
        (
            {"size": 99, "observe": "rgb", "rgb_tile": 256},
            "cells of 256 x 256 pixels: the part 'rgb' of observe, for one",
        ),
        ({"view_radius": 99, "observe": "rgb_view", "rgb_tile": 128}, "view_radius is 99 and rgb_tile 128: the part"),
    ],
)
def test_what_no_machine_has_memory_for(fields, message):
    """A configuration that takes absurdly many bytes is refused with the field and their number, and takes none."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=re.escape(message)):
            GridConfig(**fields)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_what_this_machine_has_no_memory_for(monkeypatch):
    """What other machines may have memory for, but not this one, is refused when the configuration is made."""
    fields = {"view_radius": 6000, "observe": ("view",), "num_agents": 3}
    asked = []

    def refuse(count, dtype):
        asked.append(count * np.dtype(dtype).itemsize)
        raise MemoryError

    monkeypatch.setattr(_memory.np, "empty", refuse)
    with pytest.raises(ValueError, match="takes about 7777296054 bytes, which this machine does not have: use a"):
        GridConfig(**fields)
    assert asked == [7777296054]


def test_flat_coordinates_differ():
    """Sides with more cells than float32 can tell apart are refused where coordinates are flattened."""
    for size in ((2**24 + 1, 1), (1, 2**24 + 1)):
        for observe in (None, ("target",), ("walls", "others")):
            with pytest.raises(ValueError, match="of more than 16777216 cells apart; use flatten=False"):
                GridConfig(size=size, flatten=True, observe=observe)
    for good in ({"flatten": False}, {"observe": ("action_mask",)}, {"size": (1, 2**24)}):
        config = GridConfig(**{"size": (2**24 + 1, 1), "flatten": True, **good})
        assert max(config.width, config.height) >= 2**24


@pytest.mark.parametrize(
    ("walls", "error", "message"),
    [
        (5, TypeError, "walls is of type int; expected a boolean array"),
        *(
            (path, ValueError, f"walls is {path!r}; to read a file, use multigrid.maps.read_map({path!r})")
            for path in ("first.map", "maps/a", "b-2.TXT")
        ),
        (["one.map", "two.map"], ValueError, "map 0 of walls is 'one.map'; to read a file, use multigrid.maps.read"),
        ("maps/a.scen", ValueError, "a .scen file has no walls: read the map that it names"),
        (Path("first"), TypeError, "to read a file, use multigrid.maps.read_map('first')"),
        ([MAP, Path("first.map")], TypeError, "map 1 of walls is of PosixPath; expected"),
        *(
            (desc, ValueError, f'walls has {len(desc)} lines of text; use walls="\\n".join(...) for one map')
            for desc in (["....#", ".....", "..#.."], ("a...#", "....A"), np.array(["..#", "#.."]), [".#", "..", "..."])
        ),
        ({"map": MAP}, TypeError, "walls is of type dict; expected a boolean array"),
        ([], ValueError, "walls holds no map; expected a boolean array"),
        (np.zeros((0, 3, 2), bool), ValueError, "walls holds no map; expected"),
        (np.zeros(3, bool), ValueError, "walls holds no map; expected"),
        (np.zeros((2, 2, 3, 2), bool), ValueError, "walls holds no map; expected"),
        (np.zeros((0, 3), bool), ValueError, "walls has the shape (0, 3); expected"),
        ([MAP, MAP.T], ValueError, "map 1 of walls has the shape (2, 3), the first (3, 2); expected"),
        ([MAP, MAP[0]], ValueError, "map 1 of walls has the shape (2,), the first (3, 2); expected"),
        (MAP.astype(int), TypeError, "walls is of int64; expected a boolean array [x, y], True at a wall"),
        ([MAP, MAP.astype(float)], TypeError, "map 1 of walls is of float64; expected"),
        ([[False, False], [True, False]], TypeError, "map 0 of walls is of list; expected"),
        ([MAP, None], TypeError, "map 1 of walls is of NoneType; expected"),
        (["aA.\n", "aA\n"], ValueError, "map 1 of walls has the shape (2, 1), the first (3, 1)"),
        (["aA..\n", "aAbB\n"], ValueError, "map 1 of walls shows 2 agents, the first 1"),
        (["aA\n", "a.\n"], ValueError, "map 1 of walls: line 1, column 1 of the picture: agent 'a' has no target"),
        ("a.#.A", ValueError, "agent_0 at [0, 0] cannot reach its target [4, 0]: walls lie between them"),
        ("", ValueError, "walls: the picture is empty"),
        ("..\n#x#", ValueError, "walls: line 2 of the picture, '#x#', has 3 characters"),
        (ParsedMap(MAP, None, None), TypeError, "the agents of walls are of type NoneType; expected"),
        (ParsedMap(MAP, [[0, 0]], 7), TypeError, "the targets of walls are of type int; expected"),
        (ParsedMap(MAP[None], [], [[[0, 0]]]), ValueError, "walls is a ParsedMap whose fields have not all as many"),
        (ParsedMap(MAP[None], 7, None), ValueError, "walls is a ParsedMap whose fields have not all as many maps; "),
        (ParsedMap([[[False], []]], [], []), TypeError, "walls is of list; expected"),
        (ParsedMap(MAP, *np.full((2, 1, 2), 2**64 - 1, np.uint64)), ValueError, "the agents of walls has the "),
    ],
)
def test_bad_walls(walls, error, message):
    """Walls that are no boolean map, or no pool of maps of one size, are refused; a single map has no number."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        GridConfig(walls=walls)
    assert ("map 0" in str(caught.value)) == ("map 0" in message)


def test_what_a_message_about_walls_names_reads_them(tmp_path, monkeypatch):
    """For the name of a file of any kind, of a scenario or of a generator, the message names a call that reads it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("a.#\n..A\n")
    save_map("bare.map", MAP)
    scenarios.save(scenarios.get("maze-9x7-2"), "maze.json")
    named = {"mine.txt": (3, 2), "bare.map": (3, 2), "maze.json": (9, 7), "maze-9x7-2": (9, 7)}
    for name, size in {**named, "rooms:width=9,height=8,room_size=3": (9, 8)}.items():
        with pytest.raises(ValueError, match="walls is '") as caught:
            GridConfig(walls=name)
        called, argument = re.search(r"multigrid\.([a-z_.]+)\('(.*)'\)", str(caught.value)).groups()
        walls = operator.attrgetter(called)(multigrid)(argument)
        config = walls if isinstance(walls, GridConfig) else GridConfig(walls=walls)
        assert (config.width, config.height) == size, name
    with pytest.raises(ValueError, match="read_map reads pictures in text, too"):
        load_map("mine.txt")


def test_what_disagrees_with_the_map():
    """A size or a number of agents that is not the map's is refused with both."""
    for size in (3, 5, (2, 3), (3, 3), [3, 1]):
        with pytest.raises(ValueError, match=re.escape(f"size is {size!r} but the map is 3 x 2 cells; {INSTEAD}")):
            GridConfig(size, walls=MAP)
    for number in (1, 2, 4):
        with pytest.raises(ValueError, match=re.escape(f"num_agents is {number} but the map shows 3; {INSTEAD}")):
            GridConfig(num_agents=number, walls=LETTERS)
    for size in (5.0, "5", True, (3, 2.0)):
        with pytest.raises(TypeError, match=re.escape(f"size is {size!r}")):
            GridConfig(size, walls=MAP)


def test_none_is_resolved():
    """The fields hold what the map says, or 5 cells a side and 2 agents, passed or not, in whatever form."""
    for walls, size, num_agents in ((None, 5, 2), (MAP, (3, 2), 2), (LETTERS, (4, 3), 3)):
        sizes = (None, size, list(size), np.array(size)) if size != 5 else (None, 5, np.int8(5))
        for config in (GridConfig(one, number, walls) for one in sizes for number in (None, np.int8(num_agents))):
            assert (config.size, config.num_agents) == (size, num_agents)
        assert GridConfig(None, None, walls) == GridConfig(walls=walls)
        assert GridConfig(list(np.broadcast_to(size, 2)), np.int8(num_agents), walls, observe=["agent"]) == GridConfig(
            tuple(map(int, np.broadcast_to(size, 2))), num_agents, walls, observe=("agent",)
        )
    for walls in (MAP, [MAP], (MAP,), MAP[None], np.asfortranarray(MAP)):
        config = GridConfig(walls=walls)
        assert (config.width, config.height, config.num_maps, config.walls.tolist()) == (3, 2, 1, [MAP.tolist()])
        assert config == GridConfig(walls=MAP)


def test_regions_are_those_of_each_map():
    """Cells that can reach one another have the same number, walls have 0."""
    config = GridConfig(walls=[MAP, np.array([[False, True], [True, False], [False, False]])], num_agents=1)
    assert config.components.tolist() == [[[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 2], [2, 2]]]


@pytest.mark.parametrize(
    "fields",
    [
        FIELDS,
        {"walls": [LETTERS, "bA.C\n.#..\nBa.c"]},
        {"walls": RandomWalls(side=(4, 7)), "num_agents": (2, 3), "delays": 0.25},
        {"game": Warehouse, "options": {"shelf_rows": 2, "reward_type": "GLOBAL"}},
        {"game": Tag, "walls": "a..\n#.b"},
    ],
    ids=["array", "letters", "drawn", "warehouse", "tag"],
)
def test_equal_and_of_one_hash(fields):
    """Copies and configurations of equal fields are equal, one key of a dict, and read-only."""
    config = GridConfig(**fields)
    others = [copy.copy(config), copy.deepcopy(config), dataclasses.replace(config), pickle.loads(pickle.dumps(config))]
    for other in (*others, GridConfig(**config.given), GridConfig.from_dict(json.loads(json.dumps(config.to_dict())))):
        assert other == config
        assert (len({config, other}), repr(other)) == (1, repr(config))
        assert config.maps is not None or other.given == config.given
        assert [getattr(other, one) for one in RESOLVED] == [getattr(config, one) for one in RESOLVED]
        for array in () if config.draws_maps or other.maps is None else (other.maps, other.components):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0, 0] = True


@pytest.mark.parametrize("field", FIELDS)
def test_another_value_is_another_configuration(field):
    """A change in any one field makes a configuration that is not equal; a field cannot be set or deleted."""
    config = GridConfig(**FIELDS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, field, VALUES[field][1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(config, field)
    # The size comes with the map.
    changes = {"walls": None} if field == "size" else {}
    assert dataclasses.replace(config, **changes, **{field: VALUES[field][1]}) != config
    assert config == GridConfig(**FIELDS)
    assert config != FIELDS


def test_repr():
    """Without walls, the repr creates an equal configuration; with walls, it has the number and size of the maps."""
    for walls, text in (
        (MAP, "<1 map of 3 x 2 cells>"),
        (np.broadcast_to(MAP, (70, 3, 2)), "<70 maps of 3 x 2 cells>"),
        ("a.A.\n.#..", "<1 map of 4 x 2 cells with agents and targets>"),
    ):
        config = GridConfig(walls=walls)
        without = dataclasses.replace(config, walls=None)
        assert eval(repr(without)) == without  # noqa: S307 - this is the promise
        assert repr(config) == repr(without).replace("walls=None", f"walls={text}")


def test_replace():
    """dataclasses.replace keeps what was given, resolves the rest anew, and checks again."""
    for walls, message in ((MAP, "size is (4, 3) but the map"), ("a.A.\n....\n....", "num_agents is 3 but the map")):
        with pytest.raises(ValueError, match=re.escape(message)):
            dataclasses.replace(GridConfig((4, 3), 3, LETTERS), walls=walls)
    for walls in (None, MAP, "a.A"):
        for given in ({}, {"size": None, "num_agents": None}):
            assert dataclasses.replace(GridConfig(walls=LETTERS), walls=walls, **given) == GridConfig(walls=walls)
    drawn = GridConfig(num_agents=(2, 5))
    assert dataclasses.replace(drawn, num_agents=5) == GridConfig(num_agents=5) != drawn
    assert dataclasses.replace(drawn, least_agents=3) == GridConfig(num_agents=(3, 5))
    assert dataclasses.replace(GridConfig(), num_agents=1).observe == ("agent", "target")
    assert dataclasses.replace(GridConfig(), max_cycles=None).max_cycles is None
    with pytest.raises(ValueError, match=r"num_agents is 5, but the map \(3 x 2\) has room for 4"):
        dataclasses.replace(GridConfig(**FIELDS), num_agents=5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'agents'"):
        dataclasses.replace(GridConfig(), agents=5)


CHANGES = [
    {"options": {"max_steps": 700}},
    {"options": {"shelf_rows": 2}, "max_cycles": 300},
    {"max_cycles": 500, "observe": ("vector",)},
    {"game": None},
]


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize(
    "fields", [{}, {"game": Warehouse}, {"max_cycles": 300}, {"max_cycles": 500, "size": (10, 11)}]
)
def test_what_follows_from_a_game_follows_again(fields, changes):
    """Size, agents, limit and parts that nobody gave are those of the new game and options; what was given stays."""
    changes = {"game": Warehouse, **changes}
    try:
        expected = GridConfig(**{**fields, **changes})
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            dataclasses.replace(GridConfig(**fields), **changes)
        return
    before = [GridConfig(**fields)]
    before += [
        pickle.loads(pickle.dumps(before[0])),
        copy.deepcopy(before[0]),
        GridConfig.from_dict(before[0].to_dict()),
    ]
    for config in before:
        changed = dataclasses.replace(config, **changes)
        assert (changed, changed.given) == (expected, expected.given)
        assert [getattr(changed, one) for one in RESOLVED] == [getattr(expected, one) for one in RESOLVED]


def test_what_was_given_makes_the_difference():
    """A value that is given differs from the same value that follows; the limit does where a game has another one."""
    for fields in ({"size": 5}, {"num_agents": 2}, {"observe": ("agent", "target", "others")}):
        assert GridConfig(**fields) != GridConfig()
        assert [getattr(GridConfig(**fields), one) for one in RESOLVED] == [
            getattr(GridConfig(), one) for one in RESOLVED
        ]
    assert GridConfig(game=Warehouse, max_cycles=500) != GridConfig(game=Warehouse)
    for kept in (GridConfig(max_cycles=300), GridConfig(game=Warehouse, max_cycles=300)):
        assert dataclasses.replace(kept, game=Warehouse, options={"max_steps": 700}).max_cycles == 300
    # The game itself ends at its limit, before this one.
    assert dataclasses.replace(GridConfig(game=Warehouse), options={"max_steps": 700}).max_cycles == 701
    assert GridConfig(game=Warehouse, options={"max_steps": 500}) == GridConfig(game=Warehouse)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"game": Warehouse, "options": {"fixed": True}},
        {"game": Tag, "walls": "a..\n#.b", "options": {"chasers": 1}},
        {"delays": 0.5},
    ],
)
def test_the_fields_as_a_dict(fields):
    """`asdict` and `astuple` have all fields as they read, in dicts of one's own; a change of them changes nothing."""
    config = GridConfig(**fields)
    names = [field.name for field in dataclasses.fields(config)]
    assert names == [field.name for field in dataclasses.fields(GridConfig)] == list(dataclasses.asdict(config))
    assert len(dataclasses.astuple(config)) == len(names)
    for name in (*RESOLVED[:5], "game", "options"):
        assert dataclasses.asdict(config)[name] == getattr(config, name)
    if config.options is not None:
        before = hash(config), repr((config.options, config.given))
        for shown in (
            config.options,
            dataclasses.asdict(config)["options"],
            config.given["options"],
            config.to_dict()["options"],
        ):
            shown.clear()
        assert (hash(config), repr((config.options, config.given))) == before
        assert type(config.options) is type(dataclasses.asdict(config)["options"]) is dict


class Outer:
    """A class around a game."""

    class Inner(multigrid.Game):
        """A game without rules of its own."""


def test_a_dict_names_a_game_that_is_imported():
    """`from_dict` loads no code: the game is passed, or a class of a module that is there already."""
    assert GridConfig.from_dict(GridConfig(game=Outer.Inner).to_dict()).game is Outer.Inner
    fields = GridConfig(game=Warehouse).to_dict()
    assert fields["game"] == "multigrid.games.robotic_warehouse:RoboticWarehouse"
    assert GridConfig.from_dict({**fields, "game": "elsewhere:Game"}, Warehouse) == GridConfig(game=Warehouse)
    for name in ("elsewhere:Game", "multigrid.games:Nothing", "Warehouse", ":", 7):
        with pytest.raises(ValueError, match="which no imported module has; import its module, or pass game="):
            GridConfig.from_dict({**fields, "game": name})
    with pytest.raises(TypeError, match=r"game is .* expected a subclass of multigrid\.Game"):
        GridConfig.from_dict({**fields, "game": "os:system"})


def test_other_maps_are_not_equal():
    """Maps of the same cells in another shape, in another order, or without letters make other configurations."""
    pool = GridConfig(walls=[LETTERS, "bA.C\n.#..\nBa.c"])
    assert pool not in (GridConfig(walls=pool.maps, num_agents=3), GridConfig(walls=["bA.C\n.#..\nBa.c", LETTERS]))
    assert GridConfig(walls=np.zeros((3, 2), bool)) != GridConfig(walls=np.zeros((2, 3), bool))


@pytest.mark.parametrize("pool", [MAP, MAP[None], [MAP, MAP]], ids=["one map", "array of one", "list of two"])
def test_walls_are_copied(pool):
    """What happens to the caller's arrays later does not reach the configuration."""
    mine = copy.deepcopy(pool)
    config = GridConfig(walls=mine)
    for one in mine:
        one[:] = True
    assert config == GridConfig(walls=pool)
