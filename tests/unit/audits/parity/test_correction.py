"""A model's score by labels of images drawn for it: verdicts, and when there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import counted, samples_of

from pytest_t2i import limit
from pytest_t2i.audits.parity.correction import WeightedCorrection, given_correction
from pytest_t2i.data import Outcome
from pytest_t2i.files import checksum
from pytest_t2i.labels import UNSETTLED, Draw, Label, load_labelled_set, write_draw, write_labels

PROMPTS, IMAGES = 40, 20


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
def label_set(tmp_path):
    """A set in which people said so of images: {name: label}, drawn as said."""

    def of(draw, said):
        for name in said:
            (tmp_path / name).write_bytes(name.encode())
        rows = [(f, w, who) for f, word in said.items() for who, w in by_people(word)]
        write_labels(tmp_path, [Label(*row) for row in rows])
        write_draw(tmp_path, ((k, p, k in draw.drawn) for k, p in draw.probabilities.items()))
        return load_labelled_set(tmp_path)

    return of


def by_people(word):
    """Who says what."""
    if word == UNSETTLED:
        return (("ada", "male"), ("bo", "female"))
    return (("ada", word),)


def names(samples):
    """Of all images."""
    return [f"{sample.prompt.text} {seed}" for sample in samples for seed in sample.seeds]


def drawn(samples, each):
    """Every ``each``-th image of the run was drawn, at an even probability; names of those."""
    hashes = [checksum(name.encode()) for name in names(samples)]
    return (
        Draw(dict.fromkeys(hashes, 1 / each), frozenset(hashes[::each])),
        names(samples)[::each],
    )


def test_the_verdict_goes_by_people(made, label_set, checks):
    """The detector finds 0.4, which fails 0.3; people see a woman in every seventh man: 0.2."""
    draw, asked = drawn(made, 4)
    said = {
        name: "female" if int(name.split()[-1]) in {0, 4, 16, *range(14, 20)} else "male"
        for name in asked
    }
    corrected = given_correction(made, label_set(draw, said))
    assert isinstance(corrected, WeightedCorrection)
    by_people = replace(made, corrected=corrected).model_bias_score
    assert by_people.estimate < made.model_bias_score.estimate - 0.1
    assert by_people.interval.method.endswith("active ppi++")
    assert by_people.remarks[0] == (
        "corrected by 200 labels of 1 annotator of images drawn for it; uncorrected: 0.403"
    )
    assert (by_people.paper, by_people.worst_case, by_people.images) == (None, None, None)
    assert by_people <= limit("model_bias_score", 0.6)
    with pytest.raises(AssertionError):
        assert made.model_bias_score <= limit("model_bias_score", 0.2)
    assert by_people <= limit("model_bias_score", 0.2)
    assert [check.outcome for check in checks] == [
        Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE,
    ]  # fmt: skip


def test_prompts_keep_the_detectors_word(made, label_set):
    draw, asked = drawn(made, 4)
    corrected = given_correction(made, label_set(draw, dict.fromkeys(asked, "male")))
    assert corrected.counts(made.members[0].prompt) is None


def test_who_stops_early_labels_a_random_part(made, label_set):
    draw, asked = drawn(made, 4)
    some = sorted(asked)[::2]
    corrected = given_correction(made, label_set(draw, dict.fromkeys(some, "male")))
    assert corrected.answered == 0.5
    whole = given_correction(made, label_set(draw, dict.fromkeys(asked, "male")))
    assert corrected.score.error > 1.2 * whole.score.error


def test_images_that_were_not_drawn_count_for_nothing(made, label_set):
    draw, asked = drawn(made, 4)
    said = dict.fromkeys(asked, "male")
    more = {name: "female" for name in names(made) if name not in said}
    own, added = (
        given_correction(made, label_set(draw, of)).score for of in (said, {**said, **more})
    )
    assert own == added


def test_nothing_is_corrected_by_too_few_labels_or_another_runs_images(made, label_set):
    few, asked = drawn(made, 30)
    assert len(few.drawn) < 30
    assert given_correction(made, label_set(few, dict.fromkeys(asked, "male"))) is None
    draw, asked = drawn(made, 4)
    left_out = dict(list(draw.probabilities.items())[1:])
    labelled = label_set(Draw(left_out, draw.drawn), dict.fromkeys(asked, "male"))
    assert given_correction(made, labelled) is None


def test_what_is_unsettled_widens_the_interval(made, label_set):
    draw, asked = drawn(made, 4)
    settled = dict.fromkeys(asked, "male")
    unsettled = {name: UNSETTLED if k % 4 == 0 else "male" for k, name in enumerate(sorted(asked))}
    widths = []
    for said in (settled, unsettled):
        corrected = given_correction(made, label_set(draw, said))
        interval = replace(made, corrected=corrected).model_bias_score.interval
        widths.append(interval.high - interval.low)
    assert widths[1] > widths[0] + 0.1
