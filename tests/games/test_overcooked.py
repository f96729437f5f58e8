"""Overcooked: recorded episodes of overcooked_ai, its layouts, and what is refused."""

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import multigrid
from multigrid import games, testing
from multigrid.games.overcooked import EVENTS, LAYOUTS, Overcooked, _potential, potential
from multigrid.runtime.compiled import COMPILED
from multigrid.scenarios.tracing import EpisodeTrace

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


def test_features_are_of_as_many_pots_as_asked_for() -> None:
    """With another `num_pots`, the vector has so many pots of each player, with zeros where there are fewer."""
    seen = {}
    for num_pots in (0, 1, 2, 3):
        env: Any = games.parallel_env("Overcooked-coordination_ring-v0", observe="features", num_pots=num_pots)
        env.reset(seed=0)
        set_start(env, [[2, 1, 0, 1], [1, 2, 3, 0]], [[3, 0, 24, -1], [4, 1, 28, 5]])
        seen[num_pots] = env.step({"agent_0": 4, "agent_1": 4})[0]["agent_1"]
        assert env.observation_space("agent_1").shape == seen[num_pots].shape == (2 * (28 + 10 * num_pots),)
    for num_pots, one in seen.items():
        both = seen[2][:92].reshape(2, 46)
        pots = np.pad(both[:, 22:42], ((0, 0), (0, 10)))[:, : 10 * num_pots]
        expected = np.concatenate([both[:, :22], pots, both[:, 42:]], axis=1)
        np.testing.assert_array_equal(one, [*expected.ravel(), *seen[2][92:]])
    assert {both[0, 22], both[1, 32]} == {1}


@pytest.mark.parametrize(
    ("layout", "players", "things", "expected"),
    [
        ("counter_circuit", [[4, 1, 2, 0], [1, 2, 0, 2]], [[3, 0, 24, -1], [5, 0, 25, -1]], 16.781891944),
        ("counter_circuit", [[1, 2, 0, 1], [1, 3, 0, 20]], [[3, 0, 24, 30], [5, 0, 20, 15]], 10.412282686),
        ("counter_circuit", [[7, 3, 0, 3], [2, 1, 0, 1]], [[3, 0, 25, 37], [5, 0, 28, 42]], 31.126803342),
        ("counter_circuit", [[4, 3, 0, 1], [5, 1, 0, 21]], [[3, 0, 25, 21], [5, 0, 25, 21]], 80.765700157),
        ("counter_circuit", [[1, 2, 0, 3], [2, 1, 0, 1]], [[3, 0, 21, -1], [5, 0, 21, 22]], 45.240503747),
        ("coordination_ring", [[1, 3, 1, 1], [2, 1, 0, 0]], [[3, 0, 20, -1], [4, 1, 24, -1]], 6.284719508),
        ("coordination_ring", [[3, 2, 1, 1], [2, 1, 0, 0]], [[3, 0, 24, -1], [4, 1, 20, -1]], 6.809653417),
        ("coordination_ring", [[3, 2, 1, 1], [2, 1, 0, 0]], [[4, 1, 20, -1]], 3.760659776),
        ("coordination_ring", [[3, 2, 1, 0], [2, 1, 0, 0]], [[3, 0, 28, -1], [4, 1, 20, -1]], 7.003364901),
        ("forced_coordination_tomato", [[1, 3, 0, 3], [3, 3, 0, 21]], [[3, 0, 21, 14], [4, 1, 22, -1]], 5.315554549),
        ("forced_coordination_tomato", [[1, 1, 0, 1], [3, 1, 0, 1]], [[4, 1, 25, 10]], 12.948597424),
        (
            "multiplayer_schelling",
            [[4, 2, 0, 0], [5, 4, 0, 1], [2, 2, 0, 3], [4, 3, 0, 1]],
            [[3, 0, 20, 0]],
            13.532181517,
        ),
    ],
)
def test_the_potential_is_that_of_the_original(
    layout: str, players: list[list[int]], things: list[list[int]], expected: float
) -> None:
    """The potential of a state is what overcooked_ai says, also of each of many worlds."""
    game_id = f"Overcooked-{layout}-v0"
    env: Any = games.parallel_env(game_id)
    env.reset(seed=0)
    begun = potential(env, 0.95)
    envs: Any = games.vector_env(game_id, 2)
    envs.reset(seed=0)
    set_start(env, players, things)
    envs.set_state([envs.get_state([0], single=True)[0], env.get_state()])
    np.testing.assert_allclose([potential(env, 0.95), *potential(envs, 0.95)], [expected, begun, expected], rtol=1e-9)
    for gamma in (0, 1, "0.9"):
        with pytest.raises(ValueError, match="gamma is"):
            potential(env, gamma)
    with pytest.raises(TypeError, match="expected an environment of the game Overcooked"):
        potential(multigrid.parallel_env())


