"""A language model by the name that ``--llm`` takes."""

from __future__ import annotations

from typing import Any

from pytest_t2i.adapters.catalogue import Catalogue
from pytest_t2i.adapters.registry import Registry, named_part
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import Language, LoadOptions, NextTokens


def answering(name: str, registry: Registry, catalogue: Catalogue) -> Language:
    """The language model of this name, for questions.

    Raises UnknownNameError for what nothing is registered under, ConfigurationError for one that
    answers nothing.
    """
    language = _loaded(name, registry, catalogue)
    if not isinstance(language, Language):
        raise ConfigurationError(f"--llm {name}: {type(language).__name__} answers no questions")
    return language


def continuing(
    name: str, registry: Registry, catalogue: Catalogue, device: str = "auto"
) -> NextTokens:
    """The language model of this name, to go on with texts.

    Raises UnknownNameError for what nothing is registered under, ConfigurationError for one that
    continues nothing.
    """
    language = _loaded(name, registry, catalogue, device)
    if not isinstance(language, NextTokens):
        raise ConfigurationError(f"--llm {name}: {type(language).__name__} continues no texts")
    return language


def _loaded(name: str, registry: Registry, catalogue: Catalogue, device: str = "auto") -> Any:
    factory, source = named_part(registry, name)
    source = catalogue.resolve_weights(name.partition(":")[0], source)
    return factory(LoadOptions(source=source, device=device))
