"""EPyMARL: its wrapper takes the ids, its runners the masked environment, and the launcher runs its main.py.

EPyMARL is on no package index. The stand-ins make the calls of its commit cbc38c0: `Gymma` those of src/envs/gymma.py
and src/envs/wrappers.py, `play_episode` those of src/runners/episode_runner.py with the arrays of
src/components/episode_buffer.py, and the checkout of `test_the_launcher_runs_main` those of src/main.py, src/run.py and
src/envs/__init__.py.
"""

import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TimeLimit

import multigrid
from examples import epymarl
from examples.epymarl import MaskedEnv, TupleEnv, launcher
from examples.named_worlds import name_world
from helpers import run_python
from multigrid.wrappers import StandardParallel

ID = "examples.epymarl:multigrid"
LEAVE = {"walls": "a.A..\nb...B", "on_target": "leave", "max_cycles": 9}
RIGHT, UP = 0, 1


class Gymma:
    """What gymma does with an id."""

    def __init__(self, key, time_limit, seed, **kwargs):
        env = TimeLimit(gymnasium.make(f"{key}", **kwargs), max_episode_steps=time_limit)
        self.env = env
        self.n_agents = env.unwrapped.n_agents
        self.sizes = [gymnasium.spaces.flatdim(space) for space in env.observation_space]
        self.num_actions = max(env.action_space, key=lambda space: space.n).n
        assert not hasattr(env.unwrapped, "seed")
        assert not hasattr(env.unwrapped, "state_size")
        env.reset(seed=seed)

    def flatten(self, observations):
        """What the wrapper FlattenObservation and the padding do."""
        flat = [gymnasium.spaces.flatten(*pair) for pair in zip(self.env.observation_space, observations, strict=True)]
        return [np.pad(row, (0, max(self.sizes) - len(row))) for row in flat]

    def reset(self):
        """Begin an episode."""
        observations, info = self.env.reset(seed=None, options=None)
        return self.flatten(observations), info

    def step(self, actions):
        """Play a step of numbers, with one reward and one end."""
        observations, rewards, done, truncated, info = self.env.step([int(action) for action in actions])
        return self.flatten(observations), float(sum(rewards)), done, truncated, info


def play_episode(env, act, *, common_reward=True):
    """Play one episode as a runner does, and return what it stores and the last info."""
    env.reset()
    sizes = env.get_env_info()
    shapes = {
        "state": (sizes["state_shape"],),
        "avail_actions": (sizes["n_agents"], sizes["n_actions"]),
        "obs": (sizes["n_agents"], sizes["obs_shape"]),
    }
    stored = {name: [] for name in (*shapes, "reward", "terminated")}

    def store():
        seen = {"state": [env.get_state()], "avail_actions": [env.get_avail_actions()], "obs": [env.get_obs()]}
        for name, value in seen.items():
            array = np.array(value)
            assert array.shape == (1, *shapes[name]), name
            stored[name].append(array[0])

    info, terminated = {}, False
    while not terminated:
        store()
        _, reward, terminated, truncated, info = env.step(act(env))
        terminated = terminated or truncated
        stored["terminated"].append(terminated != info.get("episode_limit", False))
        stored["reward"].append(np.array([(reward,)] if common_reward else [tuple(reward)])[0])
    store()
    assert len(stored["reward"]) <= env.episode_limit
    return {name: np.array(rows) for name, rows in stored.items()}, info


def drawn(seed):
    """A policy of random available actions, as tensors of EPyMARL are: an array of int64."""
    generator = np.random.default_rng(seed)

    def act(env):
        masks = np.array(env.get_avail_actions())
        return np.array([generator.choice(np.flatnonzero(mask)) for mask in masks])

    return act


@pytest.mark.parametrize("name", ["warehouse-9x7-2", "delivery-17x13-8"])
def test_gymma_takes_an_id_of_the_suite(name):
    """An id of a scenario plays episodes on new layouts, with flat float32 observations, up to the limit."""
    env = Gymma(f"{ID}-{name}-v0", 64, seed=3, max_cycles=64)
    first, info = env.reset()
    assert (len(first), info) == (env.n_agents, {})
    assert {(row.dtype.name, row.shape) for row in first} == {("float32", (max(env.sizes),))}
    assert not np.array_equal(first, env.reset()[0])
    steps, done, truncated = 0, False, False
    while not (done or truncated):
        _, reward, done, truncated, info = env.step(np.full(env.n_agents, steps % env.num_actions))
        steps += 1
        assert reward >= 0
        assert done or truncated or info == {}
    assert set(info) == {"csr", "isr", "sum_of_costs", "makespan", "episode_limit"}
    assert info["episode_limit"] is (not done)


