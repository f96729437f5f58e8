"""The parts of an agent's observation: one table, from which spaces, arrays and flat vectors are built.

Extents have names: N agents on W x H cells, A actions, messages of b bits, windows of V x V cells, and images with
t x t pixels a cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

Part = Literal[
    "agent",
    "target",
    "others",
    "offset",
    "view",
    "walls",
    "action_mask",
    "delayed",
    "delay_left",
    "messages",
    "rgb",
    "rgb_view",
]
MESSAGES: Part = "messages"
"""The part that a game with observations of its own form has beside them."""
MASK: Part = "action_mask"
"""The part that is not in the flat vector: learners expect it beside the observation."""
_LONGEST_FLAT_SIDE = 2**24
IMAGES: tuple[Part, ...] = ("rgb", "rgb_view")
"""The parts that are images, which a flat vector cannot have."""
LONGEST_DELAY = 2**16 - 1
"""The longest of the `multigrid.Delays`, in steps."""


class PartSpec(NamedTuple):
    """The type, the bounds and the meaning of a part."""

    dtype: type[Any]
    shape: str
    """The named extents, with spaces between them."""
    low: int | None
    """The smallest value, or None for minus the largest. In cells, -1 stands for an agent that has left, also flat."""
    high: int | None
    """The largest value; None for ``[x, y]`` in cells, up to the grid's last one, which flattening scales to 1."""
    meaning: str

    @property
    def has_cells(self) -> bool:
        """Whether the part has ``[x, y]``, in cells."""
        return self.high is None

    @property
    def is_signed(self) -> bool:
        """Whether the part has differences of cells, which may be negative."""
        return self.low is None


PARTS: dict[Part, PartSpec] = {
    "agent": PartSpec(np.int64, "2", 0, None, "the agent's own cell."),
    "target": PartSpec(np.int64, "2", 0, None, "its target."),
    "others": PartSpec(
        np.int64, "N-1 2", -1, None, "the other agents' cells, in index order; (-1, -1) for one that has left."
    ),
    "offset": PartSpec(
        np.int64,
        "2",
        None,
        None,
        "its target minus its own cell; (0, 0) on the target, also in the last observation of an agent that leaves.",
    ),
    "view": PartSpec(
        np.uint8,
        "3 V V",
        0,
        1,
        "the cells within r = `view_radius` of the agent's own, (x, y): ``view[c, i, j]`` is for the cell (x + i - r, "
        "y + j - r). Layer 0 is 1 at walls and outside the grid, layer 1 at agents, the observer too, layer 2 at its "
        "target or, if that is out of view, at the cell in view that is nearest to it.",
    ),
    "walls": PartSpec(np.uint8, "W H", 0, 1, "the whole map, 1 at walls."),
    "action_mask": PartSpec(np.int8, "A", 0, 1, "0 for actions into a wall or off the grid, else 1."),
    "delayed": PartSpec(np.int8, "1", 0, 1, "1 if the agent was delayed in the last step."),
    "delay_left": PartSpec(np.int64, "1", 0, LONGEST_DELAY - 1, "how many more steps the agent is delayed."),
    "messages": PartSpec(
        np.int8, "N b", 0, 1, "the bits that each agent sent in the last step, a row each; 0 for one that had left."
    ),
    "rgb": PartSpec(
        np.uint8,
        "H*t W*t 3",
        0,
        255,
        "the whole grid as an image, `rgb_tile` pixels a cell, as `render` draws it but without numbers and trails: "
        "agents as discs, targets as squares in a tint, arrived agents as full squares. The agent's own disc has a "
        "black ring, and its target a grey frame.",
    ),
    "rgb_view": PartSpec(
        np.uint8,
        "V*t V*t 3",
        0,
        255,
        "the cells of its view in the same image, the agent in the centre: outside the grid as walls, and its target, "
        "if that is out of view, at the cell in view that is nearest to it.",
    ),
}
"""The parts by name, for N agents on W x H cells, with a view of r cells each way."""


def check_flat(parts: Sequence[Part], specs: Mapping[Part, PartSpec], longest_side: int) -> None:
    """Raise ValueError if a vector of float32 cannot have the parts of a grid of so many cells a side."""
    for image in (part for part in parts if part in IMAGES):
        raise ValueError(
            f"flatten is True and observe has {image!r}, an image, which cannot be part of a vector; use "
            f"flatten=False: with observe={image!r}, an observation is the image alone, a uint8 Box"
        )
    if longest_side > _LONGEST_FLAT_SIDE and any(specs[part].has_cells for part in parts):
        raise ValueError(
            f"flatten is True and the grid has {longest_side} cells a side, but flattened coordinates are float32, "
            f"which cannot tell those of more than {_LONGEST_FLAT_SIDE} cells apart; use flatten=False or a smaller "
            "size"
        )


def name_extents(  # noqa: PLR0917 - one for each extent
    width: int, height: int, num_agents: int, num_actions: int, message_bits: int, view_radius: int, rgb_tile: int
) -> dict[str, int]:
    """Return the extents by name.

    >>> name_extents(7, 4, num_agents=3, num_actions=5, message_bits=0, view_radius=2, rgb_tile=8)
    {'W': 7, 'H': 4, 'N': 3, 'N-1': 2, 'A': 5, 'b': 0, 'V': 5, 't': 8}
    """
    agents = {"N": num_agents, "N-1": num_agents - 1}
    sizes = {"A": num_actions, "b": message_bits, "V": 2 * view_radius + 1, "t": rgb_tile}
    return {"W": width, "H": height, **agents, **sizes}


def resolve_shape(shape: str, extents: Mapping[str, int]) -> tuple[int, ...]:
    """Return a shape in numbers, given the extents that it names; ``*`` multiplies extents.

    >>> resolve_shape("3 V V", {"V": 5}), resolve_shape("2 3*V", {"V": 5})
    ((3, 5, 5), (2, 15))
    """
    sides = []
    for axis in shape.split():
        side = 1
        for name in axis.split("*"):
            if not name.isdigit() and name not in extents:
                raise ValueError(f"the shape {shape!r} has {name!r}; expected numbers, or out of {', '.join(extents)}")
            side *= int(name) if name.isdigit() else extents[name]
        sides.append(side)
    return tuple(sides)


def flat_slices(shapes: Mapping[Part, tuple[int, ...]]) -> dict[Part, slice]:
    """Return the slice of each part in the flat vector, which has all parts but the action mask, in their order."""
    slices, start = {}, 0
    for part, shape in shapes.items():
        if part != MASK:
            slices[part] = slice(start, start + math.prod(shape))
            start = slices[part].stop
    return slices


def list_keys(parts: tuple[Part, ...], *, flatten: bool) -> tuple[str, ...]:
    """Return the keys of an observation's Dict, in order; none if an observation is a single array."""
    if not flatten:
        return parts
    return ("observation", MASK) if MASK in parts else ()
