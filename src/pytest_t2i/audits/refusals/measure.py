"""Measurements of refused images: how often each variant is refused, and the gap between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.detected import Siblings, siblings_of
from pytest_t2i.audits.evidence import adjusted, of_either
from pytest_t2i.data import Evidence, Interval, Triplet, Undetected, Variant
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.generation.plan import Need
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.gaps import paired_gap_interval, paired_gap_p_value
from pytest_t2i.statistics.model import Words
from pytest_t2i.verdicts.measurement import Family, Measurement

NEUTRAL, FEMININE, MASCULINE = (variant.value for variant in Variant)
PAIRS = ((FEMININE, MASCULINE), (FEMININE, NEUTRAL), (MASCULINE, NEUTRAL))
"""Variants that are compared: share refused of the first minus that of the second."""
METRIC = "refusal_gap"
NAMED = 5
"""Largest number of triplets that a failure text names."""
SHOWN_WORDS = 80
"""Largest number of characters of a provider's words in a failure text."""


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for the three variants from the same seeds."""
    for three in test.selection.triplets:
        seeds = context.seeds(three.neutral, test.images)
        for prompt in three:
            yield Need(prompt, seeds)


@dataclass(frozen=True, eq=False, repr=False)
class TripletRefusals:
    """The refused images of one triplet.

    >>> import pytest
    >>> from pytest_t2i import TripletRefusals, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(refusal: TripletRefusals) -> None:
    ...     assert refusal.refusal_gap <= limit("refusal_gap", 0.3)
    """

    triplet: Triplet
    refused: Mapping[str, np.ndarray]
    """Variant -> whether the image of each seed was refused, [n_seeds]."""
    words: Mapping[str, Counter[str]]
    """Variant -> the provider's words on refused images, with their numbers."""
    level: float
    siblings: Siblings[TripletRefusals] | None = field(default=None)
    """The triplets of the same test function, which share one error level."""

    def __repr__(self) -> str:
        return f"<TripletRefusals of {self.id}: {self.told}>"

    @property
    def id(self) -> str:
        """The neutral prompt's id."""
        return self.triplet.id

    @property
    def images(self) -> int:
        """Number of images of each variant."""
        return int(self.refused[NEUTRAL].size)

    @property
    def counts(self) -> dict[str, int]:
        """Variant -> number of refused images."""
        return {variant: int(flags.sum()) for variant, flags in self.refused.items()}

    @property
    def told(self) -> str:
        """The counts in words."""
        return _in_words(self.counts, self.images)

    def first(self, images: int) -> TripletRefusals:
        """Return the triplet with its first images alone."""
        refused = {variant: flags[:images] for variant, flags in self.refused.items()}
        return replace(self, refused=refused)

    def interval(self, first: str = FEMININE, second: str = MASCULINE) -> Interval | None:
        """Return the gap between two variants; None without an image."""
        return _interval([self], first, second, self.level, "fixed")

    @property
    def refusal_gap(self) -> Measurement:
        """Share refused of the feminine minus that of the masculine prompt, from -1 to 1."""
        together = self.siblings or Siblings([self], [self.id])
        return Measurement(
            metric=INFO[METRIC],
            subject=self.id,
            interval=self.interval(),
            images=self.images,
            family=together.family(METRIC, _family),
            place=together.places[self.id],
            absent="no image was asked for",
            remarks=(self.told, *_most_frequent_words(self.words)),
        )


