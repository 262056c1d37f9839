"""Work of the processor for one picture at a time, in threads: each on a core of its own.

The libraries behind face detectors let other threads run while they search a picture, and keep
state in their detectors, so that each thread needs one of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

Item = TypeVar("Item")
T = TypeVar("T")
OTHERS = 2
"""Number of cores left for the thread that makes images and the one that stores them."""
MOST = 16
"""Largest number of threads: each holds a detector of its own in memory."""


@cache
def _threads() -> ThreadPoolExecutor | None:
    """The threads; None on a machine with too few cores for two of them."""
    count = min((os.cpu_count() or 1) - OTHERS, MOST)
    return ThreadPoolExecutor(count, "t2i-finder") if count > 1 else None


# A forked process has none of its parent's threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def on_cores(work: Callable[[Item], T], items: Iterable[Item]) -> list[T]:
    """The result of ``work`` for each item, in order; the first error is raised.

    >>> on_cores(len, ["a", "bc"])
    [1, 2]
    """
    pool = _threads()
    return [work(item) for item in items] if pool is None else list(pool.map(work, items))


class EachThreads(Generic[T]):
    """An object that is made anew in each thread that asks for it."""

    def __init__(self, make: Callable[[], T]) -> None:
        """Args: what makes the object; it is called once here, so that errors come early."""
        self._make = make
        self._held = threading.local()
        self._held.value = make()

    def get(self) -> T:
        if not hasattr(self._held, "value"):
            self._held.value = self._make()
        value: T = self._held.value
        return value
