"""How many captions of GCC are neutral by Wu Table 2, beside the number that Wu reports.

The documents print two criteria: a caption has person or people, and none of the words of Table 2.
On the captions at hand they keep more of GCC than the paper counts. Each reading of the second
criterion that a program might have is tried here: none gives the paper's numbers for both sets.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_t2i.prompts import captions
from pytest_t2i.prompts.captions import is_neutral
from pytest_t2i.read_files import read_toml

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "captions"
GCC, COCO = "gcc_val_neutral_person.txt", "coco_val2017_neutral_person.txt"
OF_WU = 418
"""Neutral captions of GCC's validation set (Wu Table 4)."""
ALL_OF_COCO, VALIDATION_OF_COCO = 616_767, 25_014
"""Captions of COCO 2017 (train and validation), and of its validation set."""
EXPECTED_OF_COCO = 51_219 * VALIDATION_OF_COCO / ALL_OF_COCO
"""Neutral captions of the validation set, if it is like all of COCO (Wu Table 4)."""
TABLE = read_toml(Path(captions.__file__).parent / "words" / "human_words.toml")
WORDS = [word for group in ("gender", "geography", "others") for word in TABLE[group]]
PEOPLE = re.compile(r"\b(?:person|people)\b")


def without(words, where):
    """A filter of captions that hold none of the words, found in one way."""
    return lambda text: not any(where(word.lower(), text.lower()) for word in words)


READINGS = {
    "whole words and their plurals": is_neutral,
    "whole words, no plurals": lambda text: (
        not set(text.lower().split()) & {*map(str.lower, WORDS)}
    ),
    "anywhere, as letters": without(WORDS, lambda word, text: word in text),
    "anywhere, longer than three letters": without(
        [word for word in WORDS if len(word) > 3], lambda word, text: word in text
    ),
    "at the beginning of a word": without(WORDS, lambda word, text: f" {word}" in f" {text}"),
    "at the end of a word": without(WORDS, lambda word, text: f"{word} " in f"{text} "),
    "words for a gender alone": without(
        TABLE["gender"], lambda word, text: word in re.findall("[a-z]+", text)
    ),
    "one mention of person or people": lambda text: (
        is_neutral(text) and len(PEOPLE.findall(text.lower())) == 1
    ),
    "person or people comes first": lambda text: (
        is_neutral(text) and re.match(r"(?:a |the |two )?(?:person|people)\b", text.lower())
    ),
    "person alone": lambda text: is_neutral(text) and "people" not in text.lower(),
    "a verb in -ing": lambda text: is_neutral(text) and re.search(r"\w+ing\b", text.lower()),
}


def kept(reading, name):
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    lines = dict.fromkeys(line.strip() for line in path.read_text("utf-8").splitlines())
    return sum(bool(READINGS[reading](line)) for line in lines if line)


@pytest.mark.parametrize("reading", READINGS)
def test_no_reading_of_table_2_gives_both_numbers_of_the_paper(reading):
    of_gcc = abs(kept(reading, GCC) - OF_WU) <= 20
    of_coco = abs(kept(reading, COCO) - EXPECTED_OF_COCO) <= 150
    assert not (of_gcc and of_coco)


def test_the_page_has_the_numbers_of_this_filter():
    page = (Path(__file__).parents[2] / "docs" / "objects.md").read_text(encoding="utf-8")
    ours = kept("whole words and their plurals", GCC)
    once = kept("one mention of person or people", GCC)
    of_coco = kept("whole words and their plurals", COCO)
    assert f"this filter keeps {ours:,}" in page
    assert f"{once:,} with one mention" in page
    assert f"{of_coco:,} captions of COCO's" in page
