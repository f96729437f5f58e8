"""The code blocks of the pages, and how each is run: what a page shows works.

- ``python`` blocks are executed, each by itself, in an empty folder; comments after ``print`` are what it prints. The
  ``{code-cell}`` blocks of a notebook are executed as one program, as they are when the site is built.
- ``bash`` and ``console`` blocks are plain commands. ``pip install``, and ``apt-get``, ``pytest`` and ``sphinx-build``
  after it, are checked against pyproject.toml, .ci/recipes and noxfile.py (which really does them); every other command
  is run, in an empty folder a block. The lines after a command of a ``console`` block are those that it prints; ``...``
  stands for any lines.
- ``text`` blocks are output, maps, diagrams: not code. Other directives of the site are none, either.

Any other block fails, for then nobody would know whether it works. A block whose language is followed by
``recipe=NAME`` needs the environment of .ci/recipes/NAME.txt: a test_NAME.py in a folder ``recipes`` runs it there. A
percentage that is printed may be five points from the page's, for trainings on different processors differ.
"""

import ast
import io
import re
import shlex
import subprocess
import sys
import tokenize
import types
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from helpers import AROUND, QUICKER_BENCH, run_python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BY_HAND = ("*.md", "games/*.md", "how_to/**/*.md", "coming_from/**/*.md", "contributing/**/*.md")
PAGES = [README, *sorted(page for pattern in BY_HAND for page in (ROOT / "docs").glob(pattern))]
"""The pages that are written by hand; programs write the others."""

CHECKED = ("apt-get", "pytest", "sphinx-build")
SHELLS = ("bash", "console")
HIDDEN_CODE = ("code", "code-block", "sourcecode", "doctest")
ARRAY = re.compile(r"(?:bool|float\d+|u?int\d+) \([\d, ]*\)")
PERCENTAGE = re.compile(r"([\d.]+)(?= ?%)")
PROGRAMS = {"multigrid": ["-m", "multigrid"], "python": [], "python -m benchmarks": ["-c", QUICKER_BENCH]}
# Bare commands to which the tests add `--help`: a whole training takes minutes, and a game waits for somebody's keys.
# tyro then reads no other argument, so a game with arguments is refused; a training with arguments is a short one.
BARE = ("train", "play")


@dataclass(frozen=True)
class Block:
    """One code block: language, text, the line it starts on (from 1), its page, and the recipe that runs it, if any."""

    language: str
    text: str
    line: int
    page: Path = README
    recipe: str = ""

    def __str__(self):
        """Where it is, as editors and pytest's ids show it."""
        return f"{self.page.name}:{self.line} ({self.language or 'no language'})"


def find_blocks(markdown, page=README):
    """Return all code blocks of a page: fenced, indented, and those written in HTML; its cells are one block."""
    if markdown.startswith("---\n"):  # front matter; its lines are kept, for they count
        end = markdown.index("\n---\n", 3) + 5
        markdown = "\n" * markdown[:end].count("\n") + markdown[end:]
    blocks, cells = [], [""] * (markdown.count("\n") + 1)
    for token in MarkdownIt("commonmark").parse(markdown):
        is_code = token.type in ("fence", "code_block") or (token.type == "html_block" and "<pre" in token.content)
        if not is_code:
            continue
        assert token.map is not None
        fenced = token.type == "fence"
        first = token.map[0] + fenced
        language, *options = token.info.split() if fenced and token.info.strip() else [""]
        if language == "{code-cell}":
            lines = token.content.splitlines()
            cells[first : first + len(lines)] = ["" if line.startswith(":") else line for line in lines]
            continue
        directive = language.strip("{}")
        if language == f"{{{directive}}}" and directive not in HIDDEN_CODE:
            continue
        recipe = "".join(option.removeprefix("recipe=") for option in options if option.startswith("recipe="))
        blocks.append(Block(language, token.content, first + 1, page, recipe))
    if any(cells):
        blocks.append(Block("python", "\n".join(cells) + "\n", 1, page))
    return blocks


def blocks_of_recipe(name):
    """Return the blocks of all pages that run in the environment of a recipe; that there is none is an error."""
    blocks = [block for page in PAGES for block in find_blocks(page.read_text("utf-8"), page) if block.recipe == name]
    if not blocks:
        raise ValueError(f"no page has a block with recipe={name}")
    return blocks


def install_lines(root):
    """Return the lines that install what each recipe needs, without what only its tests need."""
    files = [path.read_text("utf-8").partition("\n")[0] for path in (root / ".ci" / "recipes").glob("*.txt")]
    return {line.removeprefix("# install: ").replace(" pytest hypothesis", "") for line in files}


def agree(claimed, shown):
    """Whether a line says what a page claims; a percentage may be five points from it."""
    claims, figures = PERCENTAGE.split(claimed), PERCENTAGE.split(shown)
    pairs = zip(claims[1::2], figures[1::2], strict=False)
    return claims[::2] == figures[::2] and all(abs(float(one) - float(other)) <= 5 for one, other in pairs)


