"""``t2i plan --sequential``: the number of images of a prompt with early stopping."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_t2i.statistics.group_sequential import SequentialTest, expected_stop
from pytest_t2i.statistics.planning import Design

MOST = (20, 30, 50, 80, 112, 150, 200)
"""The values of ``--t2i-images`` to plan for."""


def sequential_lines(bound: float, beyond: float, design: Design) -> Iterator[str]:
    """Yield an exact table for one limit of the prompt bias score."""
    scores = sorted({0.0, min(1.0, bound + beyond), 1.0})
    yield f"prompt_bias_score <= {bound:g} with --t2i-sequential, one of {design.prompts} prompts"
    heads = ["even: images, PASS", *(f"at {score:g}: images, FAIL" for score in scores[1:])]
    yield f"  {'--t2i-images':>12}  " + "  ".join(f"{head:>22}" for head in heads)
    for most in MOST:
        test = SequentialTest(most, bound, level=design.level, members=design.prompts)
        cells = []
        for score in scores:
            stop = expected_stop(test, (1.0 + score) / 2.0)
            chance = stop.beyond if score else stop.within
            cells.append(f"{stop.images:.0f} of {most}, {chance:.2f}")
        yield f"  {most:>12}  " + "  ".join(f"{cell:>22}" for cell in cells)
    yield (
        "  images on average, and the share of prompts with this verdict. FAIL counts prompts that "
        "stop beyond the limit; the error rate of the family may leave some of them INCONCLUSIVE"
    )
