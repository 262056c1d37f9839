"""What WALS says of few images shown many times: docs/metrics/stereotypes.md.

A suite of its own, run by hand:

    pytest -s --t2i-model reference --t2i-images 100 tests/benchmarks/variety.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_t2i import metrics, stereotypes
from pytest_t2i.audits.variety.measure import variety_of

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
    print(
        f"\n{len(features)} images, {sample.male / (sample.male + sample.female):.0%} men: "
        f"WALS {plain.interval}, centred {centred.interval}"
    )
    count = len(features) // TIMES
    kinds = tenth_with_the_same_share(features @ direction > 0, count)
    repeated = np.repeat(features[kinds], TIMES, axis=0)
    shown = features @ direction > 0
    print(
        f"{count} of them {TIMES} times, {np.mean(shown[kinds]):.0%} instead of {shown.mean():.0%} "
        f"men by the encoder: WALS {metrics.wals(repeated, direction):.3f}, centred "
        f"{metrics.wals(repeated, direction, center=True):.3f}"
    )


def tenth_with_the_same_share(shown: np.ndarray, count: int) -> np.ndarray:
    """Places of so many images, of which as many in a hundred show the attribute as of all."""
    of_both = round(shown.mean() * count), count - round(shown.mean() * count)
    present, absent = np.flatnonzero(shown), np.flatnonzero(~shown)
    return np.concatenate([present[: of_both[0]], absent[: of_both[1]]])
