"""What a run had to do, and how fast it went."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_t2i.data import Amount, Count, Money


@dataclass(slots=True)
class Work:
    """What a run had to do."""

    planned: Count = 0
    most: Count = 0
    """With early stopping: images that the tests might have asked for; else 0."""
    made: Count = 0
    detected: Count = 0
    refused: Count = 0
    seconds: Amount = 0.0
    seconds_per_image: Amount = 0.0
    """Of the batches after the first, which waits for what is loaded, where there are more; 0 where
    nothing was made."""
    is_ready_made: bool = False
    """Whether the images were made elsewhere: what is called made was read."""
    price: str = ""
    """Of one image, as in "0.04 USD"; "" where it is not known."""
    paid: Count = 0
    """Requests that were, or may have been, charged."""
    probed: Count = 0
    """Requests that tried whether seeds hold; their pictures are not among those made."""
    canary: Count = 0
    """Requests that asked whether the model is that of the baseline; not among those made."""
    faults: dict[str, Count] = field(default_factory=dict)
    """How often a model behind HTTP failed, by kind; what was asked for again among it."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, such as a batch halved for want of memory."""

    @property
    def spent(self) -> Money | None:
        """What those requests cost; None where no price is known."""
        price = self._price
        return None if price is None else price.times(self.paid)

    @property
    def spent_on_seeds(self) -> Money | None:
        """What it cost to try whether seeds hold; part of what was spent."""
        price = self._price
        return None if price is None else price.times(self.probed)

    @property
    def spent_on_canary(self) -> Money | None:
        """What it cost to ask whether the model has changed; part of what was spent."""
        price = self._price
        return None if price is None else price.times(self.canary)

    @property
    def saved(self) -> Money | None:
        """What the images would have cost that came from the store."""
        price = self._price
        return None if price is None else price.times(max(self.planned - self.made, 0))

    @property
    def _price(self) -> Money | None:
        try:
            return Money.read(self.price)
        except ValueError:
            return None

    def add(self, other: Work) -> None:
        """Add what another process of the same run did."""
        self.planned = max(self.planned, other.planned)
        self.most = max(self.most, other.most)
        self.seconds = max(self.seconds, other.seconds)
        self.seconds_per_image = max(self.seconds_per_image, other.seconds_per_image)
        self.made += other.made
        self.is_ready_made = self.is_ready_made or other.is_ready_made
        self.detected += other.detected
        self.refused += other.refused
        self.probed += other.probed
        self.canary += other.canary
        self.price = self.price or other.price
        # Each saw what all of them together had spent and met by then.
        kinds = {**self.faults, **other.faults}
        self.faults = {k: max(self.faults.get(k, 0), other.faults.get(k, 0)) for k in kinds}
        self.paid = max(self.paid, other.paid)
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))


@dataclass
class Pace:
    """How long an image takes: by the batches after the first, which waits for what is loaded."""

    clock: Callable[[], float] = time.monotonic
    _images: int = 0
    _seconds: float = 0.0
    _last: float = 0.0
    _is_first: bool = True

    def begin(self) -> None:
        """A stretch of batches begins."""
        self._last, self._is_first = self.clock(), True

    def batch(self, images: int) -> float:
        """So many images more are done; seconds per image by now."""
        now = self.clock()
        took, self._last = now - self._last, now
        was_first, self._is_first = self._is_first, False
        if was_first and self._images:
            return self._seconds / self._images
        if was_first:
            return took / max(1, images)
        self._images += images
        self._seconds += took
        return self._seconds / max(1, self._images)
