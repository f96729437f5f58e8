"""Scenario files, recorded episodes and the suite: what is saved comes back, and what was changed is found out."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import json
import pickle
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from episode_digest import STRICT
from helpers import AROUND, crossed, names, record_random_play, run_python
from multigrid import GridConfig, parallel_env, scenarios
from multigrid.core.rules import RULES_VERSION
from multigrid.scenarios import ABSENT, RecordEpisode, Scenario, replay
from multigrid.scenarios._scenario import _checksum, _render

GOLDEN = Path(__file__).parents[1] / "golden"
COLLISIONS = ["symmetric", "priority", "block_both", "soft", "none"]
ON_TARGET = ["park", "leave", "stay", "restart"]
PARTS = ("agent", "target", "others", "offset", "view", "walls", "action_mask")
MAPS = ["......#\n.##....\n.......\n...#...", ".......\n..#.#..\n..#....\n#......"]
BAY = "a..B.\n.#.#.\nb...A"
RESTARTING = {"on_target": "restart", "walls": BAY, "num_agents": 2}
LISTED = "a.b.c\n.#.#.\n.....\na: 0,0 1,0 0,1\nb: 2,1\nc: 3,0 3,0 4,0 3,0"


def recorded(settings: dict[str, Any] | None = None, seed: int = 0, steps: int = 60) -> Scenario:
    """An episode of random play."""
    given = {"walls": MAPS, "num_agents": 5, "observe": PARTS, "allow_stay": True, "max_cycles": 50}
    return record_random_play(parallel_env(**{**given, **(settings or {})}), seed, steps).scenario("random play")


def saved(scenario: Scenario, folder: Path) -> Path:
    """The scenario in a file."""
    path = folder / "scenario.json"
    scenarios.save(scenario, path)
    return path


@pytest.mark.parametrize(("collisions", "on_target"), crossed(COLLISIONS, ON_TARGET))
def test_a_recorded_episode_plays_again(collisions: str, on_target: str, tmp_path: Path) -> None:
    """Saved and loaded, an episode tells the same in every step, under every rule."""
    settings = {"collisions": collisions, "on_target": on_target}
    scenario = scenarios.load(saved(recorded(settings, seed=3), tmp_path))
    env = parallel_env(walls=MAPS, num_agents=5, observe=PARTS, allow_stay=True, max_cycles=50, **settings)
    observations, infos = env.reset(seed=3)
    random = np.random.default_rng(3)
    steps = list(replay(scenario))
    assert len(steps) > 20
    for number, step in enumerate(steps):
        if number:
            actions = {agent: int(random.integers(5)) for agent in env.agents}
            observations, *flags, infos = env.step(actions)
            assert [step.rewards, step.terminations, step.truncations] == flags
        assert step.infos == infos
        np.testing.assert_equal(step.observations, observations)
    assert not env.agents


@pytest.mark.parametrize("interpreted", [pytest.param("0", marks=pytest.mark.long), "1"])
def test_an_episode_plays_again_in_another_process(interpreted: str, tmp_path: Path) -> None:
    """A file is all that another machine needs, whether its kernels are compiled or not."""
    path = saved(recorded({"on_target": "restart", "flatten": True, "reward": "shared"}, steps=12), tmp_path)
    code = "import sys; from multigrid.scenarios import *; print(len(list(replay(load(sys.argv[1])))))"
    done = run_python(*STRICT, "-c", code, str(path), env={**AROUND, "NUMBA_DISABLE_JIT": interpreted})
    assert (done.stdout, done.returncode) == ("13\n", 0), done.stderr


WORLDS: list[dict[str, Any]] = [
    {},
    {"on_target": "restart", "max_cycles": None},
    {"on_target": "leave", "reward": "shared", "collisions": "soft"},
    {"observe": None, "view_radius": 0, "flatten": True, "allow_stay": False},
    {"walls": BAY, "num_agents": 2},
    {"walls": LISTED, "num_agents": 3, "on_target": "restart"},
    {"walls": None, "size": (6, 1), "num_agents": 1},
]


@pytest.mark.parametrize("settings", WORLDS)
def test_files_hold_everything(settings: dict[str, Any], tmp_path: Path) -> None:
    """A loaded scenario equals the saved one, field by field, and saving it again gives the same bytes."""
    scenario = recorded(settings, steps=7)
    path = saved(scenario, tmp_path)
    loaded, before = scenarios.load(path), path.read_bytes()
    for field in dataclasses.fields(Scenario):
        np.testing.assert_equal(getattr(loaded, field.name), getattr(scenario, field.name), field.name)
    assert (loaded, hash(loaded)) == (scenario, hash(scenario))
    scenarios.save(loaded, path)
    assert (path.read_bytes(), names(tmp_path)) == (before, ["scenario.json"])
    for copied in (pickle.loads(pickle.dumps(scenario)), copy.deepcopy(scenario)):
        assert copied == scenario
        assert list(replay(copied))
    assert loaded not in (dataclasses.replace(scenario, name="another"), "random play")


@pytest.mark.parametrize("collisions", COLLISIONS)
def test_an_episode_with_lists_plays_again(collisions: str, tmp_path: Path) -> None:
    """Lists by hand and those of maps are in the recording, and in its file; no generator is."""
    listed = GridConfig(walls=LISTED, on_target="restart", collisions=collisions, allow_stay=True, max_cycles=30)
    plain = dataclasses.replace(listed, walls=listed.is_wall, size=None, num_agents=3)
    lists = [[[0, 0], [1, 0], [0, 1]], [[2, 1]], [[3, 0], [3, 0], [4, 0], [3, 0]]]
    of_map, by_hand = (RecordEpisode(parallel_env(config)) for config in (listed, plain))
    of_map.reset(seed=3)
    by_hand.reset(seed=4, options={"agents": [[0, 0], [2, 0], [4, 0]], "targets": lists})
    random = np.random.default_rng(3)
    while of_map.agents:
        actions = {agent: int(random.integers(5)) for agent in of_map.agents}
        for recorder in (of_map, by_hand):
            recorder.step(actions)
    scenario = of_map.scenario("lists")
    assert scenario == by_hand.scenario("lists")
    assert scenario.stream is None
    path = saved(scenario, tmp_path)
    assert json.loads(path.read_text())["targets"] == lists
    assert scenarios.load(path) == scenario
    env = scenario.env()
    assert len(list(replay(scenarios.load(path), env))) == 31
    assert env.metrics()["throughput"] == of_map.unwrapped.metrics()["throughput"] > 0
    with pytest.raises(ValueError, match="restart' without lists of targets, which are drawn from it"):
        Scenario("lists", listed, stream=np.random.PCG64(3).state)


def test_a_scenario_without_a_recording() -> None:
    """A layout alone can be saved and played, each reset anew, but not played again."""
    scenario = Scenario("bay", GridConfig(walls=BAY))
    env = scenario.env()
    for _ in range(2):
        env.reset()
        assert env.state().tolist() == [[0, 0, 4, 2], [0, 2, 3, 0]]
    with pytest.raises(ValueError, match="scenario 'bay' has no actions"):
        next(replay(scenario))


@pytest.mark.heavy
def test_any_changed_byte_is_found(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Whatever byte of a file is changed, left out or put in, loading it is refused, and the message names the file."""
    path = saved(recorded(RESTARTING, steps=3), tmp_path)
    good = path.read_bytes()
    assert scenarios.load(path)
    random = np.random.default_rng(0)
    for position in range(0, len(good), 1 if request.config.getoption("--long") else 3):
        byte, before, after = good[position], good[:position], good[position + 1 :]
        # At each place two other bytes, and one that is put in; from place to place they are of other kinds.
        others = {byte ^ 1, (byte ^ 0x20, 0x20, 0x0A, int(random.integers(256)))[position % 4]} - {byte}
        changed = [before + bytes([other]) + after for other in others] + [before + after]
        changed += [before + bytes([b" \n0"[position % 3], byte]) + after]
        for content in changed:
            path.write_bytes(content)
            with pytest.raises(ValueError, match=re.escape(str(path))):
                scenarios.load(path)


