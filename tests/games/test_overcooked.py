"""Overcooked: recorded episodes of overcooked_ai, its layouts, and what is refused."""

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multigrid
from multigrid import games, testing
from multigrid.games.overcooked import LAYOUTS, Overcooked

PARTS = ("lossless", "features")
RECORDED = json.loads(Path(__file__).with_name("overcooked_episodes.json").read_text(encoding="utf-8"))


def sha(value: Any) -> str:
    """Return the first digits of a digest of JSON."""
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()[:6]


def crc(array: Any) -> int:
    """Return the checksum that was recorded."""
    return zlib.crc32(array.astype("<i4").tobytes())


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
        env: Any = games.parallel_env("Overcooked-cramped_room-v0", **options, max_cycles=run["horizon"], observe=PARTS)
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
            lossless, features = ([crc(one[part]) for one in observations.values()] for part in PARTS)
            # The original encodes two players alone, and has features of two and more.
            seen = [lossless if len(lossless) == 2 else [], features if len(features) > 1 else []]
            assert sha([read_players(env), read_things(env), *own, *seen]) == digest, step
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


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"layout": ("cramped_room", "asymmetric_advantages_tomato"), "random_positions": True}, {"delays": 0.1}),
        ({"layout": "multiplayer_schelling", "dynamics": "old", "shaping": 0.5, "random_objects": 0.6}, {}),
    ],
)
def test_overcooked_keeps_what_the_checks_ask(options: dict[str, Any], settings: dict[str, Any]) -> None:
    """It plays alike compiled and interpreted and in every environment, on several layouts, too."""
    testing.check_game(Overcooked, **options, **settings)


def test_shaped_rewards_can_fade() -> None:
    """What is set as `shaping` multiplies each player's shaped reward from the next step on, in every environment."""
    env: Any = games.parallel_env("Overcooked-forced_coordination-v0", shaping=0.25)
    envs: Any = games.vector_env("Overcooked-forced_coordination-v0", 2, shaping=0.25)
    observed = []
    for weight in (None, 0.5, 0):
        env.reset(seed=0)
        envs.reset(seed=0)
        if weight is not None:
            env.unwrapped.shaping = weight
            envs.shaping = weight
        set_start(env, [[3, 1, 0, 1], [1, 2, 0, 0]], [])
        begun = {name: np.stack([env.get_state()[name]] * 2) for name in ("location", "held")}
        envs.set_state({**envs.get_state(), **begun})
        _, rewards, _, _, infos = env.step({"agent_0": 5, "agent_1": 4})
        assert [info["shaped"] for info in infos.values()] == [3, 0]
        np.testing.assert_array_equal(envs.step([5, 4, 4, 5])[1], [*rewards.values(), 0, 0])
        observed.append([*rewards.values()])
    assert observed == [[0.75, 0], [1.5, 0], [0, 0]]
    with pytest.raises(ValueError, match="shaping is -1"):
        env.unwrapped.shaping = -1
    assert env.unwrapped.shaping == 0
    with pytest.raises(AttributeError, match="there is no such game"):
        multigrid.parallel_env().shaping  # noqa: B018


def test_pictures_show_cooks_and_pots() -> None:
    """Frames change with what is held, with a direction, and with each step that a soup cooks, and text has letters."""
    env: Any = games.parallel_env("Overcooked-coordination_ring-v0", render_mode="rgb_array")
    env.reset(seed=0)
    frames = []
    for players, things in (
        ([[2, 1, 0, 0], [1, 2, 0, 0]], []),
        ([[2, 1, 1, 0], [1, 2, 0, 0]], []),
        ([[2, 1, 0, 28], [1, 2, 0, 0]], []),
        ([[2, 1, 0, 0], [1, 2, 0, 0]], [[3, 0, 28, 4]]),
        ([[2, 1, 0, 0], [1, 2, 0, 0]], [[3, 0, 28, 5]]),
        ([[2, 1, 0, 0], [1, 2, 0, 0]], [[3, 0, 28, 20]]),
    ):
        set_start(env, players, things)
        frames.append(env.render())
    assert {(frame.shape, frame.dtype.name) for frame in frames} == {((240, 240, 3), "uint8")}
    assert len({frame.tobytes() for frame in frames}) == len(frames)
    text: Any = games.parallel_env("Overcooked-coordination_ring-v0", render_mode="ansi")
    text.reset(seed=0)
    shown = [part.partition("m")[2][:1] for part in text.render().split("\x1b")]
    assert {"P", "O", "D", "S"} <= set(shown)
