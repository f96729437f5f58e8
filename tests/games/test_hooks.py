"""What each function of a game may do, and what is done with what it leaves; Python runs the games."""

import re
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import multigrid
from multigrid import Game, PartSpec, games
from multigrid.actions import Outcome

# The cell (5, 0) can reach no other.
MAP = "....#.\n....##\n......"
LEAVES = "leaves|has left"


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python run the games, which play the same when they are compiled, as test_games says."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")


class Put(Game):
    """After each step, agent 0 is in one cell."""

    options = {"x": 1, "y": 1}

    def after_moves(w, s, e):
        w.location[e, 0, 0], w.location[e, 0, 1] = s.x, s.y


class Aim(Game):
    """After each step, agent 0 has its target in one cell."""

    options = {"x": 1, "y": 1}

    def after_moves(w, s, e):
        w.target[e, 0, 0], w.target[e, 0, 1] = s.x, s.y


class Leap(Game):
    """A step puts agent 0 into one cell, and the first one rewards it."""

    options = {"x": 1, "y": 1}

    def step(w, s, e):
        w.location[e, 0, 0], w.location[e, 0, 1] = s.x, s.y
        if w.steps[e] == 1:
            w.rewards[e, 0] = 3


class Ask(Game):
    """All begin in a row from the corner, in which agent 0 asks for one cell; column 2 is closed."""

    options = {"x": 1, "y": 1}
    parts = {"last": PartSpec(np.int64, "1", 0, 9, "its last action.")}

    def place(w, s, e):
        for i in range(w.location.shape[1]):
            w.location[e, i, 0], w.location[e, i, 1] = i, 0
            w.target[e, i, 0], w.target[e, i, 1] = 3, 2

    def request(w, s, e, i):
        if i == 0:
            return s.x, s.y
        return w.location[e, i, 0], w.location[e, i, 1]

    def may_enter(w, s, e, i, x, y):
        return x != 2

    def write_last(w, s, e, i, out):
        out[0] = w.actions[e, i]


class Crowd(Game):
    """All begin in one cell."""

    def place(w, s, e):
        for i in range(w.location.shape[1]):
            w.location[e, i, 0], w.location[e, i, 1] = 0, 0
            w.target[e, i, 0], w.target[e, i, 1] = 3, 2


def step_once(game: type[Game], **settings: Any) -> Any:
    """Return an environment of two agents after a step."""
    env = multigrid.parallel_env(game=game, walls=MAP, num_agents=2, **settings)
    env.reset(seed=1)
    env.step(dict.fromkeys(env.agents, 0))
    return env


@pytest.mark.parametrize("game", [Put, Leap])
@pytest.mark.parametrize("cell", [(-1, 1), (6, 1), (1, -1), (1, 3), (4, 0), (5, 0)])
def test_no_agent_is_put_where_none_can_be(game: type[Game], cell: tuple[int, int]) -> None:
    """A game that puts an agent outside the grid, into a wall, or where it can never move, ends with an error."""
    x, y = cell
    with pytest.raises((ValueError, RuntimeError), match=LEAVES):
        step_once(game, x=x, y=y)
    assert step_once(game, x=3, y=2).get_state()["location"][0].tolist() == [3, 2]


@pytest.mark.parametrize("cell", [(-1, 1), (6, 1), (1, -1), (1, 3)])
def test_no_target_is_put_outside(cell: tuple[int, int]) -> None:
    """A game that puts a target outside the grid ends with an error."""
    x, y = cell
    with pytest.raises((ValueError, RuntimeError), match=LEAVES):
        step_once(Aim, x=x, y=y)
    assert step_once(Aim, x=3, y=2).get_state()["target"][0].tolist() == [3, 2]


def test_the_distance_is_that_of_the_cell_that_a_game_has_put_an_agent_in() -> None:
    """The distance to the target is computed after the last function that may move agents."""
    state = step_once(Put, x=3, y=2).get_state()
    assert state["distances"].tolist() == np.abs(state["location"] - state["target"]).sum(axis=1).tolist()


