"""A game for one player, who steers one agent; the others follow a policy."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.actions import MOVES, Action
from multigrid.cli._models import load_models, match_observations
from multigrid.config import GridConfig
from multigrid.core.arrays import LEFT
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy
from multigrid.policies._baselines import BUILT_IN
from multigrid.rendering._scene import Scene
from multigrid.scenarios import RecordEpisode, Scenario

# The other letters move and command.
_FREE = "1234567890bceghijklmotuvyz"
_WAYS = {
    "north": "up",
    "south": "down",
    "west": "left",
    "east": "right",
    "forward": "up",
    "left": "left",
    "right": "right",
}
"""The arrow of an action, by its name, in a game without the four moves."""


def moves_by_sight() -> dict[str, Action]:
    """Return the action for each of "up", "down", "left" and "right" on the screen, where y grows downwards."""
    moves = {}
    for action, (dx, dy) in enumerate(MOVES):
        moves["right" if dx > 0 else "left" if dx else "down" if dy > 0 else "up"] = Action(action)
    return moves


def find_own_keys(config: GridConfig) -> dict[str, tuple[int, str]]:
    """Return the numbers and names of a game's own actions by key, in order; those after the 26th have no key."""
    first = Action.STAY + 1 if config.game is None or config.game.moves else 0
    return dict(zip(_FREE, enumerate(config.own_actions, first), strict=False))


def find_ways(config: GridConfig) -> dict[str, int] | None:
    """Return the actions that the arrows stand for in a game without the four moves; None in others."""
    if config.game is None or config.game.moves:
        return None
    return {_WAYS[name]: number for number, name in enumerate(config.own_actions) if name in _WAYS}


def find_idle(config: GridConfig) -> int | None:
    """Return the action that does nothing, if there is one."""
    if config.game is None or config.game.moves:
        return int(Action.STAY) if config.num_actions > Action.STAY else None
    return config.own_actions.index(config.game.idle) if config.game.idle else None


