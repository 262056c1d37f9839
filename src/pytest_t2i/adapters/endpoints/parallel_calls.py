"""Run several calls at the same time, and yield each result when it is ready."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import Generic, NamedTuple, TypeVar

A = TypeVar("A")
B = TypeVar("B")
PATIENCE = 30.0
"""Seconds that running calls have to finish after an error."""


class StoppedError(Exception):
    """A call ended because the others were stopped: it has neither a result nor an error."""


class _Landed(NamedTuple, Generic[A, B]):
    """Result of one call."""

    argument: A
    given: list[B]
    """The return value; [] where the call raised an exception."""
    raised: BaseException | None = None


class ParallelCalls(Generic[A, B]):
    """Calls in daemon threads, so that Ctrl+C waits for none of them.

    >>> sorted(ParallelCalls(abs, most=2).run([-1, 2, -3]))
    [(-3, 3), (-1, 1), (2, 2)]
    """

    def __init__(self, call: Callable[[A], B], most: int) -> None:
        """Args: the function, and the largest number of calls at the same time."""
        self._call, self._most = call, most
        self._landed: SimpleQueue[_Landed[A, B]] = SimpleQueue()
        self._under_way = 0
        self.is_over = False
        """Whether running calls may stop: one raised an error, or nobody waits for results."""

    def run(self, arguments: Iterable[A]) -> Iterator[tuple[A, B]]:
        """Each argument with its result, in the order in which calls end.

        After an error no further call begins. Results of running calls are still yielded, and the
        first error is raised at the end; later errors are dropped.
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
        """Begin as many calls as are allowed; return whether any began."""
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
            # At once: who takes the results may be busy with pictures, and further calls cost.
            self.is_over = self.is_over or not isinstance(error, StoppedError)
            self._landed.put(_Landed(argument, [], error))

    def _next(self, first: tuple[BaseException | None, float] | None) -> _Landed[A, B] | None:
        """The next finished call; None where the time after an error has run out."""
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
    """Sort results by their index from 0 on, and yield each as soon as its turn comes.

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


FIRST = 2
"""Number of simultaneous requests at the start."""
LOOK_EVERY = 0.25
"""Seconds between checks whether anybody still waits for an answer."""


class Pace:
    """The number of simultaneous requests: it grows with each answer and halves at "too many".

    Each answer allows one more simultaneous request, until the service first answers "too many".
    From then on, one more is allowed after as many answers as there are simultaneous requests.

    >>> pace = Pace(most=8)
    >>> pace.turn(), pace.turn(), pace.at_once
    (True, True, 2)
    >>> pace.answered()
    >>> pace.at_once
    3
    >>> pace.too_many(began=time.monotonic())
    >>> pace.at_once
    1
    """

    def __init__(self, most: int, first: int = FIRST) -> None:
        """Args: number of simultaneous requests, at most and at the start."""
        self._most, self.at_once = most, min(first, most)
        self.answers = 0
        self._sent, self._to_grow = 0, 0
        self._begins_again, self._halved = -math.inf, -math.inf
        self._changed = Condition()

    def turn(self, until: float = math.inf, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Wait until a request may be sent; False where that would be too late."""
        with self._changed:
            while not is_over():
                now, begins = time.monotonic(), self._begins_again
                if max(now, begins) >= until:
                    return False
                if now >= begins and self._sent < self.at_once:
                    self._sent += 1
                    return True
                wait = begins - now if begins > now else until - now
                self._changed.wait(min(wait, LOOK_EVERY))
            return False

    @staticmethod
    def rest(seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait before the next attempt, as long as anybody waits for its answer."""
        until = time.monotonic() + seconds
        while not is_over() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_EVERY))

    def done(self) -> None:
        """Record that a request has ended."""
        with self._changed:
            self._sent -= 1
            self._changed.notify_all()

    def answered(self) -> None:
        """Record an answer of the service."""
        with self._changed:
            self.answers += 1
            self._to_grow -= 1
            if self._to_grow <= 0:
                self.at_once = min(self.at_once + 1, self._most)
                self._to_grow = self.at_once if self._halved > -math.inf else 0
            self._changed.notify_all()

    def too_many(self, began: float, after: float | None = None) -> None:
        """Record the answer "too many"; of simultaneous requests only one counts."""
        with self._changed:
            now = time.monotonic()
            if began >= self._halved:
                self.at_once, self._halved = max(self.at_once // 2, 1), now
                self._to_grow = self.at_once
            if after is not None:
                self._begins_again = max(self._begins_again, now + after)
