"""Fill the pages of docs/environments: `python docs/make_pages.py`.

The parts between marks are the code's: docstrings, the fields of `GridConfig`, and the suite. Change those, and run the
command again; tests/docs/test_pages.py sees to it that the pages are current.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import gymnasium
import numpy as np

import multigrid
from benchmarks.page_parts import fill_page
from multigrid._files import replace_file
from multigrid.actions import DIRECTIONS
from multigrid.config import Collisions, GridConfig, OnTarget, Reward
from multigrid.envs.aec import MultiGridAECEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.parts import IMAGES, PARTS
from multigrid.rendering.svg import animated_svg
from multigrid.scenarios import _suite as suite
from multigrid.scenarios import get, lower_bound, names
from multigrid.scenarios.tracing import trace_episode

FOLDER = Path(__file__).parent / "environments"
FILMS = {
    "multi_grid.svg": "warehouse-17x13-8",
    "suite_delivery.svg": "delivery-17x13-8",
    **{f"suite_{kind}.svg": f"{kind}-21x17-16" for kind in ("empty", "random", "maze", "rooms", "warehouse")},
}
"""The films of plans, by their files, and the scenarios whose plans they are; others were made once."""

_FLAT = """
With `flatten=True`, all of these parts but the images and `action_mask` are joined, in order, into one {0.dtype} Box
`{0.shape}`; with an image in `observe`, it is refused. Coordinates are scaled to 0..1, `offset` to -1..1; the -1 of
agents that have left stays -1, and `delay_left` is not scaled.
"""
_PAGES_OF = {
    "MultiGridEnv.reset": "../reference/multi_grid_env.rst",
    "MultiGridVectorEnv": "multi_grid_vector.md#arguments",
}
"""The pages of the names to which descriptions of arguments refer."""


def main() -> None:
    """Fill the pages, and write their films."""
    for name, parts in page_parts().items():
        fill_page(FOLDER / name, parts)
    for name, scenario in FILMS.items():
        with replace_file(FOLDER / name) as temporary:
            temporary.write_text(animated_svg(trace_episode(get(scenario))), encoding="utf-8")


def page_parts() -> dict[str, dict[str, str]]:
    """Return, for each page, the parts that the code says, by their names."""
    return {
        "grid_world.md": {
            "class": _prose(multigrid.GridWorldEnv).split("\n\n")[2],
            "arguments": _arguments(multigrid.GridWorldEnv),
            "actions": _actions(4),
            "other axes": _prose(multigrid.RowColumnGridWorldEnv).split("\n\n", 1)[1],
            "vector form": f"{_prose(GridWorldVectorEnv)}\n\n{_arguments(GridWorldVectorEnv)}",
        },
        "multi_grid.md": {
            "options": _options(),
            "arguments": _arguments(multigrid.MultiGridEnv, without=("config",)),
            "actions": _actions(5),
            "observations": _observations(),
            "outcomes": _outcomes(),
            "aec": _prose(MultiGridAECEnv).split("\n\n", 1)[1],
        },
        "multi_grid_vector.md": {
            "class": _prose(multigrid.MultiGridVectorEnv).split("\n\n", 1)[1],
            "arguments": _arguments(multigrid.MultiGridVectorEnv, without=("config",), made_by=multigrid.vector_env),
            "reset": _arguments(multigrid.MultiGridVectorEnv.reset),
        },
        "suite.md": {
            "suite": _prose(suite).split("\n\n", 1)[1],
            "plans": _rate_plans(),
        },
    }


def _rate_plans() -> str:
    """Return a table of the suite's plans: their sums of costs by kind of map, and by size and number of agents."""
    rows: dict[str, dict[str, str]] = {}
    for name in names():
        kind, world = name.split("-", 1)
        cost, bound = int(trace_episode(get(name)).metrics["sum_of_costs"]), lower_bound(name)
        above = 100 * (cost / bound - 1)
        rows.setdefault(kind, {})[world] = f"{cost} + {above:.1f} %" if above else f"{cost}"
    worlds = max(rows.values(), key=len)
    lines = [f"| map | {' | '.join(worlds)} |", f"|---|{'---:|' * len(worlds)}"]
    for kind, row in rows.items():
        lines.append(f"| {kind} | {' | '.join(row.get(world, '') for world in worlds)} |")
    return "\n".join(lines)


def _table(rows: dict[str, str], head: tuple[str, str]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {text} |" for name, text in rows.items())])


def _code(value: Any) -> str:
    return f"`{value}`"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'`"{name}"`' for name in names)


def _plain(text: str) -> str:
    """Turn the marks of docstrings into Markdown's."""
    return text.replace("``", "`")


def _sections(documented: Any) -> dict[str, str]:
    """Split a docstring into what comes before its sections, and each section without its indentation."""
    text = inspect.getdoc(documented) or ""
    text, _, _ = text.partition("\n>>> ")
    pieces = re.split(r"^(Args|Returns|Raises):\n", text, flags=re.MULTILINE)
    named = dict(zip(pieces[1::2], map(textwrap.dedent, pieces[2::2]), strict=True))
    return {"": pieces[0].strip(), **named}


