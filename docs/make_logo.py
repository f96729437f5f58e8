"""Write the site's logo, three agents and a wall: `python docs/make_logo.py`."""

from __future__ import annotations

from pathlib import Path

from multigrid._files import replace_file
from multigrid._palette import colours, hexadecimal

LOGO = Path(__file__).parent / "_static" / "logo.svg"
# In units of the picture: its side, that of a cell, and the room around a disc and a wall.
_SIDE, _CELL, _ROOM = 64, 28, 3
_EDGE = 4


def main() -> None:
    """Write the logo."""
    with replace_file(LOGO) as temporary:
        temporary.write_text(logo(), encoding="utf-8")


def logo() -> str:
    """Return the logo as an SVG: two by two cells, which are legible as the icon of a tab, too."""
    blue, orange, green = map(hexadecimal, colours(3))
    shapes = [_disc(0, 0, blue), _wall(1, 0), _disc(0, 1, green), _disc(1, 1, orange)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE} {_SIDE}">'
        f'<rect x="1" y="1" width="{_SIDE - 2}" height="{_SIDE - 2}" rx="9" fill="#fff" stroke="#a9acb3" '
        'stroke-width="2"/>'
        f"{''.join(shapes)}</svg>\n"
    )


def _disc(column: int, row: int, colour: str) -> str:
    x, y = (_EDGE + _CELL * (cell + 0.5) for cell in (column, row))
    return f'<circle cx="{x:g}" cy="{y:g}" r="{_CELL / 2 - _ROOM:g}" fill="{colour}"/>'


def _wall(column: int, row: int) -> str:
    x, y = (_EDGE + _CELL * cell + _ROOM for cell in (column, row))
    side = _CELL - 2 * _ROOM
    return f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="3" fill="#46464e"/>'


if __name__ == "__main__":
    main()
