"""The site's extensions `replays` and `sortable_tables`: figures with their replays, and tables that readers sort."""

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import multigrid
from helpers import run_python
from multigrid import scenarios
from multigrid.core.metrics import LABELS

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ["rooms-9x7-2", "random-11x9-4", "warehouse-9x7-2"]
PLAYERS = ["shortest-path", "pibt", "windowed", "lacam", "pretrained", "pretrained-shield"]
PAGE = f"""# Suite

```{{planners}} sum_of_costs
:scenarios: {" ".join(NAMES)}
```

```{{planners}} makespan
:scenarios: {" ".join(NAMES)}
```

![A picture](picture.svg)
"""
TABLES = """# Tables

| name | cost | share |
|---|---:|---:|
| maze-11x9 | 1,005 | 0.5 [0.4, 0.6] |
| maze-9x7 | 38 | |
| rooms-9x7 | \u2013 3 of 4 | 0.25 [0.2, 0.3] |
| rooms-11x9 | 7 | 1 [0.9, 1] |
| empty-9x7 | 12.5 | 0.75 [0.7, 0.8] |
| empty-11x9 | 400 | -2 [-3, -1] |
| random-9x7 | \u2013 1 of 4 | 0.1 [0, 0.2] |
| random-11x9 | 38 | 0.9 [0.8, 1] |

| short | table |
|---|---:|
| `[1, 0]` | 3 us |
| b | 1 |

| only | words |
|---|---|
""" + "".join(f"| word {letter} | more |\n" for letter in "hgfedcba")
TABLES += """
| option | type | |
|---|---|---|
| size | int | the side of the grid |

| wide | table |
|---|---|
| `a_name_that_is_not_broken_into_lines` | `another_name_that_is_not_broken_into_lines` |
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A site of two pages with the extensions, the script and the style of docs/."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(DOCS / '_extensions')!r})\n"
        "extensions = ['myst_parser', 'replays', 'sortable_tables']\n"
        f"html_theme = 'furo'\nhtml_static_path = [{str(DOCS / '_static')!r}]\n"
    )
    (folder / "deep").mkdir()
    for name, text in {
        "index.md": "# Index\n\n```{toctree}\ndeep/suite\ntables\n```\n",
        "deep/suite.md": PAGE,
        "deep/picture.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
        "tables.md": TABLES,
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def site(source):
    """The built site."""
    build(source, source.parent / "site")
    return source.parent / "site"


@pytest.fixture(scope="module")
def browser():
    """Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(site, browser):
    """The page of tables in Chromium, without errors."""
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "tables.html").as_uri())
    yield page
    page.close()
    assert errors == []


