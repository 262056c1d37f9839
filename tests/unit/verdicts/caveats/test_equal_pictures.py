"""Units with too many equal pictures may show anything: the others decide at another bound."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Evidence
from pytest_t2i.metrics.info import INFO
from pytest_t2i.verdicts.caveats.equal_pictures import whatever_some_show

MODEL = INFO["model_bias_score"]


def test_the_others_are_asked_at_the_bounds_that_leave_the_verdict_to_them():
    asked = []

    def of_others(bound, level):
        asked.append((bound, level))
        return Evidence(0.01, 0.02)

    evidence, named = whatever_some_show(of_others, ["nurse", "pilot"], 6, MODEL)
    found = evidence(0.3, 0.95)
    # A quarter of the units may show 0, the best for a FAIL to hold, or 1.
    bounds, levels = zip(*asked, strict=True)
    assert bounds == pytest.approx(((0.3 - 0.0) / 0.75, (0.3 - 0.25) / 0.75))
    assert levels == (0.95, 0.95)
    assert (found.beyond, found.within, found.labelled) == (0.01, 0.02, None)
    assert named == "nurse, pilot"


def test_evidence_of_labelled_images_is_kept_where_it_differs():
    evidence, _ = whatever_some_show(
        lambda *_: Evidence(0.2, 0.3, labelled=(0.1, 0.15)), ["nurse"], 9, MODEL
    )
    found = evidence(0.3, 0.95)
    assert (found.beyond, found.within) == (0.2, 0.3)
    assert found.labelled == (0.1, 0.15)


def test_nothing_is_said_where_some_can_turn_it_or_none_is_left():
    evidence, _ = whatever_some_show(lambda *_: Evidence(0.0, 0.0), ["nurse"], 1, MODEL)
    assert evidence(0.6, 0.95) == Evidence(1.0, 0.0)
    alone, _ = whatever_some_show(lambda *_: Evidence(0.0, 0.0), ["nurse"], 0, MODEL)
    assert alone(0.5, 0.95) == Evidence(1.0, 1.0)
