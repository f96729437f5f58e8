"""OvercookedV2: recorded episodes of JaxMARL, its layouts and random starts, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_overcooked import crc, sha

from multigrid import games, testing
from multigrid.games.overcooked import V2_LAYOUTS, OvercookedV2
from multigrid.runtime.compiled import COMPILED

RECORDED = json.loads(Path(__file__).with_name("overcooked_v2_episodes.json").read_text(encoding="utf-8"))


def read_state(env: Any) -> list[Any]:
    """Return [x, y, direction, thing] of each player, and [x, y, thing, timer] of cells, row by row."""
    state = env.get_state()
    players = np.concatenate([state["location"].T, [state["direction"], state["held"]]]).T.tolist()
    cells = np.argwhere((state["thing"].T > 0) | (state["timer"].T > 0)).tolist()
    return [players, [[x, y, int(state["thing"][x, y]), int(state["timer"][x, y])] for y, x in cells]]


@pytest.mark.parametrize("recorded", [pytest.param(one, id=one["layout"]) for one in RECORDED])
def test_recorded_episodes_are_played(recorded: dict[str, Any]) -> None:
    """From the same actions and recipes, states, rewards and observations are those of JaxMARL."""
    for run in recorded["runs"]:
        game_id = f"OvercookedV2-{recorded['layout']}-v0"
        env: Any = games.parallel_env(game_id, **recorded["options"], max_cycles=run["horizon"])
        env.reset(seed=0)
        possible = sorted(sum(4 ** (k + 1) for k in recipe) for recipe in recorded["recipes"])
        assert sorted(env.config.prepared["recipes"].tolist()) == possible
        recipes = dict(run["recipes"])
        env.set_state({**env.get_state(), "recipe": np.int64(recipes[0])})
        digests = [run["digests"][k : k + 6] for k in range(0, len(run["digests"]), 6)]
        for step, digest in enumerate(digests, 1):
            actions = map(int, run["actions"][2 * step - 2 : 2 * step])
            observations, rewards, _, _, infos = env.step(dict(zip(env.agents, actions, strict=True)))
            seen = [] if step in recipes else list(map(crc, observations.values()))
            shaped = [int(info["shaped"]) for info in infos.values()]
            assert len(set(rewards.values())) == 1
            is_correct = int(env.get_state()["is_correct"])
            found = [*read_state(env), int(rewards.get("agent_0", 0)), shaped, is_correct, seen]
            assert sha(found) == digest, step
            if step in recipes:
                env.set_state({**env.get_state(), "recipe": np.int64(recipes[step])})


@pytest.mark.parametrize(
    ("held", "in_pot", "expected"),
    [
        ((0, 0), 4, [3, 3]),  # two plates for one pot: those in hands were counted before
        ((0, 0), 0, [0, 0]),
        ((1, 0), 4, [0, 0]),
        ((0, 4), 4, [3, 3]),
        ((0, 4), 8, [3, 0]),  # the recipe has two of the ingredient
        ((0, 16), 8, [3, 3]),
    ],
)
def test_what_counts_for_shaped_rewards(held: tuple[int, int], in_pot: int, expected: list[int]) -> None:
    """Plates in hands are those before all interacts, pots those of now, and ingredients count if one is missing."""
    env: Any = games.parallel_env(
        "OvercookedV2-cramped_room-v0", layout="WBPBWW\n0A  A1\nWWWWXW", possible_recipes=[[0, 0, 1]]
    )
    env.reset(seed=0)
    state = env.get_state()
    thing, held_things = np.zeros_like(state["thing"]), np.array(held)
    thing[2, 0] = in_pot
    cells = np.array([[1, 1], [2 if held[1] else 3, 1]])
    env.set_state({**state, "thing": thing, "held": held_things, "location": cells})
    *_, infos = env.step({"agent_0": 5, "agent_1": 5})
    assert [info["shaped"] for info in infos.values()] == expected


def test_every_layout_begins() -> None:
    """Each layout has an id, players on floor, and recipes of three ingredients that it has."""
    for name in V2_LAYOUTS:
        config = games.config(f"OvercookedV2-{name}-v0")
        assert config.game is OvercookedV2
        assert not config.prepared["kind"][tuple(config.prepared["start"].T)].any()
        assert config.prepared["recipes"].min() >= 12


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"layout": "cramped"}, r"layout is 'cramped' \(did you mean 'cramped_room'\?\)"),
        ({"layout": "WWPWW\n0A AW\nW W\nWBXWW"}, "row 2 of the grid has 3 cells, and row 0 has 5"),
        ({"layout": "WWPWW\n0A AW\nW ? W\nWBXWW"}, r"row 2, column 2 of the grid is '\?'"),
        ({"layout": "WWPWW\n0A A \nWBXWW"}, "row 1, column 4 of the grid is floor, at the edge"),
        ({"layout": "WWPWW\n0A AW\nWBXWW"}, "the grid has no recipe indicator R"),
        ({"layout": "WWPWW\nWA AW\nWBXRW"}, "the grid has no player A, no pot P, or no ingredient"),
        ({"possible_recipes": [[0, 0, 1]]}, r"expected lists of 3 ingredients, from 0 to 0"),
        ({"possible_recipes": []}, r"possible_recipes is \(\)"),
        ({"agent_view_size": 0}, "agent_view_size is 0"),
        ({"shaping": -1}, "shaping is -1"),
    ],
)
def test_what_cannot_be_played_is_refused(options: dict[str, Any], problem: str) -> None:
    """An error for a layout or an option that cannot be played says what came, and in a grid where."""
    with pytest.raises((TypeError, ValueError), match=problem):
        games.parallel_env("OvercookedV2-cramped_room-v0", **options)


def test_random_starts_are_as_likely_as_in_jaxmarl() -> None:
    """Players begin in all cells of their own rooms, and hands, counters and pots have each thing at its rate."""
    envs: Any = games.vector_env("OvercookedV2-two_rooms_both-v0", 1500, random_reset=True)
    envs.reset(seed=3)
    state, kind = envs.get_state(), games.config("OvercookedV2-two_rooms_both-v0").prepared["kind"]
    cells = [{tuple(cell) for cell in state["location"][:, i].tolist()} for i in range(2)]
    assert [sorted({x for x, _ in one}) for one in cells] == [[1, 2, 3], [5, 6, 7]]
    assert [len(one) for one in cells] == [9, 9]
    np.testing.assert_allclose(np.bincount(state["direction"].ravel()) / 3000, 0.25, atol=0.03)
    for things, rates in (
        (state["held"], (0.5, 0.1, 0.25, 0.15)),
        (state["thing"][:, kind == 1], (0.5, 0.1, 0.3, 0.1)),
    ):
        dish, plate = things & 2 > 0, things == 1
        found = [things == 0, plate, (things > 1) & ~dish, dish]
        np.testing.assert_allclose([one.mean() for one in found], rates, atol=0.03)
    pots, timers = state["thing"][:, kind == 5], state["timer"][:, kind == 5]
    found = [pots == 0, (pots > 0) & (pots & 2 == 0) & (timers == 0), timers > 0, pots & 2 > 0]
    np.testing.assert_allclose([one.mean() for one in found], (0.4, 0.35, 0.15, 0.1), atol=0.04)
    assert (timers.max(), timers[timers > 0].min()) == (20, 1)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("held", lambda array: array + 4096),
        ("direction", lambda array: array + 4),
        ("thing", lambda array: array + 1),
        ("timer", lambda array: array + 1),
        ("recipe", lambda array: array * 0),
        ("first_recipe", lambda array: array + 10**9),
        ("location", lambda array: array[[0, 0]]),
    ],
)
def test_states_that_play_cannot_reach_are_refused(name: str, change: Any) -> None:
    """A state with things or timers in other cells, or with numbers that are no things, is refused."""
    env: Any = games.parallel_env("OvercookedV2-cramped_room_v2-v0")
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(ValueError, match="in the state"):
        env.set_state({**state, name: np.asarray(change(state[name]), state[name].dtype)})


@pytest.mark.skipif(not COMPILED, reason="compares compiled functions with Python")
@pytest.mark.parametrize(
    ("layout", "settings"),
    [
        ("grounded_coord_ring", {"agent_view_size": 2, "random_reset": True, "indicate_successful_delivery": True}),
        pytest.param(
            "fun_coordination",
            {"start_cooking_interaction": True, "shaping": 0.5, "delays": 0.1},
            marks=pytest.mark.long,
        ),
    ],
)
def test_overcooked_v2_keeps_what_the_checks_ask(layout: str, settings: dict[str, Any]) -> None:
    """It plays alike compiled and interpreted and in every environment."""
    testing.check_game(f"OvercookedV2-{layout}-v0", **settings)


def test_pictures_show_recipes_and_pots() -> None:
    """Frames change with the recipe, with a button that shows it, and with each step that a pot cooks."""
    env: Any = games.parallel_env("OvercookedV2-grounded_coord_simple-v0", render_mode="rgb_array")
    env.reset(seed=0)
    frames, state = [], env.get_state()
    for recipe, timer, in_pot in ((12, 0, 0), (48, 0, 0), (48, 3, 0), (48, 0, 12), (48, 0, 14)):
        thing, timers = np.zeros_like(state["thing"]), np.zeros_like(state["timer"])
        thing[4, 2], timers[3, 2] = in_pot, timer
        for left in (5, 6) if in_pot == 12 else (0,):
            timers[4, 2] = left
            env.set_state({**state, "recipe": np.int64(recipe), "thing": thing, "timer": timers})
            frames.append(env.render())
    assert len({frame.tobytes() for frame in frames}) == len(frames) == 6


def test_the_first_recipe_can_be_chosen() -> None:
    """`reset` takes the first recipe, of one world or of each; the next episode's is drawn as if it had not."""
    options: dict[str, Any] = {"sample_recipe_on_delivery": True, "max_cycles": 2}
    env: Any = games.parallel_env("OvercookedV2-fun_coordination-v0", **options)
    envs: Any = games.vector_env("OvercookedV2-fun_coordination-v0", 3, autoreset_mode="SameStep", **options)
    number = 4 + 4**2 + 4**4
    chosen, _ = env.reset(seed=5, options={"recipe": (0, 1, 3)})
    assert int(env.get_state()["recipe"]) == number
    np.testing.assert_array_equal(envs.reset(seed=5, options={"recipe": (0, 1, 3)})[0][:2], [*chosen.values()])
    assert envs.get_state()["recipe"].tolist() == [number] * 3
    for _ in range(2):
        envs.step(np.full(6, 4))
    again = envs.get_state()["recipe"].tolist()
    envs.reset(seed=5)
    envs.step(np.full(6, 4))
    assert not np.isin(envs.get_state()["recipe"], number).any()
    envs.step(np.full(6, 4))
    assert envs.get_state()["recipe"].tolist() == again
    mask = np.repeat([True, False, True], 2)
    kept = int(envs.get_state()["recipe"][1])
    envs.reset(options={"recipe": np.array([[1, 1, 1], [0, 0, 2]]), "reset_mask": mask})
    assert envs.get_state()["recipe"].tolist() == [48, kept, 8 + 64]
    for recipe in ((0, 1), (0, 1, 4), "001", [(0, 0, 1)] * 2, ()):
        with pytest.raises(ValueError, match=r"options\['recipe'\]"):
            env.reset(options={"recipe": recipe})
    assert env.reset(seed=5)[0].keys() == {"agent_0", "agent_1"}
