"""The pretrained policy that comes with this package: alone, with messages between agents, or with a shield."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_bool, check_int, check_path_finding, check_seed, shorten
from multigrid._files import MOST_BYTES, read_bytes, replace_file
from multigrid.config import GridConfig
from multigrid.envs.parallel import MultiGridEnv
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.planning._controllers import Batch
from multigrid.planning._graph import Places, Tables
from multigrid.planning._memory import Memory, name_actions, number_actions, read_state, read_states
from multigrid.planning._pibt import NUM_SCORES
from multigrid.policies._coordination import Listeners, coordinate
from multigrid.policies._network import NUM_WAYS, Weights, score
from multigrid.policies._past import Patience, Temperatures, Trail
from multigrid.policies._surroundings import NUM_AGENT_BITS, NUM_CELLS, NUM_GROUNDS, Surroundings

FILE = Path(__file__).with_name("pretrained.npz")
"""The file of the weights."""
TEMPERATURES = Temperatures(calm=0.2, restless=0.6, patience=8, arrived=0.3)
"""How random its actions are."""
POLICY_STREAM = 2
"""Seeds of policies include this number, so that a policy's samples are independent of a world's with the same seed."""
MESSAGES = 2
"""The rounds of messages of the policy "pretrained-messages"."""
_PROGRESS = 0.5
"""What a step nearer to the target adds to a score."""
_MOST_JOINT, _CHOICES = 64, 128
"""Few agents compare more joint actions: the second number by that of agents, at most the first."""
_MANY, _FEWEST_JOINT = 256, 2
"""More agents than the first number compare as many joint actions as the second, if they exchange messages."""
_ALONE, _WITH_MESSAGES, _WITH_SHIELD = (1, 0), (3, 8), (4, 16)
"""How many joint actions agents compare at least, and the number of steps that they simulate after each."""
_FIELDS = {*Batch.FIELDS, *Surroundings.FIELDS}


def load_weights(file: Path) -> Weights:
    """Return the weights in a file that `save_weights` has written.

    Raises:
        ValueError: it is not such a file; it has other arrays, or arrays of other shapes, such as those for another
            form of windows, or numbers that are not finite.
        OSError: the file cannot be read.
    """
    expected = "expected a file of save_weights"
    arrays = read_arrays(file, Weights._fields.__contains__, expected)
    if missing := [name for name in Weights._fields if name not in arrays]:
        raise ValueError(f"{file} lacks the arrays {', '.join(missing)}; {expected}")
    weights = Weights(**arrays)
    first, second, third = (len(bias) for bias in (weights.bias, weights.second_bias, weights.third_bias))
    inputs = (NUM_CELLS, NUM_GROUNDS, first), (NUM_CELLS, NUM_AGENT_BITS, first), (NUM_WAYS, first), (first,)
    layers = (first, second), (second,), (second, third), (third,), (third, NUM_SCORES), (NUM_SCORES,)
    for name, array, shape in zip(Weights._fields, weights, (*inputs, *layers), strict=True):
        if array.shape != shape:
            raise ValueError(f"{file} has {name} of shape {array.shape}; expected {shape}: it is of another version")
    return weights


def read_arrays(file: Path, is_wanted: Callable[[str], bool], expected: str) -> dict[str, NDArray[np.float32]]:
    """Return the arrays of finite floats of an archive whose names are wanted; nothing in it is run.

    Raises:
        ValueError: it is no archive, is too large, or has other arrays of these names.
        OSError: the file cannot be read.
    """
    content = io.BytesIO(read_bytes(file))
    try:
        with np.load(content, allow_pickle=False) as archive:
            num_bytes = sum(info.file_size for info in archive.zip.infolist())
            there = [name for name in archive if is_wanted(name) and num_bytes <= MOST_BYTES]
            arrays = {name: archive[name] for name in there}
    except Exception as error:
        # zipfile, zlib and NumPy raise a dozen kinds of errors for damaged archives.
        raise ValueError(f"{file} is not an archive of arrays ({error}); {expected}") from error
    if num_bytes > MOST_BYTES:
        raise ValueError(f"{file} has arrays of {num_bytes} bytes; expected at most {MOST_BYTES}")
    for name, array in arrays.items():
        with np.errstate(over="ignore"):
            arrays[name] = np.ascontiguousarray(array, np.float32) if array.dtype.kind == "f" else array
        if array.dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{file} has {name} of {array.dtype}, or not finite; expected finite floats")
    return arrays


def save_weights(weights: Weights, file: Path) -> None:
    """Write weights, rounded to float16, to a file of the form .npz."""
    write_arrays(weights._asdict(), file)


def write_arrays(arrays: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Write arrays, rounded to float16, to a file of the form .npz."""
    rounded: dict[str, Any] = {name: array.astype(np.float16) for name, array in arrays.items()}
    with replace_file(file) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **rounded)


