"""Every face of the game behind the same few calls, so that one test states a promise for all of them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import multigrid
from helpers import frozen
from multigrid import GridConfig, GridWorldEnv, RowColumnGridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv, RowColumnGridWorldVectorEnv
from worldgen import PARTS

# Neither square nor symmetric.
WALLS = np.array([list("....#.."), list("..#...."), list("......#"), list(".#.....")]).T == "#"
MASKED: dict[str, Any] = {"flatten": True, "observe": ("offset", "action_mask", "others")}
LAYOUT = {"agents": [[0, 0], [1, 0], [2, 0]], "targets": [[1, 0], [0, 0], [6, 3]]}


class Face:
    """What the contract asks of a face; this one is of `GridWorldEnv`."""

    num_agents, num_actions, on_target, is_fresh = 1, 4, "stay", True
    layout: ClassVar = {"agents": [[1, 0]], "targets": [[2, 2]]}
    kind: ClassVar[Any] = GridWorldEnv

    def __init__(self, name: str, **settings: Any) -> None:
        self.name, self.settings = name, settings

    def make(self, render_mode: str | None = None) -> Any:
        """Return an env that had no reset."""
        return self.kind(render_mode, size=3)

    def reset(self, env: Any, **keywords: Any) -> Any:
        """Begin an episode and return all that is shown."""
        return env.reset(**keywords)

    def joint(self, env: Any, choose: Callable[[], int]) -> Any:
        """Return an action for everybody who is there."""
        return choose()

    def with_action(self, env: Any, action: Any) -> Any:
        """Return a joint action of which one, agent_0's, is given."""
        return action

    def step(self, env: Any, actions: Any) -> Any:
        """Play a step and return all that is shown."""
        return env.step(actions)

    def again(self, env: Any, returned: Any) -> Any:
        """Begin another episode where the last step ended one and the face does not do so itself."""
        return env.reset() if returned[2] or returned[3] else None

    def snapshot(self, env: Any) -> Any:
        """Return all that an env can be asked for, frozen."""
        return frozen([env.get_state(), env.np_random_seed, env.metrics()])

    def streams(self, env: Any) -> list[np.random.Generator]:
        """Return the random streams."""
        return [env.np_random]

    def cells(self, env: Any, returned: Any) -> Any:
        """Return where agents and targets are after a reset: x, y, target x, target y of each agent of each world."""
        return [[[*returned[0]["agent"].tolist(), *returned[0]["target"].tolist()]]]

    def play(self, env: Any, steps: int = 25, seed: int = 9) -> list[Any]:
        """Return all that some steps of random play show, through as many episodes as they take."""
        random, results = np.random.default_rng(seed), []
        for _ in range(steps):
            results.append(self.step(env, self.joint(env, lambda: int(random.integers(self.num_actions)))))
            begun = self.again(env, results[-1])
            results += [] if begun is None else [begun]
        return results

    def started(self, seed: int = 5, steps: int = 12, **keywords: Any) -> Any:
        """Return an env in mid-episode."""
        env = self.make(**keywords)
        self.reset(env, seed=seed)
        self.play(env, steps, seed=2)
        return env


class RowColumn(Face):
    """`RowColumnGridWorldEnv`."""

    kind = RowColumnGridWorldEnv


class Parallel(Face):
    """`MultiGridEnv`."""

    num_agents, layout = 3, LAYOUT

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.drawing = {name: settings.pop(name) for name in ("render_size", "render_trails") if name in settings}
        self.config = GridConfig(**{"walls": WALLS, "num_agents": 3, "max_cycles": 14, **settings})
        self.num_actions, self.on_target = self.config.num_actions, self.config.on_target

    def make(self, render_mode: str | None = None) -> Any:
        return multigrid.parallel_env(self.config, render_mode=render_mode, **self.drawing)

    def joint(self, env: Any, choose: Callable[[], int]) -> Any:
        return {agent: choose() for agent in env.agents}

    def with_action(self, env: Any, action: Any) -> Any:
        return {**dict.fromkeys(env.agents, 1), env.agents[0]: action}

    def again(self, env: Any, returned: Any) -> Any:
        return None if env.agents else env.reset()

    def snapshot(self, env: Any) -> Any:
        return [*super().snapshot(env), env.agents, env.max_cycles, frozen(env.state())]

    def cells(self, env: Any, returned: Any) -> Any:
        return [env.state().tolist()]


class Turns(Parallel):
    """The AEC env, a round at a time."""

    is_fresh = False

    def make(self, render_mode: str | None = None) -> Any:
        return multigrid.env(self.config, render_mode=render_mode, **self.drawing)

    def reset(self, env: Any, **keywords: Any) -> Any:
        env.reset(**keywords)
        return [{agent: env.observe(agent) for agent in env.agents}, env.infos]

    def step(self, env: Any, actions: Any) -> Any:
        results = []
        for _ in range(len(env.agents)):
            agent = env.agent_selection
            results.append((agent, env.last()))
            env.step(None if env.terminations[agent] or env.truncations[agent] else actions[agent])
        return [{agent: last[0] for agent, last in results}, results]

    def again(self, env: Any, returned: Any) -> Any:
        return None if env.agents else self.reset(env)

    def snapshot(self, env: Any) -> Any:
        results = [env.agents, env.agent_selection, env.rewards, env.terminations, env.truncations, env.infos]
        results += [env._cumulative_rewards, {agent: env.observe(agent) for agent in env.agents}]
        return [frozen(results), Parallel.snapshot(self, env.unwrapped)]

    def streams(self, env: Any) -> list[np.random.Generator]:
        return [env.unwrapped.np_random]


