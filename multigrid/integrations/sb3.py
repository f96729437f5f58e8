"""The native vector env as a Stable-Baselines3 VecEnv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from multigrid._checks import check_seed, shorten
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.integrations.extras import missing_library
from multigrid.integrations.training import map_parts, sample_rows
from multigrid.maps._layouts import holds_lists
from multigrid.parts import MASK

try:
    import torch
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise missing_library(__name__, error, "train") from error

__all__ = ["MultiGridVecEnv", "to_sb3"]


def to_sb3(vector_env: MultiGridVectorEnv | VectorWrapper) -> MultiGridVecEnv:
    """Return a Stable-Baselines3 VecEnv over a vector env, with the same rows: row = world * num_agents + agent.

    Args:
        vector_env: a vector env in SAME_STEP mode, because Stable-Baselines3 expects a reset within the step that ends
            an episode. It may be wrapped in `multigrid.wrappers.VectorReward`, in `multigrid.policies.Partners`, in
            Gymnasium's ``TransformReward``, or in any ``gymnasium.vector.VectorWrapper`` that keeps the spaces and the
            infos. Use it only through the VecEnv from then on.

    Raises:
        TypeError: `vector_env` is not a `MultiGridVectorEnv`, wrapped or not.
        ValueError: `vector_env` is not in SAME_STEP mode, or a wrapper changes a space.

    >>> import multigrid
    >>> vec_env = to_sb3(multigrid.vector_env(2, autoreset_mode="SameStep", num_agents=3))
    >>> vec_env.seed(7)
    [7, 7, 7, 8, 8, 8]
    >>> vec_env.reset()["agent"].shape
    (6, 2)
    """
    return MultiGridVecEnv(vector_env)


class MultiGridVecEnv(VecEnv):
    """A Stable-Baselines3 VecEnv over a `MultiGridVectorEnv`, wrapped or not; `to_sb3` returns it.

    The info of a row describes its last step: ``distance``, ``outcome`` and ``arrived``, or without targets ``outcome``
    alone; ``alive`` where agents can leave; and the infos of a game. When the row's episode ends, the info also has
    ``terminal_observation`` and ``TimeLimit.truncated``; when the world's episode ends, the metrics of
    `multigrid.core.metrics`. `reset_infos` has the infos of the last resets.

    Under ``on_target="leave"`` the episode of a row ends when its agent arrives. Until the world ends, the row then
    plays an empty episode: observations of zeros, rewards of 0, ignored actions, ``alive`` False in the infos. The end
    of the world truncates it, so learners bootstrap from the value of zeros, which they learn to be 0, unless
    `multigrid.integrations.sb3_buffers` leaves these rows out. `VecMonitor` also counts empty episodes.

    If ``"action_mask"`` is among the observed parts, sb3-contrib's MaskablePPO uses `action_masks`. Observations are
    then a Dict even under ``flatten``, and need a ``MultiInputPolicy``.

    Raises:
        AttributeError, IndexError: an attribute or a row in a call for single rows, such as `get_attr`, does not exist.
        TypeError, ValueError: a seed, options, or indices of rows do not fit.
    """

    def __init__(self, vector_env: MultiGridVectorEnv | VectorWrapper) -> None:
        worlds = _unwrap(vector_env)
        self.vector_env: Any = vector_env
        self._worlds: MultiGridVectorEnv = worlds
        # With partners, those of the learner.
        self._num_agents = vector_env.num_envs // worlds.num_worlds
        self._leaves = worlds.config.agents_can_leave
        # Agents that cannot leave are always alive, so their infos omit it.
        names = ("distance", "outcome", "arrived", "alive")[: 3 + self._leaves]
        self._names = (*names, *worlds._worlds.own_infos)  # noqa: SLF001 - the same package
        self._fixed = frozenset([*vars(worlds), "config"])
        self._actions: Any = None
        # Of messages, both values of each bit are always allowed.
        num_choices = worlds.config.num_actions + 2 * worlds.config.message_bits
        self._masks: NDArray[np.bool_] = np.ones((vector_env.num_envs, num_choices), dtype=bool)
        super().__init__(vector_env.num_envs, worlds.single_observation_space, worlds.single_action_space)
        self.metadata = worlds.metadata

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed world i with seed + i, or with a random seed, at the next reset; return the seed of each row's world."""
        super().seed(None if seed is None else check_seed(seed))
        self._seeds = [self._seeds[row // self._num_agents] for row in range(self.num_envs)]
        return self._seeds

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set the options of the next reset; an error leaves them unchanged.

        Args:
            options: a dict with options of `MultiGridVectorEnv.reset` for all worlds together, but no ``"reset_mask"``;
                or a list of dicts for the rows, equal over a world's rows, with ``"agents"`` and ``"targets"`` (N, 2),
                or lists of targets, and ``"map"``.
        """
        together: Any = self._stack_options(options) if isinstance(options, list) else options
        together = {} if together is None else together
        if not isinstance(together, dict):
            raise TypeError(f"options are of type {type(options).__name__}; expected a dict, a list of dicts, or None")
        if "reset_mask" in together:
            raise ValueError("options have 'reset_mask', but reset() of a Stable-Baselines3 VecEnv resets every world")
        super().set_options(together)

    def _stack_options(self, options: list[dict[str, Any]]) -> dict[str, Any]:
        if len(options) != self.num_envs:
            raise ValueError(f"there are {len(options)} options; expected {self.num_envs}, those of each row")
        by_world = options[:: self._num_agents]
        for row, one in enumerate(options):
            world = row // self._num_agents
            first = by_world[world]
            if set(one) != set(first) or not all(_are_equal(one[key], first[key]) for key in one):
                raise ValueError(
                    f"the options of row {row} differ from those of the other agents of world {world}; a world resets "
                    "as a whole"
                )
            if set(one) != set(by_world[0]):
                raise ValueError(f"row {row} has the options {sorted(one)}, row 0 {sorted(by_world[0])}; set the same")
        return {key: [one[key] for one in by_world] for key in by_world[0]}

    def reset(self) -> Any:
        """Reset every world, and return the observations; the infos are in `reset_infos`."""
        seeds = None if self._seeds[0] is None else self._seeds[:: self._num_agents]
        observations, vector_infos = self.vector_env.reset(seed=seeds, options=self._options[0])
        self.reset_infos = self._list_infos(vector_infos)
        self._reset_seeds()
        self._reset_options()
        self._keep_masks(observations)
        return self._own(observations)

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Store the actions of the next step, one for each row."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the step, and reset the worlds that it ends."""
        observations, rewards, terminated, truncated, vector_infos = self.vector_env.step(self._actions)
        observations = self._own(observations)
        dones = terminated | truncated
        infos = self._list_infos(vector_infos)
        if dones.any():
            if "final_info" in vector_infos:
                self._report_ends(vector_infos, infos)
            if self._leaves:
                self._report_departures(observations, dones, vector_infos, infos)
            rows = np.flatnonzero(dones)
            for row, limited in zip(rows.tolist(), (truncated & ~terminated)[rows].tolist(), strict=True):
                infos[row]["TimeLimit.truncated"] = limited
        self._keep_masks(observations)
        return observations, rewards.astype(np.float32), dones, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions lead neither out of the grid nor into a wall, as bool (num_envs, number of actions).

        The masks are those of the last observations, also under ``flatten``. All actions are True before the first
        reset, and for agents that have left, whose actions are ignored. Without the part ``"action_mask"`` an
        AttributeError is raised.

        >>> import multigrid
        >>> envs = multigrid.vector_env(2, autoreset_mode="SameStep", observe=("agent", "target", "action_mask"))
        >>> vec_env = to_sb3(envs)
        >>> bool((vec_env.reset()["action_mask"] == vec_env.action_masks()).all())
        True
        """
        self._check_masked()
        return np.array(self._masks)

    def _check_masked(self) -> None:
        parts = self._worlds.config.parts
        if MASK not in parts:
            # sb3-contrib recognises an env without masks only by an AttributeError.
            advice = "name the part 'action_mask' in observe=(...)"
            raise AttributeError(f"there are no action masks, for only {', '.join(parts)} are observed; {advice}")

    def _keep_masks(self, observations: Any) -> None:
        if MASK not in self._worlds.config.parts:
            return
        masks = (observations[MASK] if isinstance(observations, dict) else observations) == 1
        masks[~masks.any(axis=1)] = True
        self._masks[:, : masks.shape[1]] = masks

    def _own(self, observations: Any) -> Any:
        """Return observations that later calls do not change."""
        return observations if self._worlds.copy else map_parts(np.copy, observations)

    def _list_infos(self, vector_infos: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the infos as a dict for each row."""
        if not isinstance(vector_infos, Mapping):
            expected = "expected the dict of arrays of multigrid.vector_env(...); leave out the wrapper that changes it"
            came = f"the wrapped vector env returns infos of type {type(vector_infos).__name__}"
            raise TypeError(f"{came}; {expected}")
        names = [name for name in self._names if name in vector_infos]
        columns = [vector_infos[name].tolist() for name in names]
        # Dict displays are faster than dict(), and this runs for every row of every step.
        rows = zip(*columns, strict=True)
        if names == ["distance", "outcome", "arrived"]:
            return [{"distance": a, "outcome": b, "arrived": c} for a, b, c in rows]
        if names == ["distance", "outcome", "arrived", "alive"]:
            return [{"distance": a, "outcome": b, "arrived": c, "alive": d} for a, b, c, d in rows]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _report_ends(self, vector_infos: Mapping[str, Any], infos: list[dict[str, Any]]) -> None:
        """Replace the infos of worlds that have ended by those of the last step, and store those of the reset."""
        rows = np.flatnonzero(vector_infos["_final_info"])
        finals = {
            name: array[rows].tolist()
            for name, array in vector_infos["final_info"].items()
            if not name.startswith("_") and (name != "alive" or self._leaves)
        }
        for row, *values in zip(rows.tolist(), *finals.values(), strict=True):
            self.reset_infos[row] = infos[row]
            infos[row] = dict(zip(finals, values, strict=True))
            infos[row]["terminal_observation"] = vector_infos["final_obs"][row]

    def _report_departures(
        self, observations: Any, dones: NDArray[np.bool_], vector_infos: Mapping[str, Any], infos: list[dict[str, Any]]
    ) -> None:
        """Store the last observation of agents that leave before their world ends, and set their rows to zeros."""
        departing = dones & ~vector_infos["_final_info"] if "_final_info" in vector_infos else dones
        for row in np.flatnonzero(departing).tolist():
            infos[row]["terminal_observation"] = map_parts(partial(np.take, indices=row, axis=0), observations)
        for array in observations.values() if isinstance(observations, dict) else [observations]:
            array[departing] = 0

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the vector env for each selected row; generators and seeds are those of its world.

        The outermost wrapper that has the attribute comes first, here and in `set_attr`.
        """
        if attr_name == "action_masks":
            self._check_masked()
            return [self.action_masks for _ in self._rows(indices)]
        value = getattr(self._owner(attr_name), attr_name)
        by_world = attr_name in ("np_random", "np_random_seed")
        return [value[row // self._num_agents] if by_world else value for row in self._rows(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector env for all rows, not for some, unless it is fixed by construction."""
        name = shorten(attr_name)
        if len(set(self._rows(indices))) < self.num_envs:
            raise ValueError(f"{name} is set for rows {indices}, but all rows share one vector env; set it for all")
        if attr_name in self._fixed:
            raise AttributeError(f"{name} cannot be set once the vector env is made; make a new one")
        setattr(self._owner(attr_name), attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the unwrapped vector env, once for all worlds; return its result for each selected row.

        The result of ``render`` is the frame of the row's world, and that of ``action_masks`` the row's mask.
        """
        rows = self._rows(indices)
        if method_name == "action_masks":
            return list(self.action_masks()[rows])
        results: Any = self._worlds.call(method_name, *method_args, **method_kwargs)
        own = next((env.rows for env in self._wrappers() if hasattr(env, "rows")), range(self.num_envs))
        return [None if results is None else results[own[row]] for row in rows]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return for each selected row whether the vector env is wrapped in such a wrapper."""
        return [any(isinstance(env, wrapper_class) for env in self._wrappers())] * len(self._rows(indices))

    def _wrappers(self) -> Iterator[Any]:
        """Yield the wrappers of the vector env, the outermost first."""
        env = self.vector_env
        while isinstance(env, VectorWrapper):
            yield env
            env = env.env

    def _owner(self, name: str) -> Any:
        """Return the outermost wrapper with an attribute, or else the vector env that they wrap."""
        return next((env for env in self._wrappers() if hasattr(env, name)), self._worlds)

    def _rows(self, indices: Any) -> list[int]:
        return [range(self.num_envs)[index] for index in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a frame for each world; without a render_mode, warn and return None for each world."""
        frames = self.vector_env.render()
        return [None] * self._worlds.num_worlds if frames is None else frames[:: self._num_agents]

    def close(self) -> None:
        """Close the vector env; closing twice is fine."""
        self.vector_env.close()


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two options are equal; lists of targets may differ in length."""
    if holds_lists(one) and holds_lists(other):
        return len(one) == len(other) and all(map(np.array_equal, one, other))
    return np.array_equal(one, other)


def _unwrap(vector_env: Any) -> MultiGridVectorEnv:
    """Check the argument of `to_sb3`, and return the vector env without its wrappers."""
    worlds = vector_env.unwrapped if isinstance(vector_env, VectorEnv) else vector_env
    if not isinstance(worlds, MultiGridVectorEnv):
        expected = "expected what multigrid.vector_env(...) returns, or that in wrappers of gymnasium.vector"
        raise TypeError(f"vector_env is of type {type(worlds).__name__}; {expected}")
    if worlds.autoreset_mode is not AutoresetMode.SAME_STEP:
        raise ValueError(
            f"vector_env has autoreset_mode {worlds.autoreset_mode.value!r}, but Stable-Baselines3 expects a "
            'reset within the step that ends an episode; make it with autoreset_mode="SameStep"'
        )
    for name in ("single_observation_space", "single_action_space"):
        came, own = getattr(vector_env, name), getattr(worlds, name)
        if came != own:
            both = f"the wrapped vector_env has the {name} {came}, the unwrapped one {own}"
            raise ValueError(f"{both}; expected wrappers that keep the spaces")
    return worlds


class Actor:
    """Samples the actions of agents in one episode from a trained network, and keeps the state of each agent's memory.

    Args:
        network: the policy of a model; those of sb3-contrib's RecurrentPPO have a memory.
        num_rows: the number of agents of all worlds. An episode begins with their states at zero.
    """

    def __init__(self, network: Any, num_rows: int) -> None:
        self._network, lstm = network, getattr(network, "lstm_actor", None)
        shape = None if lstm is None else (lstm.num_layers, num_rows, lstm.hidden_size)
        self._states = () if shape is None else (torch.zeros(shape), torch.zeros(shape))

    def forget(self, rows: Any) -> None:
        """Set the states of some rows to zero."""
        for state in self._states:
            state[:, rows] = 0

    def __call__(self, observations: Any, rows: Sequence[int], generator: np.random.Generator) -> list[int]:
        """Return an action for each of K rows, whose observations are an array (K, ...), or a dict of such arrays."""
        with torch.no_grad():
            tensors, _ = self._network.obs_to_tensor(observations)
            if self._states:
                before = tuple(state[:, rows] for state in self._states)
                distribution, after = self._network.get_distribution(tensors, before, torch.zeros(len(rows)))
                for state, value in zip(self._states, after, strict=True):
                    state[:, rows] = value
            else:
                distribution = self._network.get_distribution(tensors)
            return sample_rows(distribution.distribution.probs.double().numpy(), generator)
