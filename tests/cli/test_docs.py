"""`multigrid docs` on a small site: where it lies, what the browser opens, and what there is to do without one."""

from pathlib import Path

import pytest

from multigrid.cli import docs, main

HOW_TO = ("how_to/rewards", "how_to/maps")
PAGES = ("index", "speed", "planning", "reference/index", "reference/planning", *HOW_TO, "x/maps")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was asked to open."""
    addresses: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not addresses.append(address))
    return addresses


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that has not built its site."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "conf.py").touch()
    monkeypatch.setattr(docs, "_ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def site(checkout: Path) -> Path:
    """A built site."""
    for page in (*PAGES, "_static/rewards"):
        path = checkout / "site" / f"{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return checkout / "site"


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ([], "index"),
        (["speed"], "speed"),
        (["reference/planning"], "reference/planning"),
        (["planning"], "planning"),
        (["rewards"], "how_to/rewards"),
        (["how_to/rewards.md"], "how_to/rewards"),
        (["reference"], "reference/index"),
        (["reference/"], "reference/index"),
    ],
)
def test_a_page_is_opened_or_printed(words, page, site, opened, capsys):
    """A page is found by its path, or by the end of its path; `--print` prints the file that the browser would open."""
    assert main(["docs", *words]) == 0
    assert opened == [(site / f"{page}.html").as_uri()]
    assert capsys.readouterr().out == ""
    assert main(["docs", *words, "--print"]) == 0
    assert len(opened) == 1
    assert capsys.readouterr().out == f"{site / f'{page}.html'}\n"


def test_without_a_browser_the_page_is_printed(site, monkeypatch, capsys):
    """Where no browser can be opened, the path is printed, and that is no error."""
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    assert main(["docs", "speed"]) == 0
    assert capsys.readouterr().out == f"{site / 'speed.html'}\n"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("plannign", "there is no page 'plannign'; the closest are planning, "),
        ("how_to/reward", "there is no page 'how_to/reward'; the closest are how_to/rewards, "),
        ("maps", "there are several pages 'maps'; expected one of how_to/maps, x/maps"),
        ("ewards", "there is no page 'ewards'; the closest are how_to/rewards"),
    ],
)
def test_an_unknown_page_is_refused(name, complaint, site, opened, capsys):
    """A page that is not there, or that may be one of several, is refused with those that it may be."""
    assert main(["docs", name]) == 2
    assert capsys.readouterr().err.startswith(f"multigrid docs: {complaint}")
    assert opened == []


def test_the_command_that_builds_the_site_is_printed(checkout, opened, capsys):
    """Without a built site, the command of README that builds it is printed, and where; the exit code is 1."""
    assert main(["docs", "--print"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"in {checkout}" in printed.err
    assert 'pip install -c constraints.txt -e ".[docs]" && sphinx-build -W docs site' in printed.err.splitlines()
    assert opened == []


def test_an_installed_package_has_no_site(tmp_path, monkeypatch, opened, capsys):
    """Without the source beside the package, the command says so, even if some folder there is called site."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    monkeypatch.setattr(docs, "_ROOT", tmp_path)
    assert main(["docs"]) == 1
    assert "the site comes with the source of multigrid" in capsys.readouterr().err
    assert opened == []
