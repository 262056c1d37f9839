"""Stereotypes whose descriptions name the concept."""

from dataclasses import replace

import pytest

from pytest_t2i import Attribute, stereotypes
from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError


@pytest.mark.parametrize("stereotype", stereotypes, ids=lambda each: each.id)
def test_descriptions_of_table_1_can_name_their_nationality(stereotype):
    within, word = stereotype.within_concept(), stereotype.prompt.concept
    before, after = stereotype.attribute, within.attribute
    for text, plain in ((after.positive, before.positive), (after.negative, before.negative)):
        assert text.count(f" {word} ") == 1
        assert text.replace(f"{word} ", "").replace(" an ", " a ") == plain.replace(" an ", " a ")
        assert (" an Iranian" in text or " an Indian" in text) == (
            word != "Mexican" and "old" not in plain and "young" not in plain
        )
    assert (after.name, within.id, within.prompt) == (before.name, stereotype.id, stereotype.prompt)
    assert (within.expected, within.source) == (stereotype.expected, stereotype.source)


def test_a_prompt_that_says_the_concept_elsewhere_is_refused():
    nurse = replace(stereotypes[0], prompt=Prompt("a person who is a nurse", "job", "nurse"))
    with pytest.raises(ConfigurationError, match="does not say 'nurse person'"):
        nurse.within_concept()


def test_a_description_of_nobody_is_refused():
    chair = replace(stereotypes[0], attribute=Attribute("chair", "a chair", "no chair"))
    with pytest.raises(ConfigurationError, match="'a chair' names no person, woman or man"):
        chair.within_concept()
