"""Fit the SVG files of pages to the page: dark on dark pages, and legible on a phone.

- A file gets a copy in the colours of dark pages, and the theme of the page chooses between the two.
- Pictures that `multigrid.rendering.svg.compare_svg` puts side by side become a picture each, for a grid whose columns
  stack on a phone.
- Wide pictures keep a width on a phone at which their text can be read, and scroll.

What is no SVG, and what consists of pixels, is put on a white ground.
"""

from __future__ import annotations

import functools
import html
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from docutils import nodes
from sphinx.transforms import SphinxTransform

from multigrid._palette import Colour, colours, hexadecimal, legible, rim
from multigrid.rendering.replay import FLOORS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LIGHT, _DARK = FLOORS["light"], FLOORS["dark"]
_MOST_AGENTS = 64
_PAGE: Colour = (19, 20, 22)  # Furo's dark page
_FLOOR = hexadecimal(_DARK)
# Of films and drawings: floor, walls, lines, ink.
_DRAWN = {
    "#fff": _FLOOR,
    "#ffffff": _FLOOR,
    "#46464e": "#0d0e11",
    "#c9cbd0": "#3d424d",
    "#d0d7de": "#3d424d",
    "#a9acb3": "#5b606b",
    "#a3acb7": "#5b606b",
    "#1f232b": "#e9e9e6",
    "#1f2328": "#e9e9e6",
    "#57606a": "#a3a8b3",
    "#6e7781": "#8b909b",
    "#c1121f": "#ff7b7b",
}
_CHARTED = {
    "#ffffff": hexadecimal(_PAGE),
    "#000000": "#cfd0d0",
    "#46464e": "#a9acb3",
    "#cccccc": "#55595e",
    "#e4e4e4": "#303335",
}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b|#fff\b")
# Text on a shape contrasts with that shape's colour, on every page.
_ON_SHAPE = re.compile(r'(<(?:circle|rect)[^>]* fill="(#[0-9a-f]{6})"[^>]*/>\s*<text[^>]* fill=")(#[0-9a-f]{6})')
_PANEL = re.compile(r'^(?=<text x="[\d.]+" y="20" )', re.MULTILINE)
_CAPTIONED = re.compile(r'<text x="[\d.]+" (y="20" [^>]*)>(.*?)</text>\n<g transform="translate\(\d+ (\d+)\)">\n')
_GROUND = re.compile(r'<rect width="(\d+)" height="(\d+)" fill="#fff"/>')
_KEYFRAMES = re.compile(r"@keyframes (k\d+)\{(?:[^{}]*\{[^{}]*\})*\}")
_SIZE = re.compile(r'<svg[^>]* width="([\d.]+)(pt)?"')
_PIXELS_OF_POINT = 4 / 3
# In pixels: a picture that is wider scrolls on a phone, and a panel that is wider gets a row there.
_WIDE, _WIDE_PANEL = 640, 260


class Panel(NamedTuple):
    """One of the pictures of a comparison."""

    caption: str
    svg: str
    width: int


def darken(svg: str) -> str:
    """Return an SVG of this project in the colours of dark pages."""
    is_chart = "Matplotlib" in svg
    ground, known = (_PAGE, _CHARTED) if is_chart else (_DARK, _DRAWN)
    dark = _hues(ground) | known

    def keep(match: re.Match[str]) -> str:
        start, shape, ink = match.groups()
        # Colours in capitals are not replaced below.
        is_ground = shape in known or "fill-opacity" in start
        return start + (ink if is_ground else ink.upper())

    if is_chart:
        svg = svg.replace("<svg ", f'<svg fill="{known["#000000"]}" ', 1)  # letters have no colour of their own
    return _COLOUR.sub(lambda found: dark.get(found[0], found[0]), _ON_SHAPE.sub(keep, svg))


