"""HARL: its runners take the vector environment, and the launcher trains with its runner and reports both ends.

HARL is on no package index. The stand-ins make the calls of its commit d539bad: `collect` those of
harl/runners/on_policy_base_runner.py, `evaluate` those of its evaluation, and the checkout of the launcher's tests
those that join harl/runners, harl/utils/envs_tools.py, harl/utils/configs_tools.py and harl/common/base_logger.py.
"""

import json
import sys

import numpy as np
import pytest

import multigrid
from examples.harl import MultiGridShareVecEnv, launcher
from examples.named_worlds import name_world
from helpers import run_python
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.wrappers import StandardParallel, standard_config
from own_game import GAME, ORIGINALS, check_brought

WORLD = {"walls": "....\n.#..\n..#.", "num_agents": 2, "max_cycles": 25}
MODES = ["park", "leave", "stay", "restart"]
RIGHT, UP = 0, 1


def make(num_worlds=3, *, state_type="EP", is_evaluation=False, seed=5, **fields):
    """Worlds that HARL would make."""
    config = name_world(**{**WORLD, **fields})
    return MultiGridShareVecEnv(config, num_worlds, seed=seed, state_type=state_type, is_evaluation=is_evaluation)


def collect(envs, num_steps, act):
    """What an on-policy runner stores of some steps, and each step's infos."""
    shape = (envs.num_envs, envs.n_agents)
    shapes = [envs.observation_space[0].shape, envs.share_observation_space[0].shape, (envs.action_space[0].n,)]
    first = envs.reset()
    assert [array.shape for array in first] == [shape + of_agent for of_agent in shapes]
    names = ("obs", "share_obs", "available_actions")
    stored = {name: [array.copy()] for name, array in zip(names, first, strict=True)}
    stored |= {name: [] for name in ("rewards", "masks", "active_masks", "bad_masks", "dones", "infos")}
    kept = [(array, array.copy()) for array in first]
    for _ in range(num_steps):
        actions = act_all(act, stored["available_actions"][-1])
        obs, share_obs, rewards, dones, infos, available_actions = envs.step(actions)
        assert (rewards.shape, dones.shape) == ((*shape, 1), shape)
        active = ~dones
        active[dones.all(axis=1)] = True
        bad_masks = [[0.0 if info.get("bad_transition") is True else 1.0 for info in world] for world in infos]
        # What was returned before is as it was.
        assert all(np.array_equal(*pair) for pair in kept)
        values = {"obs": obs, "share_obs": share_obs, "available_actions": available_actions, "rewards": rewards}
        values |= {"dones": dones}
        kept = [(value, value.copy()) for value in values.values()]
        values |= {"masks": ~dones.all(axis=1), "active_masks": active, "bad_masks": bad_masks, "infos": infos}
        for name, value in values.items():
            stored[name].append(np.array(value))
    return {name: np.array(values) for name, values in stored.items()}


def act_all(act, masks):
    """The actions of all agents, agent by agent: integers (worlds, agents, 1)."""
    return np.array([act(masks[:, agent]) for agent in range(masks.shape[1])]).transpose(1, 0, 2)


def drawn(seed):
    """A policy of random available actions, integers (E, 1)."""
    generator = np.random.default_rng(seed)
    return lambda masks: np.array([[generator.choice(np.flatnonzero(mask))] for mask in masks])


def right(masks):
    """The policy that walks to the right."""
    return np.full((len(masks), 1), RIGHT)


