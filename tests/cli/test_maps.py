"""`--map` of play, rollout and train; and how the commands read and refuse flags."""

import dataclasses
import itertools
import json
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import multigrid.scenarios
from helpers import AROUND, run_python
from multigrid import GridConfig
from multigrid.cli import main, play
from multigrid.cli._options import WorldOptions, fill_options, read_given
from multigrid.config import Part
from multigrid.maps import parse_map
from multigrid.scenarios import find_world, load
from multigrid.scenarios._worlds import make_grid

WAREHOUSE = "warehouse-17x13-8"
TINY = "--steps 64 --copies 2 --rollout 8 --batch-size 16 --epochs 1 --hidden 8 --episodes 2 --evaluations 2"


def parsed(flags, start=None):
    """The configuration that flags describe."""
    return fill_options(WorldOptions, read_given(WorldOptions, flags.split(), "multigrid test"), start).grid


def test_a_map_gives_the_defaults_of_the_other_flags():
    """Without other flags the world is the map's; each flag that is given replaces what the map gives."""
    assert parsed(f"--map {WAREHOUSE}") == find_world(WAREHOUSE)
    config = parsed(f"--num-agents 3 --map {WAREHOUSE} --on-target leave --no-allow-stay --observe agent target")
    assert (config.size, config.num_agents, config.on_target, config.allow_stay) == ((17, 13), 3, "leave", False)
    assert (config.observe, config.view_radius) == (("agent", "target"), 5)
    assert parsed("--size 9 4 --num-agents 5") == GridConfig(size=(9, 4), num_agents=5)


def test_a_map_on_other_defaults():
    """A map replaces the map of the defaults; flat observations, which a learner needs, stay flat."""
    start = WorldOptions(grid=GridConfig(walls="aAb\n.B.", on_target="leave", flatten=True))
    assert parsed("", start) == start.grid
    assert parsed("--max-cycles 7", start) == dataclasses.replace(start.grid, max_cycles=7)
    other = parsed("--map maze:width=5,height=3", start)
    assert (other.size, other.num_agents, other.on_target, other.layouts) == ((5, 3), 2, "leave", None)
    assert (parsed(f"--map {WAREHOUSE}", start).flatten, find_world(WAREHOUSE).flatten) == (True, False)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        *(("--size 5x5", "5x5.*INT"), ("--num-agents two", "two.*INT"), ("--size 1 2 3", "1 2 3.*INT")),
        *((f"--view-radius={one}", f"invalid literal for int.*'{one}'") for one in ("1.5", "1e2", "inf", "")),
    ],
)
def test_a_wrong_value_is_refused_in_plain_words(flags, said, capsys):
    """The message has the value and what is expected, without markup; fractions and powers are no whole numbers."""
    with pytest.raises(SystemExit, match="2"):
        parsed(flags)
    printed = " ".join("".join(capsys.readouterr()).replace("│", " ").split())
    assert re.search(said, printed), printed
    assert "[bold]" not in printed


def test_choices_are_listed_in_one_order():
    """Whatever the seed of Python's hashes, the parts of an observation are listed in the order of the table."""
    code = "from multigrid.cli import main; main(['play', '--observe', 'sound'])"
    done = run_python("-c", code, env={**AROUND, "PYTHONHASHSEED": "1", "COLUMNS": "300"})
    parts = [word for word in re.findall(r"'(\w+)'", done.stderr + done.stdout) if word not in ("sound", "None")]
    assert parts == list(get_args(Part))


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("command", ["train", "play", "rollout", "evaluate", "replay"])
def test_help_fits_the_terminal(command, width, capsys, monkeypatch):
    """No line of the help is wider than the terminal, each is as long as its words allow, and arrays are no flags."""
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit, match="0"):
        main([*command.split(), "--help"])
    printed = capsys.readouterr().out
    assert (" --map" in printed, "--walls" in printed) == (command != "replay", False)
    assert max(map(len, printed.splitlines())) <= width
    texts = [line.replace("│", " ").rstrip() for line in printed.splitlines()]
    column = next(line.index("show this help") for line in texts if "show this help" in line)
    for text, following in itertools.pairwise(texts):
        # A line is broken at a space, or after a comma. A frame takes 2 columns.
        head = re.match(r"[^\s,]*,?", following[column:])[0]
        if head and not following[:column].strip() and text[column:] and text[column - 2 : column] == "  ":
            assert len(text) + 1 + len(head) >= width - 2, text


def test_play_draws_layouts_on_a_map(monkeypatch):
    """The game has the scenario's map, agents and rules; another seed, or another layout, places agents anew."""
    played = []

    def show(controller, screen, ticks_per_second):
        controller.session.next_layout()
        played.append(controller.session)

    monkeypatch.setattr(play, "show", show)
    for seed in ("3", "4"):
        assert main(["play", "--map", WAREHOUSE, "--seed", seed, "--record", f"{seed}.json"]) == 0
    scenario = multigrid.scenarios.get(WAREHOUSE).config
    recorded = [load(f"{seed}.json").config for seed in ("3", "4")]
    for config in recorded:
        np.testing.assert_array_equal(config.is_wall, scenario.is_wall)
        assert (config.num_agents, config.on_target, config.view_radius) == (8, "stay", 5)
    assert len({config.layouts.tobytes() for config in (*recorded, scenario)}) == 3


@pytest.mark.heavy
def test_rollout_plays_layouts_on_a_map(shown):
    """Each episode has a layout of its own; a sweep plays one map with several numbers of agents."""
    content = shown(f"rollout --map {WAREHOUSE} --episodes 3 --max-cycles 12 --record --output out")
    assert [world["name"] for world in content["worlds"]] == [WAREHOUSE]
    recorded = [load(Path("out") / f"{WAREHOUSE}-{seed}.json").config for seed in range(3)]
    assert len({config.layouts.tobytes() for config in recorded}) == 3
    Path("my map.txt").write_text("..#.\n....\n#...")
    content = shown("rollout --num-agents-sweep 1 3 --episodes 1 --max-cycles 9 --map", "my map.txt")
    assert [world["name"] for world in content["worlds"]] == ["my-map-4x3-1", "my-map-4x3-3"]


@pytest.mark.heavy
@pytest.mark.usefixtures("no_pictures")
def test_a_training_on_a_map_can_be_played(run, shown, monkeypatch):
    """config.json holds the map, from which rollouts and games rebuild the world of the training."""
    run(f"train --map maze-9x7-2 --observe agent target view --view-radius 1 --max-cycles 9 {TINY} --folder run")
    content = json.loads(Path("run/config.json").read_text())
    config = make_grid(content["grid"])
    assert content["map"] == ["maze-9x7-2"]
    picture = parse_map(content["grid"]["walls"][0]).walls
    np.testing.assert_array_equal(picture, multigrid.scenarios.get("maze-9x7-2").config.is_wall[0])
    assert (config.num_agents, config.on_target, config.max_cycles) == (2, "stay", 9)
    monkeypatch.setattr(play, "show", lambda *_: None)
    run("play --map run --seed 0 --record played.json")
    content = shown("rollout --policy run --episodes 2 --record --output out")
    assert content["worlds"][0]["name"] == "map-9x7-2"
    for file in ("out/map-9x7-2-0.json", "played.json"):
        np.testing.assert_array_equal(load(file).config.is_wall, config.is_wall)
    # Another map has its own size, and the model's rules where it has none.
    content = shown("rollout --policy run --map maze:width=5,height=5 --episodes 1")
    assert content["worlds"][0]["name"] == "maze-5x5-2"
