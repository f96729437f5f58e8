"""Each page of the site in Chromium, on a phone and on a desk, light and dark, from files and without a network."""

from __future__ import annotations

import functools
import runpy
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pytest
from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.heavy

DOCS = Path(__file__).parents[2] / "docs"
WORDS = runpy.run_path(str(DOCS / "_extensions" / "search_words.py"))["WORDS"]
NO_PAGES = ("_extensions/", "_static/", "benchmarl/table")
SOURCES = sorted(
    str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*") if path.suffix in {".md", ".rst"}
)
NAMES = [name for name in SOURCES if not name.startswith(NO_PAGES)]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1400, "height": 900}
MOST_BYTES = 1_000_000
HIGHEST = 9_000
FILMS = {".gif", ".mp4", ".webm"}


class Watched:
    """A page that notes what it complains of and what it asks for."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(viewport=DESK, color_scheme="light")
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: set[str] = set()
        self.page.on("console", lambda one: one.type in ("error", "warning") and self.complaints.append(one.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"{request.url} cannot be loaded"))
        self.page.on("request", lambda request: self.requests.add(request.url))

    def open(self, path: Path, query: str = "") -> Page:
        """Open a file, and forget what came before."""
        self.page.goto("about:blank")  # which ends the requests of the page before
        self.complaints.clear()
        self.requests.clear()
        self.page.set_viewport_size(DESK)
        self.page.emulate_media(color_scheme="light")
        self.page.goto(f"{path.as_uri()}{query}")
        return self.page


@pytest.fixture(scope="module")
def watched(chromium: Browser) -> Iterator[Watched]:
    """A page of an empty profile."""
    watched = Watched(chromium)
    yield watched
    watched.context.close()


def grave_findings(page: Page) -> list[str]:
    """What axe finds on a page, serious or critical: the rule, and the first element."""
    # By its preload, axe would request style sheets, which a page that is read from a file cannot.
    findings = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    grave = [(one["help"], one["nodes"][0]) for one in findings if one["impact"] in ("serious", "critical")]
    return [f"{words}: {node['html'][:200]} {node['failureSummary'][:300]}" for words, node in grave]


def too_wide(page: Page) -> list[str]:
    """The first elements for whose width the whole page scrolls; none if it does not."""
    return page.evaluate(
        """() => {
            const room = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= room) return [];
            const wide = [...document.body.querySelectorAll("*")]
                .filter((element) => element.getBoundingClientRect().right > room);
            return ["the page", ...wide.slice(0, 3).map((element) => element.outerHTML.slice(0, 160))];
        }"""
    )


CUT = """() => {
    const hidden = (element) => element.scrollWidth - element.clientWidth;
    const found = [...document.querySelectorAll("article pre, article .table-wrapper")]
        .filter((element) => hidden(element) > 1)
        .map((element) => `${hidden(element)} px are cut of: ${element.innerText.slice(0, 80)}`);
    for (const part of document.querySelectorAll(".content, .toc-drawer"))
        if (part.getBoundingClientRect().right > innerWidth + 1) found.push(`outside of the window: ${part.className}`);
    const range = document.createRange();
    for (const part of document.querySelectorAll("article td, article th, article pre")) {
        const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            // A line may end after a hyphen, a dash or a slash.
            for (const word of texts.currentNode.data.matchAll(/[^\\s\\u200b/\\-\\u2010-\\u2014]+/g)) {
                range.setStart(texts.currentNode, word.index);
                range.setEnd(texts.currentNode, word.index + word[0].length);
                const tops = [...range.getClientRects()].map((line) => Math.round(line.top));
                if (new Set(tops).size > 1) found.push(`a line ends within: ${word[0]}`);
            }
        }
    }
    return found;
}"""


def weigh(address: str) -> int:
    """The bytes of a file that a page asks for; a film, which may be an animated SVG, weighs nothing."""
    path = Path(unquote(urlparse(address).path))
    is_film = path.suffix in FILMS or (path.suffix == ".svg" and b"@keyframes" in path.read_bytes())
    return 0 if is_film else path.stat().st_size


@pytest.mark.parametrize("name", [*NAMES, "genindex"])
def test_a_page_is_fit_to_be_read(name: str, site: Path, watched: Watched) -> None:
    """A page loads from files alone, without an error, below 1 MB, cuts nothing, passes axe, and is not too long."""
    page = watched.open(site / f"{name}.html")
    assert too_wide(page) == []
    assert page.evaluate(CUT) == []
    assert grave_findings(page) == []
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    assert too_wide(page) == []
    assert grave_findings(page) == []
    assert watched.complaints == []
    pictures = page.evaluate("[...document.images].map((image) => image.src)")
    outside = [address for address in (*watched.requests, *pictures) if not address.startswith(("file:", "data:"))]
    assert outside == []
    # Pictures for the other theme are not loaded.
    shown = page.evaluate("[...document.images].filter((image) => image.checkVisibility()).map((image) => image.src)")
    loaded = {address.partition("#")[0] for address in (*watched.requests, *shown) if address.startswith("file:")}
    assert sum(map(weigh, loaded)) < MOST_BYTES
    page.set_viewport_size(DESK)
    page.evaluate("[...document.images].forEach((one) => (one.loading = 'eager'))")
    page.wait_for_function("[...document.images].every((one) => one.complete)")
    assert name == "genindex" or page.evaluate("document.documentElement.scrollHeight") <= HIGHEST


def test_the_list_of_pages_folds_the_learning_libraries(site: Path, watched: Watched) -> None:
    """On a desk, all pages on training and changing are in view; the libraries unfold on their own pages alone."""
    link = ".sidebar-tree a[href$='{}.html']"
    page = watched.open(site / "index.html")
    assert not page.locator(link.format("skrl")).is_visible()
    box = page.locator(link.format("tuning")).bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= DESK["height"]
    page = watched.open(site / "how_to" / "skrl.html")
    assert page.locator(".sidebar-tree .current-page > a").is_visible()
    assert page.locator(link.format("harl")).is_visible()


def test_every_page_has_a_source(site: Path) -> None:
    """The pages that are looked at are all pages of the site."""
    built = [path.relative_to(site) for path in site.rglob("*.html") if "_static" not in path.parts]
    assert {str(path.with_suffix("")) for path in built} - {"genindex", "search", "py-modindex"} == set(NAMES)


GRID_CONFIG = "reference/options.html#multigrid.GridConfig"
THROUGHPUT = "reference/benchmark_results.html#benchmarks.pogema.Line.throughput"


@pytest.mark.parametrize(
    ("query", "earlier", "later"),
    [
        ("GridConfig", GRID_CONFIG, "environments/multi_grid.html"),
        ("throughput", "path_finding.html", THROUGHPUT),
        ("collisions", "environments/multi_grid.html", "contributing/step.html"),
    ],
)
def test_the_search_shows_pages_for_users_first(
    query: str, earlier: str, later: str, site: Path, watched: Watched
) -> None:
    """The search works from files: classes come before pages for users, and these before members and contributors'."""
    links = search(query, site, watched)
    assert links.index(earlier) < links.index(later)
    assert grave_findings(watched.page) == []
    assert watched.complaints == []


