"""What every model behind HTTP has in common: keys, deadlines, tries, refusals. No torch."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from pytest_t2i.adapters.languages.addresses import is_address
from pytest_t2i.adapters.models.endpoint_faults import (
    BrokenPictureError,
    PassingFaultError,
    RefusedError,
    fault,
    fault_of,
    picture_from,
)
from pytest_t2i.adapters.models.retries import pause_before_next
from pytest_t2i.adapters.support.flight import Flight, StoppedError
from pytest_t2i.adapters.support.hosts import is_local, netloc, plain_address
from pytest_t2i.adapters.support.http_limits import DeadlinePassedError, unlogged, within
from pytest_t2i.adapters.support.pace import Pace
from pytest_t2i.adapters.support.secrets import secrets_of
from pytest_t2i.adapters.support.spending import Spending
from pytest_t2i.data import Generated, Request, Undetected, digest
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError, printable
from pytest_t2i.protocols import AnswerLimits

if TYPE_CHECKING:
    from PIL.Image import Image

A = TypeVar("A")
SAID_FROM = 2.0
"""Seconds: a wait of so many is said on stderr."""
MOST_BROKEN = 3
"""Images in a row without a picture before the endpoint is given up; the first by itself."""
LONGEST_WORDS, LONGEST_PROMPT = 300, 4000
"""Characters that are shown of what an endpoint says, and kept of a prompt as it rewrote it."""


class EndpointModel:
    """A model behind HTTP; a service of your own says in ``ask`` how one picture is asked for.

    Everything else is done here: a busy or silent endpoint is asked again until the deadline of
    ``--t2i-answer-deadline``, a refusal becomes an undetected image, and a key is shown nowhere.

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
    """How messages call it; part of the fingerprint."""
    key_variable = ""
    """Environment variable of the key; "" where there is none."""
    may_ignore_seeds = True
    """Whether it is tried out if the same seed gives the same picture (MayIgnoreSeeds)."""
    spending: Spending | None = None
    """Counts what requests cost; the run sets it where it knows a price."""

    def __init__(self, model: str, address: str, limits: AnswerLimits = AnswerLimits()) -> None:  # noqa: B008 - frozen
        """Args: the model's name there, the base URL, and bounds (``options.answers``).

        Raises:
            ConfigurationError: the address is none, the key is none, or it is missing and the
                address is not local.
        """
        if not is_address(address):
            told = address.rpartition("@")[2].partition("?")[0]
            raise ConfigurationError(
                f"{self.service or type(self).__name__}:{model}: expected a base URL such as "
                f"http://127.0.0.1:8000/v1, got {told!r}"
            )
        self.model, self.address, self.limits = model, plain_address(address), limits
        if self.key_variable and not self.key and not is_local(address):
            raise ConfigurationError(
                f"{self} needs a key: set the environment variable {self.key_variable} "
                "(an endpoint on this machine or in its network needs none)"
            )
        if not (self.key.isascii() and self.key.isprintable()):
            raise ConfigurationError(f"{self.key_variable}: expected printable ASCII")
        self._secrets = secrets_of(self.key, address)
        self._pace = Pace(limits.at_once)
        self._broken, self._told_until, self._lock = MOST_BROKEN - 1, -math.inf, Lock()

    def __str__(self) -> str:
        return f"{self.service or type(self).__name__}:{self.model} at {netloc(self.address)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def key(self) -> str:
        """The key, from the environment alone; "" without one."""
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""

    @property
    def fingerprint(self) -> str:
        """Hash of service, address and model's name; what answers there may change unseen."""
        service = self.service or type(self).__name__
        return digest(["endpoint", service, self.address, self.model])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Which model, and where, without user, password and query."""
        return {"model": self.model, "endpoint": self.address}

    def ask(self, request: Request, seconds: float) -> Generated | Image | bytes:
        """Ask for one picture, once; several threads do so at the same time.

        Args:
            request: prompt, seed, and settings, each None where it was left open.
            seconds: time for this try; what takes longer is given up.

        Returns:
            A picture, the bytes of its file, or ``Generated(None, refusal="...")``. For an answer
            that is none raise ``self.fault(status, words)``. What the HTTP library raises may pass
            through: it is known which statuses and breaks are worth another try.
        """
        raise NotImplementedError

    def fault(
        self, status: int, words: str, code: str = "", retry_after: str | None = None
    ) -> T2IError:
        """The exception for an HTTP status: refused by policy, to be asked again, or final."""
        return fault(status, words, code, retry_after)

    def give_up(self) -> None:
        """Called when a try has taken too long; what others ask meanwhile is to go on."""

    def at_once(self, requests: Sequence[Request]) -> list[Generated]:
        """Ask for all of these pictures at the same time, as the probe of seeding does.

        Raises:
            GenerationError: the endpoint cannot be used; says why.
        """
        most = len(requests)
        return list(self._in_order(requests, most, Pace(most, first=most)))

    def each(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Every request with its image, as they come (MakesEach).

        Several are asked for at the same time, ``--t2i-concurrency`` at most. An error loses none
        that is under way: it is raised when those have come.

        Raises:
            GenerationError: the endpoint cannot be used; says why.
        """
        return self._flown(lambda request: request, requests, self.limits.at_once, self._pace)

    def generate(self, requests: Sequence[Request]) -> Iterator[Generated]:
        """One image after the other, in order; several are asked for at the same time.

        Raises:
            GenerationError: the endpoint cannot be used; says why.
        """
        return self._in_order(requests, self.limits.at_once, self._pace)

    def _in_order(self, requests: Sequence[Request], most: int, pace: Pace) -> Iterator[Generated]:
        made: dict[int, Generated] = {}
        following = 0
        for place, generated in self._flown(requests.__getitem__, range(len(requests)), most, pace):
            made[place] = generated
            while following in made:
                yield made.pop(following)
                following += 1

    def _flown(
        self, request_of: Callable[[A], Request], asked: Iterable[A], most: int, pace: Pace
    ) -> Iterator[tuple[A, Generated]]:
        if most == 1:
            for one in asked:
                yield one, self._made(request_of(one), pace)
            return
        flight: Flight[A, Generated] = Flight(
            lambda one: self._made(request_of(one), pace, lambda: flight.is_over), most
        )
        yield from flight.run(asked)

    def _made(
        self, request: Request, pace: Pace, is_over: Callable[[], bool] = lambda: False
    ) -> Generated:
        until, ready, tried = math.inf, -math.inf, 0
        given: Generated | T2IError | None = None
        while pace.turn(ready, until, is_over):
            began = time.monotonic()
            until = min(until, began + self.limits.seconds)
            tried += 1
            # Half of it at most, so that a connection that hangs leaves time for another.
            try:
                given = self._paid(request, max(min(self.limits.seconds / 2, until - began), 0.001))
            finally:
                pace.done()
            if isinstance(given, Generated):
                pace.answered()
                with self._lock:
                    self._broken = 0
                return given
            if isinstance(given, PassingFaultError) and (given.is_busy or given.after):
                pace.too_many(began, given.after)
            pause = pause_before_next(given, tried)
            ready = math.inf if pause is None else time.monotonic() + pause
            if pause is None or ready >= until:
                return self._without(given, tried)
            self._tell(given, pause)
        if given is None or isinstance(given, Generated) or is_over():
            raise StoppedError
        return self._without(given, tried)

    def _paid(self, request: Request, seconds: float) -> Generated | T2IError:
        """One try, whose money is reserved before, and given back where it was not charged."""
        if self.spending is None:
            return self._once(request, seconds)
        self.spending.reserve()
        given = self._once(request, seconds)
        if getattr(given, "is_free", False):
            self.spending.give_back()
        return given

    def _once(self, request: Request, seconds: float) -> Generated | T2IError:
        """One try. What it raised is given, not passed on: it may hold the request with its key."""

        def ask() -> Generated | Image | bytes:
            with unlogged():  # for as long as its thread lives
                return self.ask(request, seconds)

        try:
            with unlogged():
                return self._read(within(seconds, ask, self.give_up))
        except DeadlinePassedError:
            return PassingFaultError(f"no whole answer in {seconds:.3g} seconds", is_busy=True)
        except Exception as error:
            known = fault_of(error)
            if known is None and not self._secrets.are_in(str(error)):
                raise
            told = known or GenerationError(f"{type(error).__name__}: {error}")
        # Outside of the handler, so that what was raised is not its context.
        told.__cause__ = told.__context__ = told.__traceback__ = None
        told.args = (self._shown(told),)
        if isinstance(told, RefusedError):
            return Generated(None, refusal=str(told) or "refused")
        return told

    def _read(self, given: Generated | Image | bytes) -> Generated:
        if isinstance(given, Generated):
            drawn = self._shown(given.revised_prompt or "", LONGEST_PROMPT) or None
            return replace(
                given, refusal=self._shown(given.refusal or "") or None, revised_prompt=drawn
            )
        return Generated(self.picture(given))

    def picture(self, given: Image | bytes) -> Image:
        """A whole picture, from the bytes of its file, for an answer that holds more than that.

        ``Generated(self.picture(content), revised_prompt="...")`` says what the service drew.
        """
        return picture_from(given, self.limits)

    def _shown(self, words: object, most: int = LONGEST_WORDS) -> str:
        return self._secrets.hide_in(" ".join(str(words).split()))[:most]

    def say(self, line: str) -> None:
        """Tell the user something on stderr, without the key."""
        print(printable(f"{self}: {self._shown(line)}"), file=sys.stderr, flush=True)  # noqa: T201

    def _tell(self, told: T2IError, pause: float) -> None:
        """Say for what is waited; once, where several wait at the same time."""
        now = time.monotonic()
        with self._lock:
            is_new = pause >= SAID_FROM and now >= self._told_until
            self._told_until = now + pause if is_new else self._told_until
        if is_new:
            self.say(f"{told}; asked again in {pause:.0f} seconds")

    def _without(self, told: T2IError, tried: int) -> Generated:
        """A single picture that stays broken loses no other; everything else ends the run."""
        if isinstance(told, BrokenPictureError):
            with self._lock:
                self._broken += 1
                is_lone = self._broken < MOST_BROKEN
            if is_lone:
                return Generated(None, refusal=f"{Undetected.UNREADABLE}: {told}")
        asked, hint = f" (asked {tried} times)" if tried > 1 else "", ""
        if isinstance(told, PassingFaultError):
            asked += f", and is to wait {told.after:g} seconds" if told.after else ""
            hint = " Run again later, or allow more time: --t2i-answer-deadline."
        kind = ConfigurationError if isinstance(told, ConfigurationError) else GenerationError
        raise kind(f"{self}: {str(told).rstrip('.')}{asked}. What was made before is kept.{hint}")
