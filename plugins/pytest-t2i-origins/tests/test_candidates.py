"""What is read from answers and prompts takes time in proportion to their length."""

from __future__ import annotations

import json

import pytest
from pytest_t2i.errors import MalformedAnswerError, T2IError

from pytest_t2i_origins.questions.answers import bare, check_answer
from pytest_t2i_origins.questions.candidates import attributes_of, concept_of

LONG = 200_000


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('Here it is: ```\n{"a": 1}\n  ```  \nEnjoy.', '{"a": 1}'),
        ('```json\r\n{"a": 1}\r\n```', '{"a": 1}\r'),
        ("```json\n{}", "```json\n{}"),
    ],
)
def test_bare_takes_the_fence_away(answer: str, expected: str) -> None:
    assert bare(answer) == expected


@pytest.mark.parametrize("filler", ["\n", " ", "\n```json", " \n", "`"])
def test_bare_returns_from_an_answer_of_one_repeated_piece(filler: str) -> None:
    """A pattern that tries every pair of places never came back from this."""
    assert len(bare("```json" + filler * LONG)) <= len(filler) * LONG + 7


@pytest.mark.parametrize("piece", ["a x ", "the ", "one word", "a " * 3 + "x ", "person "])
def test_concept_of_returns_from_a_prompt_of_one_repeated_piece(piece: str) -> None:
    with pytest.raises(T2IError, match="no concept is found"):
        concept_of(piece * LONG)


@pytest.mark.parametrize(
    ("prompt", "concept"),
    [
        ("a photo of an old Tunisian person", "old Tunisian"),
        ("A photo of the real Tunisian person, smiling", "Tunisian"),
        ("one kind person in the rain", "kind"),
        ("a dog beside a Tunisian person and a cat", "Tunisian"),
    ],
)
def test_concept_of_names_what_stands_before_person(prompt: str, concept: str) -> None:
    assert concept_of(prompt) == concept


@pytest.mark.parametrize(
    "prompt", ["a person", "a real person", "a photo of persons", "a photo of the work of person"]
)
def test_concept_of_refuses_a_prompt_without_one(prompt: str) -> None:
    with pytest.raises(T2IError, match="no concept is found"):
        concept_of(prompt)


def test_a_table_of_many_keys_is_read_once() -> None:
    """Counting every name among all names took minutes here."""
    many = json.dumps({f"key {k}": "" for k in range(LONG)})
    check_answer(many, {"type": "object"})
    with pytest.raises(MalformedAnswerError, match="twice in one table"):
        check_answer('{"a": 1, ' + many[1:-1] + ', "a": 2}', {"type": "object"})


def test_an_attribute_that_stands_twice_among_many_is_named() -> None:
    rows = [{"attribute": f"hat {k}", "positive": f"with {k}", "negative": "no"} for k in range(99)]
    with pytest.raises(MalformedAnswerError, match="'hat 7' is there twice"):
        attributes_of(json.dumps({"attributes": [*rows, {**rows[7], "attribute": "Hat 7"}]}))
