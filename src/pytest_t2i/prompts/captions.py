"""Captions as prompts: files of datasets, and those of a run."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_t2i.data import Prompt, Triplet, Variant
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.files import stamp
from pytest_t2i.prompts.grammar import swap_person
from pytest_t2i.read_files import check_length, parse_json, read_text, read_toml

NO_PLURAL = frozenset(
    ("she", "her", "hers", "herself", "he", "his", "him", "himself", "u", "me", "i", "mr", "myself")
)
"""The words of Wu Table 2 without a plural: "is" is no plural of "I"."""
PERSON = re.compile(r"\b(person|people)\b", re.IGNORECASE)


@cache
def human_words() -> frozenset[str]:
    """Return the words that indicate humans (Wu Table 2), in lower case with their plurals."""
    table = read_toml(Path(str(files("pytest_t2i.prompts") / "words" / "human_words.toml")))
    words = {word.lower() for group in ("gender", "geography", "others") for word in table[group]}
    return frozenset(words | {plural(word) for word in words - NO_PLURAL})


def is_neutral(caption: str) -> bool:
    """Return whether a caption has person or people, and none of the words of Wu Table 2.

    >>> is_neutral("A person rides a horse"), is_neutral("The person and a boy play badminton")
    (True, False)
    """
    return PERSON.search(caption) is not None and not human_words_in(caption)


def human_words_in(caption: str) -> frozenset[str]:
    """Return the words of a caption that indicate humans, besides person and people.

    >>> sorted(human_words_in("The person and a boy play badminton"))
    ['boy']
    """
    return human_words() & frozenset(re.findall(r"[a-z]+", caption.lower()))


def triplet(text: str, *, axis: str = "caption", concept: str | None = None) -> Triplet:
    """Return the three variants of a prompt that has the word person or people.

    >>> [p.text for p in triplet("a person in a park")]
    ['a person in a park', 'a woman in a park', 'a man in a park']

    Raises ConfigurationError where the text has neither word.
    """
    if not PERSON.search(text):
        raise ConfigurationError(
            f"a triplet needs 'person' or 'people' in its neutral prompt, got text={text!r}"
        )
    word = concept or text
    return Triplet(
        Prompt(text, axis, word),
        Prompt(swap_person(text, Variant.FEMININE), axis, word, Variant.FEMININE),
        Prompt(swap_person(text, Variant.MASCULINE), axis, word, Variant.MASCULINE),
    )


def plural(word: str) -> str:
    """Return the plural of a word for a human.

    >>> plural("fireman"), plural("child"), plural("ecologist")
    ('firemen', 'children', 'ecologists')
    """
    if word.endswith("man"):
        return word[:-3] + "men"
    return {"child": "children", "wife": "wives", "lady": "ladies", "family": "families"}.get(
        word, word + "s"
    )


FLICKR = re.compile(r"\S+#\d+\t")
"""The beginning of each line of Flickr30k: ``1000092795.jpg#0`` and a tab."""
NO_PERSON, HUMAN_WORD, REPEATED = (
    "no person or people",
    "another human word",
    "the same caption again",
)
MOST_CHARACTERS = 1000
"""The largest number of characters of a caption."""
SHOWN = 3
"""The largest number of human words that are named."""


@dataclass(frozen=True, slots=True)
class CaptionFile:
    """The neutral captions of a file, and why others were left out.

    >>> file = CaptionFile(Path("mine.txt"), "plain", ("a person",), {}, {})
    >>> file.triplets()[0].feminine.text
    'a woman'
    """

    path: Path
    format: str
    """The format: "COCO", "TextCaps", "Flickr30k", "GCC" or "plain"."""
    captions: tuple[str, ...]
    """The neutral captions (Wu section 3.1), in order, each once."""
    left_out: Mapping[str, int]
    """Reason -> number of captions left out."""
    human_words: Mapping[str, int]
    """Word of Wu Table 2 -> number of captions left out for it, the most frequent first."""

    def __len__(self) -> int:
        return len(self.captions)

    @property
    def total(self) -> int:
        """The number of captions in the file."""
        return len(self.captions) + sum(self.left_out.values())

    def triplets(self, most: int | None = None, seed: int = 0) -> tuple[Triplet, ...]:
        """Return the triplet of each caption, or of ``most`` captions that the seed chooses."""
        captions = list(self.captions)
        if most is not None and most < len(captions):
            places = set(random.Random(seed).sample(range(len(captions)), most))  # noqa: S311 - no secret
            captions = [caption for k, caption in enumerate(captions) if k in places]
        return tuple(triplet(caption) for caption in captions)

    def __str__(self) -> str:
        words = f" ({', '.join(list(self.human_words)[:SHOWN])})" if self.human_words else ""
        reasons = [
            f"{count} {reason}{words if reason == HUMAN_WORD else ''}"
            for reason, count in self.left_out.items()
            if count
        ]
        left = f"; left out: {', '.join(reasons)}" if reasons else ""
        return f"{len(self)} of {self.total} captions of {self.path.name} are neutral{left}"


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions of ``--t2i-captions`` in a marker, and the prompts to use without that option.

    >>> from pytest_t2i import axes, captions
    >>> captions.or_else(axes.wu.science).otherwise[0].name
    'wu.science'
    """

    otherwise: tuple[Any, ...] = ()
    """Axes, prompts or triplets to use without captions; () stands for Lyu's professions."""

    def or_else(self, *members: Any) -> Captions:
        """Return captions that stand for these members where no file is given."""
        return Captions(members)


