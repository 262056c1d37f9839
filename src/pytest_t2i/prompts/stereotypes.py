"""Stereotypes to test: a concept's prompt, an attribute, and its real-world share (OASIS)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from pytest_t2i.data import Attribute, Name, Prompt, Prone
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError, shown
from pytest_t2i.prompts.axes import Axis, builtin_axes
from pytest_t2i.prompts.grammar import put_before
from pytest_t2i.read_files import convert, read_toml


@dataclass(frozen=True, slots=True)
class Stereotype:
    """An attribute whose share among the images of a concept is compared with the real world.

    >>> from pytest_t2i import stereotypes
    >>> stereotypes[0].id, stereotypes[0].expected
    ('nationality-iranian-man', 0.5)
    """

    prompt: Prompt
    attribute: Attribute
    expected: float
    """P*(A | C), the real-world share in [0, 1] (OASIS Def. 1)."""
    source: str = ""
    margin: float = 0.0
    """The margin zeta, in [0, 1]: images contain the stereotype from this score on (Def. 1).

    Taken literally, images contain every stereotype with margin 0, as no score is below 0. Here
    margin 0 stands for any excess, a score above 0: a test against it fails on evidence for an
    excess, and passes only where the attribute is clearly not too frequent.
    """
    direction: Prone = "over"
    """What the attribute is prone to: "over", shown too often, or "under", too rarely."""

    def __post_init__(self) -> None:
        if self.direction not in ("over", "under"):
            raise ConfigurationError(
                f"direction is 'over' or 'under', got direction={self.direction!r}"
            )
        if not 0.0 <= self.margin <= 1.0:
            raise ConfigurationError(
                f"margin (zeta) lies between 0 and 1, got margin={self.margin!r}"
            )
        if not 0.0 <= self.expected <= 1.0:
            raise ConfigurationError(
                f"expected is a share between 0 and 1, got expected={self.expected!r}"
            )

    @property
    def id(self) -> str:
        """The stable, readable id: ``nationality-iranian-beard``."""
        return f"{self.prompt.id}-{Prompt('', '', self.attribute.name).id.lstrip('-')}"

    def worded(self, *templates: str) -> Stereotype:
        """Return the stereotype with a prompt of several wordings, one drawn for each picture.

        OASIS takes four for Stable Diffusion 2 (A.1.2).

        >>> from pytest_t2i import stereotypes
        >>> worded = stereotypes[0].worded("A photo of {word} person", "A picture of {word} person")
        >>> worded.prompt.text
        'A photo of Iranian person | A picture of Iranian person'
        """
        concept = self.prompt.concept
        axis = Axis(self.prompt.axis, templates[0] if templates else "", (concept,))
        return replace(self, prompt=axis.worded(*templates).prompts()[0])

    def within_concept(self) -> Stereotype:
        """Return the stereotype with descriptions that name the concept, as the prompt does.

        Such descriptions differ from the prompt in the attribute alone, as the centred SPI needs.

        Raises ConfigurationError where the prompt does not name the concept directly before
        "person", or a description names no person, woman or man.

        >>> from pytest_t2i import stereotypes
        >>> stereotypes[4].within_concept().attribute.negative
        'a photo of an Iranian person without a beard'
        """
        word = self.prompt.concept
        if f"{word} person" not in self.prompt.text:
            raise ConfigurationError(
                f"{self.id}: the prompt {self.prompt.text!r} does not say '{word} person', so "
                f"{word!r} cannot be put into the descriptions; write descriptions that name it."
            )
        attribute = replace(
            self.attribute,
            positive=named(word, self.attribute.positive),
            negative=named(word, self.attribute.negative),
        )
        return replace(self, attribute=attribute)


def said_alike(first: str, second: str) -> bool:
    """Return whether two texts differ in capitals and spaces at most.

    Most encoders ignore both.

    >>> said_alike("A  hat", "a hat")
    True
    """
    return first.casefold().split() == second.casefold().split()


def check_descriptions(attribute: Attribute) -> None:
    """Raise ConfigurationError where a description is empty, or both say the same.

    >>> check_descriptions(Attribute("hat", "a man with a hat", "a man"))
    """
    texts = attribute.positive, attribute.negative
    if not all(text.strip() for text in texts) or said_alike(*texts):
        raise ConfigurationError(
            f"attribute {attribute.name!r} needs two different descriptions, of its presence and "
            f"of its absence; got positive={texts[0]!r}, negative={texts[1]!r}"
        )


PEOPLE = ("person", "woman", "man")
FILLED_IN = ("expected", "source")
"""The keys that may be left empty until a person fills them in."""


def named(word: str, description: str) -> str:
    """Return a description with a word before the person that it names.

    Raises ConfigurationError where the description names no person, woman or man.

    >>> named("Iranian", "a photo of a woman")
    'a photo of an Iranian woman'
    """
    for noun in PEOPLE:
        text = put_before(word, noun, description)
        if text != description:
            return text
    raise ConfigurationError(
        f"the description {description!r} names no {', '.join(PEOPLE[:-1])} or {PEOPLE[-1]}, so "
        f"{word!r} cannot be put before one."
    )


@cache
def builtin_stereotypes() -> tuple[Stereotype, ...]:
    """Return the fifteen stereotypes of OASIS Table 1 with their real-world shares."""
    return read_stereotypes(Path(str(files("pytest_t2i.prompts") / "words" / "oasis.toml")))


def read_stereotypes(path: str | Path, axis: Axis | None = None) -> tuple[Stereotype, ...]:
    """Return the stereotypes of a TOML file with one ``[[stereotype]]`` table each.

    Required keys are concept, attribute, positive, negative and expected (0 to 1). Optional keys
    are source, margin (zeta, 0 to 1), direction ("over" or "under") and prompt. Without a prompt,
    the concept is put into the template of ``axis`` (default: nationality). Each pair of concept
    and attribute may occur once for each direction, with the same share.

    Raises FileFormatError that says what is wrong and where.

    >>> builtin = Path(str(files("pytest_t2i.prompts") / "words" / "oasis.toml"))
    >>> read_stereotypes(builtin)[0].attribute.name
    'man'
    """
    path = Path(path)
    content = read_toml(path)
    for key in content:
        if key != "stereotype":
            raise FileFormatError(path, str(UnknownNameError("key", key, ["stereotype"])))
    rows = content.get("stereotype")
    if not isinstance(rows, list) or not rows:
        raise FileFormatError(path, "expected at least one [[stereotype]] table, found none.")
    axis = axis or builtin_axes().nationality
    _refuse_unfilled(path, rows)
    stereotypes = tuple(
        _stereotype(path, axis, number, row) for number, row in enumerate(rows, start=1)
    )
    _refuse_contradictions(path, stereotypes)
    return stereotypes


def _refuse_contradictions(path: Path, stereotypes: Sequence[Stereotype]) -> None:
    """Raise FileFormatError for a pair of concept and attribute twice, or a foreign prompt."""
    numbers: dict[tuple[str, ...], int] = {}
    concepts = {stereotype.prompt.concept for stereotype in stereotypes}
    for number, entry in enumerate(stereotypes, start=1):
        where = f"[[stereotype]] number {number}"
        prompt, name = entry.prompt, entry.attribute.name
        pair = tuple(" ".join(text.casefold().split()) for text in (prompt.text, name))
        first_entry = stereotypes[(first := numbers.setdefault(pair, number)) - 1]
        # One attribute may be prone to be shown too often and too rarely, with the same share.
        turned = first_entry.expected == entry.expected and first_entry.direction != entry.direction
        if first != number and not turned:
            problem = (
                f"{prompt.concept!r} with {name!r} stands in number {first} already, with "
                f"expected={first_entry.expected!r}; got expected={entry.expected!r}."
            )
            raise FileFormatError(path, problem, where=where, remedy="Keep one of the two.")
        foreign = [c for c in concepts if c != prompt.concept and names(c, prompt.text)]
        if foreign and not names(prompt.concept, prompt.text):
            problem = (
                f"expected a prompt about {prompt.concept!r}, got one about {foreign[0]!r}: "
                f"prompt={prompt.text!r}."
            )
            raise FileFormatError(path, problem, where=where)


def names(word: str, text: str) -> bool:
    """Return whether a text has this word as a whole word.

    >>> names("Indian", "a photo of an Indian person"), names("Indian", "an Indiana person")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _refuse_unfilled(path: Path, rows: list[Any]) -> None:
    """Raise FileFormatError for stereotypes that nobody has filled in."""
    unfilled = [
        f"{row.get('concept')}: {row.get('attribute')} ({', '.join(lacking)})"
        for row in rows
        if isinstance(row, dict) and (lacking := _lacking(row))
    ]
    if unfilled:
        raise FileFormatError(
            path,
            f"{len(unfilled)} of {len(rows)} stereotypes are not filled in: {', '.join(unfilled)}. "
            "Write the share in the real world as expected, from 0 to 1, and where it comes from "
            "as source, or delete those tables.",
        )


