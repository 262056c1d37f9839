"""Counts, duration and cost of the images and detections that a run made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_t2i.data import Amount, Count, Money


@dataclass(slots=True)
class Work:
    """Counts, duration and cost of a run."""

    planned: Count = 0
    most: Count = 0
    """Largest number of images that the tests could have needed with early stopping; else 0."""
    made: Count = 0
    detected: Count = 0
    refused: Count = 0
    """Number of images that the model refused."""
    unreadable: Count = 0
    """Number of images without a picture that can be read."""
    seconds: Amount = 0.0
    seconds_per_image: Amount = 0.0
    """Seconds per image, without the first batch where there are more, as that one includes
    loading; 0 where nothing was made."""
    is_ready_made: bool = False
    """Whether the images existed already: those counted as made were read."""
    price: str = ""
    """Price of one image, such as "0.04 USD"; "" where it is not known."""
    paid: Count = 0
    """Number of requests that were, or may have been, charged."""
    judged: Count = 0
    """Number of answers of a judge about pictures, second ones about a tenth of them included."""
    judge_price: str = ""
    """Price of a judged picture; "" where it is not known."""
    judge_paid: Count = 0
    """Number of requests to a judge that were, or may have been, charged."""
    probed: Count = 0
    """Number of requests that probed the seeds; not counted in ``made``."""
    faults: dict[str, Count] = field(default_factory=dict)
    """Kind of failure -> how often a model behind HTTP failed, repeated requests included."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user, such as a batch size halved for lack of memory."""

    @property
    def spent(self) -> Money | None:
        """Cost of the charged requests, of judges as well; None where no price is known."""
        costs = [
            price.times(count)
            for price, count in (
                (_read(self.price), self.paid),
                (_read(self.judge_price), self.judge_paid),
            )
            if price is not None
        ]
        return Money(sum(c.amount for c in costs), costs[0].currency) if costs else None  # type: ignore[arg-type]

    @property
    def spent_on_seeds(self) -> Money | None:
        """Cost of probing the seeds; included in ``spent``."""
        price = self._price
        return None if price is None else price.times(self.probed)

    @property
    def saved(self) -> Money | None:
        """Cost that images from the store saved."""
        price = self._price
        return None if price is None else price.times(max(self.planned - self.made, 0))

    @property
    def _price(self) -> Money | None:
        return _read(self.price)

    def add(self, other: Work) -> None:
        """Add the counts of another process of the same run."""
        self.planned = max(self.planned, other.planned)
        self.most = max(self.most, other.most)
        self.seconds = max(self.seconds, other.seconds)
        self.seconds_per_image = max(self.seconds_per_image, other.seconds_per_image)
        self.made += other.made
        self.is_ready_made = self.is_ready_made or other.is_ready_made
        self.detected += other.detected
        self.refused += other.refused
        self.unreadable += other.unreadable
        self.probed += other.probed
        self.judged += other.judged
        self.judge_price = self.judge_price or other.judge_price
        self.judge_paid = max(self.judge_paid, other.judge_paid)
        self.price = self.price or other.price
        # These counters are shared: each process read the total so far.
        kinds = {**self.faults, **other.faults}
        self.faults = {k: max(self.faults.get(k, 0), other.faults.get(k, 0)) for k in kinds}
        self.paid = max(self.paid, other.paid)
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))


def _read(price: str) -> Money | None:
    try:
        return Money.read(price)
    except ValueError:
        return None


@dataclass
class ImagePace:
    """Measures seconds per image, without the first batch, which includes loading."""

    clock: Callable[[], float] = time.monotonic
    _images: int = 0
    _seconds: float = 0.0
    _last: float = 0.0
    _is_first: bool = True

    def begin(self) -> None:
        self._last, self._is_first = self.clock(), True

    def batch(self, images: int) -> float:
        """Count so many finished images, and return seconds per image so far."""
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
