"""Requests to a service behind HTTP: deadline, secrets, budget, and when one is repeated.

A request that has a price is repeated only where it is proved that nothing was charged: by the
answer, or because there was no connection.
"""

from __future__ import annotations

import math
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar, cast

from pytest_t2i.adapters.endpoints.answers import (
    BrokenPictureError,
    PassingFaultError,
    RefusedError,
    fault_of,
)
from pytest_t2i.adapters.endpoints.deadlines import DeadlinePassedError, within
from pytest_t2i.adapters.endpoints.parallel_calls import Pace, StoppedError
from pytest_t2i.adapters.endpoints.secrets import Secrets
from pytest_t2i.adapters.endpoints.spending import OTHER, RunCounts
from pytest_t2i.adapters.loading import needs
from pytest_t2i.errors import (
    BudgetSpentError,
    ConfigurationError,
    GenerationError,
    T2IError,
    printable,
)
from pytest_t2i.protocols import AnswerLimits

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E", bound=BaseException)
TRIES, TRIES_OF_BROKEN = 8, 3
"""Largest number of requests for one answer: to a busy service, and where no answer can be read."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds of the first and the longest wait, where the service demands none; waits double."""
START_PATIENCE = 10.0
"""Seconds of attempts at a service that no request ever reached: most likely it is not there."""
SAID_FROM = 2.0
"""Seconds of a wait from which on it is reported on stderr."""
MOST_BROKEN = 3
"""Number of answers in a row that cannot be read at which all ends; at the start one suffices."""
LONGEST_WORDS = 300
"""Largest number of characters of a service's messages."""
MOST_TRACEBACK = 100_000
"""Characters of a traceback that is searched for secrets; a longer one is not shown."""
LATER = " Run again later, or allow more time: --t2i-answer-deadline."
UNREACHABLE = "unreachable"
"""Kind of a failure to connect: the request was never sent."""
HINTS = {
    UNREACHABLE: " Check that the endpoint is running and that its address is right.",
    "broken": " Check that the address is that of {}.",
    "endless": "",
}
"""Kind of a lasting failure -> remedy."""
CHARGED = "it may have been charged and is not sent again"


_controller: list[int] = []
"""Id of the process that this worker works for; empty in a process that works for itself."""


def work_for_parent() -> None:
    """Send requests only as long as the parent of this process lives."""
    _controller[:] = [os.getppid()]


def is_orphan() -> bool:
    """Whether the process that this one works for is gone: nobody wants its answers."""
    return bool(_controller) and os.getppid() != _controller[0]


class Counter(Protocol):
    """What is paid for: each request is counted before it is sent."""

    def reserve(self) -> None:
        """Count a request; BudgetSpentError where the budget does not pay for it."""

    def give_back(self) -> None:
        """Subtract a request that was certainly not charged."""


class CountedPart:
    """A part whose requests the run counts; ``join`` is called when it is loaded."""

    def join(self, run: Any) -> None:
        """Take part in a run (a ``JudgeRun``): its memory, its counters."""
        raise NotImplementedError


class RemoteService(Generic[A]):
    """A service whose answers are pictures, labels of pictures, or texts: a base class."""

    nature = "a text-to-image model"
    """What the address should be that of, in messages."""
    _requests: PaidRequests[A]

    @property
    def faults(self) -> RunCounts | None:
        """The counter of failures by kind; None outside of a run."""
        return None

    @property
    def spending(self) -> Counter | None:
        """The counter of costs; None where no price is known."""
        return None

    def say(self, line: str) -> None:
        """Show a note on stderr, without the key."""
        print(printable(f"{self}: {self._requests.shown(line)}"), file=sys.stderr, flush=True)  # noqa: T201

    def refused(self, words: str) -> A:
        """The answer of a service whose policy forbids this request."""
        raise self.failure(f"refused: {words}", "")

    def unusable(self, words: str) -> A:
        """The answer in the place of a single one that cannot be read."""
        raise self.failure(words, HINTS["broken"].format(self.nature))

    def is_refused(self, answer: A) -> bool:  # noqa: ARG002 - for those who override it
        """Whether the service refused by policy."""
        return False

    def failure(self, words: str, remedy: str) -> T2IError:
        """The error where the service cannot be used."""
        return GenerationError(f"{self}: {words}. What was made before is kept.{remedy}")


