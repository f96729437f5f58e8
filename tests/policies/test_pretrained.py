"""The pretrained policy: what it computes, on every face, and that with a shield no move is refused."""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multigrid
from editions import Edition, by_edition
from helpers import WALLS, check_pickles
from multigrid import GridConfig, MultiGridEnv, policies, vector_env
from multigrid.actions import BLOCKED
from multigrid.cli._models import make_policy_factory
from multigrid.planning._graph import Tables
from multigrid.policies import random_policy, shortest_path_policy
from multigrid.policies._learned import Pretrained, load_weights, save_weights
from multigrid.policies._network import Weights, score
from multigrid.policies._past import Temperatures
from multigrid.policies._surroundings import Surroundings, Windows

# Without Numba, a step takes a second.
pytestmark = pytest.mark.heavy

FILE = Path(multigrid.__file__).parent / "policies" / "pretrained.npz"
CROWDED = GridConfig(walls=WALLS, num_agents=14, on_target="stay", collisions="soft", allow_stay=True, max_cycles=60)


def play(env: MultiGridEnv, policy: policies.Policy, seed: int) -> list[Any]:
    """The locations and outcomes in each step of an episode."""
    observations, _ = env.reset(seed=seed)
    seen: list[Any] = []
    while env.agents:
        observations, *_ = env.step(policy(env, observations))
        state: Any = env.get_state()
        seen.append((state["location"].tolist(), state["outcomes"].tolist()))
    return seen


def score_slowly(weights: Weights, windows: Windows, agent: int) -> Any:
    """The scores of an agent, in float64, by dense layers on one-hot codes."""
    layers = Weights(*(part.astype(np.float64) for part in weights))
    way = float(windows.ways[agent])
    units = layers.bias + min(way, 64) / 32 * layers.ways[0] + 1 / (1 + way) * layers.ways[1]
    for cell in range(121):
        codes = np.zeros(20)
        codes[windows.grounds[agent, cell]] = 1
        bits = [int(windows.agents[agent, cell]) >> bit & 1 for bit in range(16)]
        units = units + codes @ layers.ground[cell] + np.array(bits) @ layers.agents[cell]
    units = np.maximum(np.maximum(units, 0) @ layers.second + layers.second_bias, 0)
    units = np.maximum(units @ layers.third + layers.third_bias, 0)
    return units @ layers.last + layers.last_bias


def sample_weights(generator: np.random.Generator) -> Weights:
    """Weights of a small network, with which units and scores are of the order of 1 in all layers."""
    shapes = [(121, 20, 24), (121, 16, 24), (2, 24), (24,), (24, 16), (16,), (16, 8), (8,), (8, 5), (5,)]
    spreads = [0.06, 0.06, 0.5, 0.5, 0.3, 0.5, 0.4, 0.5, 0.5, 0.5]
    return Weights(
        *(generator.normal(0, spread, shape).astype(np.float32) for spread, shape in zip(spreads, shapes, strict=True))
    )


