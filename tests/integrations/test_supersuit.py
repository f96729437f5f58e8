"""SuperSuit: rows of agents that leave, and the bridge to Stable-Baselines3, with and without processes."""

import multiprocessing
import re

import numpy as np
import pytest
import supersuit
from gymnasium.spaces import Discrete
from stable_baselines3 import PPO

from helpers import frozen, run_python
from multigrid import Game, GridConfig, PartSpec, env, parallel_env
from multigrid.integrations.supersuit import black_death, to_sb3
from single_envs import exact
from vec_envs import SETTINGS, WORLD, SingleRows, play, returned_rows, rows_of

# Newer Pythons warn of what SuperSuit does: it forks, and NumPy's threads are there already.
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")]


@pytest.fixture
def ended_workers():
    """End SuperSuit's worker processes after the test, which close() does not."""
    yield
    for worker in multiprocessing.active_children():
        worker.kill()


@pytest.mark.usefixtures("ended_workers")
@pytest.mark.parametrize(
    "wrap", [lambda one: one, supersuit.clip_reward_v0], ids=["bare", "in a wrapper through an AECEnv"]
)
@pytest.mark.parametrize("num_cpus", [0, 2])
@pytest.mark.parametrize("settings", [{"on_target": "leave"}, {"on_target": "stay", "flatten": True}], ids=str)
def test_supersuits_own_functions_have_the_right_rows(settings, num_cpus, wrap):
    """Through `black_death`, rows of SuperSuit's vector env are those of single envs, each end in its own step."""
    config = GridConfig(**(SETTINGS | settings))
    one = supersuit.pettingzoo_env_to_vec_env_v1(black_death(wrap(parallel_env(config))))
    envs = supersuit.concat_vec_envs_v1(one, 2, num_cpus=num_cpus)
    singles = SingleRows(config, [20, 21], as_supersuit=True)
    singles.has_leaves = True  # `alive` is there in any case
    random = np.random.default_rng(4)
    assert list(map(exact, rows_of(envs.reset(seed=20)[0]))) == singles.reset()
    for _ in range(150):
        actions = random.integers(0, 4, 6)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        returned = observations, rewards, (terminated | truncated).astype(bool), infos
        assert frozen(returned_rows(returned)) == frozen(singles.step(actions.tolist()))
        out_of_time = [bool(info.get("TimeLimit.truncated")) for info in infos]
        assert out_of_time == (truncated & ~terminated).astype(bool).tolist()
    assert ({"alone", "dead"} <= set(singles.ends)) == (config.on_target == "leave")


@pytest.mark.parametrize("settings", [{}, {"flatten": True}, {"on_target": "leave"}], ids=str)
def test_actions_can_be_translated(settings):
    """`action_lambda_v1` translates the actions of both envs, and no `None` of an agent that has ended."""

    def play_on(one, action):
        one.reset(seed=2)
        returned = []
        for _ in one.agent_iter():
            *seen, terminated, truncated, info = one.last()
            returned.append(frozen([*seen, terminated, truncated, info]))
            one.step(None if terminated or truncated else action(len(returned) % 4))
        return returned

    def reverse(one):
        return supersuit.action_lambda_v1(one, lambda action, _: 3 - action, lambda _: Discrete(4))

    plain = play_on(env(**SETTINGS, **settings), lambda action: 3 - action)
    assert play_on(reverse(env(**SETTINGS, **settings)), lambda action: action) == plain
    one, other = reverse(parallel_env(**SETTINGS, **settings)), parallel_env(**SETTINGS, **settings)
    assert frozen(one.reset(seed=2)) == frozen(other.reset(seed=2))
    while other.agents:
        actions = {agent: index % 4 for index, agent in enumerate(other.agents)}
        reversed_actions = {agent: 3 - action for agent, action in actions.items()}
        assert frozen(one.step(actions)) == frozen(other.step(reversed_actions))


@pytest.mark.filterwarnings("ignore:agent_selector is deprecated:DeprecationWarning")
def test_vectorize_aec_env_shows_an_end_to_one_agent():
    """As its page says, SuperSuit's vector env of AEC envs shows only one of several agents that they have ended."""
    envs, ended = supersuit.vectorize_aec_env_v0(env(**SETTINGS, flatten=True), 2), set()
    envs.reset(seed=0)
    for _ in range(400):
        agent = envs.agent_selection
        _, _, terminated, truncated, *_ = envs.last()
        ended |= {agent} if (terminated | truncated).any() else set()
        envs.step(np.zeros(2, int))
    assert ended == {"agent_0"}


