"""Maps that are drawn at every reset: which they are, what follows from them, and that play is that of known maps."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import pickle
import re
from typing import Any

import numpy as np
import pytest

import judged
from helpers import crossed
from multigrid import Game, GridConfig, MultiGridEnv, parallel_env, vector_env
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.games.foraging import Foraging
from multigrid.games.robotic_warehouse import RoboticWarehouse
from multigrid.maps import Caves, Mazes, RandomWalls, Rooms, WallComponents, Warehouses, generate, warehouse
from multigrid.maps._drawn import MapGenerator
from multigrid.scenarios import RecordEpisode, find_world, replay
from multigrid.scenarios._worlds import grid_fields, make_grid
from worldgen import COLLISIONS, components, oracle_layout


class Idle(Game):
    """Nothing happens."""


STEPS = [(1, 0), (0, 1), (-1, 0), (0, -1)]
GENERATORS: dict[str, Any] = {
    "one density": RandomWalls(size=(7, 4), density=0.3),
    "a range": RandomWalls(size=(6, 5), density=(0.1, 0.5)),
    "triangular": RandomWalls(side=(4, 8), density=(0.0, 0.33, 0.5)),
    "exact": RandomWalls(side=(3, 6), density=(0.2, 0.6), exact=True),
    "crowded": RandomWalls(size=(4, 3), density=0.7),
    "too thick": RandomWalls(size=(4, 3), density=0.98),
    "maze": Mazes(size=(9, 6)),
    "loops": Mazes(side=(4, 9), loops=0.3),
    "wall components": WallComponents(
        size=(10, 7), density=(0.2, 0.9), wall_components=(1, 4), go_straight=(0.5, 0.7, 0.9)
    ),
    "straight walls": WallComponents(side=(4, 9), density=0.6, wall_components=5, go_straight=1.0),
    "rooms": Rooms(size=(9, 7), room_size=(1, 3), loops=0.4),
    "all doors": Rooms(side=(4, 9), room_size=2, loops=1.0),
    "warehouse": Warehouses(
        size=(11, 9), shelf_length=(2, 4), shelf_height=(1, 2), aisle_width=(1, 2), fill=(0.3, 0.6, 1.0)
    ),
    "fixed shelves": Warehouses(side=(5, 9), shelf_length=3),
    "caves": Caves(size=(10, 7), fill=0.4),
    "solid": Caves(size=(9, 6), fill=0.95),
    "other caves": Caves(side=(5, 8), fill=(0.2, 0.6), birth_limit=3, death_limit=5, steps=2),
}

# Steps are the same on all maps, but compiled for each kind, which takes ten seconds and more.
PLAYED = [name for name, one in GENERATORS.items() if isinstance(one, RandomWalls | Mazes)]


def draw_share(share: Any, stream: np.random.Generator) -> float:
    """A share that is fixed, uniform or triangular, a second time."""
    if not isinstance(share, tuple):
        return share
    return stream.uniform(*share) if len(share) == 2 else stream.triangular(*share)


def draw_range(number: Any, stream: np.random.Generator) -> int:
    """A number that is fixed or uniform, a second time."""
    return int(stream.integers(*number, endpoint=True)) if isinstance(number, tuple) else number


def draw_walls(generator: RandomWalls, stream: np.random.Generator, width: int, height: int, share: float) -> Any:
    """Random walls, a second time, with NumPy."""
    density = draw_share(generator.density, stream) * share
    if not generator.exact:
        return stream.random((width, height)) < density
    walls, left, cells = np.zeros((width, height), bool), round(density * (width * height)), width * height
    for cell in np.ndindex(width, height):
        walls[cell] = stream.integers(cells) < left
        left, cells = left - int(walls[cell]), cells - 1
    return walls


def draw_components(
    generator: WallComponents, stream: np.random.Generator, width: int, height: int, share: float
) -> Any:
    """Walls that grow, a second time: on a grid with a rim of walls, whose posts are at even x and y."""
    grid = np.ones((width // 2 * 2 + 1 + 2 * (width % 2), height // 2 * 2 + 1 + 2 * (height % 2)), bool)
    grid[1:-1, 1:-1] = False
    density = draw_share(generator.density, stream) * share
    pieces, straight = draw_range(generator.wall_components, stream), draw_share(generator.go_straight, stream)
    for _ in range(int(grid.size * density // pieces)):
        cell = 2 * np.array([stream.integers(side // 2) for side in grid.shape])
        grid[tuple(cell)] = True
        last = None
        for _ in range(pieces):
            total, chosen = 0.0, None
            for step in STEPS:
                if ((to := cell + 2 * np.array(step)) < 0).any() or (to >= grid.shape).any():
                    continue
                weight = straight if step == last else max(1 - straight, 1e-9)
                total += weight
                if stream.random() * total < weight:
                    chosen = step
            last, to = chosen, cell + 2 * np.array(chosen)
            if not grid[tuple(to)]:
                grid[tuple(cell + chosen)] = grid[tuple(to)] = True
                cell = to
    walls = np.ones((width, height), bool)
    walls[: len(grid) - 2, : len(grid[0]) - 2] = grid[1:-1, 1:-1]
    return walls


def draw_rooms(generator: Rooms, stream: np.random.Generator, width: int, height: int, _share: float) -> Any:
    """Rooms, a second time: a list of those on the way, and views of walls."""
    size, walls, spans = draw_range(generator.room_size, stream), np.ones((width, height), bool), []
    for side in (width, height):
        ends = [index * (side + 1) // max(1, (side + 1) // (size + 1)) for index in range(side + 2)]
        spans.append([(one, other - 1) for one, other in itertools.pairwise(ends) if other <= side + 1])
    for xs in spans[0]:
        for ys in spans[1]:
            walls[slice(*xs), slice(*ys)] = False

    def wall(x: int, y: int, step: tuple[int, int]) -> Any:
        (left, right), (top, bottom) = spans[0][x], spans[1][y]
        return walls[right : right + 1, top:bottom] if step == (1, 0) else walls[left:right, bottom : bottom + 1]

    def open_door(part: Any) -> None:
        part.flat[int(stream.integers(part.size))] = False

    way = [(int(stream.integers(len(spans[0]))), int(stream.integers(len(spans[1]))))]
    seen = {way[0]}
    while way:
        x, y = way[-1]
        near = [(x + dx, y + dy) for dx, dy in STEPS if 0 <= x + dx < len(spans[0]) and 0 <= y + dy < len(spans[1])]
        near = [room for room in near if room not in seen]
        if not near:
            way.pop()
            continue
        to = near[int(stream.integers(len(near)))]
        open_door(wall(min(x, to[0]), min(y, to[1]), (abs(x - to[0]), abs(y - to[1]))))
        way.append(to)
        seen.add(to)
    for x, y in np.ndindex(len(spans[0]), len(spans[1])):
        for step in STEPS[:2]:
            inside = x + step[0] < len(spans[0]) and y + step[1] < len(spans[1])
            if inside and wall(x, y, step).all() and (generator.loops == 1 or stream.random() < generator.loops):
                open_door(wall(x, y, step))
    return walls


def draw_shelves(generator: Warehouses, stream: np.random.Generator, width: int, height: int, share: float) -> Any:
    """A warehouse, a second time: a list of all blocks."""
    length, depth, aisle = (
        draw_range(one, stream) for one in (generator.shelf_length, generator.shelf_height, generator.aisle_width)
    )
    fill, corners = draw_share(generator.fill, stream) * share, []
    for side, block in ((width, length), (height, depth)):
        count = (side - aisle) // (block + aisle)
        first = (side - count * block - (count - 1) * aisle) // 2
        corners.append([first + index * (block + aisle) for index in range(count)])
    blocks = [(x, y) for x in corners[0] for y in corners[1]]
    walls, left = np.zeros((width, height), bool), round(fill * len(blocks))
    for index, (x, y) in enumerate(blocks):
        others = len(blocks) - index
        if left == others or (left and stream.integers(others) < left):
            walls[x : x + length, y : y + depth] = True
            left -= 1
    return walls


def draw_cave(generator: Caves, stream: np.random.Generator, width: int, height: int, share: float) -> Any:
    """A cave, a second time: neighbours are nine shifted maps less one."""
    fill = draw_share(generator.fill, stream) * share
    walls = stream.random((width, height)) < fill
    for _ in range(generator.steps):
        rim = np.pad(walls, 1, constant_values=True).astype(int)
        near = sum(rim[x : x + width, y : y + height] for x in range(3) for y in range(3)) - walls
        walls = (walls & (near >= generator.death_limit)) | (~walls & (near > generator.birth_limit))
    return walls


def draw_maze(generator: Mazes, stream: np.random.Generator, width: int, height: int, _share: float) -> Any:
    """A maze, a second time: a walk over the crossings, as a list of those on the way."""
    free = set()
    columns, rows = (width + 1) // 2, (height + 1) // 2
    way = [(int(stream.integers(columns)), int(stream.integers(rows)))]
    free.add((2 * way[0][0], 2 * way[0][1]))
    while way:
        x, y = way[-1]
        near = [(x + dx, y + dy) for dx, dy in STEPS if 0 <= x + dx < columns and 0 <= y + dy < rows]
        near = [(to_x, to_y) for to_x, to_y in near if (2 * to_x, 2 * to_y) not in free]
        if not near:
            way.pop()
            continue
        to_x, to_y = near[int(stream.integers(len(near)))]
        free |= {(x + to_x, y + to_y), (2 * to_x, 2 * to_y)}
        way.append((to_x, to_y))
    if generator.loops:
        for x in range(columns):
            for y in range(rows):
                for cell in ((2 * x + 1, 2 * y), (2 * x, 2 * y + 1)):
                    inside = cell[0] <= 2 * columns - 2 and cell[1] <= 2 * rows - 2
                    if inside and cell not in free and stream.random() < generator.loops:
                        free.add(cell)
    return np.array([[(x, y) not in free for y in range(height)] for x in range(width)])


DRAW: dict[type, Any] = {
    RandomWalls: draw_walls, Mazes: draw_maze, WallComponents: draw_components, Rooms: draw_rooms,
    Warehouses: draw_shelves, Caves: draw_cave,
}  # fmt: skip


def oracle(config: GridConfig, stream: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw the number of agents, the side, the walls and the layout of an episode."""
    generator: Any = config.walls
    number = config.num_agents
    if config.least_agents is not None:
        number = int(stream.integers(config.least_agents, number, endpoint=True))
    width, height = config.width, config.height
    if generator.side is not None:
        width = height = int(stream.integers(*generator.side, endpoint=True))
    tries, walls = 0, np.ones((config.width, config.height), bool)
    while sum(len(cells) > 1 for cells in components(walls).values()) < number:
        walls[:width, :height] = DRAW[type(generator)](generator, stream, width, height, 0.5 ** (tries // 100))
        tries += 1
    _, agents, targets = oracle_layout([walls], number, stream)
    return walls, agents, targets


@pytest.mark.parametrize("name", GENERATORS)
def test_maps_and_layouts_are_the_oracles(name: str) -> None:
    """Each world of a vector env draws number, side, walls and layout from its stream, reset by reset, as NumPy."""
    config = GridConfig(walls=GENERATORS[name], num_agents=(1, 4))
    envs, streams = vector_env(3, config), [np.random.default_rng(6 + world) for world in range(3)]
    envs.reset(seed=6)
    single = MultiGridEnv(config)
    single.reset(seed=7)
    assert (single.get_state()["walls"] == envs.get_state([1])["walls"][0]).all()
    assert (single.get_state()["walls"] == generate(config.walls, 7, (1, 4))).all()
    for _ in range(6):
        for world, stream in enumerate(streams):
            walls, agents, targets = oracle(config, stream)
            (state,) = envs.get_state([world], single=True)
            assert (state["walls"] == walls).all()
            assert state["location"][: len(agents)].tolist() == [list(cell) for cell in agents]
            assert state["target"][: len(agents)].tolist() == [list(cell) for cell in targets]
        envs.reset()


@pytest.mark.parametrize(
    ("generator", "num_agents"),
    [
        (Warehouses(size=(20, 13), shelf_length=2, fill=(0.0, 1.0, 1.0)), 260),
        (WallComponents(size=(8, 6), density=0.6, wall_components=2), 35),
    ],
)
def test_walls_are_few_in_the_end(generator: Any, num_agents: int) -> None:
    """As many agents as cells have room once the share of walls was halved, after each hundred maps without room."""
    config, stream = GridConfig(walls=generator, num_agents=num_agents), np.random.default_rng(3)
    env = MultiGridEnv(config)
    env.reset(seed=3)
    walls, agents, _ = oracle(config, stream)
    assert (env.get_state()["walls"] == walls).all()
    # The map is empty; where agents start says how many were drawn before it.
    assert env.get_state()["location"].tolist() == [list(cell) for cell in agents]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name not in PLAYED)) for name in GENERATORS]
)
def test_play_is_that_of_a_known_map(name: str) -> None:
    """On its map, an episode is that of an env that knows the map, part by part, also where maps are not alike."""
    seen = ("agent", "others", "offset", "view", "walls", "action_mask")
    config = GridConfig(walls=GENERATORS[name], num_agents=3, observe=seen, on_target="restart", max_cycles=15)
    drawn, random = MultiGridEnv(config), np.random.default_rng(0)
    for seed in range(4):
        observations, _ = drawn.reset(seed=seed)
        state: Any = drawn.get_state()
        known = MultiGridEnv(dataclasses.replace(config, walls=state["walls"]))
        known.set_state({key: value for key, value in state.items() if key != "walls"})
        seen_there = known.reset(options={"agents": state["location"], "targets": state["target"]})[0]
        known.set_state({key: value for key, value in state.items() if key != "walls"})
        np.testing.assert_equal(observations, seen_there)
        while drawn.agents:
            actions = dict(zip(drawn.agents, random.integers(0, 4, len(drawn.agents)).tolist(), strict=True))
            np.testing.assert_equal(drawn.step(actions), known.step(actions))


