"""README and the pages in docs/ that are written by hand: each code block is run, and each link leads somewhere."""

import itertools
import re

import pytest
from markdown_it import MarkdownIt

from pages import PAGES, README, ROOT, SHELLS, Block, command_lines, find_blocks, run_block, split_commands

pytestmark = pytest.mark.heavy

DOCS = ROOT / "docs"
TRAIN = 'pip install -c constraints.txt -e ".[train]" && multigrid train'
TEST = (
    'pip install -c constraints.txt -e ".[test]" && apt-get update && apt-get install -y chromium xvfb xdotool && '
    "pytest -n 2 --dist loadfile"
)

BLOCKS = [block for page in PAGES for block in find_blocks(page.read_text(encoding="utf-8"), page)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if not block.recipe], ids=str)
def test_block_works(block, tmp_path, monkeypatch):
    """Each block of a page does what a reader would expect: it runs without an error or a warning."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    run_block(block, tmp_path, monkeypatch)


@pytest.mark.parametrize("command", [TRAIN, TEST])
def test_readme_gives_the_two_commands(command):
    """The two commands that a newcomer needs stand in README, word for word, beside some Python."""
    blocks = [block for block in BLOCKS if block.page == README]
    assert command in [line for block in blocks if block.language in SHELLS for line, _ in command_lines(block)]
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
    """Fenced, nested, indented and HTML blocks are found, each with its first line; all cells are one program."""
    found = [(block.language, block.line, block.recipe) for block in find_blocks(SAMPLE)]
    plain = [("python", 7, ""), ("bash", 13, ""), ("text", 18, ""), ("", 23, ""), ("", 25, "")]
    assert found == [*plain, ("python", 37, "skrl"), ("{code-block}", 45, ""), ("python", 1, "")]
    cells = find_blocks(SAMPLE)[-1].text.splitlines()
    assert {number: line for number, line in enumerate(cells, 1) if line} == {33: "x = 2", 41: "print(x + 1)  # 3"}


def test_commands_are_read_as_a_shell_reads_them():
    """Continued lines are one command, comments are none, and of a console block only the ``$`` lines count."""
    ((command, _),) = command_lines(find_blocks(SAMPLE)[1])
    assert split_commands(command) == [["multigrid", "evaluate", "--help"]]
    console = Block("console", "$ multigrid play && pytest -k 'a b'\nsome output\n", 1)
    ((command, output),) = command_lines(console)
    assert split_commands(command) == [["multigrid", "play"], ["pytest", "-k", "a b"]]
    assert output == ["some output"]


@pytest.mark.parametrize(
    ("language", "text", "executed"),
    [
        ("text", "open('here', 'w').close()", False),
        ("python", "open('here', 'w').close()", True),
        ("bash", """python -c "open('here', 'w')"\npython -c "open('here')"\n""", True),
        ("console", """$ python -c "open('here', 'w')"\n$ python -c "open('here')"\n""", True),
    ],
)
def test_blocks_are_executed(language, text, executed, tmp_path, monkeypatch):
    """Code runs in the folder it is given, where a later command finds what an earlier one left; text is left alone."""
    run_block(Block(language, text, 1), tmp_path, monkeypatch)
    assert (tmp_path / "here").exists() == executed


@pytest.mark.parametrize(
    ("output", "printed"),
    [
        ("one\ntwo", "one\n\ntwo\n"),
        ("one\n...", "one\ntwo\nthree\n"),
        ("...\nthree", "one\ntwo\nthree\n"),
        ("all: 97 % in 8 steps", "all: 92.5 % in 8 steps\n"),
        ("", "anything\n"),
    ],
)
def test_output_is_what_the_page_shows(output, printed, tmp_path):
    """Lines after a command are what it prints, with ``...`` for any lines and some room for percentages."""
    command = f"$ python -c \"print({printed.encode('unicode_escape').decode()!r}, end='')\""
    run_block(Block("console", f"{command}\n{output}\n", 1), tmp_path, pytest.MonkeyPatch())


def links_of(page):
    """The targets of all links and pictures of a page."""
    links = []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        for child in token.children or []:
            links += [str(child.attrs[name]) for name in ("href", "src") if name in child.attrs]
    return [link for link in links if "://" not in link]


def anchors_of(page):
    """The anchors of a page's headings, as code hosts and the site name them."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    titles = [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Every picture, page and heading of this project that a page names is there."""
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{page.name} names {link}, which is not there"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{page.name} names {link}; the headings are {anchors_of(target)}"