class Late(Game):
    """The tenth step puts agent 0 outside the grid, where the function after it looks for a component."""

    def step(w, s, e):
        if w.steps[e] == 10:
            w.location[e, 0, 0] = 6

    def after_moves(w, s, e):
        w.rewards[e, 0] = w.components[0, w.location[e, 0, 0], 0]


def test_what_follows_a_step_finds_all_agents_inside() -> None:
    """The cells that `step` leaves are checked before another function reads them, and the error names `step`."""
    env = multigrid.parallel_env(game=Late, walls=MAP, num_agents=2)
    env.reset(seed=1)
    for _ in range(9):
        env.step({"agent_0": 0, "agent_1": 0})
    with pytest.raises(RuntimeError, match=r"Late\.step has left an agent"):
        env.step({"agent_0": 0, "agent_1": 0})


class Tells(Game):
    """In the third step, one function writes what it may only read, in a helper."""

    actions = ("wave",)
    options = {"where": 0}
    parts = {"third": PartSpec(np.int64, "1", 0, 9, "nothing.")}

    class State(NamedTuple):
        seen: Annotated[NDArray[np.int64], "E N"]

    def after_moves(w, s, e):
        if w.steps[e] == 3 and s.where == 0:
            w.components[w.map_index[e], 0, 0] = 0

    def write_third(w, s, e, i, out):
        if w.steps[e] == 3 and s.where == 1:
            note(s.seen[e], i)
        out[0] = games.draw_integer(w, e, 0, 9) if w.steps[e] == 3 and s.where == 3 else 0

    def metric_third(w, s, e):
        if w.steps[e] == 3 and s.where == 2:
            s.seen[e, w.steps[e] - 3] += w.rewards[e, 0]
        return 0

    def legal(w, s, e, i, action):
        if w.steps[e] == 3 and s.where == 4:
            s.seen[e] += 1
        return True


def note(seen, i):
    seen[i] = 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (0, "Tells.after_moves writes into 'components', a constant"),
        (1, "Tells.write_third writes into 'seen', but it may only read"),
        (2, "Tells.metric_third writes into 'seen', but it may only read"),
        (3, "Tells.write_third draws a random number, but it may only read"),
        (4, "Tells.legal writes into 'seen', but it may only read"),
    ],
)
def test_a_late_write_is_an_error_of_the_function(where: int, message: str) -> None:
    """What a function may only read stays so in every step, and the error names the function and the array."""
    env = step_once(Tells, where=where, observe=("agent", "third", "action_mask"))
    before = env.step(dict.fromkeys(env.agents, 0)) and env.get_state()["seen"]

    def play() -> None:
        env.step(dict.fromkeys(env.agents, 0))
        env.metrics()

    with pytest.raises(RuntimeError, match=re.escape(message)) as error:
        play()
    assert f"file {__file__}, line " in str(error.value)
    assert not before.any()


class Priced(Game):
    """The third step changes a constant."""

    class State(NamedTuple):
        prices: Annotated[NDArray[np.int64], "3"]

    def prepare(c):
        return {"prices": np.arange(3)}

    def after_moves(w, s, e):
        if w.steps[e] == 3:
            s.prices[0] = 7


def test_a_late_write_into_a_constant_of_a_game() -> None:
    """A function that writes into what `prepare` has returned is not compiled; interpreted, the step is an error."""

    def play() -> None:
        env = step_once(Priced)
        for _ in range(2):
            env.step(dict.fromkeys(env.agents, 0))

    expected = r"Priced\.after_moves (cannot be compiled: it writes into a constant|writes into 'prices', a constant)"
    with pytest.raises((TypeError, RuntimeError), match=expected):
        play()


def test_no_two_agents_begin_in_one_cell() -> None:
    """Agents that collide cannot be placed in one cell; those that pass through one another can, again and again."""
    with pytest.raises((ValueError, RuntimeError), match=LEAVES):
        step_once(Crowd)
    env = step_once(Crowd, collisions="none")
    env.reset()
    assert env.get_state()["location"].tolist() == [[0, 0], [0, 0]]


