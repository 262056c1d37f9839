"""Refusals: does a model refuse prompts of one gender more often than those of the other?

Tests use the fixtures ``refusal`` and ``refusals``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.contrast_audit import NAMED, Contrast, ContrastAudit, Unit, Units, side_of
from pytest_t2i.audits.summary import AFTER_FAILURE, Frame, Step
from pytest_t2i.data import (
    Count,
    Interval,
    Outcome,
    Prompt,
    SignedInterval,
    Triplet,
    Undetected,
    Variant,
)
from pytest_t2i.errors import UnknownNameError

if TYPE_CHECKING:
    from pytest_t2i.sections import BarChart, Block, Cell, Note
    from pytest_t2i.verdicts.measurement import Measurement

VARIANTS = tuple(variant.value for variant in Variant)
NEUTRAL, FEMININE, MASCULINE = VARIANTS
PAIRS = ((FEMININE, MASCULINE), (FEMININE, NEUTRAL), (MASCULINE, NEUTRAL))
GAP = Contrast("refusal_gap", PAIRS[0], "paired shares", "no image was asked for")
KEPT_WORDS, SHOWN_TRIPLETS, SHOWN_WORDS, LONGEST, LONGEST_REMARK = 30, 40, 20, 200, 80
"""Largest numbers: of the provider's texts in the record, of triplets and of texts in the section,
and of a text's characters there and in a failure text."""


@dataclass(frozen=True, eq=False, repr=False)
class TripletRefusals(Unit):
    """The refused images of one triplet.

    >>> import pytest
    >>> from pytest_t2i import TripletRefusals, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(refusal: TripletRefusals) -> None:
    ...     assert refusal.refusal_gap <= limit("refusal_gap", 0.3)
    """

    words: Mapping[str, Counter[str]] = field(default_factory=dict)
    """Variant -> the provider's words on refused images, with their numbers."""

    def __repr__(self) -> str:
        return f"<TripletRefusals of {self.id}: {_in_words(self)}>"

    def interval(self, first: str = FEMININE, second: str = MASCULINE) -> Interval | None:
        """Return the gap between two variants; None without an image."""
        return Units((self,), self.level).estimated(replace(GAP, arms=(first, second)))

    @property
    def refusal_gap(self) -> Measurement:
        """Share refused of the feminine minus that of the masculine prompt, from -1 to 1."""
        return self.measured(GAP, (_in_words(self), *_most_frequent_words(self.words)))


class Refusals(Units[TripletRefusals]):
    """The refused images of several triplets.

    >>> import pytest
    >>> from pytest_t2i import Refusals, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(refusals: Refusals) -> None:
    ...     assert refusals.refusal_gap <= limit("refusal_gap", 0.05)
    """

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
            if variant not in VARIANTS:
                raise UnknownNameError("variant", variant, [FEMININE, MASCULINE, NEUTRAL])
        contrast = replace(GAP, arms=(first, second))
        remarks = (
            _in_words(self), *self._widest(first, second), *_most_frequent_words(self.words),
        )  # fmt: skip
        return self.measured(contrast, _subject(contrast), remarks)

    def interval(self, first: str = FEMININE, second: str = MASCULINE) -> Interval | None:
        """Return the gap between two variants over all triplets; None without an image."""
        return self.estimated(replace(GAP, arms=(first, second)))

    @property
    def counts(self) -> dict[str, int]:
        """Variant -> number of refused images."""
        return {variant: self.hits(variant) for variant in VARIANTS}

    @cached_property
    def words(self) -> dict[str, Counter[str]]:
        """Variant -> the provider's words on refused images, with their numbers."""
        return {
            variant: sum((m.words[variant] for m in self.members), Counter[str]())
            for variant in VARIANTS
        }

    def _widest(self, first: str, second: str) -> Iterator[str]:
        gaps = [(m.counts[first] - m.counts[second], m) for m in self.members]
        wide = sorted((pair for pair in gaps if pair[0]), key=lambda pair: -abs(pair[0]))
        if wide:
            texts = (f"{m.name} {gap / m.images:+.2f}" for gap, m in wide[:NAMED])
            yield f"widest gaps: {', '.join(texts)}"


@dataclass(frozen=True, slots=True)
class RefusalGapRecord:
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
    gaps: tuple[RefusalGapRecord, ...]
    triplets: tuple[TripletRecord, ...]
    words: tuple[WordsRecord, ...]
    """The provider's texts, the most frequent first."""


