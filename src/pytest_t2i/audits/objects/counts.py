"""Counts of objects in the images of each variant of triplets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.counts import widest_of
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import FoundObject, Prompt, Triplet, Variant
from pytest_t2i.generation.plan import Need
from pytest_t2i.metrics import similarities

PEOPLE = frozenset(
    ("person", "people", "woman", "women", "man", "men", "female", "male", "girl", "boy")
)
"""The words that Wu leaves out of objects (section 6.3.1) and calls human words (Definition 2)."""
VARIANTS = tuple(variant.value for variant in Variant)
NEUTRAL, FEMININE, MASCULINE = ALL = range(3)
UNPAIRED = (
    "images of a seed share no noise: the endpoint draws every picture anew, whatever its seed"
)
GENDERS = (FEMININE, MASCULINE)
LEAST = 10
"""Occurrences, over the variants compared, that an object must reach (Wu 5.3: 5, 10, 20)."""


def needs(
    context: AuditContext, test: AskedTest, observe: frozenset[str] = frozenset()
) -> Iterator[Need]:
    """Yield the need for the three variants from the same seeds, for the object detector."""
    finders = frozenset({context.finder})
    for three in test.selection.triplets:
        seeds = context.seeds(three.neutral, test.images)
        for prompt in three:
            yield Need(prompt, seeds, finders=finders, observe=observe)


class Member(NamedTuple):
    """A triplet with its seeds."""

    triplet: Triplet
    seeds: tuple[int, ...]


class CountTable(NamedTuple):
    """Occurrences of each object."""

    counts: np.ndarray
    """[units, variants, objects]: units are triplets, or the seeds of a single one."""
    names: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class CountedTriplets:
    """The objects in the images of triplets, and their counts."""

    members: tuple[Member, ...]
    finder: str
    observations: Observations
    level: float
    seed: int
    least: int
    """Smallest number of occurrences of an object over the variants compared (Wu: 5, 10 or 20)."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """Objects that are expected to differ -> reason; they are shown, but not judged."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.members)} triplets by {self.finder}>"

    @property
    def is_paired(self) -> bool:
        """Whether the units are pairs: triplets always, seeds unless the model ignores them."""
        return len(self.members) != 1 or not self.observations.draws_anew()

    @property
    def unpaired(self) -> tuple[str, ...]:
        """A remark where the model ignores seeds, so that images are no pairs; else ()."""
        return (UNPAIRED,) if self.members and self.observations.draws_anew() else ()

    def seen(self, prompt: Prompt, seeds: Sequence[int]) -> list[tuple[FoundObject, ...]]:
        """Return the objects in each image of a prompt; () for an image that was not examined."""
        in_images = self.observations.objects(prompt, seeds, self.finder)
        return [objects or () for objects in in_images]

    @cached_property
    def table(self) -> CountTable:
        """Occurrences of every object except people (Wu eq. 3)."""
        units = [
            [self._counted(prompt, seeds) for prompt in triplet] for triplet, seeds in self._units
        ]
        names = sorted({name for unit in units for counter in unit for name in counter} - PEOPLE)
        counts = np.array([[[counter[n] for n in names] for counter in unit] for unit in units])
        return CountTable(counts.reshape(len(units), 3, len(names)), tuple(names))

    @property
    def _units(self) -> list[Member]:
        """The units of resampling: triplets, or the seeds of a single triplet (Wu section 7.1)."""
        if len(self.members) != 1:
            return list(self.members)
        triplet, seeds = self.members[0]
        return [Member(triplet, (seed,)) for seed in seeds]

    def _counted(self, prompt: Prompt, seeds: Sequence[int]) -> Counter[str]:
        return Counter(item.name for objects in self.seen(prompt, seeds) for item in objects)

    def frequent(self, places: Sequence[int] = ALL) -> CountTable:
        """Return the objects that occur often enough with these variants together.

        The total decides, and no single variant: permuting the variants within a triplet does not
        change the total, so a permutation test may select its objects by it.
        """
        counts, names = self.table
        counts = counts[:, list(places)]
        mask = counts.sum(axis=(0, 1)) >= self.least
        return CountTable(
            counts[:, :, mask], tuple(n for n, k in zip(names, mask, strict=True) if k)
        )

    @cached_property
    def cooccurrences(self) -> list[np.ndarray]:
        """Per triplet, [images, 2]: similarity to feminine and to masculine (Wu eq. 4).

        Seeds of which one image shows no object are left out, because its vector has no direction.
        """
        return [self._cooccurrence(member) for member in self.members]

    def _cooccurrence(self, member: Member) -> np.ndarray:
        names = self.table.names
        three = [
            np.array([[Counter(o.name for o in objects)[n] for n in names] for objects in images])
            for images in (self.seen(prompt, member.seeds) for prompt in member.triplet)
        ]
        if not names:
            return np.empty((0, 2))
        mask = np.all([variant.sum(axis=1) > 0 for variant in three], axis=0)
        if not mask.any():
            return np.empty((0, 2))
        neutral, feminine, masculine = (variant[mask].astype(float) for variant in three)
        sides = [similarities(neutral, feminine), similarities(neutral, masculine)]
        return np.stack(sides, axis=1)


C = TypeVar("C", bound=CountedTriplets)


def count_triplets(kind: type[C], context: AuditContext, test: AskedTest) -> C:
    return _counted(kind, context, [(three, test) for three in test.selection.triplets])


def all_counted(kind: type[C], context: AuditContext, fixture: str) -> C | None:
    """Return all triplets of tests with a fixture, each with its most images; None without any."""
    asking = [test for test in context.tests if fixture in test.selection.fixtures]
    pairs = ((three, test) for test in asking for three in test.selection.triplets)
    return _counted(kind, context, widest_of(pairs)) if asking else None


def _counted(kind: type[C], context: AuditContext, pairs: Sequence[tuple[Triplet, AskedTest]]) -> C:
    settings, distinct = context.settings, context.observations.distinct
    expected: dict[str, str] = {}
    for _, test in pairs:
        expected |= dict(test.selection.asked("expected") or ())
    return kind(
        tuple(
            Member(three, distinct(tuple(three), context.seeds(three.neutral, test.images)))
            for three, test in pairs
        ),
        context.finder,
        context.observations,
        settings.interval_level,
        settings.seed,
        LEAST,
        expected,
    )