class SingleWorld:
    """A ParallelEnv with a row for each agent, and zeros for those that have left."""

    def __init__(self, envs, seed, state_type):
        self.env = StandardParallel(multigrid.parallel_env(envs._worlds.config))
        self.agents, self.state_type = self.env.possible_agents, state_type
        self.zeros = {"observation": np.zeros(envs.observation_space[0].shape), "action_mask": np.eye(4)[3]}
        self.observations, _ = self.env.reset(seed=seed)

    def views(self):
        """The observations, the states and the masks."""
        rows = [self.observations.get(agent, self.zeros) for agent in self.agents]
        own = np.array([row["observation"] for row in rows], np.float32)
        states = np.array([self.env.state()] * 2)
        states = states if self.state_type == "EP" else np.concatenate([states, own], axis=1)
        return own, states, np.array([row["action_mask"] for row in rows])

    def step(self, actions):
        """The rewards, who is not to be trained further, whether the episode is over, and whether by its limit."""
        given = {agent: actions[self.agents.index(agent)] for agent in self.env.agents}
        self.observations, rewards, terminations, _, infos = self.env.step(given)
        rewards = [rewards.get(agent, 0.0) for agent in self.agents]
        parked = {agent for agent in infos if infos[agent]["distance"] == 0}
        active = set(self.env.agents) - (parked if self.env.unwrapped.config.on_target == "park" else set())
        rewards = [np.mean(rewards)] * 2 if self.state_type == "EP" else rewards
        over = not self.env.agents
        return rewards, [over or agent not in active for agent in self.agents], over, not all(terminations.values())


@pytest.mark.parametrize("state_type", ["EP", "FP"])
@pytest.mark.parametrize("on_target", MODES)
def test_worlds_play_what_single_envs_play(on_target, state_type):
    """World i, seeded s + i, plays episode after episode what a ParallelEnv does; each ended one is reset at once."""
    envs = make(on_target=on_target, state_type=state_type)
    stored, act = collect(envs, 120, drawn(3)), drawn(3)
    actions = [act_all(act, masks)[..., 0] for masks in stored["available_actions"][:-1]]
    names = {"throughput"} if on_target == "restart" else {"csr", "isr", "sum_of_costs", "makespan"}
    ends = set()
    for world in range(3):
        single = SingleWorld(envs, 5 + world, state_type)
        for step in range(120):
            for name, view in zip(("obs", "share_obs", "available_actions"), single.views(), strict=True):
                np.testing.assert_array_equal(stored[name][step, world], view)
            rewards, idle, over, limited = single.step(actions[step][world])
            assert stored["rewards"][step, world, :, 0].tolist() == rewards
            assert stored["dones"][step, world].tolist() == idle
            first, second = stored["infos"][step, world]
            if not over:
                assert first == second == {}
                continue
            ends.add(limited)
            for name, view in zip(("obs", "state", "avail_actions"), single.views(), strict=True):
                np.testing.assert_array_equal(first.pop(f"original_{name}"), view)
            assert first == second
            assert first.pop("bad_transition") is limited
            metrics = single.env.unwrapped.metrics()
            assert first == {name: metrics[name] for name in names}
            single.observations, _ = single.env.reset()
    assert ends == ({True} if on_target == "restart" else {True, False})


@pytest.mark.parametrize("on_target", ["park", "leave"])
def test_active_masks(on_target):
    """Who has left or is parked is inactive from the next step to the end of the episode, and active in the next."""
    envs = make(1, walls="a.A..\nb...B", num_agents=None, on_target=on_target)
    stored = collect(envs, 6, right)
    assert stored["active_masks"][:, 0].tolist() == [[1, 1], [0, 1], [0, 1], [1, 1], [1, 1], [0, 1]]
    assert stored["masks"][:, 0].tolist() == [1, 1, 1, 0, 1, 1]
    assert stored["rewards"][:, 0, :, 0].tolist() == [[0, 0], [0.5, 0.5], [0, 0], [0.5, 0.5], [0, 0], [0.5, 0.5]]
    assert (stored["bad_masks"] == 1).all()


def test_agents_drawn_at_every_reset():
    """Whoever does not take part is a row of zeros with one action and no reward, and inactive after the first step."""
    envs = make(6, walls=None, size=(4, 3), num_agents=(2, 4), max_cycles=6, state_type="FP")
    stored = collect(envs, 60, drawn(0))
    # A state has four numbers for each agent, which are below 0 for one that has left.
    is_there = stored["share_obs"].reshape(61, 6, 4, -1)[:, :, 0, :16:4] >= 0
    begins = np.concatenate([np.ones((1, 6), bool), stored["dones"].all(axis=2)])
    assert {*is_there[begins].sum(axis=1)} == {2, 3, 4}
    absent = ~is_there
    assert not stored["obs"][absent].any()
    assert stored["obs"][~absent].any(axis=1).all()
    assert (stored["available_actions"][absent] == [0, 0, 0, 1]).all()
    assert not stored["rewards"][absent[:-1]].any()
    assert not stored["active_masks"][absent[:-1] & ~begins[1:, :, None]].any()


