"""Load a mitigation by its name and keys."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast, get_args

from pytest_t2i.adapters.registry import MITIGATION, Factory, Registry, brought_by_companion
from pytest_t2i.data import ATTENTION, Generated, GenerationSettings, Request, Variation, digest
from pytest_t2i.errors import ConfigurationError, GenerationError, UnknownNameError, blamed, shown
from pytest_t2i.protocols import (
    ComparingMitigation,
    Encoder,
    LoadOptions,
    Mitigation,
    PassesBySettings,
    PipelineMitigation,
    PromptMitigation,
    Stage,
    TextToImage,
)

OPTION = "--t2i-mitigation"
NEXT_KEY = re.compile(r",(?=\s*\w+\s*=)")
"""A comma before the next key; other commas belong to a value, such as a sentence."""
WITHOUT_ATTENTION = ("prompt", "attention", "guidance")
"""Stages of mitigations under which attention is not, or not only, to the words of the prompt."""


@dataclass(frozen=True, slots=True)
class NamedMitigation:
    """A mitigation with its name and keys, as the user gave them."""

    asked: str
    """``name`` or ``name:key=value,...``."""
    mitigation: Mitigation
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Every key with its value, defaults included."""
    encoder: tuple[str, str] | None = None
    """Name and fingerprint of the encoder that compares pictures; None where none are compared."""
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    """The run's generation settings, as far as they are known."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that changes the mitigated pictures."""
        keys = {k: str(v) for k, v in self.keys.items()}
        encoder_fingerprints = [self.encoder[1]] if self.encoder else []
        return digest([self.mitigation.fingerprint, keys, *encoder_fingerprints])

    @property
    def compares_by(self) -> str | None:
        """Name of the encoder that the mitigation needs, "" for the run's own; None for none."""
        mitigation = self.mitigation
        return mitigation.compares_by if isinstance(mitigation, ComparingMitigation) else None

    @property
    def passes(self) -> float:
        """Cost of a picture with the run's settings, in passes of the plain model.

        Raises ConfigurationError where the mitigation has no effect with these settings.
        """
        if not isinstance(self.mitigation, PassesBySettings):
            return self.mitigation.passes
        try:
            return self.mitigation.passes_with(self.settings)
        except ValueError as error:
            raise ConfigurationError(f"{OPTION} {self.asked}: {error}") from None

    @property
    def hides_attention(self) -> bool:
        """Whether, under this mitigation, attention is not to the words of the prompt."""
        return self.mitigation.needs_counterparts or self.mitigation.stage in WITHOUT_ATTENTION

    @property
    def facts(self) -> dict[str, str]:
        """Readable facts for the record of the run."""
        keys = {f"key {key}": str(value) for key, value in self.keys.items()}
        encoder_facts = {"pictures are compared by": self.encoder[0]} if self.encoder else {}
        return {
            "name": self.asked,
            "fingerprint": self.fingerprint,
            "stage": self.mitigation.stage,
            "passes per picture": f"{self.passes:.3g}",
            **encoder_facts,
            **keys,
        }

    def variation(self, counterparts: tuple[str, ...]) -> Variation:
        return Variation(self.mitigation.name, self.fingerprint, counterparts)

    def makes(self, variation: Variation | None) -> bool:
        """Whether a variation is of this mitigation, with the same fingerprint."""
        if variation is None:
            return False
        return (variation.name, variation.fingerprint) == (self.mitigation.name, self.fingerprint)

    def made_from(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        if not isinstance(self.mitigation, PromptMitigation):
            return text
        with blamed(GenerationError, "mitigation", self.asked):
            prompt = self.mitigation.prompt(text, seed, counterparts)
        if not isinstance(prompt, str) or not prompt.strip():
            raise ConfigurationError(
                f"mitigation {self.asked!r}: expected a non-empty text in place of the prompt "
                f"{text!r}, got {shown(prompt)}"
            )
        return prompt


def load_mitigation(registry: Registry, asked: str) -> NamedMitigation:
    """Load the mitigation given by ``name`` or ``name:key=value,...``.

    Raises UnknownNameError for an unknown name or key, ConfigurationError for a value that the
    mitigation does not accept.
    """
    name, _, rest = asked.partition(":")
    if name not in registry:
        hint = brought_by_companion("mitigation", name)
        hint = hint or ("" if registry.names() else f"Run: {MITIGATION}")
        raise UnknownNameError("mitigation", name, registry.names(), hint)
    factory = registry.get(name)
    keys = keys_of(factory) | _read(name, rest, keys_of(factory))
    try:
        with blamed(ConfigurationError, "mitigation", name):
            mitigation = factory(**keys)
    except ConfigurationError as error:
        if isinstance(error.__cause__, ValueError):
            raise ConfigurationError(f"{OPTION} {asked}: {error.__cause__}") from None
        raise
    return NamedMitigation(asked, _checked(name, mitigation), keys)


def keys_of(factory: Factory) -> dict[str, Any]:
    """The keys that a factory accepts, with their defaults.

    >>> def halfway(weight: float = 0.5): ...
    >>> keys_of(halfway)
    {'weight': 0.5}
    """
    parameters = inspect.signature(factory).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
    }


