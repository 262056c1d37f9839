"""Load a language model by a name as in ``--llm``."""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.catalogue import Catalogue
from pytest_t2i.adapters.languages.checked_answers import CheckedAnswers
from pytest_t2i.adapters.registry import Factory, Registry, named_part
from pytest_t2i.errors import ConfigurationError, T2IError, UnknownNameError
from pytest_t2i.protocols import AnswerLimits, Language, LoadOptions, NextTokens

ANSWERING = (
    "openai:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), transformers:FOLDER or hub id, file:FILE, or "
    "module:factory[:SOURCE]"
)
"""Values of ``--llm`` for language models that answer questions."""
CONTINUING = "transformers:FOLDER or hub id, or module:factory[:SOURCE] of one with next_tokens"
"""Values of ``--llm`` for language models that continue texts."""
ANSWERING_ONLY = ("openai", "file")
"""Adapters that cannot continue texts, which is reported without a look at their source."""


def answering(
    name: str,
    registry: Registry,
    catalogue: Catalogue,
    limits: AnswerLimits = AnswerLimits(),  # noqa: B008 - frozen
) -> Language:
    """Load a language model that answers questions, with limits on its answers over HTTP.

    Raises UnknownNameError for a name that is not registered, ConfigurationError for a language
    model that cannot answer questions.
    """
    language = _loaded(name, registry, catalogue, limits=limits)
    if not isinstance(language, Language):
        raise _unfit(name, "answers questions", type(language).__name__, ANSWERING)
    return CheckedAnswers(language)


def continuing(
    name: str, registry: Registry, catalogue: Catalogue, device: str = "auto"
) -> NextTokens:
    """Load a language model that continues texts.

    Raises UnknownNameError for a name that is not registered, ConfigurationError for a language
    model that cannot continue texts.
    """
    adapter = name.partition(":")[0]
    if adapter in ANSWERING_ONLY and adapter not in registry.local:
        raise _unfit(name, "continues texts", adapter, CONTINUING)
    language = _loaded(name, registry, catalogue, device)
    if not isinstance(language, NextTokens):
        raise _unfit(name, "continues texts", type(language).__name__, CONTINUING)
    return language


def _unfit(name: str, ability: str, got: str, choice: str) -> ConfigurationError:
    return ConfigurationError(
        f"--llm {name}: expected a language model that {ability}, got {got}. Choose {choice}."
    )


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
            f"--llm {name}: expected a factory that takes LoadOptions and returns a language "
            f"model, got {type(error).__name__}: {error}. Correct the factory, or name another one."
        ) from error


def _named(name: str, registry: Registry) -> tuple[Factory, str]:
    """The factory and the source of a name; UnknownNameError for an unknown one."""
    base, colon, _ = name.partition(":")
    try:
        return named_part(registry, name)
    except UnknownNameError as error:
        if error.kind != registry.kind or not colon:
            raise
    hint = f"No language model is registered under this name, and there is no module {base!r}."
    raise UnknownNameError(registry.kind, base, registry.names(), hint)