def rewritten(path: Path, **changes: Any) -> None:
    """Change a file and give it the checksum that fits."""
    content = json.loads(path.read_text()) | changes
    content.pop("checksum")
    path.write_text(_render({**content, "checksum": _checksum(content)}), newline="\n")


def test_other_versions_are_refused_by_name(tmp_path: Path) -> None:
    """A file of another version of the form or the rules is refused with both versions, right as its checksum is."""
    path = saved(recorded(steps=1), tmp_path)
    for key, what in (("schema", "form"), ("rules", "rules")):
        for version in (0, 2, "1", None):
            rewritten(path, **{key: version})
            with pytest.raises(
                ValueError, match=f"version {version!r} of the {what}, but this multigrid has version 1"
            ):
                scenarios.load(path)
        rewritten(path, **{key: 1})
        assert scenarios.load(path)


WORDS = {"state": "1", "inc": "1", "has_uint32": 0, "uinteger": 0}
NONSENSE: dict[str, list[Any]] = {
    "map": [["..", "..."], 3, ["..\u00e9.", "...."]],
    "agents": [[[0, 0]], [[0, 0], [10**30, 0]], [[0, 0], [1, 1]]],
    "targets": [[[0, 2], [0, 2]], None],
    "config": [{}, None],
    "stream": [{"state": 1}, {**WORDS, "state": "g"}, {**WORDS, "uinteger": -1}, WORDS, {**WORDS, "more": 1}, None],
    "actions": [["00", "0"], ["00", "05", "00"], ["00", "0x", "00"], ["000", "000", "000"], None],
    "digests": [["00000000"], ["0000000G"] * 4, [0] * 4],
    "name": ["", 7],
    "more": [1],
}
# A file whose lists are not as they would be saved.
LISTS = [[[[0, 0], [-1, -1]]], [[]], [[[0, 0, 0]]], [[[9, 0]]], [[["0", 0]]], [[0, 0], [[1]]]]


