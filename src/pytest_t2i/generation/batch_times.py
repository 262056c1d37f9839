"""Seconds per image of a model in this process, and what compiling it costs and saves.

The first batch of each thread includes what is done once: first uses of libraries and, with
``--t2i-compile``, the compilation. The later batches give the pace, which the store keeps for each
device and each setting, so that a run with compiled blocks can be compared with one without them.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import msgspec

from pytest_t2i.data import FactKind, GenerationSettings
from pytest_t2i.generation.store import Store
from pytest_t2i.sections.words import several

ENOUGH_BATCHES = 3
"""Fewest batches after the first that give a pace."""
UNMEASURED = (
    f"what it cost is not known, as this process made fewer than {ENOUGH_BATCHES} batches after "
    "the first"
)
"""What a run says that measured no pace: too few images, or made in other processes."""


class ModelPace(NamedTuple):
    """How fast a model makes images.

    >>> ModelPace(0.5, 40.0).words_of_compiling(ModelPace(1.0, 2.0))
    'compiling took 38 s; a picture takes 0.5 s, 1 s without it: it pays after 76 pictures'
    """

    seconds: Annotated[float, msgspec.Meta(gt=0)]
    """Seconds per image, of all threads together."""
    first: Annotated[float, msgspec.Meta(ge=0)]
    """Seconds that the first batch, and preparing to compile, took longer than later batches."""

    def after(self, seconds: float) -> ModelPace:
        """The pace of a model that took so many seconds more before the first batch."""
        return self._replace(first=self.first + seconds)

    def words_of_compiling(self, plain: ModelPace | None) -> str:
        """What compiling cost, and the pictures after which that is saved."""
        if plain is None:
            return (
                f"the first batch took {self.first:.2g} s longer than later ones, and a picture "
                f"takes {self.seconds:.2g} s. Run once without --t2i-compile, with at least "
                f"{ENOUGH_BATCHES} batches more than the first, to know after how many pictures "
                "it pays"
            )
        cost, gain = max(self.first - plain.first, 0.0), plain.seconds - self.seconds
        pays = "it does not pay"
        if gain > 0:
            pays = f"it pays after {several(max(round(cost / gain), 1), 'picture')}"
        return (
            f"compiling took {cost:.2g} s; a picture takes {self.seconds:.2g} s, "
            f"{plain.seconds:.2g} s without it: {pays}"
        )


@dataclass(slots=True)
class BatchTimes:
    """Times of the batches of one model in this process.

    >>> times = BatchTimes()
    >>> for seconds in (9.0, 2.0, 2.0, 2.0):
    ...     times.add(4, seconds)
    >>> times.pace
    ModelPace(seconds=0.5, first=7.0)
    """

    lanes: int = 1
    """Number of threads that make batches side by side."""
    _of_threads: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    """Thread -> images and seconds of each of its batches."""

    def add(self, images: int, seconds: float) -> None:
        """Add a batch of the present thread, which no other thread adds to."""
        self._of_threads.setdefault(threading.get_ident(), []).append((images, seconds))

    @property
    def pace(self) -> ModelPace | None:
        """The pace of all lanes together; None with too few batches."""
        threads = list(self._of_threads.values())
        later = [seconds / images for batches in threads for images, seconds in batches[1:]]
        if len(later) < ENOUGH_BATCHES:
            return None
        each = statistics.median(later)
        firsts = [seconds - images * each for (images, seconds), *_ in threads]
        return ModelPace(each / self.lanes, max(0.0, *firsts))


def place_of(device: str, settings: GenerationSettings) -> str:
    """What a pace holds for: the device, and the settings on which the time depends.

    >>> place_of("cpu", GenerationSettings(steps=4, width=64, height=64))
    'cpu, 4 steps, 64 x 64'
    """
    parts = [device]
    if settings.steps is not None:
        parts.append(f"{settings.steps} steps")
    if settings.width is not None:
        parts.append(f"{settings.width} x {settings.height}")
    if settings.guidance is not None:
        parts.append(f"guidance {settings.guidance:g}")
    return ", ".join(parts)


def paces(store: Store, fingerprint: str) -> dict[str, ModelPace]:
    """The paces of a model in the store; {} where there are none that can be read."""
    try:
        return msgspec.convert(
            store.fact(FactKind.PACE.of(fingerprint)) or {}, dict[str, ModelPace]
        )
    except msgspec.ValidationError:
        return {}


def remember_pace(store: Store, fingerprint: str, measured: Mapping[str, ModelPace]) -> None:
    """Store paces, beside those of other devices and settings."""
    after = {**paces(store, fingerprint), **measured}
    store.remember(FactKind.PACE.of(fingerprint), msgspec.to_builtins(after))
