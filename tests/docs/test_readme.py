"""README and the pages in docs/ that are written by hand: each code block is run, and each link leads somewhere."""

import itertools
import re

import pytest
from markdown_it import MarkdownIt

from helpers import find_recipe_tests, run_python
from pages import (
    PAGES,
    README,
    ROOT,
    SHELLS,
    Block,
    check_output,
    command_lines,
    find_blocks,
    run_block,
    split_commands,
)

pytestmark = pytest.mark.heavy

DOCS = ROOT / "docs"
TRAIN = 'pip install -c constraints.txt -e ".[train]" && multigrid train'
TEST = (
    'pip install -c constraints.txt -e ".[test]" && apt-get update && apt-get install -y --no-install-recommends '
    "chromium xvfb xdotool && "
    "pytest -n 2 --dist loadfile"
)

BLOCKS = [block for page in PAGES for block in find_blocks(page.read_text(encoding="utf-8"), page)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if not block.recipe], ids=str)
def test_block_works(block, tmp_path, monkeypatch):
    """Each block of a page does what a reader would expect: it runs without an error or a warning."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    run_block(block, tmp_path, monkeypatch)


def test_readme_shows_what_its_first_program_prints(tmp_path):
    """The text after README's first program is what it prints, to the letter."""
    program, output = (next(block for block in BLOCKS if block.language == name) for name in ("python", "text"))
    done = run_python("-c", program.text, cwd=tmp_path)
    assert (done.stdout, output.page) == (output.text, README)


def test_readme_gives_the_two_commands():
    """The two commands that a newcomer needs stand in README, word for word, beside some Python."""
    blocks = [block for block in BLOCKS if block.page == README]
    lines = {line for block in blocks if block.language in SHELLS for line, _ in command_lines(block)}
    assert {TRAIN, TEST} <= lines
    assert any(block.language == "python" for block in blocks)


SAMPLE = """\
---
kernelspec: here
---
# Title
```python
x = 1
```
1. a list

   ```bash
   multigrid evaluate \\
     --help  # twice
   ```
~~~text
```python
not code
```
~~~

    indented

<pre>html</pre>

```{toctree}
no code
```
```{code-cell}
:tags: [hide]
x = 2
```
```python recipe=skrl
import skrl
```
```{code-cell}
print(x + 1)  # 3
```
```{code-block} python
x = 3
```
"""


def test_all_kinds_of_blocks_are_found():
    """Fenced, nested, indented and HTML blocks are found, each with its first line; all cells are one program.

    Continued lines are one command, comments are none, and of a console block only the ``$`` lines count.
    """
    found = [(block.language, block.line, block.recipe) for block in find_blocks(SAMPLE)]
    plain = [("python", 6, ""), ("bash", 11, ""), ("text", 15, ""), ("", 20, ""), ("", 22, "")]
    assert found == [*plain, ("python", 32, "skrl"), ("{code-block}", 38, ""), ("python", 1, "")]
    cells = find_blocks(SAMPLE)[-1].text.splitlines()
    assert {number: line for number, line in enumerate(cells, 1) if line} == {29: "x = 2", 35: "print(x + 1)  # 3"}
    ((command, _),) = command_lines(find_blocks(SAMPLE)[1])
    assert split_commands(command) == [["multigrid", "evaluate", "--help"]]
    ((command, output),) = command_lines(Block("console", "$ multigrid play && pytest -k 'a b'\nsome output\n", 1))
    assert split_commands(command) == [["multigrid", "play"], ["pytest", "-k", "a b"]]
    assert output == ["some output"]


def test_blocks_are_executed(tmp_path, monkeypatch):
    """Code runs in the folder it is given, where a later command finds what an earlier one left; text is left alone."""
    for language, start in (("text", ""), ("python", ""), ("bash", "python -c "), ("console", "$ python -c ")):
        writing, reading = "open('here', 'w').close()", "open('here').close()"
        text = f'{start}"{writing}"\n{start}"{reading}"\n' if start else f"{writing}\n{reading}\n"
        (tmp_path / "here").unlink(missing_ok=True)
        run_block(Block(language, text, 1), tmp_path, monkeypatch)
        assert (tmp_path / "here").exists() == (language != "text")


def test_output_is_what_the_page_shows():
    """Lines after a command are what it prints, with ``...`` for any lines and some room for percentages."""
    for shown in ("one two three", "one ...", "... three", ""):
        check_output(shown.split(), "one\n\ntwo\nthree\n", Block("console", "", 1))
    check_output(["all: 97 % in 8 steps"], "all: 92.5 % in 8 steps\n", Block("console", "", 1))


