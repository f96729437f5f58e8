"""ParallelEnvs stepped one by one, with a row for each agent: what vector envs of many agents are compared with."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, create_empty_array, iterate

from helpers import frozen, same
from multigrid import MultiGridEnv, MultiGridVectorEnv, Outcome

METRICS = {"success", "arrival_step", "csr", "isr", "sum_of_costs", "makespan", "throughput"}
DTYPES: dict[str, Any] = dict.fromkeys(["distance", *METRICS], np.float64) | {"outcome": np.int64, "arrived": np.int64}
DTYPES |= {"alive": bool, "success": bool, "final_obs": object}
STAYED_AWAY = {"distance": 0.0, "outcome": int(Outcome.STAYED), "arrived": 0, "alive": False}


class SingleEnvs:
    """ParallelEnvs of the same agents one by one, in rows, reset by the rules of an autoreset mode.

    A row is an observation, reward, terminated, truncated and info, or after `reset` an observation and an info.
    """

    def __init__(self, envs: Sequence[Any], mode: AutoresetMode | str) -> None:
        self.envs, self.mode = envs, AutoresetMode(mode)
        self.num_agents = len(envs[0].possible_agents)
        space = envs[0].observation_space(envs[0].possible_agents[0])
        self.zeros = exact(next(iter(iterate(batch_space(space, 1), create_empty_array(space, n=1)))))
        self.latest: list[list[Any]] = [[]] * len(envs)
        self.num_ends = 0

    def reset(
        self, seeds: Sequence[Any], chosen: Sequence[int] | None = None, options: Callable[[int], Any] = lambda _: None
    ) -> list[Any]:
        """Reset the chosen envs; the rows of the others have their latest observation and no info."""
        chosen = range(len(self.envs)) if chosen is None else chosen
        infos = {k: [row[-1] for row in self._reset_one(k, seeds[k], options(k))] for k in chosen}
        rows = [(k, i) for k in range(len(self.envs)) for i in range(self.num_agents)]
        return [[self.latest[k][i], infos[k][i] if k in infos else {}] for k, i in rows]

    def step(self, actions: Sequence[Any]) -> list[Any]:
        """Step each env with the actions of its rows, or reset it where its episode is over."""
        rows = []
        for k, env in enumerate(self.envs):
            assert env.agents or self.mode is AutoresetMode.NEXT_STEP
            first = k * self.num_agents
            rows += self._step_one(k, actions[first : first + self.num_agents]) if env.agents else self._reset_one(k)
        return rows

    def uses_action(self) -> np.ndarray:
        """Return whether the action of each row counts in the next step."""
        return np.array([agent in env.agents for env in self.envs for agent in env.possible_agents])

    def over(self) -> np.ndarray:
        """Return whether the episode of each env is over."""
        return np.array([not env.agents for env in self.envs])

    def _reset_one(self, k: int, seed: Any = None, options: Any = None) -> list[Any]:
        return self._rows(k, [], *self.envs[k].reset(seed=seed, options=options))

    def _step_one(self, k: int, actions: Sequence[Any]) -> list[Any]:
        env = self.envs[k]
        before = list(env.agents)
        every = dict(zip(env.possible_agents, actions, strict=True))
        observations, *outcomes, infos = env.step({agent: every[agent] for agent in before})
        rows = self._rows(k, before, observations, infos, outcomes)
        if env.agents:
            return rows
        self.num_ends += 1
        for i, row in enumerate(rows):
            metrics = env.metrics().items()
            row[-1] |= {name: value[i].item() if np.ndim(value) else value for name, value in metrics}
        if self.mode is not AutoresetMode.SAME_STEP:
            return rows
        return [
            [first[0], *last[1:-1], first[-1] | {"final_obs": last[0], "final_info": last[-1]}]
            for last, first in zip(rows, self._reset_one(k), strict=True)
        ]

    def _rows(self, k: int, before: list[str], observations: Any, infos: Any, outcomes: Any = ()) -> list[Any]:
        """Return the rows of an env; an agent has one of its own if it was there before the call or is so now."""
        env, rows = self.envs[k], []
        for agent in env.possible_agents:
            is_there = agent in {*before, *env.agents}
            info = {**listed(infos[agent]), "alive": True} if is_there else {**STAYED_AWAY}
            reward, terminated, truncated = (one[agent] for one in outcomes) if agent in before else (0, False, False)
            truncated = truncated or not (env.agents or terminated)
            outcome = [float(reward), bool(terminated), bool(truncated)]
            rows.append([exact(observations[agent]) if is_there else self.zeros, *outcome, info])
        self.latest[k] = [row[0] for row in rows]
        return rows


def exact(observation: Any) -> Any:
    """Return a copy of an observation that == compares to the bit."""
    if isinstance(observation, dict):
        return {part: exact(array) for part, array in observation.items()}
    return frozen(np.asarray(observation))


def listed(value: Any) -> Any:
    """Return a copy of a value with lists in place of arrays."""
    if isinstance(value, dict):
        return {key: listed(one) for key, one in value.items()}
    if isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [listed(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def infos_by_row(infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the info of each row, from arrays and masks; where a mask is False there must be nothing."""
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    names = {name for name in infos if not name.startswith("_")}
    assert set(infos) == names | {f"_{name}" for name in names}
    for name in names:
        values, mask = infos[name], infos[f"_{name}"]
        assert (mask.dtype, mask.shape) == (bool, (count,))
        if isinstance(values, dict):
            column: Any = infos_by_row(values, count)
            assert not any(one for one, there in zip(column, mask, strict=True) if not there)
        else:
            column = values
            assert (values.dtype, len(values)) == (DTYPES.get(name, values.dtype), count)
            assert not values[~mask].any()
        for row in np.flatnonzero(mask).tolist():
            rows[row][name] = exact(column[row]) if name == "final_obs" else listed(column[row])
    return rows