@pytest.mark.parametrize(("collisions", "on_target"), crossed(COLLISIONS, ["park", "leave", "stay", "restart"]))
def test_episodes_are_the_references(collisions: Any, on_target: Any) -> None:
    """Whole episodes on drawn maps are the reference's, with drawn agents and delays beside."""
    rules = {"on_target": on_target, "collisions": collisions, "max_cycles": 25, "delays": 0.1, "num_agents": (1, 4)}
    for seed, name in enumerate(PLAYED):
        judged.play_episode(GridConfig(walls=GENERATORS[name], observe=("view", "agent"), **rules), seed)


@pytest.mark.heavy
def test_automatic_resets_draw_on() -> None:
    """An automatic reset draws the next map where the last one left the stream; so it is with threads."""
    config = GridConfig(walls=GENERATORS["triangular"], num_agents=2, max_cycles=4)
    envs = [vector_env(1100, config, num_threads=threads) for threads in (1, 2)]
    stream = np.random.default_rng(3 + 700)
    for env in envs:
        env.reset(seed=3)
    for step in range(31):
        if (envs[0].get_state()["steps"][700]) == 0:
            walls, agents, _ = oracle(config, stream)
            (state,) = envs[0].get_state([700], single=True)
            assert (state["walls"] == walls).all()
            assert state["location"].tolist() == [list(cell) for cell in agents]
        for env in envs:
            env.step(np.full(2200, step % 4))
        one, two = (env.get_state() for env in envs)
        assert all(np.array_equal(one[name], two[name]) for name in one)


