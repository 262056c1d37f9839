"""What can be said before an image is made: which checks these images cannot decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_t2i.data import Limit
from pytest_t2i.runs.selection import Comparison, SelectedTest
from pytest_t2i.statistics import fewest_images
from pytest_t2i.statistics.power import Design, images_needed, prompt_power
from pytest_t2i.verdicts.limits_file import LimitFiles, checked

MOST = 0.5
"""Chance of a verdict that "decides most" stands for, of a perfectly even prompt."""


def limit_of(test: SelectedTest, comparison: Comparison, limits: LimitFiles) -> Limit:
    """What a comparison of a test will be judged by."""
    if comparison.bound is not None:
        return checked(comparison.name, comparison.bound, "given in the test")
    return limits.look_up(comparison.name, test.file)


def undecidable(tests: Iterable[SelectedTest], limits: LimitFiles, level: float) -> Iterator[str]:
    """A line for each test function whose prompts cannot be decided with the images asked for."""
    functions: dict[str, list[SelectedTest]] = {}
    for test in tests:
        functions.setdefault(test.function, []).append(test)
    for function, cases in functions.items():
        for comparison in cases[0].comparisons:
            if (comparison.fixture, comparison.metric) == ("sample", "prompt_bias_score"):
                bound = limit_of(cases[0], comparison, limits).bound
                yield from _too_few(function, cases, bound, level)


def _too_few(function: str, cases: list[SelectedTest], bound: float, level: float) -> Iterator[str]:
    images = max(test.planned for test in cases)
    fewest = fewest_images(bound, level, len(cases))
    known = [n for n in fewest if n is not None]
    if not known or images >= min(known):
        return
    design = Design(len(cases), level)
    most = images_needed(lambda n: prompt_power(0.0, bound, n, design), MOST)
    name = function.rpartition("::")[2]
    enough = f"; {most} let most even ones pass" if most else ""
    yield (
        f"with {images} images no prompt can be decided against {bound:g} ({name}): from "
        f"{min(known)} on some can{enough}. Undecided prompts are shown with where they lean"
    )
