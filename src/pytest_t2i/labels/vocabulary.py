"""Vocabularies: the labels that people may give an image, with names, keys and colours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError
from pytest_t2i.files import write_whole
from pytest_t2i.labels.label import ADJUDICATED, LOW_QUALITY, OTHERS
from pytest_t2i.read_files import convert, quoted, read_toml

VOCABULARY_FILE = "labels.toml"
"""File beside labels.csv with the vocabulary, if it is not the paper's."""
READY = ("gender", "age", "monk", "yes-no")
"""Built-in vocabularies: Lyu's four labels, FairFace's ages, Monk's ten skin tones, yes and no."""
TAKEN = "u?"
"""Keys that the labelling page itself uses."""
FREE = "1234567890abcdefghijkmnpqrstvwxyz"
"""Keys for labels without a key, in this order."""
NAME = re.compile(r"[^\s,]([^\n\r\t,]{0,58}[^\s,])?")
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
COLOURS = ("#0072b2", "#c55a00", "#007a5e", "#a3497c", "#8a6d00", "#5a52b5", "#2f7d95", "#9c3d3d")
"""Colours for labels without a colour, in turn; colour-blind people can distinguish them (after
Okabe and Ito)."""
REMEDY = 'Expected [[label]] with name and, where wanted, key = "c", colour = "#c55a00", meaning.'


@dataclass(frozen=True, slots=True)
class Choice:
    """One label of a vocabulary.

    >>> Choice("monk-1", "1", "#f6ede4").clear
    True
    """

    name: str
    key: str = ""
    """Key of the label on the page, one character; "" takes a free one."""
    colour: str = ""
    """Colour as ``#rrggbb``; "" takes one of COLOURS."""
    meaning: str = ""
    """Instruction when to give the label."""
    clear: bool = True
    """Whether scores count the label; low_quality and others do not count."""
    reasons: tuple[str, ...] = ()
    """Reasons that the page offers for the label."""


RULES = ("unanimous", "majority", "plurality")
"""Rules that turn several people's labels into one; see consensus.agreed."""
UNCLEAR = (
    Choice(
        LOW_QUALITY, "l", "#5b6470",
        "It cannot be told: several people, no person, a face that is hidden, turned away or "
        "blurred.",
        clear=False,
        reasons=("no person", "several people", "face not visible", "blurred"),
    ),
    Choice(
        OTHERS, "o", "#7a3e9d", "None of these fits; say why.", clear=False,
        reasons=("not a human",),
    ),
)  # fmt: skip
"""Labels of every vocabulary, for images that nobody can label and for images of something else."""


@dataclass(frozen=True)
class Vocabulary:
    """The labels of one set of images.

    Raises:
        ConfigurationError: fewer than two labels count, or two share a name or a key.

    >>> vocabulary = named("child,adult")
    >>> vocabulary.clear, [choice.key for choice in vocabulary.choices]
    (('child', 'adult'), ['c', 'a', 'l', 'o'])
    """

    name: str
    choices: tuple[Choice, ...]
    rule: str = "majority"
    """Rule that turns several people's labels into one (RULES)."""

    def __post_init__(self) -> None:
        names = {choice.name for choice in self.choices}
        added = tuple(choice for choice in UNCLEAR if choice.name not in names)
        object.__setattr__(self, "choices", _complete((*self.choices, *added)))
        if len(self.clear) < 2:  # noqa: PLR2004 - a choice
            raise ConfigurationError(
                f"expected at least two labels that count, got {', '.join(self.clear) or 'none'}"
            )
        _check_unlike("name", [choice.name for choice in self.choices])
        _check_unlike("key", [choice.key for choice in self.choices])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(choice.name for choice in self.choices)

    @cached_property
    def clear(self) -> tuple[str, ...]:
        """The labels that scores count, such as male and female."""
        return tuple(choice.name for choice in self.choices if choice.clear)

    @property
    def is_gender(self) -> bool:
        """Whether the labels that count are male and female, as for bias scores."""
        return set(self.clear) == {"male", "female"}

    def check(self, label: str) -> None:
        """Raise ValueError for a label that is not in the vocabulary."""
        if label not in self.names:
            listed = ", ".join(self.names)
            raise ValueError(f"label must be one of {listed}, got label={label!r}")

    def check_detector(self, detector: str, labels: Sequence[str], source: object) -> None:
        """Raise ConfigurationError if a detector has labels that people cannot give."""
        if not set(labels) <= set(self.clear):
            raise ConfigurationError(
                f"detector {detector!r} says {', '.join(labels)}, but the labels of {source} are "
                f"{', '.join(self.clear)}: they cannot be compared. Choose a detector with those "
                "labels (--t2i-detector), or label the images with "
                f"t2i label page FOLDER --labels {','.join(labels)}."
            )