@dataclass
class _Course:
    """How the attempts to get one answer have gone so far."""

    answers: int
    """Answers to other requests before the latest attempt."""
    tried: int = 0
    in_vain: int = 0
    """Attempts since another request was answered."""
    until: float = math.inf
    """When the deadline passes; it begins with the first attempt."""
    patience: float = math.inf
    outcome: Any = None
    """Outcome of the latest attempt."""


class PaidRequests(Generic[A]):
    """Sends requests with retries, waits and deadlines, and hides keys in all messages."""

    def __init__(self, service: RemoteService[A], limits: AnswerLimits, secrets: Secrets) -> None:
        self._service, self._limits, self._secrets = service, limits, secrets
        self._broken, self._told_until, self._lock = MOST_BROKEN - 1, -math.inf, Lock()
        self._is_reached = False  # whether a request ever reached the service

    def send(
        self,
        ask: Callable[[float], A],
        pace: Pace,
        is_over: Callable[[], bool] = lambda: False,
    ) -> A:
        """The result of ``ask``, which is called until it succeeds.

        Tenacity decides whether and how long to wait; what is charged, the deadline and the pace
        are counted here. Raises GenerationError or ConfigurationError where the service cannot be
        used.
        """
        with needs("a service behind HTTP", "endpoints"):
            from tenacity import Retrying

        course = _Course(pace.answers)
        attempts = Retrying(
            retry=lambda state: self._may_be_sent_again(_outcome(state), course),
            wait=_pause,
            stop=lambda state: self._is_too_late(state.upcoming_sleep, course),
            before_sleep=lambda state: self._tell(
                _outcome(state), course.tried, state.upcoming_sleep
            ),
            sleep=lambda seconds: pace.rest(seconds, is_over),
            retry_error_callback=_outcome,
        )
        outcome: A | T2IError = attempts(self._attempt, ask, pace, is_over, course)
        if not isinstance(outcome, T2IError):
            with self._lock:
                self._broken = 0
            return outcome
        if is_over():
            raise StoppedError
        return self._without(outcome, course.tried)

    def _attempt(
        self,
        ask: Callable[[float], A],
        pace: Pace,
        is_over: Callable[[], bool],
        course: _Course,
    ) -> A | T2IError:
        if not pace.turn(course.until, is_over):
            if is_over():
                raise StoppedError
            return cast("A | T2IError", course.outcome)  # the first turn has no deadline
        began = time.monotonic()
        course.until = min(course.until, began + self._limits.seconds)
        course.patience = min(course.patience, began + START_PATIENCE)
        course.tried, course.in_vain = course.tried + 1, course.in_vain + 1
        # At most half of the time, so that a connection that hangs leaves time for another.
        most = self._limits.seconds / (2 if self._service.spending is None else 1)
        try:
            seconds = max(min(most, course.until - began), 0.001)
            is_paid = getattr(course.outcome, "goes_on", False)
            outcome = course.outcome = self.once_paid(ask, seconds, is_paid=is_paid)
        finally:
            pace.done()
        if not isinstance(outcome, T2IError):
            pace.answered()
        elif isinstance(outcome, PassingFaultError) and (outcome.is_busy or outcome.after):
            pace.too_many(began, outcome.after)
            if pace.answers > course.answers:  # busy with other requests, which it answers
                course.answers, course.in_vain = pace.answers, 1
        return outcome

    def _may_be_sent_again(self, outcome: A | T2IError, course: _Course) -> bool:
        """The predicate: a request that may have been charged is never sent again."""
        most = TRIES_OF_BROKEN if isinstance(outcome, BrokenPictureError) else TRIES
        return (
            isinstance(outcome, PassingFaultError)
            and course.in_vain < most
            and not self._is_charged(outcome)
        )

    def _is_charged(self, error: PassingFaultError) -> bool:
        return self._service.spending is not None and not (error.is_free or error.goes_on)

    def _is_too_late(self, wait: float, course: _Course) -> bool:
        until = course.until if self._is_reached else min(course.until, course.patience)
        return time.monotonic() + wait >= until

    def once(self, call: Callable[[], B], seconds: float) -> B | T2IError:
        """Call the service; return its result or error.

        An exception is returned, not raised, as it may hold the request with its key. A mistake in
        a user's code is raised as it is, unless it or one of its causes holds the key.
        """
        if is_orphan():
            raise KeyboardInterrupt
        stopped: BaseException | None = None
        try:
            outcome = within(seconds, call)
        except DeadlinePassedError as passed:
            self._is_reached = True
            kind = "unfinished" if passed.has_begun else "late"
            words = f"no complete answer in {seconds:.3g} seconds"
            return PassingFaultError(words, is_busy=True, kind=kind)
        except Exception as error:
            known_fault = fault_of(error)
            if known_fault is None and not self._are_secrets_in(error):
                raise
            fault = known_fault or GenerationError(f"{type(error).__name__}: {self.shown(error)}")
            is_sent = getattr(fault, "kind", OTHER) != UNREACHABLE
            self._is_reached |= is_sent or isinstance(fault, BrokenPictureError)
        except BaseException as error:  # noqa: BLE001 - the frames of Ctrl-C, too, hold the request
            stopped = error
        else:
            self._is_reached = True
            return outcome
        # Outside of the handler, so that the exception is not the context of this one.
        if stopped is not None:
            texts = (self.shown(part) if isinstance(part, str) else part for part in stopped.args)
            raise _bare(stopped, *texts)
        return _bare(fault, self.shown(fault))

    def _are_secrets_in(self, error: BaseException) -> bool:
        text = "".join(traceback.format_exception(error))
        return len(text) > MOST_TRACEBACK or self._secrets.are_in(text)

    def shown(self, words: object, most: int = LONGEST_WORDS) -> str:
        """A message of a service, without the key and shortened."""
        return self._secrets.hide_in(" ".join(str(words).split()), most)

    def once_paid(
        self, ask: Callable[[float], A], seconds: float, *, is_paid: bool = False
    ) -> A | T2IError:
        """One attempt; its cost is reserved before, and released if it was not charged."""
        spending = None if is_paid else self._service.spending
        if spending is not None:
            spending.reserve()
        outcome = self.once(lambda: ask(seconds), seconds)
        if spending is not None and getattr(outcome, "is_free", False):
            spending.give_back()
        self._count(outcome)
        if isinstance(outcome, RefusedError):
            return self._service.refused(str(outcome) or "refused")
        return outcome

    def _count(self, outcome: A | T2IError) -> None:
        counts = self._service.faults
        if counts is None:
            return
        if isinstance(outcome, T2IError):
            if not isinstance(outcome, BudgetSpentError):
                counts.add(str(getattr(outcome, "kind", OTHER)))
        elif self._service.is_refused(outcome):
            counts.add(RefusedError.kind)

    def _tell(self, error: T2IError, tried: int, pause: float) -> None:
        """Report the reason of a wait, once where several requests wait at the same time."""
        now = time.monotonic()
        with self._lock:
            is_new = pause >= SAID_FROM and now >= self._told_until
            self._told_until = now + pause if is_new else self._told_until
        if is_new:
            self._service.say(f"attempt {tried}: {error}; the next one is in {pause:.0f} seconds")

    def _without(self, error: T2IError, tried: int) -> A:
        """Return an unusable answer for a single broken one; raise every other error."""
        if isinstance(error, BrokenPictureError):
            with self._lock:
                self._broken += 1
                is_lone = self._broken < MOST_BROKEN
            if is_lone:
                return self._service.unusable(str(error))
        words, hint = f"{str(error).rstrip('.')}", ""
        words += f" (after {tried} attempts)" if tried > 1 else ""
        if isinstance(error, PassingFaultError):
            words += f", and demands a wait of {error.after:g} seconds" if error.after else ""
            words += f"; {CHARGED}" if self._is_charged(error) else ""
            hint = error.remedy or HINTS.get(error.kind, LATER).format(self._service.nature)
        if isinstance(error, ConfigurationError):
            raise ConfigurationError(f"{self._service}: {words}. What was made before is kept.")
        raise self._service.failure(words, hint)


def _outcome(state: Any) -> Any:
    return state.outcome.result()


def _pause(state: Any) -> float:
    """Seconds until the next request: those that the service demands, else twice as many."""
    after = _outcome(state).after
    if after is not None:
        return float(after)
    from tenacity import wait_exponential

    return float(wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)(state))


def _bare(error: E, *args: object) -> E:
    """An exception with these arguments, without causes and frames, which hold the request."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    error.args = args
    return error