def check_output(claims, printed, block):
    """The lines that a page shows after a command are those that it prints, but where ``...`` stands for any."""
    lines, skips = [line.rstrip() for line in printed.splitlines() if line.strip()], False
    for claim in claims:
        if claim.strip() == "...":
            skips = True
            continue
        while skips and lines and not agree(claim, lines[0]):
            lines.pop(0)
        assert agree(claim, lines[0] if lines else ""), f"{block}: {claim!r} is not what is printed:\n{printed}"
        lines.pop(0)
        skips = False
    assert skips or not claims or not lines, f"{block}: {lines[:3]} is printed, too"


def command_lines(block):
    """The commands of a shell block, each with the output that a console block shows after it."""
    commands = []
    for line in block.text.replace("\\\n", " ").splitlines():
        is_output = block.language == "console" and not line.startswith("$ ")
        if is_output and commands and line.strip():
            commands[-1][1].append(line.rstrip())
        elif not is_output and line.strip() and not line.lstrip().startswith("#"):
            commands.append((line.removeprefix("$ ").strip(), []))
    assert commands, f"{block} holds no command"
    return commands


def split_commands(line):
    """The words of each command in ``a && b``. Other shell grammar is refused: it would not be run as meant."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "#", True
    commands = [[]]
    for word in lexer:
        if word == "&&":
            commands.append([])
        else:
            plain = not ((word and set(word) <= set("();<>|&")) or any(mark in word for mark in "$`*?~"))
            assert plain, f"{word!r} in {line!r}: only plain commands, joined by &&, can be run by the tests"
            commands[-1].append(word)
    assert all(commands), f"{line!r} has an empty command"
    return commands


def check_install(words, root):
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


def check_ci(line, root):
    """A session of noxfile.py runs the line of a page that ends with this line's last command."""
    last = line.rpartition("&&")[2].strip()
    assert f'.md", "{last}"' in (root / "noxfile.py").read_text(), f"noxfile.py does not run {last!r}"


def run_command(words, folder):
    """Run one command in a folder; it must end, and well. Return what it prints."""
    assert words[0] in PROGRAMS, f"{words[0]!r}: the tests know how to run {sorted(PROGRAMS)}, nothing else"
    assert words[:2] != ["multigrid", "play"] or len(words) == 2, f"{words}: nothing would read its arguments"
    ending = ["--help"] if len(words) == 2 and words[0] == "multigrid" and words[1] in BARE else []
    known = 3 if " ".join(words[:3]) in PROGRAMS else 1
    program = PROGRAMS[" ".join(words[:known])]
    around = {**AROUND, "MINARI_DATASETS_PATH": str(folder / "datasets")}
    result = run_python(*program, *words[known:], *ending, cwd=folder, stdin=subprocess.DEVNULL, env=around)
    assert result.returncode == 0, f"{words} exited with {result.returncode}:\n{result.stdout}{result.stderr}"
    return result.stdout


def run_shell(block, folder, root=ROOT):
    """Run the commands of a block one after the other, or check those that cannot be run here."""
    for line, claims in command_lines(block):
        if line in install_lines(root):
            continue
        printed, commands = "", split_commands(line)
        for words in commands:
            if words[0] == "pip":
                check_install(words, root)
            elif words[0] in CHECKED and commands[0][0] == "pip":
                check_ci(line, root)
            else:
                printed += run_command(words, folder)
        check_output(claims, printed, block)


def execute(block, folder, monkeypatch):
    """Execute a block; a traceback shows the page's own lines, and what comments claim is so."""
    monkeypatch.chdir(folder)
    source = "\n" * (block.line - 1) + block.text
    printed = {}

    def print_here(*values):
        printed.setdefault(sys._getframe(1).f_lineno, []).append(" ".join(map(str, values)))

    # Classes of a program can be pickled, as those of a notebook.
    program = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", program)
    names = vars(program)
    names["print"] = print_here
    code = compile(source, str(block.page), "exec", dont_inherit=True)  # not the annotations of this file
    exec(code, names)  # noqa: S102 - the page is ours, and this is what a reader does with it
    check_comments(block, source, printed, names)


def check_comments(block, source, printed, names):
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
            said = agree(comment, shown) or comment.startswith(f"{shown}: ")
            assert said, f"{block}: {shown!r}, not {comment!r}"
        claim = ARRAY.match(comment)
        if claim and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            array = names[node.targets[0].id]
            said = f"{array.dtype} {array.shape}"
            assert said == claim[0], f"{block}: {node.targets[0].id} is {said}"


def run_block(block, folder, monkeypatch):
    """Run a block the way its language says; a language that nothing runs is an error."""
    if block.language == "python":
        execute(block, folder, monkeypatch)
    elif block.language in SHELLS:
        run_shell(block, folder)
    else:
        assert block.language == "text", f"nothing runs {block}; if it is no code, mark it as text"


def is_site_current(last, root):
    """Whether the last file that a build writes is newer than all that the site is built from."""
    if not last.is_file():
        return False
    found = (path for name in ("docs", "multigrid") for path in (root / name).rglob("*"))
    sources = [path for path in found if path.is_file() and "__pycache__" not in path.parts]
    sources += [root / "README.md", root / "CHANGELOG.md"]
    return max(path.stat().st_mtime for path in sources) < last.stat().st_mtime