def test_the_potential_of_an_endless_reward_is_endless() -> None:
    """Where a bonus order pays inf, as in a layout of overcooked_ai, the potential is inf."""
    env = games.parallel_env("Overcooked-tutorial_3-v0")
    env.reset(seed=0)
    assert potential(env) == np.inf


def test_a_kitchen_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Potentials of other layouts and discounts do not depend on what was computed before, which is kept."""
    monkeypatch.setattr(_potential, "_KITCHENS", {})
    first = "XXPXX\nO1 2O\nX   X\nXDXSX"
    envs = [
        games.parallel_env("Overcooked-cramped_room-v0", layout=one) for one in (first, first.replace("XDXSX", "XSXDX"))
    ]
    for env in envs:
        env.reset(seed=0)
        set_start(env, [[1, 2, 0, 25], [3, 1, 0, 0]], [])
    found = [potential(env, gamma) for env in envs for gamma in (0.9, 0.95)]
    kitchens = list(_potential._KITCHENS.values())
    assert len(set(found)) == len(kitchens) == 4
    assert found == [potential(env, gamma) for env in envs for gamma in (0.9, 0.95)]
    assert [id(one) for one in _potential._KITCHENS.values()] == list(map(id, kitchens))


def test_events_of_an_episode_are_counted() -> None:
    """Each event is a metric, of all players together: in infos at an episode's end, and in evaluations."""
    env: Any = games.parallel_env("Overcooked-cramped_room-v0", max_cycles=150)
    envs: Any = games.vector_env("Overcooked-cramped_room-v0", 1, max_cycles=150, autoreset_mode="SameStep")
    env.reset(seed=0)
    envs.reset(seed=0)
    random, counts = np.random.default_rng(2), np.zeros(len(EVENTS))
    for _ in range(150):
        actions = random.choice(6, 2, p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
        *_, infos = env.step(dict(zip(env.agents, actions.tolist(), strict=True)))
        *_, rows = envs.step(actions)
        for info in infos.values():
            counts += [info["events"] >> k & 1 for k in range(len(EVENTS))]
    assert counts.astype(bool).sum() > 3
    assert [env.metrics()[name] for name in EVENTS] == counts.tolist()
    assert [rows["final_info"][name][0] for name in EVENTS] == counts.tolist()
    found = multigrid.evaluate(env.config, lambda env, _: dict.fromkeys(env.agents, 4), seeds=range(2))
    assert {name: found[name].mean for name in EVENTS} == dict.fromkeys(EVENTS, 0)


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


@pytest.mark.skipif(not COMPILED, reason="compares compiled functions with Python")
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({"layout": ("cramped_room", "asymmetric_advantages_tomato"), "random_positions": True}, {"delays": 0.1}),
        pytest.param(
            {"layout": "multiplayer_schelling", "dynamics": "old", "shaping": 0.5, "random_objects": 0.6},
            {},
            marks=pytest.mark.long,
        ),
    ],
)
def test_overcooked_keeps_what_the_checks_ask(options: dict[str, Any], settings: dict[str, Any]) -> None:
    """It plays alike compiled and interpreted and in every environment, on several layouts, too."""
    testing.check_game("Overcooked-cramped_room-v0", **options, **settings)


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
    recorded = multigrid.scenarios.RecordEpisode(games.parallel_env("Overcooked-cramped_room-v0", max_cycles=300))
    recorded.shaping, returns = 0.5, 0.0
    recorded.reset(seed=0)
    recorded.action_space("agent_0").seed(0)
    while recorded.agents:
        returns += sum(
            recorded.step({one: recorded.action_space("agent_0").sample() for one in recorded.agents})[1].values()
        )
    assert returns > 0
    assert recorded.scenario("shaped").config.options["shaping"] == 0.5
    wrapped: Any = multigrid.wrappers.RecordEpisodeStatistics(envs)
    tuples: Any = gymnasium.make("multigrid/Overcooked-forced_coordination-v0").unwrapped
    turns = games.env("Overcooked-forced_coordination-v0", shaping=0.25)
    for one, inner in ((wrapped, envs), (tuples, tuples), (turns, turns.unwrapped)):
        one.shaping = 0.75
        assert inner.shaping == one.shaping == inner._worlds.arrays.own.shaping == 0.75
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
    for tick, letters in ((-1, "PODS"), (5, "+"), (15, "5"), (20, "!")):
        set_start(text, [[2, 1, 0, 0], [1, 2, 0, 0]], [] if tick < 0 else [[3, 0, 28, tick]])
        assert set(letters) <= {part.partition("m")[2][:1] for part in text.render().split("\x1b")}