def test_states_have_their_map() -> None:
    """A state goes on in any world and any env, on its own map; a copy keeps its map when the original has another."""
    config = GridConfig(walls=GENERATORS["triangular"], num_agents=3, observe=("view", "agent"), max_cycles=30)
    one, many = MultiGridEnv(config), vector_env(4, config)
    one.reset(seed=1)
    many.reset(seed=50)
    others = many.get_state([0, 1, 3])
    one.step(dict.fromkeys(one.agents, 0))
    many.set_state([one.get_state()], [2])
    kept = [copy.deepcopy(one), pickle.loads(pickle.dumps(one)), copy.copy(one)]
    for action in (1, 2, 3, 0, 1):
        observations = one.step(dict.fromkeys(one.agents, action))[0]
        rows = many.step(np.full(12, action))[0]
        for index in range(3):
            np.testing.assert_equal(rows["view"][6 + index], observations[f"agent_{index}"]["view"])
    walls = one.get_state()["walls"]
    one.reset()
    many.reset()
    assert all((env.get_state()["walls"] == walls).all() for env in kept)
    many.set_state(others, [3, 0, 1])
    assert (many.get_state([0])["walls"] == others["walls"][1]).all()


@pytest.mark.parametrize("change", ["a wall at an agent", "another map", "another size", "no map", "text"])
def test_states_of_other_maps_are_refused(change: str) -> None:
    """A state whose map does not fit it is refused, and the world stays on its own."""
    env = MultiGridEnv(GridConfig(walls=GENERATORS["one density"], num_agents=3))
    env.reset(seed=2)
    before: Any = env.get_state()
    state = {name: copy.copy(value) for name, value in before.items()}
    if change == "a wall at an agent":
        state["walls"][tuple(state["location"][1])] = True
    elif change == "another map":
        state["map_index"] = np.int64(1)
    elif change == "no map":
        del state["walls"]
    else:
        state["walls"] = state["walls"][:, :-1] if change == "another size" else state["walls"].astype(str)
    with pytest.raises(ValueError, match="in the state"):
        env.set_state(state)
    after: Any = env.get_state()
    assert all(np.array_equal(after[name], before[name]) for name in before if name != "np_random")


