"""Games of one's own: hooks play alike compiled, interpreted and on threads, and nothing half played is returned."""

import importlib
import pickle
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray
from sample_games import NOBODY, PICK_UP, SETTINGS, Gems, Hop, KeyAndDoor, Walk, Wide

import multigrid
from helpers import AROUND, run_python, same
from multigrid import Game, games, testing
from multigrid.runtime.compiled import COMPILED
from multigrid.scenarios import RecordEpisode, find_world, load, replay, save

each_game = pytest.mark.parametrize("game", SETTINGS, ids=lambda game: game.__name__)
CHECKED = {KeyAndDoor, Hop, Walk, Gems}
"""Those that are checked without `--long`: each takes most of a minute to compile."""
each_checked = [pytest.param(game, marks=[pytest.mark.long] * (game not in CHECKED)) for game in SETTINGS]


def make(game: type[Game], **settings: Any) -> Any:
    """Return a ParallelEnv of a game."""
    return multigrid.parallel_env(game=game, **SETTINGS[game] | settings)


COMPILED_HELPER = """
import numba, multigrid
from multigrid import Game, games
@numba.njit
def draw(w, e):
    return w.rewards.shape[1] + games.draw_integer(w, e, 0, 5)
def price(w, e):
    return draw(w, e) * 0.5
class Toll(Game):
    def after_moves(w, s, e):
        for i in range(w.rewards.shape[1]):
            w.rewards[e, i] -= price(w, e)
env = multigrid.parallel_env(size=4, num_agents=3, game=Toll)
env.reset(seed=0)
print(env.step(dict.fromkeys(env.agents, 1))[1])
"""


@pytest.mark.skipif(not COMPILED, reason="needs Numba")
def test_a_helper_that_numba_compiles_is_interpreted_too() -> None:
    """A function that the user has decorated with `numba.njit` gets the worlds of a game, compiled or not."""
    plays = [run_python("-c", COMPILED_HELPER, env={**AROUND, "MULTIGRID_CHECK": check}) for check in ("", "1")]
    assert plays[0].stdout == plays[1].stdout != "", plays[1].stderr


@pytest.mark.parametrize("game", each_checked, ids=lambda game: game.__name__)
def test_a_game_keeps_what_the_checks_ask(game: type[Game]) -> None:
    """Each game plays alike compiled and interpreted and in every environment; so do flat observations."""
    testing.check_game(game, **SETTINGS[game])
    testing.check_env(make(game, flatten=not SETTINGS[game].get("flatten", False)))


@each_game
def test_threads_play_what_an_env_of_seed_plus_i_plays(game: type[Game]) -> None:
    """Worlds that threads play show what as many environments of one world show."""
    settings = SETTINGS[game]
    worlds = multigrid.vector_env(5, game=game, autoreset_mode="SameStep", num_threads=2, **settings)
    envs, watched = [make(game) for _ in range(3)], range(3 * settings["num_agents"])
    worlds.reset(seed=4)
    for k, env in enumerate(envs):
        env.reset(seed=4 + k)
    random = np.random.default_rng(6)
    for _ in range(60):
        actions = random.integers(worlds.single_action_space.n, size=worlds.num_envs)
        observations, rewards, *_ = worlds.step(actions)
        rows = list(iterate(worlds.observation_space, observations))
        for k, env in enumerate(envs):
            mine = dict(zip(env.possible_agents, watched[k * env.max_num_agents :], strict=False))
            shown, paid, *_ = env.step({agent: int(actions[mine[agent]]) for agent in env.agents})
            assert paid == {agent: rewards[mine[agent]] for agent in paid}
            shown = shown if env.agents else env.reset()[0]
            same({agent: rows[mine[agent]] for agent in env.agents}, {agent: shown[agent] for agent in env.agents})
    worlds.close()