def test_a_limit_is_a_bad_transition():
    """At the time limit the step is a bad transition, but not where the last agents arrive in that step."""
    for limit, bad in ((3, True), (4, False)):
        stored = collect(make(1, walls="a.A..\nb...B", num_agents=None, max_cycles=limit), limit, right)
        assert stored["masks"][:, 0].tolist() == [1] * (limit - 1) + [0]
        assert stored["bad_masks"][:, 0].tolist() == [[1, 1]] * (limit - 1) + [[1 - bad] * 2]


def test_a_game():
    """What a runner stores of a game of one's own has its actions, its part and its rewards; the infos its metric."""
    envs = MultiGridShareVecEnv(standard_config(GAME), 8, seed=5, state_type="FP")
    assert envs.action_space[0].n == 6
    actions, act = [], drawn(3)

    def act_and_note(masks):
        actions.append(act(masks))
        return actions[-1]

    stored = collect(envs, 120, act_and_note)
    check_brought(stored["obs"], actions, stored["rewards"])
    assert {info["opened"] for info in stored["infos"].ravel() if info} == {0, 1}


@pytest.mark.parametrize("game_id", ORIGINALS)
def test_the_originals(game_id):
    """By its id, a runner gets of rware or lb-foraging what their worlds play, and all agents the mean reward."""
    size, num_actions = ORIGINALS[game_id]
    envs = MultiGridShareVecEnv(name_world(game_id), 4, seed=5)
    generator = np.random.default_rng(3)
    taken = generator.integers(0, num_actions, (20, 2, 4, 1))
    rows = iter(taken.reshape(-1, 4, 1))
    stored = collect(envs, 20, lambda _: next(rows))
    worlds = multigrid.games.vector_env(game_id, 4)
    seen, paid = [worlds.reset(seed=5)[0]], []
    for actions in taken[..., 0]:
        observations, rewards, *_ = worlds.step(actions.T.ravel())
        seen.append(observations)
        paid.append(rewards.reshape(4, 2).mean(axis=1))
    np.testing.assert_array_equal(stored["obs"].reshape(21, 8, size), seen)
    np.testing.assert_allclose(stored["rewards"][..., 0], np.repeat(np.array(paid)[..., None], 2, axis=2), rtol=1e-6)


def evaluate(envs, num_episodes, act):
    """What HARL's evaluation keeps: the return and the last info of the first episodes that end."""
    _, _, masks = envs.reset()
    returns, ended, running = [], [], np.zeros(envs.num_envs)
    while len(returns) < num_episodes:
        _, _, rewards, dones, infos, masks = envs.step(act_all(act, masks))
        running += rewards[:, 0, 0]
        for world in np.flatnonzero(np.all(dones, axis=1)):
            returns.append((world, running[world]))
            ended.append(infos[world][0])
            running[world] = 0
    return returns, ended


@pytest.mark.parametrize("on_target", ["park", "leave", "stay"])
def test_an_evaluation_plays_each_world_once(on_target):
    """Each world ends once, whatever its episode's length, and each evaluation plays the same episodes."""
    envs = make(40, is_evaluation=True, on_target=on_target)
    returns, ended = evaluate(envs, 40, drawn(1))
    assert sorted(world for world, _ in returns) == list(range(40))
    lengths = [info["makespan"] for info in ended]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    for (world, total), info in zip(returns, ended, strict=True):
        assert {name: envs.results[name][world] for name in ("csr", "isr", "makespan")}.items() <= info.items()
        assert total == pytest.approx(info["csr"] if on_target == "stay" else info["isr"])
    kept = envs.results
    assert np.isnan(kept["throughput"]).all()
    again, _ = evaluate(envs, 40, drawn(1))
    assert again == returns
    np.testing.assert_array_equal(envs.results["csr"], kept["csr"])


