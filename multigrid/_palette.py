"""Assign colours to agents, the same in every picture."""

from __future__ import annotations

import colorsys

Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)
BLACK: Colour = (0, 0, 0)

# Okabe and Ito's palette (2008) without its black, then five more. For protanopia, deuteranopia and normal sight, any
# two colours differ at least as much as the closest two of Okabe and Ito's.
_FIRST: tuple[Colour, ...] = (
    (0, 114, 178),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (86, 180, 233),
    (240, 228, 66),
    (85, 0, 34),
    (17, 17, 136),
    (51, 51, 255),
    (204, 204, 170),
    (153, 17, 0),
)
# Further colours: hues and lightnesses that fill their plane evenly for any number of agents. (The steps are powers of
# the plastic number's inverse.)
_HUE_STEP, _LIGHTNESS_STEP = 0.7548776662466927, 0.5698402909980532
_DARKEST, _LIGHTEST, _SATURATION = 0.28, 0.68, 0.75


def colours(num_agents: int) -> list[Colour]:
    """Return red, green and blue, 0 to 255, for each agent; a colour depends on the agent's index only.

    Colour-blind readers can distinguish the first twelve. Further colours are distinct, for a thousand agents and more,
    but differ less and less.

    >>> colours(2)
    [(0, 114, 178), (230, 159, 0)]
    """
    return [*_FIRST[:num_agents], *map(_generate, range(num_agents - len(_FIRST)))]


def _generate(index: int) -> Colour:
    lightness = _DARKEST + (_LIGHTEST - _DARKEST) * (_LIGHTNESS_STEP * index % 1)
    red, green, blue = colorsys.hls_to_rgb(_HUE_STEP * index % 1, lightness, _SATURATION)
    return round(255 * red), round(255 * green), round(255 * blue)


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """Mix a colour with the given share of another one."""
    red, green, blue = (round(one + (two - one) * share) for one, two in zip(colour, other, strict=True))
    return red, green, blue


def tint(colour: Colour, share: float) -> Colour:
    """Mix a colour with the given share of white."""
    return mix(colour, WHITE, share)


def contrast(colour: Colour) -> Colour:
    """Return white or black, whichever has the higher contrast with a colour as defined in WCAG 2."""
    # Where (1 + 0.05) / (luminance + 0.05) equals (luminance + 0.05) / 0.05.
    return BLACK if _luminance(colour) > 0.179 else WHITE


def legible(colour: Colour, ground: Colour, least: float = 3.0) -> Colour:
    """Mix a colour with white or black, as little as gives it enough contrast with the colour of a ground.

    `least` is that contrast, as defined in WCAG 2, which demands 3 of pictures; at most 4.5.

    >>> legible((0, 114, 178), (255, 255, 255)), legible((240, 228, 66), (255, 255, 255))
    ((0, 114, 178), (158, 150, 44))
    """
    towards = contrast(ground)
    mixtures = (mix(colour, towards, percent / 100) for percent in range(101))
    return next((one for one in mixtures if _ratio(one, ground) >= least), towards)


def _ratio(one: Colour, other: Colour) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    linear = [value / 3294.6 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def hexadecimal(colour: Colour) -> str:
    """Return a colour as style sheets write it, such as #0072b2."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def parse_colour(text: str) -> Colour:
    """Return a colour that is written as style sheets write it, such as #0072b2."""
    red, green, blue = (int(text[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue


def rim(colour: Colour) -> Colour:
    """Return the colour of the rim of a disc, which contrasts with a light disc and with a dark one."""
    return mix(colour, contrast(colour), 0.4)
