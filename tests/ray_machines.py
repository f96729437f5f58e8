"""A Ray cluster of two nodes on this machine, of which tests kill one, and the processes that must not outlive it."""

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

import ray
from ray.cluster_utils import Cluster

# Each node has room for one env runner or task, whatever the machine has.
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
# A dead node is found dead within a second; Ray's own choice is about twenty.
_SOON = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}


class Machines(NamedTuple):
    """A cluster, and the processes of env runners that it has had."""

    cluster: Cluster
    processes: list[int]


@contextlib.contextmanager
def two_machines():
    """Two nodes on this machine, which this process has joined; at the end no process of theirs is left."""
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "_system_config": _SOON})
    processes = []
    try:
        cluster.add_node(**NODE)
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        yield Machines(cluster, processes)
    finally:
        nodes = cluster.list_all_nodes()
        processes += [one.process.pid for node in nodes for kind in node.all_processes.values() for one in kind]
        ray.shutdown()
        cluster.shutdown()
    assert gone(processes)


def gone(processes):
    """Whether none of the processes is left, a few seconds granted."""
    deadline = time.monotonic() + 20
    while (left := any(Path(f"/proc/{process}").exists() for process in processes)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not left


def descendants(process):
    """The processes that a process has begun, and those that they have."""
    begun = []
    for thread in Path(f"/proc/{process}/task").glob("*"):
        # A thread may end between its listing and its reading.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children = (thread / "children").read_text().split()
            begun += [grandchild for child in children for grandchild in [int(child), *descendants(int(child))]]
    return begun