def test_a_step_of_a_game_begins_without_rewards() -> None:
    """What `step` has paid is not paid again by a step that says nothing of rewards."""
    env = step_once(Leap)
    rewards = [env.step(dict.fromkeys(env.agents, 0))[1]["agent_0"] for _ in range(2)]
    assert rewards == [0, 0]


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [((0, 0), "STAYED"), ((-1, 0), "EDGE"), ((0, 3), "EDGE"), ((4, 0), "WALL"), ((2, 2), "WALL"), ((3, 1), "MOVED")],
)
def test_an_agent_gets_the_cell_that_it_asks_for(cell: tuple[int, int], outcome: str) -> None:
    """The cell that `request` returns is entered unless it is outside, a wall, closed by `may_enter`, or its own."""
    x, y = cell
    env = multigrid.parallel_env(game=Ask, walls=MAP, num_agents=2, x=x, y=y)
    env.reset(seed=1)
    infos = env.step({"agent_0": 1, "agent_1": 3})[-1]
    assert Outcome(infos["agent_0"]["outcome"]).name == outcome
    moved = list(cell) if outcome == "MOVED" else [0, 0]
    assert env.get_state()["location"].tolist() == [moved, [1, 0]]


def test_a_state_has_the_actions() -> None:
    """What a game's functions read of the last actions is restored with a state."""
    env = step_once(Ask, x=0, y=0)
    env.step({"agent_0": 1, "agent_1": 3})
    state = env.get_state()
    env.step({"agent_0": 2, "agent_1": 0})
    other = multigrid.vector_env(1, env.config)
    other.reset(seed=0)
    other.set_state([state])
    env.set_state(state)
    for one in (env.get_state(), other.get_state(single=True)[0]):
        assert one["actions"].tolist() == [1, 3]
    for action in (-1, 5, 2**40):
        with pytest.raises(ValueError, match="actions in the state are out of range"):
            env.set_state({**state, "actions": np.array([1, action])})
    assert env.get_state()["actions"].tolist() == [1, 3]


class Grant(Game):
    """All moves are granted, also that of agent 0 when it has parked, or to a cell beyond the grid."""

    options = {"beyond": False}

    def place(w, s, e):
        for i in range(2):
            w.location[e, i, 0], w.location[e, i, 1] = i, 0
            w.target[e, i, 0], w.target[e, i, 1] = 2 * i, 2 - i

    def resolve(w, s, e):
        w.outcomes[e, 0] = 0
        if s.beyond:
            w.requested[0] = 99


@pytest.mark.parametrize("beyond", [False, True])
def test_a_game_grants_no_move_that_was_not_asked_for(beyond: bool) -> None:
    """A game that moves an agent that has parked, or asks for a cell beyond the grid, ends with an error."""

    def play() -> None:
        env = multigrid.parallel_env(game=Grant, walls=MAP, num_agents=2, beyond=beyond)
        env.reset(seed=1)
        for _ in range(3):
            env.step({"agent_0": 1, "agent_1": 3})

    with pytest.raises((ValueError, RuntimeError), match=rf"Grant.resolve ({LEAVES}) an agent or a target"):
        play()


class Recall(Game):
    """Each layout notes what it finds of the episode before it."""

    class State(NamedTuple):
        found: Annotated[NDArray[np.float64], "E N 16"]

    def place(w, s, e):
        for i in range(w.num_agents[e]):
            found = s.found[e, i]
            found[0], found[1], found[2], found[3] = w.steps[e], w.episode_over[e], w.status[e, i], w.arrivals[e, i]
            found[4], found[5], found[6] = w.arrival_step[e, i], w.rewards[e, i], w.outcomes[e, i]
            found[7], found[8], found[9] = w.terminated[e, i], w.truncated[e, i], w.distances[e, i]
            found[10], found[11] = w.location[e, i, 0] + w.location[e, i, 1], w.target[e, i, 0] + w.target[e, i, 1]
            found[12], found[13] = w.actions[e, i], w.messages[e, i, 0]
            w.location[e, i, 0], w.location[e, i, 1] = i, 2
            w.target[e, i, 0], w.target[e, i, 1] = i + 2, 2


