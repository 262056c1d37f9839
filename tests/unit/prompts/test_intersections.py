"""Prompts that name several concepts."""

from __future__ import annotations

import pytest

from pytest_t2i import axes, intersection
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts import Axis, Part, combination, templates

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
    result = combination([Part(age, "elderly"), Part(axes.nationality, "Indian")])
    assert result.text == "A photo of an elderly Indian person"


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
    with pytest.raises(ConfigurationError, match=r"with a \[language\] cannot be crossed"):
        intersection(axes.nationality, axes.languages.english_paraphrase)
    with pytest.raises(ConfigurationError, match=r"with a \[language\] cannot be crossed"):
        intersection(axes.languages.german, axes.languages.german_masculine)
    with pytest.raises(ConfigurationError, match="at least one concept"):
        combination([])


PORTRAIT = "a portrait of a person"


@pytest.mark.parametrize(
    ("template", "words", "text"),
    [
        (PORTRAIT, {"nationality": "Indian"}, "a portrait of an Indian person"),
        (PORTRAIT, {"place": "gym"}, "a portrait of a person at the gym"),
        (
            "A person, in oils",
            {"nationality": "Indian", "object": "cup"},
            "An Indian person with a cup, in oils",
        ),
    ],
)
def test_a_template_gives_the_beginning_and_the_end(template, words, text):
    parts = [Part(PART[name], word) for name, word in words.items()]
    begun = Part(templates(template), template)
    assert combination([*parts, begun]).text == combination([begun, *parts]).text == text


def test_a_template_alone_is_a_prompt():
    assert combination([Part(templates(PORTRAIT), PORTRAIT)]).text == PORTRAIT


def test_the_article_of_a_beginning_fits_the_first_word():
    walking = Axis("hobby", "a photo of a person who likes {word}", ("chess",))
    parts = [Part(walking, "chess"), Part(PART["nationality"], "Iranian")]
    assert combination(parts).text == "a photo of an Iranian person who likes chess"


@pytest.mark.parametrize("text", ["a portrait", "a person and a person"])
def test_a_template_names_a_person_once(text):
    with pytest.raises(ConfigurationError, match="the word person once"):
        templates(text)
