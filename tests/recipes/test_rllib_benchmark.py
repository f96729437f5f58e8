"""`multigrid benchmark --engine ray`: the local engine's rows, each once, whatever happens to nodes and processes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import cloudpickle

import helpers
from multigrid.benchmark import engines, read_instances
from multigrid.benchmark.playing import Contestant, Player, Task
from multigrid.benchmark.rows import key_of, read_rows
from multigrid.cli import main
from multigrid.cli.benchmark.cluster import play_on_ray
from multigrid.cli.benchmark.policies import find_contestant
from multigrid.envs.parallel import MultiGridEnv
from multigrid.policies import Policy
from ray_machines import NODE, Machines, descendants, gone, two_machines
from tiny_clone import Starter, starting, wait_for_rows

# Processes of the cluster cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclasses.dataclass(frozen=True)
class Find:
    """Finds contestants that act randomly after `before`, and note in a folder what is asked of them, and where."""

    folder: Path
    seconds: float = 0.0  # of each decision
    before: Callable[[], None] | None = None

    def note(self, what: str) -> None:
        """Write a file whose name says what, on which node, and in which process."""
        node = ray.get_runtime_context().get_node_id()
        (self.folder / f"{what},{node},{os.getpid()},{time.monotonic_ns()}").touch()

    def __call__(self, name: str) -> Contestant:
        """Return a contestant of any name."""
        self.note("find")
        make, fit = find_contestant("random")

        def make_slow(seed: int) -> Policy:
            act, at = make(seed), "warm" if seed == 0 else f"play-{name}-{seed}"
            self.note(at)
            if self.before is not None and seed:
                self.before()

            def choose(env: MultiGridEnv, observations: dict[str, Any]) -> dict[str, int]:
                time.sleep(self.seconds)
                return act(env, observations)

            return choose

        return Contestant(make_slow, fit)

    def notes(self, kind: str) -> list[list[str]]:
        """What was noted: what, the node, the process, and the time in nanoseconds."""
        return [path.name.split(",") for path in self.folder.iterdir() if path.name.startswith(kind)]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    """Two nodes on this machine, each with one CPU, which this process has joined."""
    with two_machines() as started:
        yield started


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """Contestants that note what they do in a folder."""
    (tmp_path / "notes").mkdir()
    return Find(tmp_path / "notes")


def list_tasks(clone: Path, *policies: str, kind: Any = "mapf") -> list[Task]:
    """The tasks of the clone: with `kind` "mapf", six for each policy."""
    return [Task(name, one) for one in read_instances(clone, "puzzles", kind) for name in policies]


def without_seconds(rows: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows by their keys, of which no two are equal, without what no two plays share."""
    rows = list(rows)
    by_key = {key_of(row): {**row, "seconds": None} for row in rows}
    assert len(by_key) == len(rows)
    return by_key


@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize(
    ("kind", "policies"), [("mapf", ("random", "shortest-path", "lacam")), ("lmapf", ("random", "shortest-path"))]
)
def test_rows_are_those_of_the_local_engine(kind: str, policies: tuple[str, ...], clone: Path) -> None:
    """A cluster plays each task once, and but for the seconds its rows are those of one process."""
    tasks, player = list_tasks(clone, *policies, kind=kind), Player(find_contestant, 5.0, "0")
    there, here = without_seconds(play_on_ray(player, tasks)), without_seconds(engines.play_tasks(player, tasks))
    assert there.keys() == {task.key for task in tasks}
    assert there == here


def test_a_killed_node_loses_no_row(machines: Machines, clone: Path, find: Find) -> None:
    """A node is killed while it plays: its task is played again elsewhere, and each task has one row in the end."""
    (lost,) = machines.cluster.worker_nodes
    find = dataclasses.replace(find, seconds=0.08)
    tasks, rows, killed = list_tasks(clone, "a", "b"), [], []
    for row in play_on_ray(Player(find, 1.0, "0"), tasks):
        rows.append(row)
        time.sleep(0.3)
        # One of its tasks has just begun, and takes some seconds.
        begun = [what for what, node, _, at in find.notes("play") if node == lost.node_id and age(at) < 1]
        if begun and not killed and len(rows) >= 3:
            killed = begun
            machines.cluster.remove_node(lost, allow_graceful=False)
    played = find.notes("play")
    machines.cluster.add_node(**NODE)
    assert {node for _, node, *_ in played} == {lost.node_id, machines.cluster.head_node.node_id}
    assert [node == lost.node_id for what, node, *_ in played if what in killed] in ([True, False], [False, True])
    assert without_seconds(rows).keys() == {task.key for task in tasks}


