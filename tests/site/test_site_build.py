"""What fails a build of the site, and that all links inside it lead somewhere."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
LOST = "[id](environments/multi_grid.md#option) [page](environments/grid.md) ![picture](front/none.svg)\n"


def test_links_inside_the_site_lead_somewhere(site: Path) -> None:
    """Each file that a page names is there, and each anchor is on its page."""
    site = site.resolve()
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    found = {path: re.findall(r'\s(id|href|src)="([^"]*)"', text) for path, text in texts.items()}
    ids = {path: {unescape(value) for name, value in attributes if name == "id"} for path, attributes in found.items()}
    assert len(ids) > 20
    broken = []
    for path, address in (
        (path, value) for path, attributes in found.items() for name, value in attributes if name != "id"
    ):
        parts = urlparse(unescape(address))
        if not (parts.scheme or parts.netloc):
            target, anchor = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path,
                unquote(parts.fragment),
            )
            if not target.is_file() or anchor not in ids.get(target, {anchor}) | {""}:
                broken.append(f"{path.relative_to(site)}: {address}")
    assert broken == []


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of a site that is the reference alone, and has been built."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("_extensions", "_static", "reference"):
        shutil.copytree(DOCS / name, folder / name)
    shutil.copy(DOCS / "conf.py", folder)
    (folder / "index.md").write_text("# Site\n\n:::{toctree}\nreference/index\nenvironments/multi_grid\n:::\n")
    # Docstrings name pages.
    for path in sorted(DOCS.rglob("*.md")):
        page = folder / path.relative_to(DOCS)
        if not page.exists():
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text("---\norphan: true\n---\n\n# Page\n")
    (folder / "environments" / "multi_grid.md").write_text("# MultiGrid\n\n## Options\n")
    assert build(folder) == (0, "")
    return folder


def build(folder: Path) -> tuple[int, str]:
    """Read the sources that have changed, with warnings as errors; return the exit code and the warnings."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--no-color", "-b", "dummy", folder, folder / "built"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    return built.returncode, built.stderr


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        (
            {
                "reference/planning.rst": (".. autofunction:: solve", ""),
                "reference/more_integrations.rst": (".. autoclass:: MultiGridTorchRLEnv", ".. autoclass:: EnvBase"),
            },
            ["no entry for multigrid.planning.solve, multigrid.integrations.torchrl.MultiGridTorchRLEnv\n"],
        ),
        (
            {"index.md": ("environments/multi_grid\n:::\n", f":::\n{LOST}")},
            [
                "local id not found in doc 'environments/multi_grid': 'option'",
                "target not found: 'environments/grid.md'",
                "image file not readable: front/none.svg",
                "multi_grid.md: WARNING: document isn't included in any toctree",
            ],
        ),
    ],
    ids=["names", "links"],
)
def test_what_fails_a_build(changes: dict[str, tuple[str, str]], warnings: list[str], reference: Path) -> None:
    """A public name without an entry fails the build, as does a link, anchor, picture or page that is lost."""
    whole = {page: (reference / page).read_text() for page in changes}
    for page, (before, after) in changes.items():
        assert before in whole[page]
        (reference / page).write_text(whole[page].replace(before, after, 1))
    try:
        code, printed = build(reference)
    finally:
        for page, text in whole.items():
            (reference / page).write_text(text)
    assert code == 1
    assert [warning for warning in warnings if warning not in printed] == [], printed


def test_the_logo_is_that_of_the_command() -> None:
    """The logo is what docs/make_logo.py writes."""
    make_logo = runpy.run_path(str(DOCS / "make_logo.py"))
    assert make_logo["LOGO"].read_text() == make_logo["logo"]()
