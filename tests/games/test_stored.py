"""What files hold of a game: its name, the digest of its source, its options and its own state, and never code."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils.wrappers import BaseParallelWrapper
from sample_games import SETTINGS, Hop, KeyAndDoor, Kitchen, Walk, Wide

import multigrid
from helpers import same
from multigrid import datasets, scenarios, show_episode
from multigrid.core.rules import RULES_VERSION
from multigrid.games._stored import digest_game, find_stored, name_game
from multigrid.games.foraging import Foraging
from multigrid.games.minigrid import Minigrid
from multigrid.games.overcooked import Overcooked, OvercookedV2
from multigrid.games.robotic_warehouse import RoboticWarehouse
from multigrid.scenarios import RecordEpisode, find_world, replay, save
from multigrid.scenarios._suite import FOLDER
from multigrid.scenarios._worlds import grid_fields, make_grid, read_config

SOURCE = '''
import enum
import numpy as np
from typing import Annotated, NamedTuple
from numpy.typing import NDArray
from multigrid import Game, PartSpec, games
import beside

class Kind(enum.IntEnum):
    KEY = 3

PRICE, PRICES, TYPE = 2, np.array([1, 2]), np.bool_

def helper(w, e: int):
    return w.steps[e] * PRICE + PRICES[0] + Kind.KEY

class Mine(Game):
    actions = ("pay",)
    options = {"toll": 0.5}
    parts = {"bill": PartSpec(np.uint8, "1", 0, 9, "what is due.")}

    class State(NamedTuple):
        door: Annotated[NDArray[np.int64], "E 2"]

    def after_moves(w, s, e):
        """What a step costs.

without an indentation
        """
        # A comment.
        due = [helper(w, e) + beside.BONUS - s.toll for i in range(2)]
        w.rewards[e, 0] = due[0] + np.sqrt(2) + TYPE(games.draw_integer(w, e, 0, 2))

    def write_bill(w, s, e, i, out):
        out[0] = 1

    def marks(scene):
        yield games.Mark(scene.door)

class Child(Mine):
    pass
'''


DIGEST = "5c41bcde4db7e138"


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python run the games: to compile them takes longer, and what is tested is above the kernels."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")


def load(folder: Path, source: str = SOURCE, bonus: str = "BONUS = 3", name: str = "own_game") -> Any:
    """Return the game `Mine` of a file, beside another one that it imports."""
    (folder / "beside.py").write_text(bonus)
    path = folder / f"{name}.py"
    path.write_text(source)
    sys.modules.pop("beside", None)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# A comment.", "# Another\n        # one."),
        ("w.steps[e] * PRICE", "w.steps[e] + PRICE"),
    ],
)
def test_what_an_edit_of_a_game_changes_for_files(tmp_path, monkeypatch, old, new):
    """A game is another version after any edit of its file, and the same one by another name, or in a subclass."""
    monkeypatch.syspath_prepend(tmp_path)
    before = digest_game(load(tmp_path).Mine)
    assert old in SOURCE
    assert digest_game(load(tmp_path, SOURCE.replace(old, new)).Mine) != before
    assert digest_game(load(tmp_path, name="other").Mine) == before == digest_game(load(tmp_path).Child)


def test_an_edit_of_a_module_of_constants_changes_the_game_for_files(tmp_path, monkeypatch):
    """A game is another version after an edit of a module whose attributes its functions read."""
    monkeypatch.syspath_prepend(tmp_path)
    assert digest_game(load(tmp_path).Mine) != digest_game(load(tmp_path, bonus="BONUS = 4").Mine)


def test_the_digest_is_the_same_everywhere(tmp_path, monkeypatch):
    """The digest of this source is this one, in each version of Python and of NumPy, compiled or interpreted."""
    monkeypatch.syspath_prepend(tmp_path)
    assert digest_game(load(tmp_path).Mine) == DIGEST


def test_a_game_without_source_is_known_by_its_code_and_what_it_declares():
    """A game typed into an interpreter has a digest, which an edit of a function or of an attribute changes."""
    digests = []
    for reward, idle in ((1, "wait"), (1, "wait"), (2, "wait"), (1, "go")):
        scope: dict[str, Any] = {"__name__": "typed"}
        text = f"""
