"""Generators of maps: what each makes, and what is refused."""

import hashlib
import re
from fractions import Fraction

import numpy as np
import pytest

from multigrid.maps import format_map, maze, random_map, rooms, warehouse
from worldgen import components


def regions(walls):
    """How many groups of free cells cannot reach one another."""
    return len({frozenset(cells) for cells in components(walls).values()})


def links(walls):
    """How many pairs of free cells lie side by side."""
    free = ~walls
    return int((free[1:] & free[:-1]).sum() + (free[:, 1:] & free[:, :-1]).sum())


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
    ("walls", "digest"),
    [
        (random_map(13, 5, 0.35, 5), "abbdbf5503d4e0be"),
        (maze(13, 6, 5, loops=0.1), "aad6ace04154bde0"),
        (rooms(13, 9, 3, 5), "fdf3666aa41256e5"),
        (warehouse(14, 9, shelf_length=3, fill=0.75, seed=5), "95e17d5add5d81f0"),
    ],
    ids=["random_map", "maze", "rooms", "warehouse"],
)
def test_maps_made_before_are_made_again(walls, digest):
    """Maps that were made with NumPy 1.26 and 2.4 come out the same, on every platform."""
    assert hashlib.sha256(format_map(walls).encode()).hexdigest()[:16] == digest


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


FREE, SHELVES, WIDE, BLOCKS = "." * 17, "...#####.#####...", "." * 10, "..##..##.."


@pytest.mark.parametrize(
    ("arguments", "options", "rows"),
    [
        ((17, 8), {}, [FREE, SHELVES, SHELVES, FREE, SHELVES, SHELVES, FREE, FREE]),
        ((10, 9), {"shelf_length": 2, "shelf_height": 3, "aisle_width": 2}, [*[WIDE] * 3, *[BLOCKS] * 3, *[WIDE] * 3]),
        ((3, 4), {"shelf_length": 1}, ["...", ".#.", ".#.", "..."]),
        ((7, 4), {"fill": 0}, ["......."] * 4),
    ],
    ids=["default", "wide aisles", "one shelf", "empty"],
)
def test_warehouses(arguments, options, rows):
    """Blocks stand in the middle, as many as fit with their aisles; with all of them there, no seed matters."""
    assert format_map(warehouse(*arguments, **options)).split() == rows
    assert format_map(warehouse(*arguments, **options, seed=9)).split() == rows


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


def test_a_map_needs_a_free_cell_and_a_warehouse_a_block():
    """A density that leaves no free cell, and a map too small for a block, are refused with the least that it takes."""
    with pytest.raises(ValueError, match=r"density is 0.99, which leaves no free cell of 5 x 4; use a lower one"):
        random_map(5, 4, 0.99, 1)
    assert (~random_map(5, 4, 0.95, 1)).sum() == 1
    for width, height in ((6, 4), (7, 3)):
        with pytest.raises(ValueError, match=f"the map is {width} x {height} cells, but .* needs 7 x 4; use"):
            warehouse(width, height)
    assert warehouse(7, 4).sum() == 10
