"""Pools of policies: folders of weights with a description, of which no code is run.

A pool is a folder with a file ``pool.json``, and for policy k an archive ``k.npz`` of float16 arrays ``weight_0``,
``bias_0``, ``weight_1`` and so on.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_seed, is_real, list_names, shorten
from multigrid._files import read_bytes, replace_file
from multigrid.config import GridConfig
from multigrid.envs import spaces
from multigrid.envs.vector import MultiGridVectorEnv
from multigrid.game import Game, OtherGameError
from multigrid.games._registry import find_named
from multigrid.integrations.training import sample_rows
from multigrid.policies._learned import POLICY_STREAM, read_arrays, write_arrays
from multigrid.policies._trained import Trained, list_shapes

_FORMAT = "multigrid pool 1"
POOL_FILE = "pool.json"
"""The name of the description of a pool."""
_STEPS, _WORLDS = 128, 4
"""How long the rules are played for their digest."""

Layers = Sequence[tuple[NDArray[Any], NDArray[Any]]]


class Pool(dict[str, Trained]):
    """Policies by name; what `read_pool` returns.

    Attributes:
        config: the world that they were trained in.
        seeds: the seed of each one's training, by name.
        bounds: by name, the lowest and the best known return with this partner, as `CrossPlay.normalised` takes them;
            only of those that have some.
        licence: of the weights.
    """

    def __init__(
        self,
        policies: Mapping[str, Trained],
        config: GridConfig,
        seeds: Mapping[str, int],
        bounds: Mapping[str, tuple[float, float]],
        licence: str,
    ) -> None:
        super().__init__(policies)
        self.config, self.seeds, self.bounds, self.licence = config, dict(seeds), dict(bounds), licence


def write_pool(
    folder: str | PathLike[str],
    policies: Mapping[str, Layers | Trained],
    config: GridConfig,
    *,
    seeds: Mapping[str, int] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    licence: str = "",
) -> None:
    """Write policies to a folder that `read_pool` reads; weights are rounded to float16.

    Args:
        folder: is created; a pool in it is replaced.
        policies: by name, the layers of a network with tanh between them: pairs of a matrix (inputs, outputs) and a
            bias (outputs,). Its input is a flat observation, or all parts one after the other; its last outputs are the
            logits of the actions. Or what `load` returns, if it is not recurrent and has no image.
        config: the world that they were trained in.
        seeds: the seed of each one's training; by default their numbers.
        bounds: by name, the lowest and the best known return with this partner.
        licence: of the weights, such as "MIT".

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: a network does not fit the world, has weights that are not finite in float16, or there are none.
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> config = GridConfig(size=(5, 4), num_agents=2, observe=("offset",))
    >>> layers = [(np.zeros((2, 4)), np.array([0.0, 0, 0, 9]))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pool(folder, {"down": layers}, config, licence="MIT")
    ...     pool = read_pool(folder)
    >>> pool["down"].config == config, pool.seeds, pool.licence
    (True, {'down': 0}, 'MIT')
    """
    seeds, bounds = {} if seeds is None else seeds, {} if bounds is None else bounds
    for what, given in {"policies": policies, "seeds": seeds, "bounds": bounds}.items():
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} are {shorten(given)}; expected a dict, by the name of a policy")
    if not policies:
        raise ValueError("policies are empty; expected at least one")
    if not isinstance(config, GridConfig):
        raise TypeError(f"config is {shorten(config)}; expected a GridConfig")
    if not isinstance(licence, str):
        raise TypeError(f"licence is {shorten(licence)}; expected a str")
    for name in policies:
        if not isinstance(name, str):
            raise TypeError(f"policies have the name {shorten(name)}; expected a str for each")
    for name in [*seeds, *bounds]:
        if name not in policies:
            raise ValueError(f"there is no policy {shorten(name)}; expected out of {list_names(policies)}")
    networks = {
        name: _check_layers(f"policy {shorten(name)}", _find_layers(one, config), config)
        for name, one in policies.items()
    }
    entries = [
        {
            "name": name,
            "seed": check_seed(seeds.get(name, number), ""),
            "bounds": _check_bounds(name, bounds[name]) if name in bounds else None,
        }
        for number, name in enumerate(networks)
    ]
    grid = config.to_dict() | ({} if config.game is None else {"game": config.game.__name__, "options": config.options})
    content = {"format": _FORMAT, "rules": digest_rules(config), "licence": licence, "grid": grid}
    text = json.dumps(content | {"policies": entries}, indent=1) + "\n"
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path, files = folder / POOL_FILE, (folder / f"{number}.npz" for number in itertools.count())
    # All files are written before the old description is removed; the new one comes last, so no mixture can be read.
    with contextlib.ExitStack() as stack:
        stack.enter_context(replace_file(path)).write_text(text, encoding="utf-8")
        for layers, file in zip(networks.values(), files, strict=False):
            kinds = [f"{kind}_{k}" for k in range(len(layers)) for kind in ("weight", "bias")]
            arrays = dict(zip(kinds, itertools.chain(*layers), strict=True))
            write_arrays(arrays, stack.enter_context(replace_file(file)))
        if path.is_file():
            path.unlink()
            for file in itertools.takewhile(Path.is_file, files):
                file.unlink()


def read_pool(
    folder: str | PathLike[str], *, game: type[Game] | None = None, seed: int | np.random.Generator = 0
) -> Pool:
    """Return the policies in a folder that `write_pool` has written; no code in it is run, and torch is not needed.

    They sample their actions, and play one world or many.

    Args:
        folder: of the pool.
        game: the game that they play, if it is not one of `multigrid.games` and not registered.
        seed: an integer, or a generator that samples the actions of all.

    Raises:
        FileNotFoundError: there is no such pool.
        TypeError: `seed` has another type.
        ValueError: a file is malformed, or the world has other rules now: the same seeds and actions give other results
            than when the pool was written.
    """
    path = Path(folder) / POOL_FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {POOL_FILE} in it; expected a folder of multigrid.policies.write_pool"
        )
    try:
        config, rules, licence, entries = _parse(json.loads(read_bytes(path)), game)
    except OtherGameError as error:
        raise ValueError(f"{path}: {error}") from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        said = " ".join(str(error).split())[:300]
        raise ValueError(f"{path} is not what write_pool writes: {type(error).__name__}: {said}") from error
    if (now := digest_rules(config)) != rules:
        raise ValueError(
            f"{path} was written under the rules {shorten(rules)}, and this multigrid plays its world by the rules "
            f"{now!r}; use the multigrid that wrote it, or train the policies anew"
        )
    policies = {}
    for number, name in enumerate(entries):
        file = path.with_name(f"{number}.npz")
        arrays = read_arrays(file, lambda _: True, "expected a file of write_pool")
        expected = [(f"weight_{k}", f"bias_{k}") for k in range((len(arrays) + 1) // 2)]
        if set(arrays) != {one for pair in expected for one in pair}:
            raise ValueError(f"{file} has the arrays {list_names(arrays)}; expected weight_0, bias_0, weight_1, ...")
        layers = _check_layers(str(file), [(arrays[weight], arrays[bias]) for weight, bias in expected], config)
        own = seed
        if not isinstance(seed, np.random.Generator):
            own = np.random.default_rng([check_seed(seed, ", or a numpy Generator"), number, POLICY_STREAM])
        policies[name] = Trained(functools.partial(_Actor, layers), config, own)
    seeds = {name: one["seed"] for name, one in entries.items()}
    bounds = {name: one["bounds"] for name, one in entries.items() if one["bounds"] is not None}
    return Pool(policies, config, seeds, bounds, licence)


def _parse(content: dict[str, Any], game: type[Game] | None) -> tuple[GridConfig, str, str, dict[str, dict[str, Any]]]:
    """Return the world, the digest of its rules, the licence, and what is said of each policy, by name."""
    if content["format"] != _FORMAT:
        raise ValueError(f"the format is {shorten(content['format'])}; expected {_FORMAT!r}")
    grid, entries = {**content["grid"]}, dict[str, dict[str, Any]]()
    config = GridConfig.from_dict({**grid, "game": None}, _find_game(grid.get("game"), game))
    for entry in content["policies"]:
        bounds = None if entry["bounds"] is None else _check_bounds(entry["name"], entry["bounds"])
        if not isinstance(entry["name"], str) or entry["name"] in entries:
            raise ValueError(f"there is a policy {shorten(entry['name'])}; expected names, and each once")
        entries[entry["name"]] = {"seed": check_seed(entry["seed"], ""), "bounds": bounds}
    return config, str(content["rules"]), str(content["licence"]), entries


def _find_game(name: Any, game: type[Game] | None) -> type[Game] | None:
    """Return the game of a pool: the one that is passed, a registered one, or one of the package."""
    if name is None and game is None:
        return None
    for one in reversed(find_named(name) if game is None else [game]):
        if one.__name__ == name:
            return one
    if name is None:
        raise OtherGameError("the pool is of path finding, and a game is given; leave the game out")
    raise OtherGameError(
        f"the pool is of the game {shorten(name)}; pass game=..., or register it with multigrid.register"
    )


def digest_rules(config: GridConfig) -> str:
    """Return a digest of what happens in a world: of 128 steps of four worlds with random actions.

    It is the same on every machine, and as long as equal seeds and actions give equal results.
    """
    envs: Any = MultiGridVectorEnv(config, _WORLDS, metrics=False)
    generator, digest = np.random.default_rng(0), hashlib.sha256()
    observations, _ = envs.reset(seed=0)
    shape = envs.action_space.shape
    high = getattr(envs.single_action_space, "nvec", getattr(envs.single_action_space, "n", 1))
    for _ in range(_STEPS):
        parts = observations if isinstance(observations, dict) else {"": observations}
        observations, *flags, _ = envs.step(generator.integers(high, size=shape))
        for name, array in [*parts.items(), *zip(("rewards", "terminations", "truncations"), flags, strict=True)]:
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    envs.close()
    return digest.hexdigest()[:16]


class _Actor:
    """Samples actions from a network."""

    def __init__(self, layers: Layers, num_rows: int) -> None:
        del num_rows
        self._layers = layers

    def __call__(self, observations: Any, rows: Any, generator: np.random.Generator) -> list[int]:
        del rows
        parts = list(observations.values()) if isinstance(observations, dict) else [observations]
        values = np.concatenate([part.reshape(len(part), -1).astype(np.float32) for part in parts], axis=1)
        for depth, (weight, bias) in enumerate(self._layers):
            values = (np.tanh(values) if depth else values) @ weight + bias
        probabilities = np.exp(values.astype(np.float64) - values.max(axis=1, keepdims=True))
        return sample_rows(probabilities, generator)


def _check_layers(
    what: str, layers: Layers, config: GridConfig
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Return layers as they are stored, if they fit a world; raise ValueError otherwise."""
    seen = list_shapes(spaces.observation_space(config)).values()
    if config.message_bits or any(shape is None for shape in seen):
        raise ValueError(f"{what}: agents send messages, or see no arrays; expected a world with neither")
    num_inputs, stored = sum(map(math.prod, seen)), []
    for depth, (weight, bias) in enumerate(layers):
        with np.errstate(over="ignore"):
            pair = [np.asarray(one).astype(np.float16).astype(np.float32) for one in (weight, bias)]
        if not all(np.isfinite(one).all() for one in pair):
            raise ValueError(f"{what}: layer {depth} has weights that are not finite in float16")
        if pair[0].ndim != 2 or pair[1].shape != pair[0].shape[1:]:
            both = " and ".join(str(one.shape) for one in pair)
            raise ValueError(f"{what}: layer {depth} has the shapes {both}; expected (inputs, outputs) and (outputs,)")
        stored.append((pair[0], pair[1]))
    ends = [num_inputs, *(weight.shape[1] for weight, _ in stored)]
    if (
        not stored
        or any(w.shape[0] != end for (w, _), end in zip(stored, ends, strict=False))
        or ends[-1] != config.num_actions
    ):
        shapes = [weight.shape for weight, _ in stored]
        raise ValueError(
            f"{what} has layers of the shapes {shorten(shapes)}; expected {num_inputs} inputs, what an agent observes, "
            f"{config.num_actions} outputs, one for each action, and layers that fit one another"
        )
    return stored


def _find_layers(given: Any, config: GridConfig) -> Layers:
    """Return the layers of a policy, also of a feed-forward one of `multigrid train`."""
    expected = "expected pairs of arrays, or what multigrid.policies.load or read_pool returns"
    if not isinstance(given, Trained):
        if not isinstance(given, Sequence) or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in given):
            raise TypeError(f"a policy is {shorten(given)}; {expected}")
        return given
    seen, trained = (list_shapes(spaces.observation_space(one)) for one in (config, given.config))
    if seen != trained:
        raise ValueError(f"a policy was trained to observe {trained}, and agents of config observe {seen}")
    actor: Any = given._make_actor  # noqa: SLF001 - the same package
    found: Any = actor.args[0] if isinstance(actor, functools.partial) else None
    if isinstance(found, list):
        return found
    if not hasattr(found, "state_dict"):
        raise TypeError(f"a policy is {shorten(given)}; {expected}")
    state = {name: tensor.numpy() for name, tensor in found.state_dict().items()}
    wanted = [name for name in state if re.fullmatch(r"mlp_extractor\.policy_net\.\d+\.weight", name)]
    if given.remembers or not wanted:
        raise ValueError("the policy is recurrent, or has no layers; expected a feed-forward network")
    wanted.append("action_net.weight")
    return [(state[name].T, state[name.replace("weight", "bias")]) for name in wanted]


def _check_bounds(name: Any, bounds: Any) -> tuple[float, float]:
    if (
        not isinstance(bounds, Sequence)
        or len(bounds) != 2
        or not all(map(is_real, bounds))
        or not -math.inf < bounds[0] < bounds[1] < math.inf
    ):
        raise ValueError(
            f"the bounds of {shorten(name)} are {shorten(bounds)}; expected two finite numbers, the lower one first"
        )
    return float(bounds[0]), float(bounds[1])