class Picture(Game):
    """A game in which agents observe a picture."""

    parts = {"picture": PartSpec(np.uint8, "4 5 3", 0, 255, "A picture.")}  # noqa: RUF012 - as in other games

    def write_picture(w, s, e, i, out):  # noqa: D102, N805
        out[:] = 0


def test_pettingzoos_tutorial_trains():
    """The lines of PettingZoo's tutorials for Stable-Baselines3 run, `vector_state` included, and copies start alike.

    Seeded after they were made, the copies differ.
    """
    one = supersuit.black_death_v3(parallel_env(num_agents=3, size=(6, 4), flatten=True))
    assert one.unwrapped.vector_state
    one.reset(seed=0)
    assert str(one.metadata.get("name")) == "multigrid_v0"
    one = supersuit.pettingzoo_env_to_vec_env_v1(one)
    envs = supersuit.concat_vec_envs_v1(one, 8, num_cpus=1, base_class="stable_baselines3")
    assert len(np.unique(envs.reset()[::3], axis=0)) == 1
    envs.venv.reset(seed=0)
    assert len(np.unique(envs.reset()[::3], axis=0)) == 8
    model = PPO("MlpPolicy", envs, n_steps=8, batch_size=96).learn(total_timesteps=192)
    turns = env(num_agents=3, size=(6, 4), flatten=True)
    assert turns.unwrapped.vector_state
    turns.reset(seed=0)
    for _ in turns.agent_iter():
        seen, _, terminated, truncated, _ = turns.last()
        if terminated or truncated:
            break
        turns.step(model.predict(seen, deterministic=True)[0])
    envs.close()


def test_pettingzoos_tutorial_trains_on_images():
    """Its lines for images run: `vector_state` is False, and a CnnPolicy trains on resized and stacked frames."""
    one = supersuit.black_death_v3(parallel_env(num_agents=2, size=(6, 4), observe="rgb", on_target="leave"))
    assert not one.unwrapped.vector_state
    one = supersuit.resize_v1(supersuit.color_reduction_v0(one, mode="B"), x_size=36, y_size=36)
    one = supersuit.pettingzoo_env_to_vec_env_v1(supersuit.frame_stack_v1(one, 3))
    envs = supersuit.concat_vec_envs_v1(one, 2, num_cpus=1, base_class="stable_baselines3")
    envs.venv.reset(seed=0)
    with pytest.warns(UserWarning, match="`render_mode` attribute is not defined"):
        model = PPO("CnnPolicy", envs, n_steps=8, batch_size=16, n_epochs=1)
    model.learn(total_timesteps=64)
    assert model.observation_space.shape == (3, 36, 36)
    envs.close()


@pytest.mark.parametrize(
    ("settings", "is_vector"),
    [
        *(
            ({"observe": "view", "view_radius": 1}, True),
            ({}, True),
            ({"game": Picture, "observe": ("picture",)}, True),
        ),
        ({"game": Picture, "observe": "picture"}, False),
        *(({"observe": "rgb"}, False), ({"observe": ("rgb",)}, True)),
    ],
    ids=str,
)
def test_pictures_are_told_from_vectors(settings, is_vector):
    """`vector_state` is False only if a picture is the whole observation; a view of 3 x 3 cells is none."""
    assert parallel_env(num_agents=2, **settings).vector_state is is_vector
    assert env(num_agents=2, **settings).unwrapped.vector_state is is_vector


WITHOUT_TORCH = """
import sys
sys.modules.update(torch=None, stable_baselines3=None)  # so that importing them fails
import multigrid, supersuit
from multigrid.integrations.supersuit import black_death, to_sb3
env = black_death(multigrid.parallel_env(on_target="leave"))
envs = supersuit.concat_vec_envs_v1(supersuit.pettingzoo_env_to_vec_env_v1(env), 3)
envs.reset(seed=0)
print(len(envs.step([0] * 6)[1]))
try:
    to_sb3(multigrid.GridConfig())
except ModuleNotFoundError as error:
    print(error)
"""


