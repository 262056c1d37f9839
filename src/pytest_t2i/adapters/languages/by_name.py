"""A language model by the name that ``--llm`` takes."""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.catalogue import Catalogue
from pytest_t2i.adapters.languages.checked import CheckedAnswers
from pytest_t2i.adapters.registry import Factory, Registry, named_part
from pytest_t2i.errors import ConfigurationError, T2IError, UnknownNameError
from pytest_t2i.protocols import AnswerLimits, Language, LoadOptions, NextTokens

ANSWERING = (
    "openai:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), transformers:FOLDER or hub id, file:FILE, or "
    "module:factory[:SOURCE]"
)
"""Language models that answer, as ``--llm`` names them."""
CONTINUING = "transformers:FOLDER or hub id, or module:factory[:SOURCE] of one with next_tokens"
"""Language models that continue texts."""
ANSWERING_ONLY = ("openai", "file")
"""Adapters that continue no text, whatever their source: neither key nor file is looked for."""


def answering(
    name: str,
    registry: Registry,
    catalogue: Catalogue,
    limits: AnswerLimits = AnswerLimits(),  # noqa: B008 - frozen
) -> Language:
    """The language model of this name, for questions, with bounds on its answers over HTTP.

    Raises UnknownNameError for what nothing is registered under, ConfigurationError for one that
    answers nothing.
    """
    language = _loaded(name, registry, catalogue, limits=limits)
    if not isinstance(language, Language):
        raise _unfit(name, f"{type(language).__name__} answers no questions", ANSWERING)
    return CheckedAnswers(language)


def continuing(
    name: str, registry: Registry, catalogue: Catalogue, device: str = "auto"
) -> NextTokens:
    """The language model of this name, to go on with texts.

    Raises UnknownNameError for what nothing is registered under, ConfigurationError for one that
    continues nothing.
    """
    adapter = name.partition(":")[0]
    if adapter in ANSWERING_ONLY and adapter not in registry.local:
        raise _unfit(name, f"{adapter} continues no texts", CONTINUING)
    language = _loaded(name, registry, catalogue, device)
    if not isinstance(language, NextTokens):
        raise _unfit(name, f"{type(language).__name__} continues no texts", CONTINUING)
    return language


def _unfit(name: str, problem: str, fit: str) -> ConfigurationError:
    return ConfigurationError(f"--llm {name}: {problem}. Take {fit}.")


def _loaded(
    name: str,
    registry: Registry,
    catalogue: Catalogue,
    device: str = "auto",
    limits: AnswerLimits = AnswerLimits(),  # noqa: B008 - frozen
) -> Any:
    factory, source = _named(name, registry)
    source = catalogue.resolve_weights(name.partition(":")[0], source)
    try:
        return factory(LoadOptions(source=source, device=device, answers=limits))
    except T2IError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"--llm {name}: expected a factory that takes LoadOptions and gives a language model; "
            f"it failed with {type(error).__name__}: {error}. Mend it, or name another."
        ) from error


def _named(name: str, registry: Registry) -> tuple[Factory, str]:
    """The factory and the source of a name; UnknownNameError says where it was looked for."""
    base, colon, _ = name.partition(":")
    try:
        return named_part(registry, name)
    except UnknownNameError as error:
        if error.kind != registry.kind or not colon:
            raise
    hint = f"Neither is a language model of this name registered, nor is there a module {base!r}."
    raise UnknownNameError(registry.kind, base, registry.names(), hint)
