"""What a release needs: files that agree on its version, workflows that call scripts, a wheel without traces."""

import re
import runpy
import zipfile
from pathlib import Path

import pytest
import yaml

from multigrid import __version__

ROOT = Path(__file__).parents[1]
WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}
NOTES, TRACES = (runpy.run_path(str(ROOT / ".ci" / name)) for name in ("release_notes.py", "check_traces.py"))
FILES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NOTES["NAMES"]}


def find_mistakes(files):
    """What is wrong with files that describe the version of the tree."""
    return NOTES["find_mistakes"](files, __version__)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("CITATION.cff", "version: 0", "version: 9", "CITATION.cff's version is '9.1.0'; expected '0.1.0'"),
        ("CITATION.cff", "type:", "kind:", "CITATION.cff has kind, which its format does not know"),
        ("codemeta.json", '"0.1.0"', '"0.2.0"', "codemeta.json's version is '0.2.0'; expected '0.1.0'"),
        ("codemeta.json", '"name": "mul', '"nom": "mul', "codemeta.json has nom, which is no term here"),
        ("CHANGELOG.md", "## [0.1.0]", "## [0.0.9]", "CHANGELOG.md has no section 0.1.0 with a date"),
        ("pyproject.toml", '">=3.10"', '">=3.11"', "runtimePlatform is 'Python >=3.10'; expected 'Python >=3.11'"),
    ],
)
def test_all_files_describe_one_version(name, old, new, said):
    """The files agree with multigrid/_version.py; one that does not, or has an unknown field, is named with it."""
    assert find_mistakes(FILES) == []
    assert (
        NOTES["read_citation"](FILES["CITATION.cff"])["keywords"] == yaml.safe_load(FILES["CITATION.cff"])["keywords"]
    )
    assert any(said in mistake for mistake in find_mistakes(FILES | {name: FILES[name].replace(old, new, 1)}))


def test_a_tag_is_that_of_the_version(monkeypatch, capsys):
    """Another tag than the version's is refused, and any beside unreleased changes; the notes are its section."""
    tag, section = f"v{__version__}", FILES["CHANGELOG.md"].split(f"## [{__version__}]")[1]
    changelog = f"# Changelog\n\n## [Unreleased]\n\n## [{__version__}]{section}"
    files = {**FILES, "multigrid/_version.py": f'__version__ = "{__version__}"\n', "CHANGELOG.md": changelog}
    monkeypatch.setitem(NOTES["main"].__globals__, "read", files.get)
    NOTES["main"](tag)
    assert capsys.readouterr().out.strip() == section.partition("\n")[2].strip()
    with pytest.raises(SystemExit, match=rf"^the tag is v9; expected {re.escape(tag)}, [^\n]+$"):
        NOTES["main"]("v9")
    files["CHANGELOG.md"] = changelog.replace("[Unreleased]\n", "[Unreleased]\n\n- New.\n")
    with pytest.raises(SystemExit, match=r"^CHANGELOG\.md lists changes as unreleased"):
        NOTES["main"](tag)


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_a_workflow_only_calls_what_can_be_called_here(name):
    """Each step is one command without branches, its scripts are there, and each action has a version."""
    for job in yaml.safe_load(WORKFLOWS[name])["jobs"].values():
        for step in [*job.get("steps", []), job]:
            assert "if" not in step
            assert re.fullmatch(r"\./\.github/workflows/\w+\.yml|[\w-]+/[\w-]+@v[\d.]+", step.get("uses", "a/b@v1"))
            command = step.get("run", "")
            assert not re.search(r"[\n;`]|\|\||\bif\b|\bfor\b|\$\(", command), command
            assert all((ROOT / script).is_file() for script in re.findall(r"\.ci/[\w.]+", command))
    assert "secrets." not in WORKFLOWS[name]
    assert "permissions:" in WORKFLOWS[name]


def test_the_light_part_is_run_everywhere():
    """It is run on three systems, with each Python of pyproject.toml."""
    matrix = yaml.safe_load(WORKFLOWS["tests"])["jobs"]["light"]["strategy"]["matrix"]
    assert matrix["python"] == re.findall(r'"Programming Language :: Python :: (3\.\d+)"', FILES["pyproject.toml"])
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]


def test_sessions_are_run_before_a_merge_and_by_workflows():
    """.ci/run runs each session of noxfile.py; workflows run those that take no hours, and each recipe."""
    sessions = re.findall(r"^@nox\.session.*\n(?:@nox.*\n)?def (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE)
    commands = re.sub(r"#.*", "", (ROOT / ".ci" / "run").read_text())
    assert {*re.findall(r'\b(?:tested|other) "?([a-z]+)', commands)} == {*sessions}
    jobs = [job for text in WORKFLOWS.values() for job in yaml.safe_load(text)["jobs"].values()]
    matrices = [job.get("strategy", {}).get("matrix", {}) for job in jobs]
    named = re.findall(r'nox -s "?([a-z]+)', "\n".join(WORKFLOWS.values()))
    named += " ".join(name for matrix in matrices for name in matrix.get("session", [])).split()
    assert {*named} == {*sessions} - {"long", "mutants"}
    (recipes,) = [matrix["recipe"] for matrix in matrices if "recipe" in matrix]
    assert recipes == sorted(path.stem for path in ROOT.glob(".ci/recipes/*.txt"))


def test_a_trace_of_the_machine_is_found(tmp_path):
    """In a wheel, a test, a folder of the machine that built it, and that machine's name are found."""
    files = {
        "a.py": b"x = 1",
        "b.py": b"# on box-17.",
        "c.so": b"\0/home/one/c.c",
        "tests/d.py": b"",
        "conftest.py": b"",
    }
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    said = ["b.py holds box-17", "c.so holds b'/home/o'", "tests/d.py is a test", "conftest.py is a test"]
    assert TRACES["find_traces"](tmp_path / "a.whl", [b"box-17"]) == said