def age(nanoseconds: str) -> float:
    """The seconds since a time that was noted."""
    return (time.monotonic_ns() - int(nanoseconds)) / 1e9


@pytest.mark.usefixtures("machines")
def test_a_process_that_always_dies_is_an_error(clone: Path, find: Find) -> None:
    """A task whose process dies is played again; after five processes the run ends, and says which task it was."""
    tasks = list_tasks(clone, "a")[:1]
    with pytest.raises(ChildProcessError, match="5 processes that played bay-000-2 with a ended before it did"):
        list(play_on_ray(Player(dataclasses.replace(find, before=lambda: os._exit(1)), 1.0, "0"), tasks))
    assert len({process for _, _, process, _ in find.notes("play")}) == 5


@pytest.mark.usefixtures("machines")
def test_an_error_of_a_task_reaches_the_user(clone: Path, find: Find) -> None:
    """A task that raises an error is not played again, and the error comes as it was raised."""

    def fail() -> None:
        raise ValueError("no way through")

    tasks = list_tasks(clone, "a")[:1]
    with pytest.raises(ValueError, match=r"^no way through$") as caught:
        list(play_on_ray(Player(dataclasses.replace(find, before=fail), 1.0, "0"), tasks))
    assert type(caught.value) is ValueError
    assert len(find.notes("play")) == 1


@pytest.mark.usefixtures("machines")
def test_a_node_that_lacks_a_module_is_reported(clone: Path) -> None:
    """What a process of a node cannot import, as without this package there, is an error in one line."""
    player: Any = Player(helpers.names, 1.0, "0")  # type: ignore[arg-type]
    with pytest.raises(ChildProcessError, match=r"^a node cannot play: .*No module named 'helpers'; expected .*nodes$"):
        list(play_on_ray(player, list_tasks(clone, "random")[:1]))


@pytest.mark.usefixtures("machines")
def test_policies_are_kept(clone: Path, find: Find) -> None:
    """A process makes each policy once, and plays several tasks with it."""
    tasks = list_tasks(clone, "a", "b")
    assert len(list(play_on_ray(Player(find, 1.0, "0"), tasks))) == len(find.notes("play")) == 12
    assert set(Counter(process for _, _, process, _ in find.notes("find")).values()) <= {1, 2}


@pytest.mark.usefixtures("machines")
def test_few_tasks_wait(clone: Path, find: Find) -> None:
    """Two tasks for each of the two CPUs are in flight; when the engine is closed, no others are played."""
    find = dataclasses.replace(find, seconds=0.05)
    taken = []

    class Counted(list[Task]):
        def __iter__(self) -> Iterator[Task]:
            for task in list.__iter__(self):
                taken.append(task)
                yield task

    played = play_on_ray(Player(find, 1.0, "0"), Counted(list_tasks(clone, *"abc")))
    next(played)
    assert 4 <= len(taken) <= 5
    played.close()  # type: ignore[attr-defined]
    # As many more would have been played in this time.
    time.sleep(5)
    assert len(find.notes("play")) <= 5
    assert len(taken) <= 5


def test_without_a_cpu_the_run_ends(machines: Machines, monkeypatch: pytest.MonkeyPatch, clone: Path) -> None:
    """When no node with a CPU is left, the run says so instead of waiting for ever."""
    assert machines.cluster.address
    played = play_on_ray(Player(find_contestant, 1.0, "0"), list_tasks(clone, "random"))
    next(played)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"memory": 7.0})
    with pytest.raises(ConnectionError, match="the Ray cluster has no CPU; add nodes with `ray start"):
        list(played)


