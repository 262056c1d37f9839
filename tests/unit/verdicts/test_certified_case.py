"""What a certificate makes of a verdict: a range or none, and a verdict that holds or hangs."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Interval, Limit, Outcome
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.detector_errors import ErrorRates
from pytest_t2i.verdicts.caveats.certificate import CertifiedCase, certified_case
from pytest_t2i.verdicts.certificate import (
    Certificate,
    GroupErrors,
    Split,
    read_certificate,
    write_certificate,
)
from pytest_t2i.verdicts.judge_measurement import verdict_of
from pytest_t2i.verdicts.measurement import Measurement


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.6), (0.5, 0.5), (None, None)])
def test_a_range_or_none_is_said_in_words(low, high):
    words = CertifiedCase(low, high, Outcome.PASS, hangs=True, basis="all ages").words
    assert ("0.500" in words) == (low is not None)
    assert words.endswith("the verdict depends on the detector")


SCORE = INFO["model_bias_score"]


@pytest.mark.parametrize(
    ("low", "high", "most_errors", "outcome"),
    [
        (0.05, 0.10, 0.01, Outcome.PASS),
        (0.70, 0.80, 0.01, Outcome.FAIL),
        (0.05, 0.10, 0.30, Outcome.INCONCLUSIVE),
        (0.70, 0.80, 0.40, Outcome.FAIL),
        (0.50, 0.60, 0.40, Outcome.INCONCLUSIVE),
        (0.05, 0.10, 0.60, Outcome.INCONCLUSIVE),
    ],
)
def test_a_verdict_holds_at_small_errors_only(low, high, most_errors, outcome):
    measurement = Measurement(
        SCORE, "model", Interval((low + high) / 2.0, low, high, 0.95, "test", 20)
    )
    limit, errors = Limit(SCORE.name, 0.3, "a reason"), (0.0, most_errors)
    verdict = verdict_of(measurement, limit, 0.95)
    rates = (ErrorRates(errors, errors), "all images")
    case = certified_case(measurement, verdict, rates, 0.95)
    assert case.outcome is outcome
    assert case.hangs is (outcome is Outcome.INCONCLUSIVE)
    assert case.low <= low
    assert case.high >= high


def test_a_certificate_is_read_as_written_and_its_names_are_readable(tmp_path):
    errors = GroupErrors({"male": {"male": 9, "female": 1}, "female": {"female": 10}})
    everything = Split((), {"all": errors})
    region = Split(("region",), {"Zürich": errors})
    certificate = Certificate("fake", "f", "labels", 20, "2026-11-27", (everything, region))
    write_certificate(certificate, tmp_path / "c.json")
    assert read_certificate(tmp_path / "c.json") == certificate
    assert "Zürich" in (tmp_path / "c.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.9999), (0.0002, 1.0), (-0.5, 1.0)])
@pytest.mark.parametrize("hangs", [True, False])
def test_errors_that_allow_every_score_reassure_nobody(low, high, hangs):
    words = CertifiedCase(low, high, Outcome.INCONCLUSIVE, hangs=hangs, basis="all ages").words
    assert "nothing is known of its errors" in words
    assert "the verdict" not in words


def test_errors_that_leave_a_score_open_are_no_reassurance_but_a_range():
    words = CertifiedCase(0.01, 0.98, Outcome.INCONCLUSIVE, hangs=False, basis="all ages").words
    assert words.endswith("0.010 to 0.980, if alike in every prompt")