import multigrid
class Typed(multigrid.Game):
    actions, moves, idle = ("go", "wait"), False, "{idle}"
    def step(w, s, e): w.rewards[e, 0] = {reward}
"""
        exec(text, scope)  # noqa: S102 - as an interpreter
        digests.append(digest_game(scope["Typed"]))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_a_file_that_was_edited_after_the_import_is_not_read(tmp_path, monkeypatch):
    """The digest is that of the functions that are played, also if their file has others by now."""
    monkeypatch.syspath_prepend(tmp_path)
    old = load(tmp_path).Mine
    new = load(tmp_path, SOURCE.replace("w.rewards[e, 0] = due[0]", "w.rewards[e, 0] = due[1]")).Mine
    assert len({digest_game(old), digest_game(new), DIGEST}) == 3


@pytest.fixture
def registered(monkeypatch):
    """Let the test register games, and forget them after it."""
    monkeypatch.setattr("multigrid.games._registry._GAMES", {})
    return multigrid.register


@pytest.mark.parametrize("game", SETTINGS)
def test_a_configuration_of_a_game_is_read_again(game, registered):
    """Through JSON the game comes back as the one that is passed or registered, with its options."""
    config = multigrid.parallel_env(game=game, **SETTINGS[game]).config
    content = json.loads(json.dumps(grid_fields(config)))
    assert content["game"] == name_game(game) == {"name": game.__name__, "digest": digest_game(game)}
    assert make_grid(content, game) == config
    registered("any-v0", game)
    assert make_grid(content) == config


@pytest.mark.parametrize("game", [Foraging, Minigrid, Overcooked, OvercookedV2, RoboticWarehouse])
def test_games_of_the_package_are_found_by_their_names(game):
    """A file of a game of this package needs no game, and one of another version of it is refused."""
    stored = name_game(game)
    assert find_stored(stored) is game
    with pytest.raises(ValueError, match=f"'{game.__name__}', and the one here is version {stored['digest']}"):
        find_stored({**stored, "digest": "0" * 16})


def test_errors_of_a_stored_game_say_what_to_pass(registered):
    """A missing game, another one, another version, and one too many are each named, with what to do."""
    content = grid_fields(multigrid.GridConfig(game=KeyAndDoor))
    digest = digest_game(KeyAndDoor)
    other = {**content, "game": {"name": "KeyAndDoor", "digest": "0" * 16}}
    cases: list[tuple[Any, Any, str]] = [
        (content, None, "the world is of the game 'KeyAndDoor'; pass game=KeyAndDoor, or register it with"),
        (content, Hop, "the world is of the game 'KeyAndDoor', and game is Hop; pass game=KeyAndDoor$"),
        (
            other,
            KeyAndDoor,
            f"of version {'0' * 16} of the game 'KeyAndDoor', and game=KeyAndDoor is version {digest}; use the",
        ),
        (grid_fields(multigrid.GridConfig()), Walk, "the world is of no game, and game is Walk; leave out game$"),
        ({**content, "game": "KeyAndDoor"}, None, "game is 'KeyAndDoor'; expected a name and a digest"),
        ({**content, "game": {"name": "os.system", "digest": digest}}, None, "expected a name and a digest"),
    ]
    for fields, game, message in cases:
        with pytest.raises(ValueError, match=message):
            make_grid(fields, game)
    with pytest.raises(TypeError, match=r"expected a subclass of multigrid\.Game"):
        make_grid(content, "KeyAndDoor")
    registered("one-v0", KeyAndDoor)
    with pytest.raises(ValueError, match="and the one here is version"):
        make_grid(other)


def test_a_run_of_a_game_is_named_in_the_error(tmp_path):
    """`read_config` says of which file it cannot find the game, and not that the file is malformed."""
    content = {"rules": RULES_VERSION, "grid": grid_fields(multigrid.GridConfig(game=Wide))}
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"config\.json: the world is of the game 'Wide'; pass game=Wide"):
        read_config(tmp_path, lambda stored: make_grid(stored["grid"]))
    assert read_config(tmp_path, lambda stored: make_grid(stored["grid"], Wide)).game is Wide


def record(game: Any, seed: int = 5, actions: int = 1, **settings: Any) -> tuple[RecordEpisode, list[Any]]:
    """Return a played environment of random actions, and its states."""
    env = RecordEpisode(multigrid.parallel_env(game=game, **{**SETTINGS.get(game, {}), **settings}))
    env.reset(seed=seed)
    states, rng = [env.unwrapped.get_state()], np.random.default_rng(actions)
    while env.agents:
        env.step({agent: int(rng.integers(env.unwrapped.config.num_actions)) for agent in env.agents})
        states.append(env.unwrapped.get_state())
    return env, states


@pytest.mark.parametrize("settings", [{}, {"walls": ["....\n.#..\n....", "...#\n....\n...."], "size": None}])
@pytest.mark.parametrize("game", SETTINGS)
def test_a_recording_of_a_game_plays_the_same_episode(game, settings, tmp_path):
    """From its file, each state of a recording comes back to the bit, the game's own arrays and its draws included."""
    if issubclass(game, Hop | Walk | RoboticWarehouse | Foraging) and settings:
        pytest.skip("plays on grids without walls")
    if game is Kitchen and settings:
        settings = {"layouts": ("split", "wide")}
    for seed in range(4):
        env, states = record(game, seed, **settings)
        save(env.scenario("whole"), tmp_path / "whole.json")
        scenario = scenarios.load(tmp_path / "whole.json", game)
        again = scenario.env()
        for _, state in zip(replay(scenario, again), states, strict=True):
            # A replay is on a known map, of which its states say nothing unless it is the game's own, nor of a level.
            now = again.get_state()
            known = {} if game is Kitchen else {"map_index": 0}
            same(now | known, {name: state[name] for name in now} | known)
        assert scenario == env.scenario("whole")
        assert scenario.config.game is game
        assert scenario.start.keys() == now.keys() - {"version", "np_random", *known}


