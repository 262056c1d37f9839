"""Base class of models behind HTTP: keys, deadlines, retries and refusals. Imports no torch."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pytest_t2i.adapters.languages.addresses import is_address
from pytest_t2i.adapters.models.answers import (
    BrokenPictureError,
    OtherAspectError,
    PassingFaultError,
    RefusedError,
    fault,
    fault_of,
    fetch_fault,
    is_elsewhere,
    picture_from,
)
from pytest_t2i.adapters.models.reported_versions import versions_words
from pytest_t2i.adapters.support.aspects import aspect_problem
from pytest_t2i.adapters.support.hosts import is_local, netloc, plain_address
from pytest_t2i.adapters.support.http_limits import DeadlinePassedError, unlogged, within
from pytest_t2i.adapters.support.parallel_calls import Pace, ParallelCalls, StoppedError, in_order
from pytest_t2i.adapters.support.secrets import LONGEST_SHOWN, Secrets, secrets_of
from pytest_t2i.adapters.support.spending import OTHER, FaultCounts, Spending
from pytest_t2i.data import EMPTY, Generated, Request, Undetected, digest
from pytest_t2i.errors import (
    BudgetSpentError,
    ConfigurationError,
    GenerationError,
    T2IError,
    printable,
)
from pytest_t2i.protocols import AnswerLimits

if TYPE_CHECKING:
    from PIL.Image import Image

TRIES, TRIES_OF_BROKEN = 8, 3
"""Largest number of requests for one image: to a busy endpoint, and where no picture comes."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds of the first and the longest wait, where the endpoint demands none; waits double."""
START_PATIENCE = 10.0
"""Seconds of attempts at a service that no request ever reached: most likely it is not there."""


def pause_before_next(told: T2IError, tried: int) -> float | None:
    """Seconds until the next request for an image; None where there is none.

    >>> pause_before_next(PassingFaultError("busy"), 3)
    4.0
    """
    most = TRIES_OF_BROKEN if isinstance(told, BrokenPictureError) else TRIES
    if not isinstance(told, PassingFaultError) or tried >= most:
        return None
    return min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) if told.after is None else told.after


A = TypeVar("A")
B = TypeVar("B")
SAID_FROM = 2.0
"""Seconds of a wait from which on it is reported on stderr."""
MOST_BROKEN = 3
"""Number of images in a row without a picture at which the run ends; at the start one suffices."""
LONGEST_WORDS, LONGEST_PROMPT = 300, 4000
"""Largest number of characters of an endpoint's messages, and of a revised prompt."""


LATER = " Run again later, or allow more time: --t2i-answer-deadline."
UNREACHABLE = "unreachable"
"""Kind of a failure to connect: the request was never sent."""
HINTS = {
    UNREACHABLE: " Check that the endpoint is running and that its address is right.",
    "broken": " Check that the address is that of a text-to-image model.",
    "endless": "",
}
"""Kind of a lasting failure -> remedy."""


class Counter(Protocol):
    """What is paid for: each request is counted before it is sent."""

    def reserve(self) -> None:
        """Count a request; BudgetSpentError where the budget does not pay for it."""

    def give_back(self) -> None:
        """Subtract a request that was certainly not charged."""


class Service(Protocol[A]):
    """A service that answers with pictures, or with labels of them."""

    @property
    def faults(self) -> FaultCounts | None:
        """The counter of failures by kind; None outside of a run."""

    @property
    def spending(self) -> Counter | None:
        """The counter of costs; None where no price is known."""

    @property
    def retries_charged(self) -> bool:
        """Whether a request is repeated although it may have been charged."""

    def give_up(self) -> None:
        """Called when an attempt has taken too long."""

    def say(self, line: str) -> None:
        """Show a note to the user."""

    def refused(self, words: str) -> A:
        """The answer of a service whose policy forbids this request."""

    def unusable(self, words: str) -> A:
        """The answer in the place of a single one that cannot be read."""

    def is_refused(self, answer: A) -> bool:
        """Whether an answer is a refusal."""


