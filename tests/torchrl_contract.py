"""The tests of `MultiGridTorchRLEnv`, which every recipe with a TorchRL imports: one for each version of it."""

import numpy as np
import pytest
import torch
from tensordict import TensorDictBase
from torchrl.envs.utils import MarlGroupMapType, check_env_specs
from torchrl.modules import MaskedCategorical

import multigrid
from multigrid import GridConfig
from multigrid.integrations.torchrl import MultiGridTorchRLEnv
from multigrid.maps import RandomWalls
from multigrid.wrappers import StandardParallel, standard_config
from own_game import GAME, check_brought

# Neither square nor symmetric, and two maps.
MAPS = [
    np.array([list("....#.."), list("..#...."), list("......#"), list(".#.....")]).T == "#",
    np.array([list("......."), list(".##.#.."), list("...#..."), list("...#...")]).T == "#",
]
MODES = [(mode, reward) for mode in ("park", "leave", "stay", "restart") for reward in ("individual", "shared")]
FLAGS = ("done", "terminated", "truncated")


def config_of(on_target="leave", reward="individual", **settings):
    """A world with short episodes."""
    known = {"walls": np.stack(MAPS), "num_agents": 3, "max_cycles": 11, "observe": ("offset", "others")}
    return GridConfig(**(known | {"on_target": on_target, "reward": reward} | settings))


def check_equal(one, other):
    """Fail unless two TensorDicts have the same keys and equal values, NaNs included."""
    torch.testing.assert_close(one.to_dict(), other.to_dict(), rtol=0, atol=0, equal_nan=True)


class Oracle:
    """One world, played by a ParallelEnv, and what the adapter should say of it, worked out agent by agent."""

    def __init__(self, config, seed):
        self.config = config
        self.env = StandardParallel(multigrid.parallel_env(standard_config(config)))
        self.shape = self.env.observation_space("agent_0")["observation"].shape
        self.reset(seed)

    def reset(self, seed=None):
        """Begin an episode."""
        observations, _ = self.env.reset(seed=seed)
        self.left = dict.fromkeys(self.env.possible_agents, False)
        return {agent: self.seen(agent, observations) for agent in self.left}

    def seen(self, agent, observations):
        """What the adapter should show of an agent, given the dict of the ParallelEnv."""
        only = np.arange(self.config.num_actions) == self.config.num_actions - 1
        shown = observations.get(agent, {"observation": np.zeros(self.shape), "action_mask": only})
        mask = only if self.left[agent] else shown["action_mask"].astype(bool)
        return {"observation": shown["observation"], "action_mask": mask, "mask": not self.left[agent]}

    def step(self, actions):
        """Play a step, and return what it should say of each agent and of the world."""
        present, is_leave = list(self.env.agents), self.config.on_target == "leave"
        named = {agent: int(action) for agent, action in zip(self.left, actions, strict=True) if agent in present}
        observations, rewards, terminated, truncated, _ = self.env.step(named)
        self.left |= {agent: is_leave and terminated[agent] for agent in present}
        over = not self.env.agents
        ends = over and all(terminated.get(agent, True) for agent in self.left)
        world = {"done": over, "terminated": ends, "truncated": over and any(truncated.values())}
        agents = {}
        for agent in self.left:
            own = {"terminated": terminated.get(agent, True), "truncated": truncated.get(agent, False)}
            own |= {"done": any(own.values()), "reward": rewards.get(agent, 0)}
            if is_leave and self.config.reward == "shared":
                own = world | {"reward": sum(rewards.values()) / 3}
            agents[agent] = self.seen(agent, observations) | own
        return agents, world

    def wander(self, generator):
        """Return actions that lead to the targets more often than not."""
        x, y, target_x, target_y = self.env.unwrapped.state().T
        across, along = np.where(target_x > x, 0, 2), np.where(target_y > y, 1, 3)
        towards = np.where((target_x != x) & ((target_y == y) | (generator.random(3) < 0.5)), across, along)
        return np.where(generator.random(3) < 0.7, towards, generator.integers(self.config.num_actions, size=3))


def check_agents(data, expected, groups):
    """The data of a world says of each agent exactly what it should."""
    for group, names in groups.items():
        for index, agent in enumerate(names):
            for name, value in expected[agent].items():
                said = data[group, name][index].numpy()
                wanted = np.asarray(value, said.dtype)
                np.testing.assert_array_equal(said.reshape(wanted.shape), wanted, f"{agent} {name}")