def keys_in(folder: Path) -> list[tuple[Any, ...]]:
    """The keys of all rows of a folder, sorted."""
    return sorted(key_of(row) for row in read_rows(folder / "rows.csv"))


def run(clone: Path, output: Path, *flags: str) -> int:
    """Run the command on the clone's puzzles, in this process, which has joined the cluster."""
    words = ["--data", clone, "--output", output, "--sets", "puzzles", "--engine", "ray", *flags]
    return main(["benchmark", *map(str, words)])


@pytest.mark.usefixtures("machines")
def test_an_interrupted_run_goes_on(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are written as they come; after Ctrl-C, --resume plays what is missing, and none is twice."""
    wait, calls = ray.wait, iter(range(10**6))

    def interrupted(*given: Any, **named: Any) -> Any:
        if next(calls) == 5:
            raise KeyboardInterrupt
        return wait(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(ray, "wait", interrupted)
        assert run(clone, tmp_path / "out", "--policy", "random", "pibt") == 130
    assert len(set(keys_in(tmp_path / "out"))) == len(keys_in(tmp_path / "out")) <= 5
    assert run(clone, tmp_path / "out", "--policy", "random", "pibt", "--resume") == 0
    assert keys_in(tmp_path / "out") == sorted(task.key for task in list_tasks(clone, "random", "pibt"))
    assert (tmp_path / "out" / "scores.md").exists()


SLOW = """
import dataclasses, time
from multigrid.cli import benchmark
from multigrid.cli.benchmark.policies import find_contestant

@dataclasses.dataclass(frozen=True)
class Slow:
    def __call__(self, name):
        make, fit = find_contestant(name)
        def make_slow(seed):
            act = make(seed)
            def choose(env, observations):
                time.sleep(0.01)
                return act(env, observations)
            return choose
        return type(find_contestant("random"))(make_slow, fit)

benchmark.send_policies = lambda names: Slow()
"""


@pytest.fixture
def start(clone: Path, tmp_path: Path) -> Iterator[Starter]:
    """Return a function that starts the command in another process, with slow policies."""
    with starting(clone, tmp_path / "start.py", SLOW) as starter:
        yield starter


@pytest.mark.parametrize(("number", "code", "joins"), [("SIGINT", 130, True), ("SIGTERM", 143, False)])
def test_a_signal_ends_the_run_and_its_tasks(  # noqa: PLR0917 - fixtures
    number: str, code: int, joins: bool, machines: Machines, clone: Path, tmp_path: Path, start: Starter
) -> None:
    """After a signal the rows are there, a cluster is left as it was, a Ray of its own is gone; --resume goes on."""
    flags = ["--output", tmp_path / "out", "--policy", "random", "shortest-path", "pibt", "--engine", "ray"]
    around = {"RAY_ADDRESS": machines.cluster.address} if joins else {}
    process = start(*flags, *(["--address", "auto"] if joins else []), **around)
    wait_for_rows(process, tmp_path / "out", 2)
    begun = [process.pid, *descendants(process.pid)]
    os.kill(process.pid, getattr(signal, number))
    said = process.communicate(timeout=120)[1]
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert 2 <= len(keys_in(tmp_path / "out")) < 18
    assert gone(begun)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    assert run(clone, tmp_path / "out", "--resume", *flags[2:6]) == 0
    assert keys_in(tmp_path / "out") == sorted(t.key for t in list_tasks(clone, "random", "shortest-path", "pibt"))


def test_a_cluster_that_does_not_answer_is_reported(start: Starter, tmp_path: Path) -> None:
    """With the address of no cluster the command says so in one line, and makes no folder."""
    with contextlib.closing(socket.socket()) as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process = start("--output", tmp_path / "out", "--engine", "ray", "--address", address, "--policy", "random")
        said = process.communicate(timeout=120)[1]
    assert (process.returncode, said.count("\n")) == (2, 1), said
    assert f"multigrid benchmark: --address is {address}, but no Ray cluster answers there" in said
    assert not (tmp_path / "out").exists()
