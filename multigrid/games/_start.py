"""How a recorded episode of a game, or with delays, begins: in its whole state, which a layout does not determine."""

from __future__ import annotations

from typing import Any

import numpy as np

from multigrid.config import GridConfig
from multigrid.core.states import VERSION
from multigrid.envs.parallel import MultiGridEnv

NOT_STORED = ("version", "map_index", "np_random")
"""What a stored start lacks of a state: there is one map, unless it is of the game, and the generator has a place of
its own."""


class StartedEnv(MultiGridEnv[Any]):
    """An environment whose episodes begin in a stored state, given without version and map."""

    def __init__(self, config: GridConfig, render_mode: str | None, start: dict[str, Any]) -> None:
        super().__init__(config, render_mode)
        self._start = {"map_index": 0, **start, "version": VERSION}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode; with a seed its generator is that of the seed, and `options` set another layout."""
        stream = {}
        if seed is not None or options is not None:
            begun = super().reset(seed=seed, options=options)
            if options is not None:
                return begun
            begun_state: dict[str, Any] = dict(self.get_state())
            stream = {name: begun_state[name] for name in ("delay_streams",) if name in begun_state}
            stream["np_random"] = np.random.PCG64(seed).state
        self.set_state(self._start | stream)
        self._update_window()
        observations, *_, infos = self._last_results()
        return observations, infos


def read_start(config: GridConfig, stored: dict[str, Any]) -> dict[str, Any]:
    """Return a state that was stored as lists in the types of arrays that an environment has."""
    env: MultiGridEnv[Any] = MultiGridEnv(config)
    env.reset(seed=0)
    types = {name: np.asarray(value).dtype for name, value in env.get_state().items() if name not in NOT_STORED}
    # Lists of targets are in the state of those worlds alone that have some.
    return {name: np.array(value, types.get(name, np.int64))[()] for name, value in stored.items()}
