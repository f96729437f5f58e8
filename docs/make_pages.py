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
from multigrid.envs.aec import MultiGridAECEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv
from multigrid.parts import PARTS
from multigrid.scenarios import _suite as suite
from multigrid.scenarios import get, lower_bound, names
from multigrid.scenarios.tracing import trace_episode

FOLDER = Path(__file__).parent / "environments"

_GRID_WORLD_PROGRAM = """
import gymnasium

import multigrid  # registers the ids

env = gymnasium.make("multigrid/GridWorld-v0", size=5, max_episode_steps=100)
observation, info = env.reset(seed=0)
print(observation["agent"], observation["target"], info)  # [4 3] [2 1] {'distance': 4.0}
terminated = truncated = False
while not (terminated or truncated):
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
env.close()
"""
_MULTI_GRID_PROGRAM = """
import multigrid

env = multigrid.parallel_env(num_agents=3, size=(8, 5), max_cycles=50)
observations, infos = env.reset(seed=0)
print(observations["agent_0"]["target"], infos["agent_0"]["distance"])  # [4 1] 4.0
while env.agents:
    actions = {agent: env.action_space(agent).sample() for agent in env.agents}
    observations, rewards, terminations, truncations, infos = env.step(actions)
print(env.metrics())
"""
_VECTOR_PROGRAM = """
import multigrid

envs = multigrid.vector_env(1024, num_agents=3, size=(8, 5), max_cycles=50)
observations, infos = envs.reset(seed=0)
for step in range(100):
    actions = envs.action_space.sample()  # int64 (3072,), one for each row
    observations, rewards, terminations, truncations, infos = envs.step(actions)
print(observations["agent"].shape, rewards.reshape(1024, 3).shape)  # (3072, 2) (1024, 3)
envs.close()
"""
_SUITE_PROGRAM = """
from multigrid import scenarios

print(len(scenarios.names()))  # 36
scenario = scenarios.get("rooms-17x13-8")
env = scenario.env()
observations, infos = env.reset()
for actions in scenario.actions:  # the plan: int8 (steps, agents)
    env.step({agent: actions[env.possible_agents.index(agent)] for agent in env.agents})
print(env.metrics()["sum_of_costs"], scenarios.lower_bound("rooms-17x13-8"))  # 92.0 92
"""
_GRID_WORLD = """
One agent walks to a target on a square grid. `multigrid/GridWorld-v0` is the GridWorld of Gymnasium's tutorial in the
editions of Gymnasium 0.26 to 1.2.2, and [`multigrid/GridWorld-v1`](#other-axes) that since 1.2.3: the same seeds and
actions give the same results ([edge cases](../coming_from/gymnasium.md#what-differs)).
"""
_MULTI_GRID = """
Any number of agents walk to their targets on one grid and must not collide: a PettingZoo environment for multi-agent
path finding.
"""
_GIVEN = (
    "A `GridConfig` reads as the values that hold: `GridConfig().size` is 5, and "
    '`GridConfig(walls="a.A").num_agents` 1. It keeps what was given: `dataclasses.replace(config, walls=...)` '
    "takes the size of the new map unless `size` was given, and with `options=...` a game has its new size and "
    "limit. Comparisons, copies and `config.given` are of what was given, too. `config.to_dict()` is a dict "
    "for JSON, from which `GridConfig.from_dict` makes an equal configuration."
)
_PLAN = """
This is an {2} plan for `{3}`, a scenario of [the suite](suite.md). Its sum of costs is {0}.
"""
_VECTOR = """
Many [MultiGrid](multi_grid.md) worlds step in one call: a Gymnasium `VectorEnv` with a row for each agent of each
world.
"""
_SUITE = """
The package has {} scenarios with 2 to 64 agents, each with a map, starts, targets and a plan that solves it.
[Planners on the suite](../planning/suite.md) compares planners and policies on them.
"""
_RATED = """
A plan is *optimal* if its sum of costs equals the lower bound; the gap says by how many percent it is above.
"""
_COLLISIONS = {
    "symmetric": "If several agents request a cell, none enters it. Two cannot swap. Agents may follow each other.",
    "priority": "Agents move in index order, into cells that are free at that moment.",
    "block_both": "No agent enters a cell that was occupied, or that another agent also requests.",
    "soft": "Like symmetric, but if several agents want to enter a cell, only the one with the lowest index tries.",
    "none": "Agents pass through one another and may share cells.",
}
_ON_TARGET = {
    "park": "It gets 1 and stays as an obstacle. The episode ends when all have arrived.",
    "leave": "It gets 1, terminates and leaves. Others can enter its cell from the next step.",
    "stay": "It goes on acting. The episode ends when all stand on their targets at once; each then gets 1.",
    "restart": "It gets 1 and its next target, from its list or at random.",
}
_RULES = """
With `reward="shared"`, each agent in the grid gets the mean of these agents' rewards. Unless the map or
[`reset(options={"agents": ..., "targets": ...})`](../reference/environments.rst) sets them, starts and targets are
random, and every agent can reach its target.

[Rules](../rules.md) has the full rules, and lets you try them.
"""
_FLAT = """
With `flatten=True`, all parts but `action_mask` are joined, in order, into one {0.dtype} Box `{0.shape}`. Coordinates
are scaled to 0..1, `offset` to -1..1; the -1 of agents that have left stays -1, and `delay_left` is not scaled.
"""
_INFOS = """
After a reset and after each step, `infos[agent]` has:

| key | |
|---|---|
| `distance` | float, the L1 distance in cells to the target in the observation |
| `arrived` | int, 1 if the agent reached its target in this step, else 0 |
| `outcome` | int, a `multigrid.Outcome`, from the table below |

Under `restart`, `arrived` is 1 although the next target is already set. Under `stay`, it is 1
whenever the agent moves onto its target.
"""
_PAGES_OF = {
    "MultiGridEnv.reset": "../reference/environments.rst",
    "MultiGridVectorEnv": "multi_grid_vector.md#arguments",
}
"""The pages of the names to which descriptions of arguments refer."""
_AEC_STATES = """
`set_state` ([States and copies](../using.md#states-and-copies)) discards the actions chosen in the current cycle.
"""


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
        "Id": "`multigrid/GridWorld-v0`, also `gymnasium_env/GridWorld-v0`, `gym_examples/GridWorld-v0`; "
        "`multigrid/GridWorld-v1`",
        "Action space": _code(env.action_space),
        "Observation space": _code(env.observation_space),
        "Reward": "1 when the agent reaches the target, else 0",
        "Episode end": "terminated at the target; truncated only with `max_episode_steps`",
        "Info": '`{"distance": ...}`, the L1 distance to the target, a float',
        "Render modes": _listed(multigrid.GridWorldEnv.metadata["render_modes"]),
        "Manual control": "`multigrid play --num-agents 1`",
    }
    return _page(
        "GridWorld",
        [
            _GRID_WORLD,
            f"![Three episodes: the blue agent walks to the red target]({GRID_WORLD})",
            _program(_GRID_WORLD_PROGRAM),
            _table(rows),
            _prose(multigrid.GridWorldEnv).split("\n\n")[2],
            "## Arguments",
            _arguments(multigrid.GridWorldEnv),
            "## Actions",
            _actions(4),
            "## Other axes",
            "`multigrid/GridWorld-v1` is the class `multigrid.RowColumnGridWorldEnv`.",
            _prose(multigrid.RowColumnGridWorldEnv).split("\n\n", 1)[1],
            "## The vector form",
            _prose(GridWorldVectorEnv),
            _arguments(GridWorldVectorEnv),
        ],
    )