def test_files_of_nonsense_are_refused(tmp_path: Path) -> None:
    """A file of something else, or with a right checksum and wrong contents, is refused by its name."""
    path = saved(recorded(RESTARTING, steps=3), tmp_path)
    listed = tmp_path / "listed.json"
    scenarios.save(Scenario("one", GridConfig(walls="a..\na: 1,0", on_target="restart")), listed)
    cases = [(path, key, value) for key, values in NONSENSE.items() for value in values]
    cases += [(listed, "targets", value) for value in LISTS]
    for content in (b"", b"[]", b"{}", b'{"format": "multigrid"}', b"\xff\xfe", b"type octile\n"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(str(tmp_path / "other"))):
            scenarios.load(tmp_path / "other")
    for file, key, value in cases:
        before = file.read_text()
        rewritten(file, **{key: value})
        with pytest.raises(ValueError, match=re.escape(f"{file} has a right checksum but is not a scenario")):
            scenarios.load(file)
        file.write_text(before)
        assert scenarios.load(file)


def test_a_replay_notices_what_differs() -> None:
    """Another action, start or limit makes a replay stop at the first step that tells something else."""
    scenario = recorded({"walls": "a....\n..#A.\n.....", "num_agents": None, "on_target": "stay"}, steps=4)
    assert len(list(replay(scenario))) == 5
    actions = scenario.actions.copy()
    actions[2] = {0: 2, 2: 0}.get(int(actions[2, 0]), 0)
    with pytest.raises(ValueError, match="step 3 of scenario 'random play' differs from the recording"):
        list(replay(dataclasses.replace(scenario, actions=actions)))
    moved = GridConfig(walls=scenario.config.walls._replace(agents=[[[1, 0]]]), on_target="stay", allow_stay=True)
    with pytest.raises(ValueError, match="step 0 of"):
        next(replay(Scenario("moved", moved, actions=scenario.actions, digests=scenario.digests)))


