"""What an agent observes and may do, in words, and the action that an answer names: for players that read and write.

>>> import multigrid
>>> env = multigrid.parallel_env(num_agents=2, size=(5, 3))
>>> observations, infos = env.reset(seed=0)
>>> print(multigrid.describe(env, "agent_0"))
You are agent_0, one of 2 agents.
You are at [4, 1].
Your target is at [2, 0].
agent_1 is at [1, 0].
Actions: right [1, 0], up [0, 1], left [-1, 0], down [0, -1].
>>> multigrid.parse_action(env, "agent_0", "The target is not to the right. I go left.")
2
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import list_names, name_errors, shorten
from multigrid._phrases import draw, place
from multigrid.actions import DIRECTIONS, Action
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT
from multigrid.envs._one_world import OneWorld
from multigrid.game import describe as describe_game
from multigrid.parts import IMAGES, MASK, MESSAGES, PartSpec, flat_slices

_VIEW = {
    "@": "you",
    "X": "you, on your target",
    "T": "your target, or the cell nearest to it",
    "A": "another agent there",
    "a": "another agent",
    "#": "wall or outside",
}


def describe(env: Any, agent: str | None = None) -> str:
    """Return what an agent observes and may do, in words: no more than the parts of its observation say.

    Parts of a game are in the words of the game's function ``describe(scene, i)``, or listed as numbers. Actions that
    the part "action_mask" forbids are left out; without this part, all are listed.

    Args:
        env: an environment of one world, of PettingZoo or Gymnasium; of one in wrappers, what the env inside observes.
        agent: one of the agents in the episode; None for the only one.

    Raises:
        TypeError: `env` is another object, such as a vector env, or the game's function returns no text.
        ValueError: the agent is not in the episode.
        ResetNeeded: there was no reset yet.
    """
    inner, index = _find(env, agent)
    config, parts = inner.config, _read_parts(inner, index)
    game = None if config.game is None else describe_game(config.game)
    own = {} if game is None else game.plain
    own_parts = {} if game is None else {name: value for name, value in parts.items() if name in game.parts}
    names = config.agents
    many = f"one of {'up to ' * (config.least_agents is not None)}{len(names)} agents"
    lines = [f"You are {names[index]}, {many}." if len(names) > 1 else "You are the only agent."]
    for part, value in parts.items():
        if part == "others":
            named = zip(names[:index] + names[index + 1 :], value.tolist(), strict=True)
            lines += [f"{name} {'is not there' if cell == [-1, -1] else f'is at {cell}'}." for name, cell in named]
        elif part == MESSAGES:
            said = zip(names, ("".join(map(str, bits)) for bits in value.tolist()), strict=True)
            lines += [f"{'You' if name == names[index] else name} said {bits}." for name, bits in said if bits]
        elif part in _SAYINGS:
            lines.append(_SAYINGS[part](value.tolist()))
        elif "describe" not in own:
            lines.append(f"{part}: {value.tolist()} ({config.part_specs[part].meaning.rstrip('.')})")
    if "describe" in own and own_parts:
        label = f"{config.game.__name__ if config.game else ''}.describe"
        with name_errors(label):
            text: Any = own["describe"](SimpleNamespace(**vars(config.game_options), parts=own_parts), index)
        if not isinstance(text, str):
            raise TypeError(f"{label} returns {shorten(text)}; expected a str")
        lines.append(text)
    steps = DIRECTIONS[list(getattr(inner, "_kernel_actions", range(5)))].tolist()
    has_moves = config.game is None or config.game.moves
    allowed = [
        f"{name} {steps[number]}" if has_moves and number < 5 else name
        for name, number in _list_allowed(config, parts).items()
    ]
    lines.append(f"Actions: {', '.join(allowed)}.")
    if config.message_bits:
        lines.append(f"After the action, write a message of {_count(config)}, such as {'0' * config.message_bits}.")
    return "\n".join(line for line in lines if line)


def parse_action(env: Any, agent: str | None, text: str) -> Any:
    """Return the last action that a text names, in the form that `step` takes.

    Capitals do not matter, and a name such as pick_up may be written with a space or a hyphen. Where agents send
    messages, the message is the digits 0 and 1 after the last "say", or the last group of as many; zeros without one.

    Args:
        env: as for `describe`.
        agent: as for `describe`.
        text: such as the answer of a language model.

    Returns:
        The action, an int; with messages int64 (1 + bits,).

    Raises:
        TypeError, ResetNeeded: as `describe`, or `text` is not a str.
        ValueError: the text names no action, or one that the agent's action mask forbids; the message lists those that
            are allowed. Or what it says has more or fewer digits than a message. Or as `describe`.

    >>> import multigrid
    >>> env = multigrid.parallel_env(num_agents=1, size=(5, 3), observe=("agent", "action_mask"))
    >>> observations, infos = env.reset(seed=0)
    >>> parse_action(env, "agent_0", "Let us go right!")
    Traceback (most recent call last):
    ValueError: the text names right, which agent_0 may not do now; expected one of up, left, down
    """
    inner, index = _find(env, agent)
    config = inner.config
    if not isinstance(text, str):
        raise TypeError(f"text is {shorten(text)} of type {type(text).__name__}; expected a str")
    allowed, known = _list_allowed(config, _read_parts(inner, index)), _list_allowed(config, {})
    spoken = [name.replace("_", " ").lower() for name in known]
    pattern = "|".join(re.escape(one).replace(r"\ ", r"[\s_-]*") for one in sorted(spoken, key=len, reverse=True))
    named = list(re.finditer(rf"(?<![^\W_])(?:{pattern})(?![^\W_])", text.lower()))
    expected = f"expected one of {list_names(allowed)}"
    if not named:
        raise ValueError(f"the text names no action: {shorten(text)}; {expected}")
    said = named[-1].group()
    as_said = [one for one in known if one.lower() == said]
    joined = re.sub(r"[\s_-]+", "", said)
    name = [*as_said, *(one for one in known if one.replace("_", "").lower() == joined)][0]
    if name not in allowed:
        raise ValueError(f"the text names {name}, which {config.agents[index]} may not do now; {expected}")
    if not config.message_bits:
        return known[name]
    return np.array([known[name], *map(int, _read_message(config, text))])


def _read_message(config: GridConfig, text: str) -> str:
    """Return the digits of the message in a text."""
    said = re.findall(r"(?<!\w)say\w*:?\s+([01]+(?:\s[01]+)*)(?!\w)", text.lower())
    sent = ["".join(said[-1].split())] if said else re.findall(rf"(?<!\w)[01]{{{config.message_bits}}}(?!\w)", text)
    message: str = sent[-1] if sent else "0" * config.message_bits
    if len(message) != config.message_bits:
        raise ValueError(f"the text says {message}; expected a message of {_count(config)}")
    return message


def _count(config: GridConfig) -> str:
    return f"{config.message_bits} bit{'s' * (config.message_bits > 1)}"


def _find(env: Any, agent: str | None) -> tuple[Any, int]:
    """Return the environment of one world inside, and the index of an agent in the episode."""
    inner: Any = getattr(env, "unwrapped", None)
    if not isinstance(inner, OneWorld):
        raise TypeError(f"env is of type {type(env).__name__}; expected an environment of one world")
    statuses = zip(inner.config.agents, inner.get_state()["status"].tolist(), strict=True)
    present = [name for name, status in statuses if status != LEFT]
    if not present or not getattr(inner, "agents", present):
        raise ValueError("the episode is over; call reset() first")
    name: Any = present[0] if agent is None and inner.config.num_agents == 1 else agent
    if name not in present:
        raise ValueError(f"agent is {shorten(agent)}; expected one in the episode: {list_names(present)}")
    return inner, inner.config.agents.index(name)


def _read_parts(inner: Any, index: int) -> dict[str, NDArray[Any]]:
    """Return a copy of each part that an agent observes; scaled coordinates of a flat vector are cells again."""
    config: GridConfig = inner.config
    arrays = [array[0, index].copy() for array in inner._worlds.observation_arrays]  # noqa: SLF001
    if not config.flatten:
        return dict(zip(config.parts, arrays, strict=True))
    slices, found = flat_slices(config.part_shapes), dict[str, NDArray[Any]]()
    for part, shape in config.part_shapes.items():
        vector = arrays[0][slices[part]] if part in slices else arrays[1]
        found[part] = _unscale(vector.reshape(shape), config.part_specs[part], config)
    return found


def _unscale(values: NDArray[Any], spec: PartSpec, config: GridConfig) -> NDArray[Any]:
    if spec.has_cells:
        is_absent = (values == -1) & (not spec.is_signed)
        values = np.where(is_absent, -1, values * [config.width - 1, config.height - 1])
    return (values if np.dtype(spec.dtype).kind == "f" else np.rint(values)).astype(spec.dtype)


def _list_allowed(config: GridConfig, parts: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the numbers of the actions by name, without those that the mask among the parts forbids."""
    moves = [action.name.lower() for action in Action][: config.num_actions - len(config.own_actions)]
    mask = parts.get(MASK, np.ones(config.num_actions))
    return {name: number for number, name in enumerate([*moves, *config.own_actions]) if mask[number]}


