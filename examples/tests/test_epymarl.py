"""EPyMARL: its wrapper takes the ids, its runners the masked environment, and the launcher runs its main.py.

EPyMARL is on no package index. The tests make the calls of its commit cbc38c0: those of ids what src/envs/gymma.py and
src/envs/wrappers.py call, `play_episode` what src/runners/episode_runner.py calls with the arrays of
src/components/episode_buffer.py, and MAIN what src/main.py, src/run.py and src/envs/__init__.py call.
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
from own_game import GAME, ORIGINALS, check_brought, fields_of

ID = "examples.epymarl:multigrid"
LEAVE = {"walls": "a.A..\nb...B", "on_target": "leave", "max_cycles": 9}
RIGHT, UP = 0, 1


def play_episode(env, act, *, common_reward=True):
    """Play one episode as a runner does, and return what it stores and the last info."""
    env.reset()
    stored = {name: [] for name in ("state", "avail_actions", "obs", "reward", "terminated")}
    info, terminated = {}, False
    while True:
        stored["state"].append(env.get_state())
        stored["avail_actions"].append(env.get_avail_actions())
        stored["obs"].append(env.get_obs())
        if terminated:
            break
        _, reward, terminated, truncated, info = env.step(act(env))
        terminated = terminated or truncated
        stored["terminated"].append(terminated != info.get("episode_limit", False))
        stored["reward"].append([reward] if common_reward else reward)
    stored, sizes = {name: np.array(rows) for name, rows in stored.items()}, env.get_env_info()
    assert stored["state"].shape[1:] == (sizes["state_shape"],)
    assert stored["avail_actions"].shape[1:] == (sizes["n_agents"], sizes["n_actions"])
    assert stored["obs"].shape[1:] == (sizes["n_agents"], sizes["obs_shape"])
    assert len(stored["reward"]) <= env.episode_limit
    return stored, info


def right(_):
    """The policy of two agents that walk to the right."""
    return [RIGHT, RIGHT]


@pytest.mark.parametrize("name", ["warehouse-9x7-2", "delivery-17x13-8"])
def test_gymma_takes_an_id_of_the_suite(name):
    """An id of a scenario plays episodes on new layouts, with flat float32 observations, up to the limit."""
    env = TimeLimit(gymnasium.make(f"{ID}-{name}-v0", max_cycles=64), max_episode_steps=64)
    assert not hasattr(env.unwrapped, "seed")
    assert not hasattr(env.unwrapped, "state_size")
    env.reset(seed=3)
    (one, info), (other, _) = (env.reset(seed=None, options=None) for _ in range(2))
    assert (len(one), info) == (env.unwrapped.n_agents, {})
    sizes = [gymnasium.spaces.flatdim(space) for space in env.observation_space]
    flat = [gymnasium.spaces.flatten(*pair) for pair in zip(env.observation_space, one, strict=True)]
    assert [(row.dtype.name, row.shape) for row in flat] == [("float32", (size,)) for size in sizes]
    assert not np.array_equal(one, other)
    steps, done, truncated = 0, False, False
    while not (done or truncated):
        actions = [int(steps % space.n) for space in env.action_space]
        _, rewards, done, truncated, info = env.step(actions)
        steps += 1
        assert float(sum(rewards)) >= 0
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
        observations, _ = single.reset(seed=7 if episode == 0 else None)
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


def test_agents_drawn_at_every_reset():
    """Whoever does not take part is a row of zeros with one action and no reward; the others play as if alone."""
    fields = {"size": (4, 3), "num_agents": (2, 4), "max_cycles": 6}
    env, single = MaskedEnv(seed=3, common_reward=False, **fields), multigrid.parallel_env(**fields)
    generator, counts = np.random.default_rng(0), set()

    def act(env):
        return [generator.choice(np.flatnonzero(mask)) for mask in env.get_avail_actions()]

    for episode in range(20):
        stored, info = play_episode(env, act, common_reward=False)
        single.reset(seed=3 if episode == 0 else None)
        count = len(single.agents)
        assert not stored["obs"][:, count:].any()
        assert stored["obs"][:, :count].any(axis=2).all()
        assert (stored["avail_actions"][:, count:] == [0, 0, 0, 1]).all()
        assert not stored["reward"][:, count:].any()
        assert info["isr"] == pytest.approx(stored["reward"].sum() / count)
        counts.add(count)
    assert counts == {2, 3, 4}


def test_a_limit_is_no_terminal_step():
    """What a runner stores as terminated is True for an end by arrivals, and False for one by the limit."""
    # With a limit of 4, both come at once: the last agent arrives in the last step.
    for limit, csr in (({"max_cycles": 9}, 1.0), ({"time_limit": 4}, 1.0), ({"time_limit": 3}, 0.0)):
        stored, info = play_episode(MaskedEnv(walls=LEAVE["walls"], **limit), right)
        assert stored["terminated"].tolist() == [False] * 3 + [True] * int(csr)
        assert (info["episode_limit"], info["csr"], info["isr"]) == (not csr, csr, 0.5 + csr / 2)


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_who_is_done_has_one_action(on_target):
    """An agent that has left or is parked has one available action; what it is told to do changes nothing."""
    states = []
    for ignored in (RIGHT, UP):

        def act(env, ignored=ignored):
            return [ignored if sum(env.get_avail_actions()[0]) == 1 else RIGHT, RIGHT]

        stored, _ = play_episode(MaskedEnv(**{**LEAVE, "on_target": on_target}), act)
        states.append(stored["state"])
        assert stored["avail_actions"][2:4, 0].tolist() == [[0, 0, 0, 1]] * 2
        assert stored["avail_actions"][:4, 1].sum(axis=1).tolist() == [2, 3, 3, 3]
        assert stored["reward"].ravel().tolist() == [0, 1, 0, 1]
        assert stored["obs"][2:, 0].any(axis=1).tolist() == [True, on_target == "park", on_target == "park"]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("settings", "rewards"),
    [
        ({}, [[0], [1], [0], [1]]),
        ({"reward_scalarisation": "mean"}, [[0], [0.5], [0], [0.5]]),
        ({"common_reward": False}, [[0, 0], [1, 0], [0, 0], [0, 1]]),
    ],
)
def test_rewards(settings, rewards):
    """The common reward is the sum or the mean of the agents' rewards; without it each agent has its own."""
    stored, _ = play_episode(MaskedEnv(**LEAVE, **settings), right, common_reward="common_reward" not in settings)
    assert stored["reward"].tolist() == rewards