def _multi_grid() -> str:
    env = multigrid.parallel_env()
    agent = env.possible_agents[0]
    rows = {
        "Create": "`multigrid.parallel_env(...)`, or `multigrid.env(...)` for [AEC](../using.md#agent-by-agent)",
        "Id": '`pettingzoo.make("parallel", "multigrid/MultiGrid-v0")`, or `"aec"`, with PettingZoo 1.27',
        "Agents": f"`{', '.join(env.possible_agents)}, ...`: any number, {env.max_num_agents} by default",
        "Action space": f"{_code(env.action_space(agent))}; `Discrete(5)` with `allow_stay=True`",
        "Observation space": "`Dict` of [parts](#observations)",
        "Reward": "1 on arrival, else 0 ([rules](#rules))",
        "State": f"`env.state()`, int64 `{env.state_space.shape}`: x, y, target x, target y, by agent; -1 if it left",
        "Render modes": _listed(env.metadata["render_modes"]),
        "Metrics": "`env.metrics()`: [definitions](../path_finding.md#metrics)",
        "Many worlds": "[`multigrid.vector_env(...)`](multi_grid_vector.md)",
        "Manual control": "`multigrid play`",
    }
    return _page(
        "MultiGrid",
        [
            _MULTI_GRID,
            "![Eight agents in a warehouse, each on its way to the target of its colour](multi_grid.svg)",
            _PLAN.format(*_rate_plan(MULTI_GRID), MULTI_GRID),
            _program(_MULTI_GRID_PROGRAM),
            _table(rows),
            "## Arguments",
            "Pass these options as keywords, or as `multigrid.parallel_env(multigrid.GridConfig(...))`:",
            _options(),
            _GIVEN,
            "These set how the environment is drawn:",
            _arguments(multigrid.MultiGridEnv, without=("config",)),
            "## Rules",
            "In each step, each agent requests a cell. `collisions` decides who gets it:",
            _choices(_COLLISIONS, Collisions, "collisions"),
            "`on_target` decides what happens to an agent that arrives:",
            _choices(_ON_TARGET, OnTarget, "on_target"),
            _RULES,
            "## Actions",
            _actions(5),
            "## Observations",
            _observations(),
            "## Infos",
            _INFOS,
            _outcomes(),
            "## AEC",
            _prose(MultiGridAECEnv).split("\n\n", 1)[1],
            _AEC_STATES,
        ],
    )