def test_a_training_goes_on_with_its_streams():
    """Without evaluation, a second reset begins other episodes, and worlds with other seeds others again."""
    envs = make(4)
    first, second = envs.reset()[1][:, 0], envs.reset()[1][:, 0]
    assert len({row.tobytes() for row in (*first, *second)}) == 8
    np.testing.assert_array_equal(make(4).reset()[1][:, 0], first)
    np.testing.assert_array_equal(make(3, seed=6).reset()[1][:, 0], first[1:])


def test_spaces_and_bad_arguments():
    """HARL reads spaces by their class names, and seeds each agent's; what is no state or action changes nothing."""
    envs = make(2, state_type="FP")
    assert {type(space).__name__ for space in envs.observation_space + envs.share_observation_space} == {"Box"}
    assert [type(space).__name__ for space in envs.action_space] == ["Discrete"] * 2
    assert len({id(space) for space in envs.action_space}) == 2
    obs, share_obs, _ = envs.reset()
    assert envs.observation_space[1].contains(obs[0, 1])
    assert envs.share_observation_space[1].contains(share_obs[0, 1])
    with pytest.raises(NotImplementedError, match="not drawn"):
        envs.render()
    envs.close()
    with pytest.raises(ValueError, match="state_type is 'XP'; expected one of 'EP', 'FP'"):
        make(state_type="XP")
    for actions, error, message in (
        (np.zeros((2, 1, 1), int), ValueError, "expected integers of shape"),
        (np.zeros((2, 2, 1)), TypeError, "float64"),
    ):
        with pytest.raises(error, match=message):
            envs.step(actions)
    np.testing.assert_array_equal(envs._envs.state(), share_obs[:, 0, : envs._envs.state().shape[1]])


FILES = {
    **{f"harl/{name}__init__.py": "" for name in ("", "utils/", "common/")},
    "harl/envs/__init__.py": "LOGGER_REGISTRY = {}\n",
    "harl/utils/envs_tools.py": "def get_num_agents(env, env_args, envs):\n    return None\n",
    "harl/utils/configs_tools.py": """
def get_task_name(env, env_args):
    return None

def init_dir(env, env_args):
    return get_task_name(env, env_args)
""",
    "harl/common/base_logger.py": """
class BaseLogger:
    def __init__(self, args, env_args):
        self.env_args, self.logged = env_args, []
        self.task_name = self.get_task_name()

    def eval_init(self):
        self.total_num_steps = self.episode * 6

    def eval_thread_done(self, tid):
        pass

    def eval_log(self, eval_episode):
        pass

    def log_env(self, env_infos):
        self.logged.append({name: len(values) for name, values in env_infos.items()})
""",
    "harl/runners/__init__.py": """
import json
import numpy as np
from harl.utils.envs_tools import make_eval_env, make_train_env, get_num_agents
from harl.utils.configs_tools import init_dir
from harl.envs import LOGGER_REGISTRY

class Actor:
    def act(self, obs, rnn_states, masks, available_actions=None, deterministic=False):
        assert not deterministic, "no most probable actions"
        return available_actions.argmax(axis=1)[:, None]

class Runner:
    def __init__(self, args, algo_args, env_args):
        self.algo_args = algo_args
        self.task = init_dir(args["env"], env_args)
        seed, train, test = algo_args["seed"]["seed"], algo_args["train"], algo_args["eval"]
        self.envs = make_train_env(args["env"], seed, train["n_rollout_threads"], env_args)
        self.eval_envs = make_eval_env(args["env"], seed, test["n_eval_rollout_threads"], env_args)
        self.num_agents = get_num_agents(args["env"], env_args, self.envs)
        self.actor = [Actor()] * self.num_agents
        self.logger = LOGGER_REGISTRY[args["env"]](args, env_args)
        self.calls = []

    def prep_rollout(self):
        self.calls.append("prep_rollout")

    def run(self):
        self.calls.append("run")
        self.logger.episode = 2
        self.envs.reset()
        self.envs.step(np.zeros((self.envs.num_envs, self.num_agents, 1), np.int64))

    def eval(self):
        self.logger.eval_init()
        episodes = 0
        _, _, masks = self.eval_envs.reset()
        while episodes < self.algo_args["eval"]["eval_episodes"]:
            seen = masks.swapaxes(0, 1)
            acts = [actor.act(None, None, None, one, deterministic=True) for actor, one in zip(self.actor, seen)]
            _, _, _, dones, self.logger.eval_infos, masks = self.eval_envs.step(np.array(acts).transpose(1, 0, 2))
            for world in np.flatnonzero(np.all(dones, axis=1)):
                episodes += 1
                self.logger.eval_thread_done(world)
        self.logger.eval_log(episodes)

    def save(self):
        self.calls.append("save")

    def close(self):
        self.envs.close()
        told = {"calls": self.calls, "task": self.task, "logged": self.logger.logged, "agents": self.num_agents}
        told |= {"algo_args": self.algo_args, "seeds": list(self.envs._worlds.np_random_seed)}
        print(json.dumps({**told, "shape": self.eval_envs.reset()[1].shape}))

RUNNER_REGISTRY = {"mappo": Runner}
""",
    "harl/configs/algos_cfgs/mappo.yaml": """
seed: {seed: 1}
train: {n_rollout_threads: 4, num_env_steps: 100}
eval: {use_eval: True, n_eval_rollout_threads: 3, eval_episodes: 6}
algo: {gamma: 0.99}
""",
}


