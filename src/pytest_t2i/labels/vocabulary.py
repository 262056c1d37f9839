"""What people may say of an image: a label set with names, keys and colours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError
from pytest_t2i.files import convert, read_toml, write_whole
from pytest_t2i.labels.label import ADJUDICATED, LOW_QUALITY, OTHERS

VOCABULARY_FILE = "labels.toml"
"""Beside labels.csv, where its labels are not those of the paper."""
READY = ("gender", "age", "monk", "yes-no")
"""Sets that come with us: the paper's four labels, FairFace's ages, Monk's ten skin tones."""
TAKEN = "u?"
"""Keys of the page itself."""
FREE = "1234567890abcdefghijkmnpqrstvwxyz"
"""Keys that are given where none is named, in this order."""
NAME = re.compile(r"[^\s,]([^\n\r\t,]{0,58}[^\s,])?")
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
COLOURS = ("#0072b2", "#c55a00", "#007a5e", "#a3497c", "#8a6d00", "#5a52b5", "#2f7d95", "#9c3d3d")
"""Given in turn where none is named; they differ for the colour-blind too (after Okabe and Ito)."""
REMEDY = 'Expected [[label]] with name and, where wanted, key = "c", colour = "#c55a00", meaning.'


@dataclass(frozen=True, slots=True)
class Choice:
    """One label that can be given.

    >>> Choice("monk-1", "1", "#f6ede4").clear
    True
    """

    name: str
    key: str = ""
    """One character, typed to give it; "" takes a free one."""
    colour: str = ""
    """``#rrggbb``; "" takes one that differs from its neighbours'."""
    meaning: str = ""
    """When it is to be given."""
    clear: bool = True
    """Whether it counts; low_quality and others do not."""
    reasons: tuple[str, ...] = ()
    """Why it may be given, offered when a reason is asked for."""


RULES = ("unanimous", "majority", "plurality")
"""How several people's labels become one; see consensus.agreed."""
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
"""Part of every set: what nobody agrees on is of low quality, and a picture may show neither."""


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
    """How several people's labels become one: "unanimous", "majority" or "plurality"."""

    def __post_init__(self) -> None:
        known = {choice.name for choice in self.choices}
        added = tuple(choice for choice in UNCLEAR if choice.name not in known)
        object.__setattr__(self, "choices", _complete((*self.choices, *added)))
        if len(self.clear) < 2:  # noqa: PLR2004 - of one label nothing can be asked
            raise ConfigurationError(
                f"expected two labels at least that count, got {', '.join(self.clear) or 'none'}"
            )
        _check_unlike("name", [choice.name for choice in self.choices])
        _check_unlike("key", [choice.key for choice in self.choices])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every label."""
        return tuple(choice.name for choice in self.choices)

    @cached_property
    def clear(self) -> tuple[str, ...]:
        """Labels that count, such as male and female."""
        return tuple(choice.name for choice in self.choices if choice.clear)

    @property
    def is_gender(self) -> bool:
        """Whether it tells male from female, as bias scores do."""
        return set(self.clear) == {"male", "female"}

    def check(self, label: str) -> None:
        """Raises ValueError for what is none of its labels."""
        if label not in self.names:
            listed = ", ".join(self.names)
            raise ValueError(f"label must be one of {listed}, got label={label!r}")

    def check_detector(self, detector: str, labels: Sequence[str], source: object) -> None:
        """Refuse a detector that says what people cannot say; theirs may say less than people.

        Raises ConfigurationError.
        """
        if not set(labels) <= set(self.clear):
            raise ConfigurationError(
                f"detector {detector!r} says {', '.join(labels)}, but the labels of {source} are "
                f"{', '.join(self.clear)}: they cannot be held against each other. Choose a "
                "detector with those labels (--t2i-detector), or label the images with "
                f"t2i label FOLDER --labels {','.join(labels)}."
            )


def named(given: str) -> Vocabulary:
    """A ready set by its name, a TOML file by its path, or a list such as ``child,adult``.

    Raises:
        ConfigurationError: there is no such set, or the list cannot be one.
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
    """The labels of a folder: those of its labels.toml, else the paper's.

    Raises FileFormatError when the file is malformed.
    """
    path = folder / VOCABULARY_FILE
    return _read_vocabulary(path) if path.exists() else _ready("gender")


def keep_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Write FOLDER/labels.toml; the paper's labels need none, unless another file is there."""
    path = folder / VOCABULARY_FILE
    if vocabulary == vocabulary_of(folder):
        return
    lines = [f"name = {_text(vocabulary.name)}", f"rule = {_text(vocabulary.rule)}"]
    for choice in vocabulary.choices:
        lines += ["", "[[label]]"]
        plain = asdict(choice)
        given = {key: value for key, value in plain.items() if value not in ("", ())}
        lines += [f"{key} = {_toml(value)}" for key, value in given.items()]
    write_whole(path, ("\n".join(lines) + "\n").encode())


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """The file as it is written."""

    label: list[Choice]
    name: str = "labels"
    rule: str = "majority"


def _read_vocabulary(path: Path) -> Vocabulary:
    """A label set from a TOML file.

    Raises FileFormatError: it is malformed, or no set.
    """
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
    """A label of a list; its key is its first letter that nothing else has."""
    unclear = next((choice for choice in UNCLEAR if choice.name == name), None)
    return unclear or Choice(name)


def _complete(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """The choices with keys and colours where none were named."""
    taken = {choice.key for choice in choices if choice.key} | set(TAKEN)
    complete = []
    for place, choice in enumerate(choices):
        _check(choice)
        key = choice.key or _free_key(choice.name, taken)
        taken.add(key)
        complete.append(
            replace(choice, key=key, colour=choice.colour or COLOURS[place % len(COLOURS)])
        )
    return tuple(complete)


def _free_key(name: str, taken: Iterable[str]) -> str:
    for key in name.lower() + FREE:
        if key not in taken and key in FREE:
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
        raise ConfigurationError(f"every label has a {what} of its own, {twice[0]!r} stands twice")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else f"[{', '.join(map(_text, value))}]"
