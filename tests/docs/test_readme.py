"""Every code block of README and of the pages in docs/ is run: what a page shows works.

- ``python`` blocks are executed, each by itself, in an empty folder; comments after ``print`` are what it prints.
- ``bash`` and ``console`` blocks are plain commands. ``pip install``, and ``apt-get`` and ``pytest`` after it, are
  checked against pyproject.toml and .ci/run (which really does them); every other command is run, in an empty folder a
  block.
- ``text`` blocks are output, maps, diagrams: not code.

Any other block fails, for then nobody would know whether it works.
"""

import ast
import io
import re
import shlex
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from helpers import AROUND, QUICKER_BENCH, run_python

pytestmark = pytest.mark.heavy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]

TRAIN = 'pip install -c constraints.txt -e ".[train]" && multigrid train'
TEST = (
    'pip install -c constraints.txt -e ".[test]" && apt-get update && apt-get install -y chromium xvfb xdotool && '
    "pytest -n 2 --dist loadfile"
)
CHECKED = ("apt-get", "pytest")

SHELLS = ("bash", "console")
ARRAY = re.compile(r"(?:bool|float\d+|u?int\d+) \([\d, ]*\)")
PROGRAMS = {"multigrid": ["-m", "multigrid"], "python": [], "multigrid bench": ["-c", QUICKER_BENCH]}
# What the tests add to README's arguments: a whole training takes minutes, and a game waits for somebody's keys.
# `--help` shows only that the command is there (tyro then reads no other argument): it fits a bare command alone.
ENDINGS = {"train": ["--help"], "play": ["--help"]}


@dataclass(frozen=True)
class Block:
    """One code block: its language, its text, the line it starts on (counted from 1), and its page."""

    language: str
    text: str
    line: int
    page: Path = README

    def __str__(self) -> str:
        """Where it is, as editors and pytest's ids show it."""
        return f"{self.page.name}:{self.line} ({self.language or 'no language'})"


def find_blocks(markdown: str, page: Path = README) -> list[Block]:
    """Return all code blocks of a page: fenced, indented, and those written in HTML."""
    blocks = []
    for token in MarkdownIt("commonmark").parse(markdown):
        is_code = token.type in ("fence", "code_block") or (token.type == "html_block" and "<pre" in token.content)
        if is_code:
            assert token.map is not None
            fenced = token.type == "fence"
            language = token.info.strip() if fenced else ""
            blocks.append(Block(language, token.content, token.map[0] + 1 + fenced, page))
    return blocks


def command_lines(block: Block) -> list[str]:
    """The commands of a shell block; in a console block these are the lines after a ``$``, the others are output."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    commands = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert commands, f"{block} holds no command"
    return commands


def split_commands(line: str) -> list[list[str]]:
    """The words of each command in ``a && b``. Other shell grammar is refused: it would not be run as meant."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    commands: list[list[str]] = [[]]
    for word in lexer:
        if word == "&&":
            commands.append([])
        else:
            plain = not ((word and set(word) <= set("();<>|&")) or any(mark in word for mark in "$`*?~"))
            assert plain, f"{word!r} in {line!r}: only plain commands, joined by &&, can be run by the tests"
            commands[-1].append(word)
    assert all(commands), f"{line!r} has an empty command"
    return commands


def check_install(words: list[str], root: Path) -> None:
    """A ``pip install`` names files and extras that are there."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert words[:2] == ["pip", "install"], f"{shlex.join(words)!r}: only `pip install` is known here"
    arguments = iter(words[2:])
    for argument in arguments:
        if argument == "-c":
            file = next(arguments)
            assert (root / file).is_file(), f"there is no {file}"
            continue
        target = next(arguments) if argument == "-e" else argument
        name, _, extras = target.removesuffix("]").partition("[")
        assert name in (".", project["name"]), f"{target!r} is not this project"
        for extra in filter(None, extras.split(",")):
            assert extra in project["optional-dependencies"], f"pyproject.toml has no extra {extra!r}"


def check_ci(line: str, root: Path) -> None:
    """.ci/run gives the commands of README's line one by one, for `set -e` does not look into ``a && b``."""
    given = [given.strip() for given in (root / ".ci" / "run").read_text().splitlines()]
    for command in line.split("&&"):
        assert command.strip() in given, f".ci/run does not run {command.strip()!r}"


def run_command(words: list[str], folder: Path) -> None:
    """Run one command in a folder; it must end, and well."""
    assert words[0] in PROGRAMS, f"{words[0]!r}: the tests know how to run {sorted(PROGRAMS)}, nothing else"
    ending = ENDINGS.get(words[1], []) if words[0] == "multigrid" and len(words) > 1 else []
    assert "--help" not in ending or len(words) == 2, (
        f"{shlex.join(words)}: nothing would read its arguments; give it a short run in ENDINGS"
    )
    program = PROGRAMS.get(" ".join(words[:2]), PROGRAMS[words[0]])
    around = {**AROUND, "MINARI_DATASETS_PATH": str(folder / "datasets")}
    result = run_python(*program, *words[1:], *ending, cwd=folder, stdin=subprocess.DEVNULL, env=around)
    assert result.returncode == 0, (
        f"{shlex.join(words)} exited with {result.returncode}:\n{result.stdout}{result.stderr}"
    )


def run_shell(block: Block, folder: Path, root: Path = ROOT) -> None:
    """Run the commands of a block one after the other, or check those that cannot be run here."""
    for line in command_lines(block):
        commands = split_commands(line)
        for words in commands:
            if words[0] == "pip":
                check_install(words, root)
            elif words[0] in CHECKED and commands[0][0] == "pip":
                check_ci(line, root)
            else:
                run_command(words, folder)


