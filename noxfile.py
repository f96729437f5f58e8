"""The checks, each in an environment of its own: `nox --list` lists them, and `nox -s lint` runs one.

.ci/run and the workflows of .github run these sessions. One whose Python is missing is skipped, on GitHub an error.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "tests"]

ROOT = Path(__file__).parent
PYTHONS = nox.project.python_versions(nox.project.load_toml(ROOT / "pyproject.toml"))
RECIPES = sorted(path.stem for path in ROOT.glob(".ci/recipes/*.txt"))
TESTED = ("-c", "constraints.txt", "-e", ".[test]")
PYTEST = ("pytest", "-p", "no:cacheprovider")
ONCE = "--max-worker-restart=0"  # pytest-xdist would run a test that ended its process nine times
COMPILED = {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"}


def run_line(session: nox.Session, page: str, last: str, *arguments: str) -> None:
    """Run the line of a page that installs something and ends with a command, to which arguments are added."""
    (line,) = re.findall(rf"^pip install .* && {re.escape(last)}$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    *installs, command = (shlex.split(part) for part in line.split(" && "))
    for install in installs:
        session.run_install(*install, external=True)
    session.run(*command, *arguments)


def install_light(session: nox.Session, *constraints: str, package: tuple[str, ...] = ("-e", ".[light]")) -> None:
    """Install the package and what the light tests need: those without a learner, a browser or a display."""
    session.install(*constraints, *package)
    session.run_install("pip", "check")
    session.run_install("pip", "list")


def run_light(session: nox.Session) -> None:
    """Run the light tests, and those of the folders that are named in addition, which `pytest` alone leaves out."""
    session.run(*PYTEST, "--light")
    if session.posargs:
        session.run(*PYTEST, "--light", *session.posargs)


# -- the tested set ----------------------------------------------------------------------------------------------------


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style of all files with ruff."""
    session.install("-c", "constraints.txt", "ruff")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session(python=False)
