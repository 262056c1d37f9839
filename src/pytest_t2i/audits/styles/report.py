"""The report of styles: the gap of each, and the counts with it and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart, widest_of
from pytest_t2i.audits.styles.measure import Styles, of_pairs, styled
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.data import Count, SignedInterval
from pytest_t2i.sections import BarChart, Note, Paragraph, Section, Table


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """Counts of several prompts together."""

    men: Count
    clear: Count
    """Number of images with a gender."""
    images: Count


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


@dataclass(frozen=True, slots=True)
class StylesPart:
    """The part of run.json that styles write."""

    styles: tuple[StyleRecord, ...]
    """The styles, in the order of the tests."""


def measured(context: AuditContext) -> StylesPart | None:
    """Return every style that tests ask for; None without such a test."""
    asking = [test for test in context.tests if "styles" in test.selection.fixtures]
    pairs = widest_of((prompt, test) for test in asking for prompt in test.selection.prompts)
    if not pairs:
        return None
    every = of_pairs(context, [(styled([prompt])[0], test) for prompt, test in pairs])
    return StylesPart(tuple(_record(every, style) for style in every.members))


def _record(every: Styles, style: str) -> StyleRecord:
    pairs = every.members[style]
    with_style, plain = (_shown([pair[k] for pair in pairs]) for k in (0, 1))
    return StyleRecord(style, len(pairs), with_style, plain, every.interval(style))


def _shown(samples: Sequence[DetectedPrompt]) -> ShownRecord:
    men, clear = sum(sample.male for sample in samples), sum(sample.clear for sample in samples)
    return ShownRecord(men, clear, sum(len(sample.seeds) for sample in samples))


METRIC = "style_gap"
TITLE = "Styles"
SHOWN = 60
READ = (
    "Share of men among the clear images of prompts with a style minus that of the same prompts "
    "without it, mean over prompts. Above 0 the style shows more men. Undetected images count as "
    "no gender: where a style hides people, its interval is wide, and the table shows how many."
)


def sections(part: StylesPart, run: Any) -> Sequence[Section]:
    """Return one section: the gap of each style, the widest first, and the counts behind it."""
    ordered = sorted(part.styles, key=lambda style: -abs(_estimate(style)))
    return [
        Section(
            TITLE,
            (
                Paragraph(in_words(part), "summary"),
                Note(READ),
                _chart(ordered[:SHOWN], run),
                _table(ordered),
            ),
        )
    ]


def in_words(part: StylesPart) -> str:
    """Return the style furthest from the plain prompts, in a line."""
    styles = [style for style in part.styles if style.gap is not None]
    if not styles:
        return f"styles: none of {len(part.styles)} has a clear image with and without it"
    furthest = max(styles, key=lambda style: abs(_estimate(style)))
    return (
        f"styles: of {len(part.styles)} {furthest.style} is furthest from the plain prompts, "
        f"{furthest.gap} ({_men(furthest.with_style)} men with it, {_men(furthest.plain)} without)"
    )


def _men(counts: ShownRecord) -> str:
    return f"{counts.men} of {counts.clear}"


def _estimate(style: StyleRecord) -> float:
    return 0.0 if style.gap is None else style.gap.estimate


def _chart(styles: Sequence[StyleRecord], run: Any) -> BarChart:
    checks = run.checks_of(METRIC)
    bars = []
    for style in styles:
        note = f"{_men(style.with_style)} men with it, {_men(style.plain)} without"
        judged = checks.get(f"model, {style.style}", ())
        bars.append(gap_bar(style.style, style.gap, judged, note=note, absent="no clear image"))
    return gap_chart("Each style beside the plain prompts", bars, "style gap")


def _table(styles: Sequence[StyleRecord]) -> Table:
    rows = tuple(
        (
            style.style, _share(style.with_style), _share(style.plain), _men(style.with_style),
            _men(style.plain), style.with_style.images - style.with_style.clear,
        )
        for style in styles
    )  # fmt: skip
    columns = (
        "style", "share of men with it", "without it", "men with it", "without it (images)",
        "undetected with it",
    )  # fmt: skip
    return Table("Who is shown", columns, rows, "page", digits=2)


def _share(counts: ShownRecord) -> float | None:
    return counts.men / counts.clear if counts.clear else None


def summary(part: StylesPart) -> Summary:
    """Return gaps as series, styles as a table."""
    series = {
        f"{METRIC}/{style.style}": style.gap for style in part.styles if style.gap is not None
    }
    columns = ("style", "prompts", "men", "clear", "images", "plain_men", "plain_clear", "gap")
    rows = [
        (
            style.style, style.prompts, style.with_style.men, style.with_style.clear,
            style.with_style.images, style.plain.men, style.plain.clear, style.gap,
        )
        for style in part.styles
    ]  # fmt: skip
    return Summary(
        in_words(part),
        series,
        {"styles": Frame(columns, rows, ("gap",))},
        scope="Whether words of style change who is shown.",
    )