@pytest.mark.parametrize(
    ("game_id", "options"),
    [("MiniGrid-Empty-5x5-v0", {}), ("rware-tiny-2ag-v2", {"observation_type": "DICT"})],
    ids=["texts and arrays without elements", "dicts in tuples"],
)
def test_recordings_hold_whatever_a_game_observes(game_id, options, tmp_path):
    """Observations of texts, numbers, dicts and tuples are recorded, and a file of them replays."""
    env = RecordEpisode(multigrid.games.parallel_env(game_id, max_steps=6, **options))
    env.reset(seed=0)
    while env.agents:
        env.step(dict.fromkeys(env.agents, 1))
    save(env.scenario("seen"), tmp_path / "seen.json")
    assert len(list(replay(scenarios.load(tmp_path / "seen.json", env.unwrapped.config.game)))) == 7


def test_environments_of_a_recording_begin_in_its_state(tmp_path):
    """Each reset of a recording's environment has the start; a seed changes the draws, and a layout or a map all."""
    env, states = record(Hop)
    again = env.scenario("one").env()
    for options in (None, {}, {"mode": "of a wrapper"}):
        observations, _ = again.reset(options=options)
        same(again.get_state(), states[0])
    same(observations, env.reset(seed=5)[0])
    again.reset(seed=7)
    seeded = again.get_state()
    assert seeded["luck"] == states[0]["luck"]
    assert seeded["np_random"] == np.random.default_rng(7).bit_generator.state
    for options in ({"map": 0}, {"agents": [[0, 0], [1, 4], [2, 3], [6, 0]]}):
        again.reset(seed=8, options=options)
        env.reset(seed=8, options=options)
        same(again.get_state(), env.unwrapped.get_state())
    with pytest.raises(ValueError, match="options has the key 'agent'; expected 'agents'"):
        again.reset(options={"agent": []})