def _vector() -> str:
    envs = multigrid.vector_env(3)
    rows = {
        "Create": "`multigrid.vector_env(num_worlds, ...)`",
        "Rows": "`num_envs = num_worlds * num_agents`; row `k * num_agents + i` is agent i of world k",
        "Action space": f"{_code(envs.action_space)} for three worlds of two agents",
        "Observation space": "[that of an agent](multi_grid.md#observations), batched",
    }
    return _page(
        "MultiGrid, many worlds",
        [
            _VECTOR,
            "![Four worlds of three agents, side by side](multi_grid_vector.svg)",
            _program(_VECTOR_PROGRAM),
            _table(rows),
            _prose(multigrid.MultiGridVectorEnv).split("\n\n", 1)[1],
            "## Arguments",
            "`vector_env` takes the [options of MultiGrid](multi_grid.md#arguments) as keywords, and:",
            _arguments(multigrid.MultiGridVectorEnv, without=("config",), made_by=multigrid.vector_env),
            "## Reset",
            _arguments(multigrid.MultiGridVectorEnv.reset),
        ],
    )


def _suite() -> str:
    parts = [
        _SUITE.format(len(names())),
        _program(_SUITE_PROGRAM),
        _prose(suite).split("\n\n", 1)[1],
        _RATED,
    ]
    for kind, group in itertools.groupby(names(), key=lambda name: name.split("-")[0]):
        shown, described = SUITE[kind]
        rows = ("| " + " | ".join(map(str, (name, *_rate_plan(name)))) + " |" for name in group)
        head = "| scenario | sum of costs | lower bound | plan |\n|---|---:|---:|---|"
        film = f"![{described} ({shown})](suite_{kind}.svg)"
        parts += [f"## {kind.capitalize()}", film, "\n".join([head, *rows])]
    return _page("The suite", parts)


def _rate_plan(name: str) -> tuple[int, int, str]:
    cost, bound = int(trace_episode(get(name)).metrics["sum_of_costs"]), lower_bound(name)
    return cost, bound, "optimal" if cost == bound else f"feasible, gap {100 * (cost / bound - 1):.1f} %"


def _page(title: str, parts: Sequence[str]) -> str:
    note = "<!-- Written by docs/make_pages.py. Change the docstrings, and run it again. -->"
    return "\n\n".join([note, f"# {title}", *(part.strip("\n") for part in parts)]) + "\n"


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


def _choices(meanings: dict[str, str], names: Any, option: str) -> str:
    return _table({f'`"{name}"`': meanings[name] for name in get_args(names)}, (f"`{option}`", ""))


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
    return "\n".join(lines) + "\n" + _FLAT.format(vector)


def _outcomes() -> str:
    said = dict(_said_of(multigrid.Outcome))
    rows = {f"{int(one)}": f"`{one.name}`: {said[one.name]}" for one in multigrid.Outcome}
    order = _plain(_prose(multigrid.Outcome).split("\n\n")[-1])
    return "\n\n".join([_table(rows, ("outcome", "")), order])


def _program(text: str) -> str:
    return f"```python{text}```"


if __name__ == "__main__":
    main()