def test_pictures_have_room_for_long_times() -> None:
    """A time of more digits than fit beside the edge, or into two letters, is shown as one that is longer."""
    grid, frames = "XXXXX\nP 12P\nO   T\nXDXSX", []
    for time in (99, 100, 99_999, 100_000, 10**6):
        layout = repr({"grid": grid, "cook_time": time})
        env: Any = games.parallel_env("Overcooked-cramped_room-v0", layout=layout, render_mode="rgb_array")
        env.reset(seed=0)
        set_start(env, [[2, 1, 0, 0], [1, 2, 0, 0]], [[0, 1, 28, 0], [4, 1, 17, 0]])
        frames.append(env.render()[48:96])
        trace = EpisodeTrace(env)
        trace.note()
        letters = {mark.letter for mark in trace.episode("long").looks[0].marks if mark.cell[1] == 1}
        assert letters == {"99" if time == 99 else "++"}
    assert len({frame.tobytes() for frame in frames}) == 4


OUTSIDE = {"players": [{"position": [-4, 2], "orientation": [0, 1]}, {"position": [3, 1], "orientation": [0, 1]}]}
ROOM = {"grid": "XXPXX\nO  2T\nX1  X\nXDXSX", "start_all_orders": [{"ingredients": ["onion"] * 3}]}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"layout": "cramped_rooms"}, r"layout is 'cramped_rooms' \(did you mean 'cramped_room'\?\)"),
        ({"layout": 3}, "layout is 3; expected a name"),
        ({"layout": ()}, r"layout is \(\)"),
        ({"layout": ("cramped_room", "cramped_room_single")}, r"the layouts have \[2, 1\] players"),
        ({"layout": "{'grid': "}, "cannot be read"),
        ({"layout": "{1, 2}"}, "expected a dict with a grid"),
        ({"layout": ROOM | {"grid": 3}}, "the layout's grid is 3"),
        ({"layout": ROOM | {"kitchen": 3}}, "the layout has 'kitchen'"),
        ({"layout": ROOM | {"grid": ROOM["grid"].replace("D", "X")}}, "the grid has no D"),
        ({"layout": ROOM | {"cook_time": 3, "recipe_times": [3]}}, "has cook_time and recipe_times; expected one kind"),
        ({"layout": ROOM | {"onion_value": 3}}, "onions and tomatoes have both or none"),
        ({"layout": ROOM | {"recipe_values": [1, 2]}}, r"recipe_values of the layout is \[1, 2\]"),
        ({"layout": ROOM | {"cook_time": -1}}, "cook_time of the layout is -1"),
        ({"layout": ROOM | {"start_all_orders": [{"ingredients": ["leek"]}]}}, "start_all_orders has"),
        ({"layout": ROOM | {"start_bonus_orders": [{"ingredients": ["onion"]}]}}, "a bonus order of the layout"),
        ({"layout": ROOM | {"rew_shaping_params": {"DISH": 3}}}, "rew_shaping_params is"),
        ({"layout": ROOM | {"start_state": {"players": []}}}, "start_state of the layout"),
        ({"layout": ROOM | {"start_state": OUTSIDE}}, "start_state of the layout"),
        ({"layout": "bonus_order_test", "dynamics": "old"}, "where soups have 3 ingredients"),
        ({"dynamics": "older"}, "dynamics is 'older'"),
        ({"random_objects": 1.5}, "random_objects is 1.5; expected a probability"),
        ({"num_pots": -1}, "num_pots is -1"),
        ({"walls": "..."}, "walls are given"),
        ({"num_agents": 3}, "num_agents is 3, but by its options the game has 2"),
    ],
)
def test_what_cannot_be_played_is_refused(options: dict[str, Any], problem: str) -> None:
    """An error for a layout or an option that cannot be played says what came, and what was expected."""
    if isinstance(layout := options.get("layout"), dict):
        options = {"layout": repr(layout)}
    with pytest.raises((TypeError, ValueError), match=problem):
        games.parallel_env("Overcooked-cramped_room-v0", **options)


def test_a_layout_is_a_name_or_a_file_or_text(tmp_path: Path) -> None:
    """A file, its text, and a grid alone are layouts, with their values, times, orders and shaped rewards."""
    entries = ROOM | {
        "cook_time": 7,
        "delivery_reward": 9,
        "order_bonus": 3,
        "start_bonus_orders": ROOM["start_all_orders"],
    }
    (tmp_path / "own.layout").write_text(repr(entries), encoding="utf-8")
    for layout in (str(tmp_path / "own.layout"), repr(entries)):
        prepared = games.config("Overcooked-cramped_room-v0", layout=layout).prepared
        assert np.argwhere(prepared["reward"][0]).ravel().tolist() == [12]
        assert (prepared["reward"][0, 12], prepared["cook_time"][0, 12]) == (27, 7)
    prepared = games.config("Overcooked-cramped_room-v0", layout=ROOM["grid"]).prepared
    assert np.argwhere(prepared["reward"][0]).ravel().tolist() == [1, 2, 3, 4, 5, 6, 8, 9, 12]
    assert set(prepared["reward"][0]) == {0, 20}
    assert games.config("Overcooked-tutorial_3-v0").prepared["reward"][0].max() == np.inf