def test_recording_changes_nothing() -> None:
    """A recorded environment returns what the plain one does; wrong actions are neither played nor noted."""
    plain, recorder = (make(parallel_env(walls=BAY, observe=PARTS)) for make in (lambda env: env, RecordEpisode))
    results = []
    for env in (plain, recorder):
        returned = [env.reset(seed=1)]
        with pytest.raises(ValueError, match="agent_1"):
            env.step({"agent_0": 0, "agent_1": 4})
        returned += [env.step({"agent_0": action, "agent_1": np.int64(0)}) for action in (0, 1, 0)]
        results.append(returned)
    np.testing.assert_equal(*results)
    assert recorder.scenario("three").actions.tolist() == [[0, 0], [1, 0], [0, 0]]
    assert recorder.state().tolist() == plain.state().tolist()


def test_departed_agents_have_no_actions() -> None:
    """Under leave an agent's actions end with its arrival, and steps after the end are not noted."""
    env = RecordEpisode(parallel_env(walls="aA..\nb..B", on_target="leave"))
    env.reset()
    env.step({"agent_0": 0, "agent_1": 0})
    for _ in range(4):
        env.step({"agent_1": 0})
    assert not env.agents
    assert env.scenario("leave").actions.tolist() == [[0, 0], [ABSENT, 0], [ABSENT, 0]]


def test_scenarios_of_one_recorder_share_nothing() -> None:
    """What is done to the start or the stream of one recording changes neither the recorder nor another recording."""
    env = record_random_play(parallel_env(size=(5, 3), num_agents=3, on_target="restart", delays=0.3), 2, 9)
    one, other = env.scenario("same"), env.scenario("same")
    start, stream = cast("Any", (one.start, one.stream))
    start["location"][:] = 0
    stream["state"]["state"] = 0
    assert env.scenario("same") == other


def test_what_was_not_seen_is_not_recorded() -> None:
    """Before a reset, after set_state, and after draws that nobody noted there is no recording to be had."""
    env = RecordEpisode(parallel_env(size=(5, 3), num_agents=3, on_target="restart"))

    def refused(message: str) -> None:
        with pytest.raises(ValueError, match=message):
            env.scenario("refused")

    refused("no episode has been recorded from its reset on")
    env.reset(seed=2)
    env.set_state(env.get_state())
    refused("no episode has been recorded from its reset on")
    env.reset(seed=2)
    env.np_random.integers(100)
    random = np.random.default_rng(2)
    while not any(env.step({agent: int(random.integers(4)) for agent in env.agents})[1].values()):
        pass
    refused("differs from the recording")
    env.np_random = np.random.Generator(np.random.PCG64(4))
    env.reset()
    assert env.scenario("drawn").stream == env.np_random.bit_generator.state
    env.max_cycles = 1
    env.step(dict.fromkeys(env.agents, 0))
    assert not env.agents
    assert env.scenario("short").config.max_cycles == 1
    with pytest.raises(TypeError, match="env is of type RecordEpisode; expected a MultiGridEnv without wrappers"):
        RecordEpisode(env)


PCG64 = {"bit_generator": "PCG64", "state": {"state": 5, "inc": 3}, "has_uint32": 0, "uinteger": 0}
TWO = ("0" * 8,) * 2
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"config": None}, TypeError, "config is of type NoneType; expected a GridConfig"),
    ({"config": GridConfig()}, ValueError, "config has no layout"),
    ({"config": GridConfig(walls=["a.A\n", "A.a\n"])}, ValueError, "config has no layout"),
    ({"stream": PCG64}, ValueError, "expected the state of a PCG64 generator under on_target"),
    ({"actions": [[0]]}, ValueError, "expected both actions and digests"),
    ({"actions": [[0.0]], "digests": TWO}, TypeError, "actions are of float64"),
    ({"actions": [[4]], "digests": TWO}, ValueError, "actions go from 4 to 4; expected"),
    ({"actions": [[-2]], "digests": TWO}, ValueError, "actions go from -2 to -2; expected"),
    ({"actions": [0], "digests": TWO}, ValueError, r"actions have the shape \(1,\); expected"),
    ({"actions": [[0]], "digests": TWO[:1]}, ValueError, "digests has 1 entries; expected 2 of 8 hexadecimal"),
]


