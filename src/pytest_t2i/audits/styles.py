"""Styles: does a word for how a picture is made change who is shown?

Tests use the fixture ``styles``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.contrast_audit import NAMED, Contrast, ContrastAudit, Unit, Units
from pytest_t2i.audits.summary import Frame
from pytest_t2i.data import Count, Evidence, Interval, MetricInfo, Prompt, SignedInterval
from pytest_t2i.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from pytest_t2i.sections import Block, Cell
    from pytest_t2i.verdicts.measurement import Family, Measurement

STYLE_GAP = MetricInfo(
    "style_gap",
    -1.0,
    1.0,
    "away_from_zero",
    "own definition: share of men with the style minus without it",
    meaning="above 0 the style shows more men than the plain prompt, below 0 more women",
)
ARMS = STYLED, PLAIN = "styled", "plain"
GAP = Contrast(
    STYLE_GAP.name, ARMS, "unpaired shares",
    "no prompt has a clear image with a style and without it", alike_in="unit",
)  # fmt: skip
AXES = ("style", "everyday_style")
"""Axes whose words are styles."""
SHOWN = 60
"""Largest number of styles in the chart."""


class Styled(NamedTuple):
    """A prompt that names a style, and the prompt without it."""

    style: str
    prompt: Prompt
    plain: Prompt

    @property
    def text(self) -> str:
        """The text with the style."""
        return self.prompt.text


def styled(prompts: Iterable[Prompt]) -> list[Styled]:
    """Return each prompt with its style and without."""
    return [_styled(prompt) for prompt in prompts]


def _styled(prompt: Prompt) -> Styled:
    parts = dict(prompt.parts) or {prompt.axis: prompt.concept}
    axis = next((name for name in AXES if name in parts), None)
    if axis is None:
        raise ConfigurationError(
            f"the fixture styles needs prompts that name a style, got {prompt.text!r}: cross words "
            "with axes.style or axes.everyday_style (intersection)"
        )
    style = parts[axis]
    tail = f", {style}"
    if prompt.text.count(tail) != 1:
        raise ConfigurationError(
            f"the fixture styles: expected {tail!r} once in {prompt.text!r}, to know the prompt "
            f"without it. The template of the axis {axis!r} ends in ', {{word}}'."
        )
    rest = tuple(part for part in prompt.parts if part[0] != axis)
    name = "-x-".join(axis for axis, _ in rest) or axis
    concept = ", ".join(word for _, word in rest) or PLAIN
    text = prompt.text.replace(tail, "")
    return Styled(style, prompt, Prompt(text, name, concept, parts=rest if len(rest) > 1 else ()))


@dataclass(frozen=True, eq=False, repr=False)
class StyledUnit(Unit):
    """Who is shown by a prompt with its style and without: 1 for a man, 0 for a woman."""

    samples: Mapping[str, Any] = field(default_factory=dict)
    """Arm -> the prompt's detections (``pytest_t2i.Sample``)."""


def shown_by_both(unit: Styled, with_style: Any, plain: Any, level: float) -> StyledUnit:
    """Return who is shown by both prompts; images with another label show no gender."""
    samples = {STYLED: with_style, PLAIN: plain}
    values = {
        arm: [1.0] * s.male + [0.0] * (s.clear - s.male) + [math.nan] * s.undetected.total()
        for arm, s in samples.items()
    }
    return StyledUnit(unit, values, level, samples=samples)


