"""Seconds per image: as given, of a recorded run, or as the store's paces say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.data import FactKind
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.batch_times import paces
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.index import NAME as INDEX
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.settings import Settings


@dataclass(frozen=True, slots=True)
class Rate:
    """The seconds per image, and their source."""

    seconds: float
    source: str
    """The source in words, such as "as reference takes on cpu, 64 x 64"."""

    def __str__(self) -> str:
        return f"{self.seconds:.2g} s an image ({self.source})"


def rate(seconds: float | None, run: Path | None, model: str | None = None) -> Rate | None:
    """Return the seconds per image: given, of a run.json, or the largest of the store's paces."""
    if seconds is not None:
        return Rate(seconds, "as given")
    if run is not None:
        work = read_run(run).done
        if not work.made or not work.seconds:
            raise ConfigurationError(
                f"{run} made no image (all came from the store): give --seconds-per-image"
            )
        return Rate(work.seconds_per_image or work.seconds / work.made, f"as in {run}")
    return max(_measured(Settings().store, model), key=lambda pace: pace.seconds, default=None)


def _measured(folder: Path, model: str | None) -> list[Rate]:
    """Return the paces in a store of a model, or of all its models; [] where there is no store."""
    if not (folder / INDEX).is_file():
        return []
    store = Store(folder)
    try:
        prefix = FactKind.MODEL.of("")
        return [
            Rate(seconds, f"as {name} takes on {place}")
            for fact, name in store.facts(prefix).items()
            if model in (None, name)
            for place, seconds in paces(store, fact.removeprefix(prefix)).items()
        ]
    finally:
        store.close()
