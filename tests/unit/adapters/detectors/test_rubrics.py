"""Rubrics: what is asked, and that an answer is a label of the rubric or none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i.adapters.detectors.rubrics import (
    LONGEST_EVIDENCE,
    JudgeName,
    RubricQuestion,
    each_attribute,
    read_rubric,
    rubric_named,
    rubrics_of,
    shipped,
)
from pytest_t2i.errors import ConfigurationError, FileFormatError, UnknownNameError

GENDER = RubricQuestion([rubric_named("gender")])
HAIR = """
name = "hair"
question = "Which colour has the hair?"
evidence = "Hair."
abstain = "No hair can be seen."

[[label]]
name = "dark"

[[label]]
name = "light"
"""


def said(text, question=GENDER, attribute="gender"):
    detection = question.detections(text).get(attribute)
    return None if detection is None else str(detection.said)


def test_three_rubrics_are_shipped_and_can_be_read_together():
    assert shipped() == ["age", "gender", "skin-tone"]
    question = RubricQuestion(map(rubric_named, shipped()))
    assert len(rubric_named("skin-tone").labels) == 10
    assert set(question.schema["properties"]) == set(shipped())
    assert all(f'Attribute "{name}"' in question.text for name in shipped())


def test_the_question_does_not_depend_on_the_order_of_attributes():
    names = ("gender", "age", "skin-tone")
    questions = {RubricQuestion(map(rubric_named, order)).digest for order in (names, names[::-1])}
    assert len(questions) == 1


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ('{"gender": {"label": "male", "evidence": "a beard"}}', "male"),
        ('Sure!\n```json\n{"gender": {"label": " Female "}}\n```\nBye', "female"),
        ('{"gender": {"label": "unspecified"}}', "unspecified"),
        ('{"gender": {"label": "no_person"}}', "no_person"),
        ('{"gender": {"label": "multiple_people"}, "more": 1}', "multiple_people"),
        ('{"gender": {"label": "male"}} {"gender": {"label": "female"}}', None),
        ('{"gender": {"label": "men"}}', None),
        ('{"gender": {"label": "male or female"}}', None),
        ('{"gender": {"label": ["male"]}}', None),
        ('{"gender": {"label": null}}', None),
        ('{"gender": "male"}', None),
        ('{"label": "male"}', None),
        ('{"gender": {"label": "low_confidence"}}', None),
        ("male", None),
        ("", None),
        ("{" * 70_000, None),
        ('{"a":' * 10_000, None),
        ('{"gender": {"label": ' + "9" * 5000 + "}}", None),
    ],
)
def test_an_answer_is_a_label_of_the_rubric_or_none(answer, word):
    assert said(answer) == word


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_text_gives_anything_but_an_allowed_word(text):
    for answer in (text, f'{{"gender": {{"label": {json.dumps(text)}}}}}'):
        assert said(answer) in {None, *rubric_named("gender").words}


@pytest.mark.parametrize(
    ("said_as", "word"),
    [("3", "3"), ('"3"', "3"), ("3.0", "3"), ("3.5", None), ("true", None), ("[3]", None)],
)
def test_a_label_that_is_a_number_is_read_as_one(tmp_path, said_as, word):
    file = tmp_path / "tone.toml"
    tones = "".join(f'[[label]]\nname = "{tone}"\n' for tone in (1, 2, 3))
    file.write_text(HAIR.partition("[[label]]")[0].replace("hair", "tone") + tones)
    question = RubricQuestion([read_rubric(file)])
    assert said(f'{{"tone": {{"label": {said_as}}}}}', question, "tone") == word


def test_evidence_is_one_short_line():
    evidence = "a\nbeard\x1b[31m <b>" + "x" * 5000
    answer = json.dumps({"gender": {"label": "male", "evidence": evidence}})
    detail = GENDER.detections(answer)["gender"].detail
    assert detail.startswith("a beard [31m <b>x")
    assert len(detail) == LONGEST_EVIDENCE
    assert detail.isprintable()
    no_text = json.dumps({"gender": {"label": "male", "evidence": {"a": 1}}})
    assert GENDER.detections(no_text)["gender"].detail == ""


def test_a_file_of_ones_own_is_a_rubric(tmp_path):
    file = tmp_path / "hair.toml"
    file.write_text(HAIR)
    rubric = rubric_named(str(file))
    assert (rubric.name, tuple(rubric.labels)) == ("hair", ("dark", "light"))
    name = JudgeName.read(f"m+gender+{file}")
    assert [rubric.name for rubric in rubrics_of(name)] == ["gender", "hair"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "name"),
        (HAIR.replace('"hair"', '"Hair colour"'), "small letters"),
        (HAIR.replace('question = "Which colour has the hair?"', 'question = " "'), "question"),
        (HAIR.replace('"light"', '"Dark"'), "differ"),
        (HAIR.replace('"light"', '"unspecified"'), "differ"),
        (HAIR.replace('"light"', '"no_face"'), "differ"),
        (HAIR.replace('"light"', '"a, b"'), "comma"),
        (HAIR[: HAIR.rindex("[[")], "two to 50 labels"),
        ('reasons = ["tired"]\n' + HAIR, "reasons"),
        ('colour = "red"\n' + HAIR, "colour"),
        ("name = [", "TOML"),
    ],
)
def test_another_file_is_refused_with_the_reason(tmp_path, text, problem):
    file = tmp_path / "hair.toml"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=problem):
        read_rubric(file)


def test_unknown_attributes_and_names_are_refused():
    with pytest.raises(UnknownNameError, match="gender"):
        rubric_named("gendre")
    with pytest.raises(FileFormatError, match="no such file"):
        rubric_named("absent.toml")
    for source in ("", "+gender", "m+", "m+gender+gender"):
        with pytest.raises(ConfigurationError):
            JudgeName.read(source)


def test_each_attribute_is_a_detector():
    names = each_attribute("vlm:m@http://gpu1/v1+gender+age+dress")
    assert [name.partition("+")[2] for name in names] == [
        "gender+age+dress", "age+dress+gender", "dress+gender+age",
    ]  # fmt: skip
    assert each_attribute("vlm:m") == ("vlm:m+gender",)
    assert each_attribute("face++") == ("face++",)
