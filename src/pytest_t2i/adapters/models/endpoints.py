"""What every model behind HTTP has in common: keys, deadlines, tries, refusals. No torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pytest_t2i.adapters.languages.addresses import is_address
from pytest_t2i.adapters.models.asking import LONGEST_PROMPT, Asking
from pytest_t2i.adapters.models.endpoint_faults import PassingFaultError, fault, picture_from
from pytest_t2i.adapters.models.told_versions import versions_words
from pytest_t2i.adapters.support.fault_counts import FaultCounts
from pytest_t2i.adapters.support.flight import Flight, in_order
from pytest_t2i.adapters.support.hosts import is_local, netloc, plain_address
from pytest_t2i.adapters.support.pace import Pace
from pytest_t2i.adapters.support.secrets import secrets_of
from pytest_t2i.adapters.support.spending import Spending
from pytest_t2i.data import EMPTY, Generated, Request, digest
from pytest_t2i.errors import ConfigurationError, T2IError, printable
from pytest_t2i.protocols import AnswerLimits

if TYPE_CHECKING:
    from PIL.Image import Image

A = TypeVar("A")


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
    faults: FaultCounts | None = None
    """Counts how often it failed, and how; the run sets it."""
    versions: Mapping[str, str] = EMPTY
    """What the service says of the model's version; the run asks for it."""
    counted_versions: Mapping[str, str] = EMPTY
    """The same, as far as it changes the fingerprint."""

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
        self._asking = Asking(self, limits, secrets_of(self.key, address))
        self._pace = Pace(limits.at_once)

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
        """Hash of service, address, the model's name, and its version where one is told.

        What answers there may change unseen all the same.
        """
        service = self.service or type(self).__name__
        versions = [dict(self.counted_versions)] if self.counted_versions else []
        return digest(["endpoint", service, self.address, self.model, *versions])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Which model, and where, without user, password and query."""
        told = versions_words(self.versions) or "not told"
        return {"model": self.model, "endpoint": self.address, "version": told}

    def ask_versions(self, seconds: float) -> Mapping[str, str]:  # noqa: ARG002 - for those who ask
        """Ask what the service says of the model's version, once; {} where it says nothing.

        A run asks before its first picture, with few ``seconds``. What says that there is no such
        answer may be raised.
        """
        return {}

    def versions_told(self, seconds: float) -> Mapping[str, str] | T2IError:
        """What the service says of the model's version, or why it says nothing at this moment."""
        told = self._asking.once(lambda: self.ask_versions(seconds), seconds)
        if isinstance(told, T2IError):
            return told if isinstance(told, PassingFaultError) else {}
        return {name: self._asking.shown(words) for name, words in told.items()}

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
        places = range(len(requests))
        return in_order(self._flown(requests.__getitem__, places, most, pace))

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
        return self._asking.picture(
            lambda seconds: self._read(self.ask(request, seconds)), pace, is_over
        )

    def _read(self, given: Generated | Image | bytes) -> Generated:
        if isinstance(given, Generated):
            drawn = self._asking.shown(given.revised_prompt or "", LONGEST_PROMPT) or None
            return replace(
                given, refusal=self._asking.shown(given.refusal or "") or None, revised_prompt=drawn
            )
        return Generated(self.picture(given))

    def picture(self, given: Image | bytes) -> Image:
        """A whole picture, from the bytes of its file, for an answer that holds more than that.

        ``Generated(self.picture(content), revised_prompt="...")`` says what the service drew.
        """
        return picture_from(given, self.limits)

    def say(self, line: str) -> None:
        """Tell the user something on stderr, without the key."""
        print(printable(f"{self}: {self._asking.shown(line)}"), file=sys.stderr, flush=True)  # noqa: T201