def test_the_key_opens_the_door() -> None:
    """The door lets in nobody but the carrier, the carrier is paid and ends the episode, and every step costs."""
    env = make(KeyAndDoor, observe=("agent", "has_key", "action_mask"), on_target="stay")
    random, opened = np.random.default_rng(1), 0
    for seed in range(40):
        env.reset(seed=seed)
        carrier = NOBODY
        while env.agents:
            before = env.get_state()
            door, key = before["door"].tolist(), before["key"].tolist()
            assert door != key
            actions = {agent: int(random.integers(6)) for agent in env.agents}
            observations, rewards, terminated, *_ = env.step(actions)
            cells = [observations[agent]["agent"].tolist() for agent in actions]
            pick_up = [i for i, agent in enumerate(actions) if actions[agent] == PICK_UP and cells[i] == key]
            carrier = pick_up[0] if carrier == NOBODY and pick_up else carrier
            for i, (agent, here) in enumerate(zip(actions, cells, strict=True)):
                moved = here != before["location"][i].tolist()
                assert here != door or carrier == i or not moved
                paid = 5 if carrier == i and here == door else 0
                opened += paid > 0
                assert paid == 0 or all(terminated.values())
                assert rewards[agent] == paid - 0.25 or all(terminated.values())
                assert observations[agent]["has_key"][0] == (carrier == i)
                assert observations[agent]["action_mask"][5] == (carrier == NOBODY)
    assert opened > 3


def test_an_option_is_a_keyword_and_part_of_the_configuration() -> None:
    """Options have the types of their defaults and tell configurations apart; unknown ones are named."""
    env = make(KeyAndDoor, penalty=1)
    assert dict(env.config.options) == {"penalty": 1.0, "opens": True}
    assert env.config != make(KeyAndDoor).config
    assert env.config == pickle.loads(pickle.dumps(env.config))
    assert dict(make(Wide).config.options) == {"penalty": 0.01, "opens": True, "bonus": 7}
    with pytest.raises(TypeError, match="penalty is 'high' of type str; expected a number"):
        make(KeyAndDoor, penalty="high")
    with pytest.raises(
        TypeError, match=r"parallel_env\(\) got an unexpected keyword argument 'fine'; expected .*penalty"
    ):
        make(KeyAndDoor, fine=3)
    with pytest.raises(TypeError, match="options has 'penalty'; there is no game"):
        multigrid.GridConfig(options={"penalty": 1})


class Raises(KeyAndDoor):
    """Raises an exception in the fourth step."""

    def after_moves(w, s, e):
        if w.steps[e] == 4:
            raise ValueError("no")


class Outside(KeyAndDoor):
    """Puts an agent outside the grid in the fourth step."""

    def after_moves(w, s, e):
        if w.steps[e] == 4:
            w.location[e, 0, 0] = 10**9


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (Raises, r"Raises\.after_moves has raised (an exception|ValueError\('no'\)), in world \d+ \(file .*test_games"),
        (Outside, r"Outside\.after_moves has left an agent or a target where none can be, in world \d+ "),
    ],
)
@pytest.mark.parametrize("num_threads", [0, 1, 2])
def test_a_hook_that_fails_ends_the_call(game: type[Game], message: str, num_threads: int) -> None:
    """The error names hook, world and line; no step goes on before a reset, and after it the game is as new."""
    if num_threads == 0:
        env = multigrid.parallel_env(game=game, num_agents=2, size=(4, 3))
    else:
        env = multigrid.vector_env(
            2049 if num_threads > 1 else 2, game=game, num_agents=2, size=(4, 3), num_threads=num_threads
        )
    stay: Any = {"agent_0": 4, "agent_1": 4} if num_threads == 0 else np.full(env.num_envs, 4)
    for _ in range(2):
        env.reset(seed=1)
        for _ in range(3):
            env.step(stay)
        with pytest.raises(RuntimeError, match=f"{message}.*the worlds are half played: call reset"):
            env.step(stay)
        with pytest.raises(RuntimeError, match="call reset"):
            env.step(stay)
    env.close()


