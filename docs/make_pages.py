"""Write a page for each environment, in the form of PettingZoo's own: `python docs/make_pages.py`.

The words are the code's: docstrings, the fields of `GridConfig`, and what environments say of themselves when they are
made. tests/docs/test_pages.py sees to it that the pages are current.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import gymnasium
import numpy as np
from page_films import GRID_WORLD, MULTI_GRID, SUITE, films

import multigrid
from multigrid._files import replace_file
from multigrid.actions import DIRECTIONS
from multigrid.config import Collisions, GridConfig, OnTarget, Reward
from multigrid.core import metrics, rules
from multigrid.envs.aec import MultiGridAECEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.parts import PARTS
from multigrid.scenarios import _suite as suite
from multigrid.scenarios import get, lower_bound, names
from multigrid.scenarios.tracing import trace_episode

FOLDER = Path(__file__).parent / "environments"

_INFOS = (
    "`infos[agent]` has the same keys after a reset and after every step: `distance`, a float, the L1 distance in "
    "cells to the target that the observation shows; `arrived`, an int, 1 if the agent arrived at its target in this "
    "step, else 0: under `restart` also 1 if it gets another target at once, under `stay` 1 each time it steps onto "
    "its target (the reward comes when all agents stand on theirs); and `outcome`, an int "
    "([Rules](../rules.md#outcomes) has a sentence on each):"
)
_REGISTRIES = (
    "PettingZoo's registry has this environment ([Using](../using.md)). Gymnasium's environments have one agent: "
    "`gymnasium.make` makes [GridWorld](grid_world.md). "
    "[MultiGrid, many worlds](multi_grid_vector.md) steps many worlds in one call."
)
_HISTORY = {
    "multigrid/GridWorld-v0": "the GridWorld of Gymnasium's documents",
    "multigrid_v0": f"version {rules.RULES_VERSION} of the rules, which recorded episodes and training runs carry",
}


def main() -> None:
    """Write the pages and their films."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        with replace_file(FOLDER / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the name and the text of each file that is text."""
    return {
        "grid_world.md": _grid_world(),
        "multi_grid.md": _multi_grid(),
        "multi_grid_vector.md": _vector(),
        "suite.md": _suite(),
        **films(),
    }


def _grid_world() -> str:
    env = gymnasium.make("multigrid/GridWorld-v0")
    rows = {
        "Import": '`gymnasium.make("multigrid/GridWorld-v0")`, after `import multigrid`',
        "Other ids": "`gymnasium_env/GridWorld-v0`, `gym_examples/GridWorld-v0`",
        "Differences": "[by member and by edition of Gymnasium's documents](../coming_from/gymnasium.md)",
        "Actions": "discrete",
        "Agents": "1",
        "Manual control": "`multigrid play --num-agents 1`",
        "Action shape": _code(env.action_space),
        "Action values": f"0 to {env.action_space.n - 1}",
        "Observation shape": _code(env.observation_space),
        "Observation values": "0 to size - 1",
        "Reward": "1 on the step that reaches the target, else 0",
        "Vector form": _code('gymnasium.make_vec("multigrid/GridWorld-v0", num_envs=...)'),
        "Render modes": _listed(multigrid.GridWorldEnv.metadata["render_modes"]),
    }
    return _page(
        "GridWorld",
        [
            f"![The documented frames of three episodes: a blue agent walks to its red target]({GRID_WORLD})",
            _table(rows),
            _prose(multigrid.GridWorldEnv),
            "## Arguments",
            _arguments(multigrid.GridWorldEnv),
            "## Actions",
            _actions(4),
            "## The vector form",
            _prose(GridWorldVectorEnv),
            _arguments(GridWorldVectorEnv),
            "## Example",
            _example(multigrid.GridWorldEnv, "from multigrid import GridWorldEnv"),
            "## Version history",
            _history("multigrid/GridWorld-v0"),
        ],
    )