def shares(generator: Any, count: int = 1000) -> tuple[MultiGridVectorEnv, np.ndarray]:
    """The maps of so many worlds, and the share of walls of each."""
    envs = vector_env(count, walls=generator, num_agents=1)
    envs.reset(seed=0)
    walls = envs.get_state()["walls"]
    return envs, walls.mean(axis=(1, 2))


@pytest.mark.heavy
def test_densities_are_distributed_as_published() -> None:
    """Over 1,000 maps: POGEMA's independent walls of density .3, and PRIMAL's triangular densities, 0 to .33 to .5.

    PRIMAL: Sartoretti et al., RA-L 2019. POGEMA: Skrynnik et al., ICLR 2025.
    """
    _, pogema = shares(RandomWalls(size=20, density=0.3))
    assert abs(pogema.mean() - 0.3) < 0.0031  # 4.2 deviations of .023 / sqrt(1000)
    assert abs(pogema.std() - np.sqrt(0.3 * 0.7 / 400)) < 0.0025
    _, primal = shares(RandomWalls(size=40, density=(0.0, 0.33, 0.5), exact=True))
    assert abs(primal.mean() - (0 + 0.33 + 0.5) / 3) < 0.014
    assert abs(primal.std() - np.sqrt((0.33**2 + 0.5**2 - 0.33 * 0.5) / 18)) < 0.01
    _, even = shares(RandomWalls(size=20, density=(0.1, 0.4), exact=True))
    assert (even.min() >= 0.1, even.max() <= 0.4) == (True, True)
    assert abs(np.histogram(even, 3, (0.1, 0.4))[0] - 333).max() < 65