def test_an_interrupted_call_leaves_no_error_of_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a hook that an exception keeps from being raised is not raised by a later call."""
    env = multigrid.parallel_env(game=Raises, num_agents=2, size=(4, 3))
    env.reset(seed=1)

    def stop(**_: Any) -> None:
        raise KeyboardInterrupt

    stay = {"agent_0": 4, "agent_1": 4}
    for _ in range(3):
        env.step(stay)
    with monkeypatch.context() as patched:
        patched.setattr(env._worlds, "_check_failure", stop)
        with pytest.raises(KeyboardInterrupt):
            env.step(stay)
    env.reset(seed=1)
    env.step(stay)


def test_states_that_no_play_reaches() -> None:
    """A game's check decides about a state; what memory depends on is checked in any game."""
    env = make(KeyAndDoor)
    env.reset(seed=1)
    state = env.get_state()
    env.set_state(state | {"rewards": state["rewards"] + 3})
    assert env.get_state()["rewards"].tolist() == [3, 3, 3]
    with pytest.raises(ValueError, match=r"the game's check\(\) refuses the state"):
        env.set_state(state | {"carrier": np.int64(3)})
    with pytest.raises(ValueError, match="location in the state lies outside the 5 x 4 grid"):
        env.set_state(state | {"location": state["location"] + 9})
    with pytest.raises(ValueError, match="key in the state is missing"):
        env.set_state({name: value for name, value in state.items() if name != "key"})


def test_without_targets_nobody_has_one() -> None:
    """A game without targets has no part that shows one, and its agents never arrive."""
    env = make(Walk)
    assert list(env.reset(seed=1)[0]["agent_0"]) == ["agent", "others"]
    assert env.get_state()["arrivals"].tolist() == [0, 0]
    assert env.step({"agent_0": 1, "agent_1": 2})[4] == {"agent_0": {"outcome": 1}, "agent_1": {"outcome": 1}}
    worlds = multigrid.vector_env(2, game=Walk, **SETTINGS[Walk])
    assert set(worlds.reset(seed=1)[1]) == {"outcome", "_outcome", "alive", "_alive"}
    with pytest.raises(ValueError, match=r"'target' .*expected one of 'agent', 'others', 'view', 'walls'"):
        make(Walk, observe=("target",))


class Draws(Game):
    """Draws numbers at the beginning of an episode."""

    targets = False

    class State(NamedTuple):
        whole: Annotated[NDArray[np.int64], "E 6"]
        real: Annotated[NDArray[np.float64], "E 6"]
        order: Annotated[NDArray[np.int64], "E 9"]
        some: Annotated[NDArray[np.int64], "E 4"]

    def place(w, s, e):
        for k in range(6):
            s.whole[e, k] = games.draw_integer(w, e, -3, 40 + k)
            s.real[e, k] = games.draw_float(w, e)
        for k in range(9):
            s.order[e, k] = k
        games.shuffle(w, e, s.order[e])
        games.choose(w, e, s.some[e], 7)
        w.location[e, 0, 0], w.location[e, 0, 1] = 1, 2


def test_draws_are_numpys() -> None:
    """Whole numbers, floats, orders and choices are those of the env's np_random."""
    env = multigrid.parallel_env(game=Draws, num_agents=1, size=(4, 3))
    env.reset(seed=0)
    env.np_random, numpys = np.random.default_rng(7), np.random.default_rng(7)
    env.reset()
    state = env.get_state()
    expected = [(numpys.integers(-3, 40 + k), numpys.random()) for k in range(6)]
    assert list(zip(state["whole"].tolist(), state["real"].tolist(), strict=True)) == expected
    order = np.arange(9)
    numpys.shuffle(order)
    assert state["order"].tolist() == order.tolist()
    assert state["some"].tolist() == numpys.choice(7, 4, replace=False).tolist()