@functools.cache
def _hues(ground: Colour) -> dict[str, str]:
    """Return the colours of agents, and of their rims, on a dark ground by those on a light one."""
    hues = {}
    for colour in colours(_MOST_AGENTS):
        light, dark = legible(colour, _LIGHT), legible(colour, ground)
        hues |= {hexadecimal(rim(light)): hexadecimal(rim(dark)), hexadecimal(light): hexadecimal(dark)}
    return hues


def split(svg: str) -> list[Panel]:
    """Return the panels of a comparison; none for another picture."""
    head, *pieces = _PANEL.split(svg)
    panels = []
    for piece in pieces:
        start, ground = _CAPTIONED.match(piece), _GROUND.search(piece)
        if start is None or ground is None:
            return []
        width, height = map(int, ground.groups())
        style, caption, top = start.groups()
        used = set(re.findall(r"\bk\d+\b", piece))
        kept = _KEYFRAMES.sub(lambda rule: rule[0] if rule[1] in used else "", head[head.find("<style>") :])  # noqa: B023
        size = f'width="{width}" height="{height + int(top)}" viewBox="0 0 {width} {height + int(top)}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{caption}</title>",
            f'{kept}<text x="{width / 2:g}" {style}>{caption}</text>',
            f'<g transform="translate(0 {top})">',
            f"{piece[start.end() :].replace('</svg>', '').rstrip()}\n</svg>\n",
        ]
        panels.append(Panel(html.unescape(caption), "\n".join(parts), width))
    return panels if len(panels) > 1 else []


class Figures(SphinxTransform):
    """Replace the images of this document."""

    default_priority = 110  # after `pictures`, before Sphinx looks for images

    def apply(self, **_kwargs: Any) -> None:
        """Replace them, and write their files beside the doctrees."""
        for image in list(self.document.findall(nodes.image)):
            if "://" in image["uri"] or {"only-light", "only-dark"} & set(image["classes"]):
                continue
            path = Path(self.env.relfn2path(image["uri"])[1])
            if not path.is_file():
                continue  # Sphinx says so
            self.env.note_dependency(str(path))
            svg = path.read_text(encoding="utf-8") if path.suffix == ".svg" else ""
            if not svg or "data:image/png" in svg:
                image["classes"].append("on-white")
            else:
                self._replace(image, path, svg)

    def _replace(self, image: nodes.image, path: Path, svg: str) -> None:
        around, alt, size = nodes.container(), image.get("alt", ""), _SIZE.search(svg)
        panels = split(svg)
        for number, panel in enumerate(panels):
            said = panel.caption if number else f"{alt}. {panel.caption}"
            around += self._pair(path, f"-{number}", panel.svg, said)
        if panels:
            is_wide = max(panel.width for panel in panels) > _WIDE_PANEL
            around["classes"] += ["panels", "wide-panels"] if is_wide else ["panels"]
        else:
            around += self._pair(path, "", svg, alt)
            width = float(size[1]) * (_PIXELS_OF_POINT if size[2] else 1) if size else 0
            around["classes"] += ["wide-figure"] if width > _WIDE else []
        is_alone = isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1
        replaced = image.parent if is_alone else image
        replaced.parent.replace(replaced, around if is_alone else around.children)

    def _pair(self, path: Path, suffix: str, svg: str, alt: str) -> list[nodes.image]:
        source = Path(self.env.srcdir)
        folder = Path(self.env.doctreedir) / "figures" / path.relative_to(source).parent
        folder.mkdir(parents=True, exist_ok=True)
        pair = []
        for theme, text in (("light", svg), ("dark", darken(svg))):
            target = folder / f"{path.stem}{suffix}-{theme}.svg"
            target.write_text(text, encoding="utf-8")
            uri = os.path.relpath(target, (source / self.env.docname).parent)
            pair.append(nodes.image(uri=Path(uri).as_posix(), alt=alt, classes=[f"only-{theme}"]))
        return pair


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(Figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