@pytest.mark.heavy
def test_a_perfect_maze_is_a_tree() -> None:
    """In a perfect maze, of n crossings there are n - 1 passages, and all free cells reach one another."""
    envs, _ = shares(Mazes(size=(11, 8)), 200)
    for walls in envs.get_state()["walls"]:
        reach = components(walls)
        assert len(reach) == 2 * 6 * 4 - 1
        assert len(next(iter(reach.values()))) == len(reach)
        assert walls[:, 7].all()
    assert len({walls.tobytes() for walls in envs.get_state()["walls"]}) == 200


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["wall components", "rooms", "warehouse", "caves"])
def test_threads_draw_the_same_maps(name: str) -> None:
    """Worlds that several threads reset have the maps that one thread draws, and each as it does alone."""
    one, two = (vector_env(1100, walls=GENERATORS[name], num_agents=2, num_threads=threads) for threads in (1, 2))
    for env in (one, two):
        env.reset(seed=5)
    walls: Any = one.get_state()["walls"]
    assert (two.get_state()["walls"] == walls).all()
    assert all((generate(GENERATORS[name], 5 + world, 2) == walls[world]).all() for world in (0, 700, 1099))
    assert len({one.tobytes() for one in walls}) > 300


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["wall components", "straight walls", "rooms", "warehouse"])
def test_free_cells_are_joined(name: str) -> None:
    """On maps of rooms, of warehouses and of walls that grow, all free cells reach one another."""
    envs, _ = shares(GENERATORS[name], 300)
    for walls in envs.get_state()["walls"]:
        reach = components(walls)
        assert len(next(iter(reach.values()))) == len(reach) == (~walls).sum()


