"""Several calls at the same time, whose results are handed over one by one as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

A = TypeVar("A")
B = TypeVar("B")
PATIENCE = 30.0
"""Seconds after an error in which calls that are under way may still give what they have."""


class StoppedError(Exception):
    """A call ended because the others have: it has neither a result nor an error."""


class _Landed(NamedTuple, Generic[A, B]):
    """What became of one call."""

    argument: A
    given: list[B]
    """Its result; [] where it raised something."""
    raised: BaseException | None = None


class Flight(Generic[A, B]):
    """Calls, each in a thread that ends with the process; Ctrl+C waits for none of them.

    >>> sorted(Flight(abs, most=2).run([-1, 2, -3]))
    [(-3, 3), (-1, 1), (2, 2)]
    """

    def __init__(self, call: Callable[[A], B], most: int) -> None:
        """Args: what is called with each argument, and how many times at the same time."""
        self._call, self._most = call, most
        self._landed: SimpleQueue[_Landed[A, B]] = SimpleQueue()
        self._under_way = 0
        self.is_over = False
        """Whether no call need go on: one raised an error, or nobody waits any more."""

    def run(self, arguments: Iterable[A]) -> Iterator[tuple[A, B]]:
        """Each argument with its result, as they come.

        After an error nothing new is called; what is under way is handed over, and the error is
        raised at the end. It is the first one: others that follow from it are not told.
        """
        waiting, first = iter(arguments), None
        try:
            while self._launch(waiting) or self._under_way:
                landed = self._next(first)
                if landed is None:
                    break
                if landed.given:
                    yield landed.argument, landed.given[0]
                elif not isinstance(landed.raised, StoppedError):
                    first, self.is_over = first or (landed.raised, time.monotonic()), True
        except KeyboardInterrupt:
            self.is_over = True
            yield from self._there_already()
            raise
        finally:
            self.is_over = True
        if first is not None and first[0] is not None:
            raise first[0]

    def _launch(self, waiting: Iterator[A]) -> bool:
        """Call until there are as many as may be; whether one was."""
        before = self._under_way
        while self._under_way < self._most and not self.is_over:
            for argument in waiting:
                self._under_way += 1
                Thread(target=self._fly, args=(argument,), daemon=True).start()
                break
            else:
                break
        return self._under_way > before

    def _fly(self, argument: A) -> None:
        try:
            self._landed.put(_Landed(argument, [self._call(argument)]))
        except BaseException as error:  # noqa: BLE001 - raised again where results are taken
            self._landed.put(_Landed(argument, [], error))

    def _next(self, first: tuple[BaseException | None, float] | None) -> _Landed[A, B] | None:
        """The next one that is done; None where an error has been waiting for too long."""
        left = None if first is None else first[1] + PATIENCE - time.monotonic()
        try:
            landed = self._landed.get(timeout=None if left is None else max(left, 0.0))
        except Empty:
            return None
        self._under_way -= 1
        return landed

    def _there_already(self) -> Iterator[tuple[A, B]]:
        while not self._landed.empty():
            landed = self._landed.get()
            if landed.given:
                yield landed.argument, landed.given[0]


def in_order(landed: Iterable[tuple[int, B]]) -> Iterator[B]:
    """Results whose places come in any order, in the order of their places from 0 on.

    >>> list(in_order([(1, "b"), (0, "a"), (2, "c")]))
    ['a', 'b', 'c']
    """
    waiting: dict[int, B] = {}
    following = 0
    for place, result in landed:
        waiting[place] = result
        while following in waiting:
            yield waiting.pop(following)
            following += 1
