"""What a release needs: files that agree on its version, workflows that call scripts, a wheel without traces."""

import re
import runpy
import zipfile
from pathlib import Path

import pytest
import yaml

import multigrid

ROOT = Path(__file__).parents[1]
NAMES = ("CITATION.cff", "codemeta.json", "pyproject.toml", "CHANGELOG.md")
FILES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def run_script(name):
    """What a script of .ci defines."""
    return runpy.run_path(str(ROOT / ".ci" / f"{name}.py"))


NOTES = run_script("release_notes")


def find_mistakes(**other):
    """What is wrong with the files of the tree where some have another content."""
    citation, codemeta, project, changelog = (other.get(name.partition(".")[0].lower(), FILES[name]) for name in NAMES)
    return NOTES["find_mistakes"](citation, codemeta, project, multigrid.__version__, changelog)


def test_all_files_describe_one_version():
    """CITATION.cff, codemeta.json, CHANGELOG.md and pyproject.toml agree with multigrid/_version.py."""
    assert find_mistakes() == []
    assert (
        NOTES["read_citation"](FILES["CITATION.cff"])["keywords"] == yaml.safe_load(FILES["CITATION.cff"])["keywords"]
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("citation", "version: 0", "version: 9", "CITATION.cff's version is '9.1.0'; expected '0.1.0'"),
        ("citation", "type:", "kind:", "CITATION.cff has kind, which its format does not know"),
        ("citation", "title:", "name:", "CITATION.cff has no title"),
        ("codemeta", '"0.1.0"', '"0.2.0"', "codemeta.json's version is '0.2.0'; expected '0.1.0'"),
        ("codemeta", '"name": "multigrid",', '"nom": "multigrid",', "codemeta.json has nom, which is no term here"),
        ("changelog", "## [0.1.0]", "## [0.0.9]", "CHANGELOG.md has no section 0.1.0 with a date"),
        ("pyproject", '">=3.10"', '">=3.11"', "runtimePlatform is 'Python >=3.10'; expected 'Python >=3.11'"),
    ],
)
def test_what_disagrees_is_named(file, old, new, said):
    """A file that describes another version, or has a field that its format does not know, is named with the field."""
    text = next(FILES[name] for name in NAMES if name.lower().startswith(file))
    assert old in text
    assert any(said in mistake for mistake in find_mistakes(**{file: text.replace(old, new, 1)}))


def test_a_tag_is_that_of_the_version(monkeypatch, capsys):
    """Another tag than the version's is refused, and any beside unreleased changes; the notes are its section."""
    files = {**FILES, "multigrid/_version.py": f'__version__ = "{multigrid.__version__}"\n'}
    monkeypatch.setitem(NOTES["main"].__globals__, "read", files.get)
    tag, (_, section) = f"v{multigrid.__version__}", FILES["CHANGELOG.md"].split(f"## [{multigrid.__version__}]")
    files["CHANGELOG.md"] = f"# Changelog\n\n## [Unreleased]\n\n## [{multigrid.__version__}]{section}"
    NOTES["main"](tag)
    assert capsys.readouterr().out.strip() == section.partition("\n")[2].strip()
    with pytest.raises(SystemExit, match=rf"^the tag is v9; expected {re.escape(tag)}, [^\n]+$"):
        NOTES["main"]("v9")
    files["CHANGELOG.md"] = files["CHANGELOG.md"].replace("[Unreleased]\n", "[Unreleased]\n\n- New.\n")
    with pytest.raises(SystemExit, match=r"^CHANGELOG\.md lists changes as unreleased"):
        NOTES["main"](tag)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_only_calls_what_can_be_called_here(path):
    """Each step is one line without branches, the scripts that it calls are there, and each action has a version."""
    text = path.read_text(encoding="utf-8")
    for job in yaml.safe_load(text)["jobs"].values():
        assert "if" not in job
        for step in job.get("steps", [job]):
            assert "if" not in step
            assert re.fullmatch(r"\./\.github/workflows/\w+\.yml|[\w-]+/[\w-]+@v[\d.]+", step.get("uses", "a/b@v1"))
            command = step.get("run", "")
            assert not re.search(r"[\n;`]|\|\||\bif\b|\bfor\b|\$\(", command), command
            called = re.findall(r"\.ci/[\w.]+", command)
            assert all((ROOT / name).is_file() for name in called)
    assert "secrets." not in text
    assert "permissions:" in text


def test_the_matrix_has_every_python_on_three_systems():
    """The light part of the suite runs on three systems, and there on each Python of pyproject.toml."""
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["light"]["strategy"]["matrix"]
    assert matrix["python"] == re.findall(r'"Programming Language :: Python :: (3\.\d+)"', FILES["pyproject.toml"])
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("multigrid/a.py", b"x = 1", []),
        ("multigrid/a.py", b"# at the host box-17.", ["multigrid/a.py holds box-17"]),
        ("multigrid/a.so", b"\0/home/someone/a.c\0", ["multigrid/a.so holds b'/home/s'"]),
        ("multigrid/a.so", rb"C:\Users\someone", ["multigrid/a.so holds b'C:\\\\Users\\\\'"]),
        ("multigrid/tests/a.py", b"", ["multigrid/tests/a.py is a test"]),
        ("conftest.py", b"", ["conftest.py is a test"]),
    ],
)
def test_a_trace_of_the_machine_is_found(name, content, said, tmp_path):
    """A wheel with a test, a folder of the machine that built it, or that machine's name is refused."""
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(name, content)
    assert run_script("check_traces")["find_traces"](tmp_path / "a.whl", [b"box-17"]) == said