def test_recordings_have_all_actions_of_a_game(tmp_path):
    """A game of the most actions is recorded, each action as one letter."""

    class Many(multigrid.Game):
        actions = tuple(f"own_{number}" for number in range(59))

        def after_moves(w, s, e):
            w.rewards[e, 0] = w.actions[e, 0]

    env = RecordEpisode(multigrid.parallel_env(game=Many, num_agents=1, max_cycles=64))
    env.reset(seed=0)
    for action in range(64):
        env.step({"agent_0": action})
    save(env.scenario("many"), tmp_path / "many.json")
    assert scenarios.load(tmp_path / "many.json", Many).actions[:, 0].tolist() == list(range(64))


def test_a_recording_of_another_game_is_refused(tmp_path, monkeypatch, registered):
    """The error names the file, the game or the versions, and a changed file, or one of path finding, is not played."""
    monkeypatch.syspath_prepend(tmp_path)
    after = load(tmp_path, SOURCE.replace("- s.toll", "+ s.toll"), name="later").Mine
    path, before = tmp_path / "mine.json", load(tmp_path).Mine
    save(record(before, max_cycles=5)[0].scenario("mine"), path)
    for game, message in (
        (None, "mine.json: the world is of the game 'Mine'; pass game=Mine, or register it"),
        (Walk, "mine.json: the world is of the game 'Mine', and game is Walk; pass game=Mine"),
        (after, f"version {digest_game(before)} of the game 'Mine', and game=Mine is version {digest_game(after)}"),
    ):
        with pytest.raises(ValueError, match=message):
            scenarios.load(path, game)
    assert show_episode(path, game=before).episode.num_steps == 5
    registered("mine-v0", before)
    assert scenarios.load(path).config.game is before
    with pytest.raises(ValueError, match="the world is of no game, and game is Mine; leave out game"):
        scenarios.load(FOLDER / "empty-9x7-2.json", before)
    path.write_text(path.read_text().replace('"door": [0, 0]', '"door": [0, 1]'))
    with pytest.raises(ValueError, match=r"mine.json has been changed since it was written"):
        scenarios.load(path)


def test_what_is_no_start_of_a_game_is_refused():
    """A scenario of a game without its start, of path finding with one, or of another generator, says what is wrong."""
    scenario = record(KeyAndDoor)[0].scenario("one")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"start": None}, "config is of the game KeyAndDoor, and start is None; expected the state after the reset"),
        ({"start": {**scenario.start, "key": [9, 9, 9]}}, "key in the state is"),
        ({"start": {**scenario.start, "carrier": np.int64(7)}}, "in the state"),
        ({"stream": None}, "stream is None; expected the state of a PCG64 generator"),
        ({"config": multigrid.GridConfig(walls="a.A"), "stream": None}, "there is a start, but neither a game"),
        (
            {"config": dataclasses.replace(scenario.config, walls=[".....\n" * 4] * 2)},
            "config has 2 maps; expected one",
        ),
    ]
    for changes, message in cases:
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(scenario, **changes)


def test_a_game_is_played_on_the_maps_of_files(tmp_path, registered):
    """`find_world` puts the game of `base` on any map, and takes the game and the options of a recording."""
    base = multigrid.GridConfig(game=KeyAndDoor, options={"penalty": 0.5})
    config = find_world("rooms-17x13-8", base=base)
    assert (config.game, config.options["penalty"], config.num_agents) == (KeyAndDoor, 0.5, 8)
    save(record(KeyAndDoor)[0].scenario("one"), tmp_path / "one.json")
    config = find_world(tmp_path / "one.json", base=base)
    assert (config.game, config.options["penalty"], config.on_target) == (KeyAndDoor, 0.25, "restart")
    with pytest.raises(ValueError, match=r"one.json: the world is of the game 'KeyAndDoor'; pass"):
        find_world(tmp_path / "one.json")