def _read(name: str, text: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in NEXT_KEY.split(text) if text else ():
        key, sign, value = part.partition("=")
        key = key.strip()
        if not sign:
            raise ConfigurationError(f"{OPTION}: expected {name}:key=value, got {shown(part)}")
        if key not in defaults:
            raise UnknownNameError(f"key of mitigation {name!r}", key, defaults)
        values[key] = _value(f"{OPTION} {name}:{key}", value.strip(), defaults[key])
    return values


def _value(where: str, text: str, default: Any) -> Any:
    """Convert a text to the type of the default: a number, or a text."""
    kind = type(default)
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        kind_words = "a whole number" if kind is int else "a number"
        raise ConfigurationError(f"{where}: expected {kind_words}, got {shown(text)}") from None


FACTS = ("name", "fingerprint", "stage", "families", "passes", "needs_counterparts")


def _checked(name: str, mitigation: Any) -> Mitigation:
    """The object of a factory, if it is a mitigation; else ConfigurationError."""
    absent = [fact for fact in FACTS if not hasattr(mitigation, fact)]
    if absent:
        raise ConfigurationError(
            f"mitigation {name!r}: expected an object with {', '.join(absent)} (see "
            f"pytest_t2i.Mitigation), got {shown(mitigation)}"
        )
    if mitigation.stage not in get_args(Stage):
        stages = ", ".join(get_args(Stage))
        raise ConfigurationError(
            f"mitigation {name!r}: expected a stage among {stages}, got {shown(mitigation.stage)}"
        )
    does = PromptMitigation if mitigation.stage == "prompt" else PipelineMitigation
    if not isinstance(mitigation, does):
        method = "prompt(...)" if does is PromptMitigation else "applied(...)"
        raise ConfigurationError(
            f"mitigation {name!r}: expected a method {method}, as it acts at the stage "
            f"{mitigation.stage!r}, got {shown(mitigation)}"
        )
    return cast("Mitigation", mitigation)


class Mitigated:
    """A model (TextToImage, Varying) wrapped by a mitigation.

    >>> from pytest_t2i.adapters.mitigations import load_mitigation
    >>> from pytest_t2i.adapters.registry import Registry
    >>> class Echo:
    ...     fingerprint = "echo"
    ...
    ...     def generate(self, requests):
    ...         return [Generated(None, refusal=request.prompt) for request in requests]
    >>> class Stated:
    ...     name, fingerprint, stage, families, passes = "stated", "1", "prompt", (), 1.0
    ...     needs_counterparts = False
    ...
    ...     def prompt(self, text, seed, counterparts):
    ...         return f"{text}, whoever it is"
    >>> stated = load_mitigation(Registry("mitigation", {"stated": Stated}), "stated")
    >>> asked = Request("a nurse", 0, variation=stated.variation(()))
    >>> next(iter(Mitigated(Echo(), stated).generate([asked]))).refusal
    'a nurse, whoever it is'
    """

    def __init__(
        self,
        model: TextToImage,
        named: NamedMitigation,
        encoder: Callable[[], Encoder] | None = None,
    ) -> None:
        """Raises ConfigurationError for a pipeline that the mitigation does not fit.

        ``encoder`` loads the encoder of mitigations that compare pictures.
        """
        self.model, self.named, self._encoder = model, named, encoder
        self.pipeline = getattr(model, "pipeline", None)
        self._check_family()

    @property
    def fingerprint(self) -> str:
        """The model's own fingerprint: the variation of each request identifies the mitigation."""
        return self.model.fingerprint

    def takes(self, variation: Variation) -> bool:
        return self.named.makes(variation)

    def generate(self, requests: Sequence[Request]) -> Iterable[Generated]:
        """Make one batch, in order; requests without the variation give plain pictures."""
        if self.named.mitigation.stage == "prompt":
            return self.model.generate([self._inner(request) for request in requests])
        return self._inside(requests)

    def _check_family(self) -> None:
        mitigation = self.named.mitigation
        family = type(self.pipeline).__name__ if self.pipeline is not None else ""
        if mitigation.stage == "prompt" and not mitigation.families:
            return
        if family not in mitigation.families:
            fits = ", ".join(mitigation.families) or "no pipeline"
            model_words = f"a {family}" if family else "a model without a pipeline"
            raise ConfigurationError(
                f"mitigation {self.named.asked!r} acts at the stage {mitigation.stage!r} of "
                f"{fits}: it does not fit {model_words}"
            )

    def _inner(self, request: Request) -> Request:
        variation = request.variation
        if variation is None or not self.named.makes(variation):
            return request
        observe = request.observe - ({ATTENTION} if self.named.hides_attention else set())
        text = self.named.made_from(request.prompt, request.seed, variation.texts)
        return replace(request, prompt=text, observe=observe, variation=None)

    def _inside(self, requests: Sequence[Request]) -> Iterator[Generated]:
        """Make varied and plain pictures separately: only the former change the pipeline."""
        varied = [request for request in requests if self.named.makes(request.variation)]
        plain = [request for request in requests if not self.named.makes(request.variation)]
        pictures: dict[Request, Generated] = {}
        for alike in _made_in_one_go(varied):
            with self.inside.applied(self.pipeline, alike):
                inner = [self._inner(request) for request in alike]
                pictures |= zip(alike, self.model.generate(inner), strict=True)
        if plain:
            pictures |= zip(plain, self.model.generate(plain), strict=True)
        yield from (pictures[request] for request in requests)

    @cached_property
    def inside(self) -> PipelineMitigation:
        """The mitigation, with its encoder where it compares pictures."""
        mitigation = self.named.mitigation
        if self.named.compares_by is not None and self._encoder is not None:
            return cast("ComparingMitigation", mitigation).seeing(self._encoder())
        return cast("PipelineMitigation", mitigation)


def _made_in_one_go(requests: Sequence[Request]) -> Iterable[list[Request]]:
    groups: dict[Any, list[Request]] = {}
    for request in requests:
        key = (request.settings, request.observe, request.attributes)
        groups.setdefault(key, []).append(request)
    return groups.values()


def load_mitigated(
    factory: Factory,
    named: NamedMitigation,
    encoder: Callable[[], Encoder] | None,
    options: LoadOptions,
) -> Mitigated:
    """Load a model and wrap it; ``encoder`` loads that of a mitigation that compares pictures."""
    return Mitigated(factory(options), named, encoder)
