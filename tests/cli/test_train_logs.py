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

from helpers import AROUND, names, read_rows, run_python, run_without
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
LEARNER = [f"learner/{name}" for name in ("entropy", "explained_variance", "policy_loss", "value_loss")]
READERS = {
    "tensorboard": lambda folder: tensorboard_points(folder / "tensorboard"),
    "wandb": lambda folder: wandb_points(folder / "wandb"),
}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Keep Weights & Biases off the network, whatever the surroundings say."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_MODE", "offline")


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
    """Where agents may all arrive, everything but the throughput has a point for each evaluation, rollout or update."""
    points = tensorboard_points(whole / "tensorboard")
    assert points == rounded(wandb_points(whole / "wandb"))
    expected = {f"evaluation/{name}": [0, 432, 864] for name in (*METRICS, "mean_return", "mean_steps")}
    rollouts = list(range(144, 865, 144))
    expected |= {f"rollout/{name}": rollouts for name in (*METRICS, "episodes", "mean_steps", "reward_per_step")}
    expected |= dict.fromkeys(LEARNER, rollouts)
    assert {name: [steps for steps, _ in values] for name, values in points.items()} == expected


def test_the_log_agrees_with_the_files_of_the_run(whole):
    """Rollouts are those of metrics.csv, and evaluations those of evaluation.json."""
    points = tensorboard_points(whole / "tensorboard")
    rows = read_rows(whole / "metrics.csv")
    columns = {"csr": "success_rate", "mean_steps": "mean_steps", "episodes": "episodes"}
    for name, column in (columns | {"reward_per_step": "reward_per_step"}).items():
        logged = [value for _, value in points[f"rollout/{name}"]]
        assert logged == pytest.approx([float(row[column]) for row in rows], abs=6e-3 if name == "mean_steps" else 6e-5)
    during = json.loads((whole / "evaluation.json").read_text())["during"]
    for name, key in {"csr": "success_rate", "mean_steps": "mean_steps", "mean_return": "mean_return"}.items():
        values = [(one["steps"], float(np.float32(one[key]))) for one in during]
        assert points[f"evaluation/{name}"] == values


@pytest.mark.parametrize(
    ("on_target", "metrics"), [("park", METRICS), ("leave", METRICS), ("stay", METRICS), ("restart", ["throughput"])]
)
def test_metrics_are_the_means_over_episodes(on_target, metrics, monkeypatch):
    """A rollout has the means of the final infos of its episodes, an evaluation those of episodes played one by one."""
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
    for name in metrics:
        means = [(144 * n, np.mean([info[name] for info in infos])) for n, infos in enumerate(ends, 1) if infos]
        assert points[f"rollout/{name}"] == [(steps, pytest.approx(value, rel=1e-6)) for steps, value in means]
    measured = play_again(Path("run"), episodes=8)
    for name in metrics:
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


@pytest.mark.parametrize(
    ("number", "reason"),
    [(1, KeyboardInterrupt()), (2, SystemExit(143)), (4, KeyboardInterrupt()), (4, RuntimeError("no more"))],
    ids=["1-Ctrl-C", "2-SIGTERM", "4-Ctrl-C", "4-error"],
)
def test_a_resumed_run_has_each_point_once(number, reason, whole):
    """However a run was stopped, its logs are those of a run that was not: no point is missing, doubled, or another."""
    stop_in_update(number, reason, f"{FLAGS} --log tensorboard wandb --folder run")
    time.sleep(1.1)  # event files are ordered by whole seconds, which are in their names
    for read in READERS.values():
        assert read(Path("run"))["evaluation/csr"][0] == read(whole)["evaluation/csr"][0]
    assert train("--resume run") == 0
    for read in READERS.values():
        assert read(Path("run")) == read(whole)


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
def test_a_killed_run_has_each_point_once(whole, home):
    """What a killed process had logged since its checkpoint is replaced, or not logged again."""
    flags = f"SIGKILL train {FLAGS} --log tensorboard wandb --folder run".split()
    done = run_python("-c", KILL, *flags, cwd=home, env={**AROUND, "WANDB_MODE": "offline"})
    assert done.returncode == -9, done.stderr
    assert train("--resume run") == 0
    for read in READERS.values():
        assert read(Path("run")) == read(whole)


def test_a_finished_run_logs_on(whole):
    """With a larger --steps the points that were logged stay, and those of the new steps come after them."""
    assert train(f"{FLAGS} --steps 432 --log tensorboard wandb --folder run") == 0
    first = {log: read(Path("run")) for log, read in READERS.items()}
    time.sleep(1.1)
    assert train("--resume run --steps 864") == 0
    for log, read in READERS.items():
        points = read(Path("run"))
        assert points.keys() == first[log].keys()
        for name, values in points.items():
            assert values[: len(first[log][name])] == first[log][name]
            assert [steps for steps, _ in values] == sorted({steps for steps, _ in values})
        assert [steps for steps, _ in points["rollout/isr"]] == list(range(144, 865, 144))