def search(query: str, site: Path, watched: Watched) -> list[str]:
    """The links that the search finds, the first one first."""
    page = watched.open(site / "search.html", f"?q={query}")
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.innerText.includes('found')")
    return page.eval_on_selector_all("#search-results li a", "all => all.map((link) => link.getAttribute('href'))")


def test_the_search_shows_excerpts_where_it_can(site: Path, watched: Watched) -> None:
    """Where pages can be fetched, which from files they cannot, the search shows excerpts of them."""
    search("seed", site, watched)
    assert watched.page.locator("#search-results p.context").count() == 0
    handler = functools.partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        watched.page.goto(f"http://127.0.0.1:{server.server_port}/search.html?q=seed")
        excerpt = watched.page.locator("#search-results p.context").first
        excerpt.wait_for()
        assert "seed" in excerpt.inner_text().lower()
        server.shutdown()
    assert watched.complaints == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("custom reward", "how_to/rewards"),
        ("custom observation", "how_to/observations"),
        ("custom map", "how_to/maps"),
        ("custom environment", "make_a_game"),
        ("heterogeneous", "make_a_game"),
        ("video", "watching"),
        ("collision", "rules"),
        ("seed", "using"),
        ("pettingzoo parallel", "environments/multi_grid"),
        ("gpu", "questions"),
        ("minigrid", "games/minigrid"),
        ("overcooked", "games/overcooked"),
        ("rware", "games/robotic_warehouse"),
        ("cross-play", "how_to/partners"),
        ("recurrent", "how_to/pytorch"),
        ("curriculum", "how_to/curricula"),
        ("image observations", "how_to/observations"),
        ("text", "how_to/words"),
        ("worst tenth", "how_to/evaluate"),
    ],
)
def test_the_search_knows_the_words_of_other_libraries(query: str, name: str, site: Path, watched: Watched) -> None:
    """The first page that is found is the one that has what the reader wants, whatever its words for it."""
    assert search(query, site, watched)[0].partition("#")[0] == f"{name}.html"


def test_the_words_of_the_search_are_of_pages_that_are_there() -> None:
    """No words are kept for a page that has another name now."""
    assert WORDS.keys() <= set(NAMES)
