"""The colours of agents, the same in every picture."""

from __future__ import annotations

__all__ = ["Colour", "colours", "tint"]

Colour = tuple[int, int, int]

# Okabe and Ito's palette (2008), which colour-blind readers can tell apart, without its black.
_FIRST: tuple[Colour, ...] = (
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (86, 180, 233),
    (190, 175, 20),
)


def colours(num_agents: int) -> list[Colour]:
    """Return red, green and blue, 0 to 255, for each agent.

    >>> colours(2)
    [(0, 114, 178), (230, 159, 0)]
    """
    return [_FIRST[index % len(_FIRST)] for index in range(num_agents)]


def tint(colour: Colour, share: float) -> Colour:
    """Mix a colour with white, of which there is the given share.

    >>> tint((0, 100, 200), 0.5)
    (128, 178, 228)
    """
    red, green, blue = (round(value + (255 - value) * share) for value in colour)
    return red, green, blue
