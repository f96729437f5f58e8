"""Build the Gymnasium spaces of a configuration."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from multigrid._checks import name_errors, shorten
from multigrid.config import GridConfig
from multigrid.game import describe
from multigrid.parts import IMAGES, MASK, Part, flat_slices


class PartsSpace(spaces.Dict):
    """A Dict that says what is a Box to libraries that need one: in their messages, and where they read its bounds."""

    def __format__(self, spec: str) -> str:
        return format(f"{self!r}; {self._advice()}", spec)

    @property
    def low(self) -> Any:
        """Raise an AttributeError, as any Dict does."""
        raise AttributeError(f"observations are a Dict, which has no low and high; {self._advice()}")

    high = low

    def _advice(self) -> str:
        for image in (part for part in IMAGES if part in self.spaces):
            return f"with observe={image!r}, observations are one Box, the image"
        masked = f" and no {MASK!r} in observe" if MASK in self.spaces else ""
        return f"with flatten=True{masked}, observations are one Box"


def action_space(config: GridConfig) -> spaces.Space[Any]:
    """Return ``Discrete(4)``, or ``Discrete(5)`` with `allow_stay`; a MultiDiscrete for actions with bits."""
    if config.message_bits:
        return spaces.MultiDiscrete([config.num_actions, *[2] * config.message_bits])
    return spaces.Discrete(config.num_actions)


def observation_space(config: GridConfig, kind: type[spaces.Dict] = spaces.Dict) -> spaces.Space[Any]:
    """Return the space of one agent's observation: a Dict, of the class `kind`, of its parts in their order.

    With `flatten` it is one float32 Box, or with an action mask the Dict of that Box and the mask.

    >>> observation_space(GridConfig(num_agents=1))
    Dict('agent': Box(0, 4, (2,), int64), 'target': Box(0, 4, (2,), int64))
    >>> observation_space(GridConfig(observe=("agent", "action_mask"), flatten=True))
    Dict('observation': Box(0.0, 1.0, (2,), float32), 'action_mask': Box(0, 1, (4,), int8))
    """
    own = None if config.game is None or config.flatten else describe(config.game).plain.get("observation_space")
    if own is not None and config.given["observe"] is None:
        label = f"{config.game.__name__}.observation_space" if config.game else ""
        with name_errors(label):
            space: Any = own(config.game_options)
        if not isinstance(space, spaces.Space):
            raise TypeError(f"{label} returns {shorten(space)}; expected a space of Gymnasium")
        return space
    shapes = config.part_shapes
    # Gymnasium sorts the keys of a dict; pairs keep the order, which is that of the flat vector.
    if not config.flatten and not config.observation_keys:
        return _part_space(config, config.parts[0], shapes[config.parts[0]])
    if not config.flatten:
        return kind([(part, _part_space(config, part, shape)) for part, shape in shapes.items()])
    bounds = [np.empty((2, 0), np.float32)]
    for part, where in flat_slices(shapes).items():
        spec = config.part_specs[part]
        high = 1 if spec.high is None else spec.high
        ends = [-high if spec.low is None else spec.low, high]
        bounds.append(np.repeat(np.array(ends, np.float32)[:, np.newaxis], where.stop - where.start, axis=1))
    low, high = np.concatenate(bounds, axis=1)
    vector = spaces.Box(low, high, dtype=np.float32)
    if not config.observation_keys:
        return vector
    return kind(list(zip(config.observation_keys, (vector, _part_space(config, MASK, shapes[MASK])), strict=True)))


def rows_space(space: spaces.Space[Any], num_rows: int) -> spaces.Space[Any]:
    """Return the space of the observations of some rows, whose keys are in the order of those of one row."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict([(key, batch_space(one, num_rows)) for key, one in space.items()])
    return batch_space(space, num_rows)


def state_space(config: GridConfig, num_own: int = 0) -> spaces.Box:
    """Return the space of the global state: int64 (N, 4), with -1 for an agent that has left.

    With `num_own` numbers of a game's own arrays it is an unbounded float64 (4N + num_own,).

    >>> state_space(GridConfig(size=(4, 3), num_agents=2)).high.tolist()
    [[3, 2, 3, 2], [3, 2, 3, 2]]
    """
    if num_own:
        return spaces.Box(-np.inf, np.inf, (4 * config.num_agents + num_own,), np.float64)
    high = np.tile(_last_cell(config), (config.num_agents, 2))
    return spaces.Box(np.full_like(high, -1), high, dtype=np.int64)


def _last_cell(config: GridConfig) -> NDArray[np.int64]:
    return np.array([config.width - 1, config.height - 1], dtype=np.int64)


def _part_space(config: GridConfig, part: Part, shape: tuple[int, ...]) -> spaces.Box:
    spec = config.part_specs[part]
    high = np.broadcast_to(_last_cell(config) if spec.high is None else spec.high, shape)
    low = -high if spec.low is None else np.full(shape, spec.low)
    return spaces.Box(low.astype(spec.dtype), high.astype(spec.dtype), dtype=spec.dtype)


def find_form(config: GridConfig) -> Callable[[Mapping[str, NDArray[Any]]], Any] | None:
    """Return the function of a game that makes observations of a batch of parts; None if they are the parts."""
    if config.game is None or config.flatten or config.given["observe"] is not None or not config.observation_keys:
        return None
    make = describe(config.game).plain.get("make_observations")
    return None if make is None else functools.partial(make, config.game_options)
