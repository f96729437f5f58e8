"""rware and lbforaging beside the games of this package: no step differs, and what is compared is seen."""

import importlib

import gymnasium
import numpy as np
import pytest

from benchmarks import originals
from multigrid.games._tuple_env import TupleEnv

pytestmark = pytest.mark.filterwarnings("ignore")  # of the originals


@pytest.mark.parametrize("game", ["rware", "lbforaging"])
def test_no_step_differs(game: originals.Name, request: pytest.FixtureRequest) -> None:
    """Random configurations, resets and actions show, pay and end in each step what they do in the original."""
    num_episodes = 2000 if request.config.getoption("--long") else 100
    episodes, steps = originals.compare_episodes(game, num_episodes, seed=1)
    assert (episodes, steps > 10 * num_episodes) == (num_episodes, True)


@pytest.mark.parametrize("game", ["rware", "lbforaging"])
def test_a_difference_is_seen(game: originals.Name, monkeypatch: pytest.MonkeyPatch) -> None:
    """An action that only one of both plays ends the comparison with where it was."""
    step = TupleEnv.step
    monkeypatch.setattr(TupleEnv, "step", lambda env, actions: step(env, [actions[0]] * len(actions)))
    with pytest.raises(originals.DifferenceError, match=r"seed \w+, episode \d, step \d+, actions "):
        originals.compare_episodes(game, 40, seed=2)


@pytest.mark.parametrize(
    ("game_id", "keywords"),
    [
        ("rware-tiny-2ag-v2", {}),
        ("rware-tiny-2ag-v2", {"msg_bits": 2, "observation_type": "DICT"}),
        ("rware-tiny-2ag-v2", {"observation_type": "DICT", "normalised_coordinates": True}),
        ("rware-small-3ag-easy-v2", {"observation_type": "IMAGE", "sensor_range": 2}),
        ("rware-small-3ag-easy-v2", {"observation_type": "IMAGE_DICT"}),
        ("Foraging-8x8-2p-2f-v3", {}),
        ("Foraging-2s-9x9-5p-3f-coop-v3", {"min_player_level": [1, 2, 3, 4, 5], "max_player_level": [1, 2, 3, 4, 9]}),
        ("Foraging-7x7-2p-2f-v3", {"observe_agent_levels": False, "max_food_level": [3, 5]}),
    ],
)
def test_spaces_are_those_of_the_original(game_id: str, keywords: dict[str, object]) -> None:
    """The spaces of observations and actions are equal, bounds and types included."""
    import lbforaging
    import rware

    assert rware is not lbforaging
    theirs = dict(keywords)
    if "observation_type" in theirs:
        theirs["observation_type"] = rware.ObservationType[str(theirs["observation_type"])]
    original = gymnasium.make(game_id, disable_env_checker=True, **theirs)
    env = gymnasium.make(f"multigrid/{game_id}", **keywords)
    assert env.observation_space == original.observation_space
    assert env.action_space == original.action_space


@pytest.mark.parametrize("game_id", ["rware-small-4ag-v2", "Foraging-8x8-3p-2f-v3"])
def test_world_k_plays_what_the_original_plays(game_id: str) -> None:
    """World k of many, seeded s, shows what the original seeded s + k shows, also after resets without a seed."""
    from multigrid import games

    envs = games.vector_env(game_id, 3, autoreset_mode="SameStep")
    originals_of = [gymnasium.make(game_id, disable_env_checker=True).unwrapped for _ in range(3)]
    observations, _ = envs.reset(seed=5)
    expected = [env.reset(seed=5 + k)[0] for k, env in enumerate(originals_of)]
    random, ends = np.random.default_rng(0), 0
    for _ in range(1100):
        np.testing.assert_array_equal(observations, np.concatenate(expected))
        actions = random.integers(envs.single_action_space.n, size=envs.num_envs)
        observations, rewards, terminated, _, _ = envs.step(actions)
        for k, env in enumerate(originals_of):
            rows = slice(k * envs.config.num_agents, (k + 1) * envs.config.num_agents)
            expected[k], paid, over, _, _ = env.step(actions[rows].tolist())
            assert (rewards[rows].tolist(), terminated[rows].all()) == (paid, bool(over))
            if over:
                expected[k], ends = env.reset()[0], ends + 1
    assert ends > 3


def train(env: gymnasium.Env, num_episodes: int) -> np.ndarray:
    """Train an independent linear actor-critic for each agent; return their weights (agents, actions + 1, features)."""
    random, spaces = np.random.default_rng(5), env.observation_space
    weights = np.zeros((len(spaces), env.action_space[0].n + 1, spaces[0].shape[0] + 1))
    for seed in range(num_episodes):
        observations, _ = env.reset(seed=seed)
        over = False
        while not over:
            features = np.concatenate([np.array(observations, float), np.ones((len(weights), 1))], axis=1)
            scores = np.einsum("naf,nf->na", weights, features)
            chances = np.exp(scores[:, :-1] - scores[:, :-1].max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            actions = [random.choice(len(chance), p=chance) for chance in chances]
            observations, rewards, terminated, truncated, _ = env.step(tuple(actions))
            over = terminated or truncated
            surprise = np.array(rewards, float) - 0.01 - scores[:, -1]
            change = -chances
            change[np.arange(len(actions)), actions] += 1
            gradient = np.concatenate([change, np.ones((len(weights), 1))], axis=1)
            weights += 1e-3 * surprise[:, None, None] * gradient[:, :, None] * features[:, None]
    return weights


@pytest.mark.parametrize(
    ("package", "env_id"), [("rware", "rware-tiny-2ag-v2"), ("lbforaging", "Foraging-8x8-2p-2f-coop-v3")]
)
def test_a_learner_ends_with_identical_weights(package: str, env_id: str) -> None:
    """A learner for the original's environment that changes only the import and the id ends with the same weights."""
    importlib.import_module(package)
    theirs, ours = (train(gymnasium.make(name).unwrapped, 6) for name in (env_id, f"multigrid/{env_id}"))
    assert theirs.any()
    assert (theirs == ours).all()