class Session:
    """A game for one player: in each step the player steers one agent, and the others follow a policy.

    `world` is a configuration, from which layouts are sampled, or a scenario, whose recorded actions are ignored.
    `others` is a name in `OTHERS`, or the folder of a training run or of a pool, of which each layout has the next
    policy. Policies by name other than "random" and "shortest-path" wait, so several agents are then played with
    ``allow_stay=True``. A restart also restores the others' random generator: equal actions then lead to equal states.
    """

    def __init__(self, world: GridConfig | Scenario, seed: int = 0, others: str = "shortest-path") -> None:
        if seed < 0:
            raise ValueError(f"seed is {seed}; expected at least 0")
        config = world.config if isinstance(world, Scenario) else world
        models = [] if others in OTHERS else load_models(others, config.game)
        if models:
            trained = models[0].config
            if trained.game is not config.game:
                here, there = (one.game.__name__ if one.game else "path finding" for one in (config, trained))
                raise ValueError(
                    f"others is {others}, trained in {there}, and the world is of {here}; expected one game"
                )
            config = dataclasses.replace(config, allow_stay=trained.allow_stay)
            config = match_observations("the world", config, trained)
        elif others not in ("random", "shortest-path") and config.num_agents > 1:
            config = dataclasses.replace(config, allow_stay=True)
        if others == "idle" and config.num_agents > 1 and find_idle(config) is None:
            name = config.game.__name__ if config.game else ""
            raise ValueError(f"others is 'idle', but {name} names no action as its `idle`; expected 'random'")
        self._seed, self.others = seed, others
        self._layout = 0  # the number of layouts before this one
        self.note = ""  # a message about the last command, or "" if the picture shows its effect
        self.name = f"seed {seed}"  # the name of a sampled layout is the seed and its number
        self._layouts: MultiGridEnv | None = None
        self._make_env: Callable[[], MultiGridEnv]
        if isinstance(world, Scenario):
            self.name = world.name
            self._make_env = dataclasses.replace(world, config=config, actions=None, digests=None).env
        else:
            self._layouts = MultiGridEnv(config)
            self._layouts.np_random = np.random.default_rng(seed)
            self._make_env = _next_layout(self._layouts)
        self._generator = np.random.default_rng([seed, 0])
        seeded: list[Policy] = [model.seeded(self._generator) for model in models]
        self._policies = seeded or [OTHERS[others](self._generator)]
        self.steered = 0  # the index of the agent that the player steers
        self._begin()
        # Before there is a window, the policy reports rules that it does not support, and compiles its kernels.
        self._choose_actions()
        self._seed_others()

    def _choose_actions(self) -> dict[str, int]:
        policy = self._policies[self._layout % len(self._policies)]
        return dict(policy(self._env, self._observations))

    def _seed_others(self) -> None:
        self._generator.bit_generator.state = np.random.default_rng([self._seed, self._layout]).bit_generator.state

    def _begin(self) -> None:
        self._seed_others()
        self._env = self._make_env()
        self._observations, _ = self._env.reset()
        self.config = self._env.config
        self.state = self._env.get_state()
        self._played: list[dict[str, int]] = []
        self.totals = np.zeros(self.config.num_agents)  # the sum of each agent's rewards so far

    @property
    def steps(self) -> int:
        """The steps played in this episode."""
        return int(self.state["steps"])

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return not self._env.agents

    @property
    def out_of_time(self) -> bool:
        """Whether the limit of steps ended the episode before all agents had arrived."""
        return self.over and self.metrics()["csr"] != 1

    @property
    def num_agents(self) -> int:
        """The number of agents in this episode."""
        return int(self.state.get("num_agents", self.config.num_agents))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which agents are present: bool (N,), False for an agent that has left."""
        return np.asarray(self.state["status"] != LEFT)

    @property
    def goal(self) -> str:
        """What the player is to reach, in words."""
        game = self.config.game
        if game is not None:
            about, _, _ = (inspect.cleandoc(game.__doc__ or "")).partition("\n")
            return f"{game.__name__}: {about}" if about else game.__name__
        if self.config.on_target == "restart":
            return "Goal: reach targets as often as you can; each time there is a new one"
        if self.num_agents == 1:
            return "Goal: bring the disc to the square"
        at_once = ", all at the same time" * (self.config.on_target == "stay")
        return f"Goal: every agent on the square with its number{at_once}"

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the episode so far, as `MultiGridEnv.metrics` does."""
        return self._env.metrics()

    def scene(self) -> Scene:
        """Return the current state as a scene to draw."""
        scene = self._env._get_scene()  # noqa: SLF001 - what the environment itself draws
        return scene._replace(agents=self.state["location"], targets=self.state["target"])

    def play(self, action: int) -> bool:
        """Play a step and return True; after the end of the episode, return False."""
        if self.over:
            return False
        actions = self._choose_actions()
        steered = self._env.possible_agents[self.steered]
        if steered in actions:
            actions[steered] = int(action)
        self._observations, *_ = self._env.step(actions)
        self._played.append(actions)
        self.state = self._env.get_state()
        self.totals = self.totals + self.state["rewards"]
        self.note = ""
        if self._env.agents and not self.present[self.steered]:
            left = self.steered
            self.choose(1)
            has_left = "has arrived and left" if self.config.game is None else "has left"
            self.note = f"Agent {left} {has_left}; agent {self.steered} is yours now"
        return True

    def restart(self) -> None:
        """Begin the same layout again."""
        self._begin()
        self.note = "The same layout again"

    def next_layout(self) -> None:
        """Begin the next layout; restart a scenario, which has only one layout."""
        if self._layouts is None:
            self._begin()
            self.note = "A scenario has one layout, begun again"
            return
        self._layout += 1
        self.name = f"seed {self._seed}, layout {self._layout + 1}"
        self._make_env = _next_layout(self._layouts)
        self.steered = 0
        self._begin()
        self.note = "Another layout"

    def choose(self, turns: int) -> None:
        """Steer the next agent that is present, or the previous one if `turns` is -1."""
        present = np.flatnonzero(self.present).tolist()
        if present:
            # The agents in cyclic order after the steered one, which comes last.
            self.steered = min(present, key=lambda agent: (turns * (agent - self.steered) - 1) % len(self.totals))
            self.note = ""

    def recording(self) -> Scenario:
        """Return the episode so far as a scenario with actions."""
        recorder = RecordEpisode(self._make_env())
        recorder.reset()
        for actions in self._played:
            recorder.step(actions)
        return recorder.scenario(self.name)


def _next_layout(env: MultiGridEnv) -> Callable[[], MultiGridEnv]:
    """Reset an environment, and return a function that returns environments whose first reset has the same layout."""
    generator = copy.deepcopy(env.np_random)
    env.reset()
    # No map shows all that a game, or a generator of maps, draws at a reset.
    return functools.partial(_make_env, env.config, generator)


def _make_env(config: GridConfig, generator: np.random.Generator) -> MultiGridEnv:
    """Return an environment whose first reset draws from a copy of a generator."""
    env = MultiGridEnv(config)
    env.np_random = copy.deepcopy(generator)
    return env


_NAMES = ("random", "shortest-path", "pibt", "pretrained", "pretrained-messages", "pretrained-shield")
OTHERS: dict[str, Callable[[np.random.Generator], Policy]] = {
    # Alone, an agent is always steered.
    "idle": lambda _: lambda env, _: dict.fromkeys(env.agents, find_idle(env.config) or 0),
    **{name: BUILT_IN[name] for name in _NAMES},
}
"""The policies that have names, of the agents that the player does not steer."""