def test_readme_leads_to_every_page():
    """From README, links lead to every page that is written by hand, but to the site's first page and its changelog."""
    found, queue = {README}, [README]
    while queue:
        page = queue.pop()
        linked = {(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)}
        queue += (linked & set(PAGES)) - found
        found |= linked & set(PAGES)
    assert {page.name for page in set(PAGES) - found} <= {"changelog.md", "index.md"}


def test_each_recipe_runs_its_blocks():
    """The tests of a recipe run the blocks of the pages that need it."""
    for name in sorted({block.recipe.partition("/")[0] for block in BLOCKS} - {""}):
        assert (ROOT / ".ci" / "recipes" / f"{name}.txt").is_file(), f"there is no recipe {name}"
        tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "recipes").glob(f"test_{name}*.py")]
        is_run = any(f'_of_recipe("{name}")' in test for test in tests)
        assert is_run, f"no tests/recipes/test_{name}*.py runs the pages' blocks"


@pytest.mark.parametrize(
    ("language", "text", "complaint"),
    [
        ("", "x = 1", "nothing runs"),
        ("python", "print(1, 'a')  # 1 b: because", "'1 a', not '1 b: because'"),
        ("python", "for i in (3, 4):\n    print(\n        i\n    )  # 4", "'3', not '4'"),
        ("python", "import numpy\nx = numpy.zeros((2, 3))  # float64 (3, 2), by row", r"x is float64 \(2, 3\)"),
        ("py", "x = 1", "nothing runs"),
        ("python", "raise RuntimeError('broken')", "broken"),
        ("python", "import warnings\nwarnings.warn('old', DeprecationWarning)", "old"),
        ("{code-block} python", "x = 1", "nothing runs"),
        ("python", "print('97 %')  # 91 %", "'97 %', not '91 %'"),
        ("console", "$ python -c 'print(1)'\n2", "'2' is not what is printed"),
        ("console", "$ python -c 'print(1)'\n1\n2", "'2' is not what is printed"),
        ("console", "$ python -c 'print(1, 2)'\n...\n2", "'2' is not what is printed"),
        ("console", "$ python -c \"print('0\\\\n1\\\\n2')\"\n0", r"\['1', '2'\] is printed"),
        ("bash", "pip install -c .ci/recipes/skrl.txt -e . skrl torch extra", "not this project"),
        ("bash", "# nothing", "no command"),
        ("console", "multigrid play", "no command"),
        ("bash", "multigrid no-such-command", "exited with"),
        ("bash", "multigrid play --no-such-flag 3", "nothing would read its arguments"),
        ("bash", "python -c '' && python -c 'raise SystemExit(3)'", "exited with 3"),
        ("bash", "curl example.org", "curl"),
        ("bash", "pytest -x", "pytest"),
        ("bash", "multigrid play | head", "plain commands"),
        ("bash", "multigrid replay runs/*", "plain commands"),
        ("bash", "multigrid replay $HOME", "plain commands"),
        ("bash", "multigrid play &&", "empty command"),
        ("bash", 'pip install -c constraints.txt -e ".[no-such-extra]" && pytest', "no-such-extra"),
        ("bash", 'pip install -c no-such-file.txt -e ".[test]" && pytest', "no-such-file"),
        ("bash", "pip install another-project", "another-project"),
        ("bash", "pip uninstall multigrid-marl", "only `pip install`"),
        ("bash", 'pip install -e ".[test]" && pytest', "does not run"),
        ("bash", 'pip install -c constraints.txt -e ".[test]" && pytest -x', "pytest"),
        ("bash", 'pip install -c constraints.txt -e ".[test]" && apt-get install -y firefox', "firefox"),
        ("bash", "apt-get update", "apt-get"),
    ],
)
def test_broken_blocks_fail(language, text, complaint, tmp_path, monkeypatch):
    """Every way in which a block may be wrong, or not be run at all, is an error that says so."""
    with pytest.raises((AssertionError, RuntimeError, DeprecationWarning), match=complaint):
        run_block(Block(language, text, 1), tmp_path, monkeypatch)