class Vector(Parallel):
    """`MultiGridVectorEnv`: three worlds."""

    def __init__(self, name: str, mode: AutoresetMode, **settings: Any) -> None:
        self.is_fresh, self.num_threads = settings.pop("copy", True), settings.pop("num_threads", 1)
        super().__init__(name, **settings)
        self.mode = mode

    def make(self, render_mode: str | None = None) -> Any:
        own = {"autoreset_mode": self.mode, "copy": self.is_fresh, "num_threads": self.num_threads}
        return multigrid.vector_env(3, self.config, render_mode=render_mode, **own)

    def joint(self, env: Any, choose: Callable[[], int]) -> Any:
        return np.array([choose() for _ in range(env.num_envs)])

    def with_action(self, env: Any, action: Any) -> Any:
        return [action] + [1] * (env.num_envs - 1)

    def step(self, env: Any, actions: Any) -> Any:
        returned = env.step(actions)
        return returned if self.is_fresh else copy.deepcopy(returned)

    def again(self, env: Any, returned: Any) -> Any:
        over = np.repeat(env.unwrapped.episode_over, env.unwrapped.config.num_agents)
        is_left = over.any() and env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
        return env.reset(options={"reset_mask": over}) if is_left else None

    def snapshot(self, env: Any) -> Any:
        return frozen([env.get_state(), env.np_random_seed, env.metrics(), env.state()])

    def streams(self, env: Any) -> list[np.random.Generator]:
        return list(env.np_random)

    def cells(self, env: Any, returned: Any) -> Any:
        return env.state().tolist()


class GridWorlds(Vector):
    """`GridWorldVectorEnv`: three documented worlds."""

    num_agents, layout, kind = 1, Face.layout, GridWorldVectorEnv

    def __init__(self, name: str, mode: AutoresetMode, **settings: Any) -> None:
        super().__init__(name, mode, on_target="stay", **settings)

    def make(self, render_mode: str | None = None) -> Any:
        return self.kind(3, size=3, autoreset_mode=self.mode, render_mode=render_mode)


class RowColumnGridWorlds(GridWorlds):
    """`RowColumnGridWorldVectorEnv`."""

    kind = RowColumnGridWorldVectorEnv


@contextlib.contextmanager
def refused(face: Face, env: Any, error: Any, match: str) -> Iterator[None]:
    """Expect an error that leaves the env, and the play that follows, as they were."""
    before, twin = face.snapshot(env), copy.deepcopy(env)
    with pytest.raises(error, match=match):
        yield
    assert face.snapshot(env) == before, match
    assert frozen(face.play(env, 6)) == frozen(face.play(twin, 6)), match


PARALLEL: list[Face] = [
    *(Parallel(f"MultiGridEnv {rule}", on_target=rule) for rule in ("park", "leave", "stay", "restart")),
    Parallel("MultiGridEnv flat", flatten=True),
    Parallel("MultiGridEnv flat with a mask", flatten=True, observe=tuple(PARTS)),
    Parallel("MultiGridEnv all parts", allow_stay=True, observe=tuple(PARTS), on_target="leave"),
    Parallel("MultiGridEnv images", observe=("rgb", "target", "rgb_view"), rgb_tile=4, on_target="leave"),
]
VECTORS: list[Face] = []
REST: list[Face] = []  # of which others with the same rule or the same mode are played every day
for number, mode in enumerate(AutoresetMode):
    faces: list[Face] = [
        Vector(f"MultiGridVectorEnv leave {mode.value}", mode, on_target="leave", observe=tuple(PARTS)),
        Vector(f"MultiGridVectorEnv image {mode.value}", mode, on_target="leave", observe="rgb", rgb_tile=4),
        Vector(f"MultiGridVectorEnv flat {mode.value}", mode, flatten=True),
        Vector(f"MultiGridVectorEnv without copies {mode.value}", mode, copy=False, on_target="stay", **MASKED),
        Vector(f"MultiGridVectorEnv restart {mode.value}", mode, on_target="restart"),
        GridWorlds(f"GridWorldVectorEnv {mode.value}", mode),
    ]
    VECTORS += faces
    REST += [face for kind, face in enumerate(faces) if kind % 3 != number]
VECTORS.append(RowColumnGridWorlds("RowColumnGridWorldVectorEnv", AutoresetMode.NEXT_STEP))
SINGLES: list[Face] = [Face("GridWorldEnv"), RowColumn("RowColumnGridWorldEnv"), *PARALLEL]
TURNS: list[Face] = [Turns("AEC leave", on_target="leave", observe="rgb_view"), Turns("AEC flat with a mask", **MASKED)]
FACES = [*SINGLES, *TURNS, *VECTORS]


def each_of(faces: list[Face]) -> Any:
    """Parametrize with faces, most vector envs with `--long` alone."""
    rows = [pytest.param(face, id=face.name, marks=[pytest.mark.long] * (face in REST)) for face in faces]
    return pytest.mark.parametrize("face", rows)