def test_every_scenario_has_an_id():
    """The ids are multigrid-v0, and one for each scenario of the suite, which `gym.make` finds by the module's name."""
    ids = {name for name in gymnasium.registry if name.startswith("multigrid-")}
    assert ids == {"multigrid-v0", *(f"multigrid-{name}-v0" for name in multigrid.scenarios.names())}
    epymarl.register_ids()
    env = gymnasium.make(f"{ID}-v0", map_name="warehouse-9x7-2", num_agents=3).unwrapped
    assert (type(env), env.n_agents) == (TupleEnv, 3)
    code = "import gymnasium, multigrid; print(sum(name.startswith('multigrid-') for name in gymnasium.registry))"
    assert run_python("-c", code).stdout == "0\n"


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_it_plays_what_a_parallel_env_plays(on_target):
    """Observations, states, masks, rewards and metrics are those of a ParallelEnv; absent agents have zeros."""
    fields = {"walls": "....\n.#..\n..#.", "num_agents": 2, "on_target": on_target, "max_cycles": 40}
    env = MaskedEnv(seed=7, common_reward=False, **fields)
    single = StandardParallel(multigrid.parallel_env(name_world(**fields)))
    agents = single.possible_agents
    generator = np.random.default_rng(0)
    ends = set()
    for episode in range(12):
        env.reset()
        observations, infos = single.reset(seed=7 if episode == 0 else None)
        settled, over, kept = set(), False, []
        while not over:
            # What was returned before is as it was.
            assert all(np.array_equal(*pair) for pair in kept)
            kept = [(value, np.array(value)) for value in (env.get_obs(), env.get_avail_actions(), env.get_state())]
            np.testing.assert_array_equal(env.get_state(), single.state())
            for index, agent in enumerate(agents):
                seen, mask = env.get_obs()[index], env.get_avail_actions()[index]
                if agent in observations:
                    np.testing.assert_array_equal(seen, observations[agent]["observation"])
                else:
                    assert not seen.any()
                free = agent in observations and agent not in settled
                assert mask == (observations[agent]["action_mask"].tolist() if free else [0, 0, 0, 1])
            actions = generator.integers(0, 4, 2)
            _, rewards, terminated, truncated, info = env.step(actions)
            given = {agent: actions[agents.index(agent)] for agent in single.agents}
            observations, expected, terminations, _, infos = single.step(given)
            assert rewards == [expected.get(agent, 0.0) for agent in agents]
            settled = {agent for agent in infos if on_target == "park" and infos[agent]["distance"] == 0}
            settled |= {agent for agent in terminations if terminations[agent]}
            over = not single.agents
            assert (terminated or truncated) == over
            assert terminated == (over and all(terminations.values()))
        metrics = single.unwrapped.metrics()
        assert info.pop("episode_limit") is truncated
        assert info == {name: metrics[name] for name in info}
        assert set(info) == ({"throughput"} if on_target == "restart" else {"csr", "isr", "sum_of_costs", "makespan"})
        ends.add(terminated)
    assert ends == ({False} if on_target == "restart" else {True, False})


