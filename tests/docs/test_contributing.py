"""docs/contributing: what the pages name exists."""

import ast
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import multigrid

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PACKAGE = Path(multigrid.__file__).parent
PAGES = sorted((ROOT / "docs" / "contributing").glob("*.md"))
IN_PAGES = {page.stem: page for page in PAGES}
TOP = {path.name for path in ROOT.iterdir()}


def parse(path):
    """The tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def find_steps():
    """Yield the file and the functions of each numbered step of the walk."""
    file = ""
    for line in IN_PAGES["step"].read_text(encoding="utf-8").splitlines():
        file = line.strip("*`") if line.startswith("**`") else file
        if step := re.match(r"\d+\. ((`[\w.]+`(, )?)+): ", line):
            yield file, step[1].replace("`", "").split(", ")


def definitions(path):
    """The functions, classes and constants that a file defines, with the class in front of a method's name."""
    found, waiting = set(), [("", node) for node in parse(path).body]
    for prefix, node in waiting:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(prefix + node.name)
        if isinstance(node, ast.ClassDef):
            waiting += [(f"{prefix}{node.name}.", inner) for inner in node.body]
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = [name for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
            found.update(prefix + name.id for name in names)
        if isinstance(node, ast.If):
            waiting += [(prefix, inner) for inner in (*node.body, *node.orelse)]
    return found


@pytest.fixture(scope="module")
def defined():
    """What any file of the package or of the tests defines, methods with and without their class."""
    found = set().union(*map(definitions, [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]))
    return found | {name.rpartition(".")[2] for name in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page, defined):
    """Paths are there, names with an underscore or a capital defined somewhere, but for files that the page adds."""
    text = page.read_text(encoding="utf-8")
    files = re.findall("<!-- file: (.*) -->", text)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    children = [child for token in tokens for child in token.children or []]
    for span in [child.content for child in children if child.type == "code_inline"]:
        first, *words = span.split()
        paths = [first.rstrip("/")] if first.split("/")[0] in TOP and first.rstrip("/") not in files else []
        for path in [*paths, *(word for word in words if word.startswith("tests/"))]:
            assert "NAME" in path or (ROOT / path).exists(), f"{page.name} names {path}"
        is_name = re.fullmatch(r"[A-Za-z_]+(\.[A-Za-z_]+)?", span) and re.search(r"[A-Z_]", span)
        if is_name and not span.endswith(".py") and not (ROOT / span).exists():
            assert span in defined, f"{page.name} names {span}"


def called(path, function):
    """Return the names that a function of a file calls."""
    (found,) = [node for node in ast.walk(parse(path)) if getattr(node, "name", "") == function]
    return {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(found) if isinstance(node, ast.Call)}


def test_the_walk_goes_the_way_of_the_code():
    """Files define the functions of the walk; those of a world's step are the kernel's, in the order of the page."""
    core = PACKAGE / "core"
    rules, walk = core / "rules.py", list(find_steps())
    assert len(walk) > 10
    for file, functions in walk:
        assert set(functions) <= definitions(ROOT / file), f"{file} does not define all of {functions}"
    names = [name for file, functions in walk if ROOT / file == rules for name in functions]
    sources = {node.name: ast.unparse(node) for node in parse(rules).body if isinstance(node, ast.FunctionDef)}
    moves, rest = (re.findall(r"\b\w+(?=\()", sources[name])[1:] for name in ("play_step", "step_agents"))
    # Without the hooks of games, and without delays.
    moves, rest = ([name for name in names if name in sources] for names in (moves, rest))
    assert [rest[0], *moves, *rest[1:]] == names[names.index("step_agents") + 1 :]
    assert {"find_bad_action", "play_worlds", "observe_worlds"} <= called(core / "observe.py", "step_and_observe")
    calls = {"_write_actions", "step", "observations_by_agent", "infos_by_agent"}
    assert called(PACKAGE / "envs" / "parallel.py", "step") >= calls


def test_the_table_of_layers_is_that_of_the_test():
    """The house's table is the layers of tests/test_layers.py, with the first line of each folder's docstring."""
    assigned = [node for node in parse(ROOT / "tests" / "test_layers.py").body if isinstance(node, ast.Assign)]
    (layers,) = [node.value for node in assigned if ast.unparse(node.targets[0]) == "LAYERS"]
    expected = []
    for number, names in enumerate(ast.literal_eval(layers), start=1):
        files = [f"`{name}.py`" for name in sorted(names) if (PACKAGE / f"{name}.py").exists()]
        expected += [f"| {number} | {', '.join(files)} | |"] * bool(files)
        for name in sorted(names):
            if (PACKAGE / name).is_dir():
                meaning = (ast.get_docstring(parse(PACKAGE / name / "__init__.py")) or "").splitlines()[0]
                expected.append(f"| {number} | `{name}` | {meaning.replace('``', '`')} |")
    page, _, _ = IN_PAGES["house"].read_text(encoding="utf-8").partition("Some more rules")
    lines = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert lines == expected, "write into docs/contributing/house.md:\n" + "\n".join(expected)