@pytest.mark.parametrize(("on_target", "reward"), MODES)
@pytest.mark.parametrize("groups", [None, {"b": ["agent_2", "agent_0"], "a": ["agent_1"]}], ids=["one group", "groups"])
def test_episodes_are_those_of_single_envs(on_target, reward, groups):
    """Whole episodes, resets of some worlds included, are those of ParallelEnvs seeded alike, bit for bit."""
    config = config_of(on_target, reward)
    env = MultiGridTorchRLEnv(config, 4, group_map=groups, seed=5)
    groups = env.group_map
    worlds = [Oracle(config, 5 + e) for e in range(4)]
    data = env.reset()
    generator = np.random.default_rng(0)
    ended = []
    for _ in range(100):
        played = torch.from_numpy(np.stack([world.wander(generator) for world in worlds]))
        for group, names in groups.items():
            data[group, "action"] = played[:, [int(name[-1]) for name in names]]
        data = env.step(data)["next"]
        for e, world in enumerate(worlds):
            expected, ends = world.step(played[e])
            check_agents(data[e], expected, groups)
            assert {name: bool(data[name][e]) for name in FLAGS} == ends
            np.testing.assert_array_equal(data["state"][e].numpy(), world.env.state())
            metrics = world.env.unwrapped.metrics()
            for name, value in data["metrics"].items():
                wanted = metrics[name] if ends["done"] else np.nan
                np.testing.assert_array_equal(value[e].numpy(), np.float32([wanted]))
        ended += data["terminated"][data["done"]].tolist()
        over = data["done"] | torch.from_numpy(generator.random((4, 1)) < 0.05)
        if over.any():
            before = data.clone()
            data["_reset"] = over
            data = env.reset(data)
            for e, world in enumerate(worlds):
                if over[e]:
                    check_agents(data[e], world.reset(), groups)
                    np.testing.assert_array_equal(data["state"][e].numpy(), world.env.state())
                    assert not any(data[name][e].any() for name in FLAGS)
                else:
                    for group in groups:
                        check_equal(data[e][group], before[e][group])
    assert set(ended) == ({False} if on_target == "restart" else {False, True})


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
@pytest.mark.parametrize("groups", [None, MarlGroupMapType.ONE_GROUP_PER_AGENT], ids=["one group", "a group each"])
def test_the_specs_are_kept(on_target, groups):
    """TorchRL's own check finds nothing; whatever is observed, the data has flat observations and masks."""
    check_env_specs(MultiGridTorchRLEnv(config_of(on_target), 3, group_map=groups), seed=3)
    env = MultiGridTorchRLEnv(config_of(on_target, observe=("view", "offset")))
    assert (env.config.flatten, env.config.parts) == (True, ("view", "offset", "action_mask"))
    assert env.reset()["agents", "observation"].shape == (1, 3, 3 * 25 + 2)


def test_agents_that_are_drawn():
    """Groups have the largest number of agents; the others observe zeros, and have only the last action."""
    config = config_of("park", walls=RandomWalls(size=(6, 5), density=0.2), num_agents=(1, 3), delays=0.1)
    check_env_specs(MultiGridTorchRLEnv(config, 3), seed=3)
    data = MultiGridTorchRLEnv(config, 8, seed=0).rollout(40, break_when_any_done=False)
    absent = ~data["agents", "mask"]
    assert 0 < absent.float().mean() < 1
    assert not data["agents", "observation"][absent].any()
    assert not data["next", "agents", "reward"][absent].any()
    assert data["agents", "action_mask"][absent].unique(dim=0).tolist() == [[False] * 3 + [True]]


def test_a_game():
    """A rollout has the actions, the part and the rewards of a game of one's own, and its metric where it ends."""
    check_env_specs(MultiGridTorchRLEnv(GAME, 3), seed=3)
    data = MultiGridTorchRLEnv(GAME, 16, seed=0).rollout(80, break_when_any_done=False)
    seen, taken, paid = data["agents", "observation"], data["agents", "action"], data["next", "agents", "reward"]
    check_brought(seen.numpy(), taken.numpy(), paid.numpy())
    assert set(data["next", "metrics", "opened"][data["next", "done"]].tolist()) == {0, 1}


# TorchRL computes entropies with arguments that PyTorch deprecates.
@pytest.mark.filterwarnings("ignore:size_average and reduce args will be deprecated")
def test_who_has_left_teaches_nothing():
    """A policy with the action masks has no gradient in the rows of agents that have left, but in the others."""
    data = MultiGridTorchRLEnv(config_of(), 8, seed=0).rollout(40, break_when_any_done=False)
    there = data["agents", "mask"]
    assert 0 < there.float().mean() < 1
    logits = torch.randn(*there.shape, 4, requires_grad=True)
    policy = MaskedCategorical(logits=logits, mask=data["agents", "action_mask"])
    actions = policy.sample()
    chances = policy.log_prob(actions)
    (chances * torch.randn(there.shape) + policy.entropy()).sum().backward()
    assert (chances[~there] == 0).all()
    assert (actions[~there] == 3).all()
    assert (logits.grad[~there] == 0).all()
    assert (logits.grad[there] != 0).any()


