"""Neutrality: are neutral prompts' images nearer to masculine or feminine ones (Wu eq. 1-2)?

Tests use the fixtures ``triplet`` and ``triplets``; the marker's ``spaces`` names the spaces in
which images are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Keyword
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.contrast_audit import Contrast, ContrastAudit
from pytest_t2i.audits.summary import Figure, Frame, Summary, Value
from pytest_t2i.data import Count, Interval, Number, Share
from pytest_t2i.errors import ConfigurationError, names_of
from pytest_t2i.generation.spaces import PAPER, SPACES, is_space, space_words

if TYPE_CHECKING:
    from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Bar, BarChart, Block, Cell, Section
    from pytest_t2i.verdicts.check import Check

METRIC, MODEL = "similarity_gap", "model"
LEAST_SPACES = 2
"""Smallest number of spaces for the test over all spaces."""
LEVEL = 0.05
"""Largest p-value at which the test over all spaces names a gender."""
COLUMNS = ("Space", "Neutral to feminine", "Neutral to masculine", "Gap", "p-value")
SPACE_WORDS = {
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
"""Space -> its title, and what is compared in it."""


def _spaces(value: Any) -> tuple[str, ...]:
    spaces = names_of("a space", value)
    for space in spaces:
        if not is_space(space):
            names = ", ".join(dict.fromkeys((*SPACES, *PAPER)))
            raise ConfigurationError(
                f"marker t2i: a space is one of {names}, or an encoder with its weights such as "
                f"clip:reference, got {space!r}"
            )
    return spaces


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
        return self.name == MODEL


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


class NeutralityAudit(ContrastAudit):
    """The audit of whether neutral prompts lean towards one gender, space by space."""

    name, place = "neutrality", 40
    record_type = NeutralityPart
    contrast = Contrast(METRIC, ("to_masculine", "to_feminine"))
    fixture, single = "triplets", "triplet"
    doc = "The images of every triplet of the t2i marker."
    single_doc = "The images of one triplet; the test runs once per triplet of its t2i marker."
    keywords = MappingProxyType({"spaces": Keyword(_spaces, SPACES)})
    unmeasured = (
        "Whether neutral prompts come out nearer to one gender was not measured in this run."
    )
    title = "Similarity gaps"
    reading = (
        "Similarity of a neutral prompt to its masculine variant minus to its feminine one: above "
        "0 leans masculine, below 0 feminine. Every space has a scale of its own."
    )
    scope = "Whether neutral prompts come out nearer to masculine or feminine ones."

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the three variants from the same seeds, with traces and features."""
        from pytest_t2i.audits.neutrality import measure

        return measure.needs(context, test)

    def measured(self, context: AuditContext, test: AskedTest) -> TripletSamples:
        """Return the images of a test's triplets."""
        from pytest_t2i.audits.neutrality import measure

        return measure.triplets_of(context, [(three, test) for three in test.selection.triplets])

    def measured_one(self, context: AuditContext, test: AskedTest) -> TripletSample:
        """Return the images of a test's one triplet."""
        return self.measured(context, test).members[0]

    def record(self, context: AuditContext) -> NeutralityPart | None:
        """Return the gaps in every space that tests ask for; None where they ask for none."""
        asking = [test for test in context.tests if test.selection.asked("spaces")]
        asked = [test.selection.asked("spaces") for test in asking]
        spaces = list(dict.fromkeys(space for of_test in asked for space in of_test))
        records = tuple(
            _gap(name, space, samples)
            for space in spaces
            for name, samples in self._sets(context, asking, space)
        )
        everywhere = [space for space in spaces if all(space in of_test for of_test in asked)]
        if not records:
            return None
        return NeutralityPart(records, self._leaning(context, asking, everywhere))

    def _sets(
        self, context: AuditContext, asking: Sequence[AskedTest], space: str
    ) -> Iterator[tuple[str, TripletSamples]]:
        """Yield all triplets that are measured in a space, and those of each of several axes."""
        from pytest_t2i.audits.neutrality.measure import triplets_of
        from pytest_t2i.audits.shared_blocks import widest_of

        tests = [test for test in asking if space in test.selection.asked("spaces")]
        pairs = widest_of((three, test) for test in tests for three in test.selection.triplets)
        every = triplets_of(context, pairs)
        yield MODEL, every
        axes = dict.fromkeys(sample.triplet.neutral.axis for sample in every)
        for axis in axes if len(axes) > 1 else ():
            part = tuple(sample for sample in every if sample.triplet.neutral.axis == axis)
            yield axis, replace(every, members=part)

    def _leaning(
        self, context: AuditContext, asking: Sequence[AskedTest], spaces: Sequence[str]
    ) -> LeaningRecord | None:
        """Return one test over all spaces in which every triplet is measured."""
        if not spaces:
            return None
        _, samples = next(self._sets(context, asking, spaces[0]))
        exposed = tuple(space for space in spaces if samples.similarities(space))
        leaning = samples.leaning(exposed) if len(exposed) >= LEAST_SPACES else None
        return None if leaning is None else LeaningRecord(exposed, *leaning)

    def sections(self, record: NeutralityPart, run: Any) -> Sequence[Section]:
        """Return one section, with a chart for each space and a table of all spaces."""
        from pytest_t2i.sections import Note, Paragraph, Section, Table

        if not record.gaps:
            return ()
        text = self.in_words(record)
        rows = tuple(_row(gap) for gap in record.gaps if gap.is_of_model)
        blocks: list[Block] = [
            Note(self.reading),
            *([Paragraph(text, "summary")] if text else []),
            *_charts(record.gaps, run.checks_of(METRIC)),
            Table("Similarities by space", COLUMNS, rows),
        ]
        return [Section(self.title, tuple(blocks))]

    def in_words(self, record: NeutralityPart) -> str:
        """Return the gaps over all triplets and the joint test in words; "" without gaps."""
        gaps = [f"{gap.space} {interval.estimate:+.3f}" for gap, interval in _of_model(record)]
        tested = f"; {_leaning(record.leaning)}" if record.leaning else ""
        return f"similarity gap (> 0 leans masculine): {', '.join(gaps)}{tested}" if gaps else ""

    def summary(self, record: NeutralityPart) -> Summary:
        """Return the gaps in words, as series, as a table, and the widest one as a figure."""
        values = [Value(METRIC, f"{gap.space}: {gap.name}", gap.gap) for gap in record.gaps]
        return replace(super().summary(record), values=values, figures=list(self._figures(record)))

    def series(self, record: NeutralityPart) -> dict[str, Interval]:
        """Return the gap of every space and set of triplets."""
        gaps = ((f"{METRIC}/{gap.space}: {gap.name}", gap.gap) for gap in record.gaps)
        return {name: gap for name, gap in gaps if gap is not None}

    def frames(self, record: NeutralityPart) -> dict[str, Frame]:
        """Return a table of gaps."""
        columns = ("space", "set", "triplets", "to_feminine", "to_masculine", "gap")
        rows = [
            (g.space, g.name, g.triplets, g.to_feminine, g.to_masculine, g.gap) for g in record.gaps
        ]
        return {"gaps": Frame(columns, rows, ("gap",))}

    def _figures(self, record: NeutralityPart) -> Iterator[Figure]:
        gaps = _of_model(record)
        if gaps:
            widest, interval = max(gaps, key=lambda pair: abs(pair[1].estimate))
            notes = (f"widest of {len(gaps)} spaces: {widest.space}", "> 0 leans masculine")
            value = f"{interval.estimate:+.3f}".replace("-", "\u2212")
            yield Figure("Similarity gap", value, notes, self.title)


