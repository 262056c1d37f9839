"""The report of refusals: gaps between variants, triplets, and the provider's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.refusals.measure import PAIRS, Refusals, one_triplet
from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart, widest_triplets
from pytest_t2i.audits.summary import AFTER_FAILURE, Frame, Step, Summary
from pytest_t2i.data import Count, Interval, Outcome, SignedInterval, Variant
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check

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
    words = tuple(_counted_words(refusals.words))
    return RefusalsPart(refusals.images, refusals.counts, gaps, triplets, words)


def _counted_words(counters: Mapping[str, Counter[str]]) -> Iterator[WordsRecord]:
    for text, _ in sum(counters.values(), Counter[str]()).most_common(KEPT_WORDS):
        yield WordsRecord(text, {variant: counter[text] for variant, counter in counters.items()})


METRIC = "refusal_gap"
TITLE = "Refused prompts"
NO_IMAGE = "no image was asked for"
VARIANTS = tuple(variant.value for variant in Variant)
SHOWN_TRIPLETS, SHOWN_WORDS, LONGEST = 40, 20, 200
READ = (
    "Share of images that the model refused of one variant minus that of another, from the same "
    "seeds. Above 0 the variant named first is refused more often. A black or broken image does "
    "not count as refused."
)


def sections(part: RefusalsPart, run: Any) -> Sequence[Section]:
    """Return one section: gaps over all triplets, triplets with a refusal, words."""
    blocks: list[Block] = [Paragraph(in_words(part), "summary"), Note(READ), _gaps(part, run)]
    return [Section(TITLE, (*blocks, *_triplets(part, run), *_words_table(part)))]


def in_words(part: RefusalsPart) -> str:
    """Return how often each variant was refused, and the gap, in a line."""
    counts = ", ".join(f"{variant} {_refused(part.refused, variant)}" for variant in VARIANTS)
    text = f"refusals: of {part.images} images each {counts}"
    gap = next((each_gap.gap for each_gap in part.gaps), None)
    return text if gap is None else f"{text}; gap {gap}{_leans(gap)}"


def _refused(counts: Mapping[str, int], variant: str) -> int:
    return counts.get(variant, 0)


def _leans(gap: Interval) -> str:
    """Return which variant is refused more often, where the interval excludes 0; else ""."""
    if gap.low > 0:
        return ", feminine prompts more often"
    return ", masculine prompts more often" if gap.high < 0 else ""


def _gaps(part: RefusalsPart, run: Any) -> BarChart:
    checks = run.checks_of(METRIC)
    bars = []
    for k, gap in enumerate(part.gaps):
        subject = "model" if k == 0 else f"model, {gap.first} against {gap.second}"
        bars.append(gap_bar(_name(gap), gap.gap, checks.get(subject, ()), absent=NO_IMAGE))
    return _chart("All triplets", bars)


def _name(gap: GapRecord) -> str:
    return f"{gap.first} minus {gap.second}"


def _triplets(part: RefusalsPart, run: Any) -> list[BarChart | Note]:
    """Return the triplets with a refused image, the widest gap first."""
    refused = [triplet for triplet in part.triplets if any(triplet.refused.values())]
    if not refused:
        return [Note("No image of any triplet was refused.")]
    refused.sort(key=lambda triplet: -abs(_gap(triplet)))
    checks = run.checks_of(METRIC)
    bars = [
        gap_bar(
            triplet.concept, triplet.gap, checks.get(triplet.triplet, ()),
            note=_counts(triplet.refused, triplet.images), absent=NO_IMAGE,
        )
        for triplet in refused[:SHOWN_TRIPLETS]
    ]  # fmt: skip
    left = len(refused) - len(bars)
    more = f", and {left} more in run.json" if left else ""
    return [_chart(f"Triplets with a refusal{more}", bars)]


def _gap(triplet: TripletRecord) -> float:
    return triplet.gap.estimate if triplet.gap is not None else 0.0


def _counts(refused: Mapping[str, int], images: int) -> str:
    text = ", ".join(f"{_refused(refused, variant)} {variant}" for variant in VARIANTS)
    return f"{text} of {images} each"


def _chart(title: str, bars: Sequence[Bar]) -> BarChart:
    return gap_chart(title, bars, "refusal gap")


def _words_table(part: RefusalsPart) -> list[Table]:
    rows = tuple(_row(record) for record in part.words[:SHOWN_WORDS])
    columns = ("what the provider says", *VARIANTS)
    return [Table("The provider's words", columns, rows, digits=0)] if rows else []


def _row(record: WordsRecord) -> tuple[Cell, ...]:
    return (record.words[:LONGEST] or "(nothing)", *(_refused(record.refused, v) for v in VARIANTS))


def summary(part: RefusalsPart) -> Summary:
    """Return gaps as series, triplets as a table."""
    series = {f"{METRIC}/{_name(gap)}": gap.gap for gap in part.gaps if gap.gap is not None}
    columns = ("prompt", "images", *VARIANTS, "gap")
    rows = [
        (
            triplet.triplet,
            triplet.images,
            *(_refused(triplet.refused, v) for v in VARIANTS),
            triplet.gap,
        )
        for triplet in part.triplets
    ]
    return Summary(
        in_words(part),
        series,
        {"refusals": Frame(columns, rows, ("gap",))},
        scope="Whether prompts that name women or men are refused more often.",
    )


def next_steps(part: RefusalsPart, checks: Sequence[Check]) -> Iterator[Step]:
    """Suggest reading the provider's words, where a test of the gap fails."""
    failed = [c for c in checks if c.metric == METRIC and c.outcome is Outcome.FAIL]
    words = part.words[0].words[:LONGEST] if part.words else ""
    if failed and words:
        yield Step(
            AFTER_FAILURE - 1,
            f"read what the provider says of refused prompts (most often: {words!r}) in the "
            f"section {TITLE}, and ask the provider why",
        )