def links_of(page):
    """The targets of all links and pictures of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    attributes = [child.attrs for token in tokens for child in token.children or []]
    links = [str(attrs[name]) for attrs in attributes for name in ("href", "src") if name in attrs]
    return [link for link in links if "://" not in link]


def anchors_of(page):
    """The anchors of a page's headings, as code hosts and the site name them."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    titles = [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_somewhere():
    """Pictures, pages and headings that a page names are there, and README leads to every page but the site's own."""
    links = {page: links_of(page) for page in PAGES}
    for source, link in itertools.chain(*(itertools.product([page], links[page]) for page in PAGES)):
        name, _, anchor = link.partition("#")
        target = source.parent / name if name else source
        assert target.exists(), f"{source.name} names {link}, which is not there"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{source.name} names {link}; the headings are {anchors_of(target)}"
    found, queue = {README}, [README]
    while queue:
        page = queue.pop()
        linked = {(page.parent / link.partition("#")[0]).resolve() for link in links[page]} & set(PAGES)
        queue += linked - found
        found |= linked
    assert {page.name for page in set(PAGES) - found} <= {"changelog.md", "index.md"}


def test_each_recipe_runs_its_blocks():
    """The tests of a recipe run the blocks of the pages that need it."""
    for name in sorted({block.recipe.partition("/")[0] for block in BLOCKS} - {""}):
        assert (ROOT / ".ci" / "recipes" / f"{name}.txt").is_file(), f"there is no recipe {name}"
        tests = [path.read_text(encoding="utf-8") for path in find_recipe_tests(name)]
        is_run = any(f'_of_recipe("{name}")' in test for test in tests)
        assert is_run, f"no recipes/test_{name}*.py runs the pages' blocks"


@pytest.mark.parametrize(
    ("language", "text", "complaint"),
    [
        ("", "x = 1", "nothing runs"),
        ("python", "for i in (3, 4):\n    print(\n        i, 'a'\n    )  # 3 b: because", "'3 a', not '3 b: because'"),
        ("python", "import numpy\nx = numpy.zeros((2, 3))  # float64 (3, 2), by row", r"x is float64 \(2, 3\)"),
        ("python", "raise RuntimeError('broken')", "broken"),
        ("python", "import warnings\nwarnings.warn('old', DeprecationWarning)", "old"),
        ("python", "print('97 %')  # 91 %", "'97 %', not '91 %'"),
        ("console", "$ python -c 'print(1)'\n1\n2", "'2' is not what is printed"),
        ("console", "$ python -c 'print(1, 2)'\n...\n2", "'2' is not what is printed"),
        ("console", "$ python -c \"print('0\\\\n1\\\\n2')\"\n0", r"\['1', '2'\] is printed"),
        ("bash", "pip install -c .ci/recipes/skrl.txt -e . skrl torch extra", "not this project"),
        ("bash", "# nothing", "no command"),
        ("bash", "multigrid no-such-command", "exited with"),
        ("bash", "multigrid play --no-such-flag 3", "nothing would read its arguments"),
        ("bash", "python -c '' && python -c 'raise SystemExit(3)'", "exited with 3"),
        ("bash", "curl example.org", "curl"),
        *(("bash", f"multigrid replay {end}", "plain commands") for end in ("| head", "runs/*", "$HOME")),
        ("bash", "multigrid play &&", "empty command"),
        ("bash", 'pip install -c constraints.txt -e ".[no-such-extra]" && pytest', "no-such-extra"),
        ("bash", 'pip install -c no-such-file.txt -e ".[test]" && pytest', "no-such-file"),
        ("bash", "pip install another-project", "another-project"),
        ("bash", "pip uninstall multigrid-marl", "only `pip install`"),
        ("bash", 'pip install -e ".[test]" && pytest', "does not run"),
        ("bash", 'pip install -c constraints.txt -e ".[test]" && apt-get install -y firefox', "firefox"),
        ("bash", "apt-get update", "apt-get"),
    ],
)
def test_broken_blocks_fail(language, text, complaint, tmp_path, monkeypatch):
    """Every way in which a block may be wrong, or not be run at all, is an error that says so."""
    with pytest.raises((AssertionError, RuntimeError, DeprecationWarning), match=complaint):
        run_block(Block(language, text, 1), tmp_path, monkeypatch)
