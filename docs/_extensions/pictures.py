"""Show `<picture>` elements of pages: one image for light pages and one for dark ones.

A browser chooses by the system's preference. The site has a button, too, so here the page's own theme chooses.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class _Sources(HTMLParser):
    """The files of a `<picture>`: `light` and `dark`, and what the image shows, `alt`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.light = self.dark = self.alt = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "source" and "dark" in values.get("media", ""):
            self.dark = values["srcset"]
        elif tag == "img":
            self.light, self.alt = values["src"], values.get("alt", "")


class Pictures(SphinxTransform):
    """Replace raw `<picture>` elements by images, whose files the build then copies."""

    default_priority = 100  # before Sphinx looks for images

    def apply(self, **_kwargs: Any) -> None:
        """Replace the pictures of this document."""
        for first in [node for node in self.document.findall(nodes.raw) if node.astext().startswith("<picture")]:
            together = [first]
            while "</picture>" not in together[-1].astext():
                together.append(together[-1].next_node(descend=False, siblings=True))
            sources = _Sources("".join(node.astext() for node in together))
            images = [_image(sources.light, sources.alt, "only-light" if sources.dark else "")]
            if sources.dark:
                images.append(_image(sources.dark, sources.alt, "only-dark"))
            for node in together[1:]:
                node.parent.remove(node)
            first.parent.replace(first, images)


def _image(path: str, alt: str, theme: str) -> nodes.image:
    assert not re.match(r"\w+:", path), f"{path}: a picture of the site is a file of docs/"
    return nodes.image(uri=path, alt=alt, classes=[theme] if theme else [])


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(Pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
