"""Mitigations: one by its name and keys."""

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
"""Brings some."""
NEXT_KEY = re.compile(r",(?=\s*\w+\s*=)")
"""A comma in a value, such as a sentence, begins no key."""
WITHOUT_ATTENTION = ("prompt", "attention")
"""Stages at which attention is no longer that to the words of the prompt."""


@dataclass(frozen=True, slots=True)
class NamedMitigation:
    """A mitigation with its keys, as it was asked for."""

    asked: str
    """``name`` or ``name:key=value,...``."""
    mitigation: Mitigation
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Every key with its value, those that were not given too."""
    encoder: tuple[str, str] | None = None
    """Name and fingerprint of what it compares pictures by; None where it compares none."""
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    """How the run makes pictures, as far as that is known."""

    @property
    def fingerprint(self) -> str:
        """All that changes what it does."""
        keys = {k: str(v) for k, v in self.keys.items()}
        seen = [self.encoder[1]] if self.encoder else []
        return digest([self.mitigation.fingerprint, keys, *seen])

    @property
    def compares_by(self) -> str | None:
        """Name of the encoder that it asks for, "" for the run's own; None for none."""
        of = self.mitigation
        return of.compares_by if isinstance(of, ComparingMitigation) else None

    @property
    def passes(self) -> float:
        """What a picture costs as the run makes them, in passes of the plain model.

        Raises ConfigurationError where the settings leave it nothing to do.
        """
        if not isinstance(self.mitigation, PassesBySettings):
            return self.mitigation.passes
        try:
            return self.mitigation.passes_with(self.settings)
        except ValueError as error:
            raise ConfigurationError(f"{OPTION} {self.asked}: {error}") from None

    @property
    def hides_attention(self) -> bool:
        """Whether attention is no longer that to the words of the prompt."""
        return self.mitigation.needs_counterparts or self.mitigation.stage in WITHOUT_ATTENTION

    @property
    def facts(self) -> dict[str, str]:
        """Its provenance, readable."""
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
        """How the pictures of a prompt with these counterparts are made."""
        return Variation(self.mitigation.name, self.fingerprint, counterparts)

    def makes(self, variation: Variation | None) -> bool:
        """Whether these are its pictures."""
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
                f"mitigation {self.asked!r}: expected a prompt instead of {text!r}, got "
                f"{shown(given)}"
            )
        return given


def load_mitigation(registry: Registry, asked: str) -> NamedMitigation:
    """The mitigation of ``name`` or ``name:key=value,...``.

    Raises UnknownNameError for a name or key that there is not, ConfigurationError for a value that
    it does not take.
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
    """The keys that a factory takes, with their defaults.

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
    """A text as what the default is: a number where that is one."""
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
    """What a factory gave, if it can be used; ConfigurationError says what it lacks."""
    absent = [fact for fact in FACTS if not hasattr(made, fact)]
    if absent:
        raise ConfigurationError(
            f"mitigation {name!r}: {shown(made)} has no {', '.join(absent)}, as "
            "pytest_t2i.Mitigation asks for"
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
            f"mitigation {name!r} acts at the stage {made.stage!r} and has no {method}"
        )
    return cast("Mitigation", made)