@pytest.mark.parametrize("on_target", ["leave", "restart"])
def test_a_layout_depends_on_nothing_before_it(on_target: Any) -> None:
    """Where agents begin, `place` finds the same after an episode as in a new environment."""
    options: Any = {"game": Recall, "walls": MAP, "num_agents": 2, "on_target": on_target, "message_bits": 1}
    env, envs = multigrid.parallel_env(max_cycles=4, **options), multigrid.vector_env(1, max_cycles=4, **options)
    env.reset(seed=1), envs.reset(seed=1)
    first = env.get_state()["found"]
    for step in range(5):
        env.step({agent: [0, 1] for agent in env.agents} if step else {"agent_0": [1, 1], "agent_1": [0, 1]})
        envs.step(np.array([[0, 1]] * 2))
        if not env.agents:
            env.reset()
    assert env.get_state()["steps"] < 4
    for found in (env.get_state()["found"], envs.get_state()["found"][0]):
        assert found.tolist() == first.tolist()


class Strand(Game):
    """Agent 0 is sent to a wall, or to a cell that can reach no other, which is its target."""

    options = {"x": 5, "y": 0}

    def begin(w, s, e):
        w.target[e, 0, 0], w.target[e, 0, 1] = s.x, s.y

    def resolve(w, s, e):
        w.outcomes[e, 0], w.requested[0] = 0, s.x * 3 + s.y


@pytest.mark.parametrize(("x", "y"), [(5, 0), (4, 0)])
def test_an_agent_that_arrives_where_nothing_is_reached_is_an_error(x: int, y: int) -> None:
    """Where no next target can be drawn, the game is named, and nothing hangs."""

    def play() -> None:
        env = multigrid.parallel_env(game=Strand, walls=MAP, on_target="restart", x=x, y=y)
        env.reset(seed=1)
        env.step({"agent_0": 0, "agent_1": 0})

    with pytest.raises((ValueError, RuntimeError), match=rf"Strand.(begin|resolve) ({LEAVES}) an agent or a target"):
        play()


class Large(Game):
    """A metric whose 64 bits overflow, and an error that mentions what is read-only."""

    options = {"fails": False}

    def after_moves(w, s, e):
        if s.fails and w.steps[e] > 0:
            raise ValueError("read-only mode")

    def metric_odd(w, s, e):
        return (w.steps[e] + 2**62) * 3


@pytest.mark.filterwarnings("error")
def test_metrics_wrap_as_steps_do() -> None:
    """Integers of 64 bits wrap in a metric without a warning, as in compiled code."""
    env: Any = multigrid.parallel_env(game=Large, size=(4, 3))
    env.reset(seed=0)
    assert env.metrics()["odd"] == 3 * 2**62 - 2**64


def test_an_error_is_said_as_it_is() -> None:
    """An error of a game that mentions what is read-only is no write into an array."""

    def play() -> None:
        env = multigrid.parallel_env(game=Large, size=(4, 3), fails=True)
        env.reset(seed=0)
        env.step({"agent_0": 0, "agent_1": 0})

    with pytest.raises((ValueError, RuntimeError), match="fails when it is called: ValueError: read-only mode"):
        play()


class Far(Game):
    """Agents observe a cell beyond the grid."""

    parts = {"far": PartSpec(np.int64, "2", 0, None, "a cell.")}

    def write_far(w, s, e, i, out):
        out[0], out[1] = 6, 100


@pytest.mark.parametrize(("size", "expected"), [((4, 10), [1.0, 1.0]), ((10, 4), [6 / 9, 1.0])])
def test_a_cell_beyond_the_grid_is_the_last_one(size: tuple[int, int], expected: list[float]) -> None:
    """In a flat vector a number that is no cell of the grid is that of the last one of its axis."""
    env: Any = multigrid.parallel_env(game=Far, size=size, observe=("far",), flatten=True)
    assert env.reset(seed=0)[0]["agent_0"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["hooks", "own"])
def test_names_of_the_rules_are_refused(name: str) -> None:
    """An option cannot have the name of what functions are given beside arrays."""
    with pytest.raises(ValueError, match=f"{name}.*choose another name"):
        multigrid.parallel_env(game=type("Named", (Put,), {"options": {**Put.options, name: 1}}))


