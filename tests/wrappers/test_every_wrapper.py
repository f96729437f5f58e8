"""What every wrapper promises: the official checkers pass, its spec makes it again, and it says what it needs."""

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from multigrid import Action, GridConfig, GridWorldEnv, parallel_env, testing
from multigrid.wrappers import (
    ClipReward,
    DiscreteActions,
    DistanceReward,
    GoalObservation,
    PixelObservation,
    PotentialReward,
    PotentialRewardParallel,
    ReacherWeightedReward,
    RelativePosition,
    StandardParallel,
    SuccessInfo,
    standard_config,
)

TWO_CELLS = r"the env observes Box\(.*\); expected a Dict with the Boxes 'agent' and 'target'"


def constant(observation, info):
    """Return a potential that is not 0 on the target."""
    return -info["distance"] - 5.0


WRAPPERS = {
    "clip": lambda env: ClipReward(env, 0.0, 0.5),
    "actions": lambda env: DiscreteActions(env, [Action.UP, Action.LEFT]),
    "relative": RelativePosition,
    "goal": GoalObservation,
    "pixels": lambda env: PixelObservation(env, size=40),
    "potential": lambda env: PotentialReward(env, gamma=0.7, potential=constant),
    "shaping": lambda env: PotentialReward(env, gamma=0.7),
    "distance": lambda env: DistanceReward(env, scale=0.3),
    "success": SuccessInfo,
    "guide": lambda env: SuccessInfo(DistanceReward(env, target_reward=100)),
    "two": lambda env: PotentialReward(DistanceReward(env, scale=0.3), gamma=0.7, potential=constant),
}
every = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


def make():
    """Return a registered env, ready to draw."""
    return gym.make("multigrid/GridWorld-v0", size=4, render_mode="rgb_array", disable_env_checker=True)


@every
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")  # it is: that is what is checked
def test_gymnasiums_checker_passes(wrap):
    """The wrapped env is in good standing with Gymnasium."""
    check_env(wrap(make()), skip_render_check=True)


@pytest.mark.heavy
@every
def test_stable_baselines3s_checker_passes(wrap):
    """The wrapped env is in good standing with Stable-Baselines3."""
    from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

    check_env_of_sb3(wrap(make()))


def test_checks_for_authors_pass():
    """A wrapped ParallelEnv keeps what is asked of one without."""
    config = standard_config(GridConfig(size=(4, 3), num_agents=3, on_target="leave"))
    for wrap in (lambda env: PotentialRewardParallel(env, 0.8), StandardParallel):
        testing.check_env(wrap(parallel_env(config)))


@every
def test_it_is_made_again_from_its_spec(wrap):
    """An env's spec makes the wrapped env anew, also as JSON unless it has a function; so does `make_vec`."""
    env = wrap(make())
    again = gym.make(env.spec)
    assert str(again) == str(env)
    assert (again.observation_space, again.action_space) == (env.observation_space, env.action_space)
    one, other = env, again
    while isinstance(one, gym.Wrapper) and isinstance(other, gym.Wrapper):
        assert one.__class__ is other.__class__
        assert vars(one).get("_saved_kwargs") == vars(other).get("_saved_kwargs")
        one, other = one.env, other.env
    if getattr(env, "potential", None) is not constant:
        assert EnvSpec.from_json(env.spec.to_json()) == env.spec
    settings = {"vectorization_mode": "sync", "wrappers": (wrap,), "size": 4, "render_mode": "rgb_array"}
    envs = gym.make_vec("multigrid/GridWorld-v0", 2, **settings)
    assert envs.single_observation_space == env.observation_space
    assert envs.observation_space.contains(envs.reset(seed=5)[0])


REFUSED = [
    (lambda env: RelativePosition(RelativePosition(env)), TypeError, TWO_CELLS),
    (lambda env: GoalObservation(RelativePosition(env)), TypeError, TWO_CELLS),
    (lambda env: DistanceReward(RelativePosition(env)), TypeError, TWO_CELLS),
    (lambda env: DistanceReward(env, scale="x"), TypeError, "scale is 'x'"),
    (lambda env: DistanceReward(env, scale=float("nan")), ValueError, "scale is nan"),
    *((lambda env, x=x: DistanceReward(env, 0.1, x), TypeError, "target_reward is .*, or None") for x in ("1", True)),
    (lambda env: PotentialReward(env, "x"), TypeError, "gamma is 'x'"),
    (lambda env: PotentialReward(env, None), TypeError, "gamma is None"),
    (lambda env: PotentialReward(env, 1, 2), TypeError, "potential is of type int"),
    *((lambda env, x=x: PotentialReward(env, x), ValueError, f"gamma is {x}; ") for x in (-0.1, 1.5, float("nan"))),
    (lambda _: PotentialRewardParallel(parallel_env(), 1.5), ValueError, "gamma is 1.5; expected the discount"),
    (lambda env: PotentialRewardParallel(env, 0.9), TypeError, "env is .*; expected a PettingZoo ParallelEnv"),
    (lambda env: ReacherWeightedReward(env, None, 1.0), TypeError, "reward_dist_weight is None"),
    (lambda env: ReacherWeightedReward(env, 1.0, float("inf")), ValueError, "reward_ctrl_weight is inf"),
    (lambda env: DiscreteActions(env, 0), TypeError, "disc_to_cont is 0"),
    (lambda env: DiscreteActions(env, []), ValueError, "disc_to_cont is empty"),
    (lambda env: ClipReward(env, 2, 1), ValueError, "min_reward is 2 and max_reward 1"),
    (lambda env: ClipReward(env, 1j, 1.0), TypeError, "min_reward is"),
    (lambda env: ClipReward(env, 0, "1"), TypeError, "max_reward is"),
    (lambda env: ClipReward(env, True, 2), TypeError, "min_reward is"),
    (lambda env: ClipReward(env, float("nan"), 1.0), ValueError, "min_reward is nan"),
    (lambda env: ClipReward(env, 0.0, float("nan")), ValueError, "min_reward is 0.0 and max_reward nan"),
    (PixelObservation, ValueError, 'the env has render_mode None, which .* make it with render_mode="rgb_array"'),
    (lambda _: PixelObservation(make(), size=0), ValueError, "size is 0"),
    (lambda _: PixelObservation(make(), size=8.5), TypeError, "size is 8.5"),
]


@pytest.mark.parametrize(("create", "error", "message"), REFUSED)
def test_wrappers_check_what_they_store(create, error, message):
    """What would fail in a later step, such as an env without the two cells, is refused when the wrapper is made."""
    with pytest.raises(error, match=f"^{message}"):
        create(GridWorldEnv())