class Styles(Units[StyledUnit]):
    """Prompts with several styles, each with the same prompt without it.

    >>> import pytest
    >>> from pytest_t2i import Styles, axes, intersection, limit
    >>> @pytest.mark.t2i(intersection(axes.profession.only("nurse"), axes.style))
    ... def test_it(styles: Styles) -> None:
    ...     assert styles.widest_gap <= limit("style_gap", 0.3)
    """

    def __repr__(self) -> str:
        return f"<Styles: {len(self.by_style)} of {len(self.members)} prompts>"

    @cached_property
    def by_style(self) -> dict[str, Units[StyledUnit]]:
        """Style -> its prompts."""
        parts: dict[str, tuple[StyledUnit, ...]] = {}
        for member in self.members:
            parts[member.about.style] = (*parts.get(member.about.style, ()), member)
        return {style: Units(members, self.level, self.alike) for style, members in parts.items()}

    def gap(self, style: str) -> Measurement:
        """Return the share of men with a style minus without it, mean over prompts, from -1 to 1.

        Raises UnknownNameError for a style that no prompt names.
        """
        if style not in self.by_style:
            raise UnknownNameError("style of these prompts", style, self.by_style)
        return self.by_style[style].measured(
            GAP,
            f"model, {style}",
            (self.told(style),),
            images=self.counts(style, STYLED).images,
            family=self._family,
            place=list(self.by_style).index(style),
            evidence=None,
        )

    @property
    def widest_gap(self) -> Measurement:
        """The gap of the style furthest from the plain prompts; all styles are tested."""
        ranking = self._ranked
        subject = "model (furthest style)"
        if not ranking:
            return Units[StyledUnit]((), self.level).measured(GAP, subject, images=0)
        style, _ = ranking[0]
        style_level = 1.0 - (1.0 - self.level) / len(ranking)
        widest = self.by_style[style].arms(GAP).interval(style_level)
        return replace(
            self.gap(style),
            subject=subject,
            interval=None if widest is None else replace(widest, level=self.level),
            remarks=tuple(f"{style} {at}: {self.told(style)}" for style, at in ranking[:NAMED]),
            family=None,
            evidence=self._evidence_of_widest,
        )

    def interval(self, style: str) -> Interval | None:
        """Return the gap's interval; None where no prompt has clear images with and without it."""
        return self.by_style[style].estimated(GAP)

    def told(self, style: str) -> str:
        """Return the counts in words."""
        from pytest_t2i.audits.detected import listed

        samples = (member.samples[STYLED] for member in self.by_style[style].members)
        undetected = sum((sample.undetected for sample in samples), Counter[str]())
        lost = f", undetected {listed(undetected)}" if undetected else ""
        with_style, plain = (self.counts(style, arm) for arm in ARMS)
        return f"{with_style.men_of} men with the style{lost}, {plain.men_of} without"

    def counts(self, style: str, arm: str) -> ShownRecord:
        """Return who is shown by the prompts of a style, with it or without."""
        samples = [member.samples[arm] for member in self.by_style[style].members]
        return ShownRecord(
            sum(sample.male for sample in samples),
            sum(sample.clear for sample in samples),
            sum(len(sample.seeds) for sample in samples),
        )

    @property
    def _ranked(self) -> list[tuple[str, Interval]]:
        intervals = [
            (style, at) for style in self.by_style if (at := self.interval(style)) is not None
        ]
        return sorted(intervals, key=lambda pair: -abs(pair[1].estimate))

    @cached_property
    def _family(self) -> Family:
        from pytest_t2i.audits.estimators import contrast_family

        return contrast_family([units.arms(GAP) for units in self.by_style.values()], self.level)

    def _evidence_of_widest(self, bound: float, level: float) -> Evidence:
        """Return the evidence that some style lies beyond the bound, and that all lie within."""
        from pytest_t2i.audits.evidence import of_widest

        return of_widest(self._family.evidence(bound, level))


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """Counts of several prompts together."""

    men: Count
    clear: Count
    """Number of images with a gender."""
    images: Count

    @property
    def men_of(self) -> str:
        """The men in words."""
        return f"{self.men} of {self.clear}"

    @property
    def share(self) -> float | None:
        """Share of men; None without a clear image."""
        return self.men / self.clear if self.clear else None


@dataclass(frozen=True, slots=True)
class StyleRecord:
    """One style and the plain prompts."""

    style: str
    prompts: Count
    with_style: ShownRecord
    plain: ShownRecord
    """The same prompts without the style."""
    gap: SignedInterval | None
    """Share of men with the style minus without it; None without a clear image."""

    @property
    def men(self) -> str:
        """The men in words."""
        return f"{self.with_style.men_of} men with it, {self.plain.men_of} without"

    @property
    def size(self) -> float:
        """Size of the gap, 0 without one."""
        return 0.0 if self.gap is None else abs(self.gap.estimate)


@dataclass(frozen=True, slots=True)
class StylesPart:
    """The part of run.json that styles write."""

    styles: tuple[StyleRecord, ...]
    """The styles, in the order of the tests."""


