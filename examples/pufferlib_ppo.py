"""Train with PufferLib's PuffeRL on the native vector env: shared weights and action masks.

Install: ``pip install "multigrid-marl" torch``, and PufferLib 3.0.0, which is compiled, as the first line of
.ci/recipes/pufferlib.txt does. Run: ``python -m examples.pufferlib_ppo``.

`Worlds` is all that PufferLib needs of an environment; every ``on_target`` trains with it. An observation has the mask
of actions at its end, which the network reads. The rows of agents that have left are zeros, with reward 0, until their
world ends; PuffeRL learns from these rows, too, for it does not use masks of agents.

Found here, in 3.0.0:

- PuffeRL keeps truncations and never uses them, so advantages would continue from one episode into the next. `Worlds`
  gives them as terminations, which makes the value after a time limit 0.
- PuffeRL clips rewards to -1 .. 1, those of games, too.
- ``import pufferlib`` writes a link named "resources" into the current folder. This is not worked around.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import io
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("pufferlib", "torch", text=__doc__)

import gymnasium
import pufferlib
import pufferlib.models
import pufferlib.pytorch
import torch
from pufferlib.pufferl import PuffeRL

import multigrid
from multigrid.config import OnTarget
from multigrid.integrations.training import FIRST_TRAINING_SEED, list_metrics
from multigrid.wrappers import StandardVector, standard_config

__all__ = ["Net", "Worlds", "arrival_rate", "main", "make_trainer"]


class Worlds(pufferlib.PufferEnv):  # type: ignore[misc] # mypy has no types of PufferLib
    """Worlds as a native environment of PufferLib: a row for each agent, in the order of `multigrid.vector_env`.

    >>> worlds = Worlds(multigrid.GridConfig(size=(5, 4), num_agents=2), num_worlds=3)
    >>> observations, _ = worlds.reset(seed=0)
    >>> observations.shape, observations[0, -4:].tolist()
    ((6, 10), [0.0, 1.0, 1.0, 1.0])
    """

    def __init__(self, config: multigrid.GridConfig, num_worlds: int, buf: Any = None, **_: Any) -> None:
        self.envs = StandardVector(multigrid.vector_env(num_worlds, standard_config(config), autoreset_mode="SameStep"))
        self.single_action_space = self.envs.single_action_space
        self.single_observation_space = gymnasium.spaces.flatten_space(self.envs.single_observation_space)
        self._metrics = list_metrics(self.envs.config)
        self.num_agents = self.envs.num_envs
        super().__init__(buf)

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, list[dict[str, float]]]:
        """Begin an episode in every world."""
        self._write(self.envs.reset(seed=seed)[0])
        return self.observations, []

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        """Play a step of every world; a world that has ended begins anew, and its metrics are in the infos."""
        observations, self.rewards[:], terminated, truncated, infos = self.envs.step(actions)
        self._write(observations)
        self.terminals[:] = terminated | truncated
        final = infos.get("final_info")
        metrics = [] if final is None else [{name: final[name][final["_csr"]].mean() for name in self._metrics}]
        return self.observations, self.rewards, self.terminals, self.truncations, metrics

    def _write(self, observations: dict[str, np.ndarray]) -> None:
        self.observations[:] = np.concatenate([observations["observation"], observations["action_mask"]], axis=1)

    def close(self) -> None:
        """Close the worlds."""
        self.envs.close()


class Net(pufferlib.models.Default):  # type: ignore[misc] # mypy has no types of PufferLib
    """PufferLib's default network, which takes no action that the mask at the end of an observation excludes."""

    def forward_eval(self, observations: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits, (rows, actions), and the values, (rows, 1), of observations."""
        logits, values = super().forward_eval(observations, state)
        return logits.masked_fill(observations[:, -logits.shape[1] :] == 0, -1e9), values


def make_trainer(worlds: Worlds, seed: int, steps: int, folder: str) -> PuffeRL:
    """Return PuffeRL with a network: its default settings, but for smaller batches on the CPU."""
    defaults = configparser.ConfigParser()
    defaults.read(Path(pufferlib.__file__).parent / "config" / "default.ini")
    settings: dict[str, Any] = dict(defaults["train"])
    for name, text in defaults["train"].items():
        with contextlib.suppress(SyntaxError, ValueError):  # of words, which stay text
            settings[name] = ast.literal_eval(text)
    settings |= {
        "env": "multigrid",
        "device": "cpu",
        "use_rnn": False,
        "optimizer": "adam",
        "learning_rate": 3e-3,
        "adam_beta1": 0.9,
        "gamma": 0.95,
        "ent_coef": 0.02,
        "update_epochs": 4,
        "bptt_horizon": 32,
        "minibatch_size": 32 * worlds.num_agents // 4,
        "total_timesteps": steps,
        "seed": FIRST_TRAINING_SEED + seed,
        "data_dir": folder,
    }
    with warnings.catch_warnings():
        # Said on every machine without CUDA.
        warnings.filterwarnings("ignore", message="CUDA is not available.*Disabling autocast")
        return PuffeRL(settings, worlds, Net(worlds, hidden_size=64))


def arrival_rate(net: Net, config: multigrid.GridConfig, episodes: int) -> float:
    """Return the fraction of the episodes with seeds 0, 1, ... in which all agents arrive; actions are sampled."""

    def policy(env: multigrid.MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        rows = [np.concatenate([*observations[agent].values()], dtype=np.float32) for agent in env.agents]
        with torch.no_grad():
            logits, _ = net.forward_eval(torch.from_numpy(np.stack(rows)))
        actions, _, _ = pufferlib.pytorch.sample_logits(logits)
        return dict(zip(env.agents, actions.tolist(), strict=True))

    return multigrid.evaluate(standard_config(config), policy, range(episodes))["success"].mean


def main(*, steps: int = 100_000, seed: int = 0, on_target: OnTarget = "park", episodes: int = 200) -> dict[str, float]:
    """Train two agents on a small grid, and measure how often both arrive within 20 steps, before and after.

    Args:
        steps: number of steps of all agents together.
        seed: of the net, of the sampled actions, and of the worlds.
        on_target: "park", "leave" or "stay".
        episodes: held-out episodes, with seeds below those of training.

    Returns:
        "before" and "after": the fractions of held-out episodes in which both agents arrive.

    Raises:
        ValueError: `on_target` is another one.
    """
    if on_target not in ("park", "leave", "stay"):
        raise ValueError(
            f"on_target is {on_target!r}; expected 'park', 'leave' or 'stay', for under 'restart' nobody has arrived "
            "for good"
        )
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    config = multigrid.GridConfig(size=(5, 4), num_agents=2, on_target=on_target, max_cycles=20)
    # PuffeRL prints a table after each update, and saves its network at the end.
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        trainer = make_trainer(Worlds(config, num_worlds=32), seed, steps, folder)
        net = trainer.uncompiled_policy
        before = arrival_rate(net, config, episodes)
        while trainer.global_step < steps:
            trainer.evaluate()
            trainer.train()
        trainer.close()
        after = arrival_rate(net, config, episodes)
    print(f"both agents arrive within {config.max_cycles} steps: {before:.1%} before training, {after:.1%} after")
    return {"before": before, "after": after}


if __name__ == "__main__":
    tyro.cli(main)
