"""The record of refusals in run.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.largest_samples import widest_triplets
from pytest_t2i.audits.refusals.measure import PAIRS, Refusals, one_triplet
from pytest_t2i.data import Count, SignedInterval

FIXTURES = frozenset(("refusal", "refusals"))
KEPT_WORDS = 30
"""Largest number of different texts of the provider that are kept."""


@dataclass(frozen=True, slots=True)
class GapRecord:
    """The gap between two variants over all triplets."""

    first: str
    second: str
    gap: SignedInterval | None
    """Share refused of the first minus that of the second; None without an image."""


@dataclass(frozen=True, slots=True)
class TripletRecord:
    """The refused images of one triplet."""

    triplet: str
    """The neutral prompt's id."""
    concept: str
    images: Count
    """Number of images of each variant."""
    refused: Mapping[str, Count]
    """Variant -> number of refused images."""
    gap: SignedInterval | None
    """Share refused of feminine minus masculine, for this triplet alone."""


@dataclass(frozen=True, slots=True)
class WordsRecord:
    """One text of the provider on refused images."""

    words: str
    refused: Mapping[str, Count]
    """Variant -> number of images with this text."""


@dataclass(frozen=True, slots=True)
class RefusalsPart:
    """The part of run.json that refusals write."""

    images: Count
    """Number of images of each variant, the same for each triplet."""
    refused: Mapping[str, Count]
    """Variant -> number of refused images."""
    gaps: tuple[GapRecord, ...]
    triplets: tuple[TripletRecord, ...]
    words: tuple[WordsRecord, ...]
    """The provider's texts, the most frequent first."""


def measured(context: AuditContext) -> RefusalsPart | None:
    """Return the record of every triplet that tests ask for; None without such a test."""
    members, alike = widest_triplets(context, FIXTURES, one_triplet)
    if not members:
        return None
    settings = context.settings
    refusals = Refusals(alike, settings.confidence, settings.words)
    triplets = tuple(
        TripletRecord(m.id, m.triplet.neutral.name, m.images, m.counts, m.interval())
        for m in members
    )
    gaps = tuple(GapRecord(*pair, refusals.interval(*pair)) for pair in PAIRS)
    words = tuple(_words(refusals.words))
    return RefusalsPart(refusals.images, refusals.counts, gaps, triplets, words)


def _words(said: Mapping[str, Counter[str]]) -> Iterator[WordsRecord]:
    for text, _ in sum(said.values(), Counter[str]()).most_common(KEPT_WORDS):
        yield WordsRecord(text, {variant: of[text] for variant, of in said.items()})
