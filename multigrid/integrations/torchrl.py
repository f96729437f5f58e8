"""A batched TorchRL environment: many worlds as one `EnvBase`, on the native vector env.

With E worlds of N agents, one group "agents", observations of D numbers, A actions and a state of S numbers, the data
of an environment is a TensorDict of batch size (E,), whose names are those of TorchRL's ``PettingZooWrapper``:

- ``("agents", "observation")`` float32 (E, N, D) and ``("agents", "action_mask")`` bool (E, N, A): the form of
  `multigrid.wrappers.StandardVector`;
- ``("agents", "action")`` int64 (E, N) and ``("agents", "reward")`` float32 (E, N, 1);
- ``("agents", "done")``, ``"terminated"``, ``"truncated"`` bool (E, N, 1), of each agent; the same at the root,
  (E, 1), of the whole world, which terminates when every agent has terminated, and is reset only when it is done;
- ``"state"`` float32 (E, S), for centralised training;
- ``("agents", "mask")`` bool (E, N): False for agents that have left;
- ``("metrics", "csr")``, ``"isr"``, ``"sum_of_costs"``, ``"makespan"``, ``"throughput"`` float32 (E, 1): the metrics
  of `multigrid.core.metrics` in the last step of an episode, else NaN; those of a game follow.

Under ``on_target="leave"``, an agent that has left stays terminated until its world is reset. Its observation is zeros,
its reward 0, and its action mask has one action, the last, which is ignored: a masked distribution has log-probability
0, entropy 0 and no gradient, so a policy learns nothing from it, even if a library ignores ``"mask"``. With
``reward="shared"`` all agents end with their world, and each gets the mean reward of all N, because a critic that sees
only the state needs one return for all. A ParallelEnv divides the sum by the number of agents that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_seed, shorten
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.extras import missing_library
from multigrid.integrations.training import list_metrics
from multigrid.wrappers._standard_form import StandardVector, standard_config

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Bounded, Categorical, Composite, Unbounded
    from torchrl.envs import EnvBase
    from torchrl.envs.utils import MarlGroupMapType, check_marl_grouping
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "torchrl") from error

__all__ = ["MultiGridTorchRLEnv"]

_Arrays: TypeAlias = dict[str, Any]


class MultiGridTorchRLEnv(EnvBase):  # type: ignore[misc] # mypy has no types of TorchRL
    """A TorchRL environment of batch size (num_worlds,); the module's docstring describes its data.

    After ``set_seed(s)``, world i plays bit for bit the episodes of a `multigrid.MultiGridEnv` of the same config after
    ``reset(seed=s + i)`` and further resets without a seed. ``reset`` takes ``options={"agents": ..., "targets": ...,
    "map": ...}`` as `multigrid.MultiGridVectorEnv.reset` does.

    Args:
        config: the world; observations are those of `multigrid.wrappers.standard_config`.
        num_worlds: the number of worlds.
        group_map: a `MarlGroupMapType` or {group: names of agents}; by default one group "agents" of all.
        seed: as for `set_seed`; None is a random one.
        device: of the returned tensors; the worlds themselves are on the CPU.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range.

    >>> env = MultiGridTorchRLEnv(GridConfig(size=(5, 3), num_agents=2), num_worlds=16, seed=0)
    >>> data = env.rollout(10, break_when_any_done=False)
    >>> data.shape, data["agents", "observation"].shape, data["state"].shape
    (torch.Size([16, 10]), torch.Size([16, 10, 2, 6]), torch.Size([16, 10, 8]))
    """

    def __init__(
        self,
        config: GridConfig | None = None,
        num_worlds: int = 1,
        *,
        group_map: MarlGroupMapType | Mapping[str, Sequence[str]] | None = None,
        seed: int | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        config = standard_config(GridConfig() if config is None else config)
        worlds = MultiGridVectorEnv(config, num_worlds, autoreset_mode="Disabled")
        super().__init__(device=device, batch_size=[worlds.num_worlds])
        self.config, self.num_worlds = config, worlds.num_worlds
        self.group_map = _check_groups(group_map, config.agents)
        self._envs = StandardVector(worlds)
        self._shape = worlds.num_worlds, config.num_agents
        self._metrics = list_metrics(config)
        self._indices = {group: _find_indices(names, config.agents) for group, names in self.group_map.items()}
        self._alive = np.ones(self._shape, dtype=bool)
        self._agents_leave = config.agents_can_leave
        self._seeds: list[int | None] | None = None
        self._picture: MultiGridEnv | None = None
        self._make_specs()
        if seed is not None:
            self.set_seed(seed)

    def _make_specs(self) -> None:
        """Set the specs of actions, observations, rewards and ends."""
        worlds = self.num_worlds
        space: Any = self._envs.single_observation_space
        space = space["observation"]
        num_actions = self.config.num_actions

        def bounded(low: NDArray[Any], high: NDArray[Any], *shape: int) -> Bounded | Unbounded:
            if not np.isfinite([low, high]).all():  # in games
                return Unbounded(shape, dtype=torch.float32)
            bounds = (torch.from_numpy(bound).expand(shape) for bound in (low, high))
            return Bounded(*bounds, shape=shape, dtype=torch.float32)

        def flags(*shape: int) -> Categorical:
            return Categorical(2, shape=shape, dtype=torch.bool)

        def ends(*shape: int) -> dict[str, Categorical]:
            return {name: flags(*shape) for name in ("done", "terminated", "truncated")}

        state, metrics = self._envs.single_state_space, {name: Unbounded((worlds, 1)) for name in self._metrics}
        seen = {"state": bounded(state.low, state.high, worlds, *state.shape)}
        seen["metrics"] = Composite(metrics, shape=(worlds,))
        actions, rewards, dones = {}, {}, ends(worlds, 1)
        for group, names in self.group_map.items():
            shape = worlds, len(names)
            observed = {"observation": bounded(space.low, space.high, *shape, *space.shape), "mask": flags(*shape)}
            seen[group] = Composite(observed, action_mask=flags(*shape, num_actions), shape=shape)
            actions[group] = Composite(action=Categorical(num_actions, shape=shape, dtype=torch.int64), shape=shape)
            rewards[group] = Composite(reward=Unbounded((*shape, 1)), shape=shape)
            dones[group] = Composite(ends(*shape, 1), shape=shape)
        self.observation_spec, self.action_spec, self.reward_spec, self.done_spec = (
            Composite(specs, shape=(worlds,), device=self.device) for specs in (seen, actions, rewards, dones)
        )

    def _set_seed(self, seed: int | None) -> None:
        """Seed the next reset: world i with ``seed + i``."""
        self._seeds = None if seed is None else [check_seed(seed) + world for world in range(self.num_worlds)]

    def _reset(
        self, tensordict: TensorDictBase | None = None, options: dict[str, Any] | None = None, **_: Any
    ) -> TensorDict:
        """Begin an episode in every world, or in those of ``"_reset"``, bool (num_worlds, 1)."""
        which = None if tensordict is None else tensordict.get("_reset", None)
        options, worlds = dict(options or {}), np.ones(self.num_worlds, dtype=bool)
        if which is not None:
            worlds = which.cpu().numpy().reshape(self.num_worlds)
            options["reset_mask"] = np.repeat(worlds, self.config.num_agents)
        observations, _infos = self._envs.reset(seed=self._seeds, options=options)
        if self._seeds is not None:
            left = [None if world else seed for seed, world in zip(self._seeds, worlds.tolist(), strict=True)]
            self._seeds = None if worlds.all() else left
        return self._collect(observations, {}, {})

    def _step(self, tensordict: TensorDictBase) -> TensorDict:
        """Play one step of every world."""
        if "_step" in tensordict:
            raise ValueError(
                "the data has '_step', a mask of worlds to step; expected none, for all worlds are stepped together: "
                "call rollout with break_when_any_done=False and without break_when_all_done"
            )
        actions = np.empty(self._shape, dtype=np.int64)
        for group, index in self._indices.items():
            actions[:, index] = tensordict.get((group, "action")).cpu().numpy()
        observations, rewards, terminated, truncated, infos = self._envs.step(actions.ravel())
        present, is_shared = self._alive, self.config.reward == "shared"
        rewards = self._envs.team_rewards(rewards) if is_shared else rewards.reshape(self._shape)
        terminated, truncated = terminated.reshape(self._shape) | ~present, truncated.reshape(self._shape) & present
        over = (terminated | truncated).all(axis=1, keepdims=True)
        by_world = {"done": over, "terminated": terminated.all(axis=1, keepdims=True)}
        by_world["truncated"] = truncated.any(axis=1, keepdims=True)
        if is_shared and self._agents_leave:
            terminated, truncated = (np.tile(by_world[name], self._shape[1]) for name in ("terminated", "truncated"))
        by_agent = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
        by_agent = {name: array[..., None] for name, array in by_agent.items()}
        by_agent["reward"] = rewards[..., None].astype(np.float32)
        if not over.any():
            return self._collect(observations, by_agent, by_world)
        rows = infos["_csr"].reshape(self._shape)[:, 0]
        ended = {name: np.where(rows, infos[name].reshape(self._shape)[:, 0], np.nan) for name in self._metrics}
        metrics = {name: torch.from_numpy(array.astype(np.float32)[:, None]) for name, array in ended.items()}
        return self._collect(observations, by_agent, by_world, metrics)

    def _collect(
        self, observations: _Arrays, by_agent: _Arrays, by_world: _Arrays, metrics: _Arrays | None = None
    ) -> TensorDict:
        """Return a TensorDict of the observations and of arrays by agent, (E, N, ...), and by world, (E, ...)."""
        mask = observations["action_mask"].reshape(*self._shape, -1).astype(bool)
        if self._agents_leave:
            self._alive = self._envs.alive().astype(bool)
        seen = observations["observation"].reshape(*self._shape, -1)
        arrays = {"observation": seen, "action_mask": mask, "mask": self._alive, **by_agent}
        data: dict[str, Any] = {name: torch.from_numpy(array) for name, array in by_world.items()}
        for group, index in self._indices.items():
            # A view, or a copy if the agents of the group are not adjacent.
            own = {name: torch.from_numpy(array[:, index]) for name, array in arrays.items()}
            own["mask"] = own["mask"].clone()
            # With its own device, the part is not copied to the device of the whole.
            data[group] = TensorDict(own, (self.num_worlds, len(self.group_map[group])), device=self.device)
        data["state"] = torch.from_numpy(self._envs.state())
        if metrics is None:
            undefined = torch.full((len(self._metrics), self.num_worlds, 1), torch.nan, dtype=torch.float32)
            metrics = dict(zip(self._metrics, undefined, strict=True))
        data["metrics"] = TensorDict(metrics, self.batch_size, device=self.device)
        return TensorDict(data, self.batch_size, device=self.device)

    def render(self, world: int = 0) -> NDArray[np.uint8]:
        """Return the frame of a world, uint8 (height, width, 3); raise the errors of the vector env's `get_state`."""
        state = self._envs.get_state([world], single=True)[0]
        if self._picture is None:
            self._picture = MultiGridEnv(self.config, render_mode="rgb_array")
            self._picture.reset()
        self._picture.set_state(state)
        return np.asarray(self._picture.render())

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the worlds."""
        super().close(raise_if_closed=raise_if_closed)
        self._envs.close()


def _check_groups(group_map: Any, agents: Sequence[str]) -> dict[str, list[str]]:
    if group_map is None:
        group_map = MarlGroupMapType.ALL_IN_ONE_GROUP
    if isinstance(group_map, MarlGroupMapType):
        return dict(group_map.get_group_map(list(agents)))
    if not isinstance(group_map, Mapping):
        came = f"group_map is {shorten(group_map)}, of type {type(group_map).__name__}"
        raise TypeError(f"{came}; expected a MarlGroupMapType, or {{group: names of agents}}")
    groups = {group: list(names) for group, names in group_map.items()}
    named = [name for names in groups.values() for name in names]
    if sorted(named) != sorted(agents) or not all(groups.values()):
        raise ValueError(f"group_map is {shorten(groups)}; expected each of {list(agents)} in one group, none empty")
    check_marl_grouping(groups, list(agents))
    return groups


def _find_indices(names: Sequence[str], agents: Sequence[str]) -> slice | list[int]:
    """Return the indices of some agents, as a slice where they are adjacent and in order."""
    indices = [agents.index(name) for name in names]
    first, end = indices[0], indices[-1] + 1
    return slice(first, end) if indices == list(range(first, end)) else indices