def _draw_view(view: NDArray[np.uint8]) -> list[list[str]]:
    walls, agents, targets = view
    cells = np.where(walls == 1, "#", np.where(agents == 1, np.where(targets == 1, "A", "a"), "."))
    cells[(targets == 1) & (agents == 0)] = "T"
    centre = len(cells) // 2
    cells[centre, centre] = "X" if targets[centre, centre] else "@"
    shown: list[list[str]] = cells.tolist()
    return shown


_SAYINGS: dict[str, Callable[[Any], str]] = {
    "agent": lambda cell: f"You are at {cell}.",
    "target": lambda cell: f"Your target is at {cell}.",
    "offset": lambda offset: f"Your target is {place(offset, ('right', 'left', 'up', 'down'))}.",
    "view": lambda view: draw("What you see, y + 1 is up", _draw_view(np.array(view)), _VIEW, is_flipped=True),
    "walls": lambda walls: draw(
        f"The map, y = {len(walls[0]) - 1} at the top",
        [[".#"[wall] for wall in column] for column in walls],
        {"#": "wall"},
        is_flipped=True,
    ),
    MASK: lambda _: "",
    "delayed": lambda was: "You were delayed in the last step." * was[0],
    "delay_left": lambda left: f"You are delayed; steps left: {left[0]}." * (left[0] > 0),
    **dict.fromkeys(IMAGES, lambda _: "You see an image, which is not in these words."),
}
"""What is said of a part of the built-in game, given its value as lists."""