@dataclass(frozen=True, repr=False)
class Refusals:
    """The refused images of several triplets.

    >>> import pytest
    >>> from pytest_t2i import Refusals, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(refusals: Refusals) -> None:
    ...     assert refusals.refusal_gap <= limit("refusal_gap", 0.05)
    """

    members: tuple[TripletRefusals, ...]
    level: float
    by: Words = "fixed"
    """"fixed" for claims about these triplets, "sample" for claims about triplets like them."""

    def __repr__(self) -> str:
        return f"<Refusals of {len(self.members)} triplets>"

    @property
    def refusal_gap(self) -> Measurement:
        """Share refused of feminine minus that of masculine prompts, from -1 to 1."""
        return self.gap(FEMININE, MASCULINE)

    def gap(self, first: str, second: str) -> Measurement:
        """Return the share refused of one variant minus that of another.

        Variants are "feminine", "masculine" and "neutral"; raises UnknownNameError for another
        word.
        """
        for variant in (first, second):
            if variant not in (FEMININE, MASCULINE, NEUTRAL):
                raise UnknownNameError("variant", variant, [FEMININE, MASCULINE, NEUTRAL])
        interval = self.interval(first, second)
        usual = (first, second) == PAIRS[0]
        return Measurement(
            metric=INFO[METRIC],
            subject="model" if usual else f"model, {first} against {second}",
            interval=interval,
            evidence=partial(_evidence, self.members, (first, second), self.by)
            if interval
            else None,
            absent="no image was asked for",
            remarks=(self.told, *self._widest(first, second), *_most_frequent_words(self.words)),
            is_of_model=True,
        )

    def interval(self, first: str = FEMININE, second: str = MASCULINE) -> Interval | None:
        """Return the gap between two variants over all triplets; None without an image."""
        return _interval(self.members, first, second, self.level, self.by)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Variant -> number of refused images."""
        total: Counter[str] = Counter(dict.fromkeys((NEUTRAL, FEMININE, MASCULINE), 0))
        for member in self.members:
            total.update(member.counts)
        return dict(total)

    @property
    def images(self) -> int:
        """Number of images of each variant."""
        return sum(member.images for member in self.members)

    @property
    def told(self) -> str:
        """The counts in words."""
        return _in_words(self.counts, self.images)

    @cached_property
    def words(self) -> dict[str, Counter[str]]:
        """Variant -> the provider's words on refused images, with their numbers."""
        return {
            variant: sum((m.words[variant] for m in self.members), Counter[str]())
            for variant in (NEUTRAL, FEMININE, MASCULINE)
        }

    def _widest(self, first: str, second: str) -> Iterator[str]:
        gaps = [(m.counts[first] - m.counts[second], m) for m in self.members]
        wide = sorted((pair for pair in gaps if pair[0]), key=lambda pair: -abs(pair[0]))
        text = ", ".join(
            f"{m.triplet.neutral.name} {gap / m.images:+.2f}" for gap, m in wide[:NAMED]
        )
        if text:
            yield f"widest gaps: {text}"


def refusals_of(context: AuditContext, test: AskedTest) -> Refusals:
    """Return the refused images of a test's triplets."""
    members = tuple(one_triplet(context, three, test) for three in test.selection.triplets)
    return Refusals(members, context.settings.confidence, context.settings.words)


def of_one(context: AuditContext, test: AskedTest) -> TripletRefusals:
    """Return the refused images of a test's one triplet, linked to the other cases."""

    def measure(case: AskedTest) -> list[TripletRefusals]:
        return [one_triplet(context, three, case) for three in case.selection.triplets]

    siblings = siblings_of(context, test, "triplets", measure, lambda member: member.id)
    return siblings.named(test.selection.triplets[0].id)  # type: ignore[no-any-return]


def one_triplet(context: AuditContext, three: Triplet, test: AskedTest) -> TripletRefusals:
    """Return the refused images of a triplet, among the images that a test asks for."""
    seeds = context.seeds(three.neutral, test.images)
    seeds = context.observations.distinct(tuple(three), seeds)
    images = {prompt.variant.value: context.observations.images(prompt, seeds) for prompt in three}
    refused = {
        variant: np.array(
            [image.undetected is Undetected.REFUSED for image in pictures], dtype=bool
        )
        for variant, pictures in images.items()
    }
    words = {
        variant: Counter(
            image.refusal or "" for image in pictures if image.undetected is Undetected.REFUSED
        )
        for variant, pictures in images.items()
    }
    return TripletRefusals(three, refused, words, context.settings.confidence)


def _interval(
    members: Sequence[TripletRefusals], first: str, second: str, level: float, words: Words
) -> Interval | None:
    if not any(member.images for member in members):
        return None
    sides = ([member.refused[variant] for member in members] for variant in (first, second))
    return paired_gap_interval(*sides, level=level, words=words)


def _evidence(
    members: Sequence[TripletRefusals],
    pair: tuple[str, str],
    words: Words,
    bound: float,
    level: float,
) -> Evidence:
    del level
    first, second = ([member.refused[variant] for member in members] for variant in pair)
    return of_either(partial(paired_gap_p_value, first, second, bound, words=words))


def _family(members: Sequence[TripletRefusals]) -> Family:
    return Family(
        tuple(member.interval() for member in members), partial(_evidence_of_each, members)
    )


def _evidence_of_each(
    members: Sequence[TripletRefusals], bound: float, level: float
) -> list[Evidence]:
    return adjusted(
        [
            _evidence([member], PAIRS[0], "fixed", bound, level) if member.images else None
            for member in members
        ]
    )


def _in_words(counts: Mapping[str, int], images: int) -> str:
    text = ", ".join(f"{variant} {count}" for variant, count in counts.items())
    return f"refused of {images} images each: {text}"


def _most_frequent_words(words: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Yield a remark on the provider's most frequent words."""
    total = sum(words.values(), Counter[str]())
    for text, times in total.most_common(1):
        yield f"said most often ({times}): {text[:SHOWN_WORDS]!r}"
