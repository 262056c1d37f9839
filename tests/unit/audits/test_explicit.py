"""Whom prompts show that name a gender: shares, gap, and what undetected images leave open."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_t2i import limit
from pytest_t2i.audits.engine.contrast import Unit
from pytest_t2i.audits.engine.rows import Rows, chart_of
from pytest_t2i.audits.explicit import Explicit, ExplicitAudit, check_detector
from pytest_t2i.data import Interval, Outcome, Prompt, Row, Triplet, Variant
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.metrics.info import INFO
from pytest_t2i.sections import Paragraph, RowChart, Table


def triplet(word, feminine, masculine, images=20, undetected=0):
    """So many images of each variant show whom it asks for; the last ones have no label."""
    prompts = (Prompt(f"{word} {v.value}", "job", word, v.value) for v in Variant)
    drawn = {}
    for variant, count in (("feminine", feminine), ("masculine", masculine)):
        drawn[variant] = (np.arange(images) < count).astype(float)
        if undetected:
            drawn[variant][-undetected:] = np.nan
    return Unit(Triplet(*prompts), drawn, 0.95)


def several(*members, **more):
    return Explicit(members, 0.95, **more)


def test_shares_by_hand():
    made = several(triplet("nurse", 20, 15), triplet("pilot", 18, 20))
    women, men = (made.drawn_share(variant) for variant in ("feminine", "masculine"))
    assert (women.estimate, men.estimate) == (38 / 40, 35 / 40)
    assert women.remarks == (
        "feminine: female in 38 of 40, 0 undetected; masculine: male in 35 of 40, 0 undetected",
        "followed least: pilot 0.90",
    )
    assert men.remarks[1] == "followed least: nurse 0.75"
    assert women.subject == "model, feminine"
    assert women.worst_case is None


def test_the_gap_says_by_its_sign_who_is_drawn_less():
    made = several(triplet("nurse", 10, 20))
    assert made.drawn_gap.estimate == -0.5
    assert made.drawn_gap.subject == "model"
    assert several(triplet("nurse", 20, 10)).drawn_gap.estimate == 0.5


def test_an_unknown_variant_is_told():
    with pytest.raises(UnknownNameError, match="variant 'female'"):
        several(triplet("nurse", 20, 20)).drawn_share("female")


def test_verdicts(checks):
    made = several(*(triplet(f"job{k}", 12, 20) for k in range(10)))
    assert not made.drawn_share("feminine") >= limit("drawn_share", 0.9)
    assert made.drawn_share("masculine") >= limit("drawn_share", 0.9)
    assert not abs(made.drawn_gap) <= limit("drawn_gap", 0.1)
    assert [check.outcome for check in checks] == [Outcome.FAIL, Outcome.PASS, Outcome.FAIL]
    assert all(check.is_of_model for check in checks)


def test_undetected_images_may_show_anybody(checks):
    """18 of 18 are as asked, two in twenty are not known."""
    made = several(*(triplet(f"job{k}", 18, 18, undetected=2) for k in range(10)))
    share = made.drawn_share("feminine")
    assert share.estimate == 1.0
    assert (share.worst_case.low, share.worst_case.high) == (0.9, 1.0)
    assert share >= limit("drawn_share", 0.93)
    assert made.drawn_gap.estimate == 0.0
    assert abs(made.drawn_gap) <= limit("drawn_gap", 0.05)
    assert [check.outcome for check in checks] == [Outcome.INCONCLUSIVE] * 2
    alike = replace(made, alike=0.2)
    assert alike.drawn_share("feminine") >= limit("drawn_share", 0.93)
    assert abs(alike.drawn_gap) <= limit("drawn_gap", 0.05)
    assert [check.outcome for check in checks[2:]] == [Outcome.PASS] * 2


def test_no_gap_that_undetected_images_could_undo_fails(checks):
    made = several(*(triplet(f"job{k}", 8, 10, undetected=10) for k in range(10)))
    assert made.drawn_gap.estimate == pytest.approx(-0.2)
    assert abs(made.drawn_gap) <= limit("drawn_gap", 0.05)
    assert checks[0].outcome is Outcome.INCONCLUSIVE


def test_nothing_seen_is_no_evidence():
    made = several(triplet("nurse", 0, 0, images=3, undetected=3))
    assert made.drawn_share("feminine").interval is None
    assert made.drawn_gap.interval is None


def test_a_detector_of_ages_is_refused():
    seen = SimpleNamespace(labels=lambda ref: ("young", "old"))
    context = SimpleNamespace(detectors=("ages",), observations=seen)
    with pytest.raises(ConfigurationError, match="labels male and female, got 'ages' with young"):
        check_detector(context)


def row(variant, value, drawn, labelled, subject="", about="triplet", name="nurse"):
    counts = {"drawn": drawn, "labelled": labelled}
    if about == "model":
        facts = {"detector": "clip"}
        return Row(
            "drawn_share", f"model, {variant}", about, value, {"arms": variant}, facts, counts
        )
    return Row("drawn_share", subject, about, value, {"variant": variant}, {"name": name}, counts)


ROWS = Rows((
    row("feminine", Interval(0.7, 0.6, 0.8, 0.95, "test", 40), 28, 40, about="model"),
    row("masculine", None, 0, 0, about="model"),
    Row("drawn_gap", "model", "model", Interval(-0.2, -0.3, -0.1, 0.95, "test", 40),
        {"arms": "feminine minus masculine"}),
    row("feminine", 0.7, 14, 20, "job-nurse"), row("masculine", None, 0, 0, "job-nurse"),
    row("feminine", 1.0, 20, 20, "job-pilot", name="pilot"),
))  # fmt: skip


def test_the_report_shows_shares_gap_and_the_least_followed():
    (section,) = ExplicitAudit().sections(ROWS, None)
    (told,) = [b for b in section.blocks if isinstance(b, Paragraph)]
    assert told.text == (
        "drawn as asked: feminine 0.700 [0.600, 0.800], masculine no label; gap -0.200 "
        "[-0.300, -0.100], women less often"
    )
    (table,) = [b for b in section.blocks if isinstance(b, Table)]
    assert table.rows == (("nurse", "feminine", 14, 20),)
    charts = [chart_of(b, ROWS, INFO, ()) for b in section.blocks if isinstance(b, RowChart)]
    assert [len(chart.bars) for chart in charts] == [2, 1]
    assert [(chart.low, chart.high) for chart in charts] == [(0.0, 1.0), (-0.5, 0.5)]
    assert set(ROWS.series()) == {"drawn_share/feminine", "drawn_gap/feminine minus masculine"}
    assert ROWS.table()[1][3][:5] == (
        "drawn_share", "triplet", "job-nurse", None, "feminine",
    )  # fmt: skip