class RefusalsAudit(ContrastAudit):
    """The audit of whether prompts that name women or men are refused more often."""

    name, place = "refusals", 65
    record_type, units_type = RefusalsPart, Refusals
    contrast, detectors = GAP, "none"
    fixture, single = "refusals", "refusal"
    doc = "Refused images of every triplet of the t2i marker."
    single_doc = "Refused images of one triplet; the test runs once per triplet of its t2i marker."
    unmeasured = "Whether prompts of one gender are refused more often was not measured."
    title = "Refused prompts"
    reading = (
        "Share of images that the model refused of one variant minus that of another, from the "
        "same seeds. Above 0 the variant named first is refused more often. A black or broken "
        "image does not count as refused."
    )
    scope = "Whether prompts that name women or men are refused more often."

    def arms(self, unit: Triplet) -> Mapping[str, Prompt]:
        """Return all three variants."""
        return dict(zip(VARIANTS, unit, strict=True))

    def unit(self, context: AuditContext, unit: Triplet, test: AskedTest) -> TripletRefusals:
        """Return the refused images of a triplet, with the provider's words."""
        texts = {}
        for arm, seeds in self.seeds(context, unit, test, is_distinct=True).items():
            images = context.observations.images(self.arms(unit)[arm], seeds)
            texts[arm] = [
                (image.refusal or "") if image.undetected is Undetected.REFUSED else None
                for image in images
            ]
        flags = {arm: [float(text is not None) for text in row] for arm, row in texts.items()}
        words = {arm: Counter(t for t in row if t is not None) for arm, row in texts.items()}
        return TripletRefusals(unit, flags, context.settings.interval_level, words=words)

    def part(
        self, context: AuditContext, members: Sequence[TripletRefusals], model: Refusals
    ) -> RefusalsPart:
        """Return gaps over all triplets, the triplets, and the provider's words."""
        del context
        words = sum(model.words.values(), Counter[str]()).most_common(KEPT_WORDS)
        return RefusalsPart(
            model.images,
            model.counts,
            tuple(RefusalGapRecord(*pair, model.interval(*pair)) for pair in PAIRS),
            tuple(TripletRecord(m.id, m.name, m.images, m.counts, m.interval()) for m in members),
            tuple(
                WordsRecord(text, {arm: count[text] for arm, count in model.words.items()})
                for text, _ in words
            ),
        )

    def in_words(self, record: RefusalsPart) -> str:
        """Return how often each variant was refused, and the gap, in a line."""
        counts = ", ".join(f"{variant} {record.refused.get(variant, 0)}" for variant in VARIANTS)
        text = f"refusals: of {record.images} images each {counts}"
        gap = next((each_gap.gap for each_gap in record.gaps), None)
        side = side_of(gap, ", feminine prompts more often", ", masculine prompts more often")
        return text if gap is None else f"{text}; gap {gap}{side}"

    def blocks(self, record: RefusalsPart, run: Any) -> Sequence[Block]:
        """Return the gaps over all triplets, triplets with a refusal, and words."""
        from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart
        from pytest_t2i.sections import Table

        checks = run.checks_of(GAP.metric)
        bars = []
        for each_gap in record.gaps:
            contrast = replace(GAP, arms=(each_gap.first, each_gap.second))
            judged = checks.get(_subject(contrast), ())
            bars.append(gap_bar(contrast.name, each_gap.gap, judged, absent=GAP.absent))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (text.words[:LONGEST] or "(nothing)", *(text.refused.get(v, 0) for v in VARIANTS))
            for text in record.words[:SHOWN_WORDS]
        )
        table = Table("The provider's words", ("what the provider says", *VARIANTS), rows, digits=0)
        return [
            gap_chart("All triplets", bars, "refusal gap"),
            self._triplets(record, checks),
            *([table] if rows else []),
        ]

    def _triplets(self, record: RefusalsPart, checks: Any) -> BarChart | Note:
        """Return the triplets with a refused image, the widest gap first."""
        from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart
        from pytest_t2i.sections import Note

        refused = [triplet for triplet in record.triplets if any(triplet.refused.values())]
        if not refused:
            return Note("No image of any triplet was refused.")
        refused.sort(key=lambda triplet: -abs(triplet.gap.estimate if triplet.gap else 0.0))
        bars = []
        for triplet in refused[:SHOWN_TRIPLETS]:
            counts = ", ".join(f"{triplet.refused.get(v, 0)} {v}" for v in VARIANTS)
            note = f"{counts} of {triplet.images} each"
            judged = checks.get(triplet.triplet, ())
            bars.append(gap_bar(triplet.concept, triplet.gap, judged, note=note, absent=GAP.absent))
        left = len(refused) - len(bars)
        more = f", and {left} more in run.json" if left else ""
        return gap_chart(f"Triplets with a refusal{more}", bars, "refusal gap")

    def series(self, record: RefusalsPart) -> dict[str, Interval]:
        """Return every gap that has an interval."""
        return {
            f"{GAP.metric}/{gap.first} minus {gap.second}": gap.gap
            for gap in record.gaps
            if gap.gap is not None
        }

    def frames(self, record: RefusalsPart) -> dict[str, Frame]:
        """Return a table of triplets."""
        rows = [
            (t.triplet, t.images, *(t.refused.get(v, 0) for v in VARIANTS), t.gap)
            for t in record.triplets
        ]
        return {self.name: Frame(("prompt", "images", *VARIANTS, "gap"), rows, ("gap",))}

    def next_steps(self, record: RefusalsPart, context: AuditContext) -> Iterator[Step]:
        """Suggest reading the provider's words, where a test of the gap fails."""
        words = record.words[0].words[:LONGEST] if record.words else ""
        failed = (c.metric == GAP.metric and c.outcome is Outcome.FAIL for c in context.checks)
        if words and any(failed):
            yield Step(
                AFTER_FAILURE - 1,
                f"read what the provider says of refused prompts (most often: {words!r}) in the "
                f"section {self.title}, and ask the provider why",
            )


def _subject(contrast: Contrast) -> str:
    return "model" if contrast == GAP else f"model, {' against '.join(contrast.arms)}"


def _in_words(refusals: TripletRefusals | Refusals) -> str:
    counts = ", ".join(f"{variant} {count}" for variant, count in refusals.counts.items())
    return f"refused of {refusals.images} images each: {counts}"


def _most_frequent_words(words: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Yield a remark on the provider's most frequent words."""
    for text, times in sum(words.values(), Counter[str]()).most_common(1):
        yield f"said most often ({times}): {text[:LONGEST_REMARK]!r}"