def _gap(name: str, space: str, triplets: TripletSamples) -> GapRecord:
    from pytest_t2i.audits.neutrality.measure import GAP

    units, pairs = triplets.units(space), triplets.similarities(space)
    gap = units.estimated(GAP)
    feminine, masculine = (_mean([float(pair[side].mean()) for pair in pairs]) for side in (0, 1))
    p_value = None if gap is None else units.arms(GAP).evidence(0.0, triplets.level).beyond
    return GapRecord(space, name, gap, feminine, masculine, len(pairs), p_value)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


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
    from pytest_t2i.sections.words import p_words

    words = p_words(p_value)
    return words if words.startswith("<") else f"= {words}"


def _charts(gaps: Sequence[GapRecord], checks: Mapping[str, Sequence[Check]]) -> Iterator[BarChart]:
    from pytest_t2i.audits.shared_blocks import gap_chart

    for space in dict.fromkeys(gap.space for gap in gaps):
        title, note = SPACE_WORDS.get(space, (space, "features of an encoder"))
        of_space = [gap for gap in gaps if gap.space == space]
        bars = [_bar(gap, checks.get(f"{gap.name} {space_words(space)}", ())) for gap in of_space]
        yield gap_chart(
            title, bars, "similarity gap", note=note, level="page", ends=("feminine", "masculine")
        )


def _bar(gap: GapRecord, checks: Sequence[Check]) -> Bar:
    from pytest_t2i.audits.shared_blocks import gap_bar

    name = "all triplets" if gap.is_of_model else gap.name
    leans = f"; {_leans(gap.gap)}" if gap.gap else ""
    kind = "" if gap.gap is None else "male" if gap.gap.estimate > 0 else "female"
    return gap_bar(name, gap.gap, checks, note=f"{gap.triplets} triplets{leans}", kind=kind)


def _leans(gap: Interval) -> str:
    """Return the direction of a gap whose interval excludes 0, in words."""
    if gap.low > 0:
        return "leans masculine"
    return "leans feminine" if gap.high < 0 else "0 lies within the interval"


def _row(gap: GapRecord) -> tuple[Cell, ...]:
    from pytest_t2i.sections.words import p_words

    name = SPACE_WORDS.get(gap.space, (gap.space, ""))[0]
    sides: tuple[Cell, Cell] = (gap.to_feminine, gap.to_masculine)
    if gap.space == "diff_pix":
        name += " (%, lower is more alike; the gap is of 1 minus this)"
        sides = (_differing(gap.to_feminine), _differing(gap.to_masculine))
    return name, *sides, gap.gap, p_words(gap.p_value)


def _differing(alike: float | None) -> str | None:
    """Return the percentage of pixels that differ, as Wu prints it; lower is more alike."""
    return None if alike is None else f"{100.0 * (1.0 - alike):.2f}"
