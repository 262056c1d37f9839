"""What was measured so far, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_t2i.search.counts import Counts, Measure, Parts, Seen
from pytest_t2i.search.plan import HELD_OUT


@dataclass(slots=True)
class Ledger:
    """Counts of every combination that was looked at; no image is asked for twice."""

    measure: Measure
    budget: int
    spent: int = 0
    counts: dict[Parts, Seen] = field(default_factory=dict)
    held_out: dict[Parts, Seen] = field(default_factory=dict)
    nothing: Seen = field(default_factory=Counts)
    """What no image shows."""

    @property
    def left(self) -> int:
        """Images that may still be made."""
        return self.budget - self.spent

    def images(self, parts: Parts) -> int:
        """Images of a combination that the search has seen."""
        return self.counts[parts].images if parts in self.counts else 0

    def of(self, parts: Parts) -> Seen:
        """What the search has seen of a combination."""
        return self.counts.get(parts, self.nothing)

    def cost(self, wanted: Mapping[Parts, int]) -> int:
        """Further images it takes to have that many of each."""
        return sum(max(0, images - self.images(parts)) for parts, images in wanted.items())

    def look(self, wanted: Mapping[Parts, int]) -> None:
        """Have at least that many images of each."""
        missing = {
            parts: range(self.images(parts), images)
            for parts, images in wanted.items()
            if images > self.images(parts)
        }
        if not missing:
            return
        self._pay(sum(map(len, missing.values())))
        for parts, counts in self.measure(missing).items():
            # All of a hunt are of one kind.
            self.counts[parts] = self.of(parts) + counts  # type: ignore[operator]

    def hold_out(self, wanted: list[Parts], images: int) -> None:
        """Images of each that had no part in the search."""
        if not wanted:
            return
        self._pay(images * len(wanted))
        numbers = range(HELD_OUT, HELD_OUT + images)
        self.held_out |= self.measure(dict.fromkeys(wanted, numbers))

    def _pay(self, images: int) -> None:
        if images > self.left:
            raise ValueError(f"the budget of {self.budget} images leaves {self.left}, got {images}")
        self.spent += images
