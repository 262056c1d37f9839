"""Connect to Ray, on a cluster or on this machine, and count its resources."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, NamedTuple

from pytest_t2i import T2IError

from pytest_t2i_ray.asked import Asked

INSTALL = "pip install pytest-t2i-ray (in a clone: pip install ./plugins/pytest-t2i-ray)"
LOOPBACK = "127.0.0.1"
NO_CLUSTER = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Variable that lets Ray form a cluster of several machines, or not."""
CONNECT = 5.0
"""Seconds in which an address must accept a connection."""
JOIN = 30.0
"""Seconds in which Ray must accept a driver."""
TRY = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
ray.shutdown()
"""


class Share(NamedTuple):
    """The resources of each actor."""

    gpus: int
    cpus: int

    @property
    def words(self) -> str:
        """The resources in words, for messages.

        >>> Share(1, 0).words, Share(0, 2).words
        ('1 GPU', '2 processors')
        """
        if self.gpus:
            return f"{self.gpus} GPU"
        return f"{self.cpus} processor{'s' if self.cpus > 1 else ''}"

    def fit(self, resources: dict[str, float]) -> int:
        """Return the number of actors for which the resources suffice.

        >>> Share(0, 2).fit({"CPU": 5.0})
        2
        """
        if self.gpus:
            return int(resources.get("GPU", 0.0) // self.gpus)
        return int(resources.get("CPU", 0.0) // self.cpus)


def ray_module() -> Any:
    """Import Ray, with its usage reports switched off.

    Raises T2IError with the install command where Ray is missing.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # The behaviour of Ray 3: a process without an assigned GPU sees those of the machine.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ray":
            raise
        raise T2IError(
            f"executor 'ray' needs the package 'ray', which is not installed. Run: {INSTALL}"
        ) from error
    return ray


def connect(asked: Asked) -> bool:
    """Join the cluster, or start Ray here; return False where this process had joined one before.

    Raises T2IError where no Ray accepts the driver within a bounded wait.
    """
    ray = ray_module()
    if ray.is_initialized():
        return False
    address = asked.address or os.environ.get("RAY_ADDRESS") or "local"
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
    if address != "local":
        _check_answers(address)
        ray.init(address=address, **settings)
        return True
    with _on_this_machine_alone():
        ray.init(address=address, include_dashboard=False, _node_ip_address=LOOPBACK, **settings)
    _check_closed(ray)
    return True


@contextmanager
def _on_this_machine_alone() -> Iterator[None]:
    """Let the Ray that starts here listen on the loopback address alone.

    Anyone who reaches a port of Ray runs code as its user. Ray replaces a loopback address by that
    of the network, unless it is told that it will form no cluster; it says so of macOS and
    Windows, and in this variable. Processes that Ray starts inherit the variable; a cluster that
    is joined later must not see it.
    """
    from ray._private import ray_constants

    before = os.environ.get(NO_CLUSTER), getattr(ray_constants, "ENABLE_RAY_CLUSTER", None)
    os.environ[NO_CLUSTER] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False  # read when Ray was imported
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before[1]
        os.environ.pop(NO_CLUSTER)
        if before[0] is not None:
            os.environ[NO_CLUSTER] = before[0]


def _check_closed(ray: Any) -> None:
    """Raise T2IError, and stop Ray, where it listens on an address of the network."""
    host = str(ray.get_runtime_context().gcs_address).rpartition(":")[0].strip("[]")
    if not ip_address(host).is_loopback:
        ray.shutdown()
        raise T2IError(
            f"--t2i-executor ray: Ray {ray.__version__} was started for this machine alone and "
            f"listens on {host}, without a password. Start it yourself in a closed network and "
            "give its address with --t2i-ray-address, or use --t2i-executor processes:N"
        )


def share_of(asked: Asked, device: str) -> Share:
    """Return the resources of an actor: one GPU, unless processors are asked for.

    Raises T2IError for options that exclude one another.
    """
    if asked.cpus is not None and device not in ("auto", "cpu"):
        raise T2IError(
            f"--t2i-ray-cpus: actors with processors alone have no {device!r}: leave "
            "--t2i-device out, or --t2i-ray-cpus"
        )
    if asked.cpus is not None or device == "cpu":
        return Share(0, asked.cpus or 1)
    return Share(1, 0)


def count_of(share: Share, wanted: int | None, resources: dict[str, float], where: str) -> int:
    """Return the number of actors to start.

    Raises T2IError where the cluster has no room for a single actor, or where Ray on this machine
    alone has no room for all of them, as such a Ray does not grow.

    >>> count_of(Share(0, 1), None, {"CPU": 2.0}, "local")
    2
    """
    most = share.fit(resources)
    if not most and share.gpus:
        raise T2IError(
            f"--t2i-executor ray: {_place(where)} has no GPU, and each actor needs one. For actors "
            "on processors give --t2i-ray-cpus N."
        )
    if not most or (where == "local" and wanted is not None and wanted > most):
        raise T2IError(
            f"--t2i-executor ray: {wanted or 1} actors of {share.words} each do not fit: "
            f"{_place(where)} has room for {most}. Ask for fewer, or for less with --t2i-ray-cpus."
        )
    return wanted or most


def _place(where: str) -> str:
    return "this machine" if where == "local" else "the Ray cluster"


def _check_answers(address: str) -> None:
    """Try the address in a process with a time limit: Ray itself waits for minutes, or aborts."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT).close()
        except (OSError, OverflowError) as error:
            raise _refused(address, f"nobody answers there ({error})") from None
    command = [sys.executable, "-c", TRY, address]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=JOIN, check=False)  # noqa: S603 - our own
    except subprocess.TimeoutExpired:
        raise _refused(address, f"no Ray answered within {JOIN:g} seconds") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise _refused(address, lines[-1] if lines else f"status {done.returncode}")


def _refused(address: str, why: str) -> T2IError:
    return T2IError(
        f"--t2i-ray-address: expected the address of a Ray cluster, got {address!r}: {why}. "
        "`ray status` on its head node shows it; without the option Ray is started here."
    )