@pytest.mark.parametrize("own", [False, True], ids=["sampled", "shipped"])
def test_scores_are_those_of_the_layers(own: bool) -> None:
    """The scores are those of the codes' vectors and of three dense layers with ReLU, to 1e-5 of the largest score."""
    weights = load_weights(FILE) if own else sample_weights(np.random.default_rng(6))
    env = MultiGridEnv(CROWDED)
    env.reset(seed=2)
    surroundings = Surroundings(Tables(CROWDED.is_wall, 14), 1, 14)
    seen = 0
    for _ in range(3):
        state: Any = env.get_state()
        windows = surroundings.observe({name: np.asarray(state[name])[None] for name in Surroundings.FIELDS})
        seen |= int(np.bitwise_or.reduce(windows.agents, axis=None))
        expected = np.array([score_slowly(weights, windows, agent) for agent in range(14)])
        np.testing.assert_allclose(score(weights, windows), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
        env.step({agent: 4 if number % 3 else number % 4 for number, agent in enumerate(env.agents)})
    # Among the codes are those of both halves of their 16 bits.
    assert seen & 255
    assert seen >> 8


@pytest.mark.parametrize("collisions", ["symmetric", "soft"])
@pytest.mark.parametrize("on_target", ["stay", "leave", "park", "restart"])
def test_with_a_shield_no_move_is_refused(collisions: str, on_target: str) -> None:
    """In whole episodes of crowded worlds, under all rules that a shield supports, every request is granted."""
    config = GridConfig(
        walls=WALLS,
        num_agents=14,
        collisions=collisions,  # type: ignore[arg-type]
        on_target=on_target,  # type: ignore[arg-type]
        allow_stay=True,
        max_cycles=40,
    )
    env = MultiGridEnv(config)
    for seed in range(3):
        outcomes = {
            outcome for _, step in play(env, policies.pretrained(shield=True, seed=seed), seed) for outcome in step
        }
        assert not outcomes & set(BLOCKED)
        assert 0 in outcomes


def test_with_a_shield_an_agent_that_cannot_stay_moves_on() -> None:
    """Where an agent is alone and has no stay action, the choices of the shield are moves, and none is refused."""
    config = GridConfig(walls="#...\n...#\n.#..", num_agents=1, max_cycles=12, allow_stay=False)
    env, weights = MultiGridEnv(config), load_weights(FILE)
    # A network that would stay everywhere.
    weights = weights._replace(last_bias=np.array([0, 0, 0, 0, 99], np.float32))
    for seed in range(3):
        outcomes = {
            outcome for _, step in play(env, Pretrained(weights, shield=True, seed=seed), seed) for outcome in step
        }
        assert outcomes == {0}


def test_alone_it_plays_under_any_rules() -> None:
    """Without a shield it acts under every rule, and in worlds in which agents cannot stay."""
    for collisions in ("symmetric", "soft", "priority", "block_both", "none"):
        config = GridConfig(size=(7, 4), num_agents=3, collisions=collisions, max_cycles=20)  # type: ignore[arg-type]
        assert len(play(MultiGridEnv(config), policies.pretrained(), seed=0)) <= 20


@pytest.mark.parametrize("form", ["alone", "messages", "shield"])
def test_many_worlds_act_as_one(form: str) -> None:
    """In a vector env of one world, `act` gives the actions of a call with a MultiGridEnv, for two episodes."""
    envs, env = vector_env(1, CROWDED), MultiGridEnv(CROWDED)
    together, alone = (policies.pretrained(seed=5, **FORMS[form]) for _ in range(2))
    envs.reset(seed=3)
    observations, _ = env.reset(seed=3)
    episodes = 0
    while episodes < 2:
        actions = together.act(envs)
        if not env.agents:
            # The step that resets the world ignores the actions.
            episodes += 1
            observations, _ = env.reset()
            alone._generator.gumbel(size=({"alone": 1, "messages": 9, "shield": 9}[form], 14, 5))
        else:
            by_agent = alone(env, observations)
            assert list(by_agent.values()) == actions.tolist()
            observations, *_ = env.step(by_agent)
        envs.step(actions)
        np.testing.assert_array_equal(envs.get_state()["location"][0], env.get_state()["location"])


# In the second map of the pool, [0, 0], where absent agents have their targets, is a wall.
DRAWN = {
    "generator": multigrid.maps.RandomWalls(side=(3, 7), density=(0.1, 0.6)),
    "pool": [".....\n....#\n.....", "#....\n.....\n....."],
}


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("kind", ["expert", "pretrained", "messages", "shield"])
def test_on_drawn_maps_many_worlds_act_as_one(kind: str, drawn: str) -> None:
    """Where each reset draws a map and a number of agents, the actions are those in environments of one world."""
    walls = DRAWN[drawn]
    config = GridConfig(walls=walls, num_agents=(1, 8), on_target="stay", allow_stay=True, max_cycles=12)
    envs, singles = vector_env(4, config), [MultiGridEnv(config) for _ in range(4)]

    def make() -> Any:
        if kind == "expert":
            return multigrid.planning.controller("pibt")
        rounds = 2 if kind == "messages" else 0
        always = Temperatures(0, 0, 8, 0)
        return Pretrained(load_weights(FILE), shield=kind == "shield", messages=rounds, temperatures=always)

    many, policies_of_one = make(), [make() for _ in singles]
    act = multigrid.planning.expert if kind == "expert" else many.act
    maps, counts = set(), set()
    envs.reset(seed=5)
    for world, single in enumerate(singles):
        single.reset(seed=5 + world)
    for _ in range(60):
        actions, over = act(envs), envs.episode_over
        for world, (single, policy) in enumerate(zip(singles, policies_of_one, strict=True)):
            if over[world]:
                single.reset()
                continue
            expected = policy(single, {})
            assert expected == {agent: actions[8 * world + int(agent[6:])] for agent in expected}
            single.step(expected)
            maps.add(single.map_walls.tobytes())
            counts.add(len(expected))
        envs.step(actions)
    assert len(maps) > (12 if drawn == "generator" else 1)
    assert counts >= {1, 2, 6}


@by_edition
@pytest.mark.parametrize("act", [policies.pretrained().act, multigrid.planning.expert], ids=["pretrained", "expert"])
def test_the_tutorials_vector_envs_are_played(edition: Edition, act: Any) -> None:
    """Actions are those of the env's own edition: an agent alone takes a shortest path."""
    envs = edition.vector(8, size=6)
    _, infos = envs.reset(seed=1)
    lengths, done = infos["distance"], np.zeros(8, bool)
    for step in range(1, 11):
        _, _, terminated, _, _ = envs.step(act(envs))
        assert terminated[~done].tolist() == (lengths[~done] == step).tolist()
        done |= terminated
    assert done.all()


def test_equal_seeds_give_equal_episodes() -> None:
    """A policy with a seed plays one episode each time, another seed another one, and no global generator is used."""
    env = MultiGridEnv(CROWDED)
    np.random.seed(0)  # noqa: NPY002 - the global generator is what is looked at
    before = np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
    first, again, other = (play(env, policies.pretrained(seed=seed), seed=1) for seed in (4, 4, 5))
    assert first == again
    assert first != other
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index] # noqa: NPY002


