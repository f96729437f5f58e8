"""docs/contributing: what the pages name exists, and their changes of the package work."""

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import multigrid

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PACKAGE = Path(multigrid.__file__).parent
PAGES = sorted((ROOT / "docs" / "contributing").glob("*.md"))
IN_PAGES = {page.stem: page for page in PAGES}
HOW_TO = [IN_PAGES[name] for name in ("face", "observation_part", "on_target_rule")]
TOP = {path.name for path in ROOT.iterdir()}
# `print` is compared with the comment behind it, as in test_readme.py.
CHECKED = """
import sys
import pytest
from pathlib import Path
from pages import Block, execute

with pytest.MonkeyPatch.context() as patch:
    execute(Block("python", sys.argv[1], 1), Path.cwd(), patch)
"""


def apply(change, root):
    """Apply a change without line numbers: the old lines of each hunk stand in the file exactly once."""
    name, _, hunks = change.removeprefix("--- ").partition("\n")
    path = root / name
    source = path.read_text(encoding="utf-8")
    for hunk in re.split(r"^@@\n", hunks, flags=re.MULTILINE):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        count = f"\n{source}".count(f"\n{old}")
        assert count == 1, f"{name} has {count} times {old!r}"
        source = f"\n{source}".replace(f"\n{old}", f"\n{new}")[1:]
    path.write_text(source, encoding="utf-8")


def make_changes(page, root):
    """Make a page's changes in a copy of the package; return the programs that come after them."""
    comment, programs = "", []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.info == "diff":
            apply(token.content, root)
        elif token.type == "fence" and comment.startswith("file: "):
            path = root / comment.removeprefix("file: ")
            assert not path.exists()
            path.write_text(token.content, encoding="utf-8")
            name = comment.removeprefix("file: ").removesuffix(".py").replace("/", ".")
            programs.append(f"import doctest\nimport {name}\nprint(doctest.testmod({name}).failed)  # 0")
        elif token.type == "fence" and comment == "after the changes":
            programs.append(token.content)
        comment = token.content.strip()[4:-3].strip() if token.type == "html_block" else ""
    return programs