class PaidRequests(Generic[A]):
    """Sends requests with retries, waits and deadlines, and hides keys in all messages."""

    def __init__(self, service: Service[A], limits: AnswerLimits, secrets: Secrets) -> None:
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

        Raises GenerationError or ConfigurationError where the service cannot be used.
        """
        until, ready, tried, in_vain, answers = math.inf, -math.inf, 0, 0, pace.answers
        patience = math.inf
        outcome: A | T2IError | None = None
        while pace.turn(ready, until, is_over):
            began = time.monotonic()
            until = min(until, began + self._limits.seconds)
            patience = min(patience, began + START_PATIENCE)
            tried, in_vain = tried + 1, in_vain + 1
            # At most half of the time, so that a connection that hangs leaves time for another.
            seconds = max(min(self._limits.seconds / 2, until - began), 0.001)
            try:
                outcome = self.once_paid(ask, seconds)
            finally:
                pace.done()
            if not isinstance(outcome, T2IError):
                pace.answered()
                with self._lock:
                    self._broken = 0
                return outcome
            if isinstance(outcome, PassingFaultError) and (outcome.is_busy or outcome.after):
                pace.too_many(began, outcome.after)
                if pace.answers > answers:  # busy with other requests, which it answers
                    answers, in_vain = pace.answers, 1
            pause = self._pause(outcome, in_vain)
            ready = math.inf if pause is None else time.monotonic() + pause
            if pause is None or ready >= (until if self._is_reached else min(until, patience)):
                return self._without(outcome, tried)
            self._tell(outcome, tried, pause)
        if not isinstance(outcome, T2IError) or is_over():
            raise StoppedError
        return self._without(outcome, tried)

    def _pause(self, error: T2IError, tried: int) -> float | None:
        """Seconds until the next request; None where there is none."""
        is_free = getattr(error, "is_free", False) or self._service.spending is None
        may_repeat = is_free or self._service.retries_charged
        return pause_before_next(error, tried) if may_repeat else None

    def once(self, call: Callable[[], B], seconds: float) -> B | T2IError:
        """Call the service; return its result or error.

        An exception is returned, not raised, as it may hold the request with its key. A mistake in
        a user's code is raised as it is, unless it or one of its causes holds the key.
        """

        def unheard() -> B:
            with unlogged():  # as long as the thread lives
                return call()

        try:
            with unlogged():
                result = within(seconds, unheard, self._service.give_up)
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
        else:
            self._is_reached = True
            return result
        # Outside of the handler, so that the exception is not the context of this one.
        fault.__cause__ = fault.__context__ = fault.__traceback__ = None
        fault.args = (self.shown(fault),)
        return fault

    def _are_secrets_in(self, error: BaseException) -> bool:
        """Whether an exception, or one that its traceback shows before it, may hold a secret."""
        past_ids, waiting = set(), [error]
        while waiting:
            exception = waiting.pop()
            if id(exception) in past_ids:
                continue
            past_ids.add(id(exception))
            text = str(exception)
            if len(text) > LONGEST_SHOWN or self._secrets.are_in(text):
                return True
            waiting += [
                cause for cause in (exception.__cause__, exception.__context__) if cause is not None
            ]
        return False

    def shown(self, words: object, most: int = LONGEST_WORDS) -> str:
        """A message of a service, without the key and shortened."""
        return self._secrets.hide_in(" ".join(str(words).split()), most)

    def once_paid(self, ask: Callable[[float], A], seconds: float) -> A | T2IError:
        """One attempt; its cost is reserved before, and released if it was not charged."""
        spending = self._service.spending
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
        tries, hint = f" (after {tried} attempts)" if tried > 1 else "", ""
        if isinstance(error, PassingFaultError):
            tries += f", and demands a wait of {error.after:g} seconds" if error.after else ""
            hint = HINTS.get(error.kind, LATER)
        kind = ConfigurationError if isinstance(error, ConfigurationError) else GenerationError
        raise kind(
            f"{self._service}: {str(error).rstrip('.')}{tries}. What was made before is kept.{hint}"
        )


class EndpointModel:
    """Base class of models behind HTTP; a subclass requests one picture in ``ask``.

    This class does the rest: it repeats requests to a busy or silent endpoint until the deadline
    of ``--t2i-answer-deadline``, turns a refusal into an undetected image, and never shows the key.

    >>> class Grey(EndpointModel):
    ...     service = "grey"
    ...
    ...     def ask(self, request, seconds):
    ...         from PIL import Image
    ...
    ...         return Image.new("RGB", (8, 8), "grey")
    >>> model = Grey("grey-1", "http://127.0.0.1:8000/v1")
    >>> [made.image.size for made in model.generate([Request("a nurse", seed=0)])]
    [(8, 8)]
    """

    service = ""
    """Name of the service in messages; part of the fingerprint."""
    key_variable = ""
    """Environment variable of the key; "" for a service without keys."""
    may_ignore_seeds = True
    """Whether a run probes if the same seed gives the same picture (MayIgnoreSeeds)."""
    spending: Spending | None = None
    """Counter of costs, which the run sets where a price is known."""
    faults: FaultCounts | None = None
    """Counter of failures by kind, which the run sets."""
    takes_other_sizes: bool = False
    """Whether pictures of another aspect than the requested one are taken, which the run sets."""
    versions: Mapping[str, str] = EMPTY
    """Version of the model that the service reported, which the run sets."""
    counted_versions: Mapping[str, str] = EMPTY
    """The part of ``versions`` that is in the fingerprint."""

    def __init__(self, model: str, address: str, limits: AnswerLimits = AnswerLimits()) -> None:  # noqa: B008 - frozen
        """Args: the model's name there, the base URL, and limits (``options.answers``)."""
        if not is_address(address):
            shown_address = address.rpartition("@")[2].partition("?")[0]
            raise ConfigurationError(
                f"{self.service or type(self).__name__}:{model}: expected a base URL such as "
                f"http://127.0.0.1:8000/v1, got {shown_address!r}"
            )
        self.model, self.address, self.limits = model, plain_address(address), limits
        if self.key_variable and not self.key and not is_local(address):
            raise ConfigurationError(
                f"{self} needs a key: set the environment variable {self.key_variable} "
                "(an endpoint on this machine or in its network needs none)"
            )
        if not (self.key.isascii() and self.key.isprintable()):
            raise ConfigurationError(
                f"{self.key_variable}: expected printable ASCII characters, got others: set the "
                "variable again"
            )
        self._requests = PaidRequests(self, limits, secrets_of(self.key, address))
        self._pace = Pace(limits.at_once)

    def __str__(self) -> str:
        return f"{self.service or type(self).__name__}:{self.model} at {netloc(self.address)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def key(self) -> str:
        """The key, which is read from the environment only; "" without one."""
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""

    @property
    def fingerprint(self) -> str:
        """Hash of service, address, the model's name, and its version where one is reported.

        The model behind the address may still change unseen.
        """
        service = self.service or type(self).__name__
        versions = [dict(self.counted_versions)] if self.counted_versions else []
        return digest(["endpoint", service, self.address, self.model, *versions])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Model, address (without user, password and query) and version."""
        version = versions_words(self.versions) or "not told"
        return {"model": self.model, "endpoint": self.address, "version": version}

    def ask_versions(self, seconds: float) -> Mapping[str, str]:  # noqa: ARG002 - for those who ask
        """Request the model's version once; {} where the service reports none.

        A run calls this before its first picture, with a few ``seconds``. Errors of the HTTP
        library may be raised.
        """
        return {}

    def versions_told(self, seconds: float) -> Mapping[str, str] | T2IError:
        """The model's version, or the error for which the service reports none now."""
        versions = self._requests.once(lambda: self.ask_versions(seconds), seconds)
        if isinstance(versions, T2IError):
            return versions if isinstance(versions, PassingFaultError) else {}
        return {name: self._requests.shown(words) for name, words in versions.items()}

    def ask(self, request: Request, seconds: float) -> Generated | Image | bytes:
        """Request one picture, once; several threads call this at the same time.

        Args:
            request: prompt, seed and settings; a setting is None where it was left open.
            seconds: time limit of this attempt.

        Returns:
            A picture, the bytes of its file, or ``Generated(None, refusal="...")``. For an error
            answer raise ``self.fault(status, words)``. Exceptions of HTTP libraries may be raised,
            too: this class knows which of them are temporary.
        """
        raise NotImplementedError

    def attempts(self, request: Request) -> Callable[[float], Generated | Image | bytes]:
        """What is called, with its seconds, for each attempt to get one picture."""
        return lambda seconds: self.ask(request, seconds)

    def fault(
        self, status: int, words: str, code: str = "", retry_after: str | None = None
    ) -> T2IError:
        """The exception for an HTTP status: refused by policy, temporary or permanent."""
        return fault(status, words, code, retry_after)

    def give_up(self) -> None:
        """Called when an attempt has taken too long; requests of other threads must go on."""

    @property
    def retries_charged(self) -> bool:
        """True: an attempt that may have been charged is counted, and the next one as well."""
        return True

    def refused(self, words: str) -> Generated:
        """A refused image."""
        return Generated(None, refusal=words)

    def unusable(self, words: str) -> Generated:
        """An unreadable image, for a single picture that is broken."""
        return Generated(None, refusal=f"{Undetected.UNREADABLE}: {words}")

    def is_refused(self, answer: Generated) -> bool:
        """Whether an image was refused."""
        return answer.image is None

    def at_once(self, requests: Sequence[Request]) -> list[Generated]:
        """Request all of these pictures at the same time, as the probe of seeds does.

        Raises:
            GenerationError: the endpoint cannot be used.
        """
        most = len(requests)
        return list(self._in_order(requests, most, Pace(most, first=most)))

    def each(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Every request with its image, in the order of the answers (MakesEach).

        At most ``--t2i-concurrency`` requests run at the same time. An error is raised after the
        running requests have ended, so that their images are not lost.

        Raises:
            GenerationError: the endpoint cannot be used.
        """
        return self._flown(lambda request: request, requests, self.limits.at_once, self._pace)

    def generate(self, requests: Sequence[Request]) -> Iterator[Generated]:
        """The images in order; several are requested at the same time.

        Raises:
            GenerationError: the endpoint cannot be used.
        """
        return self._in_order(requests, self.limits.at_once, self._pace)

    def _in_order(self, requests: Sequence[Request], most: int, pace: Pace) -> Iterator[Generated]:
        places = range(len(requests))
        return in_order(self._flown(requests.__getitem__, places, most, pace))

    def _flown(
        self, request_of: Callable[[A], Request], queue: Iterable[A], most: int, pace: Pace
    ) -> Iterator[tuple[A, Generated]]:
        if most == 1:
            for entry in queue:
                yield entry, self._made(request_of(entry), pace)
            return
        flight: ParallelCalls[A, Generated] = ParallelCalls(
            lambda entry: self._made(request_of(entry), pace, lambda: flight.is_over), most
        )
        yield from flight.run(queue)

    def _made(
        self, request: Request, pace: Pace, is_over: Callable[[], bool] = lambda: False
    ) -> Generated:
        attempt = self.attempts(request)

        def answer(seconds: float) -> Generated:
            try:
                outcome = self._read(attempt(seconds))
            except Exception as error:
                if is_elsewhere(error, self.address):  # a picture that the service has made
                    raise fetch_fault(error) from None
                raise
            size = getattr(outcome.image, "size", None)
            if size and not self.takes_other_sizes and (problem := aspect_problem(request, size)):
                raise OtherAspectError(problem)  # it was paid, and so would be the next one
            return outcome

        return self._requests.send(answer, pace, is_over)

    def _read(self, answer: Generated | Image | bytes) -> Generated:
        if isinstance(answer, Generated):
            prompt = self._requests.shown(answer.revised_prompt or "", LONGEST_PROMPT) or None
            return replace(
                answer,
                refusal=self._requests.shown(answer.refusal or "") or None,
                revised_prompt=prompt,
            )
        return Generated(self.picture(answer))

    def picture(self, given: Image | bytes) -> Image:
        """A decoded picture, for an answer that has more than the picture.

        ``Generated(self.picture(content), revised_prompt="...")`` adds a revised prompt.
        """
        return picture_from(given, self.limits)

    def say(self, line: str) -> None:
        """Show a note on stderr, without the key."""
        print(printable(f"{self}: {self._requests.shown(line)}"), file=sys.stderr, flush=True)  # noqa: T201