def test_a_limit_is_no_terminal_step():
    """What a runner stores as terminated is True for an end by arrivals, and False for one by the limit."""
    stored, info = play_episode(MaskedEnv(walls="a.A..\nb...B", max_cycles=9), lambda _: [RIGHT, RIGHT])
    assert stored["terminated"].tolist() == [False, False, False, True]
    assert (info["episode_limit"], info["csr"]) == (False, 1.0)
    stored, info = play_episode(MaskedEnv(walls="a.A..\nb...B", time_limit=3), lambda _: [RIGHT, RIGHT])
    assert stored["terminated"].tolist() == [False, False, False]
    assert (info["episode_limit"], info["csr"], info["isr"]) == (True, 0.0, 0.5)
    # Both at once: the last agents arrive in the last step.
    stored, info = play_episode(MaskedEnv(walls="a.A..\nb...B", time_limit=4), lambda _: [RIGHT, RIGHT])
    assert (stored["terminated"].tolist()[-1], info["episode_limit"]) == (True, False)


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_who_is_done_has_one_action(on_target):
    """An agent that has left or is parked has one available action; what it is told to do changes nothing."""

    def play(ignored):
        """What is stored when the first agent, once it has a single action left, is told to do another one."""

        def act(env):
            return [ignored if sum(env.get_avail_actions()[0]) == 1 else RIGHT, RIGHT]

        return play_episode(MaskedEnv(**{**LEAVE, "on_target": on_target}), act)[0]

    played = [play(RIGHT), play(UP)]
    for stored in played:
        assert stored["avail_actions"][2:4, 0].tolist() == [[0, 0, 0, 1]] * 2
        assert stored["avail_actions"][:4, 1].sum(axis=1).tolist() == [2, 3, 3, 3]
        assert stored["reward"].ravel().tolist() == [0, 1, 0, 1]
        assert stored["obs"][2:, 0].any(axis=1).tolist() == [True, on_target == "park", on_target == "park"]
    np.testing.assert_array_equal(played[0]["state"], played[1]["state"])


def test_rewards():
    """The common reward is the sum or the mean of the agents' rewards; without it each agent has its own."""

    def rewards(**settings):
        stored, _ = play_episode(
            MaskedEnv(**LEAVE, **settings), lambda _: [RIGHT, RIGHT], common_reward=settings.get("common_reward", True)
        )
        return stored["reward"].tolist()

    assert rewards() == [[0], [1], [0], [1]]
    assert rewards(reward_scalarisation="mean") == [[0], [0.5], [0], [0.5]]
    assert rewards(common_reward=False) == [[0, 0], [1, 0], [0, 0], [0, 1]]


def test_seeds():
    """The seed is that of the first episode, later ones go on with its stream; `seed` sets that of the next."""

    def starts(seed, episodes=3):
        env = MaskedEnv(key="warehouse-9x7-2", time_limit=4, seed=seed)
        return [play_episode(env, drawn(0))[0]["state"][0].tolist() for _ in range(episodes)], env

    first, env = starts(5)
    assert first == starts(5)[0]
    assert len({tuple(start) for start in first + starts(6)[0]}) == 6
    env.seed(5)
    assert play_episode(env, drawn(1))[0]["state"][0].tolist() == first[0]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"time_limit": None, "max_cycles": None}, ValueError, "set time_limit"),
        ({"reward_scalarisation": "max"}, ValueError, "reward_scalarisation is 'max'; expected 'sum' or 'mean'"),
        ({"common_reward": "no"}, TypeError, "common_reward is 'no'; expected True or False"),
        ({"flatten": False}, ValueError, "flatten is False; expected True"),
        ({"key": 5}, TypeError, "map_name is 5; expected a file"),
        ({"pretrained_wrapper": "PretrainedTag"}, ValueError, "leave it null"),
        ({"agents": 3}, TypeError, r"there are no fields \['agents'\]; expected some of"),
        ({"key": "no-such-map"}, FileNotFoundError, "there is no file 'no-such-map'"),
    ],
)
def test_bad_settings(settings, error, message):
    """Settings that cannot be meant are refused, with what is expected."""
    with pytest.raises(error, match=message):
        MaskedEnv(**settings)


def test_bad_steps():
    """A step without an episode, and actions that do not fit the agents, raise and change nothing."""
    env = MaskedEnv(**LEAVE)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([0, 0])
    env.reset()
    before = env.get_state()
    for actions, error, message in [
        ([0], ValueError, "there are 1 actions; expected 2"),
        ([0, 4], ValueError, "agent_1"),
        ([0, 1.5], TypeError, "float"),
    ]:
        with pytest.raises(error, match=message):
            env.step(actions)
    np.testing.assert_array_equal(env.get_state(), before)
    play_episode(env, lambda _: [RIGHT, RIGHT])
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([0, 0])


