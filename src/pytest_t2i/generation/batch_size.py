"""The batch size: given by the user, or found by trying and stored.

On a GPU a larger batch makes more images per second until the device is busy or its memory full.
Where no batch size is given, the first batches of a run have 1, 4 and 16 images, three of each, all
of which are kept; 64 follow where 16 made far more per second than 4, as small pictures do. Sizes
so far apart differ by more than the noise of two batches, so that every run finds the same size. A
picture does not depend on its batch (docs/store.md says how exactly).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from pytest_t2i.data import FactKind, GenerationSettings
from pytest_t2i.generation.batch_times import BatchTimes, place_of, remember_pace
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import TextToImage
from pytest_t2i.sections.words import several

FIRST = 1
"""Size of the first batch on a device without a known batch size."""
STEP = 4
"""Ratio of a batch size to the one tried before."""
USUAL = 16
"""Batch size up to which a gain is enough: after it, 63 images have been made."""
MOST = 64
"""Largest batch size that is tried."""
GAIN, LARGE_GAIN = 1.05, 1.5
"""Factors by which a step must raise the images per second. The first: else the batch is too large,
as detectors need the memory. The second: a batch larger than usual is tried."""
BATCHES = 3
"""Number of batches tried of each size. The first does not count: it includes set-up, and what is
done with the pictures of the batch before."""
PROCESSOR = "cpu"


class FoundSize(NamedTuple):
    """The batch size found for one device and picture size."""

    images: Annotated[int, msgspec.Meta(ge=1, le=MOST)]
    """Images per batch."""
    is_settled: bool = False
    """Whether the search has ended; else a run ended before the search did."""


PlacedSize = tuple[str, FoundSize]
"""A place (device and picture size), and the batch size that a process found for it."""


@dataclass(slots=True)
class BatchSize:
    """The batch size shared by everything that makes images with one model.

    >>> size = BatchSize(16, known={})
    >>> size.begin("a GPU", GenerationSettings(width=512, height=512)), size.now
    (None, 1)
    >>> for images, seconds in ((1, 1.0), (4, 1.0), (16, 4.0)):
    ...     for _ in range(3):
    ...         size.made(images, seconds)
    >>> size.now, size.known["a GPU, 512 x 512"].is_settled
    (4, True)
    """

    now: int
    """Size of the next batch."""
    known: dict[str, FoundSize] | None = None
    """Place (device and picture size) -> batch size found; None where the user gave one."""
    place: str = ""
    """Device and picture size of the present images; "" before the first."""
    times: BatchTimes = field(default_factory=BatchTimes)
    """Times of all batches made in this process."""
    has_shrunk: bool = False
    """Whether a batch did not fit into the device's memory."""
    _best: float = 0.0
    """Images per second with the batch size tried before."""
    _seconds: list[float] = field(default_factory=list)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self, device: str, settings: GenerationSettings) -> None:
        """Begin to make images of these settings on a device; "" stands for an unknown one.

        No other size is tried on an unknown device or on a processor, whose cores are busy with
        few images.
        """
        size = f", {settings.width} x {settings.height}" if settings.width else ""
        place = f"{device}{size}"
        if self.known is None or device in ("", PROCESSOR) or place == self.place:
            return
        self.place, self._best = place, 0.0
        self._seconds.clear()
        self.now = self.known.setdefault(place, FoundSize(FIRST)).images

    def apart(self) -> BatchSize:
        """A separate batch size for images that need more memory; it is not stored."""
        return BatchSize(self.now, None if self.known is None else {})

    @property
    def found(self) -> PlacedSize | None:
        """The batch size found for the present place; None where none is searched for."""
        return (self.place, self.known[self.place]) if self.known and self.place else None

    @property
    def is_open(self) -> bool:
        """Whether the search for a larger batch size goes on."""
        return self.found is not None and not self.found[1].is_settled

    def made(self, images: int, seconds: float) -> None:
        """Record the seconds from the end of one batch to the end of the next.

        So the time in which the device waits for storing and detecting counts. The search ignores
        batches smaller than ``now``.
        """
        with self._turn:
            self.times.add(images, seconds)
            if not self.is_open or images != self.now:
                return
            self._seconds.append(seconds)
            if len(self._seconds) < BATCHES:
                return
            rate = (BATCHES - 1) * images / max(sum(self._seconds[1:]), 1e-9)
            best, self._best = self._best, rate
            self._seconds.clear()
            if self._best < GAIN * best:
                self._settle(max(images // STEP, 1))
            elif images >= MOST or (images >= USUAL and self._best < LARGE_GAIN * best):
                self._settle(images)
            else:
                self._note(FoundSize(min(STEP * images, MOST)))

    def too_many(self, images: int) -> None:
        """Reduce the size: a batch of so many images did not fit into the device's memory."""
        with self._turn:
            self.has_shrunk = True
            while self.now >= images:
                self.now //= 2
            if self.found is not None:
                self._settle(self.now)

    def hear(self, found: PlacedSize | None) -> None:
        """Take over the batch size that another process found."""
        if found is not None and self.known is not None:
            self.place, size = found
            self.now, self.known[self.place] = size.images, size

    @property
    def words(self) -> str:
        """A sentence for the report; "" where no batch size is searched for."""
        if self.found is None:
            return ""
        how = "found by trying" if self.found[1].is_settled else "so far, by trying"
        return f"{several(self.now, 'image')} per batch ({how}, on {self.place})"

    def _settle(self, images: int) -> None:
        self._note(FoundSize(images, is_settled=True))

    def _note(self, finding: FoundSize) -> None:
        self.now = finding.images
        if self.known is not None:
            self.known[self.place] = finding


@runtime_checkable
class FindsBatchSize(Protocol):
    """An executor that can search for the best batch size."""

    def find_batch_size(self, size: BatchSize) -> None:
        """Use this batch size from now on, and search for the best one."""


def device_of(model: Any) -> str:
    """A model's ``provenance["device_name"]``; "" where there is none.

    >>> class Model:
    ...     provenance = {"device_name": "NVIDIA H100"}
    >>> device_of(Model()), device_of(object())
    ('NVIDIA H100', '')
    """
    while not hasattr(model, "provenance") and hasattr(model, "model"):
        model = model.model  # the model inside a wrapper
    return str(dict(getattr(model, "provenance", {})).get("device_name", ""))


def remembered(store: Store, fingerprint: str, say: Callable[[str], None]) -> dict[str, FoundSize]:
    """A model's batch sizes in the store; {} with a note where they cannot be read."""
    name = FactKind.BATCH.of(fingerprint)
    try:
        return msgspec.convert(store.fact(name) or {}, dict[str, FoundSize])
    except msgspec.ValidationError as error:
        say(f"the batch size in the store cannot be read and is searched for anew: {error}")
        return {}


def remember(store: Store, fingerprint: str, known: Mapping[str, FoundSize]) -> None:
    """Store batch sizes, beside those that other processes stored for other devices."""
    before = remembered(store, fingerprint, lambda _: None)
    if before != (after := {**before, **known}):
        store.remember(FactKind.BATCH.of(fingerprint), msgspec.to_builtins(after))


def remember_speed(
    store: Store,
    handle: NamedComponent[TextToImage],
    size: BatchSize,
    settings: GenerationSettings,
) -> None:
    """Store the batch size that was found, and the pace of a local model."""
    if size.found is not None:
        remember(store, handle.fingerprint, dict([size.found]))
    model: Any = handle.loaded
    if model is not None and not handle.lists_images and (pace := size.times.pace) is not None:
        remember_pace(store, handle.fingerprint, {place_of(device_of(model), settings): pace})
