"""Start Ray on this machine, or join a Ray cluster, for the commands that use one."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator

import ray


@contextlib.contextmanager
def connected(address: str | None, cpus: int = 1) -> Iterator[None]:
    """Start Ray or join a cluster, and shut it down or leave it at the end; keep Ray if it was initialized before.

    The address is HOST:PORT, "auto" for the cluster of this machine, or None to start Ray here, with so many CPUs at
    least.

    Raises:
        ConnectionError: there is no cluster at the address.
    """
    initialized = ray.is_initialized()
    if not initialized:
        handler = signal.getsignal(signal.SIGTERM)
        _start(address, cpus)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's own handler kills its processes before anything can clean up
    try:
        yield
    finally:
        if not initialized:
            ray.shutdown()


def _start(address: str | None, cpus: int) -> None:
    if address is not None:
        if address != "auto":
            _reach(address)
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # by default Ray sends usage statistics to its developers
    cpus = max(os.cpu_count() or 1, cpus)
    ray.init("local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)


def _reach(address: str) -> None:
    """Raise a ConnectionError unless a server answers at an address; Ray itself retries for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"--address is {address}, but no Ray cluster answers there: {error}") from error
