"""Whole episodes under every rule, as one digest: run as a script, it prints what this interpreter plays."""

import hashlib
import itertools
from typing import get_args

import numpy as np

import multigrid
from multigrid.config import Collisions, GridConfig, OnTarget
from multigrid.core.worlds import NO_SEED, Worlds
from multigrid.parts import IMAGES, PARTS

STRICT = ("-W", "error", "-W", "ignore:Numba is not installed")
"""For a Python that must not warn; but where Numba is missing, that is said, as it should be."""
STEPS = 25
NUMBERS = tuple(part for part in PARTS if part not in IMAGES)
POOL = [
    np.array([[False, False, True, False], [False, True, False, False], [False, False, False, False]]),
    np.array([[True, False, False, False], [False, False, False, True], [False, False, True, True]]),
]
# Between them all parts, as a Dict and flat, with walls and without, alone and in company.
WORLDS = [
    {"walls": POOL, "num_agents": 4, "observe": NUMBERS, "view_radius": 1, "max_cycles": 14},
    {"size": (5, 2), "num_agents": 5, "flatten": True, "reward": "shared", "allow_stay": True, "max_cycles": None}
    | {"delays": (0.2, 1, 3)},
    {"walls": POOL[1], "num_agents": 3, "observe": NUMBERS[::-1], "flatten": True, "view_radius": 2},
    {
        "size": (1, 3),
        "num_agents": 1,
        "observe": ("rgb_view", "view", "target", "rgb"),
        "view_radius": 1,
        "rgb_tile": 3,
    },
]
SCRATCH = {"occupant", "first_requester", "agent_grid", "requested", "own_cell", "refusal_reason", "component_agents"}


def content(world):
    """All that a world says and holds, apart from scratch, as bytes."""
    left_out = {*SCRATCH, "own", "hooks"}
    return b"".join(array.tobytes() for name, array in world.arrays._asdict().items() if name not in left_out)


def play(config, generators, steps=STEPS):
    """Play worlds with random actions, resetting those that are over, and yield what they say after each call."""
    world = Worlds(config, len(generators))
    is_held = [isinstance(generator, np.random.Generator) for generator in generators]
    for e in np.flatnonzero(is_held).tolist():
        world.set_generator(e, generators[e])
    world.reset(
        seeds=np.where(is_held, NO_SEED, [0 if held else one for held, one in zip(is_held, generators, strict=True)])
    )
    yield world
    actions = np.random.default_rng(7)
    for _ in range(steps):
        for e in np.flatnonzero(world.arrays.episode_over).tolist():
            world.reset(np.array([e]))
            yield world
        world.arrays.actions[:] = actions.integers(config.num_actions, size=world.arrays.actions.shape)
        world.step()
        yield world


def configs():
    """Every rule of collision and arrival in each of the worlds."""
    for collisions, on_target, fields in itertools.product(get_args(Collisions), get_args(OnTarget), WORLDS):
        yield GridConfig(collisions=collisions, on_target=on_target, **fields)


def digest():
    """SHA-256 of it all: worlds with streams inside, and with one held outside; two faces."""
    everything = hashlib.sha256()
    for index, config in enumerate(configs()):
        for world in play(config, [1, np.random.default_rng(2)] if index % 4 == 1 else [1, 2]):
            everything.update(content(world))
    grid_world, parallel = multigrid.GridWorldEnv(), multigrid.parallel_env(on_target="leave", max_cycles=60)
    for seed in range(5):
        everything.update(repr((grid_world.reset(seed=seed), parallel.reset(seed=seed))).encode())
        for action in np.random.default_rng(seed).integers(4, size=60).tolist():
            steps = grid_world.step(action), parallel.step(dict.fromkeys(parallel.agents, action))
            everything.update(repr(steps).encode())
    return everything.hexdigest()


if __name__ == "__main__":
    print(digest())  # noqa: T201 (what the script is for)
