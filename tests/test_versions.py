"""The sets of versions that are tested are those that are promised."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from helpers import find_recipe_tests

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPES = sorted(path.stem for path in (ROOT / ".ci" / "recipes").glob("*.txt"))


def pins(file):
    """What a file of constraints pins, where it pins one version."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)\s*$", file.read_text(), flags=re.MULTILINE)
    return {name.lower().replace("_", "-"): version for name, version in found}


def numbers(version):
    """A version as numbers that compare."""
    return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]


def test_the_floor_is_the_floor():
    """.ci/floor.txt pins the oldest version that pyproject.toml accepts of each dependency."""
    pinned = pins(ROOT / ".ci" / "floor.txt")
    for requirement in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cli"]:
        name, floor = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<\d+)?", requirement).groups()
        length = max(len(numbers(floor)), len(numbers(pinned[name])))
        padded = [[*numbers(version), *[0] * length][:length] for version in (floor, pinned[name])]
        assert padded[0] == padded[1], f"{requirement}, but {pinned[name]} is tested"


def test_every_recipe_has_an_environment_and_tests():
    """Each recipe has tests, each file of tests one recipe, and rllib is one, with the gymnasium that it pins."""
    files = [path.stem.removeprefix("test_") for path in find_recipe_tests()]
    assert set(RECIPES) <= set(files)
    # .ci/run plays, of a recipe, all files whose names begin with its name.
    assert all(sum(file.startswith(recipe) for recipe in RECIPES) == 1 for file in files)
    assert pins(ROOT / ".ci" / "recipes" / "rllib.txt")["gymnasium"] == "1.2.2"


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_environment_says_how_it_is_installed(recipe):
    """The first line of a recipe's environment is a pip command with its own pins, of torch the CPU version."""
    file = ROOT / ".ci" / "recipes" / f"{recipe}.txt"
    start, *rest = file.read_text().splitlines()
    words = shlex.split(start.removeprefix("# install: "))
    assert words[:4] == ["pip", "install", "-c", f".ci/recipes/{recipe}.txt"]
    assert words[4] == "-e"
    extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", words[5])
    assert extras is not None
    assert set(filter(None, (extras[1] or "").split(","))) <= set(PROJECT["optional-dependencies"])
    assert pins(file).get("torch", "2.13.0") == "2.13.0"
    assert not any("://" in line for line in rest)