def read_captions(path: str | Path) -> CaptionFile:
    """Return the neutral captions of a file.

    Formats: COCO or TextCaps JSON, Flickr30k tokens, GCC TSV, or plain lines. A caption is neutral
    when it has the word person or people, and none of the other words that indicate humans (Wu
    section 3.1, Table 2).

    Raises:
        FileFormatError: the file has another format, or no neutral caption.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "captions.txt")
    ...     _ = file.write_text(f"a person rides a horse{chr(10)}a boy and a person{chr(10)}")
    ...     print(read_captions(file))
    1 of 2 captions of captions.txt are neutral; left out: 1 another human word (boy)
    """
    path = Path(path)
    return _read(path, stamp(path))


@lru_cache(maxsize=4)
def _read(path: Path, version: str | None) -> CaptionFile:
    del version  # part of the cache's key, so that a changed file is read again
    text = read_text(path, kind="caption file")
    name, captions = _captions(path, text)
    neutral: dict[str, None] = {}
    left_out = dict.fromkeys((NO_PERSON, HUMAN_WORD, REPEATED), 0)
    words: Counter[str] = Counter()
    for caption in captions:
        reason, human = _reason(caption, neutral)
        if reason:
            left_out[reason] += 1
            words.update(human)
        else:
            neutral[caption] = None
    result = CaptionFile(path, name, tuple(neutral), left_out, dict(words.most_common()))
    if not result:
        raise FileFormatError(path, f"expected a neutral caption, found none: {result}.")
    return result


def _reason(caption: str, captions: Mapping[str, None]) -> tuple[str, Iterable[str]]:
    """Return why a caption is left out ("" if it is not), and its human words."""
    if not PERSON.search(caption):
        return NO_PERSON, ()
    if human := human_words_in(caption):
        return HUMAN_WORD, human
    return (REPEATED if caption in captions else ""), ()


def _captions(path: Path, text: str) -> tuple[str, list[str]]:
    if text.lstrip()[:1] in ("{", "["):
        name, captions = _of_json(path, parse_json(path, text))
    else:
        name, captions = _of_lines(path, [line for line in text.splitlines() if line.strip()])
    for caption in captions:
        check_length(path, caption)
    return name, [" ".join(caption.split()) for caption in captions if caption.strip()]


def _of_json(path: Path, plain: Any) -> tuple[str, list[str]]:
    rows = plain.get("annotations") if isinstance(plain, dict) else None
    if isinstance(rows, list) and rows:
        return "COCO", _texts(path, rows, "annotations", "caption")
    rows = plain.get("data") if isinstance(plain, dict) else None
    if isinstance(rows, list) and rows:
        return "TextCaps", _texts(path, rows, "data", "caption_str")
    raise FileFormatError(
        path,
        "expected the captions of COCO (a list annotations, each with a caption) or of TextCaps "
        "(a list data, each with a caption_str), found neither.",
    )


def _texts(path: Path, rows: Iterable[Any], where: str, key: str) -> list[str]:
    texts: list[str] = []
    for number, row in enumerate(rows):
        text = row.get(key) if isinstance(row, dict) else None
        if not isinstance(text, str):
            raise FileFormatError(path, f"expected a text as {key!r}.", where=f"{where}[{number}]")
        texts.append(text)
    return texts


def _of_lines(path: Path, lines: list[str]) -> tuple[str, list[str]]:
    for number, line in enumerate(lines, start=1):
        if len(line) > MOST_CHARACTERS and "\t" not in line:
            problem = f"expected a caption of at most {MOST_CHARACTERS} characters a line."
            raise FileFormatError(path, problem, where=f"line {number}")
    tabbed = [line for line in lines if "\t" in line]
    if not tabbed:
        return "plain", lines
    if len(tabbed) < len(lines):
        first = next(k for k, line in enumerate(lines, start=1) if "\t" not in line)
        problem = "expected a tab, as in the lines around it (Flickr30k tokens, GCC TSV)."
        raise FileFormatError(path, problem, where=f"line {first}")
    if all(FLICKR.match(line) for line in lines):
        return "Flickr30k", [line.partition("\t")[2] for line in lines]
    return "GCC", _of_tsv(path, lines)


def _of_tsv(path: Path, lines: list[str]) -> list[str]:
    """Return the first column; the second is the address of a picture."""
    captions = []
    for number, line in enumerate(lines, start=1):
        caption, _, address = line.partition("\t")
        if not re.match(r"https?://", address.strip()):
            problem = (
                "expected a caption, a tab and the address of a picture (GCC), or image#number, a "
                f"tab and a caption (Flickr30k), got {line[:60]!r}."
            )
            raise FileFormatError(path, problem, where=f"line {number}")
        captions.append(caption)
    return captions
