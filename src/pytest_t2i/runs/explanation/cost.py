"""What an explanation costs: images of a hybrid, and the number of hybrids."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import scipy

from pytest_t2i.errors import T2IError
from pytest_t2i.runs.explanation.prompts import worsened_prompts
from pytest_t2i.runs.explanation.sides import (
    DETECTOR,
    DEVICE,
    LIBRARIES,
    component_table,
    side_of_baseline,
    side_of_run,
)
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.verdicts.baseline_file import read_baseline

SPENT = (0.6, 0.25, 0.15)
"""Share of the error level that each stage spends; the sum is 1 (alpha spending)."""
POWER = 0.97
"""Power for the whole growth that the images of the first stage have."""
FEWEST, MOST = 20, 240
"""Fewest and most images of a hybrid at the first stage."""
LEVEL = 0.05
"""Largest probability of a wrong name, unless another one is chosen."""
LARGEST_FILE = 2**26
"""Largest baseline in bytes that is read for a hint."""


def announced_images(growth: float, components: int, level: float, spread: float = 1.2) -> int:
    """Return the images of a hybrid that show a growth of the mean value at the first stage.

    ``spread`` is the standard deviation of the difference of two pictures of one seed.

    >>> announced_images(1.2, 3, 0.05) < announced_images(0.6, 3, 0.05)
    True
    """
    tail = level * SPENT[0] / max(components, 1)
    reach = float(scipy.stats.norm.isf(tail)) + float(scipy.stats.norm.ppf(POWER))
    return int(min(MOST, max(FEWEST, np.ceil((reach * spread / max(growth, 1e-3)) ** 2))))


def _planned_hybrids(components: int) -> int:
    """Return how many hybrids are made where one component is the culprit.

    The old and the new model; of several components each one restored; of three and more the
    culprit alone, which is the hybrid of two with the other one restored.
    """
    return 2 + (components if components > 1 else 0) + (1 if components > 2 else 0)  # noqa: PLR2004


def images_of_prompt(growth: float, components: int, level: float, prompts: int) -> int:
    """Return the images per prompt of the first stage.

    >>> images_of_prompt(1.0, 2, 0.05, 6)
    4
    """
    return max(2, -(-announced_images(growth, components, level) // prompts))


def planned_images(growth: float, components: Collection[str], level: float, prompts: int) -> int:
    """Return the images of a search in which one component is the culprit."""
    judging = [name for name in components if name == DETECTOR]
    hybrids = _planned_hybrids(len(components)) - len(judging)
    return max(1, hybrids) * images_of_prompt(growth, len(components), level, prompts) * prompts


def images_to_explain(record: RunRecord) -> int | None:
    """Return about how many images an explanation of a run takes; None where it cannot be told."""
    file = Path(record.baseline.file) if record.baseline else None
    try:
        if file is None or not file.is_file() or file.stat().st_size > LARGEST_FILE:
            return None
        baseline = read_baseline(file)
    except (T2IError, OSError, ValueError):
        return None
    grown = worsened_prompts(record, baseline)
    sides = component_table(side_of_baseline(baseline), side_of_run(record), grown.texts)
    names = [c.name for c in sides if c.changed and c.name not in (LIBRARIES, DEVICE)]
    if not (names and grown.prompts):
        return None
    return planned_images(grown.growth, names, LEVEL, len(grown.prompts))
