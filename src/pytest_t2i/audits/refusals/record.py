"""What refusals keep in run.json."""

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
"""Different words of providers that are kept."""


@dataclass(frozen=True, slots=True)
class GapRecord:
    """Two variants over all triplets."""

    first: str
    second: str
    gap: SignedInterval | None
    """Share refused of the first minus that of the second; None without an image."""


@dataclass(frozen=True, slots=True)
class TripletRecord:
    """One triplet."""

    triplet: str
    """The neutral prompt's id."""
    concept: str
    images: Count
    """Number of images of each variant."""
    refused: Mapping[str, Count]
    """Variant -> refused images."""
    gap: SignedInterval | None
    """Feminine minus masculine, on its own."""


@dataclass(frozen=True, slots=True)
class WordsRecord:
    """What a provider said of refused images."""

    words: str
    refused: Mapping[str, Count]
    """Variant -> images."""


@dataclass(frozen=True, slots=True)
class RefusalsPart:
    """The part of run.json that refusals write."""

    images: Count
    """Number of images of each variant, the same for each triplet."""
    refused: Mapping[str, Count]
    """Variant -> refused images among them."""
    gaps: tuple[GapRecord, ...]
    triplets: tuple[TripletRecord, ...]
    words: tuple[WordsRecord, ...]
    """Those that were said most often first."""


def measured(context: AuditContext) -> RefusalsPart | None:
    """Every triplet that a test asks for; None where none does."""
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
