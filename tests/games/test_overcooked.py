"""Overcooked: recorded episodes of overcooked_ai, its layouts, and what is refused."""

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multigrid import games
from multigrid.games.overcooked import LAYOUTS, Overcooked

RECORDED = json.loads(Path(__file__).with_name("overcooked_episodes.json").read_text(encoding="utf-8"))


def sha(value: Any) -> str:
    """Return the first digits of a digest of JSON."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:6]


def read_players(env: Any) -> list[list[int]]:
    """Return [x, y, direction, thing] of each player."""
    state = env.get_state()
    return [*np.concatenate([state["location"].T, [state["direction"], state["held"]]]).T.tolist()]


def read_things(env: Any) -> list[list[int]]:
    """Return [x, y, thing, steps that it has cooked] of what is on counters and in pots."""
    state, pots = env.get_state(), env.config.prepared["pot"][0].tolist()
    cells = np.argwhere(state["thing"]).tolist()
    ticks = [int(state["cooking"][pots.index(cell)]) - 1 if cell in pots else -1 for cell in cells]
    return [[*cell, int(state["thing"][tuple(cell)]), tick] for cell, tick in zip(cells, ticks, strict=True)]


def set_start(env: Any, players: list[list[int]], things: list[list[int]]) -> None:
    """Let an episode begin with the players' [x, y, direction, thing] and the things of `read_things`."""
    state, (*cell, direction, held) = env.get_state(), np.array(players).T
    pots = env.config.prepared["pot"][0].tolist()
    thing, cooking = np.zeros_like(state["thing"]), np.zeros_like(state["cooking"])
    for x, y, code, tick in things:
        thing[x, y] = code
        if [x, y] in pots:
            cooking[pots.index([x, y])] = tick + 1
    changed = {"location": np.stack(cell, axis=1), "direction": direction, "held": held}
    env.set_state({**state, **changed, "thing": thing, "cooking": cooking})


@pytest.mark.parametrize("recorded", [pytest.param(one, id=f"{k}-{one['dynamics']}") for k, one in enumerate(RECORDED)])
def test_recorded_episodes_are_played(recorded: dict[str, Any]) -> None:
    """From the same states and actions, states, rewards, events and observations are those of overcooked_ai."""
    options = {"layout": recorded["layout"], "dynamics": recorded["dynamics"]}
    for run in recorded["runs"]:
        env: Any = games.parallel_env("Overcooked-cramped_room-v0", **options, max_cycles=run["horizon"])
        env.reset(seed=0)
        if run["horizon"] == 300:
            assert [read_players(env), read_things(env)] == run["start"]
        set_start(env, *run["start"])
        digests = [run["digests"][k : k + 6] for k in range(0, len(run["digests"]), 6)]
        for step, digest in enumerate(digests):
            first = step * len(env.possible_agents)
            actions = map(int, run["actions"][first : first + len(env.possible_agents)])
            observations, rewards, _, truncated, infos = env.step(dict(zip(env.agents, actions, strict=True)))
            own = [[int(info[name]) for info in infos.values()] for name in ("sparse", "shaped", "events")]
            seen = [zlib.crc32(one.astype("<i4").tobytes()) for one in observations.values()]
            assert sha([read_players(env), read_things(env), *own, seen if len(seen) == 2 else []]) == digest, step
            assert set(rewards.values()) == {sum(own[0])}
            assert set(truncated.values()) == {step == len(digests) - 1}


def test_a_bad_layout_names_row_and_column() -> None:
    """An error for a grid that cannot be played says where."""
    for row, problem in (
        ("X1 ?X", r"row 2, column 3 of the grid is '\?'; expected a digit"),
        ("X1 2X X", "row 2 of the grid has 7 cells, and row 0 has 5"),
        ("X1 1X", "row 2, column 3 of the grid is player 1, and so is another cell"),
        ("X1 3X", r"the grid has the players \[1, 3\]"),
        ("X   X", r"the grid has the players \[\]"),
        ("1   X", "row 2, column 0 of the grid is floor, at the edge"),
    ):
        with pytest.raises(ValueError, match=problem):
            games.parallel_env("Overcooked-cramped_room-v0", layout=f"XXPXX\nO   O\n{row}\nXDXSX")


def test_every_layout_begins() -> None:
    """Each layout has an id, and players who stand on floor."""
    for name in LAYOUTS:
        config = games.config(f"Overcooked-{name}-v0")
        assert config.game is Overcooked
        start = config.prepared["start"][0]
        assert not config.maps[0][tuple(start[:, :2].T)].any()
