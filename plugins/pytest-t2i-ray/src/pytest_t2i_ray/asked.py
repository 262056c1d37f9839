"""The options of the executor: the address of Ray, the number of actors and their resources."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_t2i import T2IError

MOST = 4096
"""Largest number of actors, and of processors for each; more is taken for a typing error."""
HOST_AND_PORT = re.compile(r"[\w.-]+:\d+|\[[\da-fA-F:]+\]:\d+")


@dataclass(frozen=True, slots=True)
class Asked:
    """The values of the options.

    >>> Asked(cpus=2).cpus
    2
    """

    address: str | None = None
    """HOST:PORT, "auto" or "local"; None takes RAY_ADDRESS, else "local"."""
    cpus: int | None = None
    """Processors of each actor; None where each has a GPU."""


def address(name: str, value: str) -> str:
    """Read HOST:PORT of a cluster, "auto" for the cluster of this machine, or "local".

    >>> address("--t2i-ray-address", "10.0.0.7:6379")
    '10.0.0.7:6379'
    """
    if value in ("auto", "local") or HOST_AND_PORT.fullmatch(value):
        return value
    if value.startswith("ray://"):
        raise T2IError(
            f"{name}: expected HOST:PORT, got {value!r}: actors are not driven through Ray's "
            "client. Run pytest on a node of the cluster, by a job for instance, with auto."
        )
    raise T2IError(f"{name}: expected HOST:PORT, auto or local, got {value!r}")


def cpus(name: str, value: str) -> int:
    """Read the number of processors of each actor.

    >>> cpus("--t2i-ray-cpus", "2")
    2
    """
    return _count(name, value, "a whole number")


def actors(value: str) -> int | None:
    """Read the number of actors of ``ray:N``; None for as many as the cluster has room for.

    >>> actors("3"), actors("")
    (3, None)
    """
    return _count("--t2i-executor", value, "ray or ray:N with N") if value else None


def _count(name: str, value: str, what: str) -> int:
    if value.isascii() and value.isdigit() and 0 < int(value[:9]) <= MOST:
        return int(value)
    raise T2IError(f"{name}: expected {what} from 1 to {MOST}, got {value[:80]!r}")
