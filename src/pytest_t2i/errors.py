"""The exceptions that pytest-t2i raises.

Every message says what was expected, what was given (``name=value``) and what to do.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class T2IError(Exception):
    """Base of every error of pytest-t2i; reaches the user as one clear message.

    >>> from pytest_t2i import axes
    >>> try:
    ...     axes.profesion
    ... except T2IError as error:
    ...     print(str(error)[:54])
    unknown axis 'profesion'. Did you mean 'profession'? K
    """


class ConfigurationError(T2IError):
    """An option, ini key, marker argument or file holds something that cannot be used."""


MOST_LISTED = 20
"""Known names that a message lists."""


class UnknownNameError(ConfigurationError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        names = sorted(known)
        close = get_close_matches(name, names, n=1)
        nearest = f" Did you mean {close[0]!r}?" if close else ""
        shown = names[:MOST_LISTED]
        others = f" and {len(names) - len(shown)} others" if len(names) > len(shown) else ""
        listing = ", ".join(shown) + others or "none"
        super().__init__(
            f"unknown {kind} {name!r}.{nearest} Known: {listing}.{' ' + hint if hint else ''}"
        )
        self.kind, self.name, self.known = kind, name, names


class MissingExtraError(ConfigurationError):
    """A feature whose library is not installed."""

    def __init__(self, feature: str, extra: str, missing: str) -> None:
        super().__init__(
            f"{feature} needs the package {missing!r}, which is not installed. "
            f'Run: pip install "pytest-t2i[{extra}]"'
        )
        self.feature, self.extra, self.missing = feature, extra, missing


class FileFormatError(ConfigurationError):
    """A TOML, JSON or CSV file that cannot be read as what it should be."""

    def __init__(self, path: object, problem: str, *, where: str = "", remedy: str = "") -> None:
        place = f"{path}: {where}: " if where else f"{path}: "
        super().__init__(f"{place}{problem}{' ' + remedy if remedy else ''}")


class ModelLoadError(T2IError):
    """Weights that are absent, gated, damaged or not safetensors."""


class GenerationError(T2IError):
    """A model that failed while it made images."""


class OutOfDeviceMemoryError(GenerationError):
    """A batch that did not fit into the device's memory; a smaller one may."""


class DetectorError(T2IError):
    """A detector that failed as a whole (a single bad image is an Undetected, not an error)."""


class StoreError(T2IError):
    """A store that cannot be written or read."""


class BaselineMismatchError(ConfigurationError):
    """A baseline that was made under other settings than the run it is compared with."""


@contextmanager
def blamed(kind: type[T2IError], role: str, name: str) -> Iterator[None]:
    """An exception of a model's or detector's own code, told as its fault with file and line."""
    try:
        yield
    except T2IError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise kind(
            f"{role} {name!r} failed: {type(error).__name__}: {error} "
            f"({last.filename}, line {last.lineno}). What was made before is kept."
        ) from error
