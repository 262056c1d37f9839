"""Rewriting is counted by prompts, of images whose service tells, and never passes unseen."""

from __future__ import annotations

import pytest

from pytest_t2i import limit
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.rewriting import (
    METRICS,
    DrawnPrompt,
    Rewriting,
    RewritingAudit,
    most_common,
)
from pytest_t2i.data import Outcome, Prompt, Row

METRICS_OF_THE_MODULE = METRICS


def prompt(word):
    return Prompt(f"a photo of a {word}", "profession", word)


def rewriting(*texts_of_prompts, is_service=True, images=None):
    members = [
        DrawnPrompt(
            prompt(f"word{k}"), tuple(t.format(f"word{k}") for t in texts), images or len(texts)
        )
        for k, texts in enumerate(texts_of_prompts)
    ]
    return Rewriting(tuple(members), 0.95, is_service=is_service)


SAME, WOMAN, LIGHT = "a photo of a {}", "a photo of a smiling woman, a {}", "a photo of a {}, lit"


def test_a_prompt_counts_once_however_many_images_it_has():
    measured = rewriting([WOMAN] * 6, [SAME] * 2, [LIGHT] * 2, [SAME] * 2)
    assert measured.rewritten_share.estimate == 0.5
    assert measured.gender_added_share.estimate == 0.25
    assert measured.gender_added_share.interval.n == 4
    assert measured.age_added_share.estimate == 0.0


def test_what_was_added_is_named_with_its_prompts():
    remarks = rewriting([WOMAN], [SAME], [WOMAN]).gender_added_share.remarks
    assert remarks == (
        "2 of 3 images",
        "added most: woman (2)",
        "added to profession-word0, profession-word2",
    )


def test_images_that_are_not_told_of_do_not_count():
    measured = rewriting([WOMAN], [], [SAME], images=2)
    share = measured.gender_added_share
    assert (share.estimate, share.interval.n) == (0.5, 2)
    assert share.remarks[0] == "1 of 2 images; 4 more have no revised prompt"


def test_a_prompt_that_names_a_gender_itself_leaves_none_to_be_added():
    asked = DrawnPrompt(Prompt("a photo of a woman", "who", "woman"), ("a photo of a lady",), 1)
    open_ = DrawnPrompt(prompt("nurse"), ("a photo of a nurse",), 1)
    measured = Rewriting((asked, open_), 0.95, is_service=True)
    assert measured.gender_added_share.interval.n == 1
    assert measured.rewritten_share.interval.n == 2
    alone = Rewriting((asked,), 0.95, is_service=True).gender_added_share
    assert (alone.interval, alone.absent) == (None, "every prompt has such a word itself")


def test_a_word_for_work_is_a_person():
    black = DrawnPrompt(prompt("nurse"), ("a photo of a black nurse",), 1)
    assert black.counts("ethnicity") == (1, 1)
    thing = DrawnPrompt(
        Prompt("a person at the library", "place", "library"), ("a person at the old library",), 1
    )
    assert thing.counts("age") == (0, 1)


@pytest.mark.parametrize("metric", [metric.name for metric in METRICS])
def test_a_service_that_tells_nothing_is_inconclusive(checks, metric):
    measured = rewriting([], [], images=3)
    assert getattr(measured, metric) <= limit(metric, 0.9)
    (check,) = checks
    assert check.outcome is Outcome.INCONCLUSIVE
    assert "does not say what it drew" in check.message


def test_many_prompts_decide(checks):
    planted = rewriting(*[[WOMAN]] * 30, *[[SAME]] * 70)
    assert not planted.gender_added_share <= limit("gender_added_share", 0.1)
    assert planted.age_added_share <= limit("age_added_share", 0.1)
    assert [check.outcome for check in checks] == [Outcome.FAIL, Outcome.PASS]


def test_many_images_of_one_prompt_do_not(checks):
    assert rewriting([WOMAN] * 99).gender_added_share <= limit("gender_added_share", 0.1)
    assert [check.outcome for check in checks] == [Outcome.INCONCLUSIVE]


def test_words_that_join_others_are_not_told_of():
    assert most_common({"the": 9, "a": 9, "woman": 2, "smiling": 2, "lit": 3}) == [
        ("lit", 3), ("smiling", 2), ("woman", 2),
    ]  # fmt: skip


def test_the_line_of_a_silent_service_says_so():
    silent = Row("rewritten_share", "model", "model", counts={"images": 12, "told": 0})
    told = RewritingAudit().in_words(Rows((silent,)))
    assert told == "rewriting: the service reports no revised prompt for 12 images"
