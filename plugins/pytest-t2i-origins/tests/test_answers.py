"""What a language model answers obeys the schema that it was asked by, to the letter."""

from __future__ import annotations

import json

import pytest
from llm_server import attributes
from pytest_t2i.errors import LanguageError, MalformedAnswerError

from pytest_t2i_origins.questions.answers import check_answer
from pytest_t2i_origins.questions.candidates import SCHEMA, ask_for_candidates

PROMPT = "a photo of a Tunisian person"
ROWS = attributes(2)
WHOLE = json.dumps({"attributes": ROWS})
TWICE = f'{{"attributes": [], "attributes": {json.dumps(ROWS)}}}'


class Saying:
    """Says these things in turn, the last for ever."""

    fingerprint = "saying"

    def __init__(self, *told):
        self.told, self.asked = list(told), []

    def answer(self, question, schema=None):
        self.asked.append(question)
        return self.told.pop(0) if len(self.told) > 1 else self.told[0]


def test_a_whole_answer_is_taken():
    check_answer(WHOLE, SCHEMA)
    check_answer(f"Here:\n```json\n{WHOLE}\n```", SCHEMA)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (" \n", "the answer is empty"),
        (json.dumps(ROWS), "the answer: expected a table, got "),
        (
            json.dumps({"attributes": ROWS, "note": 1}),
            "no keys but 'attributes', got \"note\", too",
        ),
        (json.dumps({"attributes": [{**ROWS[0], "why": ""}]}), 'attributes 1: .* got "why", too'),
        (TWICE, 'the key "attributes" is there twice in one table'),
        (json.dumps({"attributes": [{"attribute": "hat"}]}), "'positive', 'negative' is not there"),
        (json.dumps({"attributes": {}}), "attributes: expected a list, got {}"),
        (json.dumps({"attributes": [5]}), "attributes 1: expected a table, got 5"),
        (json.dumps({"attributes": [{**ROWS[0], "positive": 5}]}), "positive: expected a text"),
        (json.dumps({"attributes": [{**ROWS[0], "positive": None}]}), "a text, got None"),
        ("[" * 100_000, "the answer is not JSON"),
    ],
)
def test_what_does_not_obey_the_schema(answer, expected):
    with pytest.raises(MalformedAnswerError, match=expected):
        check_answer(answer, SCHEMA)
    language = Saying(answer, WHOLE)
    assert len(ask_for_candidates(language, PROMPT, fewest=2, tries=2)) == 2
    assert "\nAn earlier answer could not be used: " in language.asked[1]


def test_a_name_of_nine_words():
    long = "a very long name that no one would read"
    told = json.dumps({"attributes": [{**ROWS[0], "attribute": long}, ROWS[1]]})
    with pytest.raises(LanguageError, match=f"one to four words as 'attribute', got '{long}'"):
        ask_for_candidates(Saying(told), PROMPT, fewest=1, tries=1)
    four = json.dumps({"attributes": [{**ROWS[0], "attribute": "a hat of felt"}]})
    assert len(ask_for_candidates(Saying(four), PROMPT, fewest=1, tries=1)) == 1


def test_the_beginning_of_words_is_shown_on_one_line():
    with pytest.raises(MalformedAnswerError) as told:
        check_answer("Certainly!\n\x1b[31mHere " + "x" * 100, SCHEMA)
    assert str(told.value).endswith('; it begins "Certainly! \\x1b[31mHere ' + "x" * 59 + '..."')


@pytest.mark.parametrize(("tries", "words"), [(1, "1 try"), (2, "2 tries")])
def test_what_the_user_is_told(tries, words):
    with pytest.raises(LanguageError) as told:
        ask_for_candidates(Saying("{}"), PROMPT, fewest=1, tries=tries)
    assert str(told.value) == (
        f"no usable answer in {words}: the answer: expected the keys 'attributes', 'attributes' is "
        "not there. Ask another model, for fewer attributes (--count), or more often (--tries)."
    )
