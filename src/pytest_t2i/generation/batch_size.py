"""How many images are made at a time: as given, or found by doubling and remembered.

On a GPU a larger batch makes more images per second until the device is busy or its memory full.
Where nobody says how large it is to be, the first batches of a run are of 1, 2, 4 and so on: all of
their images are kept. A picture does not change with it (docs/store.md says how exactly).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from pytest_t2i.data import GenerationSettings
from pytest_t2i.generation.store import Store

FIRST = 1
"""Images of the first batch on a device of which nothing is known."""
MOST = 128
"""Images that are tried together at most."""
GAIN = 1.05
"""A batch of twice as many images must make so many times as many per second, or it is too large:
less is lost in the noise, and the memory is better left to detectors."""
BATCHES = 2
"""Of each size; the faster one counts, as the first of a size waits for what is set up for it."""
PROCESSOR = "cpu"


class Found(NamedTuple):
    """What is known of one device and size of picture."""

    images: Annotated[int, msgspec.Meta(ge=1, le=MOST)]
    """Per batch."""
    is_settled: bool = False
    """Whether no larger batch is better; else a run ended before that was known."""


class Told(NamedTuple):
    """What a process found."""

    place: str
    found: Found


@dataclass(slots=True)
class BatchSize:
    """Images per batch, of all that make images with one model.

    >>> size = BatchSize(16, known={})
    >>> size.begin("a GPU", GenerationSettings(width=512, height=512)), size.now
    (None, 1)
    >>> for images, seconds in ((1, 9.0), (1, 1.0), (2, 1.0), (2, 1.0), (4, 2.0), (4, 2.0)):
    ...     size.made(images, seconds)
    >>> size.now, size.known["a GPU, 512 x 512"].is_settled
    (2, True)
    """

    now: int
    """Images of the next batch."""
    known: dict[str, Found] | None = None
    """Device and size of picture -> what is known of them; None where the size was given."""
    place: str = ""
    """Where images are being made; "" before."""
    _best: float = 0.0
    """Images per second with half of the present size."""
    _rates: list[float] = field(default_factory=list)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self, device: str, settings: GenerationSettings) -> None:
        """Images of these settings are made by a device; it is unknown as "", and then not tried.

        A processor keeps the size that there is: its cores are busy with few images.
        """
        size = f", {settings.width} x {settings.height}" if settings.width else ""
        place = f"{device}{size}"
        if self.known is None or device in ("", PROCESSOR) or place == self.place:
            return
        self.place, self._best = place, 0.0
        self._rates.clear()
        self.now = self.known.setdefault(place, Found(FIRST)).images

    def apart(self) -> BatchSize:
        """As large, or to be found, for images that take more; nothing of it is remembered."""
        return BatchSize(self.now, None if self.known is None else {})

    @property
    def told(self) -> Told | None:
        """What was found where images are being made; None where nothing is to be found."""
        return Told(self.place, self.known[self.place]) if self.known and self.place else None

    @property
    def is_open(self) -> bool:
        """Whether a larger batch may be better."""
        return self.told is not None and not self.told.found.is_settled

    def made(self, images: int, seconds: float) -> None:
        """A batch took so long; one that is smaller than asked, such as the last, says nothing."""
        with self._turn:
            if not self.is_open or images != self.now:
                return
            self._rates.append(images / max(seconds, 1e-9))
            if len(self._rates) < BATCHES:
                return
            best, self._best = self._best, max(self._rates)
            self._rates.clear()
            if self._best < GAIN * best:
                self._settle(images // 2)
            elif 2 * images > MOST:
                self._settle(images)
            else:
                self._note(Found(2 * images))

    def too_many(self, images: int) -> None:
        """So many did not fit into the device's memory."""
        with self._turn:
            while self.now >= images:
                self.now //= 2
            if self.told is not None:
                self._settle(self.now)

    def hear(self, told: Told | None) -> None:
        """What another process found."""
        if told is not None and self.known is not None:
            self.place, self.now = told.place, told.found.images
            self.known[told.place] = told.found

    @property
    def words(self) -> str:
        """For the reader of the report; "" where nothing is to be found."""
        if self.told is None:
            return ""
        how = "found by doubling" if self.told.found.is_settled else "so far, by doubling"
        return f"{self.now} images per batch ({how}, on {self.place})"

    def _settle(self, images: int) -> None:
        self._note(Found(images, is_settled=True))

    def _note(self, found: Found) -> None:
        self.now = found.images
        if self.known is not None:
            self.known[self.place] = found


@runtime_checkable
class FindsBatchSize(Protocol):
    """An executor that can find out how many images are best made at a time."""

    def find_batch_size(self, size: BatchSize) -> None:
        """Use this size from now on, and find it."""


def device_of(model: Any) -> str:
    """Name of the device of a model that tells it in its ``provenance``; "" of others.

    >>> class Model:
    ...     provenance = {"device_name": "NVIDIA H100"}
    >>> device_of(Model()), device_of(object())
    ('NVIDIA H100', '')
    """
    while not hasattr(model, "provenance") and hasattr(model, "model"):
        model = model.model  # within what is around it
    return str(dict(getattr(model, "provenance", {})).get("device_name", ""))


def remembered(store: Store, fingerprint: str, say: Callable[[str], None]) -> dict[str, Found]:
    """What a store knows of a model's batches; {} where it cannot be used, which is said."""
    name = _fact(fingerprint)
    try:
        return msgspec.convert(store.fact(name) or {}, dict[str, Found])
    except msgspec.ValidationError as error:
        say(f"what the store knows of images per batch is left out and found anew: {error}")
        return {}


def remember(store: Store, fingerprint: str, known: Mapping[str, Found]) -> None:
    """Have a store know it, beside what other processes found of other devices meanwhile."""
    before = remembered(store, fingerprint, lambda _: None)
    if before != (after := {**before, **known}):
        store.remember(_fact(fingerprint), msgspec.to_builtins(after))


def _fact(fingerprint: str) -> str:
    return f"batch:{fingerprint}"