class Nothing(Game):
    """Draws from a range, in the first step."""

    options = {"low": 0, "high": 2}

    def after_moves(w, s, e):
        w.rewards[e, 0] = games.draw_integer(w, e, s.low, s.high)


@pytest.mark.parametrize(("low", "high"), [(3, 3), (4, 3), (0, 2**32), (-(2**63), 2**63 - 1)])
def test_a_range_without_numbers(low: int, high: int) -> None:
    """A draw from a range that is empty, or has more than 2**32 - 1 numbers, is an error of the game."""
    with pytest.raises((ValueError, RuntimeError), match=r"Nothing\.after_moves.*(draw_integer|has raised)"):
        multigrid.parallel_env(game=Nothing, num_agents=1, size=(4, 3), low=low, high=high)


def test_the_tutorials_first_game_is_the_documented_one() -> None:
    """The GridWorld of the page "Make a game of your own" plays what the documented code plays, from the same seeds."""
    page = (Path(__file__).parents[2] / "docs" / "make_a_game.md").read_text()
    scope: dict[str, Any] = {"__name__": "tutorial"}
    exec(page.split("```{code-cell} python\n")[1].split("```")[0], scope)  # noqa: S102 - the page is ours
    env = multigrid.parallel_env(game=scope["GridWorld"], num_agents=1, size=4, max_cycles=None)
    documented, random = multigrid.GridWorldEnv(size=4), np.random.default_rng(0)
    for episode in range(40):
        seed = episode if episode < 5 else None
        mine, theirs = env.reset(seed=seed)[0]["agent_0"], documented.reset(seed=seed)[0]
        while env.agents:
            assert (mine["agent"].tolist(), mine["goal"].tolist()) == (
                theirs["agent"].tolist(),
                theirs["target"].tolist(),
            )
            action = int(random.integers(4))
            observations, rewards, terminated, *_ = env.step({"agent_0": action})
            mine, (theirs, *others) = observations["agent_0"], documented.step(action)
            assert [rewards["agent_0"], terminated["agent_0"]] == others[:2]


@pytest.mark.parametrize("find", ["solve", "controller", "pretrained", "shortest_path_policy"])
def test_what_finds_paths_refuses_a_game(find: str) -> None:
    """Planners and policies for path finding name the game whose rules they do not know."""
    env = make(KeyAndDoor)
    observations, _ = env.reset(seed=0)
    calls: dict[str, Any] = {
        "solve": lambda: multigrid.planning.solve(env),
        "controller": lambda: multigrid.planning.controller("pibt")(env, observations),
        "pretrained": lambda: multigrid.policies.pretrained()(env, observations),
        "shortest_path_policy": lambda: multigrid.policies.shortest_path_policy(np.random.default_rng(0))(
            env, observations
        ),
    }
    with pytest.raises(ValueError, match="the environment is of the game KeyAndDoor, which has rules of its own"):
        calls[find]()


def test_marks_are_in_frames() -> None:
    """What a game's `marks` returns is drawn in its cells, under agents, also for a single agent."""

    class Marked(KeyAndDoor):
        def marks(scene):
            yield games.Mark(scene.door, "#0000ff")
            yield games.Mark((0, 0), "#ff0000", "x") if scene.opens else games.Mark((0, 0))

    for settings in ({}, {"num_agents": 1, "size": 5}):
        env = multigrid.parallel_env(game=Marked, render_mode="rgb_array", **SETTINGS[KeyAndDoor] | settings)
        env.reset(seed=1)
        frame, side = env.render(), 512 // env.config.width
        x, y = (env.get_state()["door"] * side).tolist()
        assert frame[y + 4, x + 4].tolist() == [0, 0, 255]
        assert frame[4, 4].tolist() == [255, 0, 0]