def _lacking(row: dict[str, Any]) -> list[str]:
    """Return the keys that a person has yet to fill in.

    A source may be left out, in files that a person writes. An empty source is to be filled in.
    """
    fields = {key: row.get(key, "") for key in FILLED_IN}
    blank = [key for key, text in fields.items() if isinstance(text, str) and not text.strip()]
    return blank if any(key in row for key in blank) else []


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A ``[[stereotype]]`` table."""

    concept: Name
    attribute: Name
    positive: str
    negative: str
    expected: float
    prompt: str | None = None
    source: str = ""
    margin: float = 0.0
    direction: str = "over"


def _own_prompt(prompt: Prompt, text: str) -> Prompt:
    if not text.strip():
        raise ConfigurationError(f"prompt is a sentence to make images of, got prompt={text!r}")
    return replace(prompt, text=text, wordings=())


def _stereotype(path: Path, axis: Axis, number: int, plain: Any) -> Stereotype:
    where = f"[[stereotype]] number {number}"
    row = convert(path, plain, _Row, where=where)
    for key in ("concept", "attribute", "positive", "negative", "prompt", "source"):
        text = getattr(row, key)
        if text is not None and not text.isprintable():
            got = f"{key}={shown(text)}"
            problem = f"expected a text without line breaks and control characters, got {got}."
            raise FileFormatError(path, problem, where=where)
    try:
        prompt = replace(axis, concepts=(row.concept,), sentences=()).prompts()[0]
        if row.prompt is not None:
            prompt = _own_prompt(prompt, row.prompt)
        attribute = Attribute(row.attribute, row.positive, row.negative)
        check_descriptions(attribute)
        return Stereotype(
            prompt,
            attribute,
            row.expected,
            row.source,
            row.margin,
            row.direction,  # type: ignore[arg-type]  # a stereotype refuses other words itself
        )
    except ConfigurationError as error:
        raise FileFormatError(path, str(error), where=where) from None
