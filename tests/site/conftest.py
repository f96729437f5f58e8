"""The site, built once for all its tests, and a Chromium that shows it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `site`, if no source has changed since it was built; else a new one, warnings are errors."""
    from pages import is_site_current  # needs what the light tests do not install

    built = ROOT / "site"
    if is_site_current(built / "objects.inv", ROOT):
        return built
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", folder / "doctrees", ROOT / "docs", folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the site cannot be built:\n{done.stdout}{done.stderr}"
    return folder / "html"


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """One Chromium, a playwright Browser, for all pages; a process can have one playwright at a time."""
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium")
    assert found, "these tests need Debian's chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
