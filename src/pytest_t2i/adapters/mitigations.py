"""Load a mitigation by its name and keys."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from pytest_t2i.adapters.registry import Factory, Registry
from pytest_t2i.data import (
    GenerationSettings,
    Variation,
    digest,
)
from pytest_t2i.errors import ConfigurationError, GenerationError, UnknownNameError, blamed, shown
from pytest_t2i.protocols import (
    ComparingMitigation,
    Mitigation,
    PassesBySettings,
    PipelineMitigation,
    PromptMitigation,
    Stage,
)

OPTION = "--t2i-mitigation"
INSTALL = "pip install pytest-t2i-mitigation"
"""Command that installs some mitigations."""
NEXT_KEY = re.compile(r",(?=\s*\w+\s*=)")
"""A comma before the next key; other commas belong to a value, such as a sentence."""
WITHOUT_ATTENTION = ("prompt", "attention")
"""Stages of mitigations under which attention is not to the words of the prompt."""


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
        seen = [self.encoder[1]] if self.encoder else []
        return digest([self.mitigation.fingerprint, keys, *seen])

    @property
    def compares_by(self) -> str | None:
        """Name of the encoder that the mitigation needs, "" for the run's own; None for none."""
        of = self.mitigation
        return of.compares_by if isinstance(of, ComparingMitigation) else None

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
        seen = {"pictures are compared by": self.encoder[0]} if self.encoder else {}
        return {
            "name": self.asked,
            "fingerprint": self.fingerprint,
            "stage": self.mitigation.stage,
            "passes per picture": f"{self.passes:.3g}",
            **seen,
            **keys,
        }

    def variation(self, counterparts: tuple[str, ...]) -> Variation:
        """The variation of a prompt with these counterparts."""
        return Variation(self.mitigation.name, self.fingerprint, counterparts)

    def makes(self, variation: Variation | None) -> bool:
        """Whether a variation is of this mitigation, with the same fingerprint."""
        if variation is None:
            return False
        return (variation.name, variation.fingerprint) == (self.mitigation.name, self.fingerprint)

    def made_from(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """The text that a picture of a prompt is made from."""
        if not isinstance(self.mitigation, PromptMitigation):
            return text
        with blamed(GenerationError, "mitigation", self.asked):
            given = self.mitigation.prompt(text, seed, counterparts)
        if not isinstance(given, str) or not given.strip():
            raise ConfigurationError(
                f"mitigation {self.asked!r}: expected a non-empty text in place of the prompt "
                f"{text!r}, got {shown(given)}"
            )
        return given


def load_mitigation(registry: Registry, asked: str) -> NamedMitigation:
    """Load the mitigation given by ``name`` or ``name:key=value,...``.

    Raises UnknownNameError for an unknown name or key, ConfigurationError for a value that the
    mitigation does not accept.
    """
    name, _, rest = asked.partition(":")
    if name not in registry:
        hint = "" if registry.names() else f"Run: {INSTALL}"
        raise UnknownNameError("mitigation", name, registry.names(), hint)
    factory = registry.get(name)
    keys = keys_of(factory) | _read(name, rest, keys_of(factory))
    try:
        with blamed(ConfigurationError, "mitigation", name):
            made = factory(**keys)
    except ConfigurationError as error:
        if isinstance(error.__cause__, ValueError):
            raise ConfigurationError(f"{OPTION} {asked}: {error.__cause__}") from None
        raise
    return NamedMitigation(asked, _checked(name, made), keys)


def keys_of(factory: Factory) -> dict[str, Any]:
    """The keys that a factory accepts, with their defaults.

    >>> def halfway(weight: float = 0.5): ...
    >>> keys_of(halfway)
    {'weight': 0.5}
    """
    parameters = inspect.signature(factory).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def _read(name: str, text: str, known: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in NEXT_KEY.split(text) if text else ():
        key, sign, value = part.partition("=")
        key = key.strip()
        if not sign:
            raise ConfigurationError(f"{OPTION}: expected {name}:key=value, got {shown(part)}")
        if key not in known:
            raise UnknownNameError(f"key of mitigation {name!r}", key, known)
        values[key] = _value(f"{OPTION} {name}:{key}", value.strip(), known[key])
    return values


def _value(where: str, text: str, default: Any) -> Any:
    """Convert a text to the type of the default: a number, or a text."""
    kind = type(default)
    if kind not in (int, float):
        return text
    try:
        return kind(text)
    except ValueError:
        told = "a whole number" if kind is int else "a number"
        raise ConfigurationError(f"{where}: expected {told}, got {shown(text)}") from None


FACTS = ("name", "fingerprint", "stage", "families", "passes", "needs_counterparts")


def _checked(name: str, made: Any) -> Mitigation:
    """The object of a factory, if it is a mitigation; else ConfigurationError."""
    absent = [fact for fact in FACTS if not hasattr(made, fact)]
    if absent:
        raise ConfigurationError(
            f"mitigation {name!r}: expected an object with {', '.join(absent)} (see "
            f"pytest_t2i.Mitigation), got {shown(made)}"
        )
    if made.stage not in get_args(Stage):
        stages = ", ".join(get_args(Stage))
        raise ConfigurationError(
            f"mitigation {name!r}: expected a stage among {stages}, got {shown(made.stage)}"
        )
    does = PromptMitigation if made.stage == "prompt" else PipelineMitigation
    if not isinstance(made, does):
        method = "prompt(...)" if does is PromptMitigation else "applied(...)"
        raise ConfigurationError(
            f"mitigation {name!r}: expected a method {method}, as it acts at the stage "
            f"{made.stage!r}, got {shown(made)}"
        )
    return cast("Mitigation", made)
