"""``python -m benchmarks.overcooked_v2``: play JaxMARL's OvercookedV2 and this package, step by step, and compare.

It needs jaxmarl 0.2.0 in the same environment. Each episode is on a random layout with random options, from a random
beginning of JaxMARL's, which is set here, as is each new recipe. Compared are players, things, timers, rewards and
observations.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from multigrid import games
from multigrid.cli._options import parse
from multigrid.games.overcooked import V2_LAYOUTS

_STEPS = 200
_CHOICES: dict[str, tuple[Any, ...]] = {
    "agent_view_size": (None, 1, 2),
    **dict.fromkeys(("start_cooking_interaction", "negative_rewards"), (False, True)),
    **dict.fromkeys(("sample_recipe_on_delivery", "indicate_successful_delivery"), (False, True)),
}


@dataclasses.dataclass(frozen=True)
class SecondOptions:
    """Play OvercookedV2 of JaxMARL and this package step by step; the exit code is 1 at the first difference."""

    episodes: int = 20
    """How many episodes of 200 steps are played; each is compiled by JAX, in some seconds."""
    seed: int = 0
    """The seed of layouts, options and actions."""


def main(arguments: Sequence[str]) -> int:
    """Parse the flags, play, print what was played, and return the exit code."""
    options = parse(SecondOptions, arguments, "python -m benchmarks.overcooked_v2")
    random, begin = np.random.default_rng(options.seed), time.perf_counter()
    for episode in range(options.episodes):
        chosen = {name: values[random.integers(len(values))] for name, values in _CHOICES.items()}
        chosen["layout"] = [*V2_LAYOUTS][random.integers(len(V2_LAYOUTS))]
        if problem := _play(chosen, random):
            sys.stderr.write(f"benchmarks: episode {episode}, {chosen}: {problem}\n")
            return 1
    steps, seconds = options.episodes * _STEPS, time.perf_counter() - begin
    sys.stdout.write(f"{options.episodes} episodes, {steps} steps, no difference, {seconds:.0f} s\n")
    return 0


def _play(options: dict[str, Any], random: np.random.Generator) -> str:
    """Play an episode in both; return the first difference, or ""."""
    import jax  # type: ignore[import-not-found]
    import jaxmarl  # type: ignore[import-not-found]

    original = jaxmarl.make("overcooked_v2", **options, random_reset=True, max_steps=_STEPS)
    env: Any = games.parallel_env(f"OvercookedV2-{options['layout']}-v0", **options, max_cycles=_STEPS)
    env.reset(seed=0)
    key, play = jax.random.PRNGKey(int(random.integers(2**31))), jax.jit(original.step_env)
    _, state = original.reset(key)
    _set_state(env, state)
    weights = random.dirichlet([1, 1, 1, 1, 0.3, 4])
    for step in range(1, _STEPS + 1):
        actions = dict(zip(env.agents, random.choice(6, len(env.agents), p=weights).tolist(), strict=True))
        key, _ = jax.random.split(key)
        before = int(state.recipe)
        seen, state, paid, _, told = play(key, state, actions)
        observations, rewards, _, _, infos = env.step(actions)
        shaped = {name: float(told["shaped_reward"][name]) for name in actions}
        found: list[Any] = [
            ("state", _read_original(state), _read_ours(env)),
            ("rewards", {name: float(paid[name]) for name in actions}, rewards),
            ("shaped", shaped, {name: info["shaped"] for name, info in infos.items()}),
        ]
        if int(state.recipe) == before and int(env.get_state()["recipe"]) == before:
            found += [("observations", np.array(seen[name]), observations[name]) for name in actions]
        for name, theirs, mine in found:
            if not (np.array_equal(theirs, mine) if isinstance(theirs, np.ndarray) else theirs == mine):
                return f"step {step}, {actions}, {name}:\noriginal {theirs}\nhere     {mine}"
        env.set_state({**env.get_state(), "recipe": np.int64(state.recipe)})
    return ""


def _read_original(state: Any) -> dict[str, Any]:
    """Return the arrays of a state that both have, as lists."""
    grid, agents = np.array(state.grid).transpose(1, 0, 2), state.agents
    cells = np.stack([np.array(agents.pos.x).ravel(), np.array(agents.pos.y).ravel()], axis=1)
    players = {"direction": np.array(agents.dir).ravel(), "held": np.array(agents.inventory).ravel()}
    found = {"location": cells, **players, "thing": grid[..., 1], "timer": grid[..., 2]}
    return {name: array.astype(int).tolist() for name, array in found.items()}


def _read_ours(env: Any) -> dict[str, Any]:
    state = env.get_state()
    return {name: state[name].tolist() for name in ("location", "direction", "held", "thing", "timer")}


def _set_state(env: Any, state: Any) -> None:
    own = env.get_state()
    given = {name: np.array(array, own[name].dtype) for name, array in _read_original(state).items()}
    env.set_state({**own, **given, "recipe": np.int64(state.recipe)})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