@pytest.mark.parametrize("seed", [0, 7])
def test_its_stream_is_not_that_of_a_world(seed: int) -> None:
    """Its numbers are not those of a world with its seed; `multigrid rollout` gives it the same ones."""
    own, world = policies.pretrained(seed=seed)._generator, np.random.default_rng(seed)
    assert not np.isin(own.random(1000), world.random(1000)).any()
    for name in ("pretrained", "pretrained-messages", "pretrained-shield"):
        by_command = make_policy_factory(name)(seed)
        assert isinstance(by_command, Pretrained)
        expected = policies.pretrained(seed=seed)._generator.bit_generator.state
        assert by_command._generator.bit_generator.state == expected


def test_a_generator_is_used_as_it_is() -> None:
    """A generator in place of a seed samples the actions itself, and goes on with its stream."""
    given, same = np.random.default_rng(3), np.random.default_rng(3)
    env = MultiGridEnv(CROWDED)
    observations, _ = env.reset(seed=1)
    policies.pretrained(seed=given)(env, observations)
    same.gumbel(size=(14, 5))
    assert given.bit_generator.state == same.bit_generator.state


@pytest.mark.parametrize(("num_agents", "compared"), [(20, 6), (256, 3), (257, 2)])
def test_more_agents_compare_fewer_joint_actions(num_agents: int, compared: int) -> None:
    """With messages, N agents compare 128 / N joint actions, at least 3, and 2 if there are more than 256."""
    given, same = np.random.default_rng(3), np.random.default_rng(3)
    env = MultiGridEnv(GridConfig(size=(19, 28), num_agents=num_agents, on_target="stay", allow_stay=True))
    observations, _ = env.reset(seed=1)
    policies.pretrained(messages=2, seed=given)(env, observations)
    same.gumbel(size=(compared, num_agents, 5))
    assert given.bit_generator.state == same.bit_generator.state


def test_a_change_of_environments_is_noticed() -> None:
    """A policy that has played elsewhere acts in an episode as a new one with its generator does."""
    other = MultiGridEnv(GridConfig(size=(6, 4), num_agents=3, allow_stay=True, max_cycles=9))
    used = policies.pretrained(seed=0)
    play(other, used, seed=0)
    generator = np.random.default_rng(8)
    fresh = Pretrained(load_weights(FILE), seed=np.random.default_rng(8))
    used._generator = generator
    assert play(MultiGridEnv(CROWDED), used, seed=2) == play(MultiGridEnv(CROWDED), fresh, seed=2)


