"""Self-play against cross-play: agents that were trained with themselves, and then play with one another's.

Install: ``pip install "multigrid-marl" torch tyro``. Run: ``python -m examples.cross_play``, and for a second arm
``python -m examples.cross_play --random-starts``. A training takes 45 to 75 seconds of one core; two terminals can
have a game each. A run that was stopped goes on with the seeds that are missing.

Each seed trains one policy for both agents with the PPO of `examples.ppo`. Shaped rewards fade out over the training.
The policies become a pool, which `multigrid.policies.read_pool` reads, and play with one another from the usual starts.
``examples/pools/foraging`` is from ``python -m examples.cross_play Foraging-8x8-2p-2f-coop-v3 --steps 1000000``.

With ``--partner onion`` and the like, the policies learn to play with a cook of `examples.overcooked_partners`: the
best responses to it.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro
from gymnasium.vector import VectorWrapper
from torch import nn

import multigrid
from examples import ppo
from examples.overcooked_partners import Cook
from multigrid import GridConfig, games, policies, vector_env
from multigrid._files import replace_file

_SCALE = 0.2
"""What observations are multiplied by, so that most are from -1 to 1."""
_STEPS, _ENTROPY = 2_000_000, 0.01
_HARD = {"Overcooked-counter_circuit_o_1order-v0": (3_000_000, 0.05)}
"""Steps and entropy bonus in games whose shaped rewards random agents hardly ever get: with a small bonus, the policy
stops exploring before it gets any."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Train policies with themselves, and let them play with one another."""

    games: tyro.conf.Positional[tuple[str, ...]] = (
        "Overcooked-coordination_ring-v0",
        "Overcooked-counter_circuit_o_1order-v0",
    )
    """The games."""
    seeds: int = 5
    """The number of policies of each game."""
    steps: int | None = None
    """Rows to train on for each, steps of both agents together; by default 2 million, in the circuit 3 million."""
    random_starts: bool = False
    """Train from random cells; for Overcooked alone."""
    partner: Literal["onion", "plate", "independent"] | None = None
    """Train with this cook; for Overcooked alone."""
    spare: float = 0.0
    """The probability with which the cook puts something on a counter."""
    episodes: int = 100
    """Episodes of each pair of policies, from each seat."""
    folder: Path = Path("results/cross_play")
    """Where the policies and the results are written."""


class Prepared(VectorWrapper):
    """A vector env whose shaped rewards fade out over a training, with scaled observations."""

    def __init__(self, env: Any, num_steps: int) -> None:
        super().__init__(env)
        self._step, self._num_steps = 0, num_steps
        self._worlds: Any = env.unwrapped
        self._is_shaped = "shaping" in (env.config.options or {})

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Reset all worlds."""
        observations, infos = self.env.reset(**arguments)
        return self._scale(observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Play one step of every world."""
        if self._is_shaped and self._step % 100 == 0:  # it takes a millisecond
            self._worlds.shaping = max(0.0, 1 - self._step / self._num_steps)
        self._step += 1
        observations, *results = self.env.step(actions)
        return self._scale(observations), *results

    def _scale(self, observations: Any) -> Any:
        return observations.astype(np.float32) * np.float32(_SCALE)


def make_config(game: str, **options: Any) -> GridConfig:
    """Return the world of a game; in Overcooked, a pot cooks by itself once it is full, and players see features."""
    if game.startswith("Overcooked-"):
        options = {"dynamics": "old", "observe": "features", **options}
    return games.config(game, **options)


def train(options: Options, game: str, steps: int, seed: int) -> nn.ModuleDict:
    """Train a policy with itself, or with a cook, and return its networks."""
    config = make_config(game, **{"random_positions": True} if options.random_starts else {})
    _, entropy = _HARD.get(game, (_STEPS, _ENTROPY))
    setup = ppo.Options(config, steps=steps, seed=seed, worlds=64, rollout=100, gamma=0.99, entropy=entropy)
    torch.manual_seed(seed)
    worlds = vector_env(setup.worlds, config)
    envs: Any = worlds
    if options.partner is not None:
        envs = policies.Partners(worlds, {"agent_1": Cook(options.partner, options.spare, seed)})
    net = ppo.make_net(worlds, setup.hidden)
    ppo.train(net, Prepared(envs, steps // envs.num_envs), setup)  # type: ignore[arg-type]
    worlds.close()
    return net


def list_layers(weights: dict[str, torch.Tensor]) -> list[tuple[Any, Any]]:
    """Return the actor's layers, as pools have them; the first one also scales the observations."""
    names = sorted(name for name in weights if name.startswith("actor.") and name.endswith("weight"))
    pairs = [(weights[name].T.numpy(), weights[name.replace("weight", "bias")].numpy()) for name in names]
    return [(pairs[0][0] * _SCALE, pairs[0][1]), *pairs[1:]]


def play(options: Options, game: str, folder: Path) -> dict[str, Any]:
    """Make a pool of the policies, let them play, and return the results."""
    config = make_config(game)
    weights = {f"seed {k}": torch.load(folder / f"{k}.pt", weights_only=True) for k in range(options.seeds)}
    layers = {name: list_layers(one) for name, one in weights.items()}
    policies.write_pool(folder, layers, config, licence="MIT")
    pool, seeds = policies.read_pool(folder), range(options.episodes)
    metric = "score" if game.startswith("Overcooked-") else None
    if options.partner is not None:
        cook: dict[str, Any] = {options.partner: Cook(options.partner, options.spare)}
        result = multigrid.cross_play(config, pool, seeds, cook, seats=["agent_0"], metric=metric)
        best = max(range(len(pool)), key=lambda k: result.returns.mean[k, 0])
        totals = {"best": result.returns[best, 0]}
    else:
        result = multigrid.cross_play(config, pool, seeds, metric=metric)
        totals = {"self-play": result.self_play, "cross-play": result.cross_play, "gap": result.gap}
    result.draw(folder / "matrix.svg")
    print(f"{folder.name}\n{result}\n", flush=True)
    return {"returns": result.returns.mean.tolist(), **{name: list(one) for name, one in totals.items()}}


def main(options: Options) -> None:
    """Train what is missing, play, and write the results."""
    torch.set_num_threads(1)  # the networks are small: more threads wait for one another
    for game in options.games:
        arm = f"-{options.partner}-{options.spare:g}" if options.partner else ""
        steps = options.steps or _HARD.get(game, (_STEPS, _ENTROPY))[0]
        folder = options.folder / f"{game}{arm}{'-random' * options.random_starts}-{steps}"
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(options.seeds):
            path = folder / f"{seed}.pt"
            if not path.exists():
                net = train(options, game, steps, seed)
                with replace_file(path) as temporary:
                    torch.save(net.state_dict(), temporary)
                print(f"{folder.name}: trained seed {seed}", flush=True)
        (folder / "results.json").write_text(json.dumps(play(options, game, folder), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(tyro.cli(Options))