def _prose(documented: Any) -> str:
    return _plain(_sections(documented)[""])


def _arguments(documented: Any, without: Sequence[str] = (), made_by: Any = None) -> str:
    entries = re.split(r"^(?=\w+: )", _sections(documented)["Args"], flags=re.MULTILINE)
    named = (" ".join(entry.split()).partition(": ") for entry in entries if entry.strip())
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(made_by or documented).parameters.values()
        if parameter.default is not inspect.Parameter.empty
    }
    lines = ["| argument | default | |", "|---|---|---|"]
    for name, _, text in named:
        if name not in without:
            default = _default(defaults[name]) if name in defaults else "required"
            lines.append(f"| `{name}` | {default} | {_link(_plain(text))} |")
    return "\n".join(lines)


def _link(text: str) -> str:
    for name, page in _PAGES_OF.items():
        text = text.replace(f"`{name}`", f"[`{name}`]({page})")
    return text


def _default(value: Any) -> str:
    return f'`"{value.value}"`' if isinstance(value, enum.Enum) else _code(repr(value).replace("'", '"'))


def _said_of(documented: type) -> Iterator[tuple[str, str]]:
    """Give each name that a class's body assigns, and the text below it."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(documented))).body
    assert isinstance(body, ast.ClassDef)
    for assignment, text in zip(body.body, body.body[1:], strict=False):
        match assignment, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(said))),
            ):
                yield name, _plain(" ".join(said.split()))


def _options() -> str:
    said = dict(_said_of(GridConfig))
    lines = ["| option | type | default | |", "|---|---|---|---|"]
    for field in dataclasses.fields(GridConfig):
        kind = _choices_of(field) or "`{}`".format(_type_of(field).replace("|", r"\|"))
        lines.append(f"| `{field.name}` | {kind} | {_default(field.default)} | {said[field.name]} |")
    return "\n".join(lines)


def _choices_of(field: dataclasses.Field[Any]) -> str:
    """Describe what an option takes, with a link to what it means; nothing for an option whose type says it."""
    choices = {"collisions": Collisions, "on_target": OnTarget, "reward": Reward}
    if field.name == "walls":
        return "[text](../how_to/maps.md), array or list"
    if field.name == "observe":
        return f"tuple of [{_listed(tuple(PARTS))}](multi_grid.md#observations)"
    if field.name in choices:
        return f"[{_listed(get_args(choices[field.name]))}](multi_grid.md#rules)"
    return ""


def _type_of(field: dataclasses.Field[Any]) -> str:
    names = {
        "size": "int | tuple[int, int]",
        "num_agents": "int | tuple[int, int]",
        "game": "type[Game]",
        "options": "dict",
        "delays": "Delays | dict | float | tuple[float, int, int]",
    }
    return names.get(field.name, str(field.type).removesuffix(" | None"))


def _actions(count: int) -> str:
    rows = {
        f"{int(action)}": f"{action.name.lower()}, `{DIRECTIONS[action].tolist()}`"
        for action in multigrid.Action
        if action < count
    }
    rows = {number: f"{text}, with `allow_stay=True`" if number == "4" else text for number, text in rows.items()}
    note = "\n\n".join((inspect.getdoc(multigrid.Action) or "").partition(">>>")[0].strip().split("\n\n")[1:])
    return _table(rows, ("action", "the step [dx, dy]")) + "\n\n" + _plain(note)


def _observations() -> str:
    """The parts that there are, as an agent of this world sees them."""
    config = GridConfig(size=(7, 4), num_agents=3, observe=tuple(PARTS), message_bits=2)
    numbers = tuple(part for part in PARTS if part not in IMAGES)
    env = multigrid.parallel_env(config)
    flat = multigrid.parallel_env(dataclasses.replace(config, observe=numbers, flatten=True))
    space = env.observation_space("agent_0")
    assert isinstance(space, gymnasium.spaces.Dict)
    lines = ["| part | for three agents on 7 x 4 cells, `message_bits=2` | values | |", "|---|---|---|---|"]
    for part, spec in PARTS.items():
        box = space[part]
        assert isinstance(box, gymnasium.spaces.Box)
        values = f"{box.low.min()} to {np.unique(box.high).max()}"
        lines.append(f"| `{part}` | {box.dtype} `{box.shape}` | {values} | {_plain(spec.meaning)} |")
    joined = flat.observation_space("agent_0")
    assert isinstance(joined, gymnasium.spaces.Dict)
    vector = joined["observation"]
    return "\n".join(lines) + "\n" + _FLAT.format(vector)


def _outcomes() -> str:
    said = dict(_said_of(multigrid.Outcome))
    rows = {f"{int(one)}": f"`{one.name}`: {said[one.name]}" for one in multigrid.Outcome}
    order = _plain(_prose(multigrid.Outcome).split("\n\n")[-1])
    return "\n\n".join([_table(rows, ("outcome", "")), order])


if __name__ == "__main__":
    main()
