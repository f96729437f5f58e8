"""`multigrid train --log`: what TensorBoard and Weights & Biases are given, also by a run that was stopped."""

import json
import os
import re
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from stable_baselines3 import PPO

from helpers import AROUND, names, read_rows, run_python
from multigrid import GridConfig, MultiGridEnv
from multigrid.cli._held_out import HeldOut
from multigrid.cli._models import load_policy
from multigrid.cli._train_logs import open_log
from multigrid.evaluation._estimates import measure_episode
from multigrid.integrations.sb3 import MultiGridVecEnv, act
from read_logs import tensorboard_points, wandb_points, wandb_records
from trainings import KILL, stop_in_update, train

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("no_pictures")]

# Rollouts of 24 steps of 3 worlds of 2 agents: 144 steps, six times over; a checkpoint after every second one.
FLAGS = "--size 4 3 --max-cycles 15 --steps 864 --copies 3 --rollout 24 --batch-size 24 --epochs 2 --hidden 8 "
FLAGS += "--episodes 8 --evaluations 3 --seed 11 --checkpoint-every 200"
METRICS = ["csr", "isr", "sum_of_costs", "makespan"]
LEARNER = ["entropy", "explained_variance", "policy_loss", "value_loss"]
READERS = {"tensorboard": tensorboard_points, "wandb": wandb_points}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Keep Weights & Biases off the network, whatever the surroundings say."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_MODE", "offline")


def points_of(folder):
    """The points of both logs of a run."""
    return {name: read(folder / name) for name, read in READERS.items()}


