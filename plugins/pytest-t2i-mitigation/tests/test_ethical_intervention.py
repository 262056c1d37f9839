"""Ethical intervention: the sentence of ENTIGEN behind each prompt."""

from __future__ import annotations

import pytest
from pytest_t2i import axes

from pytest_t2i_mitigation.ethical_intervention import EthicalIntervention, word_of


@pytest.mark.parametrize(
    ("axis", "word", "said"),
    [
        ("profession", "engineer", "can be an engineer irrespective"),
        ("personality", "loyal", "can be loyal irrespective"),
        ("place", "mall", "can be at the mall irrespective"),
        ("object", "book", "can be with a book irrespective"),
        ("nationality", "Iranian", "can be an Iranian person irrespective"),
        ("wu.healthcare", "nurse", "can be a nurse at work irrespective"),
    ],
)
def test_the_sentence_reads_well_on_every_axis(axis, word, said):
    (prompt,) = axes[axis].only(word).prompts()
    made = EthicalIntervention().prompt(prompt.text, 0, ())
    assert made.startswith(f"{prompt.text} if all individuals ")
    assert said in made
    assert made.endswith("of their gender")


def test_a_full_stop_does_not_cut_the_sentence_off():
    assert EthicalIntervention("please").prompt("A person in a park. ", 0, ()) == (
        "A person in a park please"
    )


def test_the_seed_changes_nothing():
    cure = EthicalIntervention()
    assert {cure.prompt("a nurse", seed, ()) for seed in range(9)} == {
        cure.prompt("a nurse", 0, ())
    }


def test_another_sentence_may_have_no_word():
    assert EthicalIntervention("of any gender").prompt("a nurse", 0, ()) == "a nurse of any gender"


def test_an_empty_sentence_is_refused():
    with pytest.raises(ValueError, match="sentence: expected words"):
        EthicalIntervention(" ")


@pytest.mark.parametrize(
    ("text", "word"),
    [("people playing chess", "playing chess"), ("a photo of a nurse", "a nurse"), ("", "")],
)
def test_the_word_is_what_is_said_of_the_person(text, word):
    assert word_of(text) == word
