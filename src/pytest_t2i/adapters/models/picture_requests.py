"""Request pictures from a service, with retries, deadlines and hidden keys."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol, TypeVar

from pytest_t2i.adapters.models.endpoint_faults import (
    BrokenPictureError,
    PassingFaultError,
    RefusedError,
    fault_of,
)
from pytest_t2i.adapters.models.retries import pause_before_next
from pytest_t2i.adapters.support.fault_counts import OTHER, FaultCounts
from pytest_t2i.adapters.support.http_limits import DeadlinePassedError, unlogged, within
from pytest_t2i.adapters.support.pace import Pace
from pytest_t2i.adapters.support.parallel_calls import StoppedError
from pytest_t2i.adapters.support.secrets import LONGEST_SHOWN, Secrets
from pytest_t2i.adapters.support.spending import Spending
from pytest_t2i.data import Generated, Undetected
from pytest_t2i.errors import BudgetSpentError, ConfigurationError, GenerationError, T2IError
from pytest_t2i.protocols import AnswerLimits

A = TypeVar("A")
SAID_FROM = 2.0
"""Seconds of a wait from which on it is reported on stderr."""
MOST_BROKEN = 3
"""Number of images in a row without a picture at which the run ends; at the start one suffices."""
LONGEST_WORDS, LONGEST_PROMPT = 300, 4000
"""Largest number of characters of an endpoint's messages, and of a revised prompt."""


LATER = " Run again later, or allow more time: --t2i-answer-deadline."
HINTS = {
    "unreachable": " Check that the endpoint is running and that its address is right.",
    "broken": " Check that the address is that of a text-to-image model.",
    "endless": "",
}
"""Kind of a lasting failure -> remedy."""


class Service(Protocol):
    """A service that makes pictures."""

    spending: Spending | None
    faults: FaultCounts | None

    def give_up(self) -> None:
        """Called when an attempt has taken too long."""

    def say(self, line: str) -> None:
        """Show a note to the user."""


class PictureRequests:
    """Requests pictures with retries, waits and deadlines, and hides keys in all messages."""

    def __init__(self, service: Service, limits: AnswerLimits, secrets: Secrets) -> None:
        self._service, self._limits, self._secrets = service, limits, secrets
        self._broken, self._told_until, self._lock = MOST_BROKEN - 1, -math.inf, Lock()

    def picture(
        self,
        ask: Callable[[float], Generated],
        pace: Pace,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Generated:
        """The result of ``ask``, which is called until it succeeds.

        Raises GenerationError or ConfigurationError where the service cannot be used.
        """
        until, ready, tried, in_vain, answers = math.inf, -math.inf, 0, 0, pace.answers
        given: Generated | T2IError | None = None
        while pace.turn(ready, until, is_over):
            began = time.monotonic()
            until = min(until, began + self._limits.seconds)
            tried, in_vain = tried + 1, in_vain + 1
            # At most half of the time, so that a connection that hangs leaves time for another.
            seconds = max(min(self._limits.seconds / 2, until - began), 0.001)
            try:
                given = self._paid(ask, seconds)
            finally:
                pace.done()
            if isinstance(given, Generated):
                pace.answered()
                with self._lock:
                    self._broken = 0
                return given
            if isinstance(given, PassingFaultError) and (given.is_busy or given.after):
                pace.too_many(began, given.after)
                if pace.answers > answers:  # busy with other requests, which it answers
                    answers, in_vain = pace.answers, 1
            pause = pause_before_next(given, in_vain)
            ready = math.inf if pause is None else time.monotonic() + pause
            if pause is None or ready >= until:
                return self._without(given, tried)
            self._tell(given, pause)
        if given is None or isinstance(given, Generated) or is_over():
            raise StoppedError
        return self._without(given, tried)

    def once(self, call: Callable[[], A], seconds: float) -> A | T2IError:
        """Call the service; return its result or error.

        An exception is returned, not raised, as it may hold the request with its key. A mistake in
        a user's code is raised as it is, unless it or one of its causes holds the key.
        """

        def unheard() -> A:
            with unlogged():  # as long as the thread lives
                return call()

        try:
            with unlogged():
                return within(seconds, unheard, self._service.give_up)
        except DeadlinePassedError as passed:
            kind = "unfinished" if passed.has_begun else "late"
            words = f"no complete answer in {seconds:.3g} seconds"
            return PassingFaultError(words, is_busy=True, kind=kind)
        except Exception as error:
            known = fault_of(error)
            if known is None and not self._are_secrets_in(error):
                raise
            fault = known or GenerationError(f"{type(error).__name__}: {self.shown(error)}")
        # Outside of the handler, so that the exception is not the context of this one.
        fault.__cause__ = fault.__context__ = fault.__traceback__ = None
        fault.args = (self.shown(fault),)
        return fault

    def _are_secrets_in(self, error: BaseException) -> bool:
        """Whether an exception, or one that its traceback shows before it, may hold a secret."""
        shown, waiting = set(), [error]
        while waiting:
            one = waiting.pop()
            if id(one) in shown:
                continue
            shown.add(id(one))
            text = str(one)
            if len(text) > LONGEST_SHOWN or self._secrets.are_in(text):
                return True
            waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
        return False

    def shown(self, words: object, most: int = LONGEST_WORDS) -> str:
        """A message of a service, without the key and shortened."""
        return self._secrets.hide_in(" ".join(str(words).split()), most)

    def _paid(self, ask: Callable[[float], Generated], seconds: float) -> Generated | T2IError:
        """One attempt; its cost is reserved before, and released if it was not charged."""
        spending = self._service.spending
        if spending is not None:
            spending.reserve()
        given = self.once(lambda: ask(seconds), seconds)
        if spending is not None and getattr(given, "is_free", False):
            spending.give_back()
        self._count(given)
        if isinstance(given, RefusedError):
            return Generated(None, refusal=str(given) or "refused")
        return given

    def _count(self, given: Generated | T2IError) -> None:
        counts = self._service.faults
        if counts is None:
            return
        if isinstance(given, T2IError):
            if not isinstance(given, BudgetSpentError):
                counts.add(str(getattr(given, "kind", OTHER)))
        elif given.image is None:
            counts.add(RefusedError.kind)

    def _tell(self, told: T2IError, pause: float) -> None:
        """Report the reason of a wait, once where several requests wait at the same time."""
        now = time.monotonic()
        with self._lock:
            is_new = pause >= SAID_FROM and now >= self._told_until
            self._told_until = now + pause if is_new else self._told_until
        if is_new:
            self._service.say(f"{told}; the next attempt is in {pause:.0f} seconds")

    def _without(self, told: T2IError, tried: int) -> Generated:
        """Return an unreadable image for a single broken picture; raise every other error."""
        if isinstance(told, BrokenPictureError):
            with self._lock:
                self._broken += 1
                is_lone = self._broken < MOST_BROKEN
            if is_lone:
                return Generated(None, refusal=f"{Undetected.UNREADABLE}: {told}")
        asked, hint = f" (after {tried} attempts)" if tried > 1 else "", ""
        if isinstance(told, PassingFaultError):
            asked += f", and demands a wait of {told.after:g} seconds" if told.after else ""
            hint = HINTS.get(told.kind, LATER)
        kind = ConfigurationError if isinstance(told, ConfigurationError) else GenerationError
        raise kind(
            f"{self._service}: {str(told).rstrip('.')}{asked}. What was made before is kept.{hint}"
        )
