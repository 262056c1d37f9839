"""A model's score by people's labels of its images: when there is a correction, and when none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import counted, samples_of

from pytest_t2i import limit
from pytest_t2i.audits.engine.peoples_labels import why_no_verdict, why_not_corrected
from pytest_t2i.audits.parity.correction import given_correction
from pytest_t2i.data import Outcome
from pytest_t2i.files import checksum
from pytest_t2i.labels import (
    Label,
    choose_vocabulary,
    load_labelled_set,
    named,
    write_labels,
)
from pytest_t2i.statistics import corrected_model_bias_score

PROMPTS, IMAGES, LABELLED = 20, 20, 8
BOTH = ("male", "female")


@pytest.fixture
def made(monkeypatch):
    """Samples of prompts that a detector finds to be 14 of 20 men, with checksums."""
    # By what the detector says, the first images of a prompt are a random part of all.
    samples = samples_of({f"p{k}": "mmfmmfmmffmmfmmmfmmm" for k in range(PROMPTS)})
    monkeypatch.setattr(
        "pytest_t2i.audits.engine.detected.DetectedPrompt.checksums",
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


DETECTED = {"lawyer": (8, 2), "doctor": (7, 3), "pilot": (7, 3), "nurse": (2, 8), "chef": (5, 5)}
PEOPLE = {"lawyer": "mmmmf", "doctor": "mmmfm", "pilot": "mmmmf", "nurse": "fffff", "chef": "mmmff"}


@pytest.fixture
def audited(monkeypatch, tmp_path):
    """Ten images of each of five words; people label half of each, or all as the detector does."""
    monkeypatch.setattr(
        "pytest_t2i.audits.engine.detected.DetectedPrompt.checksums",
        property(lambda self: [checksum(f"{self.prompt.text} {s}".encode()) for s in self.seeds]),
    )
    # People agree on all five of "lawyer", and call one man of "pilot" a woman.
    said = {
        word: {"lawyer": "mmmmf", "pilot": "mmmmm"}.get(word, PEOPLE[word]) for word in DETECTED
    }
    letters = {}
    for word, (men, women) in DETECTED.items():
        rest = "m" * (men - said[word].count("m")) + "f" * (women - said[word].count("f"))
        letters[word] = said[word] + rest
    samples = samples_of(letters)

    def by(labels):
        rows = []
        for sample in samples:
            for seed, letter in zip(sample.seeds, labels(sample), strict=False):
                name = f"{sample.prompt.text} {seed}"
                (tmp_path / name).write_bytes(name.encode())
                rows.append(Label(name, {"m": "male", "f": "female"}[letter], "ada"))
        choose_vocabulary(tmp_path, named("gender"))
        write_labels(tmp_path, rows)
        correction = given_correction(samples, load_labelled_set(tmp_path))
        members = [replace(s, corrected=correction.of_prompt(s.prompt)) for s in samples]
        return correction, {s.prompt.name: s.prompt_bias_score.estimate for s in members}, samples

    return by


def word_of(sample):
    return next(word for word in DETECTED if word in sample.prompt.text)


def test_where_labels_and_detector_agree_the_score_is_the_detectors(audited):
    _, scores, _ = audited(lambda sample: PEOPLE[word_of(sample)])
    assert scores["lawyer"] == pytest.approx(0.6)
    assert scores["pilot"] < 0.4


def test_the_corrected_total_lies_between_its_parts(audited):
    correction, _, samples = audited(lambda sample: PEOPLE[word_of(sample)])
    parts = [replace(samples, members=samples.members[a:b]) for a, b in ((0, 1), (1, 5))]
    total, *of_parts = (
        replace(part, corrected=correction).model_bias_score.estimate for part in (samples, *parts)
    )
    assert min(of_parts) <= total <= max(of_parts)


def test_where_all_is_labelled_the_score_is_peoples(audited):
    def people(sample):
        detected = "".join(d.label[0] for d in sample.detections)
        return PEOPLE[word_of(sample)] + detected[5:]

    correction, scores, samples = audited(people)
    shares = {word_of(sample): people(sample).count("m") / 10 for sample in samples}
    assert scores == pytest.approx({word: 2 * share - 1 for word, share in shares.items()})
    men = [round(10 * share) for share in shares.values()]
    by_people = corrected_model_bias_score(men, [10 - m for m in men])
    judged = replace(samples, corrected=correction).model_bias_score
    assert judged.estimate == pytest.approx(by_people)
