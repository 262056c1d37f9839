"""What a run asks of Ray: where it is, how many actors, and what each of them gets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_t2i import T2IError

MOST = 4096
"""More actors than this are a slip of the finger, and so are more processors for one."""
HOST_AND_PORT = re.compile(r"[\w.-]+:\d+|\[[\da-fA-F:]+\]:\d+")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options say.

    >>> Asked(cpus=2).cpus
    2
    """

    address: str | None = None
    """HOST:PORT or "auto", None: that of RAY_ADDRESS, else a Ray of this machine's own."""
    cpus: int | None = None
    """Processors of each actor; None where each has a GPU."""


def address(name: str, value: str) -> str:
    """HOST:PORT of a cluster, "auto" for the one that this machine belongs to, or "local".

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
    """Processors of each actor.

    >>> cpus("--t2i-ray-cpus", "2")
    2
    """
    return _count(name, value, "a whole number")


def actors(value: str) -> int | None:
    """How many actors ``ray:N`` asks for; None where it leaves that to the cluster.

    >>> actors("3"), actors("")
    (3, None)
    """
    return _count("--t2i-executor", value, "ray or ray:N with N") if value else None


def _count(name: str, value: str, what: str) -> int:
    if value.isascii() and value.isdigit() and 0 < int(value[:9]) <= MOST:
        return int(value)
    raise T2IError(f"{name}: expected {what} from 1 to {MOST}, got {value[:80]!r}")