def named(given: str) -> Vocabulary:
    """Return a vocabulary: a built-in one by name, a TOML file by path, or ``child,adult``.

    Raises:
        ConfigurationError: there is no such vocabulary, or the list cannot be one.
        FileFormatError: the file is malformed.

    >>> len(named("monk").clear), named("gender").is_gender
    (10, True)
    """
    if given.endswith(".toml"):
        return _read_vocabulary(Path(given).expanduser())
    if "," in given:
        parts = [part.strip() for part in given.split(",")]
        return Vocabulary("labels", tuple(_choice(part) for part in parts))
    if given not in READY:
        raise UnknownNameError(
            "label set", given, READY, "Or give a TOML file, or labels as in child,adult."
        )
    return _ready(given)


@cache
def _ready(name: str) -> Vocabulary:
    return _read_vocabulary(Path(str(files("pytest_t2i.labels") / "vocabularies" / f"{name}.toml")))


def vocabulary_of(folder: Path) -> Vocabulary:
    """Return the vocabulary of a folder: that of its labels.toml, else "gender".

    Raises FileFormatError if the file is malformed.
    """
    path = folder / VOCABULARY_FILE
    return _read_vocabulary(path) if path.exists() else _ready("gender")


def keep_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Write FOLDER/labels.toml, unless the folder has this vocabulary already."""
    path = folder / VOCABULARY_FILE
    if vocabulary == vocabulary_of(folder):
        return
    lines = [f"name = {quoted(vocabulary.name)}", f"rule = {quoted(vocabulary.rule)}"]
    for choice in vocabulary.choices:
        lines += ["", "[[label]]"]
        plain = asdict(choice)
        fields = {key: value for key, value in plain.items() if value not in ("", ())}
        lines += [f"{key} = {_toml(value)}" for key, value in fields.items()]
    write_whole(path, ("\n".join(lines) + "\n").encode())


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """The contents of a labels.toml."""

    label: list[Choice]
    name: str = "labels"
    rule: str = "majority"


def _read_vocabulary(path: Path) -> Vocabulary:
    plain = read_toml(path)
    if "label" not in plain:
        raise FileFormatError(path, "no [[label]].", remedy=REMEDY)
    table = convert(path, plain, _Plain)
    if table.rule not in RULES:
        expected = ", ".join(RULES)
        raise FileFormatError(path, f"expected one of {expected}, got rule={table.rule!r}.")
    try:
        return Vocabulary(table.name, tuple(table.label), table.rule)
    except ConfigurationError as error:
        raise FileFormatError(path, f"{error}.", remedy=REMEDY) from None


def _choice(name: str) -> Choice:
    """Return the label of a list by its name; low_quality and others are predefined."""
    unclear = next((choice for choice in UNCLEAR if choice.name == name), None)
    return unclear or Choice(name)


def _complete(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Return the labels with keys and colours filled in."""
    keys = {choice.key for choice in choices if choice.key} | set(TAKEN)
    complete = []
    for place, choice in enumerate(choices):
        _check(choice)
        key = choice.key or _free_key(choice.name, keys)
        keys.add(key)
        complete.append(
            replace(choice, key=key, colour=choice.colour or COLOURS[place % len(COLOURS)])
        )
    return tuple(complete)


def _free_key(name: str, keys: Iterable[str]) -> str:
    for key in name.lower() + FREE:
        if key not in keys and key in FREE:
            return key
    raise ConfigurationError(f"expected at most {len(FREE)} labels: no key is left for {name!r}")


def _check(choice: Choice) -> None:
    if not NAME.fullmatch(choice.name) or choice.name == ADJUDICATED:
        raise ConfigurationError(
            f"expected a label of 1 to 60 characters without commas, got name={choice.name!r}"
        )
    if choice.key and (len(choice.key) > 1 or choice.key not in f"{FREE}lo"):
        raise ConfigurationError(
            f"expected a small letter or a digit other than {TAKEN[0]}, got key={choice.key!r} of "
            f"{choice.name}"
        )
    if choice.colour and not COLOUR.fullmatch(choice.colour):
        raise ConfigurationError(
            f"expected a colour such as #c55a00, got colour={choice.colour!r} of {choice.name}"
        )


def _check_unlike(what: str, values: list[str]) -> None:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ConfigurationError(
            f"expected a distinct {what} for every label, got {twice[0]!r} twice"
        )


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else f"[{', '.join(map(quoted, value))}]"