def draw_actions(envs: Any, _: Any) -> Any:
    """A policy of a vector env that depends on the state of each world alone, as datasets need it."""
    numbers = np.abs(envs.unwrapped.state().reshape(envs.unwrapped.num_worlds, -1)).sum(axis=1).astype(int)
    return (numbers[:, None] + np.arange(envs.unwrapped.config.num_agents)).ravel() % envs.unwrapped.config.num_actions


@pytest.mark.heavy
@pytest.mark.parametrize("game", [KeyAndDoor, Hop])
def test_a_dataset_of_a_game_is_recorded_again(game, tmp_path, monkeypatch, registered):
    """The recipe names game, version and options; rows have the game's metrics, and come back with `game` or an id."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    envs = multigrid.vector_env(3, game=game, **SETTINGS[game], autoreset_mode="Disabled")
    dataset = datasets.record(envs, draw_actions, "own/first-v0", episodes=4, policy_name="drawn", seed=7)
    stored = dataset.storage.metadata["multigrid"]["config"]
    assert stored["game"] == name_game(game)
    assert datasets.verify(dataset)
    own = {KeyAndDoor: "visits", Hop: "luck"}[game]
    assert own in next(iter(dataset.storage.get_episode_metadata([0])))
    with pytest.raises(ValueError, match=f"the world is of the game '{game.__name__}'; pass game={game.__name__}, or"):
        datasets.regenerate(dataset, "own/second-v0", draw_actions)
    again = datasets.regenerate(dataset, "own/second-v0", draw_actions, game=game)
    assert datasets.verify(again) == datasets.verify(dataset)
    registered("any-v0", game)
    assert datasets.read_recipe(dataset.storage.metadata).config == envs.config
    assert "game" not in grid_fields(multigrid.GridConfig())


def test_policies_are_evaluated_in_a_game(registered):
    """`evaluate` plays a game by its class or id, with its metrics, and with an observation function around the env."""
    rng = np.random.default_rng
    policy = multigrid.policies.random_policy
    base = {name: value for name, value in SETTINGS[KeyAndDoor].items() if name != "penalty"}
    config = multigrid.GridConfig(**base)
    named = dataclasses.replace(config, game=KeyAndDoor, options={"penalty": 0.25})
    wanted = multigrid.evaluate(named, policy(rng(0)), range(5))
    assert wanted["visits"].mean > 0

    def without_return(result):
        return [{**episode, "return": None} for episode in result.episodes]

    registered("key-v0", KeyAndDoor, **SETTINGS[KeyAndDoor])
    for given, game in ((config, "key-v0"), (None, "key-v0"), (config, KeyAndDoor)):
        result = multigrid.evaluate(given, policy(rng(0)), range(5), game=game)
        same(without_return(result), without_return(wanted))
    assert result.config.options["penalty"] == 0.01

    class Nearest(BaseParallelWrapper):
        def reset(self, **keywords):
            observations, infos = super().reset(**keywords)
            return self.see(observations), infos

        def step(self, actions):
            observations, *rest = super().step(actions)
            return self.see(observations), *rest

        def see(self, observations):
            return {agent: one["key"] - one["agent"] for agent, one in observations.items()}

    def towards(env, observations):
        signs = {agent: np.sign(offset).tolist() for agent, offset in observations.items()}
        return {agent: {1: 0, -1: 2}.get(x, {1: 1, -1: 3}.get(y, 5)) for agent, (x, y) in signs.items()}

    result = multigrid.evaluate(Nearest(multigrid.parallel_env(config=named)), towards, range(5))
    assert result["visits"].mean > wanted["visits"].mean
    for given, game, error, message in (
        (named, Hop, TypeError, "config is of the game KeyAndDoor, and game is"),
        (multigrid.parallel_env(), Hop, TypeError, "config is a MultiGridEnv, and game is"),
        (config, "kei-v0", ValueError, "the game is 'kei-v0' (did you mean 'key-v0'?)"),
        (config, 3, TypeError, "expected a subclass of multigrid.Game"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            multigrid.evaluate(given, policy(rng(0)), [1], game=game)
