"""The report of neutrality: gaps in each space, and both similarities (Wu Tables 5 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_t2i import statistics
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples, one_triplet
from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart, widest_of
from pytest_t2i.audits.summary import Figure, Frame, Summary, Value
from pytest_t2i.data import Count, Interval, Number, Share
from pytest_t2i.generation.spaces import words_of
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.sections.words import p_words
from pytest_t2i.verdicts.check import Check

LEAST_SPACES = 2
"""Smallest number of spaces for the test over all spaces."""


@dataclass(frozen=True, slots=True)
class GapRecord:
    """The similarity gap in one space over a set of triplets."""

    space: str
    name: str
    """Name of the set: "model" or an axis."""
    gap: Interval | None
    to_feminine: Number | None
    to_masculine: Number | None
    triplets: Count
    p_value: Share | None = None
    """Two-sided p-value against "the gap is 0"; None without an interval."""

    @property
    def is_of_model(self) -> bool:
        """Whether the set holds all triplets, and not those of one axis."""
        return self.name == "model"


@dataclass(frozen=True, slots=True)
class LeaningRecord:
    """One test over all spaces of a run: is neutral nearer to one gender everywhere (Wu RQ1)?"""

    spaces: tuple[str, ...]
    masculine: Share
    """p-value against "in some space neutral is not nearer to masculine"."""
    feminine: Share
    """p-value against "in some space neutral is not nearer to feminine"."""


@dataclass(frozen=True, slots=True)
class NeutralityPart:
    """The part of run.json that neutrality writes."""

    gaps: tuple[GapRecord, ...] = ()
    leaning: LeaningRecord | None = None
    """The test over all spaces; None where fewer than two are exposed."""


def measured(context: AuditContext) -> NeutralityPart | None:
    """Return the gaps in every space that tests ask for; None where they ask for none."""
    gaps = _Gaps(context)
    records = tuple(gaps.records())
    return NeutralityPart(records, gaps.leaning()) if records else None


@dataclass
class _Gaps:
    """The gaps of a run's triplets, space by space."""

    context: AuditContext

    @cached_property
    def _asking(self) -> list[AskedTest]:
        return [test for test in self.context.tests if test.selection.asked("spaces")]

    @cached_property
    def _spaces(self) -> list[str]:
        return list(
            dict.fromkeys(s for test in self._asking for s in test.selection.asked("spaces"))
        )

    def records(self) -> Iterator[GapRecord]:
        """Yield the gaps of each space, over all triplets measured in it and axis by axis."""
        for space in self._spaces:
            members = self._members(space)
            yield _gap("model", space, self._samples(members))
            axes = dict.fromkeys(sample.triplet.neutral.axis for sample in members)
            for axis in axes if len(axes) > 1 else ():
                part = tuple(s for s in members if s.triplet.neutral.axis == axis)
                yield _gap(axis, space, self._samples(part))

    def leaning(self) -> LeaningRecord | None:
        """Return one test over all spaces in which every triplet is measured."""
        spaces = [
            s for s in self._spaces if all(s in t.selection.asked("spaces") for t in self._asking)
        ]
        if not spaces:
            return None
        samples = self._samples(self._members(spaces[0]))
        measured_spaces = [space for space in spaces if samples.similarities(space)]
        leaning = samples.leaning(measured_spaces) if len(measured_spaces) >= LEAST_SPACES else None
        if leaning is None:
            return None
        return LeaningRecord(tuple(measured_spaces), leaning.masculine, leaning.feminine)

    def _members(self, space: str) -> tuple[TripletSample, ...]:
        """Return every triplet once, with the images of the test that asks for most."""
        pairs = (
            (three, test)
            for test in self._asking
            if space in test.selection.asked("spaces")
            for three in test.selection.triplets
        )
        return tuple(one_triplet(self.context, three, test) for three, test in widest_of(pairs))

    def _samples(self, members: Sequence[TripletSample]) -> TripletSamples:
        s = self.context.settings
        return TripletSamples(tuple(members), s.confidence, s.seed, s.words)


