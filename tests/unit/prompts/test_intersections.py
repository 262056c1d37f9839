"""Prompts that name several concepts."""

from __future__ import annotations

import pytest

from pytest_t2i import axes, intersection
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts import Axis, Part, combination

PART = {axis.name: axis for axis in axes}


def combined(**words):
    return combination([Part(PART[name], word) for name, word in words.items()])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"place": "gym"}, "a photo of one real person at the gym"),
        (
            {"nationality": "Iranian", "profession": "nurse"},
            "a photo of one real Iranian person who is a nurse",
        ),
        (
            {"object": "cup", "place": "hospital"},
            "a photo of one real person with a cup at the hospital",
        ),
        (
            {"personality": "loyal", "profession": "engineer", "object": "eye glasses"},
            "a photo of one real person who is loyal and who is an engineer with eye glasses",
        ),
    ],
)
def test_texts_read_as_english(words, text):
    assert combined(**words).text == text


def test_two_adjectives_share_an_article():
    age = Axis("age", "A photo of {a word} person", ("elderly", "young"))
    found = combination([Part(age, "elderly"), Part(axes.nationality, "Indian")])
    assert found.text == "A photo of an elderly Indian person"


def test_one_concept_alone_is_its_usual_prompt():
    assert combined(profession="nurse") == axes.profession.only("nurse").prompts()[0]


def test_axes_are_crossed_in_order():
    crossed = intersection(axes.nationality, axes.profession.only("nurse", "bus driver"))
    prompts = crossed.prompts()
    assert len(prompts) == 6
    assert prompts[1].id == "nationality-x-profession-iranian-bus-driver"
    assert prompts[1].parts == (("nationality", "Iranian"), ("profession", "bus driver"))
    assert crossed.name == "nationality-x-profession"
    feminine = crossed.triplets()[0].feminine
    assert feminine.text == "a photo of one real Iranian woman who is a nurse"
    assert feminine.parts == prompts[0].parts


def test_what_cannot_be_crossed_is_told():
    with pytest.raises(ConfigurationError, match="at least two axes"):
        intersection(axes.place)
    with pytest.raises(ConfigurationError, match="one concept of each axis"):
        intersection(axes.place, axes.place)
    with pytest.raises(ConfigurationError, match="holds the word person once"):
        intersection(axes.place, Axis("pet", "a photo of {a word}", ("dog",)))
    with pytest.raises(ConfigurationError, match="at least one concept"):
        combination([])