def _multi_grid() -> str:
    env = multigrid.parallel_env()
    agent = env.possible_agents[0]
    rows = {
        "Import": "`from multigrid import parallel_env`, or `env` for AEC",
        "Actions": "discrete",
        "Parallel API": "yes",
        "AEC API": "yes",
        "Manual control": "`multigrid play`",
        "Agents": f"`agents = {env.possible_agents}`",
        "Number of agents": f"any; {env.max_num_agents} by default",
        "Action shape": f"{_code(env.action_space(agent))}; with `allow_stay=True` `Discrete(5)`",
        "Action values": f"0 to {env.action_space(agent).n - 1}",
        "Observation shape": f"`Dict` of {_listed(env.config.parts)} by default; see below",
        "Observation values": "see below",
        "State shape": f"`{env.state_space.shape}`: x, y, target x, target y of each agent",
        "State values": f"-1 to {env.state_space.high.max()}, -1 for an agent that has left",
        "Render modes": _listed(env.metadata["render_modes"]),
    }
    return _page(
        "MultiGrid",
        [
            f"![Eight agents in a warehouse: the plan of the scenario {MULTI_GRID}](multi_grid.svg)",
            "The sum of costs is {}, and the lower bound is {}: the plan is {}. [The suite](suite.md) has more.".format(
                *_rate_plan(MULTI_GRID)
            ),
            _table(rows),
            _REGISTRIES,
            _prose(multigrid.MultiGridEnv),
            "## Arguments",
            "`parallel_env(...)` and `env(...)` take these as keywords, or a `GridConfig` of them:",
            _options(),
            "and for what is seen by people:",
            _arguments(multigrid.MultiGridEnv, without=("config",)),
            "## Rules",
            "[The explorer](../rules.md#explorer) shows a step of up to three agents under each rule of `collisions`.",
            _rules(),
            "## Actions",
            _actions(5),
            "## Observations",
            _observations(),
            "## Infos",
            _INFOS,
            _outcomes(),
            "## AEC",
            _prose(MultiGridAECEnv),
            "`set_state(state)`: " + _prose(MultiGridAECEnv.set_state),
            "`get_state()`: " + _prose(MultiGridAECEnv.get_state),
            "## Metrics",
            _plain(inspect.getdoc(metrics) or ""),
            "## Example",
            _example(multigrid.MultiGridEnv, "from multigrid import GridConfig, MultiGridEnv"),
            "## Version history",
            _history("multigrid_v0"),
        ],
    )


def _vector() -> str:
    envs = multigrid.vector_env(3)
    rows = {
        "Import": "`from multigrid import vector_env`",
        "Rows": "`num_envs = num_worlds * num_agents`, row = world * N + agent",
        "Action space": f"{_code(envs.action_space)} for three worlds of two agents",
        "Observation space": f"that of an agent, batched: {_code(envs.single_observation_space)} by default",
        "Autoreset modes": _listed([mode.value for mode in gymnasium.vector.AutoresetMode]),
        "Render modes": _listed(envs.metadata["render_modes"]),
    }
    return _page(
        "MultiGrid, many worlds",
        [
            "![Four worlds of three agents, side by side](multi_grid_vector.svg)",
            'The first episodes of four worlds of a vector environment, with shortest paths and `on_target="leave"`.',
            _table(rows),
            _prose(multigrid.MultiGridVectorEnv),
            "## Arguments",
            "`vector_env(num_worlds, ...)` takes the [options of MultiGrid](multi_grid.md#arguments) as keywords, and:",
            _arguments(multigrid.MultiGridVectorEnv, without=("config",), made_by=multigrid.vector_env),
            "## Reset",
            _arguments(multigrid.MultiGridVectorEnv.reset),
            "## Example",
            _example(multigrid.MultiGridVectorEnv, "from multigrid import GridConfig, MultiGridVectorEnv"),
            "## Version history",
            _history("multigrid_v0"),
        ],
    )


def _suite() -> str:
    parts = [
        _prose(suite),
        "[Planners on the suite](../planning/suite.md) compares planners and policies, with a replay of each episode.",
    ]
    for kind, group in itertools.groupby(names(), key=lambda name: name.split("-")[0]):
        shown, described = SUITE[kind]
        rows = ("| " + " | ".join(map(str, (name, *_rate_plan(name)))) + " |" for name in group)
        head = "| scenario | sum of costs | lower bound | plan |\n|---|---:|---:|---|"
        film = f"![{described}: the plan of {shown}](suite_{kind}.svg)"
        parts += [f"## {kind.capitalize()}", film, "\n".join([head, *rows])]
    return _page("The suite", parts)


