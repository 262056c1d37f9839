"""The exceptions that pytest-t2i raises.

Every message says what was expected, what was given (``name=value``) and what to do.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class T2IError(Exception):
    r"""The base of every error of pytest-t2i, shown to the user as one clear message.

    A message may quote untrusted files; control characters in it are escaped.

    >>> print(T2IError("no \x1b[31mred"))
    no \x1b[31mred
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


KEPT = "\n\u00a0\u200c\u200d"
"""Harmless characters that Python calls not printable: line feed, no-break space, zero-width
joiner and non-joiner."""


def printable(text: str) -> str:
    """Return the text with control and invisible characters as escapes, except those of KEPT.

    Such characters could steer a terminal, for example by turning the direction of the text.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else ascii(c)[1:-1] for c in text)


class ConfigurationError(T2IError):
    """An option, ini key, marker argument or file holds something that cannot be used."""


def nearest(name: str, known: Sequence[str]) -> str:
    """Return the known name that is most like a mistyped one; "" where none is, nor itself.

    >>> nearest("modle", ["model", "seed"]), nearest("model", ["model"])
    ('model', '')
    """
    # Every start imports this module; only an error needs difflib.
    from difflib import get_close_matches

    close = get_close_matches(name, [candidate for candidate in known if candidate != name], n=1)
    return close[0] if close else ""


def _guess(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known)
    return f" Did you mean {close!r}?" if close else ""


MOST_LISTED = 20
"""Largest number of known names in a message."""


def _listing(names: Sequence[str]) -> str:
    rest = len(names) - MOST_LISTED
    more = f" and {rest} others" if rest > 0 else ""
    return ", ".join(names[:MOST_LISTED]) + more or "none"


class UnknownNameError(ConfigurationError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        names = sorted(known)
        super().__init__(
            f"unknown {kind} {name!r}.{_guess(name, names)} Known: {_listing(names)}."
            f"{' ' + hint if hint else ''}"
        )
        self.kind, self.name, self.known = kind, name, names


class UnknownModuleError(UnknownNameError):
    """The module of ``module:factory`` is not there.

    >>> raise UnknownModuleError("detector", "colours:load", "/home/ada", ["clip"])
    Traceback (most recent call last):
    pytest_t2i.errors.UnknownModuleError: module 'colours' not found in /home/ada, nor elsewhere ...
    """

    def __init__(self, kind: str, path: str, folder: Any, known: Iterable[str]) -> None:
        module, names = path.partition(":")[0], sorted(known)
        super().__init__(kind, module, names)
        remedy = "Run the command in the folder that has the module, or name a registered one"
        message = (
            f"module {module!r} not found in {folder}, nor elsewhere on Python's path: expected "
            f"module:factory[:source] or a registered {kind}, got {path!r}."
            f"{_guess(module, names)} {remedy}: {_listing(names)}."
        )
        self.args = (printable(message),)


class UnknownAttributeError(UnknownNameError, AttributeError):  # type: ignore[misc]
    """An unknown name that was asked for as an attribute, so that ``hasattr`` answers False."""


class MissingExtraError(ConfigurationError):
    """A feature needs a library that is not installed.

    >>> raise MissingExtraError("the detector clip", "clip", "torch")
    Traceback (most recent call last):
    pytest_t2i.errors.MissingExtraError: the detector clip needs the package 'torch', which is ...
    """

    def __init__(self, feature: str, extra: str, missing: str, distribution: str = "") -> None:
        """Args: what needs the package, the extra or else the distribution that installs it."""
        super().__init__(
            f"{feature} needs the package {missing!r}, which is not installed. "
            f"Run: pip install {distribution or _with_extra(extra)}"
        )
        self.feature, self.extra, self.missing = feature, extra, missing
        self.distribution = distribution


def _with_extra(extra: str) -> str:
    return f'"pytest-t2i[{extra}]"'


class MissingExtrasError(ConfigurationError):
    """Several features need libraries that are not installed."""

    def __init__(self, errors: Iterable[MissingExtraError]) -> None:
        listed = list(errors)
        features: dict[str, list[str]] = {}
        for error in listed:
            features.setdefault(error.missing, []).append(error.feature)
        packages = [f"{name!r} ({', '.join(needing)})" for name, needing in features.items()]
        extras = ",".join(
            dict.fromkeys(extra for error in listed for extra in error.extra.split(",") if extra)
        )
        installed = [*([_with_extra(extras)] if extras else []), *dict.fromkeys(
            error.distribution for error in listed if error.distribution
        )]  # fmt: skip
        super().__init__(
            f"{len(packages)} package{'s are' if len(packages) > 1 else ' is'} not installed: "
            f"{', '.join(packages)}. Nothing was made. "
            f"Run: pip install {' '.join(installed)}"
        )
        self.errors = tuple(listed)


class FileFormatError(ConfigurationError):
    """A TOML, JSON or CSV file does not have the expected format.

    >>> raise FileFormatError("tasks.json", "expected a list, got 3.", where="[0]")
    Traceback (most recent call last):
    pytest_t2i.errors.FileFormatError: tasks.json: [0]: expected a list, got 3.
    """

    def __init__(self, path: object, problem: str, *, where: str = "", remedy: str = "") -> None:
        place = f"{path}: {where}: " if where else f"{path}: "
        super().__init__(f"{place}{problem}{' ' + remedy if remedy else ''}")


class ModelLoadError(T2IError):
    """The weights of a model are absent, gated, damaged or not in safetensors format."""


class GenerationError(T2IError):
    """A model failed while it made images, or an executor failed.

    >>> raise GenerationError("the queue takes no more requests")
    Traceback (most recent call last):
    pytest_t2i.errors.GenerationError: the queue takes no more requests
    """


class BudgetSpentError(GenerationError):
    """The budget does not pay for another image; the images made so far are kept."""


class OutOfDeviceMemoryError(GenerationError):
    """A batch did not fit into the device's memory; a smaller one may."""


class DetectorError(T2IError):
    """A detector failed as a whole; a single bad image is an Undetected, not an error."""


class LanguageError(T2IError):
    """A language model gave no usable answer.

    >>> raise LanguageError("the endpoint does not answer")
    Traceback (most recent call last):
    pytest_t2i.errors.LanguageError: the endpoint does not answer
    """


class MalformedAnswerError(LanguageError):
    """One answer of a language model cannot be used; asking again may help.

    >>> raise MalformedAnswerError("the answer is empty")
    Traceback (most recent call last):
    pytest_t2i.errors.MalformedAnswerError: the answer is empty
    """


class StoreError(T2IError):
    """A store cannot be written or read."""


class BaselineMismatchError(ConfigurationError):
    """A baseline was made under other settings than the run that is compared with it."""


@contextmanager
def blamed(kind: type[T2IError], role: str, name: str) -> Iterator[None]:
    """Turn an exception from the code of a model or detector into a T2IError of this kind.

    The message names the model or detector and the file and line of its code. Errors that are
    T2IError already pass unchanged.
    """
    try:
        yield
    except T2IError:
        raise
    except Exception as error:
        first = first_of(error)
        began = "" if first is error else f", which began with {type(first).__name__}: {first}"
        unfit = unfit_packages(error)
        raise kind(
            f"{role} {name!r} failed: {type(error).__name__}: {error}{began} "
            f"({_own_line(error)}). {unfit or 'What was made before is kept.'}"
        ) from error


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its cause, and so on to the first one, as a traceback shows them."""
    past_ids: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in past_ids:
        past_ids.add(id(current))
        yield current
        context = None if current.__suppress_context__ else current.__context__
        current = current.__cause__ or context


def first_of(error: BaseException) -> BaseException:
    """Return the exception with which the chain of another one began."""
    return list(chain_of(error))[-1]


OF_PYTEST = {"pytest", "_pytest", "pluggy"}
"""Modules that are in a traceback only as they import a test."""


def unfit_packages(error: BaseException) -> str:
    """Return what to install where installed packages cannot be imported; "" for other errors.

    These are the packages in whose code the first exception of the chain was raised, such as torch
    and a torchvision that was built for another torch.
    """
    from importlib.metadata import distribution, packages_distributions
    from traceback import walk_tb

    first, brought_by = first_of(error), packages_distributions()
    names, is_import = set(), isinstance(first, ImportError)
    for frame, _ in walk_tb(first.__traceback__):
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in brought_by or module in OF_PYTEST:
            continue
        name = brought_by[module][0]
        # A folder of the user may have the name of an installed package: tests.
        if frame.f_code.co_filename.startswith(str(distribution(name).locate_file(""))):
            names.add(name)
            is_import |= frame.f_code.co_name == "<module>"
    if isinstance(first, ImportError):
        names |= {*brought_by.get((first.name or "").partition(".")[0], ())[:1]}
    names = {name for name in names if not name.startswith("pytest-t2i")} if is_import else set()
    if not names:
        return ""
    return (
        "Installed packages do not fit each other. Run: pip install --upgrade "
        f"{' '.join(sorted(names))}"
    )


def _own_line(error: BaseException) -> str:
    """Return file and line of the innermost frame outside libraries, else of the innermost frame.

    Libraries are the standard library, site-packages and this package.
    """
    from sysconfig import get_path
    from traceback import extract_tb

    frames = extract_tb(error.__traceback__)
    # Code without a file, such as the methods that dataclasses generate, has the name "<string>".
    libraries = (get_path("stdlib"), __file__.removesuffix("errors.py"), "<")
    own = [
        frame
        for frame in frames
        if "site-packages" not in frame.filename and not frame.filename.startswith(libraries)
    ]
    last = (own or list(frames))[-1]
    return f"{last.filename}, line {last.lineno}"


SHOWN = 80
"""Number of characters of a value that a message shows."""
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
"""Name of a type in msgspec's messages -> our words."""
KINDS = {dict: "object", list: "array", tuple: "array", type(None): "null"}
"""Type of a plain value -> its name in msgspec's messages, where the names differ."""


def mismatch(message: str, plain: Any, kind: type) -> tuple[str, str]:
    """Translate msgspec's message about a value; return (problem, key).

    ``key`` is the place of the value for messages that do not name it themselves, else "".

    >>> mismatch("Expected `int`, got `str` - at `$.steps`", {"steps": "ten"}, dict)
    ("expected a whole number, got steps='ten'.", '')
    """
    problem, _, place = message.partition(" - at ")
    steps = re.findall(r"\.([^.\[\]`]+)|\[([^\]]+)\]", place)
    key, value = _at(plain, [name or index for name, index in steps], _offends(problem))
    if absent := re.match(r"Object missing required field `(.*)`", problem):
        return f"no key {absent[1]!r}.", key
    if unknown := re.match(r"Object contains unknown field `(.*)`", problem):
        # ``kind`` is the outermost type: the fields of a Struct within it are not at hand.
        names = () if key else sorted(getattr(kind, "__struct_fields__", ()))
        known_names = f"; known are {', '.join(names)}" if names else ""
        return f"unknown key{known_names}.{_guess(unknown[1], names)}", _joined(key, unknown[1])
    if problem.startswith("Invalid enum value"):
        problem = "Expected one of the known words"
    words = re.sub(r"`([^`]+)`", _type_words, problem.partition(", got ")[0])
    for pattern, replacement in FORMS:
        words = re.sub(pattern, replacement, words)
    value_words = f"{key}={shown(value)}" if key else shown(value)
    return f"{words[:1].lower()}{words[1:]}, got {value_words}.", ""


FORMS = (
    (r"a text matching regex '\^data:.*", "a picture as data:image/jpeg;base64,..."),
    (r"a text matching regex '\^\(text.*", "text, images or kernel"),
    (r"a text matching regex '\^\[0-9a-f\].*", "a SHA-256: 64 hexadecimal digits"),
    (r"a text matching regex '\^.*", "a date or time such as 2026-11-21T10:00:00+00:00"),
    (r"a text matching regex .*", "a text that is not blank"),
    (r"a text of length >= 1$", "a text that is not empty"),
    (r"(>|<|>=|<=) (\S+)\.0$", r"\1 \2"),
)
"""Pattern of msgspec's words for a constraint of ``data`` -> our words."""
COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def _offends(problem: str) -> Callable[[Any], bool]:
    """Return a predicate: whether a value may be the one that this message of msgspec is about."""
    if got := re.search(r", got `(\w+)`", problem):
        return lambda value: KINDS.get(type(value), type(value).__name__) == got[1]
    if bound := re.search(r"` (>=|<=|>|<) (\S+)$", problem):
        sign, limit = COMPARED[bound[1]], float(bound[2])
        return lambda value: isinstance(value, int | float) and not sign(value, limit)
    return lambda _: True


def _type_words(types: re.Match[str]) -> str:
    return " or ".join(WORDS.get(name, name) for name in types[1].split(" | "))


def _at(plain: Any, steps: list[str], offends: Callable[[Any], bool]) -> tuple[str, Any]:
    """Return key and value at a place; where ``...`` matches several, the first that offends."""
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
    """Return the repr of a value for a message, cut after SHOWN characters."""
    try:
        text = repr(value)
    except ValueError:  # Python prints no integers of thousands of digits; TOML reads them from hex
        return "a number of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first ``most`` names and the number of the others.

    >>> some(["a", "b"]), some(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def names_of(what: str, value: Any) -> tuple[Any, ...]:
    """Return the names of a marker argument that is one name or a list of names.

    Raises ConfigurationError, whose message calls the argument ``what``, for anything else.

    >>> names_of("a space", "image"), names_of("a space", ["prompt", "image"])
    (('image',), ('prompt', 'image'))
    """
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise ConfigurationError(f"marker t2i: {what} is a name or a list of them, got {value!r}")
    return tuple(value)
