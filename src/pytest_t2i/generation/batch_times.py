"""Seconds per image of a model in this process.

The first batch of each thread includes what is done once, such as first uses of libraries. The
later batches give the pace, which the store keeps for each device and each setting.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from pytest_t2i.data import FactKind, GenerationSettings
from pytest_t2i.generation.store import Store

ENOUGH_BATCHES = 3
"""Fewest batches after the first that give a pace."""
Seconds = Annotated[float, msgspec.Meta(gt=0)]


@dataclass(slots=True)
class BatchTimes:
    """Times of the batches of one model in this process.

    >>> times = BatchTimes()
    >>> for seconds in (9.0, 2.0, 2.0, 2.0):
    ...     times.add(4, seconds)
    >>> times.pace
    0.5
    """

    lanes: int = 1
    """Number of threads that make batches side by side."""
    _of_threads: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    """Thread -> images and seconds of each of its batches."""

    def add(self, images: int, seconds: float) -> None:
        """Add a batch of the present thread, which no other thread adds to."""
        self._of_threads.setdefault(threading.get_ident(), []).append((images, seconds))

    @property
    def pace(self) -> float | None:
        """Seconds per image of all lanes together; None with too few batches."""
        threads = list(self._of_threads.values())
        later = [seconds / images for batches in threads for images, seconds in batches[1:]]
        if len(later) < ENOUGH_BATCHES:
            return None
        return statistics.median(later) / self.lanes


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


def paces(store: Store, fingerprint: str) -> dict[str, float]:
    """Seconds per image of a model by device and settings; {} without any that can be read."""
    try:
        return msgspec.convert(store.fact(FactKind.PACE.of(fingerprint)) or {}, dict[str, Seconds])
    except msgspec.ValidationError:
        return {}


def remember_pace(store: Store, fingerprint: str, measured: Mapping[str, float]) -> None:
    """Store paces, beside those of other devices and settings."""
    after = {**paces(store, fingerprint), **measured}
    store.remember(FactKind.PACE.of(fingerprint), after)