def test_long_times_have_a_wider_type() -> None:
    """Where a soup cooks for more than 255 steps, agents observe integers of 32 bits, and else bytes."""
    # A pot takes no six ingredients, which would cook longer.
    each, longer = {"onion_time": 85, "tomato_time": 80}, {"cook_time": 256}
    for time, times, dtype in ((255, {"cook_time": 255}, np.uint8), (255, each, np.uint8), (256, longer, np.int32)):
        env: Any = games.parallel_env("Overcooked-cramped_room-v0", layout=repr(ROOM | times))
        env.reset(seed=0)
        set_start(env, [[2, 1, 0, 0], [1, 1, 0, 0]], [[2, 0, 28, -1]])
        observations, *_ = env.step({"agent_0": 5, "agent_1": 4})
        assert observations["agent_0"].dtype == env.observation_space("agent_0").dtype == dtype
        assert observations["agent_0"][2, 0, 20] == time - 1


def test_random_starts_are_as_likely_as_in_the_original() -> None:
    """Joint positions are equally likely, also in one room; pots and hands have each thing at its rate."""
    options: dict[str, Any] = {"random_positions": True, "random_objects": 0.5}
    envs: Any = games.vector_env("Overcooked-forced_coordination-v0", 3000, **options)
    envs.reset(seed=1)
    state = envs.get_state()
    joint, counts = np.unique(state["location"].reshape(-1, 4), axis=0, return_counts=True)
    assert len(joint) == 6 * 5
    assert counts.min() > 60
    assert counts.max() < 140
    kind = games.config("Overcooked-forced_coordination-v0").prepared["kind"][0]
    for things in (state["thing"][:, kind == 1], state["held"]):
        soups = things[things > 16] - 16
        np.testing.assert_allclose(
            np.bincount(soups // 4, minlength=4) / len(soups), [0, 1 / 3, 1 / 3, 1 / 3], atol=0.06
        )
        np.testing.assert_allclose((soups[soups // 4 == 1] % 4 == 2).mean(), 1 / 3, atol=0.08)
    np.testing.assert_allclose((state["thing"][:, kind == 1] > 0).mean(), 0.5, atol=0.03)
    np.testing.assert_allclose((state["cooking"] == 1).mean(), 0.25, atol=0.03)
    found = [(state["held"] == thing).mean() for thing in (0, 1, 3)]
    np.testing.assert_allclose(found, [0.5, 0.3, 0.1], atol=0.03)


def test_nobody_moves_if_two_are_in_the_way_of_each_other() -> None:
    """Two that ask for one cell, or for each other's, keep all players in their cells, also far ones; all turn."""
    for cells, moves, are_free in (
        ([[2, 1], [3, 1], [1, 4], [5, 3]], (2, 2, 0, 0), True),  # one follows another
        ([[2, 1], [3, 1], [1, 4], [5, 3]], (2, 3, 0, 0), False),  # two would change places
        ([[2, 1], [4, 1], [1, 4], [5, 3]], (2, 3, 0, 0), False),  # two ask for one cell
        ([[2, 1], [3, 1], [1, 4], [5, 3]], (2, 4, 0, 0), False),  # one asks for the cell of another
    ):
        env: Any = games.parallel_env("Overcooked-multiplayer_schelling-v0")
        env.reset(seed=0)
        set_start(env, [[*cell, 1, 0] for cell in cells], [])
        env.step(dict(zip(env.agents, moves, strict=True)))
        state = env.get_state()
        steps = [[(0, -1), (0, 1), (1, 0), (-1, 0), (0, 0)][move] for move in moves]
        assert (state["location"] - cells).tolist() == (np.array(steps) * are_free).tolist()
        assert state["direction"].tolist() == [1 if move == 4 else move for move in moves]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("direction", lambda array: array + 4),
        ("held", lambda array: array + 16),
        ("held", lambda array: array + 31),
        ("thing", lambda array: array + 1),
        ("cooking", lambda array: array + 1),
        ("location", lambda array: array[[0, 0]]),
    ],
)
def test_states_that_play_cannot_reach_are_refused(name: str, change: Any) -> None:
    """A state with things where none can be, or with a pot that cooks nothing, is refused."""
    env: Any = games.parallel_env("Overcooked-cramped_room-v0")
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(ValueError, match="in the state"):
        env.set_state({**state, name: np.asarray(change(state[name]), state[name].dtype)})
