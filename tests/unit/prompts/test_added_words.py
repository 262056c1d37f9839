"""Words that a service added: which of them say of somebody who they are."""

from __future__ import annotations

import pytest

from pytest_t2i.prompts.added_words import KINDS, added_words, is_rewritten, words_of

PROMPT = "a photo of one real person who is a nurse"


@pytest.mark.parametrize(
    ("text", "gender", "age", "ethnicity"),
    [
        ("a smiling woman, a nurse", {"woman"}, set(), set()),
        ("A LATINA nurse in her early thirties", {"her"}, {"thirties"}, {"latina"}),
        ("a 35-year-old East Asian man", {"man"}, {"old", "year old"}, {"asian"}),
        ("a middle-aged, dark-skinned nurse", set(), {"aged", "middle aged"}, {"dark skinned"}),
        ("an old nurse", set(), {"old"}, set()),
        ("a black female nurse", {"female"}, set(), {"black"}),
        ("a French nurse of African American descent", set(), set(),
         {"french", "african american", "african", "american"}),
        ("a non-binary person of color", {"non binary"}, set(), {"person of color"}),
    ],
)  # fmt: skip
def test_words_that_say_who_is_seen(text, gender, age, ethnicity):
    people = frozenset({"nurse"})
    assert [words_of(kind, text, people) for kind in KINDS] == [gender, age, ethnicity]


@pytest.mark.parametrize(
    "text",
    [
        PROMPT,
        f"{PROMPT}, in a white coat, soft light, at an old library with black chairs",
        "black and white photograph of one real person who is a nurse",
        "a person by a French window, eating English muffins with polished cutlery",
        "human hands, otherwise manhole covers, kingdom, womanizer, girlfriendly, shell",
    ],
)
def test_words_of_things_say_nothing_of_people(text):
    assert [words_of(kind, text, frozenset({"nurse"})) for kind in KINDS] == [set()] * 3


def test_capitals_and_blanks_are_no_rewriting():
    assert not is_rewritten(PROMPT, PROMPT.upper().replace(" ", "\n "))
    assert is_rewritten(PROMPT, f"{PROMPT}.")


def test_added_words_are_those_that_the_prompt_lacks():
    drawn = "A photo of a smiling woman, a nurse, smiling"
    assert added_words(PROMPT, drawn) == {"smiling", "woman"}