def workflows(session: nox.Session) -> None:
    """Check the workflows with actionlint."""
    session.run(".ci/lint_workflows", external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Check the annotations with mypy."""
    session.install(*TESTED)
    session.run("mypy", "--strict", "multigrid/", "examples/", "tests/envs/typed_calls.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests with README's own commands; `nox -s tests -- tests/planning` runs those of a folder."""
    run_line(session, "README.md", "pytest -n 2 --dist loadfile", ONCE, *session.posargs)
    session.run_install("pip", "check")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site, and test the pages and the site."""
    run_line(session, "docs/contributing/checks.md", "sphinx-build -W docs site")
    run_line(session, "README.md", "pytest -n 2 --dist loadfile", ONCE, "tests/docs", "tests/site")


@nox.session
def long(session: nox.Session) -> None:
    """Run tests that take hours: `nox -s long -- -m long`."""
    session.install(*TESTED)
    session.run(*PYTEST, "--long", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Change the rules in many ways, each of which a test must notice."""
    session.install(*TESTED)
    session.run("python", "tests/mutants.py", "--jobs", "2")


@nox.session
def wheels(session: nox.Session) -> None:
    """Build the sdist, the pure wheel and the one with kernels for this platform, in dist or another folder."""
    folder = Path(*session.posargs or ["dist"])
    session.install(*TESTED)
    build = ("python", "-m", "build", "--no-isolation", "--outdir", str(folder))
    session.run(*build)
    session.run(*build, "--wheel", env=COMPILED)
    check_distributions(session, folder)


@nox.session
def release(session: nox.Session) -> None:
    """Do all that a tag does, but for publishing: each distribution is built twice, and the compiled wheel is used."""
    folder = Path(*session.posargs or ["dist"])
    session.install(*TESTED)
    session.run("python", ".ci/release_notes.py")
    session.run("python", ".ci/build_twice.py", str(folder / "pure"))
    session.run("python", ".ci/build_twice.py", str(folder / "compiled"), env=COMPILED)
    for name in ("pure", "compiled"):
        check_distributions(session, folder / name)
    session.run(".ci/try_wheel", *map(str, folder.glob("compiled/*.whl")), external=True)


def check_distributions(session: nox.Session, folder: Path) -> None:
    """Check what is in the distributions of a folder."""
    session.run("python", ".ci/check_wheel.py", *map(str, folder.iterdir()))
    session.run("python", ".ci/check_traces.py", *map(str, folder.glob("*.whl")))


# -- other versions ----------------------------------------------------------------------------------------------------


@nox.session(python=PYTHONS)
def light(session: nox.Session) -> None:
    """Run the light tests with the newest releases."""
    install_light(session, "--upgrade")
    run_light(session)


@nox.session(python=PYTHONS[0])
def floor(session: nox.Session) -> None:
    """Run the light tests with the oldest releases."""
    install_light(session, "-c", ".ci/floor.txt")
    run_light(session)


@nox.session(python="3.12")
def checked(session: nox.Session) -> None:
    """Run the light tests of environments with all invariants and indices checked."""
    install_light(session, "-c", "constraints.txt")
    session.run(
        *(*PYTEST, "--light", "tests/core", "tests/envs"), env={"MULTIGRID_CHECK": "1", "NUMBA_BOUNDSCHECK": "1"}
    )


@nox.session(python="3.11")
def interpreted(session: nox.Session) -> None:
    """Run light tests, or those of given folders, without Numba, with all invariants checked."""
    install_light(session, "-c", "constraints.txt")
    session.run_install("pip", "uninstall", "-y", "pygame-ce", "numba", "llvmlite")
    session.run_install("pip", "install", "-c", "constraints.txt", "pygame")
    # With pygame in the place of pygame-ce. All tests would take long. Without Numba, NumPy checks each index.
    folders = session.posargs or (f"tests/{name}" for name in ("core", "envs", "runtime", "rendering", "games"))
    session.run(*PYTEST, "--light", *folders, env={"MULTIGRID_CHECK": "1"})


@nox.session(python=PYTHONS[0])
def wheel(session: nox.Session) -> None:
    """Run light tests with the compiled wheel of `nox -s wheels`, without Numba, in a tree without the package.

    `nox -s wheel -- dist tests/core` takes the folder of the wheel, then folders of tests, by default all three.
    """
    built, *folders = session.posargs or ["dist"]
    (path,) = Path(built).glob("*-abi3-*.whl")
    install_light(session, "-c", "constraints.txt", package=(f"{path}[light]",))
    session.run_install("pip", "uninstall", "-y", "numba", "llvmlite")
    tree = Path(session.create_tmp(), "tree")
    left_out = {"multigrid", ".git", ".nox", ".long"}
    shutil.copytree(ROOT, tree, ignore=lambda folder, _: left_out if Path(folder) == ROOT else ())
    session.chdir(tree)
    session.run(*PYTEST, "--light", *(folders or ["tests/core", "tests/envs", "tests/runtime"]))


@nox.session(python="3.11")  # for which torch's CPU wheel is pinned
@nox.parametrize("recipe", RECIPES, ids=RECIPES)
def recipes(session: nox.Session, recipe: str) -> None:
    """Run the tests with a library that needs an environment of its own: `nox -s "recipes(rllib)"`."""
    first, _, _ = Path(".ci/recipes", f"{recipe}.txt").read_text("utf-8").partition("\n")
    session.run_install("bash", "-c", first.removeprefix("# install: "), external=True)
    if recipe == "rllib":  # whose own Gymnasium is the third version that is promised
        session.run(*PYTEST, "--light", "tests/envs", "tests/integrations")
    files = (path for folder in ("tests", "benchmarks", "examples") for path in Path(folder).rglob("recipes/test_*.py"))
    session.run(*PYTEST, *session.posargs, *(str(path) for path in files if path.match(f"test_{recipe}*.py")))
