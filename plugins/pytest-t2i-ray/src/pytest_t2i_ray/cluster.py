"""Reaching Ray: a cluster that answers, or one of this machine's own, and what it has."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any, NamedTuple

from pytest_t2i import T2IError

from pytest_t2i_ray.asked import Asked

INSTALL = "pip install pytest-t2i-ray"
CONNECT = 5.0
"""Seconds in which somebody must answer at an address."""
JOIN = 30.0
"""Seconds in which Ray there must let a driver in."""
TRY = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
ray.shutdown()
"""


class Share(NamedTuple):
    """What each actor gets."""

    gpus: int
    cpus: int

    @property
    def words(self) -> str:
        """As in messages.

        >>> Share(1, 0).words, Share(0, 2).words
        ('1 GPU', '2 processors')
        """
        if self.gpus:
            return f"{self.gpus} GPU"
        return f"{self.cpus} processor{'s' if self.cpus > 1 else ''}"

    def fit(self, resources: dict[str, float]) -> int:
        """How many actors the resources of a cluster are enough for.

        >>> Share(0, 2).fit({"CPU": 5.0})
        2
        """
        if self.gpus:
            return int(resources.get("GPU", 0.0) // self.gpus)
        return int(resources.get("CPU", 0.0) // self.cpus)


def ray_module() -> Any:
    """Ray itself, with its reports to its makers switched off.

    Raises T2IError that says how to install it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What Ray 3 will do at once: a process without a GPU of its own sees those of the machine.
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
    """Join the cluster, or start Ray here; False where this process had joined one before.

    Raises T2IError where nobody lets it in, after a bounded wait.
    """
    ray = ray_module()
    if ray.is_initialized():
        return False
    address = asked.address or os.environ.get("RAY_ADDRESS") or "local"
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
    if address == "local":
        settings["include_dashboard"] = False
    else:
        _check_answers(address)
    ray.init(address=address, **settings)
    return True


def share_of(asked: Asked, device: str) -> Share:
    """A GPU for each actor, unless processors are asked for.

    Raises T2IError for options that do not go together.
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
    """How many actors there will be.

    Raises T2IError where the cluster has no room for a single one, or a Ray of this machine's own
    has none for all of them: nobody would add to it.

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
    """Try the address in a process that can be ended: Ray itself waits for minutes, or aborts."""
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
        "`ray status` on its head node tells it; without the option Ray is started here."
    )
