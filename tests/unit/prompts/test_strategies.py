"""Strategies of combinations and prompts."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from hypothesis import find, given, settings

from pytest_t2i import axes, strategies
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts import Part, combination

CROSSED = (axes.nationality, axes.object, axes.place)
ORDER = [axis.name for axis in CROSSED]


@given(strategies.combinations(*CROSSED, min_words=2, max_words=3))
def test_a_combination_takes_one_word_of_some_axes_in_their_order(parts):
    names = [part.axis.name for part in parts]
    assert 2 <= len(names) <= 3
    assert names == [name for name in ORDER if name in names]
    assert all(part.concept in part.axis.concepts for part in parts)


@pytest.mark.parametrize("seed", range(8))
def test_words_that_do_not_matter_are_shrunk_away(seed):
    drawn = strategies.combinations(*CROSSED)
    words = find(
        drawn,
        lambda parts: "museum" in {part.concept for part in parts},
        settings=settings(database=None),
        random=Random(seed),
    )
    assert words == (Part(axes.place, "museum"),)


def test_words_that_matter_together_stay():
    wanted = {"Indian", "museum"}
    drawn = strategies.combinations(*CROSSED)
    words = find(
        drawn,
        lambda parts: wanted <= {part.concept for part in parts},
        settings=settings(database=None, max_examples=2000),
        random=Random(0),
    )
    assert {part.concept for part in words} == wanted


def test_every_word_is_drawn():
    seen = set()

    # A hundred at random miss a word now and then.
    @settings(derandomize=True, max_examples=500)
    @given(strategies.combinations(*CROSSED, max_words=1))
    def look(parts):
        seen.add(parts[0])

    look()
    assert seen == {Part(axis, word) for axis in CROSSED for word in axis.concepts}


@given(strategies.prompts(*CROSSED))
def test_a_prompt_is_that_of_its_words(prompt):
    by_name = {axis.name: axis for axis in CROSSED}
    parts = prompt.parts or ((prompt.axis, prompt.concept),)
    assert prompt == combination([Part(by_name[axis], word) for axis, word in parts])


@given(strategies.prompts(*CROSSED, templates=["a portrait of a person", "a person, in oils"]))
def test_a_prompt_begins_as_one_of_the_templates(prompt):
    assert prompt.text.startswith("a portrait of a") or prompt.text.endswith(", in oils")
    assert "photo" not in prompt.text
    assert "a Indian" not in prompt.text


@pytest.mark.parametrize(
    ("draw", "problem"),
    [
        (strategies.combinations, "expected at least one axis, got none"),
        (lambda: strategies.combinations(axes.place, axes.place), "every axis is given once"),
        (lambda: strategies.combinations(axes.place, min_words=2), "min_words=2"),
        (lambda: strategies.combinations(axes.place, max_words=0), "max_words=0"),
        (
            lambda: strategies.prompts(axes.place, templates=["a portrait"]),
            "a template holds the word person once, got template='a portrait'",
        ),
    ],
)
def test_what_does_not_fit_is_told(draw, problem):
    with pytest.raises(ConfigurationError, match=problem):
        draw()


def test_without_hypothesis_the_extra_is_named():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from pytest_t2i.errors import MissingExtraError\n"
        "try:\n    from pytest_t2i import strategies\n"
        "except MissingExtraError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "pytest-t2i[strategies]"' in run.stdout