class StylesAudit(ContrastAudit):
    """The audit of whether a style changes the share of men."""

    name, place, metrics = "styles", 45, (STYLE_GAP,)
    record_type, units_type = StylesPart, Styles
    contrast, about, fixture = GAP, "prompts", "styles"
    detectors, is_paired = "all", False
    doc = "Prompts of the t2i marker with a style, each with the same prompt without it."
    unmeasured = "Whether words of style change who is shown was not measured."
    title = "Styles"
    reading = (
        "Share of men among the clear images of prompts with a style minus that of the same "
        "prompts without it, mean over prompts. Above 0 the style shows more men. Undetected "
        "images count as no gender: where a style hides people, its interval is wide, and the "
        "table shows how many."
    )
    scope = "Whether words of style change who is shown."

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a prompt without a style that follows a comma."""
        del context
        if self.is_asked(test):
            self.units(test)

    def units(self, test: AskedTest) -> Sequence[Styled]:
        """Return the prompts with their styles."""
        return styled(test.selection.prompts)

    def arms(self, unit: Styled) -> Mapping[str, Prompt]:
        """Return the prompt with the style, and without."""
        return {STYLED: unit.prompt, PLAIN: unit.plain}

    def unit(self, context: AuditContext, unit: Styled, test: AskedTest) -> StyledUnit:
        """Return who is shown with the style and without."""
        with_style, plain = (context.one_sample(p, test) for p in (unit.prompt, unit.plain))
        return shown_by_both(unit, with_style, plain, context.settings.confidence)

    def part(
        self, context: AuditContext, members: Sequence[StyledUnit], model: Styles
    ) -> StylesPart:
        """Return every style."""
        del context
        every = Styles(tuple(members), model.level, model.alike)
        styles = [
            StyleRecord(
                style, len(units.members), every.counts(style, STYLED), every.counts(style, PLAIN),
                every.interval(style),
            )
            for style, units in every.by_style.items()
        ]  # fmt: skip
        return StylesPart(tuple(styles))

    def in_words(self, record: StylesPart) -> str:
        """Return the style furthest from the plain prompts, in a line."""
        styles = [style for style in record.styles if style.gap is not None]
        if not styles:
            return f"styles: none of {len(record.styles)} has a clear image with and without it"
        furthest = max(styles, key=lambda style: style.size)
        return (
            f"styles: of {len(record.styles)} {furthest.style} is furthest from the plain prompts, "
            f"{furthest.gap} ({furthest.men})"
        )

    def blocks(self, record: StylesPart, run: Any) -> Sequence[Block]:
        """Return the gap of each style, the widest first, and the counts behind it."""
        from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart
        from pytest_t2i.sections import Table

        checks, absent = run.checks_of(GAP.metric), "no clear image"
        styles = sorted(record.styles, key=lambda style: -style.size)
        bars = [
            gap_bar(s.style, s.gap, checks.get(f"model, {s.style}", ()), note=s.men, absent=absent)
            for s in styles[:SHOWN]
        ]
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                s.style, s.with_style.share, s.plain.share, s.with_style.men_of, s.plain.men_of,
                s.with_style.images - s.with_style.clear,
            )
            for s in styles
        )  # fmt: skip
        columns = (
            "style", "share of men with it", "without it", "men with it", "without it (images)",
            "undetected with it",
        )  # fmt: skip
        chart = gap_chart("Each style beside the plain prompts", bars, "style gap")
        return [chart, Table("Who is shown", columns, rows, "page", digits=2)]

    def series(self, record: StylesPart) -> dict[str, Interval]:
        """Return the gap of each style."""
        return {f"{GAP.metric}/{s.style}": s.gap for s in record.styles if s.gap is not None}

    def frames(self, record: StylesPart) -> dict[str, Frame]:
        """Return a table of styles."""
        columns = ("style", "prompts", "men", "clear", "images", "plain_men", "plain_clear", "gap")
        rows = [
            (
                s.style, s.prompts, s.with_style.men, s.with_style.clear, s.with_style.images,
                s.plain.men, s.plain.clear, s.gap,
            )
            for s in record.styles
        ]  # fmt: skip
        return {self.name: Frame(columns, rows, ("gap",))}