def test_a_server_gets_what_it_lacks(monkeypatch):
    """Online, a resumed run logs from the step on that the server says it expects, with points of the first process."""
    import wandb

    logged = []
    stand_in = SimpleNamespace(
        id="first",
        offline=False,
        starting_step=0,
        log=lambda values, step, commit: logged.append(step),
        finish=lambda exit_code: None,
        summary={},
    )
    calls = []
    monkeypatch.setattr(wandb, "init", lambda **settings: calls.append(settings) or stand_in)
    stop_in_update(5, SystemExit(143), f"{FLAGS} --log wandb --folder run")
    assert logged == [0, 144, 288, 432, 576]
    logged.clear()
    # Two points never arrived.
    stand_in.starting_step = 145
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

    log_at(10, 20, first=0, error=SystemExit)
    # As of a run that logged elsewhere meanwhile.
    with (tmp_path / "logged.jsonl").open("a") as file:
        file.write('{"steps": 30, "values": {"evaluation/mean_steps": 3.0}}\n')
    log_at(40, first=31)
    points = tensorboard_points(tmp_path / "tensorboard")
    assert points["evaluation/mean_steps"] == [(10, 3.0), (20, 3.0), (30, 3.0), (40, 3.0)]
    with (tmp_path / "logged.jsonl").open("a") as file:
        file.write('{"steps": 50}\n')
    with pytest.raises(ValueError, match=r"logged.jsonl has the line .*50.*; expected steps and values"):
        log_at(60, first=60)


def test_weights_and_biases_gets_the_flags_of_the_run(whole, monkeypatch):
    """Its configuration is config.json, the run is named as its folder, and the project of the surroundings wins."""
    (run,) = (record.run for record in wandb_records(whole / "wandb") if record.WhichOneof("record_type") == "run")
    flags = json.loads((whole / "config.json").read_text())
    logged = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert {name: logged[name] for name in flags} == flags
    assert (run.project, run.display_name) == ("multigrid", "run")
    monkeypatch.setenv("WANDB_PROJECT", "warehouses")
    monkeypatch.setenv("WANDB_NAME", "seventh")
    assert train(f"{FLAGS} --steps 144 --evaluations 2 --log wandb --folder other") == 0
    runs = [record.run for record in wandb_records(Path("other/wandb")) if record.WhichOneof("record_type") == "run"]
    assert {(one.project, one.display_name) for one in runs} == {("warehouses", "seventh")}
    assert names(Path("other")) == [*names(whole)[:1], *(name for name in names(whole)[1:] if name != "tensorboard")]


def test_supersuits_rollouts_log_what_their_infos_have():
    """With SuperSuit the rollouts lack the metrics that need the world; the evaluations have them."""
    assert train(f"{FLAGS} --steps 288 --vectorizer supersuit --log tensorboard --folder run") == 0
    points = tensorboard_points(Path("run/tensorboard"))
    logged = {name for name in points if name.startswith("rollout/")}
    assert logged == {f"rollout/{name}" for name in ("csr", "episodes", "mean_steps", "reward_per_step")}
    assert {f"evaluation/{name}" for name in METRICS} <= points.keys()


def test_what_is_printed_names_tensorboards_command(capsys, monkeypatch):
    """Among the commands to go on with is the one that shows the log, beside other runs."""
    assert train(f"{FLAGS} --steps 144 --evaluations 2 --log tensorboard --folder runs/first") == 0
    assert re.search(r"^  tensorboard --logdir runs +all metrics$", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.parametrize(("log", "library"), [("tensorboard", "tensorboard"), ("wandb", "wandb")])
def test_a_missing_logger_names_its_extra(log, library, home):
    """Without the library a run ends before it begins, with the command that installs it."""
    done = run_without((library,), "train", *f"{FLAGS} --log {log} --folder run".split(), cwd=home)
    assert done.returncode == 1
    assert re.fullmatch(rf"multigrid train needs {library}, .*: pip install .*\[loggers\]\S*\n", done.stderr), (
        done.stderr
    )
    assert names(home) == []


def test_who_is_not_logged_in_is_told_what_to_do(home):
    """Weights & Biases without a login is one line, no traceback; the run has begun and can be resumed."""
    around = {name: value for name, value in AROUND.items() if not name.startswith("WANDB_")}
    flags = f"train {FLAGS} --log wandb --folder run".split()
    done = run_python("-m", "multigrid", *flags, cwd=home, env={**around, "HOME": str(home), "NETRC": str(home / "no")})
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("multigrid train: --log wandb: ")
    assert "wandb login" in last
    assert "WANDB_MODE=offline" in last
    assert "Traceback" not in done.stderr