def test_weights_are_kept_as_float16(tmp_path: Path) -> None:
    """What is saved is read again, rounded to float16; the package's have at most 3 million numbers, in 4 MB."""
    weights = Weights(*(array / np.float32(3) for array in load_weights(FILE)))
    save_weights(weights, tmp_path / "weights.npz")
    for one, other in zip(weights, load_weights(tmp_path / "weights.npz"), strict=True):
        np.testing.assert_array_equal(one.astype(np.float16), other)
        assert other.dtype == np.float32
    assert sum(part.size for part in load_weights(FILE)) <= 3_000_000
    assert FILE.stat().st_size <= 4_000_000


def test_weights_of_other_shapes_are_refused(tmp_path: Path) -> None:
    """A file of an earlier version, whose agents have fewer bits, and one that lacks arrays are refused by name."""
    weights, file = load_weights(FILE), tmp_path / "old.npz"
    np.savez(file, **weights._replace(agents=weights.agents[:, :14])._asdict())
    with pytest.raises(ValueError, match=r"old\.npz has agents of shape \(121, 14, 448\); expected \(121, 16, 448\)"):
        load_weights(file)
    np.savez(file, **{name: part for name, part in weights._asdict().items() if name not in ("ways", "third_bias")})
    with pytest.raises(ValueError, match=r"old\.npz lacks the arrays ways, third_bias;"):
        load_weights(file)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1j, 1, "x"], ids=repr)
def test_weights_are_finite_floats(tmp_path: Path, value: Any) -> None:
    """Numbers that are not finite, and arrays of other types, are refused by the name of their array."""
    weights, file = load_weights(FILE), tmp_path / "bad.npz"
    bias = np.full_like(weights.bias, value, dtype=type(value) if value == "x" else np.asarray(value).dtype)
    np.savez(file, **weights._replace(second_bias=bias)._asdict())
    with pytest.raises(ValueError, match=rf"^{file} has second_bias "):
        load_weights(file)


def test_what_holds_no_weights_is_refused(tmp_path: Path) -> None:
    """Damaged files, other files, and headers that claim more numbers than there are, are named."""
    good, file = FILE.read_bytes(), tmp_path / "bad.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**9,)})
    claims = io.BytesIO()
    with zipfile.ZipFile(claims, "w") as archive:
        for name in Weights._fields:
            archive.writestr(f"{name}.npy", header.getvalue())
    middle = len(good) // 2
    damaged = good[:middle] + bytes(100) + good[middle + 100 :]
    for content in (b"", b"no archive", good[:middle], damaged, claims.getvalue(), claims.getvalue()[:-30]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=rf"^{file} is not an archive"):
            load_weights(file)


def test_more_arrays_than_fit_into_memory_are_refused(tmp_path: Path) -> None:
    """A small file whose arrays unpack to more than the limit, or have shapes below 0, is refused."""
    file, header = tmp_path / "bad.npz", io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f2", "fortran_order": False, "shape": (-2, -3)})
    for content, complaint in ((header.getvalue() + bytes(12), "is not an archive"), (bytes(2**24), "has arrays of")):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in Weights._fields:
                archive.writestr(f"{name}.npy", content)
        with pytest.raises(ValueError, match=rf"^{file} {complaint}"):
            load_weights(file)


@pytest.mark.parametrize("create", [random_policy, shortest_path_policy])
@pytest.mark.parametrize("generator", [0, None, np.random.RandomState(0), np.random, np.random.PCG64(0)], ids=type)
def test_a_policy_is_made_of_a_generator(create: Any, generator: Any) -> None:
    """What is no generator is refused when the policy is made, not when it first acts."""
    with pytest.raises(TypeError, match=r"^generator is .*; expected a numpy\.random\.Generator, such as"):
        create(generator)


@pytest.mark.parametrize(
    ("sidestep", "error"), [("0.5", TypeError), (None, TypeError), (1.5, ValueError), (np.nan, ValueError)]
)
def test_a_sidestep_is_a_probability(sidestep: Any, error: type[Exception]) -> None:
    """What is no number from 0 to 1 is refused when the policy is made."""
    with pytest.raises(error, match=r"^sidestep is .*; expected a number from 0 to 1"):
        shortest_path_policy(np.random.default_rng(0), sidestep)


