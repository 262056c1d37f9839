"""Whether another choice would turn a verdict."""

from __future__ import annotations

from dataclasses import replace

import fakes
import pytest

from pytest_t2i import audit
from pytest_t2i.audits.parity.recording import sensitivity
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
    shown, judged = (
        replace(samples, level=level).model_bias_score.interval for level in (0.95, 0.9)
    )
    bound = (shown.high + judged.high) / 2
    first = sensitivity([("colour", samples)], bound).variations[0]
    assert first.interval == shown
    assert judged.high < bound < first.interval.high
    assert first.outcome is Outcome.PASS
    assert audited.verdict("model_bias_score", bound).outcome is Outcome.PASS


@pytest.mark.parametrize("names", [("p(male)", "p(female)"), ("male", "female")])
def test_the_stricter_filter_counts_only_sure_labels(tmp_path, names):
    class Unsure(fakes.FakeDetector):
        def detect(self, images):
            # Men are labelled with certainty, women without.
            return [
                replace(found, scores=dict(zip(names, scores, strict=True)))
                for found in super().detect(images)
                for scores in [(0.95, 0.05) if found.label == "male" else (0.2, 0.8)]
            ]

    audited = audit(
        fakes.fair(LoadOptions()),
        *(f"a photo of one {word}" for word in WORDS),
        images=20,
        detector=Unsure(),
        progress=False,
        store=tmp_path,
    )
    found = sensitivity([("colour", audited.samples)], 0.5)
    stricter = {variation.choice: variation for variation in found.variations}[
        "labels with a probability of at least 0.9 only"
    ]
    assert stricter.interval.estimate > 0.9
    assert found.fragile