@pytest.mark.heavy
def test_rooms_are_joined_by_doors() -> None:
    """Without loops, n rooms have n - 1 doors, and all rooms are joined; with all loops, each wall has one door."""
    doors = {0.0: 5 * 3 - 1, 1.0: 4 * 3 + 5 * 2}
    for loops, count in doors.items():
        envs, _ = shares(Rooms(size=(15, 8), room_size=2, loops=loops), 200)
        for walls in envs.get_state()["walls"]:
            reach = components(walls)
            assert len(next(iter(reach.values()))) == len(reach) == (15 - 4) * (8 - 2) + count
    assert len({walls.tobytes() for walls in envs.get_state()["walls"]}) == 200


def test_warehouses_are_those_of_the_function() -> None:
    """A warehouse that is fixed is that of `warehouse`, and draws nothing; a share of its blocks is exact."""
    envs = vector_env(9, walls=Warehouses(size=(23, 11), shelf_length=4, aisle_width=2), num_agents=3)
    envs.reset(seed=2)
    whole = warehouse(23, 11, shelf_length=4, aisle_width=2)
    assert (envs.get_state()["walls"] == whole).all()
    known = vector_env(9, walls=whole, num_agents=3)
    known.reset(seed=2)
    assert (known.get_state()["location"] == envs.get_state()["location"]).all()
    kept = vector_env(9, walls=Warehouses(size=(23, 11), shelf_length=4, aisle_width=2, fill=0.5), num_agents=3)
    kept.reset(seed=2)
    walls: Any = kept.get_state()["walls"]
    assert not (walls & ~whole).any()
    assert (walls.sum(axis=(1, 2)) * 2 == whole.sum()).all()


def test_recordings_are_of_the_drawn_map() -> None:
    """A recording has the map of its episode, and replays without the generator."""
    env = RecordEpisode(parallel_env(walls=GENERATORS["loops"], num_agents=2, max_cycles=9))
    env.reset(seed=4)
    walls = env.unwrapped.get_state()["walls"]
    while env.agents:
        env.step(dict.fromkeys(env.agents, 1))
    scenario = env.scenario("a maze")
    assert (scenario.config.is_wall[0] == walls).all()
    assert len(list(replay(scenario))) == len(scenario.actions) + 1