def rows_of(envs: Any, returned: Any) -> list[Any]:
    """Return what `reset` or `step` of a vector env returned, as rows in the form of `SingleEnvs`."""
    observations, *outcomes, infos = returned
    count = envs.num_envs
    assert envs.observation_space.contains(observations)
    kinds = [(np.float64, (count,)), (bool, (count,)), (bool, (count,))]
    assert [(array.dtype, array.shape) for array in outcomes] in ([], kinds)
    columns = map(exact, iterate(envs.observation_space, observations)), *(array.tolist() for array in outcomes)
    return [list(row) for row in zip(*columns, infos_by_row(infos, count), strict=True)]


def assert_equal(rows: list[Any], expected: list[Any], where: str) -> None:
    """Fail unless rows are equal, NaN being equal to NaN, and 1 to neither 1.0 nor True."""
    for row, (one, other) in enumerate(zip(rows, expected, strict=True)):
        assert frozen(one) == frozen(other), f"{where}, row {row}"


def random_actions(envs: Any, singles: SingleEnvs, random: np.random.Generator) -> Any:
    """Return an action for each row, impossible ones for those whose action does not count."""
    actions = random.integers(envs.single_action_space.n, size=envs.num_envs)
    unused = ~singles.uses_action()
    actions[unused] = random.choice([-1, 99, -(2**63), 3], size=unused.sum())
    return actions


def play_native(
    config: Any, mode: Any, seed: Any, steps: int, count: int, *, draws: bool = False, **keywords: Any
) -> collections.Counter[str]:
    """Play `MultiGridVectorEnv` and as many MultiGridEnvs alike, compare all that they return, and count the ends.

    Some envs are reset between steps, with a seed or without. With `draws`, numbers are drawn from the streams.
    """
    envs = MultiGridVectorEnv(config, count, autoreset_mode=mode, **keywords)
    singles = SingleEnvs([MultiGridEnv(config) for _ in range(count)], mode)
    random = np.random.default_rng(steps)
    seeds = [seed + k for k in range(count)] if isinstance(seed, int) else seed
    returned = [envs.reset(seed=seed)]
    assert_equal(rows_of(envs, returned[0]), singles.reset(seeds), "reset")
    before = [frozen(returned[0])]
    seen: collections.Counter[str] = collections.Counter()
    for t in range(steps):
        if draws and t % 9 == 4:
            for k in random.permutation(count)[: 1 + count // 2].tolist():
                ours, theirs = envs.np_random[k], singles.envs[k].np_random
                assert ours.random() == theirs.random()
                assert ours.integers(9, dtype=np.uint32) == theirs.integers(9, dtype=np.uint32)
        actions = random_actions(envs, singles, random)
        returned.append(envs.step(actions))
        before.append(frozen(returned[-1]))
        rows = rows_of(envs, returned[-1])
        assert_equal(rows, singles.step(list(iterate(envs.action_space, actions))), f"step {t}")
        for *_, terminated, truncated, info in rows:
            last = info.get("final_info", info)
            what = {"truncated": truncated and last["alive"], "dead": not last["alive"] and not truncated}
            what |= {"dead at the end": not last["alive"] and truncated, "metrics": METRICS.issubset(last)}
            seen.update(what, terminated=terminated)
        chosen = random.random(count) < (0.3 if t % 11 == 5 else 0)
        if singles.mode is AutoresetMode.DISABLED:
            chosen |= singles.over()
        if chosen.any():
            again = [None if random.integers(2) else int(random.integers(2**40)) for _ in range(count)]
            rows = rows_of(envs, envs.reset(seed=again, options={"reset_mask": chosen.repeat(singles.num_agents)}))
            assert_equal(rows, singles.reset(again, np.flatnonzero(chosen).tolist()), f"reset {t}")
        if t % 5 == 0:
            same(envs.state(), np.stack([env.state() for env in singles.envs]))
            figures = [env.metrics() for env in singles.envs]
            same(envs.metrics(), {name: np.array([one[name] for one in figures]) for name in figures[0]})
    assert not envs.copy or frozen(returned) == before, "what was returned has changed"
    seen["ends"] = singles.num_ends
    envs.close()
    return seen
