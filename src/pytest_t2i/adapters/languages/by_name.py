"""A language model by the name that ``--llm`` takes."""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.catalogue import Catalogue
from pytest_t2i.adapters.registry import Registry, named_part
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import Language, LoadOptions, NextTokens

ANSWERING = (
    "openai:MODEL (OPENAI_API_KEY, OPENAI_BASE_URL), transformers:FOLDER or hub id, file:FILE, or "
    "module:factory[:SOURCE]"
)
"""Language models that answer, as ``--llm`` names them."""
CONTINUING = "transformers:FOLDER or hub id, or module:factory[:SOURCE] of one with next_tokens"
"""Language models that continue texts."""
ANSWERING_ONLY = ("openai", "file")
"""Adapters that continue no text, whatever their source: neither key nor file is looked for."""


def answering(name: str, registry: Registry, catalogue: Catalogue) -> Language:
    """The language model of this name, for questions.

    Raises UnknownNameError for what nothing is registered under, ConfigurationError for one that
    answers nothing.
    """
    language = _loaded(name, registry, catalogue)
    if not isinstance(language, Language):
        raise _unfit(name, f"{type(language).__name__} answers no questions", ANSWERING)
    return language


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


def _loaded(name: str, registry: Registry, catalogue: Catalogue, device: str = "auto") -> Any:
    factory, source = named_part(registry, name)
    source = catalogue.resolve_weights(name.partition(":")[0], source)
    return factory(LoadOptions(source=source, device=device))
