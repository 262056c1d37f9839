"""Stereotypes whose descriptions name the concept."""

from dataclasses import replace

import pytest

from pytest_t2i import Attribute, read_stereotypes, stereotypes
from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError, FileFormatError


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


def written(file, *rows):
    """A file of stereotypes that end with these lines."""
    named = (
        f"[[stereotype]]\nconcept = 'Iranian'\nattribute = 'hat {k}'\npositive = 'a'\n"
        f"negative = 'b'\n{row}\n"
        for k, row in enumerate(rows)
    )
    file.write_text("\n".join(named))
    return file


@pytest.mark.parametrize(
    ("row", "lacking"),
    [
        ("expected = ''\nsource = ''", "expected, source"),
        ("expected = 0.2\nsource = ' '", "source"),
        ("expected = ' '\nsource = 'a census'", "expected"),
        ("source = ''", "expected, source"),
        ("expected = ''", "expected, source"),
    ],
)
def test_what_is_not_filled_in(tmp_path, row, lacking):
    file = written(tmp_path / "mine.toml", row)
    with pytest.raises(FileFormatError, match=rf"filled in: Iranian: hat 0 \({lacking}\)\. Write"):
        read_stereotypes(file)


def test_all_that_are_not_filled_in_are_named(tmp_path):
    file = written(tmp_path / "mine.toml", "expected = 0.2", *["expected = 0.2\nsource = ''"] * 19)
    named = ", ".join(f"Iranian: hat {k} (source)" for k in range(1, 20))
    with pytest.raises(FileFormatError) as told:
        read_stereotypes(file)
    assert f"19 of 20 stereotypes are not filled in: {named}. Write the share" in str(told.value)


def test_a_source_may_be_left_out(tmp_path):
    assert read_stereotypes(written(tmp_path / "mine.toml", "expected = 0.2"))[0].source == ""
