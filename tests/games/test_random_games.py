"""Games of random functions play what a plain reference plays that calls the same functions."""

from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import multigrid
from multigrid import Game, games
from multigrid.runtime.compiled import COMPILED, find_plain

WIDTH, HEIGHT, AGENTS, LIMIT = 5, 4, 3, 12
STEPS = {0: (1, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1)}


class State(NamedTuple):
    """A number of each world, and one of each agent."""

    one: Annotated[NDArray[np.int64], "E"]
    each: Annotated[NDArray[np.int64], "E N"]


def write_expression(random: np.random.Generator, names: list[str], depth: int = 2) -> str:
    """Return a random expression of whole numbers, which stay small."""
    if depth == 0 or random.random() < 0.3:
        return str(random.choice([*names, str(random.integers(-3, 4))]))
    one, other = (write_expression(random, names, depth - 1) for _ in range(2))
    form = random.choice(["({} + {}) % 7", "({} - {}) % 5", "min({}, {})", "max({}, {})", "{} * {} % 11"])
    return f"({form.format(one, other)})"


def write_test(random: np.random.Generator, names: list[str]) -> str:
    """Return a random comparison."""
    one, other = (write_expression(random, names, 1) for _ in range(2))
    return f"{one} {random.choice(['<', '>=', '==', '!='])} {other}"


def write_game(seed: int) -> str:
    """Return the source of a game of random functions."""
    random = np.random.default_rng(seed)
    world = ["s.one[e]", "w.steps[e]"]
    agent = [*world, "s.each[e, i]", "w.location[e, i, 0]", "w.location[e, i, 1]", "w.actions[e, i]"]
    lines = ["class Random(Game):", "    actions = ('wink',)", "    targets = False", "    State = State"]
    lines += ["    def begin(w, s, e):", f"        s.one[e] = {write_expression(random, ['w.location[e, 0, 0]'])}"]
    lines += [
        "        for i in range(w.location.shape[1]):",
        f"            s.each[e, i] = {write_expression(random, agent)}",
    ]
    lines += [
        "    def may_enter(w, s, e, i, x, y):",
        f"        s.one[e] = {write_expression(random, [*agent, 'x', 'y'])}",
    ]
    lines += [f"        return {write_test(random, [*agent, 'x', 'y'])}"]
    lines += ["    def after_moves(w, s, e):", "        for i in range(w.location.shape[1]):"]
    lines += [f"            w.rewards[e, i] += {write_expression(random, agent)}"]
    lines += [
        f"            if {write_test(random, agent)}:",
        f"                s.each[e, i] = {write_expression(random, agent)}",
    ]
    lines += [
        f"            if {write_test(random, agent)} and w.steps[e] > 4:",
        "                w.terminated[e, i] = True",
    ]
    lines += [f"        s.one[e] = {write_expression(random, world)}"]
    lines += [f"        if {write_test(random, world)} and w.steps[e] > 8:", "            games.end_episode(w, e)"]
    lines += ["    def metric_one(w, s, e):", "        return s.one[e]"]
    return "\n".join(lines)


class Reference:
    """One world of a random game: no walls, no targets, and agents that pass through one another."""

    def __init__(self, game: type[Game], cells: Any) -> None:
        self.game = game
        self.s = SimpleNamespace(one=np.zeros(1, np.int64), each=np.zeros((1, AGENTS), np.int64))
        self.w = SimpleNamespace(
            location=np.array(cells)[np.newaxis],
            steps=np.zeros(1, np.int64),
            rewards=np.zeros((1, AGENTS)),
            terminated=np.zeros((1, AGENTS), bool),
            status=np.zeros((1, AGENTS), np.int8),
            episode_over=np.zeros(1, bool),
            actions=np.zeros((1, AGENTS), np.int64),
        )
        self.here = list(range(AGENTS))
        game.begin(self.w, self.s, 0)

    def step(self, actions: dict[int, int]) -> tuple[Any, ...]:
        """Play a step of the agents that are here; return rewards, terminated and truncated by agent."""
        w, s = self.w, self.s
        w.steps[0] += 1
        w.rewards[...], w.terminated[...], w.actions[...] = 0, False, 0
        moves = {}
        for i in self.here:
            w.actions[0, i] = actions[i]
        for i in self.here:
            dx, dy = STEPS.get(actions[i], (0, 0))
            x, y = w.location[0, i] + (dx, dy)
            if (dx or dy) and 0 <= x < WIDTH and 0 <= y < HEIGHT and self.game.may_enter(w, s, 0, i, x, y):
                moves[i] = x, y
        for i, cell in moves.items():
            w.location[0, i] = cell
        self.game.after_moves(w, s, 0)
        played = list(self.here)
        rewards = {i: w.rewards[0, i] for i in played}
        terminated = {i: bool(w.terminated[0, i]) for i in played}
        truncated = dict.fromkeys(played, w.steps[0] == LIMIT)
        if w.episode_over[0] or w.steps[0] == LIMIT:
            self.here = []
        for i in played:
            if terminated[i]:
                w.status[0, i] = games.LEFT
        self.here = [i for i in self.here if not terminated[i]]
        return rewards, terminated, truncated


def run_source(source: str, tools: Any) -> Any:
    """Return the game of a source."""
    scope: dict[str, Any] = {"Game": Game, "State": State, "games": tools, "__name__": __name__}
    exec(source, scope)  # noqa: S102 - of the lines above
    return scope["Random"]


@pytest.mark.parametrize("seed", range(2 if COMPILED else 30))
def test_a_random_game_plays_what_the_reference_plays(seed: int) -> None:
    """Rewards, ends, cells, own state and metrics of whole episodes are those of the functions, called by hand."""
    source = write_game(seed)
    # The reference calls the same functions, with what Python runs in the place of what is compiled.
    tools: list[Any] = [games, SimpleNamespace(end_episode=find_plain(games.end_episode))]
    game, called = (run_source(source, one) for one in tools)
    env = multigrid.parallel_env(
        game=game, num_agents=AGENTS, size=(WIDTH, HEIGHT), collisions="none", max_cycles=LIMIT, observe=("agent",)
    )
    random = np.random.default_rng(seed)
    for episode in range(25):
        observations, _ = env.reset(seed=episode)
        model = Reference(called, [observations[agent]["agent"] for agent in env.possible_agents])
        while env.agents:
            assert env.agents == [f"agent_{i}" for i in model.here]
            actions = {i: int(random.integers(6)) for i in model.here}
            _, *results = env.step({f"agent_{i}": action for i, action in actions.items()})
            expected = [{f"agent_{i}": value for i, value in one.items()} for one in model.step(actions)]
            assert results[:3] == expected, source
            state = env.get_state()
            here = [i for i in range(AGENTS) if state["status"][i] != games.LEFT]
            assert state["location"][here].tolist() == model.w.location[0, here].tolist(), source
            assert (state["one"], state["each"].tolist()) == (model.s.one[0], model.s.each[0].tolist()), source
            assert env.metrics()["one"] == model.s.one[0]
        assert not model.here