class Quit(Game):
    """An agent of even index leaves in the first step, and `Quit.seen` has what it reads of the actions later."""

    parts = {"last": PartSpec(np.int64, "1", 0, 99, "the last action of agent 0.")}

    def after_moves(w, s, e):
        w.terminated[e, 0] = True

    def write_last(w, s, e, i, out):
        out[0] = w.actions[e, 0]


def test_actions_of_agents_that_have_left_are_read_as_0() -> None:
    """Nobody checks the action of an agent that has left, so functions read 0, and states have 0."""
    worlds = multigrid.vector_env(1, game=Quit, num_agents=2, walls=MAP)
    worlds.reset(seed=0)
    worlds.step(np.array([1, 2]))
    observations, *_ = worlds.step(np.array([99, 2]))
    assert observations["last"].ravel().tolist() == [0, 0]
    states = worlds.get_state()
    worlds.set_state(states)
    assert worlds.get_state()["actions"].tolist() == [[0, 2]]


@pytest.mark.parametrize("name", ["alive", "distance", "success"])
def test_a_metric_takes_no_name_of_an_info(name: str) -> None:
    """A metric with the name of an info would replace it at the end of an episode, so it is refused."""
    game = type("Named", (Game,), {f"metric_{name}": lambda w, s, e: 0})
    with pytest.raises(ValueError, match=f"metric_{name}, but every environment has"):
        multigrid.parallel_env(game=game)


class Pay(Game):
    """Agent 0 leaves in the first step; all are paid in each."""

    def after_moves(w, s, e):
        w.terminated[e, 0] = True
        for i in range(w.location.shape[1]):
            w.rewards[e, i] = 2


def test_an_agent_that_has_left_gets_nothing() -> None:
    """What a game pays an agent after it has left is dropped, and it does not end a second time."""
    worlds = multigrid.vector_env(1, game=Pay, num_agents=2, walls=MAP)
    worlds.reset(seed=0)
    results = [worlds.step(np.array([1, 2]))[1:3] for _ in range(2)]
    assert [rewards.tolist() for rewards, _ in results] == [[2, 2], [0, 2]]
    assert [ended.tolist() for _, ended in results] == [[True, False], [False, False]]


class Finish(Game):
    """Agent i is done after step i + 1."""

    def after_moves(w, s, e):
        for i in range(w.location.shape[1]):
            w.terminated[e, i] = w.steps[e] > i


def test_an_episode_is_over_when_a_game_has_terminated_all() -> None:
    """After the last agent has been terminated, the world begins its next episode; not before."""
    worlds = multigrid.vector_env(1, game=Finish, num_agents=2, walls=MAP)
    worlds.reset(seed=0)
    steps = [worlds.step(np.array([1, 2])) and worlds.get_state()["steps"].item() for _ in range(4)]
    assert steps == [1, 2, 0, 1]


class Numbers(Game):
    """Three parts and two metrics, which tell the agent, the step and their place."""

    targets = False
    parts = {
        "first": PartSpec(np.int64, "2", 0, 9, "ten times the agent, and the step."),
        "cell": PartSpec(np.int64, "2", 0, None, "a cell."),
        "back": PartSpec(np.int64, "2", None, None, "the same, negative."),
    }

    def write_first(w, s, e, i, out):
        out[0], out[1] = 10 * i, w.steps[e]

    def write_cell(w, s, e, i, out):
        out[0], out[1] = 5, 1

    def write_back(w, s, e, i, out):
        out[0], out[1] = -5, -1

    def metric_one(w, s, e):
        return 1

    def metric_two(w, s, e):
        return 2


def test_each_part_and_each_metric_has_its_place() -> None:
    """All parts and metrics of a game are written, and flat, cells and their differences alone are scaled."""
    for flatten in (False, True):
        env = step_once(Numbers, observe=("first", "cell", "back"), flatten=flatten)
        observations = env.step(dict.fromkeys(env.agents, 0))[0]
        seen = observations["agent_1"]
        expected = [10, 2, 1, 0.5, -1, -0.5] if flatten else [10, 2, 5, 1, -5, -1]
        assert (seen if flatten else np.concatenate(list(seen.values()))).tolist() == expected
        assert (env.metrics()["one"], env.metrics()["two"]) == (1, 2)


