"""The warning before any image is made: prompts that these images cannot decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.audits.context import AskedTest
from pytest_t2i.statistics.families import fewest_images
from pytest_t2i.statistics.planning import Design, images_needed, prompt_power

MOST = 0.5
"""Chance of a PASS for a perfectly even prompt that the warning calls "most"."""


def too_few(cases: Sequence[AskedTest], bound: float, level: float) -> Iterator[str]:
    """Yield a line where none of the prompts of a test function can be decided."""
    images = max(test.planned for test in cases)
    fewest = fewest_images(bound, level, len(cases))
    known = [n for n in fewest if n is not None]
    if not known or images >= min(known):
        return
    design = Design(len(cases), level)
    most = images_needed(lambda n: prompt_power(0.0, bound, n, design), MOST)
    name = cases[0].function.rpartition("::")[2]
    enough = f"; {most} let most even prompts pass" if most else ""
    yield (
        f"with {images} images no prompt can be decided against {bound:g} ({name}): from "
        f"{min(known)} on some can{enough}. Inconclusive prompts show the likely verdict"
    )