@pytest.fixture
def checkout(tmp_path):
    """A folder with what the launcher takes of HARL; it must stay as it is."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    yield tmp_path
    assert all((tmp_path / name).read_text() == text for name, text in FILES.items())


def test_the_launcher_trains(checkout):
    """Flags reach the world and the algorithm; the metrics of held-out episodes are said before and after."""
    words = ["--map_name", "warehouse-9x7-2", "--on_target", "leave", "--max_cycles", "20", "--gamma", "0.9"]
    words += ["--num_agents", "2,3"]
    done = run_python("-m", "examples.harl", str(checkout), "--seed", "8", *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"calls"')))
    assert told["calls"] == ["prep_rollout", "run", "prep_rollout", "save"]
    assert (told["task"], told["agents"], told["shape"]) == ("warehouse-9x7-2", 3, [6, 3, 12])
    assert told["algo_args"]["algo"] == {"gamma": 0.9}
    assert told["algo_args"]["eval"] == {"use_eval": True, "n_eval_rollout_threads": 6, "eval_episodes": 6}
    assert told["logged"] == [dict.fromkeys(["eval_csr", "eval_isr", "eval_sum_of_costs", "eval_makespan"], 6)] * 2
    first = told["seeds"][0]
    assert told["seeds"] == [first, first + 1, first + 2, first + 3]
    assert first >= FIRST_TRAINING_SEED
    assert "Evaluation at step 0: csr 0.000" in done.stdout
    assert "Evaluation at step 12: csr 0.000" in done.stdout
    assert "csr: 0.000 before training, 0.000 after" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algo", "dqn"], "algo is dqn; expected one of mappo"),
        (["--agents", "3"], "there is no flag --agents; expected some of .*gamma.*num_agents"),
        (["--gamma"], "expected pairs of --NAME VALUE"),
        (["gamma", "3"], "expected pairs of --NAME VALUE"),
    ],
)
def test_bad_flags(checkout, words, message):
    """Flags that are not known are refused, where HARL's own program ignores them."""
    with pytest.raises(SystemExit, match=message):
        launcher._parse(words, checkout)


def test_evaluations_can_be_greedy(checkout):
    """The most probable actions are taken in an evaluation only where they are asked for."""
    for value, greedy in (("false", False), ("True", True)):
        words = ["--size", "4,3", "--max_cycles", "5", "--greedy_evaluation", value]
        done = run_python("-m", "examples.harl", str(checkout), *words)
        # The stand-in's actor has no most probable actions.
        assert ("no most probable actions" in done.stderr) == greedy, done.stderr
        assert (done.returncode != 0) == greedy


def test_without_a_checkout(tmp_path):
    """The launcher says what it expected, and how it is used."""
    before = list(sys.path)
    for word, message in ((str(tmp_path), "expected the folder of a checkout of HARL"), ("--help", "^0$")):
        with pytest.raises(SystemExit, match=message):
            launcher.main([word])
    assert sys.path == before