def test_descriptions_name_generators() -> None:
    """``maps=drawn`` in a description is a generator; agents, rules and delays are those of the base."""
    base = GridConfig(num_agents=(2, 4), on_target="stay", delays=0.1)
    config = find_world("random-map:width=8,height=5,density=0.2,maps=drawn", base=base)
    assert config == dataclasses.replace(base, walls=RandomWalls(size=(8, 5), density=0.2), size=None)
    assert find_world("maze:maps=1,width=8,height=5").draws_maps is False
    assert find_world("maze:width=9,maps=drawn,height=5,loops=0.5").walls == Mazes(size=(9, 5), loops=0.5)
    assert find_world("maze: maps=drawn, width=9, height=5").walls == Mazes(size=(9, 5))
    assert find_world("rooms:width=9,height=7,room_size=3, maps=drawn").walls == Rooms(size=(9, 7), room_size=3)
    shelves = find_world("warehouse:width=12,height=7,shelf-length=3,fill=0.5,maps=drawn").walls
    assert shelves == Warehouses(size=(12, 7), shelf_length=3, fill=0.5)
    for description, problem in (
        ("rooms:width=9,height=9,maps=drawn", "lacks room_size"),
        ("maze:width=9,height=5,seed=3,maps=drawn", "drawn maps have the seed of the world; leave out seed"),
        ("maze:width=9,maps=drawn", "lacks height"),
    ):
        with pytest.raises(ValueError, match=problem):
            find_world(description)
    with pytest.raises(ValueError, match="draws its maps and cannot be in a pool"):
        find_world("maze:width=9,height=5,maps=drawn", "maze:width=9,height=5")


def test_configurations_of_games_are_hashed() -> None:
    """Equal configurations have equal hashes, in a game with options, too, without walls and with a generator."""
    one, other = (GridConfig(game=Idle, num_agents=count) for count in (2, 2))
    assert (hash(one), one) == (hash(other), other)
    assert len({one, other, GridConfig(walls=Mazes(size=5)), GridConfig(walls=Mazes(size=5))}) == 2