def build(source, site, *options):
    """Build the site, with warnings as errors, and return what the build prints."""
    done = run_python("-m", "sphinx", "-W", *options, str(source), str(site), cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tables(site):
    """The rows of both tables of the suite: of each cell its text, its link, and whether it is bold."""
    text = (site / "deep" / "suite.html").read_text(encoding="utf-8")
    (picture,) = re.findall(r'<img [^>]*src="[^"]*picture.svg"[^>]*>', text)
    assert 'loading="lazy"' in picture, "pictures load when they come into view"

    def parts_of(cell):
        return re.sub(r"<.*?>", "", cell).strip(), "".join(re.findall(r'href="(.*?)"', cell)), "<strong>" in cell

    bodies = re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
    rows = [[re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in body.split("</tr>")[:-1]] for body in bodies]
    return [[list(map(parts_of, row)) for row in table] for table in rows]


def test_a_figure_is_that_of_the_replay_it_opens(site, tables):
    """Each cell has the sum of costs, or the makespan, of its light replay, or says how many agents have arrived."""
    solved, opened = 0, set()
    for table, figure, first in zip(tables, ("sum_of_costs", "makespan"), (2, 1), strict=True):
        assert [row[0][0] for row in table] == NAMES
        for name, row in zip(NAMES, table, strict=True):
            many = scenarios.get(name).config.num_agents
            assert name.endswith(f"-{many}")
            for player, (text, link, _) in zip(PLAYERS, row[first:], strict=True):
                assert link == f"../_static/replays/{name}/{player}.html"
                page = (site / "deep" / link).resolve()
                opened.add(page)
                data = page.read_text().partition('<script type="application/json" id="episode">')[2]
                replay = json.loads(data.partition("</script>")[0])
                assert replay["name"].startswith(f"{name}, ")
                values = {short: value for short, value, _ in replay["metrics"]}
                csr, isr, shown = (values[LABELS[key].short] for key in ("csr", "isr", figure))
                assert text == (f"{shown:.0f}" if csr == 1 else f"\u2013 {round(isr * many)} of {many}")
                solved += csr == 1
    assert 30 < solved < 36
    assert opened == set((site / "_static" / "replays").resolve().rglob("*.html"))
    assert max(page.stat().st_size for page in opened) < 300_000


def test_a_bold_figure_is_the_lower_bound(tables):
    """A sum of costs is bold where it is the proven bound, and LaCAM* is nowhere below it."""
    for name, row in zip(NAMES, tables[0], strict=True):
        assert row[1][0] == str(scenarios.lower_bound(name))
        assert [bold for _, _, bold in row[2:]] == [text == row[1][0] for text, *_ in row[2:]]
        assert int(row[5][0]) >= scenarios.lower_bound(name)
    assert {bold for row in tables[0] for _, _, bold in row[2:]} == {False, True}


def test_episodes_are_played_again_only_if_they_must(source, site):
    """A second build plays nothing; one that lacks the replays plays them."""
    assert "playing the suite" not in build(source, site)
    shutil.rmtree(site / "_static" / "replays")
    assert "playing the suite" in build(source, site)
    assert (site / "_static" / "replays" / NAMES[0] / "pibt.html").is_file()


def test_a_quick_build_plays_nothing(source, tmp_path):
    """With `-t quick` the tables are left out, and the page says so."""
    assert "playing the suite" not in build(source, tmp_path, "-t", "quick")
    text = (tmp_path / "deep" / "suite.html").read_text(encoding="utf-8")
    assert text.count("A quick build of the site leaves out this table") == 2
    assert not (tmp_path / "_static" / "replays").exists()


def column(page, number):
    """The texts of a column of the first table, from top to bottom."""
    return page.locator("table").first.locator(f"tbody td:nth-child({number})").all_inner_texts()


def test_a_heading_sorts_by_numbers(page):
    """The first press sorts upwards, the second downwards, the third restores; cells without a number stay last."""
    heading = page.locator("table").first.locator("th").nth(1)
    upwards, last = ["7", "12.5", "38", "38", "400", "1,005"], ["\u2013 3 of 4", "\u2013 1 of 4"]
    before = column(page, 2)
    for expected, said in ((upwards + last, "ascending"), (upwards[::-1] + last, "descending"), (before, None)):
        heading.get_by_role("button").click()
        assert column(page, 2) == expected
        assert heading.get_attribute("aria-sort") == said
        assert said != "ascending" or column(page, 1)[2:4] == ["maze-9x7", "random-11x9"]


def test_the_keyboard_sorts(page):
    """Headings are reached and pressed by keys, one sorts at a time, names as people count; other tables have none."""
    buttons = [page.locator("table").nth(number).get_by_role("button").count() for number in range(5)]
    assert buttons == [3, 0, 0, 0, 0]
    table = page.locator("table").first
    table.get_by_role("button", name="share").press("Enter")
    assert column(page, 3)[:2] == ["-2 [-3,\N{NO-BREAK SPACE}-1]", "0.1 [0,\N{NO-BREAK SPACE}0.2]"]
    assert column(page, 3)[-1] == ""
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    assert column(page, 1)[:4] == ["empty-9x7", "empty-11x9", "maze-9x7", "maze-11x9"]
    assert table.locator("th[aria-sort]").count() == 1


def test_figures_stay_on_one_line(site):
    """In a table, an interval is not broken into lines, nor a number with its unit; without a script, no row moves."""
    text = (site / "tables.html").read_text(encoding="utf-8")
    assert re.findall(r"<p>((?:maze|rooms|empty|random)-\S+)</p>", text)[:3] == ["maze-11x9", "maze-9x7", "rooms-9x7"]
    assert "<p>0.5 [0.4,\N{NO-BREAK SPACE}0.6]</p>" in text
    assert "<p>3\N{NO-BREAK SPACE}us</p>" in text
    assert "[1,</span> <span" in text
    assert "<p>word h</p>" in text


def test_on_a_phone_meanings_stand_below(page):
    """What an option means is beside it on a desk, and on a phone below, from the left edge of its row."""
    for width, is_below in ((1400, False), (390, True)):
        page.set_viewport_size({"width": width, "height": 800})
        option, _, meaning = (cell.bounding_box() for cell in page.locator("table").nth(3).locator("td").all())
        assert (meaning["y"] >= option["y"] + option["height"]) == is_below
        assert (meaning["x"] == option["x"]) == is_below


def test_a_table_that_scrolls_fades(page):
    """The right edge of a table fades as long as columns are hidden there, and nowhere else."""
    page.set_viewport_size({"width": 390, "height": 800})
    short, wide = page.locator(".table-wrapper").nth(1), page.locator(".table-wrapper").nth(4)
    opacity = "wrapper => getComputedStyle(wrapper).getPropertyValue('--edge')"
    assert [one.evaluate(opacity) for one in (short, wide)] == ["1", "0"]
    wide.evaluate("wrapper => wrapper.scrollTo(wrapper.scrollWidth, 0)")
    page.wait_for_function(
        "getComputedStyle(document.querySelectorAll('.table-wrapper')[4]).getPropertyValue('--edge') == 1"
    )


@pytest.mark.parametrize("width", [390, 1000, 1400])
def test_a_replay_in_a_page_is_whole(width, page):
    """The frame of a replay is as high as the replay, however wide the page is."""
    page.set_viewport_size({"width": width, "height": 800})
    replay = multigrid.show_episode(multigrid.scenarios.get(NAMES[1]))
    page.locator("article").evaluate("(article, frame) => (article.innerHTML = frame)", replay._repr_html_())
    fits = "height => Number(document.querySelector('iframe').height) != height"
    page.wait_for_function(fits, arg=820)
    page.wait_for_timeout(300)  # the drawing grows with the frame, and the frame with it
    assert page.frames[1].evaluate("document.body.offsetHeight <= innerHeight && innerHeight < 1600")