def test_scenarios_are_checked() -> None:
    """A scenario that cannot be is refused when it is made; so is a stream that NumPy would take for another one."""
    for changes, error, complaint in REFUSED:
        with pytest.raises(error, match=complaint):
            Scenario(**{"name": "one", "config": GridConfig(walls="a.A"), **changes})
    # A scenario's actions are its own, and read-only.
    mine = np.array([[0], [0]])
    scenario = Scenario("one", GridConfig(walls="a.A"), actions=mine, digests=("0" * 8,) * 3)
    mine[:] = 1
    assert (scenario.actions.tolist(), scenario.actions.flags.writeable) == ([[0], [0]], False)
    config = GridConfig(walls="a.A", on_target="restart")
    assert Scenario("one", config, PCG64).env().np_random.bit_generator.state == PCG64
    wrong: list[dict[str, Any]] = [{"uinteger": 2.5}, {"has_uint32": 0.9}, {"more": 1}]
    wrong += [{"state": {"state": 5.7, "inc": 3}}, {"state": {"state": 5, "inc": 3, "more": 1}}]
    for change in wrong:
        with pytest.raises(ValueError, match="expected the state of a PCG64 generator"):
            Scenario("one", config, PCG64 | change)


def test_the_suite_is_what_it_says() -> None:
    """At least 30 scenarios, of five kinds of maps, with 2 to 64 agents; the names say kind, size and number."""
    assert len(set(scenarios.names())) == len(scenarios.names()) >= 30
    agents: dict[str, list[int]] = {}
    for name in scenarios.names():
        kind, size, number = name.split("-")
        config = scenarios.get(name).config
        assert (f"{config.width}x{config.height}", str(config.num_agents)) == (size, number)
        assert scenarios.get(name).name == name
        assert config.walls.walls.any() == (kind != "empty")
        agents.setdefault(kind, []).append(config.num_agents)
    assert agents.pop("delivery") == [8]
    assert set(agents) == {"empty", "random", "maze", "rooms", "warehouse"}
    assert all(numbers == sorted(numbers) and (numbers[0], numbers[-1]) == (2, 64) for numbers in agents.values())
    for look_up, name in ((scenarios.get, "empty-1x1-1"), (scenarios.lower_bound, "bounds")):
        with pytest.raises(ValueError, match=f"no scenario '{name}' in the suite, where the nearest of 36 names are '"):
            look_up(name)


def test_the_rules_version_is_that_of_the_rules() -> None:
    """A change of the rules shows in what episodes tell, and then wants a new RULES_VERSION and a suite made anew."""
    # The parts of the first version: a part that is added is no change of the rules.
    parts = tuple(part for part in PARTS if part != "offset")
    whole = hashlib.sha256()
    for collisions, on_target, reward in itertools.product(COLLISIONS, ON_TARGET, ("individual", "shared")):
        settings = {"collisions": collisions, "on_target": on_target, "reward": reward, "observe": parts}
        whole.update("".join(recorded(settings, seed=7).digests).encode())
    versions = json.loads((GOLDEN / "rules.json").read_text())
    assert versions[str(RULES_VERSION)] == whole.hexdigest(), (
        "the rules have changed: raise RULES_VERSION in core/rules.py, add its digest to tests/golden/rules.json, "
        "and run python -m tools.make_suite"
    )
    assert list(versions) == [str(version) for version in range(1, RULES_VERSION + 1)]
