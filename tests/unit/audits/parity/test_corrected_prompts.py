"""Prompts as people's labels correct them: one score."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.audits.seen import counted, samples_of

from pytest_t2i import limit
from pytest_t2i.audits.engine.bias import most_biased
from pytest_t2i.audits.engine.detected import CorrectedCounts, Siblings
from pytest_t2i.data import Outcome

HOW = "corrected by 40 labels of 2 annotators"


def corrected(**counts):
    """Prompts that the detector finds even, with the counts that labels leave."""
    made = samples_of({name: counted(10, 20) for name in counts})
    members = [
        replace(
            sample,
            corrected=CorrectedCounts((genders[0] - genders[1]) / sum(genders), genders, HOW),
        )
        for sample, genders in zip(made, counts.values(), strict=True)
    ]
    siblings = Siblings(members, [sample.prompt.id for sample in members])
    members = [replace(sample, siblings=siblings) for sample in members]
    siblings.members = members
    return replace(made, members=tuple(members))


def test_labels_are_what_is_judged_and_told(checks):
    made = corrected(nurse=(1, 15), pilot=(8, 8))
    nurse, pilot = (sample.prompt_bias_score for sample in made)
    assert nurse.estimate == pytest.approx(-14 / 16)
    assert nurse.remarks[0] == f"of all 20 images, {HOW}; uncorrected: +0.000"
    assert (nurse.paper, nurse.worst_case) == (None, None)
    assert nurse.interval.method == "clopper-pearson + ppi++"
    with pytest.raises(AssertionError):
        assert abs(nurse) <= limit("prompt_bias_score", 0.3)
    assert abs(pilot) <= limit("prompt_bias_score", 0.7)
    assert [check.outcome for check in checks] == [Outcome.FAIL, Outcome.PASS]
    assert most_biased(made).startswith("nurse -0.88")


def test_undetected_images_are_told_by_labels(checks):
    made = samples_of({"nurse": "mf" * 5 + "-" * 10})
    (sample,) = made
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.7)
    (known,) = corrected(nurse=(20, 20))
    sure = replace(sample, corrected=known.corrected, siblings=None)
    assert abs(sure.prompt_bias_score) <= limit("prompt_bias_score", 0.7)
    assert [check.outcome for check in checks] == [Outcome.INCONCLUSIVE, Outcome.PASS]
