"""The plan of a hunt: axes, budget and bounds, and the images that its steps cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

from pytest_t2i import T2IError
from pytest_t2i.prompts import Axis, Part

from pytest_t2i_hunt.search.counts import BOTH, Counts, GroupCounts, Seen

GENDER = ("male", "female")
LOOKS = (4, 8, 16, 32)
"""Numbers of images at which a combination is judged; only promising ones have the next look."""
PART_LOOKS = (8, 16, 32)
"""Numbers of images at which a part is judged while a combination is shrunk."""
HELD_OUT = 1000
"""Number of the first held-out image of a prompt; the search takes smaller numbers."""
GRID_IMAGES = 20
"""Images per prompt of the full grid with which a hunt is compared: the paper's protocol."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a hunt.

    Raises T2IError for a repeated axis, or a budget below ``smallest_budget``.
    """

    axes: tuple[Axis, ...]
    budget: int
    """Largest number of images, held-out ones included."""
    words: int = 3
    """Largest number of words of a combination."""
    beyond: float = 0.5
    """Absolute prompt bias score beyond which a combination is biased."""
    confirm: int = 30
    """Number of held-out images per finding."""
    confidence: float = 0.95
    seed: int = 0
    at_once: int = 8
    """Number of combinations that are drawn and measured together."""
    alike: float = 0.0
    """Share of a finding's held-out images up to which undetected ones are taken to be like the
    others."""
    groups: tuple[str, ...] = GENDER
    """Groups of the detector."""

    def __post_init__(self) -> None:
        repeated = [axis.name for axis in self.axes]
        if not repeated or len(set(repeated)) < len(repeated):
            raise T2IError(f"a hunt takes one or more axes, each once, got {repeated}")
        if self.budget < self.smallest_budget:
            raise T2IError(
                f"a hunt through {len(self.pool)} words needs at least {self.smallest_budget} "
                f"images (a first look at each word, one finding shrunk and confirmed), got "
                f"{self.budget}"
            )

    @property
    def nothing(self) -> Seen:
        """The counts of a combination without images."""
        return Counts() if self.groups == GENDER else GroupCounts((0,) * len(self.groups))

    @property
    def directions(self) -> tuple[int, ...]:
        """The directions of bias: towards men (1), towards women (-1), or the groups' numbers."""
        return BOTH if self.groups == GENDER else tuple(range(1, len(self.groups) + 1))

    def direction(self, towards: int) -> str:
        """Return the label of a direction, which is shown too often."""
        return self.groups[towards - 1 if towards > 0 else 1]

    @property
    def pool(self) -> list[Part]:
        """All words, axis by axis."""
        return [Part(axis, concept) for axis in self.axes for concept in axis.concepts]

    @property
    def most_words(self) -> int:
        """The largest number of words of a combination; each axis gives at most one."""
        return min(self.words, len(self.axes))

    @property
    def combinations(self) -> int:
        """The number of combinations, single words included."""
        sizes = [len(axis.concepts) for axis in self.axes]
        return sum(
            math.prod(some)
            for n in range(1, self.most_words + 1)
            for some in combinations(sizes, n)
        )

    @property
    def full_grid(self) -> int:
        """The number of images of all combinations at 20 each."""
        return self.combinations * GRID_IMAGES

    @property
    def shrinking(self) -> int:
        """The largest number of images that the shrinking of one combination takes."""
        return PART_LOOKS[-1] * sum(range(2, self.most_words + 1))

    @property
    def smallest_budget(self) -> int:
        """The fewest images with which something can be found and confirmed."""
        return LOOKS[0] * len(self.pool) + LOOKS[-1] + self.shrinking + self.confirm
