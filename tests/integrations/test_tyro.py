"""tyro: flags of the exact types of a configuration's fields, in programs of one's own."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from typing import Annotated, Literal

import pytest
import tyro

from multigrid import GridConfig
from multigrid.integrations.tyro import grid_registry


def parse(kind, words):
    """Return what tyro makes of some flags."""
    return tyro.cli(kind, args=words.split(), registry=grid_registry())


@dataclasses.dataclass
class Training:
    """A training of one's own, with a grid inside, and a field that is annotated for another library."""

    grid: GridConfig = dataclasses.field(default_factory=lambda: GridConfig(size=(4, 3), observe=("agent",)))
    note: Annotated[str, Literal["a", "b"]] = "c"


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        ("", {}),
        ("--size 8", {"size": 8}),
        ("--size 8 5 --num-agents 4", {"size": (8, 5), "num_agents": 4}),
        ("--collisions soft --on-target leave", {"collisions": "soft", "on_target": "leave"}),
        ("--reward shared --observe view agent", {"reward": "shared", "observe": ("view", "agent")}),
        ("--observe None --max-cycles None --flatten", {"max_cycles": None, "flatten": True}),
    ],
)
def test_every_field_is_a_flag(flags, fields):
    """Flags give the fields their values, as keywords do."""
    assert parse(GridConfig, flags) == GridConfig(**fields)


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        *(("--size big", "--size"), ("--size 3 4 5", "5"), ("--collisions hard", "symmetric")),
        *(("--on-target lave", "restart"), ("--reward mine", "shared"), ("--observe goal", "action_mask")),
        ("--help", "--size {None}|INT|{INT INT}"),
        ("--help", "--on-target {park,leave,stay,restart}"),
        ("--help", "--observe {None}|{[{agent,target,others,offset,view,walls,action_mask"),
    ],
)
def test_the_exact_types_are_shown(flags, shown):
    """A value of another type is refused with what there is to choose from, which `--help` names, too."""
    printed = io.StringIO()
    with pytest.raises(SystemExit), contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        parse(GridConfig, flags)
    assert shown in printed.getvalue()


def test_a_grid_inside_a_dataclass():
    """The flags of a grid inside another dataclass are exact, too, and other annotations keep their meaning."""
    grid = GridConfig(size=(4, 3), num_agents=3, observe=("agent",))
    assert parse(Training, "--grid.num-agents 3 --note d") == Training(grid, "d")
    assert parse(Training, "--grid.size 9") == Training(GridConfig(size=9, observe=("agent",)))
    with pytest.raises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        parse(Training, "--grid.reward mine")