_load = functools.cache(load_weights)


def pretrained(*, shield: bool = False, messages: int = 0, seed: int | np.random.Generator = 0) -> Pretrained:
    r"""Return the pretrained policy that comes with this package.

    One small network acts for each agent. It sees a window of 11 x 11 cells around the agent: walls, how much nearer
    each cell is to the agent's target, the other agents and where they want to go; see
    `multigrid.policies._surroundings`. It needs the whole map to compute path lengths. Each agent samples its own
    action: nearly always the best one, but more at random the longer it has come no nearer to its target. Use one
    policy for each environment: another environment clears its memory.

    Args:
        shield: let all agents choose together, so that without delays each move is granted: priority inheritance with
            backtracking (PIBT) makes their choices compatible (Veerapaneni et al., 2024, call it CS-PIBT). They
            compare 128 / N such joint actions of N agents (at least 4, at most 64): after each, PIBT simulates 16
            steps, and they take the one with the fewest steps in all, those simulated plus those still left to the
            targets. Where two agents have to exchange places in a corridor, one goes backwards, even if it scores other
            actions higher. The collisions must be "symmetric" or "soft", and agents able to stay if there are several;
            under "none", where agents never block one another, all take shortest paths.
        messages: the number of rounds of messages in each step; 0 for none. In the first round each agent sends its
            location, target, priority and scores for 128 / N joint actions, at least 3 (2 if N is above 256) and at
            most 64, to the agents in its window, in each further round all that it has received. Then each chooses by
            itself, as with a shield among the agents that it knows of, by eight steps of PIBT. The rules must be those
            of a shield.
        seed: an integer, which may equal the environment's seed (the streams differ), or a generator that samples the
            actions.

    Raises:
        TypeError, ValueError: an argument of the wrong type or out of range, or both a shield and messages.

    >>> from multigrid import parallel_env
    >>> env, policy = parallel_env(walls="a..A\nb..B", allow_stay=True), pretrained(shield=True)
    >>> observations, _ = env.reset()
    >>> while env.agents:
    ...     observations, *_ = env.step(policy(env, observations))
    >>> env.metrics()["csr"]
    1.0

    See the page "The pretrained policy" (docs/pretrained.md in the source).
    """
    return Pretrained(_load(FILE), shield=shield, messages=messages, seed=seed)


