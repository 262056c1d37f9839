"""Base class of models behind HTTP: keys, deadlines, retries and refusals. Imports no torch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.endpoints.addresses import is_address, is_local, netloc, plain_address
from pytest_t2i.adapters.endpoints.answers import (
    OtherAspectError,
    PassingFaultError,
    fault,
    fetch_fault,
    is_elsewhere,
    picture_from,
)
from pytest_t2i.adapters.endpoints.aspects import aspect_problem
from pytest_t2i.adapters.endpoints.paid_requests import A, PaidRequests, RemoteService
from pytest_t2i.adapters.endpoints.parallel_calls import Pace, ParallelCalls, in_order
from pytest_t2i.adapters.endpoints.reported_versions import versions_words
from pytest_t2i.adapters.endpoints.secrets import secrets_of
from pytest_t2i.adapters.endpoints.spending import RunCounts, Spending
from pytest_t2i.data import EMPTY, Generated, GenerationSettings, Request, Undetected, digest
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.protocols import AnswerLimits

if TYPE_CHECKING:
    from PIL.Image import Image


LONGEST_PROMPT = 4000
"""Largest number of characters of a revised prompt."""


FROM_THE_RUN = {
    **dict.fromkeys(("model", "sd_model_checkpoint"), "give --t2i-model"),
    "seed": "give --t2i-seed",
}
"""Field of every request -> where it is given."""
SETTINGS: Mapping[tuple[str, ...], tuple[Any, str]] = {
    ("steps",): (7, "--t2i-steps"),
    ("guidance",): (7.5, "--t2i-guidance"),
    ("width", "height"): (512, "--t2i-size"),
    ("negative_prompt",): ("a hat", "negative_prompt in the model's table of a catalogue"),
}
"""Settings that are given together -> a value, and where they are given."""
ALIASES = (
    ("num_inference_steps", "steps", "num_steps"),
    ("guidance_scale", "guidance", "cfg", "cfg_scale"),
    ("num_outputs", "num_images"),
)
"""Names that models have for one field."""


def takes_none(model: str, extra: Mapping[str, Any]) -> ConfigurationError:
    return ConfigurationError(
        f"{model}: takes no further arguments, got {', '.join(sorted(extra))}: leave "
        "--t2i-model-option and extra in a catalogue out"
    )


def _leaves(fields: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from ((name, *below) for below in _leaves(value))
        else:
            yield (name,)


def _is_same(own: tuple[str, ...], name: tuple[str, ...]) -> bool:
    """Whether a further field would replace one of the request's own, or stands for it."""
    least = min(len(own), len(name))
    if own[:least] == name[:least]:
        return True
    return own[:-1] == name[:-1] and any({own[-1], name[-1]} <= {*names} for names in ALIASES)


class EndpointModel(RemoteService[Generated]):
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
    faults: RunCounts | None = None
    """Counter of failures by kind, which the run sets."""
    most_seed: int | None = None
    """Largest seed that the service takes, which the run sets; None where it is not known."""
    extra: Mapping[str, Any] = EMPTY
    """Further fields of each request, which the run sets with ``take_extra``."""
    settings_words = "sent, not confirmed"
    """What is known of whether the service uses the settings that it is sent."""
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
        extra = [{"extra": dict(self.extra)}] if self.extra else []
        return digest(["endpoint", service, self.address, self.model, *versions, *extra])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Model, address (without user, password and query), version, and use of settings."""
        version = versions_words(self.versions) or "not told"
        fields = ", ".join(f"{name}={value}" for name, value in sorted(self.extra.items()))
        return {
            "model": self.model,
            "endpoint": self.address,
            "version": version,
            "settings": self.settings_words,
            **({"extra": f"{fields} ({self.settings_words})"} if fields else {}),
        }

    def fields(self, request: Request) -> Mapping[str, Any] | None:  # noqa: ARG002 - most have some
        """The fields of the request for one picture; None where no further ones are sent."""
        return None

    def take_extra(self, extra: Mapping[str, Any]) -> None:
        """Send these fields with each request, too.

        Raises ConfigurationError for one that the request has anyway, or where none are sent.
        """
        own = self.fields(Request("a nurse", 0))
        if own is None:
            raise takes_none(str(self), extra)
        leaves = [("prompt",), ("model",), *_leaves(own)]
        names = {name: FROM_THE_RUN.get(name[-1], "the run sets it") for name in leaves}
        for settings, (value, option) in SETTINGS.items():
            with_setting = GenerationSettings(**dict.fromkeys(settings, value))
            with suppress(ConfigurationError):  # the service or the model has no such setting
                sent = self.fields(Request("a nurse", 0, with_setting)) or {}
                names |= dict.fromkeys(set(_leaves(sent)) - set(names), f"give {option}")
        for name in _leaves(extra):
            own_name = next(
                (field_name for field_name in names if _is_same(field_name, name)), None
            )
            if own_name is not None:
                raise ConfigurationError(
                    f"{self}: expected further fields of a request, got {'.'.join(name)}: "
                    f"{names[own_name]}"
                )
        self.extra = extra

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

    def refused(self, words: str) -> Generated:
        """A refused image."""
        return Generated(None, refusal=words)

    def unusable(self, words: str) -> Generated:
        """An unreadable image, for a single picture that is broken."""
        return Generated(None, refusal=f"{Undetected.UNREADABLE}: {words}")

    def failure(self, words: str, remedy: str) -> T2IError:
        """The error where the service cannot be used; of a seed's range it says how to state it."""
        if re.search(r"\bseeds?\b", words) and self.most_seed is None:
            name = self.service or "the factory's name"
            remedy += (
                " If seeds have a range there, state the largest one in a catalogue "
                f"(--t2i-catalogue FILE): [models.NAME] with adapter = {name!r}, path = what "
                f"follows {name}: in --t2i-model, and most_seed = 999; then --t2i-model NAME."
            )
        return super().failure(words, remedy)

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
        if self.most_seed is not None and request.seed > self.most_seed:  # of a probe
            request = replace(request, seed=request.seed % (self.most_seed + 1))
        attempt = self.attempts(request)

        def answer(seconds: float) -> Generated:
            try:
                outcome = self._read(attempt(seconds))
            except Exception as error:
                if is_elsewhere(error, self.address):  # a picture that the service has made
                    raise fetch_fault(error) from None
                raise
            size = getattr(outcome.image, "size", None)
            if size and (problem := aspect_problem(request, size)):
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