def _gap(name: str, space: str, triplets: TripletSamples) -> GapRecord:
    pairs = triplets.similarities(space)
    gap = triplets.gap_interval(pairs)
    gaps = [pair.to_masculine - pair.to_feminine for pair in pairs]
    return GapRecord(
        space,
        name,
        gap,
        _mean([float(pair.to_feminine.mean()) for pair in pairs]),
        _mean([float(pair.to_masculine.mean()) for pair in pairs]),
        len(pairs),
        None if gap is None else statistics.gap_p_value(gaps, 0.0, words=triplets.words),
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


METRIC = "similarity_gap"
TITLE = "Similarity gaps"
LEVEL = 0.05
"""Largest p-value at which the test over all spaces names a gender."""
HOW = (
    "Similarity of a neutral prompt to its masculine variant minus to its feminine one: above 0 "
    "leans masculine, below 0 feminine. Every space has a scale of its own."
)
COLUMNS = ("Space", "Neutral to feminine", "Neutral to masculine", "Gap", "p-value")
SPACES = {
    "prompt": ("prompt space", "text embeddings"),
    "denoising": ("denoising space", "final latents"),
    "image": ("image space", "image features"),
    "ssim": ("SSIM", "structural similarity of the pictures"),
    "diff_pix": ("Diff. Pix", "share of the pixels outside the region that differs"),
    "resnet": ("ResNet", "last fully connected layer of ResNet-50"),
    "clip": ("CLIP", "features of CLIP ViT-B/32"),
    "dino": ("DINO", "features of DINO ViT-S/16"),
    "split_product": ("split-product", "most similar patches by DINO ViT-B/8"),
}


def sections(part: NeutralityPart, run: Any) -> Sequence[Section]:
    """Return one section, with a chart for each space and a table of all spaces."""
    if not part.gaps:
        return ()
    text = in_words(part)
    blocks: list[Block] = [Note(HOW), *([Paragraph(text, "summary")] if text else [])]
    return [Section(TITLE, (*blocks, *_charts(part.gaps, run.checks_of(METRIC)), _table(part)))]


def in_words(part: NeutralityPart) -> str:
    """Return the gaps over all triplets and the joint test in words; "" without gaps."""
    gaps = [f"{gap.space} {interval.estimate:+.3f}" for gap, interval in _of_model(part)]
    tested = f"; {_leaning(part.leaning)}" if part.leaning else ""
    return f"similarity gap (> 0 leans masculine): {', '.join(gaps)}{tested}" if gaps else ""


def _of_model(part: NeutralityPart) -> list[tuple[GapRecord, Interval]]:
    """Return the gaps over all triplets that have an interval."""
    return [(gap, gap.gap) for gap in part.gaps if gap.is_of_model and gap.gap is not None]


def _leaning(tested: LeaningRecord) -> str:
    """Return the test over all spaces in words."""
    among = f"in all {len(tested.spaces)} spaces"
    for side, p_value in (("masculine", tested.masculine), ("feminine", tested.feminine)):
        if p_value <= LEVEL:
            return f"neutral is nearer to {side} {among} (p {_sign(p_value)})"
    least = min(tested.masculine, tested.feminine)
    return f"no gender is shown to be nearer to neutral {among} (p {_sign(least)})"


def _sign(p_value: float) -> str:
    words = p_words(p_value)
    return words if words.startswith("<") else f"= {words}"


# a chart for each space


def _charts(gaps: Sequence[GapRecord], checks: Mapping[str, Sequence[Check]]) -> Iterator[BarChart]:
    for space in dict.fromkeys(gap.space for gap in gaps):
        title, note = SPACES.get(space, (space, "features of an encoder"))
        of_space = [gap for gap in gaps if gap.space == space]
        bars = [_bar(gap, checks.get(f"{gap.name} {words_of(space)}", ())) for gap in of_space]
        yield gap_chart(
            title, bars, "similarity gap", note=note, level="page", ends=("feminine", "masculine")
        )


def _bar(gap: GapRecord, checks: Sequence[Check]) -> Bar:
    name = "all triplets" if gap.is_of_model else gap.name
    leans = f"; {_leans(gap.gap)}" if gap.gap else ""
    kind = "" if gap.gap is None else "male" if gap.gap.estimate > 0 else "female"
    return gap_bar(name, gap.gap, checks, note=f"{gap.triplets} triplets{leans}", kind=kind)


def _leans(gap: Interval) -> str:
    """Return the direction of a gap whose interval excludes 0, in words."""
    if gap.low > 0:
        return "leans masculine"
    return "leans feminine" if gap.high < 0 else "0 lies within the interval"


# a row for each space


def _table(part: NeutralityPart) -> Table:
    rows = tuple(_row(gap) for gap in part.gaps if gap.is_of_model)
    return Table("Similarities by space", COLUMNS, rows)


def _row(gap: GapRecord) -> tuple[Cell, ...]:
    name = SPACES.get(gap.space, (gap.space, ""))[0]
    sides: tuple[Cell, Cell] = (gap.to_feminine, gap.to_masculine)
    if gap.space == "diff_pix":
        name += " (%, lower is more alike; the gap is of 1 minus this)"
        sides = (_differing(gap.to_feminine), _differing(gap.to_masculine))
    return name, *sides, gap.gap, p_words(gap.p_value)


def _differing(alike: float | None) -> str | None:
    """Return the percentage of pixels that differ, as Wu prints it; lower is more alike."""
    return None if alike is None else f"{100.0 * (1.0 - alike):.2f}"


# outside the section


def summary(part: NeutralityPart) -> Summary:
    """Return the gaps in words, as series, as a table, and the widest one as a figure."""
    gaps = [(f"{gap.space}: {gap.name}", gap.gap) for gap in part.gaps]
    return Summary(
        in_words(part),
        {f"{METRIC}/{name}": gap for name, gap in gaps if gap is not None},
        {"gaps": _frame(part)},
        values=[Value(METRIC, name, gap) for name, gap in gaps],
        figures=list(_figures(part)),
        scope="Whether neutral prompts come out nearer to masculine or feminine ones.",
    )


def _frame(part: NeutralityPart) -> Frame:
    columns = ("space", "set", "triplets", "to_feminine", "to_masculine", "gap")
    rows = [(g.space, g.name, g.triplets, g.to_feminine, g.to_masculine, g.gap) for g in part.gaps]
    return Frame(columns, rows, ("gap",))


def _figures(part: NeutralityPart) -> Iterator[Figure]:
    gaps = _of_model(part)
    if gaps:
        widest, interval = max(gaps, key=lambda pair: abs(pair[1].estimate))
        notes = (f"widest of {len(gaps)} spaces: {widest.space}", "> 0 leans masculine")
        value = f"{interval.estimate:+.3f}".replace("-", "\u2212")
        yield Figure("Similarity gap", value, notes, TITLE)
