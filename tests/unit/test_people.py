"""The numbers of people of a detection: what is read, and what is refused by name."""

from __future__ import annotations

import math

import pytest

from pytest_t2i import CountsPeople, Detection, Undetected, people_of
from pytest_t2i.errors import DetectorError

GROUPS = ("male", "female")


def read(label="male", undetected=None, labels=GROUPS, **scores):
    return people_of(Detection(label, undetected, scores), "counter", labels)


def test_people_without_a_clear_presentation_are_counted_alone():
    people = read(people=5.0, male=1.0, female=2.0)
    assert (people.number, people.labelled, people.unclear) == (5, 3, 2)


def test_any_number_of_groups_is_read_and_other_scores_are_left():
    people = read("a", labels=("a", "b", "c"), people=3, a=1, b=0, c=2, age=33.5)
    assert people.groups == {"a": 1, "b": 0, "c": 2}


def test_an_undetected_picture_may_show_people_or_say_nothing():
    unclear = read(None, Undetected.LOW_CONFIDENCE, people=2, male=0, female=0)
    assert (unclear.number, unclear.unclear) == (2, 2)
    assert read(None, Undetected.REFUSED) is None


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ({}, "score 'people'"),
        ({"people": 2}, "score 'male'"),
        ({"people": 2, "male": 1}, "score 'female'"),
        ({"people": 2.5, "male": 1, "female": 1}, "got 2.5"),
        ({"people": -1, "male": 0, "female": 0}, "got -1"),
        ({"people": 3, "male": 0.97, "female": 0.03}, "got 0.97"),
        ({"people": math.nan, "male": 0, "female": 0}, "got nan"),
        ({"people": math.inf, "male": 0, "female": 0}, "got inf"),
        ({"people": 2, "male": 2, "female": 1}, "at most 2 people with a label"),
    ],
)
def test_numbers_that_do_not_count_people_are_refused_by_name(scores, text):
    with pytest.raises(DetectorError, match="detector 'counter'") as raised:
        read("male", None, **scores)
    assert text in str(raised.value)


def test_a_detector_of_one_person_is_none_that_counts():
    class Lone:
        fingerprint, labels = "lone-1", GROUPS

        def detect(self, images):
            return []

    assert not isinstance(Lone(), CountsPeople)
