"""Seconds per image: as given, or as measured by a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.history import last_that_made_images, seconds_per_image
from pytest_t2i.runs.read_run import read_run

HISTORY = Path("reports/t2i/history")
"""The default folder of the small records of runs."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The seconds per image, and their source."""

    seconds: float
    source: str
    """The source in words, such as "as reference took on 2026-11-22"."""

    def __str__(self) -> str:
        return f"{self.seconds:.2g} s an image ({self.source})"


def rate(
    seconds: float | None, run: Path | None, folder: Path = Path(), model: str | None = None
) -> Rate | None:
    """Return the seconds per image: given, of a run.json, or of the last run in the history."""
    if seconds is not None:
        return Rate(seconds, "as given")
    if run is not None:
        measured = seconds_per_image(read_run(run))
        if measured is None:
            raise ConfigurationError(
                f"{run} made no image (all came from the store): give --seconds-per-image"
            )
        return Rate(measured, f"as in {run}")
    last = last_that_made_images(folder / HISTORY, model)
    if last is None:
        return None
    return Rate(last.seconds_per_image, f"as {last.model} took on {last.created[:10]}")
