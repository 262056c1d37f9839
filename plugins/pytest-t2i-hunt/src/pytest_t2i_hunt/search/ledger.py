"""The ledger of a hunt: the counts of all combinations, and the images spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_t2i_hunt.search.counts import Counts, Measure, Parts, Seen
from pytest_t2i_hunt.search.plan import HELD_OUT


@dataclass(slots=True)
class Ledger:
    """The counts of every combination with images; no image is requested twice."""

    measure: Measure
    budget: int
    spent: int = 0
    counts: dict[Parts, Seen] = field(default_factory=dict)
    held_out: dict[Parts, Seen] = field(default_factory=dict)
    nothing: Seen = field(default_factory=Counts)
    """Counts of a combination without images."""

    @property
    def left(self) -> int:
        """The number of images that may still be made."""
        return self.budget - self.spent

    def images(self, parts: Parts) -> int:
        """Return the number of a combination's images in the search."""
        return self.counts[parts].images if parts in self.counts else 0

    def of(self, parts: Parts) -> Seen:
        """Return the counts of a combination in the search."""
        return self.counts.get(parts, self.nothing)

    def cost(self, wanted: Mapping[Parts, int]) -> int:
        """Return the number of further images that ``look`` would make."""
        return sum(max(0, images - self.images(parts)) for parts, images in wanted.items())

    def look(self, wanted: Mapping[Parts, int]) -> None:
        """Make images until each combination has at least this many.

        Raises ValueError if the budget does not suffice.
        """
        missing = {
            parts: range(self.images(parts), images)
            for parts, images in wanted.items()
            if images > self.images(parts)
        }
        if not missing:
            return
        self._pay(sum(map(len, missing.values())))
        for parts, counts in self.measure(missing).items():
            # A hunt has either Counts or GroupCounts.
            self.counts[parts] = self.of(parts) + counts  # type: ignore[operator]

    def hold_out(self, wanted: list[Parts], images: int) -> None:
        """Make this many held-out images of each combination, which the search does not use.

        Raises ValueError if the budget does not suffice.
        """
        if not wanted:
            return
        self._pay(images * len(wanted))
        numbers = range(HELD_OUT, HELD_OUT + images)
        self.held_out |= self.measure(dict.fromkeys(wanted, numbers))

    def _pay(self, images: int) -> None:
        if images > self.left:
            raise ValueError(f"the budget of {self.budget} images leaves {self.left}, got {images}")
        self.spent += images