MAIN = """
import json, os, sys
import yaml
from envs import REGISTRY

def read(name, folder):
    name = next(word.split("=")[1] for word in sys.argv if word.split("=")[0] == name)
    with open(os.path.join(os.path.dirname(__file__), "config", folder, "{}.yaml".format(name))) as file:
        return yaml.load(file, Loader=yaml.FullLoader)

if __name__ == "__main__":
    config = {"seed": 4, **read("--env-config", "envs")}
    for word in sys.argv[sys.argv.index("with") + 1 :]:
        key, value = word.split("=", 1)
        config[key] = yaml.safe_load(value)
    config["env_args"]["seed"] = config["seed"]
    env = REGISTRY[config["env"]](**config["env_args"], common_reward=True, reward_scalarisation="sum")
    env.reset()
    print(json.dumps({**config, "info": env.get_env_info(), "words": sys.argv[1:]}))
"""
SETTINGS = "env: gymma\nenv_args: {key: null, time_limit: 100, pretrained_wrapper: null}\nt_max: 2050000\n"


@pytest.fixture
def checkout(tmp_path):
    """A folder with the files of EPyMARL that the launcher touches; it must stay as it is."""
    files = {
        "main.py": MAIN,
        "envs/__init__.py": "import smaclite\nREGISTRY = {'gymma': dict}\n",
        "config/envs/gymma.yaml": SETTINGS,
        "config/envs/mine.yaml": "env: multigrid\nenv_args: {size: [6, 3], time_limit: 8}\n",
    }
    for name, text in files.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    yield tmp_path
    left = {str(path.relative_to(tmp_path / "src")) for path in tmp_path.rglob("*") if path.suffix in (".py", ".yaml")}
    assert left == set(files)
    assert all((tmp_path / "src" / name).read_text() == text for name, text in files.items())


def launch(checkout, *words):
    """Run the launcher as a user does, and return what the stand-in printed."""
    done = run_python("-m", "examples.epymarl", str(checkout), *words, cwd=checkout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_launcher_runs_main(checkout):
    """Fields of the world reach the env through a file of settings, with the world's limit; the rest is EPyMARL's."""
    told = launch(
        checkout, "--config=qmix", "with", "env_args.key=warehouse-9x7-2", "env_args.on_target=leave",
        "env_args.observe=('view','offset')", "env_args.max_cycles=40", "t_max=500", "seed=9",
    )  # fmt: skip
    assert (told["env"], told["t_max"], told["seed"]) == ("multigrid", 500, 9)
    assert told["env_args"]["observe"] == ["view", "offset"]
    assert told["info"] == {
        "n_agents": 2, "n_actions": 5, "episode_limit": 40, "state_shape": 8, "obs_shape": 3 * 11 * 11 + 2,
    }  # fmt: skip
    assert told["words"][1:] == ["--config=qmix", "with", "t_max=500", "seed=9"]
    # With a file of settings of the user's, the launcher adds nothing but the environment.
    words = ["--config=qmix", "--env-config=mine", "with", "t_max=5"]
    told = launch(checkout, *words)
    assert (told["words"], told["info"]["episode_limit"]) == (words, 8)


def test_the_launcher_knows_the_limit_of_an_id(checkout):
    """For gymma, too, the limit is that of the world, which the id names."""
    told = launch(checkout, "--config=qmix", "with", "env=multigrid", "env_args.time_limit=7", "env_args.size=(4,3)")
    assert told["info"]["episode_limit"] == 7
    key = f"env_args.key={ID}-delivery-17x13-8-v0"
    sys_argv = launcher._replace_env_args(["--config=qmix", "with", "env=gymma", key], checkout / "src", checkout)
    settings = Path(f"{sys_argv[0].partition('=')[2]}.yaml")
    assert json.loads(settings.read_text())["env_args"]["time_limit"] == 64
    settings.unlink()
    shorter = ["--config=qmix", "with", "env=gymma", key, "env_args.time_limit=20"]
    with pytest.raises(SystemExit, match=r"expected env_args.max_cycles=... in its place"):
        launcher._replace_env_args(shorter, checkout / "src", checkout)


def test_without_a_checkout(tmp_path):
    """The launcher says what it expected, and how it is used."""
    with pytest.raises(SystemExit, match="expected the folder of a checkout of EPyMARL"):
        epymarl.main([str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        epymarl.main(["--help"])
    assert (end.value.code, "smaclite" in sys.modules) == (0, False)
