"""BenchMARL: its algorithms learn on the task, which keeps its contract, and evaluations are of held-out episodes."""

import pickle
import warnings

import numpy as np
import pytest
import torch

import multigrid
from multigrid import GridConfig

with warnings.catch_warnings():
    # To import BenchMARL is enough for it: TorchRL's own classes have its own deprecated base.
    warnings.filterwarnings("ignore", message=".* which inherits from WeightUpdaterBase is deprecated")
    from examples import benchmarl_mappo
    from multigrid.integrations.benchmarl import LogMetrics, MultiGridTask, final_metrics

from multigrid.integrations.torchrl import MultiGridTorchRLEnv
from multigrid.integrations.training import FIRST_TRAINING_SEED
from multigrid.scenarios import find_world
from multigrid.wrappers import StandardParallel, standard_config
from own_game import GAME, ORIGINALS, check_brought
from recipe_contract import examples_of, pages_of_recipe

# Its own: BenchMARL uses a collector that TorchRL has renamed, and TorchRL arguments that PyTorch deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore:SyncDataCollector has been deprecated"),
    pytest.mark.filterwarnings("ignore:size_average and reduce args will be deprecated"),
]
WORLD = GridConfig(walls="..#..\n.....\n#....", num_agents=2, max_cycles=15, on_target="leave")


def make_env(task, num_envs, seed=0):
    """Make an environment as an experiment does."""
    return task.get_env_fun(num_envs=num_envs, continuous_actions=False, seed=seed, device="cpu")()


def experiment_of(folder, task, algorithm="mappo", **settings):
    """A tiny experiment."""
    config = benchmarl_mappo.experiment_config(algorithm, 2 * 2048, str(folder), episodes=20)
    for name, value in settings.items():
        setattr(config, name, value)
    model = benchmarl_mappo.MlpConfig.get_from_yaml()
    model.num_cells = [8]
    learner = benchmarl_mappo.ALGORITHMS[algorithm].get_from_yaml()
    log = LogMetrics()
    return benchmarl_mappo.Experiment(task, learner, model, seed=3, config=config, callbacks=[log]), log


@pytest.mark.parametrize(("algorithm", "enough"), [("ippo", 0.85), ("mappo", 0.85), ("qmix", 0.75), ("vdn", 0.75)])
def test_it_learns(algorithm, enough, capsys):
    """On held-out episodes, trained agents arrive far more often than untrained ones, and `main` says so."""
    first, *_, last = benchmarl_mappo.main(algorithm=algorithm)
    assert first["frames"] == 0
    assert first["csr"] < 0.35
    assert last["csr"] > enough
    assert f"{first['csr']:.1%} before training, {last['csr']:.1%} after" in capsys.readouterr().out


def test_the_specs_are_those_of_one_world():
    """Specs have no dimension of worlds, and are of what BenchMARL expects in each place."""
    task = MultiGridTask("a", WORLD, group_map={"one": ["agent_1"], "two": ["agent_0"]})
    env = make_env(task, 4)
    assert task.group_map(env) == {"one": ["agent_1"], "two": ["agent_0"]}
    keys = {
        task.observation_spec: {("one", "observation"): (1, 6), ("two", "observation"): (1, 6)},
        task.action_mask_spec: {("one", "action_mask"): (1, 4), ("two", "action_mask"): (1, 4)},
        task.action_spec: {("one", "action"): (1,), ("two", "action"): (1,)},
        task.state_spec: {"state": (8,)},
    }
    for method, shapes in keys.items():
        spec = method(env)
        assert {key: tuple(spec[key].shape) for key in spec.keys(True, True)} == shapes
    assert task.info_spec(env) is None
    assert (task.max_steps(env), task.env_name(), task.supports_discrete_actions()) == (15, "multigrid", True)
    assert not task.supports_continuous_actions()


def test_a_name_is_enough():
    """Without a config, the name is a scenario of the suite; a dict of fields and a GridConfig make equal tasks."""
    assert make_env(MultiGridTask("delivery-17x13-8"), 1).config == standard_config(find_world("delivery-17x13-8"))
    fields = {"size": (5, 3), "num_agents": 2, "max_cycles": 9}
    assert MultiGridTask("a", fields) == MultiGridTask("a", GridConfig(**fields))
    assert MultiGridTask("a", fields) != MultiGridTask("a", GridConfig(**fields | {"max_cycles": 10}))
    drawn = make_env(MultiGridTask("a", {"walls": "a.A..\nb#..B"}), 1)
    assert drawn.reset()["state"].tolist() == [[0, 0, 0.5, 0, 0, 1, 1, 1]]


def test_training_and_evaluation_play_other_episodes(tmp_path):
    """Evaluations play the seeds s + i each time; training plays others, above all seeds for evaluation."""
    played = []

    class Watch(LogMetrics):
        def on_evaluation_end(self, rollouts):
            super().on_evaluation_end(rollouts)
            played.append(torch.stack([rollout["state"][0] for rollout in rollouts]))

    task = MultiGridTask("a", WORLD)
    experiment, _ = experiment_of(tmp_path, task)
    watch = Watch()
    watch.experiment = experiment
    experiment.callbacks.append(watch)
    experiment.evaluate()
    experiment.run()
    assert len(played) == 2
    torch.testing.assert_close(played[0], played[1], rtol=0, atol=0)
    for i, state in enumerate(played[0]):
        env = StandardParallel(multigrid.parallel_env(standard_config(WORLD)))
        env.reset(seed=3 + i)
        np.testing.assert_array_equal(state.numpy(), env.state())
    seeds = [make_env(task, worlds, seed=3)._seeds for worlds in (20, 64)]
    assert min(map(min, seeds)) >= FIRST_TRAINING_SEED
    assert not set(seeds[0]) & set(seeds[1])