def test_a_game():
    """What a runner stores of a game of one's own has its actions, its part and its rewards; the info its metric."""
    env, generator = MaskedEnv(seed=1, common_reward=False, **fields_of(GAME)), np.random.default_rng(0)
    assert env.get_env_info()["n_actions"] == 6
    actions = []

    def act(env):
        actions.append([generator.choice(np.flatnonzero(mask)) for mask in env.get_avail_actions()])
        return actions[-1]

    episodes = [play_episode(env, act, common_reward=False) for _ in range(30)]
    seen, paid = (np.concatenate([stored[name] for stored, _ in episodes]) for name in ("obs", "reward"))
    check_brought(seen, actions, paid)
    assert {info["opened"] for _, info in episodes} == {0, 1}


@pytest.mark.parametrize("game_id", ORIGINALS)
def test_the_originals(game_id):
    """Of rware and lb-foraging, `gymma` gets by an id what a runner gets by a key: observations, rewards, the end."""
    size, num_actions = ORIGINALS[game_id]
    env = MaskedEnv(key=game_id, seed=1, common_reward=False)
    assert (env.get_env_info()["obs_shape"], env.get_total_actions()) == (size, num_actions)
    plain = gymnasium.make(f"multigrid.games:multigrid/{game_id}")
    plain = TimeLimit(plain, max_episode_steps=env.episode_limit)
    assert not hasattr(plain.unwrapped, "seed")
    assert {space.n for space in plain.action_space} == {num_actions}
    generator, actions = np.random.default_rng(0), []

    def act(_):
        actions.append(generator.integers(0, num_actions, 2).tolist())
        return actions[-1]

    stored, _ = play_episode(env, act, common_reward=False)
    seen, rewards, done = [plain.reset(seed=1)[0]], [], False
    for chosen in actions:
        assert not done
        observations, paid, done, _, _ = plain.step(chosen)
        seen.append(observations)
        rewards.append(paid)
    assert done
    np.testing.assert_array_equal(stored["obs"], seen)
    assert stored["reward"].tolist() == rewards
    assert stored["terminated"].tolist() == [False] * (len(actions) - 1) + [True]


def test_seeds():
    """The seed is that of the first episode, later ones go on with its stream; `seed` sets that of the next."""
    envs = [MaskedEnv(key="warehouse-9x7-2", time_limit=4, seed=seed) for seed in (5, 5, 6)]
    first, again, other = ([tuple(play_episode(env, right)[0]["state"][0]) for _ in range(3)] for env in envs)
    assert first == again
    assert len({*first, *other}) == 6
    envs[2].seed(5)
    assert tuple(play_episode(envs[2], right)[0]["state"][0]) == first[0]


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
    play_episode(env, right)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([0, 0])
    env.reset()
    before = env.get_state()
    for actions, message in (([0], "there are 1 actions; expected 2"), ([0, 4], "agent_1"), ([0, 1.5], "float")):
        with pytest.raises((ValueError, TypeError), match=message):
            env.step(actions)
    np.testing.assert_array_equal(env.get_state(), before)


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
        "env_args.num_agents=(2,3)", "env_args.observe=('view','offset')", "env_args.max_cycles=40", "t_max=500",
        "seed=9",
    )  # fmt: skip
    assert (told["env"], told["t_max"], told["seed"]) == ("multigrid", 500, 9)
    assert told["env_args"]["observe"] == ["view", "offset"]
    assert told["info"] == {
        "n_agents": 3, "n_actions": 5, "episode_limit": 40, "state_shape": 12,
        "obs_shape": 3 * 11 * 11 + 2,
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
    for word, message in ((str(tmp_path), "expected the folder of a checkout of EPyMARL"), ("--help", "^0$")):
        with pytest.raises(SystemExit, match=message):
            epymarl.main([word])
    assert "smaclite" not in sys.modules
