"""Load a language model by a name as in ``--llm``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pytest_t2i.adapters.catalogue import Catalogue, read_catalogues
from pytest_t2i.adapters.registry import (
    Factory,
    Registries,
    Registry,
    asked_for,
    brought_by_companion,
    named_part,
)
from pytest_t2i.errors import ConfigurationError, T2IError, UnknownNameError
from pytest_t2i.protocols import LoadOptions


def load_language(name: str, options: LoadOptions | None = None) -> Any:
    """Load a language model by a name as in ``--llm``, for a command or for another component.

    Args:
        name: ``name``, ``name:source`` or ``module:factory[:source]``, such as "openai:gpt-4o".
        options: device, limits on answers and so on; ``source`` is ignored. ``extra`` may have
            the ``registries`` and the ``catalogue`` of a run.

    Returns:
        An object that obeys ``Language``, ``NextTokens`` or both.

    Raises:
        UnknownNameError: no language model is registered under the name.
        MissingExtraError: the library of the language model is not installed.
        ConfigurationError: the factory fails.

    >>> load_language("nobody")
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.UnknownNameError: ...
    """
    load_options = options or LoadOptions()
    registries = cast("Registries", load_options.extra.get("registries") or Registries())
    loaded_catalogue = load_options.extra.get("catalogue") or read_catalogues(registries.catalogues)
    factory, source = _named(name, registries.languages)
    source = cast("Catalogue", loaded_catalogue).resolve_weights(name.partition(":")[0], source)
    try:
        with asked_for("language", name.partition(":")[0]):
            return factory(replace(load_options, source=source, extra={}))
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
    hint = brought_by_companion(registry.kind, base) or (
        f"No language model is registered under this name, and there is no module {base!r}."
    )
    raise UnknownNameError(registry.kind, base, registry.names(), hint)