def test_nothing_but_to_sb3_needs_torch():
    """Without torch and Stable-Baselines3 agents leave and envs step; `to_sb3` alone names the extra that it needs."""
    done = run_python("-c", WITHOUT_TORCH)
    said = r"6\nmultigrid.integrations.supersuit.to_sb3 needs stable_baselines3, which is not .*\[train\]\"\n"
    assert re.fullmatch(said, done.stdout), done.stderr


def test_processes_change_nothing(closing):
    """With 0, 1, 2 or more processes than copies, a seed gives the same play to the bit, infos and later resets too."""
    plays = []
    for num_cpus in (0, 1, 2, 9):
        vec_env = closing(to_sb3(WORLD, 5, num_cpus=num_cpus, seed=3))
        plays.append(play(vec_env, 60) + play(vec_env, 20))
    assert all(one == plays[0] for one in plays[1:])


@pytest.mark.parametrize("num_cpus", [0, 2])
def test_options_are_those_of_every_copy(num_cpus, closing):
    """A dict sets the layout of each copy in the next reset alone; for SuperSuit's copies there is no list."""
    vec_env = closing(to_sb3(GridConfig(size=(6, 4), num_agents=2), 3, num_cpus=num_cpus, seed=0))
    vec_env.set_options({"agents": [(0, 0), (4, 1)], "targets": [(2, 2), (5, 3)]})
    with pytest.raises(TypeError, match="options are of type list; expected one dict for all copies"):
        vec_env.set_options([{}] * 6)
    seen = vec_env.reset()
    assert [seen[part].tolist() for part in ("agent", "target")] == [[[0, 0], [4, 1]] * 3, [[2, 2], [5, 3]] * 3]
    assert vec_env.reset()["agent"].tolist() != seen["agent"].tolist()


def test_what_cannot_be_played_is_refused():
    """Too few copies or processes is an error that shows both numbers and starts nothing; so is an AECEnv by type."""
    for copies, num_cpus in ((0, 0), (-1, 0), (2, -1)):
        with pytest.raises(ValueError, match=f"copies is {copies} and num_cpus {num_cpus}; expected"):
            to_sb3(WORLD, copies, num_cpus=num_cpus)
    assert multiprocessing.active_children() == []
    with pytest.raises(TypeError, match="env is of type MultiGridAECEnv; expected a PettingZoo ParallelEnv"):
        black_death(env(WORLD))


def test_what_cannot_be_reached_says_so(closing):
    """Reading what is not shared, setting anything and calling anything are errors that name it."""
    vec_env = closing(to_sb3(WORLD, 2))
    for call, error, complaint in (
        (lambda: vec_env.get_attr("state"), AttributeError, r"'state' is not .*\['config', 'render_mode'\]"),
        (lambda: vec_env.set_attr("max_cycles", 5), NotImplementedError, "'max_cycles' cannot be set"),
        (lambda: vec_env.env_method("state"), NotImplementedError, r"state\(\) cannot be called"),
    ):
        with pytest.raises(error, match=complaint):
            call()


@pytest.mark.parametrize(("num_cpus", "killed"), [(0, False), (2, False), (2, True)])
def test_closing_leaves_nobody_behind(num_cpus, killed):
    """close() ends all workers, without an error, also those that Ctrl-C in a terminal has reached, and once more."""
    vec_env = to_sb3(WORLD, 3, num_cpus=num_cpus, seed=0)
    vec_env.reset()
    workers = multiprocessing.active_children()
    for worker in workers if killed else []:
        worker.kill()
        worker.join()
    vec_env.close()
    assert [worker.exitcode for worker in workers] == [-9 if killed else 0] * num_cpus
    assert multiprocessing.active_children() == []
    vec_env.close()


FORGETFUL = """
import multigrid, sys
from multigrid.integrations.supersuit import to_sb3
if __name__ == "__main__":
    vec_env = to_sb3(multigrid.GridConfig(), 2, num_cpus=2, seed=0)
    vec_env.reset()
    if "fail" in sys.argv:
        raise SystemExit(3)
"""


@pytest.mark.parametrize(("arguments", "code"), [pytest.param([], 0, marks=pytest.mark.long), (["fail"], 3)])
def test_python_ends_though_nobody_closed(arguments, code):
    """A program that forgets close(), or fails before it, ends at once and quietly, and its workers with it."""
    result = run_python("-c", FORGETFUL, *arguments, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")
