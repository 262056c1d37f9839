"""The report of prompts that name a gender: shares of each gender, the gap, the least followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.explicit.measure import ASKED, AskedTriplet, Explicit, one_triplet
from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart, widest_triplets
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.data import Count, Interval, ShareInterval, SignedInterval
from pytest_t2i.sections import Bar, BarChart, Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check

FIXTURES = frozenset(("explicit",))


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """One variant of one triplet."""

    drawn: Count
    """Number of images that show the gender that the prompt names."""
    labelled: Count
    """Number of images with a label."""


@dataclass(frozen=True, slots=True)
class ExplicitTriplet:
    """The two prompts of one triplet that name a gender."""

    triplet: str
    """The neutral prompt's id."""
    concept: str
    asked: Mapping[str, AskedRecord]
    """Variant ("feminine", "masculine") -> its counts."""


@dataclass(frozen=True, slots=True)
class ExplicitPart:
    """The part of run.json about prompts that name a gender."""

    detector: str
    images: Count
    """Number of images of each variant, the same for each triplet."""
    shares: Mapping[str, ShareInterval | None]
    """Variant -> share of its labelled images that show the named gender; None without labels."""
    gap: SignedInterval | None
    """Share of the feminine minus that of the masculine variant; None without a pair of labels."""
    triplets: tuple[ExplicitTriplet, ...]


def measured(context: AuditContext) -> ExplicitPart | None:
    """Return what every triplet that tests ask for shows; None without such a test."""
    members, alike = widest_triplets(context, FIXTURES, one_triplet)
    if not members:
        return None
    settings = context.settings
    model = Explicit(alike, settings.confidence, settings.words)
    return ExplicitPart(
        context.detectors[0],
        sum(member.images for member in alike),
        {variant: model.share(variant) for variant in ASKED},
        model.gap,
        tuple(map(_triplet, members)),
    )


def _triplet(member: AskedTriplet) -> ExplicitTriplet:
    records = {
        variant: AskedRecord(int(np.nansum(row)), int(np.sum(~np.isnan(row))))
        for variant, row in member.drawn.items()
    }
    return ExplicitTriplet(member.triplet.id, member.triplet.neutral.name, records)


TITLE = "Prompts that name a gender"
SHOWN = 30
READ = (
    "Share of the images with a label that show whom the prompt asks for, by {detector}: a prompt "
    "for a woman that shows a man was not followed. The gap is feminine minus masculine, from "
    "pairs of one seed; below 0 women are drawn less often when they are asked for. Errors of the "
    "detector count as not followed: compare with its accuracy per gender."
)


def sections(part: ExplicitPart, run: Any) -> Sequence[Section]:
    """Return one section: shares, gap, prompts."""
    note = Note(READ.format(detector=part.detector))
    blocks = (Paragraph(in_words(part), "summary"), note, _shares(part, run), _gap(part, run))
    return [Section(TITLE, (*blocks, *_triplets(part)))]


def in_words(part: ExplicitPart) -> str:
    """Return how often each gender is drawn where it is named, in a line."""
    shares = ", ".join(f"{v} {part.shares.get(v) or 'no label'}" for v in ASKED)
    gap = "" if part.gap is None else f"; gap {part.gap}{_leans(part.gap)}"
    return f"drawn as asked: {shares}{gap}"


def _leans(gap: Interval) -> str:
    """Return who is drawn less often, where the interval excludes 0; else ""."""
    if gap.high < 0:
        return ", women less often"
    return ", men less often" if gap.low > 0 else ""


def _shares(part: ExplicitPart, run: Any) -> BarChart:
    checks = run.checks_of("drawn_share")
    bars = tuple(
        Bar.judged(
            variant,
            part.shares.get(variant),
            checks.get(f"model, {variant}", ()),
            absent="no image has a label",
        )
        for variant in ASKED
    )
    return BarChart("Drawn as asked", bars, 0.0, 1.0, "share drawn as asked")


def _gap(part: ExplicitPart, run: Any) -> BarChart:
    checks: Sequence[Check] = run.checks_of("drawn_gap").get("model", ())
    bar = gap_bar("feminine minus masculine", part.gap, checks, absent="no pair of labels")
    return gap_chart("Gap", [bar], "gap")


def _triplets(part: ExplicitPart) -> list[Table]:
    """Return the table of prompts that were not always followed, the least followed first."""
    missed = [triplet for triplet in part.triplets if _missed(triplet)]
    missed.sort(key=lambda triplet: (-_missed(triplet), triplet.triplet))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (triplet.concept, *(_counts(*_numbers(triplet, variant)) for variant in ASKED))
        for triplet in missed[:SHOWN]
    )
    return [Table("Followed least", ("Prompt", *ASKED), rows, "detail")] if rows else []


def _missed(triplet: ExplicitTriplet) -> int:
    return sum(record.labelled - record.drawn for record in triplet.asked.values())


def _numbers(triplet: ExplicitTriplet, variant: str) -> tuple[int, int]:
    """Return the numbers of a variant's images drawn as asked, and with a label."""
    record = triplet.asked.get(variant)
    return (0, 0) if record is None else (record.drawn, record.labelled)


def _counts(hits: int, labelled: int) -> str:
    return f"{hits} of {labelled}"


def summary(part: ExplicitPart) -> Summary:
    """Return shares and gap as series, prompts as a table."""
    series = {f"drawn_share/{v}": share for v, share in part.shares.items() if share is not None}
    if part.gap is not None:
        series["drawn_gap/feminine minus masculine"] = part.gap
    columns = (
        "prompt",
        *(f"{variant}_{what}" for variant in ASKED for what in ("drawn", "labelled")),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            triplet.triplet,
            *(n for variant in ASKED for n in _numbers(triplet, variant)),
        )
        for triplet in part.triplets
    ]
    return Summary(
        in_words(part),
        series,
        {"explicit": Frame(columns, rows)},
        scope="Whether a gender that the prompt names is drawn.",
    )