def test_bad_input_is_refused() -> None:
    """Bad seeds, messages, and what is no vector env are named; a shield refuses rules that it does not support."""
    for messages, error in ((-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=r"messages is .*; expected"):
            policies.pretrained(messages=messages)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shield is True and messages is 2; a shield needs no messages"):
        policies.pretrained(shield=True, messages=2)
    with pytest.raises(ValueError, match="seed"):
        policies.pretrained(seed=-1)
    with pytest.raises(TypeError, match="seed"):
        policies.pretrained(seed="one")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"vector_env is .*; expected what multigrid\.vector_env returns"):
        policies.pretrained().act(MultiGridEnv(CROWDED))  # type: ignore[arg-type]
    env = MultiGridEnv(GridConfig(num_agents=2, collisions="priority", allow_stay=True))
    observations, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match="collisions is 'priority', which no controller supports"):
        policies.pretrained(shield=True)(env, observations)
    env = MultiGridEnv(GridConfig(num_agents=2))
    observations, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match="allow_stay is False"):
        policies.pretrained(shield=True)(env, observations)


CHECKSUM = "81b59e636d821859"
FORMS: dict[str, dict[str, Any]] = {"alone": {}, "messages": {"messages": 2}, "shield": {"shield": True}}
# The share of agents that arrive, and the sum of costs, in each form.
FIGURES = {
    "alone": [(1.0, 487.0), (1.0, 245.0), (12 / 14, 444.0), (1.0, 465.0)],
    "messages": [(1.0, 388.0), (1.0, 228.0), (1.0, 225.0), (1.0, 316.0)],
    "shield": [(1.0, 381.0), (1.0, 202.0), (1.0, 259.0), (1.0, 429.0)],
}


def test_the_weights_that_come_with_the_package() -> None:
    """They are the ones that were measured, and reach the same figures on a few layouts, everywhere."""
    assert hashlib.sha256(FILE.read_bytes()).hexdigest()[:16] == CHECKSUM
    figures = {}
    for form, options in FORMS.items():
        env = MultiGridEnv(CROWDED)
        reached = []
        for seed in range(4):
            play(env, policies.pretrained(seed=seed, **options), seed)
            metrics = env.metrics()
            reached.append((float(metrics["isr"]), float(metrics["sum_of_costs"])))
        figures[form] = reached
    assert figures == FIGURES


def test_pickled_policies_go_on(tmp_path: Path) -> None:
    """Pickled before an episode or within, a policy acts in another process as it would have here.

    Only weights of one's own are in the pickle.
    """
    makes = [
        lambda: random_policy(np.random.default_rng(3)),
        lambda: shortest_path_policy(np.random.default_rng(3), 0.3),
        lambda: policies.pretrained(seed=4),
        lambda: policies.pretrained(seed=4, messages=2),
        lambda: policies.pretrained(seed=np.random.default_rng(5), shield=True),
    ]
    assert max(check_pickles(makes, CROWDED, tmp_path)) < 50_000
    weights = sample_weights(np.random.default_rng(6))
    sizes = check_pickles([lambda: Pretrained(weights, seed=4)], CROWDED, tmp_path)
    assert min(sizes) > weights.ground.nbytes


def test_a_pickled_policy_goes_on_in_the_same_world_alone() -> None:
    """What an unpickled policy remembers is of no use to another number of worlds, or to another configuration."""
    envs, policy = vector_env(3, CROWDED), policies.pretrained(seed=4)
    envs.reset(seed=0)
    for _ in range(3):
        envs.step(policy.act(envs))
    pickled = pickle.dumps(policy)
    other = vector_env(3, CROWDED)
    other.reset(seed=1), other.set_state(envs.get_state())
    actions = policy.act(envs).tolist()
    assert pickle.loads(pickled).act(other).tolist() == actions
    smaller = GridConfig(size=(6, 4), num_agents=2)
    for worlds, config in ((5, CROWDED), (3, smaller)):
        other = vector_env(worlds, config)
        other.reset(seed=0)
        assert pickle.loads(pickled).act(other).shape == (other.num_envs,)