def rounded(points):
    """Points with the precision of TensorBoard's 32 bits."""
    return {name: [(steps, float(np.float32(value))) for steps, value in values] for name, values in points.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing stopped, with both logs."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setattr("multigrid.cli._train_report.write_films", lambda *_, **__: None)
        assert train(f"{FLAGS} --log wandb tensorboard --folder {folder}") == 0
    return folder


def test_both_logs_have_the_documented_names_and_equal_values(whole):
    """Each evaluation and each rollout has its point, with the values of evaluation.json and metrics.csv."""
    points = tensorboard_points(whole / "tensorboard")
    assert points == rounded(wandb_points(whole / "wandb"))
    expected = {f"evaluation/{name}": [0, 432, 864] for name in (*METRICS, "mean_return", "mean_steps")}
    rollouts = list(range(144, 865, 144))
    expected |= {f"rollout/{name}": rollouts for name in (*METRICS, "episodes", "mean_steps", "reward_per_step")}
    expected |= {f"learner/{name}": rollouts for name in LEARNER}
    assert {name: [steps for steps, _ in values] for name, values in points.items()} == expected
    rows = read_rows(whole / "metrics.csv")
    during = json.loads((whole / "evaluation.json").read_text())["during"]
    for name in ("csr", "mean_steps", "mean_return", "episodes", "reward_per_step"):
        key = "success_rate" if name == "csr" else name
        if f"rollout/{name}" in points:
            logged = [value for _, value in points[f"rollout/{name}"]]
            digits = 6e-3 if name == "mean_steps" else 6e-5
            assert logged == pytest.approx([float(row[key]) for row in rows], abs=digits)
        if f"evaluation/{name}" in points:
            assert points[f"evaluation/{name}"] == [(one["steps"], float(np.float32(one[key]))) for one in during]


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_metrics_are_the_means_over_episodes(on_target, monkeypatch):
    """A rollout has the means of the final infos of its episodes, an evaluation those of episodes played one by one."""
    metrics = ["throughput"] if on_target == "restart" else METRICS
    ends = [[]]
    step_wait, update = MultiGridVecEnv.step_wait, PPO.train

    def recorded(vec_env):
        returned = step_wait(vec_env)
        ends[-1].extend(info for info in returned[3][::2] if "csr" in info)
        return returned

    def next_rollout(model):
        ends.append([])
        update(model)

    monkeypatch.setattr(MultiGridVecEnv, "step_wait", recorded)
    monkeypatch.setattr(PPO, "train", next_rollout)
    assert train(f"{FLAGS} --size 3 2 --on-target {on_target} --log tensorboard --folder run") == 0
    points = tensorboard_points(Path("run/tensorboard"))
    assert len(ends) == 7
    assert sum(map(len, ends)) > 12
    for section in ("rollout", "evaluation"):
        logged = {name.split("/")[1] for name in points if name.startswith(section)}
        assert logged & {*METRICS, "throughput"} == set(metrics)
    measured = play_again(Path("run"), episodes=8)
    for name in metrics:
        means = [(144 * n, np.mean([info[name] for info in infos])) for n, infos in enumerate(ends, 1) if infos]
        assert points[f"rollout/{name}"] == [(steps, pytest.approx(value, rel=1e-6)) for steps, value in means]
        assert points[f"evaluation/{name}"][-1] == (864, pytest.approx(np.mean([one[name] for one in measured])))


def play_again(folder, episodes):
    """The metrics of the held-out episodes of a trained model, in envs of their own, with the stream of evaluations."""
    network = load_policy(folder)
    config = GridConfig(**json.loads((folder / "config.json").read_text())["grid"])
    envs = [MultiGridEnv(config) for _ in range(episodes)]
    seen = [env.reset(seed=seed)[0] for seed, env in enumerate(envs)]
    generator = np.random.default_rng([*range(episodes), 2])
    while any(env.agents for env in envs):
        present = [(index, agent) for index, env in enumerate(envs) for agent in env.agents]
        rows = [seen[index][agent] for index, agent in present]
        batch = {part: np.stack([row[part] for row in rows]) for part in rows[0]}
        actions = dict(zip(present, act(network, batch, generator), strict=True))
        for index, env in enumerate(envs):
            if env.agents:
                seen[index] = env.step({agent: actions[index, agent] for agent in env.agents})[0]
    return [measure_episode(env.metrics()) for env in envs]


STOPS = {1: KeyboardInterrupt(), 2: SystemExit(143), 3: "SIGKILL", 4: KeyboardInterrupt(), 5: RuntimeError("no more")}


@pytest.mark.parametrize("number", STOPS, ids=lambda number: f"{number}-{STOPS[number]!r}")
def test_a_resumed_run_has_each_point_once(number, whole, home):
    """However a run was stopped, its logs are those of a run that was not: no point is missing, doubled, or another."""
    flags = f"{FLAGS} --log tensorboard wandb --folder run"
    if number == 3:
        around = AROUND | {"WANDB_MODE": "offline"}
        done = run_python("-c", KILL, "SIGKILL", "train", *flags.split(), cwd=home, env=around)
        assert done.returncode == -9, done.stderr
    else:
        stop_in_update(number, STOPS[number], flags)
        for name, points in points_of(Path("run")).items():
            assert points["evaluation/csr"][0] == READERS[name](whole / name)["evaluation/csr"][0]
    time.sleep(1.1)  # event files are ordered by whole seconds, which are in their names
    assert train("--resume run") == 0
    assert points_of(Path("run")) == points_of(whole)


def test_a_finished_run_logs_on(whole, capsys):
    """With a larger --steps what was logged stays, and new points come after it; the command to see it is printed."""
    assert train(f"{FLAGS} --steps 432 --log tensorboard wandb --folder run") == 0
    assert re.search(r"^  tensorboard --logdir \S+ +all metrics$", capsys.readouterr().err, re.MULTILINE)
    first = points_of(Path("run"))
    time.sleep(1.1)
    assert train("--resume run --steps 864") == 0
    for log, points in points_of(Path("run")).items():
        assert points.keys() == first[log].keys()
        for name, values in points.items():
            assert values[: len(first[log][name])] == first[log][name]
            assert [steps for steps, _ in values] == sorted({steps for steps, _ in values})
        assert [steps for steps, _ in points["rollout/isr"]] == list(range(144, 865, 144))


def test_a_server_gets_what_it_lacks(monkeypatch):
    """Online, a resumed run logs from the step on that the server says it expects, with points of the first process."""
    import wandb

    logged, calls = [], []
    server = SimpleNamespace(id="first", offline=False, starting_step=0, finish=lambda exit_code: None, summary={})
    server.log = lambda values, step, commit: logged.append(step)
    monkeypatch.setattr(wandb, "init", lambda **settings: calls.append(settings) or server)
    stop_in_update(5, SystemExit(143), f"{FLAGS} --log wandb --folder run")
    assert logged == [0, 144, 288, 432, 576]
    logged.clear()
    server.starting_step = 145  # two points never arrived
    assert train("--resume run") == 0
    assert logged == [288, 432, 576, 720, 864]
    assert [(one["id"], one["resume"]) for one in calls] == [(None, None), ("first", "allow")]


def test_a_logger_that_is_added_gets_all_points(whole):
    """A resumed run that logs to another place as well, or instead, has the earlier points there, too."""
    stop_in_update(4, SystemExit(143), f"{FLAGS} --log tensorboard --folder run")
    assert train("--resume run --log wandb") == 0
    assert wandb_points(Path("run/wandb")) == wandb_points(whole / "wandb")
    shutil.copytree(whole, "other")
    shutil.rmtree("other/tensorboard")
    shutil.rmtree("other/checkpoints/000000000864")
    assert train("--resume other") == 0
    assert tensorboard_points(Path("other/tensorboard")) == tensorboard_points(whole / "tensorboard")


def test_tensorboard_has_what_logged_jsonl_has(tmp_path):
    """TensorBoard's files of a resumed run are made anew: nothing is missing or was not saved."""
    held_out = HeldOut(np.array([True]), np.array([3.0]), np.array([1.0]), np.array([1.0]))

    def log_at(*steps, first, error=None):
        with pytest.raises(error) if error else nullcontext(), open_log(("tensorboard",), tmp_path, first) as log:
            for one in steps:
                log.evaluation(one, held_out)
                log.flush()
            if error:
                log.evaluation(steps[-1] + 5, held_out)
                raise error

    def write(line):
        with (tmp_path / "logged.jsonl").open("a") as file:
            file.write(line)

    log_at(10, 20, first=0, error=SystemExit)
    # As of a run that logged elsewhere meanwhile.
    write('{"steps": 30, "values": {"evaluation/mean_steps": 3.0}}\n')
    log_at(40, first=31)
    points = tensorboard_points(tmp_path / "tensorboard")
    assert points["evaluation/mean_steps"] == [(10, 3.0), (20, 3.0), (30, 3.0), (40, 3.0)]
    write('{"steps": 50}\n')
    with pytest.raises(ValueError, match=r"logged.jsonl has the line .*50.*; expected steps and values"):
        log_at(60, first=60)


def test_weights_and_biases_gets_the_flags_of_the_run(whole, monkeypatch):
    """Its configuration is config.json, the run is named as its folder, and the project of the surroundings wins."""

    def runs_of(folder):
        return [record.run for record in wandb_records(folder / "wandb") if record.WhichOneof("record_type") == "run"]

    (run,) = runs_of(whole)
    flags = json.loads((whole / "config.json").read_text())
    assert flags.items() <= {item.key: json.loads(item.value_json) for item in run.config.update}.items()
    assert (run.project, run.display_name) == ("multigrid", "run")
    monkeypatch.setenv("WANDB_PROJECT", "warehouses")
    monkeypatch.setenv("WANDB_NAME", "seventh")
    assert train(f"{FLAGS} --steps 144 --evaluations 2 --log wandb --folder other") == 0
    assert {(one.project, one.display_name) for one in runs_of(Path("other"))} == {("warehouses", "seventh")}
    assert names(Path("other")) == [name for name in names(whole) if name != "tensorboard"]


def test_supersuits_rollouts_log_what_their_infos_have():
    """With SuperSuit the rollouts lack the metrics that need the world; the evaluations have them."""
    assert train(f"{FLAGS} --steps 288 --vectorizer supersuit --log tensorboard --folder run") == 0
    points = tensorboard_points(Path("run/tensorboard"))
    logged = {name for name in points if name.startswith("rollout/")}
    assert logged == {f"rollout/{name}" for name in ("csr", "episodes", "mean_steps", "reward_per_step")}
    assert {f"evaluation/{name}" for name in METRICS} <= points.keys()


def test_who_is_not_logged_in_is_told_what_to_do(home):
    """Weights & Biases without a login is one line, no traceback; the run has begun and can be resumed."""
    around = {name: value for name, value in AROUND.items() if not name.startswith("WANDB_")}
    flags = f"train {FLAGS} --log wandb --folder run".split()
    done = run_python("-m", "multigrid", *flags, cwd=home, env={**around, "HOME": str(home), "NETRC": str(home / "no")})
    assert done.returncode == 2, done.stderr
    said = "^multigrid train: --log wandb: .*wandb login.*WANDB_MODE=offline"
    assert re.search(said, done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr
