"""The exceptions that pytest-t2i raises.

Every message says what was expected, what was given (``name=value``) and what to do.

Over 300 lines: exceptions of all layers are found in one place.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class T2IError(Exception):
    r"""Base of every error of pytest-t2i; reaches the user as one clear message.

    A message quotes files and words of others: what would steer a terminal is written out.

    >>> print(T2IError("no \x1b[31mred"))
    no \x1b[31mred
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


KEPT = "\n\u00a0\u200c\u200d"
"""Not printable, and harmless: a line break, a blank that breaks no line, joiners of letters."""


def printable(text: str) -> str:
    """The text with what would steer whoever shows it written as escapes.

    That is every control and every mark that is not seen, such as those that turn the direction
    of what follows.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else ascii(c)[1:-1] for c in text)


class ConfigurationError(T2IError):
    """An option, ini key, marker argument or file holds something that cannot be used."""


def _nearest(name: str, known: Sequence[str]) -> str:
    # Only a mistake needs it, and everything starts with this module.
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


MOST_LISTED = 20
"""Known names that a message lists."""


class UnknownNameError(ConfigurationError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        names = sorted(known)
        nearest = _nearest(name, names)
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


class MissingExtrasError(ConfigurationError):
    """Several features whose libraries are not installed."""

    def __init__(self, errors: Iterable[MissingExtraError]) -> None:
        each = list(errors)
        packages = dict.fromkeys(f"{error.missing!r} ({error.feature})" for error in each)
        extras = ",".join(dict.fromkeys(error.extra for error in each))
        super().__init__(
            f"{len(packages)} packages are not installed: {', '.join(packages)}. Nothing was made. "
            f'Run: pip install "pytest-t2i[{extras}]"'
        )
        self.errors = tuple(each)


class FileFormatError(ConfigurationError):
    """A TOML, JSON or CSV file that cannot be read as what it should be.

    >>> raise FileFormatError("tasks.json", "expected a list, got 3.", where="[0]")
    Traceback (most recent call last):
    pytest_t2i.errors.FileFormatError: tasks.json: [0]: expected a list, got 3.
    """

    def __init__(self, path: object, problem: str, *, where: str = "", remedy: str = "") -> None:
        place = f"{path}: {where}: " if where else f"{path}: "
        super().__init__(f"{place}{problem}{' ' + remedy if remedy else ''}")


class ModelLoadError(T2IError):
    """Weights that are absent, gated, damaged or not safetensors."""


class GenerationError(T2IError):
    """A model that failed while it made images, or an executor that could not have them made.

    >>> raise GenerationError("the queue takes no more requests")
    Traceback (most recent call last):
    pytest_t2i.errors.GenerationError: the queue takes no more requests
    """


class BudgetSpentError(GenerationError):
    """No money is left for another image; what was made is kept."""


class OutOfDeviceMemoryError(GenerationError):
    """A batch that did not fit into the device's memory; a smaller one may."""


class DetectorError(T2IError):
    """A detector that failed as a whole (a single bad image is an Undetected, not an error)."""


class LanguageError(T2IError):
    """A language model gave no usable answer."""


class MalformedAnswerError(LanguageError):
    """One answer of a language model cannot be used; asking again may help."""


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
        raise kind(
            f"{role} {name!r} failed: {type(error).__name__}: {error} "
            f"({_own_line(error)}). What was made before is kept."
        ) from error


def _own_line(error: BaseException) -> str:
    """File and line of the user's code that an exception last went through, else where it began."""
    from sysconfig import get_path
    from traceback import extract_tb

    frames = extract_tb(error.__traceback__)
    # Code that has no file, such as what dataclasses write, stands in "<string>".
    libraries = (get_path("stdlib"), __file__.removesuffix("errors.py"), "<")
    own = [
        frame
        for frame in frames
        if "site-packages" not in frame.filename and not frame.filename.startswith(libraries)
    ]
    last = (own or list(frames))[-1]
    return f"{last.filename}, line {last.lineno}"


SHOWN = 80
"""Characters of a value that a message shows."""
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
"""Type as msgspec names it -> in our words."""
KINDS = {dict: "object", list: "array", tuple: "array", type(None): "null"}
"""Type of a plain value -> as msgspec names it, where the names differ."""


def mismatch(message: str, plain: Any, kind: type) -> tuple[str, str]:
    """What msgspec says of a value in our words, and the key that they do not name yet.

    >>> mismatch("Expected `int`, got `str` - at `$.steps`", {"steps": "ten"}, dict)
    ("expected a whole number, got steps='ten'.", '')
    """
    problem, _, place = message.partition(" - at ")
    steps = re.findall(r"\.([^.\[\]`]+)|\[([^\]]+)\]", place)
    key, value = _at(plain, [name or index for name, index in steps], _offends(problem))
    if absent := re.match(r"Object missing required field `(.*)`", problem):
        return f"no key {absent[1]!r}.", key
    if unknown := re.match(r"Object contains unknown field `(.*)`", problem):
        # A Struct tells its fields; of one within another only the name of the key is told.
        names = () if key else sorted(getattr(kind, "__struct_fields__", ()))
        told = f"; known are {', '.join(names)}" if names else ""
        return f"unknown key{told}.{_nearest(unknown[1], names)}", _joined(key, unknown[1])
    if problem.startswith("Invalid enum value"):
        problem = "Expected one of the known words"
    words = re.sub(r"`([^`]+)`", _type_words, problem.partition(", got ")[0])
    for pattern, told in FORMS:
        words = re.sub(pattern, told, words)
    stands = f"{key}={shown(value)}" if key else shown(value)
    return f"{words[:1].lower()}{words[1:]}, got {stands}.", ""


FORMS = (
    (r"a text matching regex '\^data:.*", "a picture as data:image/jpeg;base64,..."),
    (r"a text matching regex '\^\(text.*", "text, images or kernel"),
    (r"a text matching regex '\^.*", "a date or time such as 2026-11-21T10:00:00+00:00"),
    (r"a text matching regex .*", "a text that is not blank"),
    (r"a text of length >= 1$", "a text that is not empty"),
    (r"(>|<|>=|<=) (\S+)\.0$", r"\1 \2"),
)
"""What msgspec says of a constraint -> our words; the patterns are those of ``data``."""
COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def _offends(problem: str) -> Callable[[Any], bool]:
    """Whether a value may be the one that msgspec speaks of."""
    if got := re.search(r", got `(\w+)`", problem):
        return lambda value: KINDS.get(type(value), type(value).__name__) == got[1]
    if bound := re.search(r"` (>=|<=|>|<) (\S+)$", problem):
        sign, limit = COMPARED[bound[1]], float(bound[2])
        return lambda value: isinstance(value, int | float) and not sign(value, limit)
    return lambda _: True


def _type_words(types: re.Match[str]) -> str:
    return " or ".join(WORDS.get(name, name) for name in types[1].split(" | "))


def _at(plain: Any, steps: list[str], offends: Callable[[Any], bool]) -> tuple[str, Any]:
    """Key and value at a place; of the values that ``...`` stands for the first that offends."""
    first: tuple[str, Any] | None = None
    for key, value in _places("", plain, steps):
        first = first or (key, value)
        if offends(value):
            return key, value
    return first or ("", plain)


def _places(key: str, value: Any, steps: list[str]) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield key, value
    elif steps[0] == "..." and isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(_joined(key, str(name)), inner, steps[1:])
    elif isinstance(value, dict):
        yield from _places(_joined(key, steps[0]), value.get(steps[0]), steps[1:])
    elif isinstance(value, list) and int(steps[0]) < len(value):
        yield from _places(f"{key}[{steps[0]}]", value[int(steps[0])], steps[1:])


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def shown(value: Any) -> str:
    """A value as a message shows it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no integers of thousands of digits, TOML has them in hex
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def some(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names.

    >>> some(["a", "b"]), some(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    others = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + others


def names_of(what: str, value: Any) -> tuple[Any, ...]:
    """One name or several, of a marker.

    >>> names_of("a space", "image"), names_of("a space", ["prompt", "image"])
    (('image',), ('prompt', 'image'))
    """
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise ConfigurationError(f"marker t2i: {what} is a name or a list of them, got {value!r}")
    return tuple(value)