def test_a_registered_game_is_made_by_its_id() -> None:
    """gymnasium.make, pettingzoo.make and the functions of `multigrid.games` make the environments of an id.

    Steps of the environment of one agent go on after the end, as those of the documented GridWorld do.
    """
    multigrid.register("KeyAndDoor-v0", KeyAndDoor, size=(5, 4), penalty=0.5, max_cycles=9)
    check_env(gymnasium.make("multigrid/KeyAndDoor-v0").unwrapped)
    testing.check_game("KeyAndDoor-v0", size=3, on_target="stay", num_agents=1)
    one = gymnasium.make("multigrid/KeyAndDoor-v0", size=3, on_target="stay")
    one.reset(seed=3)
    while not any(one.step(one.action_space.sample())[2:4]):
        pass
    assert one.unwrapped.step(one.action_space.sample())[0] in one.observation_space
    env = games.parallel_env("KeyAndDoor-v0", num_agents=3)
    assert (env.config.num_agents, env.config.size, env.config.options["penalty"]) == (3, (5, 4), 0.5)
    assert games.env("KeyAndDoor-v0").unwrapped.config.game is KeyAndDoor
    assert games.vector_env("KeyAndDoor-v0", 4, num_agents=2).num_envs == 8
    if hasattr(pettingzoo, "make"):
        assert pettingzoo.make("parallel", "multigrid/KeyAndDoor-v0").unwrapped.config.game is KeyAndDoor
    with pytest.raises(ValueError, match=r"the game is 'KeyAndDor-v0' \(did you mean 'KeyAndDoor-v0'\?\)"):
        games.parallel_env("KeyAndDor-v0")
    multigrid.register("DOOR-v0", KeyAndDoor)
    with pytest.raises(ValueError, match=r"the game is 'DOR-v0' \(did you mean 'DOOR-v0'\?\)"):
        games.parallel_env("DOR-v0")
    with pytest.raises(ValueError, match=r"num_agents is 2; expected 1, or multigrid\.parallel_env for several"):
        gymnasium.make("multigrid/KeyAndDoor-v0", num_agents=2)
    with pytest.raises(ValueError, match="game_id is 'a/b'; expected an id without a namespace"):
        multigrid.register("a/b", KeyAndDoor)


@pytest.mark.parametrize("game_id", ["", "a/b", "x-v0 y", "x-v0\n", "x?", "x-v\u0661"])
def test_an_id_that_gymnasium_does_not_have_is_refused(game_id: str) -> None:
    """An id is an ASCII name in Gymnasium's form; what is none is refused, and a mistyped id has its error still."""
    with pytest.raises(
        ValueError, match=r"game_id is .*expected an id without a namespace, such as 'KeyAndDoor-v0', of"
    ):
        multigrid.register(game_id, KeyAndDoor)
    for other in (None, 3, b"x-v0", ["x-v0"]):
        with pytest.raises(TypeError, match=rf"game_id is .* of type {type(other).__name__}; expected an id without"):
            multigrid.register(other, KeyAndDoor)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the game is 'KeyAndDor-v0'"):
        games.parallel_env("KeyAndDor-v0")


class Plain(Game):
    """Agents move, without targets; the first one is paid."""

    targets = False

    def after_moves(w, s, e):
        w.rewards[e, 0] += 1


STARTS = "c..#\n.a#.\nb.#."
MOVED = [[3, 1], [0, 0], [1, 2]]