def execute(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute a block; a traceback shows the page's own lines, and what comments claim is so."""
    monkeypatch.chdir(folder)
    source = "\n" * (block.line - 1) + block.text
    printed: dict[int, list[str]] = {}

    def print_here(*values: object) -> None:
        printed.setdefault(sys._getframe(1).f_lineno, []).append(" ".join(map(str, values)))

    names = {"__name__": "__main__", "print": print_here}
    code = compile(source, str(block.page), "exec")
    exec(code, names)  # noqa: S102 - the page is ours, and this is what a reader does with it
    check_comments(block, source, printed, names)


def check_comments(block: Block, source: str, printed: dict[int, list[str]], names: dict[str, object]) -> None:
    """A comment after ``print`` is what it prints first, then perhaps ``: why``; after ``name =``, dtype (shape)."""
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    for node in ast.walk(ast.parse(source)):
        comment = comments.get(getattr(node, "end_lineno", None) or 0)
        if comment is None:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            (shown, *_) = printed[node.lineno]
            shown = " ".join(shown.split())
            assert comment == shown or comment.startswith(f"{shown}: "), f"{block}: {shown!r}, not {comment!r}"
        claim = ARRAY.match(comment)
        if claim and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            array = names[node.targets[0].id]
            assert f"{array.dtype} {array.shape}" == claim[0], (
                f"{block}: {node.targets[0].id} is {array.dtype} {array.shape}"
            )


def run_block(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a block the way its language says; a language that nothing runs is an error."""
    if block.language == "python":
        execute(block, folder, monkeypatch)
    elif block.language in SHELLS:
        run_shell(block, folder)
    else:
        assert block.language == "text", f"nothing runs {block}; if it is no code, mark it as text"


BLOCKS = [block for page in PAGES for block in find_blocks(page.read_text(encoding="utf-8"), page)]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_works(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of a page does what a reader would expect: it runs without an error or a warning."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    run_block(block, tmp_path, monkeypatch)


@pytest.mark.parametrize("command", [TRAIN, TEST])
def test_readme_gives_the_two_commands(command: str) -> None:
    """The two commands that a newcomer needs stand in README, word for word, beside some Python."""
    blocks = [block for block in BLOCKS if block.page == README]
    assert command in [line for block in blocks if block.language in SHELLS for line in command_lines(block)]
    assert any(block.language == "python" for block in blocks)


SAMPLE = """\
# Title

```python
x = 1
```

1. a list

   ```bash
   multigrid bench \\
     --help  # twice
   ```

~~~text
```python
not code
```
~~~

    indented

<pre>html</pre>
"""


def test_all_kinds_of_blocks_are_found() -> None:
    """Fenced, nested, indented and HTML blocks are found, each with the line it starts on."""
    found = [(block.language, block.line) for block in find_blocks(SAMPLE)]
    assert found == [("python", 4), ("bash", 10), ("text", 15), ("", 20), ("", 22)]


def test_commands_are_read_as_a_shell_reads_them() -> None:
    """Continued lines are one command, comments are none, and of a console block only the ``$`` lines count."""
    assert split_commands(command_lines(find_blocks(SAMPLE)[1])[0]) == [["multigrid", "bench", "--help"]]
    console = Block("console", "$ multigrid bench && pytest -k 'a b'\nsome output\n", 1)
    assert split_commands(command_lines(console)[0]) == [["multigrid", "bench"], ["pytest", "-k", "a b"]]


@pytest.mark.parametrize(
    ("language", "text", "executed"),
    [
        ("text", "open('here', 'w').close()", False),
        ("python", "open('here', 'w').close()", True),
        ("bash", """python -c "open('here', 'w')"\npython -c "open('here')"\n""", True),
        ("console", """$ python -c "open('here', 'w')"\n$ python -c "open('here')"\n""", True),
    ],
)
def test_blocks_are_executed(
    language: str, text: str, executed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code runs in the folder it is given, where a later command finds what an earlier one left; text is left alone."""
    run_block(Block(language, text, 1), tmp_path, monkeypatch)
    assert (tmp_path / "here").exists() == executed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every picture and every page of this project that a page names is there."""
    links = []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        for child in token.children or []:
            links += [str(child.attrs[name]) for name in ("href", "src") if name in child.attrs]
    if page == README:
        assert {f"docs/{other.name}" for other in PAGES[1:]} <= set(links)
    for link in (link.partition("#")[0] for link in links if "://" not in link):
        assert (page.parent / link).exists(), f"{page.name} names {link}, which is not there"


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
        ("bash", "# nothing", "no command"),
        ("console", "multigrid bench", "no command"),
        ("bash", "multigrid no-such-command", "exited with"),
        ("bash", "multigrid play --no-such-flag 3", "nothing would read its arguments"),
        ("bash", "python -c '' && python -c 'raise SystemExit(3)'", "exited with 3"),
        ("bash", "curl example.org", "curl"),
        ("bash", "pytest -x", "pytest"),
        ("bash", "multigrid bench | head", "plain commands"),
        ("bash", "multigrid replay runs/*", "plain commands"),
        ("bash", "multigrid replay $HOME", "plain commands"),
        ("bash", "multigrid bench &&", "empty command"),
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
def test_broken_blocks_fail(
    language: str, text: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way in which a block may be wrong, or not be run at all, is an error that says so."""
    with pytest.raises((AssertionError, RuntimeError, DeprecationWarning), match=complaint):
        run_block(Block(language, text, 1), tmp_path, monkeypatch)