def test_configurations_are_stored() -> None:
    """A configuration with a generator is equal to itself through JSON, a pickle and a copy, and to no other."""
    for generator in GENERATORS.values():
        config = GridConfig(walls=generator, num_agents=2)
        assert make_grid(json.loads(json.dumps(grid_fields(config)))) == config
        assert pickle.loads(pickle.dumps(config)) == copy.deepcopy(config) == config
        assert hash(dataclasses.replace(config, max_cycles=7)) != hash(config)
        assert config != GridConfig(size=config.size, num_agents=2)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (RandomWalls, "size is None and side None; give one of them"),
        (lambda: RandomWalls(size=5, side=(3, 4)), "give one of them"),
        (lambda: RandomWalls(side=(5, 3)), "side is (5, 3); expected the least side first"),
        (lambda: RandomWalls(side=5), "side is 5; expected the least and the largest"),
        (lambda: RandomWalls(size=5, density=1.5), "density is 1.5; expected numbers from 0 to 1, the lowest first"),
        (lambda: RandomWalls(size=5, density=(0.4, 0.1)), "density is (0.4, 0.1); expected numbers from 0 to 1"),
        (lambda: RandomWalls(size=5, density="thick"), "density is 'thick'; expected a number, (low, high) or"),
        (lambda: RandomWalls(size=5, density=float("nan")), "density is nan"),
        (lambda: Rooms(size=5, room_size=(1, 2**33)), "room_size is (1, 8589934592); expected at most 2147483647"),
        (lambda: GridConfig(walls=Mazes(size=5, loops=1.0), num_agents=22), "allow at most 21"),
        (lambda: GridConfig(walls=Rooms(size=5, room_size=2, loops=1.0), num_agents=21), "allow at most 20"),
        (lambda: Mazes(size=5, loops=2), "loops is 2; expected a number from 0 to 1"),
        (lambda: RandomWalls(size=0), "size is 0"),
        (lambda: RandomWalls(side=()), "side is (); expected the least and the largest"),
        (lambda: Rooms(size=5, room_size=0), "room_size is 0; expected an integer of at least 1"),
        (lambda: Rooms(size=5, room_size=(3, 2)), "room_size is (3, 2); expected the least room_size first"),
        (lambda: Rooms(size=5, room_size=2.5), "room_size is 2.5; expected the least and the largest"),
        (lambda: GridConfig(walls=Rooms(size=(7, 4), room_size=2), num_agents=26), "allow at most 25"),
        (lambda: WallComponents(size=5, go_straight=1.5), "go_straight is 1.5; expected numbers from 0 to 1"),
        (lambda: WallComponents(size=5, wall_components=(0, 3)), "wall_components is 0; expected an integer"),
        (lambda: GridConfig(walls=WallComponents(size=(6, 4)), num_agents=16), "allow at most 15"),
        (lambda: Warehouses(size=(6, 9)), "the map is 6 x 9 cells, but a block of 5 x 2 with aisles of 1 around it"),
        (lambda: Warehouses(side=(5, 9), shelf_length=(2, 4)), "the map is 5 x 5 cells, but a block of 4 x 2"),
        (lambda: Warehouses(size=(8, 9), fill=(0.5, 0.1)), "fill is (0.5, 0.1); expected numbers from 0 to 1"),
        (lambda: GridConfig(walls=Warehouses(size=(7, 4)), num_agents=19), "allow at most 18"),
        (
            lambda: GridConfig(walls=Warehouses(size=(9, 5), shelf_length=(2, 3), fill=(0.5, 1.0)), num_agents=42),
            "allow at most 41",
        ),
        (lambda: Caves(size=5, birth_limit=9), "birth_limit is 9; expected an integer from 0 to 8"),
        (lambda: Caves(size=5, steps=-1), "steps is -1; expected an integer of at least 0"),
        (lambda: Caves(size=5, steps=1001), "steps is 1001; expected an integer from 0 to 1000"),
        (lambda: GridConfig(walls=Caves(size=(9, 3)), num_agents=18), "allow at most 17"),
        (lambda: GridConfig(walls=Caves(size=(3, 9), steps=9)), "allow at most 0"),
        (lambda: generate(5, 0), "generator is 5; expected a MapGenerator"),
        (
            lambda: GridConfig(walls=MapGenerator(size=5)),
            "which draws no maps; expected RandomWalls, Mazes, or the like",
        ),
        (lambda: generate(Mazes(size=5), None), "seed is None"),
        (
            lambda: GridConfig(walls=RandomWalls(size=(4, 3)), num_agents=13),
            "num_agents is 13, but maps of 4 x 3 cells",
        ),
        (lambda: GridConfig(walls=RandomWalls(size=5, density=1.0)), "allow at most 0"),
        (lambda: GridConfig(walls=RandomWalls(side=(3, 9), density=0.5, exact=True), num_agents=6), "at most 5"),
        (
            lambda: GridConfig(walls=Mazes(size=5), num_agents=18),
            "allow at most 17",
        ),
        (lambda: GridConfig(walls=Mazes(size=5), game=Foraging), "the grid of Foraging has none (walls = False)"),
        (lambda: GridConfig(walls=Mazes(size=5), game=RoboticWarehouse), "the grid of RoboticWarehouse has none"),
        (lambda: GridConfig(walls=Mazes(size=5), size=6), "size is 6 but the map is 5 x 5 cells"),
        (lambda: GridConfig(walls=Mazes(size=5)).is_wall, "whose maps are drawn at every reset, and known only then"),
        (lambda: parallel_env(walls=Mazes(size=5)).reset(options={"map": 0}), "options['map'] is 0, but the maps are"),
        (
            lambda: parallel_env(walls=Mazes(size=5), num_agents=1).reset(
                options={"agents": [[0, 0]], "targets": [[2, 0]]}
            ),
            "options has a layout, but the maps are drawn; leave it out, or give options['level']",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(make: Any, problem: str) -> None:
    """A generator that can draw no world for its agents is refused with the numbers, as is what needs a map."""
    with pytest.raises((TypeError, ValueError), match=re.escape(problem)):
        make()