@pytest.mark.parametrize("collect_with_grad", [False, True])
def test_the_environments_are_locked(collect_with_grad, tmp_path):
    """`LogMetrics` locks both environments, with a collector or without; evaluations begin with seeds s + i."""
    settings = {"evaluation_static": False, "evaluation_episodes": 4, "on_policy_n_envs_per_worker": 4}
    experiment, _ = experiment_of(tmp_path, MultiGridTask("a", WORLD), collect_with_grad=collect_with_grad, **settings)
    training = experiment.rollout_env if collect_with_grad else experiment.collector.env
    assert training.is_spec_locked
    assert experiment.test_env.is_spec_locked
    own = MultiGridTorchRLEnv(WORLD, 4, seed=3)
    np.testing.assert_array_equal(experiment.test_env.reset()["state"], own.reset()["state"])
    experiment.run()


def test_metrics_are_of_first_episodes(tmp_path):
    """The metrics of an evaluation are those of the first episode of each rollout, and reach BenchMARL's log."""
    env = MultiGridTorchRLEnv(WORLD, 6, seed=1)
    data = env.rollout(50, break_when_any_done=False)
    metrics = final_metrics(list(data))
    for e in range(6):
        end = data["next", "done"][e].flatten().tolist().index(True)
        assert metrics["sum_of_costs"][e] == data["next", "metrics", "sum_of_costs"][e, end]
    ended = data["next", "done"].squeeze(-1)
    logged = MultiGridTask.log_info(data)
    assert logged["collection/metrics/isr"] == pytest.approx(data["next", "metrics", "isr"][ended].mean().item())
    assert "collection/metrics/throughput" not in logged
    experiment, log = experiment_of(tmp_path, MultiGridTask("a", WORLD), loggers=["csv"])
    experiment.run()
    file = next(tmp_path.rglob("eval_metrics_csr.csv"))
    assert float(file.read_text().split(",")[-1]) == pytest.approx(log.history[-1]["csr"])
    assert next(tmp_path.rglob("collection_metrics_csr.csv")).read_text().count("\n") == 2


def test_an_experiment_can_be_reloaded(tmp_path):
    """A checkpoint goes on as BenchMARL's do: the task is pickled with it."""
    task = MultiGridTask("a", WORLD, group_map={"all": ["agent_0", "agent_1"]})
    assert pickle.loads(pickle.dumps(task)) == task
    experiment, _ = experiment_of(tmp_path, task, checkpoint_at_end=True)
    experiment.run()
    file = next(tmp_path.rglob("checkpoint_4096.pt"))
    again = benchmarl_mappo.Experiment.reload_from_file(str(file), {"max_n_frames": 3 * 2048})
    assert (again.total_frames, again.task, again.group_map) == (4096, task, {"all": ["agent_0", "agent_1"]})
    again.run()
    assert again.total_frames == 3 * 2048


def test_a_game_is_learned_from(tmp_path):
    """What is collected has the actions, the part and the rewards of a game of one's own; evaluations its metric."""
    task, batches = MultiGridTask("game", GAME), []
    assert pickle.loads(pickle.dumps(task)) == task
    experiment, log = experiment_of(tmp_path, task)
    log.on_batch_collected = batches.append
    experiment.run()
    agents = torch.cat(batches)["agents"], torch.cat(batches)["next", "agents"]
    check_brought(agents[0]["observation"].numpy(), agents[0]["action"].numpy(), agents[1]["reward"].numpy())
    assert 0 < log.history[-1]["opened"] <= 1


# An episode of rware has more steps than what is collected at a time.
@pytest.mark.filterwarnings("ignore:No episode terminated this iteration")
@pytest.mark.parametrize("game_id", ORIGINALS)
def test_the_originals_are_learned_from(game_id, tmp_path):
    """By its id alone, rware and lb-foraging are tasks: each action is collected, evaluations have their metrics."""
    task, batches = MultiGridTask(game_id), []
    assert pickle.loads(pickle.dumps(task)) == task
    experiment, log = experiment_of(tmp_path, task, evaluation_episodes=4)
    before = [weights.clone() for weights in experiment.policy.parameters()]
    log.on_batch_collected = batches.append
    experiment.run()
    size, num_actions = ORIGINALS[game_id]
    agents = torch.cat(batches)["agents"]
    assert agents["observation"].shape[-1] == size
    assert set(agents["action"].unique().tolist()) == set(range(num_actions))
    assert not all(map(torch.equal, before, experiment.policy.parameters()))
    assert {"collected", "deliveries"} & log.history[-1].keys()


def test_a_film_shows_the_first_world():
    """BenchMARL's callback for films gets the frame of the first world."""
    task = MultiGridTask("a", WORLD)
    env = make_env(task, 3)
    env.reset()
    assert task.has_render(env)
    np.testing.assert_array_equal(task.render_callback(None, env, None), env.render(0))


def test_refusals():
    """A wrong argument is an error that names it; so are continuous actions."""
    for arguments, error, message in (
        (("a", "maze"), TypeError, "config is 'maze'; expected a GridConfig, a dict"),
        (("a", GridConfig(max_cycles=None)), ValueError, "max_cycles is None; expected a number of steps"),
        (("no-such-world",), OSError, "no-such-world"),
    ):
        with pytest.raises(error, match=message):
            MultiGridTask(*arguments)
    with pytest.raises(ValueError, match="continuous_actions is True"):
        MultiGridTask("a", WORLD).get_env_fun(1, True, 0, "cpu")


test_examples = examples_of(
    "multigrid.integrations.benchmarl", "multigrid.integrations.torchrl", "examples.benchmarl_mappo"
)
test_pages = pages_of_recipe("benchmarl")
