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
from multigrid.parts import MASK, MESSAGES, Part, flat_slices


def action_space(config: GridConfig) -> spaces.Space[Any]:
    """Return ``Discrete(4)``, or ``Discrete(5)`` with `allow_stay`; a MultiDiscrete for actions with bits."""
    if config.message_bits:
        return spaces.MultiDiscrete([config.num_actions, *[2] * config.message_bits])
    return spaces.Discrete(config.num_actions)


def observation_space(config: GridConfig) -> spaces.Space[Any]:
    """Return the space of one agent's observation: a Dict of its parts in their order.

    With `flatten` it is one float32 Box, or with an action mask the Dict of that Box and the mask.

    >>> observation_space(GridConfig(num_agents=1))
    Dict('agent': Box(0, 4, (2,), int64), 'target': Box(0, 4, (2,), int64))
    >>> observation_space(GridConfig(observe=("agent", "action_mask"), flatten=True))
    Dict('observation': Box(0.0, 1.0, (2,), float32), 'action_mask': Box(0, 1, (4,), int8))
    """
    if (own := _find_own_space(config)) is not None:
        return own
    shapes = config.part_shapes
    # Gymnasium sorts the keys of a dict; pairs keep the order, which is that of the flat vector.
    if not config.flatten and not config.observation_keys:
        return _part_space(config, config.parts[0], shapes[config.parts[0]])
    if not config.flatten:
        return spaces.Dict([(part, _part_space(config, part, shape)) for part, shape in shapes.items()])
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
    mask = _part_space(config, MASK, shapes[MASK])
    return spaces.Dict(list(zip(config.observation_keys, (vector, mask), strict=True)))


def _find_own_space(config: GridConfig) -> spaces.Space[Any] | None:
    """Return the space that a game has made for an agent's observation; None if it is that of the parts.

    Of a Dict that has a key for each part that was chosen, the space has these keys alone, or is that of the only one.
    Messages are beside what a Dict has.
    """
    own = None if config.game is None or config.flatten else describe(config.game).plain.get("observation_space")
    if own is None:
        return None
    label = f"{config.game.__name__ if config.game else ''}.observation_space"
    with name_errors(label):
        space: Any = own(config.game_options)
    if not isinstance(space, spaces.Space):
        raise TypeError(f"{label} returns {shorten(space)}; expected a space of Gymnasium")
    chosen, has_messages = config.given["observe"], MESSAGES in config.parts
    if has_messages and isinstance(space, spaces.Dict):
        if MESSAGES in space.spaces:
            raise ValueError(f"{label} has the key {MESSAGES!r}, which is that of message_bits; choose another name")
        shape = config.part_shapes[MESSAGES]
        space = spaces.Dict([*space.items(), (MESSAGES, _part_space(config, MESSAGES, shape))])
    if chosen is None:
        return space if isinstance(space, spaces.Dict) or not has_messages else None
    if not isinstance(space, spaces.Dict) or not set(config.parts) <= space.keys():
        return None
    return space[chosen] if isinstance(chosen, str) else spaces.Dict([(part, space[part]) for part in config.parts])


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
    make = None if config.game is None else describe(config.game).plain.get("make_observations")
    chosen = config.given["observe"]
    if make is None or config.flatten or (not config.observation_keys and chosen is None):
        return None
    own = _find_own_space(config)
    if own is None and (chosen is not None or MESSAGES in config.parts):
        return None
    keys = tuple(own.keys()) if isinstance(own, spaces.Dict) else None if own is not None else config.parts
    return functools.partial(_make_some, config.game, make, config.game_options, keys, chosen)


def _make_some(  # noqa: PLR0917 - all but the last are fixed
    game: Any, make: Callable[..., Any], c: Any, keys: tuple[str, ...] | None, chosen: Any, parts: Mapping[str, Any]
) -> Any:
    """Return what a game makes of the parts that were chosen, under these keys alone, or the only one's."""
    label, num_rows = f"{game.__name__}.make_observations", len(next(iter(parts.values())))
    try:
        made = make(c, parts)
        made = {**made, MESSAGES: parts[MESSAGES]} if MESSAGES in parts else made
        if chosen is not None:
            made = made[chosen] if isinstance(chosen, str) else {key: made[key] for key in chosen}
        columns = [made] if keys is None else [made[key] for key in keys]
        found = {len(column) for column in columns if not isinstance(column, dict | tuple)}
    except Exception:
        with name_errors(label):
            raise
    if found - {num_rows}:
        raise ValueError(f"{label} returns {max(found)} observations for {num_rows} agents; expected one for each")
    return made
