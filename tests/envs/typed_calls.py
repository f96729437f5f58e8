"""Calls that type checkers accept, and calls that they reject: each comment that ignores an error expects it.

`.ci/run` has mypy read this file with ``--strict``, so that an ignored error that does not occur is an error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import multigrid
from multigrid import (
    FlatObservation,
    GridConfig,
    GridOptions,
    Info,
    MaskedObservation,
    MultiGridEnv,
    Observation,
    State,
    States,
)

# What is accepted.
env = multigrid.parallel_env(size=[7, 4], num_agents=3, observe=["agent", "view"], collisions="soft", max_cycles=None)
multigrid.parallel_env(size=(7, 4), observe=("agent",), render_mode="rgb_array", render_size=64)
multigrid.parallel_env(GridConfig(size=np.array([7, 4]), observe=["agent"]), render_view=0)
multigrid.parallel_env(walls="a.A")
multigrid.parallel_env(walls=["a.A\n", "A.a\n"])
multigrid.parallel_env(walls=multigrid.maps.maze(9, 7, seed=0))
multigrid.parallel_env(walls=multigrid.maps.parse_map("a.A"))
multigrid.env(num_agents=2, on_target="leave", reward="shared", render_trails=3)
multigrid.vector_env(4, num_agents=2, num_threads=2, metrics=False)
envs = multigrid.vector_env(4, num_agents=2, flatten=False, autoreset_mode="SameStep", copy=False, num_threads=2)
options: GridOptions = {"num_agents": 2, "view_radius": 1}
multigrid.vector_env(4, **options)
assert_type(GridConfig(size=[7, 4]).size, int | tuple[int, int])
assert_type(GridConfig().num_agents, int)
names: list[str] = multigrid.scenarios.names()

# What is returned.
observations, infos = env.reset(seed=3, options={"agents": [[0, 0]], "targets": [[1, 0]]})
assert_type(observations, dict[str, Observation])
assert_type(observations["agent_0"]["agent"], NDArray[np.int64])
assert_type(infos, dict[str, Info])
assert_type(infos["agent_0"]["distance"], float)
assert_type(infos["agent_0"]["outcome"], int)
assert_type(infos["agent_0"]["arrived"], int)
assert_type(env.get_state(), State)
env.set_state(env.get_state())
assert_type(env.step({"agent_0": multigrid.Action.UP})[1], dict[str, float])
rows, _ = envs.reset(seed=3)
assert_type(rows, Observation)
assert_type(rows["target"], NDArray[np.int64])
assert_type(envs.step(np.zeros(8, np.int64))[1], NDArray[np.float64])
assert_type(envs.get_state(), States)
assert_type(envs.get_state(single=True), list[State])
envs.set_state(envs.get_state())
envs.set_state(envs.get_state(single=True))
flat: MultiGridEnv[FlatObservation] = multigrid.parallel_env(flatten=True)
assert_type(flat.reset()[0]["agent_0"], NDArray[np.float32])
masked: MultiGridEnv[MaskedObservation] = multigrid.parallel_env(observe=("offset", "action_mask"), flatten=True)
assert_type(masked.reset()[0]["agent_0"]["action_mask"], NDArray[np.int8])
turns = multigrid.env(num_agents=2)
assert_type(turns.get_state(), State)
flat_rows: multigrid.MultiGridVectorEnv[FlatObservation] = multigrid.vector_env(4, flatten=True)
assert_type(flat_rows.reset()[0], NDArray[np.float32])


def play(some: MultiGridEnv) -> Observation:
    """Type checkers take an env without a type parameter as one that does not flatten."""
    return some.reset()[0]["agent_0"]


# What is rejected: misspelt keywords, ...
multigrid.parallel_env(num_agent=4)  # type: ignore[call-arg]
multigrid.env(num_agent=4)  # type: ignore[call-arg]
multigrid.vector_env(4, num_agent=4)  # type: ignore[call-arg]
GridConfig(num_agent=4)  # type: ignore[call-arg]
multigrid.vector_env(num_agents=4)  # type: ignore[call-arg]
# ... values of other types, ...
multigrid.parallel_env(size="big")  # type: ignore[arg-type]
multigrid.env(size="big")  # type: ignore[arg-type]
multigrid.vector_env(4, size="big")  # type: ignore[arg-type]
GridConfig(size="big")  # type: ignore[arg-type]
multigrid.parallel_env(collisions="hard")  # type: ignore[arg-type]
multigrid.parallel_env(observe=["goal"])  # type: ignore[list-item]
multigrid.parallel_env(observe="goal")  # type: ignore[arg-type]
multigrid.parallel_env(walls=Path("first.map"))  # type: ignore[arg-type]
multigrid.parallel_env(max_cycles=2.5)  # type: ignore[arg-type]
# ... and parts and keys that do not exist.
observations["agent_0"]["goal"]  # type: ignore[typeddict-item]
infos["agent_0"]["reward"]  # type: ignore[misc]
env.get_state()["cells"]  # type: ignore[misc]
