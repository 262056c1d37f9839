"""Whether another choice would turn a verdict."""

from __future__ import annotations

from dataclasses import replace

import fakes

from pytest_t2i import audit
from pytest_t2i.audits.parity.sensitivity import sensitivity
from pytest_t2i.data import Outcome
from pytest_t2i.protocols import LoadOptions

WORDS = ("nurse", "pilot", "judge", "baker", "chef", "singer")


def test_the_first_line_is_judged_as_the_verdict_is(tmp_path):
    """Which may be wrong on either side as often as the interval that is shown on both."""
    audited = audit(
        fakes.fair(LoadOptions()),
        *(f"a photo of one {word}" for word in WORDS),
        images=20,
        detector=fakes.FakeDetector(),
        progress=False,
        store=tmp_path,
    )
    samples = audited.samples
    shown, judged = (replace(samples, level=level).interval("corrected") for level in (0.95, 0.9))
    bound = (shown.high + judged.high) / 2
    first = sensitivity([("colour", samples)], bound).variations[0]
    assert first.interval == shown
    assert judged.high < bound < first.interval.high
    assert first.outcome is Outcome.PASS
    assert audited.verdict("model_bias_score", bound).outcome is Outcome.PASS
