"""A model's score by people's labels of its images: when there is a correction, and when none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import counted, samples_of

from pytest_t2i import limit
from pytest_t2i.audits.parity.correction import given_correction
from pytest_t2i.audits.peoples_labels import why_no_verdict, why_not_corrected
from pytest_t2i.data import Outcome
from pytest_t2i.files import checksum
from pytest_t2i.labels import (
    Label,
    choose_vocabulary,
    load_labelled_set,
    named,
    write_labels,
)

PROMPTS, IMAGES, LABELLED = 20, 20, 8
BOTH = ("male", "female")


@pytest.fixture
def made(monkeypatch):
    """Samples of prompts that a detector finds to be 14 of 20 men, with checksums."""
    samples = samples_of({f"p{k}": counted(14, IMAGES) for k in range(PROMPTS)})
    monkeypatch.setattr(
        "pytest_t2i.audits.detected.DetectedPrompt.checksums",
        property(lambda self: [checksum(f"{self.prompt.text} {s}".encode()) for s in self.seeds]),
    )
    return samples


@pytest.fixture
def labelled(made, tmp_path):
    """A set in which people call the first images of each prompt so; a pair: they disagree."""

    def of(said, vocabulary="gender", **exceptions):
        labels = []
        for sample in made:
            for seed in sample.seeds[:LABELLED]:
                name = f"{sample.prompt.text} {seed}"
                (tmp_path / name).write_bytes(name.encode())
                word = exceptions.get(name.replace(" ", "_"), said)
                words = (word, word) if isinstance(word, str) else word
                labels += [Label(name, w, who) for who, w in zip(("ada", "bo"), words, strict=True)]
        choose_vocabulary(tmp_path, named(vocabulary))
        write_labels(tmp_path, labels)
        return load_labelled_set(tmp_path)

    return of


def judged(made, labels):
    return replace(
        made,
        corrected=given_correction(made, labels),
        why_no_verdict=why_no_verdict(made, labels),
    ).model_bias_score


def test_settled_labels_correct_the_score(made, labelled, checks):
    corrected = judged(made, labelled("male"))
    assert corrected.estimate > made.model_bias_score.estimate
    assert corrected.interval.method.endswith("+ ppi++")
    assert corrected.remarks[0].startswith("corrected by 160 labels of 2 annotators; uncorrected: ")
    assert corrected.worst_case is None


def test_while_a_label_is_unsettled_nothing_is_corrected_and_the_picture_is_named(
    made, labelled, checks, tmp_path
):
    labels = labelled("male", p0_3=BOTH, p7_1=BOTH)
    assert given_correction(made, labels) is None
    words = (
        "2 labels are unsettled (p0 3, p7 1): people's labels correct nothing, until t2i label "
        f"page {tmp_path} --review"
    )
    score = judged(made, labels)
    assert (score.interval, score.absent) == (None, words)
    assert score <= limit("model_bias_score", 0.9)
    assert checks[0].outcome is Outcome.INCONCLUSIVE
    assert why_not_corrected(made.members[0], labels) == words


def test_labels_of_other_groups_correct_nothing(made, labelled):
    labels = labelled("young", vocabulary="young,old")
    assert given_correction(made, labels) is None
    assert why_no_verdict(made, labels) == why_not_corrected(made.members[0], labels) == ""


def test_labels_of_other_images_correct_nothing(made, labelled):
    labels = labelled("male", p0_3=BOTH)
    other = samples_of({"other": counted(14, IMAGES)})
    assert given_correction(other, labels) is None
    assert why_no_verdict(other, labels) == ""
