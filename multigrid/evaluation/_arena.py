"""Play the same episodes with many policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from multigrid._checks import check_name, check_seed, shorten
from multigrid.config import GridConfig
from multigrid.core.metrics import METRICS
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.evaluation._playing import play, play_episodes
from multigrid.policies._team import act_all, plays_many, too_few

_MOST_WORLDS = 256


class Arena:
    """The episodes of a world with some seeds, played by policies or, with `per_episode`, by what they return for one.

    Args:
        config: the world.
        seeds: K integers of at least 0.
        metric: what is measured: a metric of the whole episode, or None for the returns of agents.
        per_episode: as for `multigrid.evaluate`.

    Raises:
        TypeError: `config` is not a GridConfig, or a seed is not an integer.
        ValueError: there are no seeds, a seed is negative, `max_cycles` is None, or there is no such metric under these
            rules.
    """

    def __init__(self, config: GridConfig, seeds: Iterable[int], metric: str | None, *, per_episode: bool) -> None:
        if not isinstance(config, GridConfig):
            raise TypeError(
                f"config is {shorten(config)}; expected a GridConfig, such as what games.config(id) returns"
            )
        if config.max_cycles is None:
            raise ValueError("max_cycles is None, but each episode is played to its end; expected a number of steps")
        if not isinstance(seeds, Iterable):
            raise TypeError(f"seeds are of type {type(seeds).__name__}; expected integers, such as range(100)")
        self.config, self.metric, self.per_episode = config, metric, per_episode
        self.seeds = tuple(check_seed(seed, "") for seed in seeds)
        if not self.seeds:
            raise ValueError("seeds are empty; expected at least one integer")
        self.env: Any = MultiGridEnv(config)
        self._worlds: Any = None
        self.env.reset(seed=self.seeds[0])
        if metric is not None:
            defined = {"throughput"} if config.on_target == "restart" else {*METRICS} - {"throughput"}
            left_out = {*METRICS} - (defined if config.has_targets else set())
            names = [name for name, value in self.env.metrics().items() if np.ndim(value) == 0]
            check_name("metric", metric, tuple(name for name in names if name not in left_out))

    @property
    def worlds(self) -> Any:
        """A vector env for these episodes."""
        if self._worlds is None:
            number = min(len(self.seeds), _MOST_WORLDS)
            self._worlds = MultiGridVectorEnv(self.config, number, autoreset_mode=AutoresetMode.DISABLED)
        return self._worlds

    def check(self, policies: Mapping[str, Any]) -> None:
        """Let each policy choose first actions; raise ValueError if they are too few, before any episode is played."""
        for name, given in policies.items():
            what = f"policy {shorten(name)}"
            if not callable(given):
                expected = "a function of a seed" if self.per_episode else "a function of an env and observations"
                raise TypeError(f"{what} is of type {type(given).__name__}; expected {expected}")
            if plays_many(given) and not self.per_episode:
                first = [self.seeds[number] for number in range(self.worlds.num_worlds)]
                act_all(given, self.worlds, self.worlds.reset(seed=first)[0], what)
                continue
            policy = given(self.seeds[0]) if self.per_episode else given
            observations, _ = self.env.reset(seed=self.seeds[0])
            chosen = policy(self.env, observations)
            if not isinstance(chosen, Mapping) or any(agent not in chosen for agent in self.env.agents):
                listed = chosen if isinstance(chosen, Mapping) else ()
                raise ValueError(too_few(what, chosen, [agent for agent in self.env.agents if agent not in listed]))

    def play(self, policy: Any) -> NDArray[np.float64]:
        """Return the returns of all agents in all episodes, float64 (K, N); or a metric, (K, 1).

        Policies with a method `act` play many worlds side by side; others, one episode after the other.
        """
        if plays_many(policy) and not self.per_episode:
            return self._play_worlds(policy)
        rows = []
        for seed in self.seeds:
            returns = np.zeros(self.config.num_agents)
            for _, step in play(self.env, policy(seed) if self.per_episode else policy, seed):
                for agent, reward in step.rewards.items():
                    returns[self.env.possible_agents.index(agent)] += reward
            rows.append(returns if self.metric is None else [float(self.env.metrics()[self.metric])])
        return np.array(rows, dtype=np.float64)

    def _play_worlds(self, policy: Any) -> NDArray[np.float64]:
        worlds, count = self.worlds, len(self.seeds)
        found = np.zeros((count, self.config.num_agents if self.metric is None else 1))
        for actions, step, numbers in play_episodes(worlds, policy.act, self.seeds):
            if actions is None:
                continue
            kept = numbers < count
            if self.metric is None:
                found[numbers[kept]] += step.rewards.reshape(worlds.num_worlds, -1)[kept]
            elif (ended := worlds.episode_over & kept).any():
                found[numbers[ended], 0] = worlds.metrics()[self.metric][ended]
        return found