def _rate_plan(name: str) -> tuple[int, int, str]:
    cost, bound = int(trace_episode(get(name)).metrics["sum_of_costs"]), lower_bound(name)
    return cost, bound, "optimal" if cost == bound else f"feasible, gap {cost / bound - 1:.3f}"


def _page(title: str, parts: Sequence[str]) -> str:
    note = "<!-- Written by docs/make_pages.py. Change the docstrings, and run it again. -->"
    return "\n\n".join([note, f"# {title}", *parts]) + "\n"


def _table(rows: dict[str, str], head: tuple[str, str] = ("", "")) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in rows.items())])


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
            lines.append(f"| `{name}` | {default} | {_plain(text)} |")
    return "\n".join(lines)


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
        kind = {"walls": "text, array or list"}.get(field.name) or _choices_of(field) or f"`{_type_of(field)}`"
        lines.append(f"| `{field.name}` | {kind} | {_default(field.default)} | {said[field.name]} |")
    return "\n".join(line.replace(" | None`", r" \| None`").replace("int | tuple", r"int \| tuple") for line in lines)


def _choices_of(field: dataclasses.Field[Any]) -> str:
    """List the names that an option takes, as a link to what they mean; nothing for an option of another type."""
    choices = {"collisions": Collisions, "on_target": OnTarget, "reward": Reward}
    if field.name == "observe":
        return f"tuple of [{_listed(tuple(PARTS))}](multi_grid.md#observations); or `None`"
    if field.name in choices:
        return f"[{_listed(get_args(choices[field.name]))}](multi_grid.md#rules)"
    return ""


def _type_of(field: dataclasses.Field[Any]) -> str:
    names = {
        "size": "int | tuple[int, int] | None",
        "num_agents": "int | tuple[int, int] | None",
        "game": "type[Game] | None",
    }
    names |= {"options": "dict | None", "delays": "Delays | float | None"}
    return names.get(field.name, str(field.type))


def _rules() -> str:
    """The prose at the top of the rules, without its first line."""
    text = (inspect.getdoc(rules) or "").split("\n\n", 1)[1]
    return _plain(text)


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
    config = GridConfig(size=(7, 4), num_agents=3, observe=tuple(PARTS))
    env, flat = multigrid.parallel_env(config), multigrid.parallel_env(dataclasses.replace(config, flatten=True))
    space = env.observation_space("agent_0")
    assert isinstance(space, gymnasium.spaces.Dict)
    lines = ["| part | for three agents on 7 x 4 cells | values | |", "|---|---|---|---|"]
    for part, spec in PARTS.items():
        box = space[part]
        assert isinstance(box, gymnasium.spaces.Box)
        values = f"{box.low.min()} to {np.unique(box.high).max()}"
        lines.append(f"| `{part}` | {box.dtype} `{box.shape}` | {values} | {_plain(spec.meaning)} |")
    joined = flat.observation_space("agent_0")
    assert isinstance(joined, gymnasium.spaces.Dict)
    vector = joined["observation"]
    after = (
        f"With `flatten=True` the parts but `action_mask` are one {vector.dtype} Box `{vector.shape}`, in order, "
        "coordinates scaled to 0..1, `offset` to -1..1, and -1 for an agent that has left. That Box is the "
        "observation; with `action_mask` it is a Dict of `observation`, the Box, and `action_mask`."
    )
    return "\n".join(lines) + "\n\n" + after


def _outcomes() -> str:
    said = dict(_said_of(multigrid.Outcome))
    rows = {f"{int(one)}": f"`{one.name}`: {said[one.name]}" for one in multigrid.Outcome}
    name = '`multigrid.Outcome(infos["agent_0"]["outcome"]).name` is the name of an outcome.'
    order = _plain(_prose(multigrid.Outcome).split("\n\n")[-1])
    return "\n\n".join([_table(rows, ("outcome", "")), name, order])


def _example(documented: Any, imports: str) -> str:
    found = re.search(r"^>>> .*", inspect.getdoc(documented) or "", flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return f"```pycon\n>>> {imports}\n{found[0].rstrip()}\n```"


def _history(env_id: str) -> str:
    return f"- v0 (multigrid {multigrid.__version__}): {_HISTORY[env_id]}"


if __name__ == "__main__":
    main()