def test_a_rollout_stops_with_a_world():
    """A rollout goes on when an agent leaves, and by default stops when a world's last agent has left."""
    config = GridConfig(walls="a.A..\nb...B", on_target="leave", flatten=True)
    env = MultiGridTorchRLEnv(config, 2, seed=0)
    options = {"agents": [[0, 0], [0, 1]], "targets": [[2, 0], [4, 1]]}

    def right(data: TensorDictBase):
        return data.set(("agents", "action"), torch.zeros(2, 2, dtype=torch.int64))

    data = env.rollout(9, right, auto_reset=False, tensordict=env.reset(options=options))
    assert data["agents", "mask"][0].tolist() == [[True, True]] * 2 + [[False, True]] * 2
    assert data["next", "agents", "reward"][0, ..., 0].tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert data["next", "terminated"][0].flatten().tolist() == [False, False, False, True]
    assert data["next", "metrics", "sum_of_costs"][:, -1].flatten().tolist() == [6, 6]


def test_seeds_are_of_worlds():
    """A reset of some worlds uses up their seeds only; the others begin with theirs whenever they are reset."""
    config = config_of("park")
    env = MultiGridTorchRLEnv(config, 3, seed=100)
    data = env.reset()
    env.set_seed(40)
    data["_reset"] = torch.tensor([[False], [True], [False]])
    data = env.reset(data)
    check_agents(data[1], Oracle(config, 41).reset(41), env.group_map)
    check_agents(data[0], Oracle(config, 100).reset(100), env.group_map)
    data = env.reset()
    check_agents(data[2], Oracle(config, 42).reset(42), env.group_map)
    check_agents(data[1], Oracle(config, 41).reset(), env.group_map)


def test_what_is_returned_stays():
    """A later step changes nothing of what an earlier one returned, and writing into that changes no later step."""
    env, other = (MultiGridTorchRLEnv(config_of("park"), 2, seed=1) for _ in range(2))
    data, same = env.reset(), other.reset()
    kept = data.clone()
    for _ in range(5):
        action = torch.randint(4, (2, 3))
        data["agents", "action"] = same["agents", "action"] = action
        data = env.step(data)["next"]
        same = other.step(same)["next"]
        check_equal(data, same)
        later = data.clone()
        for name in ("mask", "action_mask", "observation"):
            same["agents", name].zero_()
        same["metrics", "csr"].zero_()
        data, same = later, later.clone()
    check_equal(kept, MultiGridTorchRLEnv(config_of("park"), 2, seed=1).reset())


def test_a_frame_is_that_of_the_world():
    """`render` draws a world as its ParallelEnv does, and changes nothing."""
    config = config_of("park")
    env = MultiGridTorchRLEnv(config, 3, seed=7)
    data = env.reset()
    single = multigrid.parallel_env(standard_config(config), render_mode="rgb_array")
    single.reset(seed=9)
    assert not np.array_equal(env.render(), env.render(2))
    for _ in range(2):
        np.testing.assert_array_equal(env.render(2), single.render())
        env.step(data.set(("agents", "action"), torch.ones(3, 3, dtype=torch.int64)))
        single.step(dict.fromkeys(single.agents, 1))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"group_map": ["agent_0"]}, TypeError, "group_map is .*expected a MarlGroupMapType, or"),
        ({"group_map": {"a": ["agent_0"]}}, ValueError, "expected each of .* in one group, none empty"),
        ({"num_worlds": 0}, ValueError, "num_worlds is 0"),
        ({"seed": -1}, ValueError, "seed is -1"),
    ],
)
def test_refusals(arguments, error, message):
    """A wrong argument is an error that names it."""
    with pytest.raises(error, match=message):
        MultiGridTorchRLEnv(config_of(), **arguments)


def test_all_worlds_are_stepped_together():
    """A rollout that would step only some worlds is refused, and says what to do."""
    env = MultiGridTorchRLEnv(config_of("park"), 3, seed=0)
    data = env.rand_action(env.reset()).set("_step", torch.tensor([True, False, True]))
    with pytest.raises(ValueError, match=r"'_step'.* call rollout with break_when_any_done=False"):
        env.step(data)