def find_spans(page):
    """Yield the code spans of a page."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        yield from (child.content for child in token.children or [] if child.type == "code_inline")


def find_steps():
    """Yield the file and the functions of each numbered step of the walk."""
    file = ""
    for line in IN_PAGES["step"].read_text(encoding="utf-8").splitlines():
        file = line.strip("*`") if line.startswith("**`") else file
        if step := re.match(r"\d+\. ((`[\w.]+`(, )?)+): ", line):
            yield file, step[1].replace("`", "").split(", ")


@functools.cache
def definitions(path):
    """The functions, classes and constants that a file defines, with the class in front of a method's name."""
    found = set()

    def collect(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
                found.update(prefix + name.id for name in names)
            if isinstance(node, ast.If):
                collect([*node.body, *node.orelse], prefix)

    collect(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


@functools.cache
def all_definitions():
    """What any file of the package or of the tests defines, methods with and without their class."""
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    found = set().union(*map(definitions, files))
    return found | {name.rpartition(".")[2] for name in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    """Each path in a page is there, but for a file that the page itself adds."""
    added = re.findall("<!-- file: (.*) -->", page.read_text(encoding="utf-8"))
    for span in find_spans(page):
        path = span.split()[0].rstrip("/")
        if path.split("/")[0] in TOP and path not in added and "NAME" not in path:
            assert (ROOT / path).exists(), f"{page.name} names {path}"
        for word in span.split()[1:]:
            if word.startswith("tests/") and "NAME" not in word:
                assert (ROOT / word).exists(), f"{page.name} names {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_a_page_gives_exist(page):
    """Each function, class and constant with an underscore or a capital in a page is defined somewhere."""
    added = {line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("+")}
    for span in find_spans(page):
        is_name = re.fullmatch(r"[A-Za-z_]+(\.[A-Za-z_]+)?", span) and re.search(r"[A-Z_]", span)
        if is_name and not span.endswith(".py") and not (ROOT / span).exists():
            assert span in all_definitions() or any(span in line for line in added), f"{page.name} names {span}"


def test_each_function_of_the_walk_stands_in_its_file():
    """Each row of the walk names a file and functions that it defines."""
    steps = list(find_steps())
    assert len(steps) > 10
    for file, functions in steps:
        assert set(functions) <= definitions(ROOT / file), f"{file} does not define all of {functions}"


def called(path, function):
    """Return the names that a function of a file calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (found,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function]
    return {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(found) if isinstance(node, ast.Call)}


def test_the_walk_goes_the_way_of_the_code():
    """The functions between a world's step and its end are those that the kernel calls, in the order of the page."""
    core = PACKAGE / "core"
    rules = core / "rules.py"
    walk = [name for file, functions in find_steps() if ROOT / file == rules for name in functions]
    steps = walk[walk.index("_step_agents") + 1 :]
    source = ast.unparse(next(n for n in ast.parse(rules.read_text()).body if getattr(n, "name", "") == "_step_agents"))
    assert re.findall(r"\b_\w+(?=\()", source)[1:] == steps
    assert {"find_bad_action", "play_worlds", "observe_worlds"} <= called(core / "observe.py", "step_and_observe")
    calls = {"_write_actions", "step", "observations_by_agent", "infos_by_agent"}
    assert called(PACKAGE / "envs" / "parallel.py", "step") >= calls


def test_the_table_of_layers_is_that_of_the_test():
    """The list of the house is the layers of tests/test_layers.py, with the first line of each module's docstring."""
    expected = []
    for number, names in enumerate(layers(), start=1):
        expected.append(f"**Layer {number}**")
        for name in sorted(names):
            is_file = (PACKAGE / f"{name}.py").exists()
            path = PACKAGE / (f"{name}.py" if is_file else f"{name}/__init__.py")
            meaning = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
            expected.append(f"- `{name}{'.py' * is_file}`: {meaning.replace('``', '`')}")
    page, _, _ = IN_PAGES["house"].read_text(encoding="utf-8").partition("Some more rules")
    lines = [line for line in page.splitlines() if line.startswith(("**Layer", "- "))]
    assert lines == expected, "write into docs/contributing/house.md:\n" + "\n".join(expected)


def layers():
    """Return the list of tests/test_layers.py, which is read and not imported."""
    for node in ast.parse((ROOT / "tests" / "test_layers.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS":
            return ast.literal_eval(node.value)
    raise AssertionError("tests/test_layers.py has no LAYERS")


@pytest.fixture
def copy(tmp_path):
    """A folder with a copy of the package."""
    shutil.copytree(PACKAGE, tmp_path / "multigrid", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    return tmp_path


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.name)
@pytest.mark.parametrize("kernels", ["interpreted", pytest.param("compiled", marks=pytest.mark.long)])
def test_changes_of_a_page_work(page, kernels, copy):
    """A page's changes can be made in a copy of the package, and the program after them prints what the page says."""
    programs = make_changes(page, copy)
    assert programs
    jit = {"interpreted": {"NUMBA_DISABLE_JIT": "1"}, "compiled": {"NUMBA_CACHE_DIR": str(copy / "cache")}}
    around = {**os.environ, "PYTHONPATH": f"{copy}:{ROOT / 'tests'}:{ROOT / 'tests' / 'docs'}", **jit[kernels]}
    for program in programs:
        command = [sys.executable, "-c", CHECKED, program]
        done = subprocess.run(command, cwd=copy, env=around, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("--- a.py\n-c\n+d\n", r"a.py has 0 times 'c\\n'"),
        ("--- a.py\n a\n+d\n", r"a.py has 2 times 'a\\n'"),
        ("--- a.py\n-  b\n+d\n@@\n-b\n+c\n", r"a.py has 0 times 'b\\n'"),
    ],
)
def test_a_change_that_does_not_fit_is_an_error(change, complaint, tmp_path):
    """The old lines of a change stand in the file exactly once, whole lines, or there is an error."""
    (tmp_path / "a.py").write_text("a\n  b\na\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=complaint):
        apply(change, tmp_path)


def test_a_change_replaces_its_lines(tmp_path):
    """A change takes the lines with - away, puts those with + in their place, and leaves all others."""
    (tmp_path / "a.py").write_text("a\n  b\na\nc\n", encoding="utf-8")
    apply("--- a.py\n   b\n-a\n+d\n+\n@@\n+e\n c\n", tmp_path)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "a\n  b\nd\n\ne\nc\n"
