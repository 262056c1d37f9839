"""Distance of counted labels from a reference."""

from __future__ import annotations

import pytest
from unit.audits.seen import samples_of

from pytest_t2i import limit
from pytest_t2i.data import Outcome
from pytest_t2i.prompts import read_reference

MEN = "[default]\nmale = 0.75\nfemale = 0.25\n"


@pytest.fixture
def men(tmp_path):
    (tmp_path / "men.toml").write_text(f'source = "a made-up table"\n{MEN}')
    return read_reference(str(tmp_path / "men.toml"))


def test_a_prompt_that_follows_the_reference_is_at_no_distance(men):
    (nurse,) = samples_of({"nurse": "mmmf" * 5})
    distance = nurse.total_variation_distance(men)
    assert distance.estimate == pytest.approx(0.0)
    assert distance.remarks == (
        "shares: male 75 % (75 % expected), female 25 % (25 % expected)",
        "expected by: a made-up table",
    )


def test_half_the_sum_of_the_differences(men):
    (nurse,) = samples_of({"nurse": "ffff--"})
    distance = nurse.total_variation_distance(men)
    assert distance.estimate == pytest.approx(0.75)
    assert distance.images == 4
    assert distance.worst_case.undetected == pytest.approx(1 / 3)


def test_prompts_of_a_test_share_one_error_level(men, checks):
    for sample in samples_of({"far": "f" * 20, "near": "mmmf" * 5, "none": "--"}):
        bool(sample.total_variation_distance(men) <= limit("total_variation_distance", 0.3))
    assert [check.outcome for check in checks] == [
        Outcome.FAIL,
        Outcome.PASS,
        Outcome.INCONCLUSIVE,
    ]
    assert "none of 2 images has a label" in checks[2].message


def test_a_model_is_the_mean_over_its_prompts(men):
    made = samples_of({"far": "f" * 20, "near": "mmmf" * 5})
    distance = made.total_variation_distance(men)
    assert distance.interval.low <= 0.375 <= distance.interval.high
    assert "furthest: far: male 0 % (75 % expected)" in distance.remarks[1]


def test_even_shares_are_half_the_bias_score():
    made = samples_of({"nurse": "f" * 16 + "m" * 4, "pilot": "m" * 12 + "f" * 8})
    half = made.total_variation_distance(read_reference("uniform")).interval
    whole = made.model_bias_score.interval
    assert (2 * half.low, 2 * half.high) == pytest.approx((whole.low, whole.high))
