"""What WALS says of few images shown many times; the figures of docs/metrics/variety.md.

A suite of its own, run by hand:

    pytest -s --t2i-model reference --t2i-images 100 tests/benchmarks/variety.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_t2i import metrics, stereotypes
from pytest_t2i.audits.variety import variety_of

(IRANIAN_MAN,) = (s for s in stereotypes if s.id == "nationality-iranian-man")
PEOPLE, MAN = IRANIAN_MAN.prompt, IRANIAN_MAN.attribute
TIMES = 10


@pytest.mark.t2i([PEOPLE], observe=["features"], attributes=[MAN])
def test_variety(sample: Any) -> None:
    """Plain and centred; and of the first tenth of the images, each as often as makes as many."""
    plain, centred = (variety_of(sample, MAN, "text", center=center) for center in (False, True))
    features, direction = plain.features, plain.vector
    assert direction is not None
    assert plain.interval is not None
    assert centred.interval is not None
    repeated = np.repeat(features[: len(features) // TIMES], TIMES, axis=0)
    print(
        f"\n{len(features)} images, {sample.male / (sample.male + sample.female):.0%} men: "
        f"{plain.interval.estimate:.3f}, centred {centred.interval.estimate:.3f}; "
        f"the first {len(features) // TIMES} {TIMES} times: {metrics.wals(repeated, direction):.3f}"
    )
