"""The session of a run that a script starts with options by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from pytest_t2i.adapters.support.secrets import secrets_of_environment
from pytest_t2i.errors import T2IError, UnknownNameError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.store import Store
from pytest_t2i.library.in_memory import factory_of, name_of
from pytest_t2i.protocols import Detector
from pytest_t2i.runs.marker_arguments import KEYWORDS
from pytest_t2i.runs.session import Session
from pytest_t2i.settings import OPTIONS, Settings, settings_of


@contextmanager
def clean_errors() -> Iterator[None]:
    """Raise a T2IError alone, and without keys: a traceback shows all exceptions that led to it.

    Exceptions of HTTP libraries quote the service, which may have echoed the key. The message of a
    T2IError names the kind and the place of a mistake in a user's own code.
    """
    try:
        yield
    except T2IError as error:
        error.__cause__ = error.__context__ = None
        error.__suppress_context__ = True
        hide = secrets_of_environment().hide_in
        error.args = tuple(hide(part) if isinstance(part, str) else part for part in error.args)
        raise


def settings_for(
    model: Any,
    images: int,
    detector: Any,
    options: Mapping[str, Any],
    model_name: str | None = None,
) -> Settings:
    """Return the settings for options by name, with the readers of the command line.

    Raises UnknownNameError for an unknown option, ConfigurationError for a wrong value.
    """
    known = {option.name.replace("-", "_"): option for option in OPTIONS}
    given = {"images": images, **options}
    given |= {} if detector is None else {"detector": detector}
    values: dict[str, Any] = {"model": name_of(model, model_name)}
    for name, value in given.items():
        if name not in known:
            raise UnknownNameError("option", name, [*known, *KEYWORDS])
        values[known[name].name] = known[name].read(name, _text(name, value))
    return settings_of(values)


def _text(name: str, value: Any) -> str:
    if isinstance(value, tuple | list):
        return ("x" if name == "size" else ",").join(map(str, value))
    return str(value)


def session_for(
    settings: Settings, model: Any, fingerprint: str | None, detector: Detector | None
) -> Session:
    """Return a session with these settings, with model and detector registered under their names.

    Raises ConfigurationError for settings that cannot be used, before any image is made.
    """
    components = Components(settings, Store(settings.store))
    if detector is not None:
        components.registries.detectors.update({settings.detectors[0]: lambda _: detector})
    if not isinstance(model, str):
        name = str(settings.model)
        components.registries.models.update({name: factory_of(model, fingerprint)})
    session = Session(settings, components)
    session.validate()
    return session


def temporary_store() -> TemporaryDirectory[str]:
    """Return a folder for the pictures of one call, which is removed when it is closed."""
    return TemporaryDirectory(prefix="t2i-", ignore_cleanup_errors=True)