@pytest.mark.parametrize(
    "walls",
    [
        STARTS,
        STARTS.replace(".", "C", 1),
        multigrid.maps.ParsedMap(multigrid.maps.parse_map(STARTS, targets=False).walls, [[1, 1], [0, 2], [0, 0]], []),
    ],
    ids=["text", "dummy", "parsed"],
)
def test_agents_without_targets_begin_where_the_map_or_the_caller_says(walls: Any, tmp_path: Path) -> None:
    """Where agents have no targets, letters and `options` set starts alone, on every face and in files."""
    settings = {"game": Plain, "walls": walls, "max_cycles": 6}
    cells = [[1, 1], [0, 2], [0, 0]]
    env, envs = RecordEpisode(multigrid.parallel_env(**settings)), multigrid.vector_env(3, **settings)
    aec = multigrid.env(**settings)
    for options, starts in ((None, cells), ({"agents": MOVED}, MOVED), ({"agents": MOVED, "targets": [[9, 9]]}, MOVED)):
        observations, _ = env.reset(seed=5, options=options)
        assert [observations[agent]["agent"].tolist() for agent in env.agents] == starts
        assert envs.reset(seed=5, options=options)[0]["agent"].tolist() == starts * 3
        aec.reset(seed=5, options=options)
        assert [aec.observe(agent)["agent"].tolist() for agent in aec.agents] == starts
        env.unwrapped.set_state(env.unwrapped.get_state())
        env.reset(seed=5, options=options)
        play_on(env)
        save(env.scenario("starts"), tmp_path / "starts.json")
        read = load(tmp_path / "starts.json", Plain)
        assert read.config == env.scenario("starts").config
        assert len(list(replay(read))) == 7
    each = [MOVED, cells, cells[::-1]]
    assert envs.reset(seed=5, options={"agents": each})[0]["agent"].tolist() == [cell for one in each for cell in one]
    for bad, message in (
        ([[3, 0], *MOVED[1:]], "is a wall"),
        (MOVED[:2], "expected integers of shape"),
        ([[0, 0]] * 3, "same"),
    ):
        with pytest.raises(ValueError, match=message):
            env.reset(options={"agents": bad})
    with pytest.raises(ValueError, match="agent 'c' has no target"):
        multigrid.GridConfig(walls=STARTS)
    with pytest.raises(ValueError, match="options has 'agents' without 'targets'"):
        make(KeyAndDoor).reset(options={"agents": [[0, 0], [1, 0], [2, 0]]})
    (tmp_path / "starts.txt").write_text(STARTS)
    base = multigrid.GridConfig(game=Plain)
    assert find_world(tmp_path / "starts.txt", base=base) == multigrid.GridConfig(
        game=Plain, num_agents=3, walls=env.unwrapped.config.is_wall
    )


def play_on(env: Any) -> None:
    """Play an episode to its end."""
    while env.agents:
        env.step(dict.fromkeys(env.agents, 0))


@pytest.mark.parametrize(
    "world", [{"walls": "a"}, {"size": 1}, {"walls": "#.\n.#\n##"}, {"walls": np.zeros((1, 1), bool)}]
)
def test_agents_without_targets_may_be_in_a_cell_that_reaches_no_other(world: dict[str, Any]) -> None:
    """A map of single cells has room for agents without targets, one in each; with targets it has none."""
    number = 2 if "#" in str(world) else 1
    env = multigrid.parallel_env(game=Plain, num_agents=number, render_mode="rgb_array", **world)
    for seed in range(4):
        observations, _ = env.reset(seed=seed)
        assert len({tuple(observation["agent"].tolist()) for observation in observations.values()}) == number
        env.set_state(env.get_state())
        env.render(), play_on(env)
    envs = multigrid.vector_env(5, game=Plain, num_agents=number, **world)
    envs.reset(seed=1), envs.step(np.zeros(5 * number, int))
    with pytest.raises(ValueError, match=rf"num_agents is {number + 1}, but|but the map shows 1"):
        multigrid.parallel_env(game=Plain, num_agents=number + 1, **world)
    with pytest.raises(ValueError, match=r"can reach no other|has no target"):
        multigrid.parallel_env(num_agents=number, **world)


