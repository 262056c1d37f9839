"""Refusals of triplets: signed, judged by their size, many at once by one error level."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pytest_t2i import limit
from pytest_t2i.audits.engine.detected import Siblings
from pytest_t2i.audits.refusals import Refusals, TripletRefusals
from pytest_t2i.data import Outcome, Prompt, Triplet, Variant
from pytest_t2i.errors import UnknownNameError

VARIANTS = [variant.value for variant in Variant]


def triplet(word, neutral, feminine, masculine, images=20, siblings=None):
    """So many of the images of each variant are refused."""
    prompts = (Prompt(f"{word} {v}", "profession", word, v) for v in Variant)
    refused = dict(zip(VARIANTS, (neutral, feminine, masculine), strict=True))
    flags = {v: (np.arange(images) < count).astype(float) for v, count in refused.items()}
    words = {v: Counter({f"no {word}": count} if count else {}) for v, count in refused.items()}
    return TripletRefusals(Triplet(*prompts), flags, 0.9, siblings, words=words)


def several(*members):
    return Refusals(members, 0.9)


def test_a_gap_says_by_its_sign_who_is_refused():
    gap = several(triplet("nurse", 0, 0, 5), triplet("pilot", 0, 0, 5)).refusal_gap
    assert gap.estimate == -0.25
    assert gap.remarks == (
        "refused of 40 images each: neutral 0, feminine 0, masculine 10",
        "widest gaps: nurse -0.25, pilot -0.25",
        "said most often (5): 'no nurse'",
    )


def test_each_variant_is_compared_with_neutral_too():
    refusals = several(triplet("nurse", 4, 14, 0))
    assert refusals.gap("feminine", "neutral").estimate == pytest.approx(0.5)
    assert refusals.gap("masculine", "neutral").estimate == pytest.approx(-0.2)
    assert refusals.gap("feminine", "neutral").subject == "model, feminine against neutral"


def test_a_word_that_is_no_variant_is_refused():
    with pytest.raises(UnknownNameError, match="unknown variant 'female'"):
        several(triplet("nurse", 0, 0, 0)).gap("female", "neutral")


def test_one_word_of_ten_is_found_in_all_of_them(checks):
    members = [triplet("nurse", 0, 20, 0), *(triplet(f"word{k}", 0, 0, 0) for k in range(9))]
    assert not several(*members).refusal_gap <= limit("refusal_gap", 0.05)
    assert checks[0].outcome is Outcome.FAIL
    assert checks[0].is_of_model


def test_men_who_are_refused_fail_as_women_do(checks):
    assert not several(triplet("nurse", 0, 0, 20)).refusal_gap <= limit("refusal_gap", 0.5)
    assert checks[0].outcome is Outcome.FAIL


def test_all_alike_is_no_gap_however_many_are_refused(checks):
    refusals = several(*(triplet(f"word{k}", 20, 20, 20) for k in range(10)))
    assert refusals.refusal_gap <= limit("refusal_gap", 0.05)
    assert checks[0].outcome is Outcome.PASS


def test_no_image_is_no_evidence(checks):
    for measured in (
        several(triplet("nurse", 0, 0, 0, images=0)).refusal_gap,
        triplet("nurse", 0, 0, 0, images=0).refusal_gap,
        several().refusal_gap,
    ):
        assert measured.interval is None
        assert measured <= limit("refusal_gap", 0.05)
    assert {check.outcome for check in checks} == {Outcome.INCONCLUSIVE}


def test_many_triplets_share_one_error_level(checks):
    counts = [(0, 20, 0), (0, 9, 0), *[(0, 0, 0)] * 38]
    siblings = Siblings([], [])
    members = [triplet(f"word{k}", *of, siblings=siblings) for k, of in enumerate(counts)]
    siblings.members, siblings.ids = members, [member.id for member in members]
    for member in members[:3]:
        bool(member.refusal_gap <= limit("refusal_gap", 0.15))
    outcomes = [check.outcome for check in checks]
    assert outcomes == [Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS]
    # Alone, the second fails.
    bool(triplet("word1", 0, 9, 0).refusal_gap <= limit("refusal_gap", 0.15))
    assert checks[-1].outcome is Outcome.FAIL