class Pretrained:
    """The pretrained policy: a callable that takes an environment and its last observations, which it does not use.

    Args:
        weights: the weights of the network.
        shield: as for `pretrained`.
        messages: as for `pretrained`.
        seed: as for `pretrained`.
        temperatures: how random the actions are; None for those of `pretrained`.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        shield: bool = False,
        messages: int = 0,
        seed: int | np.random.Generator = 0,
        temperatures: Temperatures | None = None,
    ) -> None:
        if not isinstance(weights, Weights):
            raise TypeError(f"weights are {shorten(weights)}; expected what load_weights returns")
        self._weights = weights
        self._shield, self._messages = check_bool("shield", shield), check_int("messages", messages, 0)
        if shield and messages:
            raise ValueError(
                f"shield is True and messages is {messages}; a shield needs no messages: expected one of them"
            )
        self._candidates, self._horizon = _WITH_SHIELD if shield else _WITH_MESSAGES if messages else _ALONE
        if not isinstance(seed, np.random.Generator):
            seed = np.random.default_rng([check_seed(seed, ", or a numpy Generator"), POLICY_STREAM])
        self._generator = seed
        self._temperatures = TEMPERATURES if temperatures is None else temperatures
        self._memory = Memory(self._begin)

    def __getstate__(self) -> dict[str, Any]:
        # The weights of the package need not be in each pickle.
        return {**vars(self), "_weights": None if self._weights is _load(FILE) else self._weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _weights=state["_weights"] or _load(FILE))

    def __call__(self, env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
        """Return an action for each agent in ``env.agents``.

        Call it before each step: the policy remembers each agent's last move, and when it last came nearer to its
        target.

        Raises:
            ValueError: a shield, or messages, do not support the environment's rules.
            ResetNeeded: the environment had no reset yet.
        """
        del observations
        return name_actions(env, self._choose(env, read_state(env, _FIELDS)).tolist())

    def act(self, vector_env: MultiGridVectorEnv, observations: Any = None) -> NDArray[np.int64]:
        """Return the actions of all agents of all worlds, int64 (num_worlds * num_agents,), which is (num_envs,).

        Call it before each step: the policy remembers each agent's last move, and when it last came nearer to its
        target.

        Args:
            vector_env: an environment after its reset.
            observations: its last ones, which are not used.

        Raises:
            TypeError: `vector_env` is not a `MultiGridVectorEnv`.
            ValueError: a shield, or messages, do not support the environment's rules.
            ResetNeeded: a world had no reset yet.

        >>> from multigrid import vector_env
        >>> envs, policy = vector_env(2, size=(6, 4), num_agents=3), pretrained()
        >>> _ = envs.reset(seed=0)
        >>> policy.act(envs).shape
        (6,)
        """
        del observations
        worlds = getattr(vector_env, "unwrapped", None)
        if not isinstance(worlds, MultiGridVectorEnv):
            raise TypeError(f"vector_env is {shorten(vector_env)}; expected what multigrid.vector_env returns")
        return number_actions(worlds, self._choose(worlds, read_states(worlds)))

    def _choose(self, env: Any, states: Mapping[str, Any]) -> NDArray[np.int64]:
        tables, together, surroundings, patience, trail = self._memory.of(env)
        places = tables.locate(states)
        windows = surroundings.observe(states, places)
        scores = score(self._weights, windows)
        temperatures = patience.observe(states, windows.ways)
        if together is None:
            trail.lower(states, places, patience.has_begun, scores)
        shape = self._count_joint(env.config.num_agents), *scores.shape
        candidates = scores + temperatures[:, None] * self._generator.gumbel(size=shape).astype(np.float32)
        if together is not None:
            return together.choose_together(states, candidates, patience.priorities, places)
        actions: NDArray[np.int64] = candidates[0, :, : env.config.num_actions].argmax(axis=1)
        return actions

    def _count_joint(self, num_agents: int) -> int:
        if not (self._shield or self._messages):
            return self._candidates
        if self._messages and num_agents > _MANY:
            return _FEWEST_JOINT
        return max(self._candidates, min(_MOST_JOINT, _CHOICES // num_agents))

    def _begin(self, env: Any) -> tuple[Tables, Coordination | None, Surroundings, Patience, Trail]:
        config: GridConfig = env.config
        check_path_finding(config, "the pretrained policy")
        num_worlds, num_agents = getattr(env, "num_worlds", 1), config.num_agents
        together = None
        if self._shield or self._messages:
            rounds = None if self._shield else self._messages
            together = Coordination(config, num_worlds, rounds, progress=_PROGRESS, horizon=self._horizon)
        tables = Tables(config.is_wall, num_worlds * num_agents) if together is None else together.tables
        past = Patience(self._temperatures), Trail(tables, num_worlds, num_agents)
        return tables, together, Surroundings(tables, num_worlds, num_agents), *past


class Coordination(Batch):
    """The next steps of the agents of up to E worlds.

    Args:
        config: of the worlds.
        num_worlds: E.
        rounds: of messages; None if all agents know all others.
        progress: what each step by which an action leads nearer to the target adds to its score.
        horizon: the number of steps that PIBT plays after each of several candidates.
    """

    def __init__(
        self, config: GridConfig, num_worlds: int, rounds: int | None, *, progress: float, horizon: int
    ) -> None:
        super().__init__(config, num_worlds)
        names = np.random.SeedSequence(0).generate_state(config.num_agents, np.uint64)
        self._listeners = Listeners(rounds is None, rounds or 0, names)
        self._progress, self._horizon = progress, horizon

    def choose_together(
        self, states: Mapping[str, Any], scores: NDArray[np.float32], priorities: NDArray[np.int32], places: Places
    ) -> NDArray[np.int64]:
        """Return the actions of all agents, int64 (E * N,), in the order of rows.

        Args:
            states: of the E worlds.
            scores: float32 (C, E * N, 5), of the actions, for each of C candidates; they are written to.
            priorities: int32 (E * N,), see `Patience`.
            places: what `Tables.locate` returns for the states.
        """
        if self.collisions == "none":
            return self.choose(states, places=places)
        cells, goals, rows = places
        actions = np.full(cells.shape, self._rest)
        scores[:, :, self._num_actions :] = -np.inf
        ranking = scores.reshape(len(scores), *cells.shape, NUM_SCORES)
        graphs = self.tables.neighbours, self.tables.degrees, self.tables.index
        worlds = tuple(np.asarray(states[name]) for name in ("map_index", "steps", "episode_over"))
        agents = cells, goals, rows, states["location"], priorities.reshape(cells.shape), ranking
        settings = self._num_actions, self._horizon, np.float32(self._progress), int(self._settings[-1])
        coordinate(self._team, self._listeners, settings, graphs, worlds, agents, actions)
        return actions.ravel()
