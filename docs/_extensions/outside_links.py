"""Let links to README and the changelog lead to the pages that show them, as on a code host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx import addnodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PAGES = {"README": "index", "CHANGELOG": "changelog"}


class OutsideLinks(SphinxTransform):
    """Lead links to the files that are also pages to these pages."""

    default_priority = 100

    def apply(self, **_kwargs: Any) -> None:
        """Change the links of this document."""
        above = Path(self.env.srcdir).parent
        for link in self.document.findall(addnodes.pending_xref):
            if link.get("refdomain") == "doc":
                # MyST takes each file with the suffix .md for a page, and names one outside docs/ by its path.
                path = Path(link["reftarget"])
                if path.is_absolute() and path.parent == above and path.name in _PAGES:
                    link["reftarget"] = _PAGES[path.name]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