class Blind(Game):
    """Nobody sees anything from the tenth step on."""

    parts = {"sight": PartSpec(np.int64, "1", 0, 9, "nothing.")}

    def write_sight(w, s, e, i, out):
        if w.steps[e] == 10:
            raise ValueError("blind")
        out[0] = 0


@pytest.mark.parametrize("flatten", [False, True])
def test_a_part_that_fails_ends_the_call(flatten: bool) -> None:
    """An exception in a function that writes a part is an error of the step, which names the function."""
    env = multigrid.parallel_env(
        game=Blind, walls=MAP, num_agents=2, observe=("sight",), flatten=flatten, max_cycles=12
    )
    env.reset(seed=1)
    env.set_state({**env.get_state(), "steps": np.int64(9)})
    with pytest.raises(RuntimeError, match=r"Blind\.write_sight has raised"):
        env.step({"agent_0": 0, "agent_1": 0})


class Fails(Game):
    """A metric fails from the second step on."""

    def metric_early(w, s, e):
        if w.steps[e] > 1:
            raise ValueError("late")
        return 1


def test_a_metric_that_fails_leaves_the_world() -> None:
    """After a metric has failed, the episode goes on."""
    env = step_once(Fails)
    env.step(dict.fromkeys(env.agents, 0))
    with pytest.raises(RuntimeError, match=r"Fails\.metric_early has raised") as raised:
        env.metrics()
    assert "half played" not in str(raised.value)
    env.step(dict.fromkeys(env.agents, 0))


class Prepared(Game):
    """The size is a default, the number of agents is fixed, and new targets are needed."""

    def prepare(c):
        if c.on_target != "restart":
            raise ValueError(f"on_target is {c.on_target!r}; expected 'restart'")
        return {"num_agents": 2, "max_cycles": 7} | ({"size": (5, 3)} if c.size is None else {})


def test_prepare_fixes_fields_or_gives_defaults() -> None:
    """A field that `prepare` returns is refused with another value, and one that it leaves out is the user's."""
    first = multigrid.parallel_env(game=Prepared, on_target="restart").config
    assert (first.size, first.num_agents, first.max_cycles) == ((5, 3), 2, 7)
    other = multigrid.parallel_env(game=Prepared, on_target="restart", size=(4, 6), max_cycles=9).config
    assert (other.size, other.num_agents, other.max_cycles) == ((4, 6), 2, 9)
    assert multigrid.GridConfig(game=Prepared, on_target="restart", max_cycles=300).max_cycles == 300
    for options, message in (
        ({}, "on_target is 'park'"),
        ({"on_target": "restart", "num_agents": 3}, "the game has 2"),
    ):
        with pytest.raises(ValueError, match=message):
            multigrid.parallel_env(game=Prepared, **options)


class Free(Game):
    """Agent 0 leaves in the second step; the game sees which cells are free."""

    class State(NamedTuple):
        free: Annotated[NDArray[np.int64], "E W H"]

    def place(w, s, e):
        for i in range(2):
            w.location[e, i, 0], w.location[e, i, 1] = i, 1
            w.target[e, i, 0], w.target[e, i, 1] = 3, 2

    def after_moves(w, s, e):
        for x in range(w.components.shape[1]):
            for y in range(w.components.shape[2]):
                s.free[e, x, y] = games.is_free(w, e, x, y) + 2 * games.is_free(w, e, x - 6, y - 3)
        w.terminated[e, 0] = w.steps[e] == 2


def test_which_cells_are_free() -> None:
    """A free cell is inside, no wall, reaches another cell, and has no agent that is still there."""
    env = multigrid.parallel_env(game=Free, walls=MAP, num_agents=2, allow_stay=True)
    env.reset(seed=0)
    for agents in ([(0, 1), (1, 1)], [(0, 1), (1, 1)], [(1, 1)]):
        env.step(dict.fromkeys(env.agents, 4))
        rows = [list(line) for line in MAP.split("\n")]
        expected = [[int(rows[y][x] == "." and (x, y) not in [(5, 0), *agents]) for y in range(3)] for x in range(6)]
        assert env.get_state()["free"].tolist() == expected