def test_the_global_state_has_the_arrays_of_the_game() -> None:
    """`state` is one vector of the rules' numbers and the game's, in the state space, in one world and in many."""
    env, worlds = make(KeyAndDoor), multigrid.vector_env(2, game=KeyAndDoor, **SETTINGS[KeyAndDoor])
    env.reset(seed=5), worlds.reset(seed=5)
    state, now = env.state(), env.get_state()
    own = [now["key"], now["door"], now["carrier"], now["visits"]]
    cells = np.concatenate([now["location"], now["target"]], axis=1)
    assert state.tolist() == np.concatenate([np.ravel(part) for part in (cells, *own)]).tolist()
    assert state in env.state_space
    assert worlds.state()[0].tolist() == state.tolist()
    assert make(Walk).state_space.shape == (2, 4)


def test_evaluate_measures_what_a_game_measures() -> None:
    """`multigrid.evaluate` plays a game and has an estimate for each of its metrics, and for the return of an agent."""
    config = make(KeyAndDoor).config
    policy = multigrid.policies.random_policy(np.random.default_rng(0))
    table = multigrid.evaluate(config, policy, range(8))
    assert table["visits"].mean == np.mean([episode["visits"] for episode in table.episodes])
    assert table["visits"].low < table["visits"].mean < table["visits"].high
    env, policy = make(KeyAndDoor), multigrid.policies.random_policy(np.random.default_rng(0))
    observations, paid = env.reset(seed=0)[0], dict.fromkeys(env.agents, 0.0)
    while env.agents:
        observations, rewards, *_ = env.step(policy(env, observations))
        paid = {agent: total + rewards.get(agent, 0) for agent, total in paid.items()}
    assert table.episodes[0]["return"] == pytest.approx(sum(paid.values()) / len(paid))


def test_without_targets_no_metric_of_path_finding_is_defined() -> None:
    """In a game without targets nobody can arrive: these metrics are NaN for the env, the vector env and `evaluate`."""
    names = ("csr", "isr", "sum_of_costs", "makespan", "throughput")
    policy = multigrid.policies.random_policy(np.random.default_rng(0))
    for on_target in ("stay", "restart"):
        env = make(Walk, on_target=on_target)
        env.reset(seed=0)
        for _ in range(2):
            env.step(dict.fromkeys(env.agents, 0))
        assert np.isnan([env.metrics()[name] for name in names]).all()
        assert not env.metrics()["success"].any()
        envs = multigrid.vector_env(2, env.config)
        envs.reset(seed=0)
        while not (infos := envs.step(np.zeros(envs.num_envs, np.int64))[4]).get("_isr", np.False_).any():
            pass
        assert np.isnan([infos[name] for name in names]).all()
        table = multigrid.evaluate(env.config, policy, [3])
        assert np.isnan([table[name].mean for name in ("success", *names)]).all()


MODULES = {
    "__init__.py": "from own_rules import pay, prices\nFACTOR = 3\n",
    "prices.py": """
import own_rules
from multigrid import games


def price(w, e, *, least=2, most=9):
    return games.draw_integer(w, e, least, least + 1) + own_rules.FACTOR * most
""",
    "pay.py": """
import own_rules


def pay(w, e, i, *, times):
    w.rewards[e, i] += times * own_rules.prices.price(w, e, least=4)
""",
    "game.py": """
import multigrid
import own_rules


class Pays(multigrid.Game):
    def after_moves(w, s, e):
        own_rules.pay.pay(w, e, 0, times=1)
        own_rules.pay.pay(w, e, 1, times=10)
""",
}


@pytest.mark.parametrize("check", ["0", "1"], ids=["compiled", "interpreted"])
def test_functions_of_other_modules(check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game calls functions through their modules, which may import one another, and with keyword-only arguments."""
    folder = tmp_path / "own_rules"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("MULTIGRID_CHECK", check)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("own_rules")]:
        monkeypatch.delitem(sys.modules, name)
    game = importlib.import_module("own_rules.game").Pays
    env = multigrid.parallel_env(game=game, num_agents=2, size=(5, 4))
    env.reset(seed=1)
    assert list(env.step({"agent_0": 0, "agent_1": 0})[1].values()) == [31.0, 310.0]
