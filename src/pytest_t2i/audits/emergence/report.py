"""The report of emergence: curves over the denoising steps (OASIS Fig. 6, 8 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_t2i.audits.emergence.frames import frames
from pytest_t2i.audits.emergence.record import EmergencePart, EmergenceRecord, ForeseenRecord
from pytest_t2i.audits.summary import Summary
from pytest_t2i.sections import Block, Cell, CurveChart, Note, Paragraph, Section, Table, half_width

SPI = (
    "SPI: how far each step of the making moves an image towards an attribute, from \u22121 to 1. "
    "Thin lines are single images, the thick one is their mean with a band that holds at all steps "
    "at once; shaded is the interval of the step by which half of the final lean is reached. "
    "The centred index says where a step lies between the descriptions, from \u22121 at the "
    "attribute\u2019s absence to 1 at its presence: use it to compare attributes, where the "
    "descriptions name the concept."
)
FORESEEN = (
    "Share of denoising previews (the finished image as each step predicts it) that show the "
    "attribute or label, with intervals; the last share is that of the finished images. A film "
    "strip shows the previews of one image."
)
STRIP = "the denoising previews of one image, from the first step to the last"
COLUMNS = ("Emergence", "SPI of the first step", "Centred", "Half of the lean by step")


def sections(part: EmergencePart, run: Any) -> Sequence[Section]:  # noqa: ARG001 - as it is called
    """Return a section for SPI and one for denoising previews, where they were measured."""
    spi, foreseen = _spi(part), _foreseen(part)
    made = (Section("Emergence of attributes", spi), Section("Denoising previews", foreseen))
    return [section for section in made if section.blocks]


def summary(part: EmergencePart) -> Summary:
    """Return, in words, what the first step adds most of, and all curves as tables."""
    return Summary(in_words(part), frames=frames(part))


def _spi(part: EmergencePart) -> tuple[Block, ...]:
    shown = _shown(part)
    if not shown:
        return ()
    table = Table("SPI of the first step", COLUMNS, tuple(map(_row, shown)))
    return (Note(SPI), *_paragraphs(part), *_spi_charts(part, shown), table)


def _foreseen(part: EmergencePart) -> tuple[Block, ...]:
    charts = [_foreseen_chart(one) for one in part.foreseen if one.shares]
    return (Note(FORESEEN), *charts) if charts else ()


def _shown(part: EmergencePart) -> list[EmergenceRecord]:
    """Return the records with guidance, with which the images were made."""
    return [one for one in part.emergence if one.mean and one.guidance]


def _paragraphs(part: EmergencePart) -> Iterator[Paragraph]:
    if told := in_words(part):
        yield Paragraph(told, "summary")


def in_words(part: EmergencePart) -> str:
    """Return the attribute that the first step leads to most, in words; "" without any."""
    leaning = [(one.centred[0], one) for one in part.emergence if one.centred and one.guidance]
    if not leaning:
        return ""
    first, most = max(leaning, key=lambda pair: pair[0])
    half = f", half of it by step {most.half_step}" if most.half_step else ""
    leads = "adds most of" if first > 0 else "leads to none, least away from"
    return (
        f"emergence (SPI, centred): first step {leads} {most.concept}: {most.attribute}, "
        f"{_first_step(most.centred, most.centred_low, most.centred_high)}{half}"
    )


# SPI


def _spi_charts(part: EmergencePart, shown: Sequence[EmergenceRecord]) -> Iterator[CurveChart]:
    """Yield the charts, all on one scale."""
    reach = max((abs(v) for one in part.emergence for v in (*one.low, *one.high)), default=0.0)
    half_scale = half_width(min(reach, 1.0))
    for one in shown:
        half = one.half_step
        told = f"half of the final lean by step {half}" if half else "no lean that images agree on"
        told += _centred(one)
        ends = " at the first step to ".join(_signed(one.mean[k]) for k in (0, -1))
        yield CurveChart(
            f"{one.concept}: {one.attribute}",
            one.mean,
            -half_scale,
            half_scale,
            f"{one.images} images; {told}",
            f"SPI from {ends} at the last of {len(one.mean)}; {told}",
            band=(one.low, one.high),
            curves=one.curves,
            marked=None if half is None else (half.low, half.high),
            form="signed",
        )


def _centred(one: EmergenceRecord) -> str:
    """Return the centred index of the first step with its band, in words."""
    if not one.centred:
        return ""
    first, low, high = (_signed(v[0]) for v in (one.centred, one.centred_low, one.centred_high))
    return f"; centred {first} [{low}, {high}] at step 1"


def _row(one: EmergenceRecord) -> tuple[Cell, ...]:
    return (
        f"{one.concept}: {one.attribute}",
        _first_step(one.mean, one.low, one.high),
        _first_step(one.centred, one.centred_low, one.centred_high),
        one.half_step,
    )


def _first_step(*band: Sequence[float]) -> str:
    """Return the mean of the first step with its band, in words."""
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(*(ends[0] for ends in band)) if band[0] else "none"


# denoising previews


def _foreseen_chart(one: ForeseenRecord) -> CurveChart:
    known = [share for share in one.shares if share is not None]
    missing = len(one.shares) - len(known)
    whole = [] if missing else known
    final = one.shares[-1]
    ends = f"{final.estimate:.2f} [{final.low:.2f}, {final.high:.2f}]" if final else ""
    settles = "" if one.settles is None else f"settles at step {one.settles}; "
    told = f"{settles}finished images {ends or 'no clear image'}"
    return CurveChart(
        f"{one.concept}: {one.looked_for}",
        tuple(share.estimate for share in whole),
        0.0,
        1.0,
        f"{told}{f'; {missing} steps without any label' if missing else ''}",
        f"share of {one.looked_for}, step by step; {told}",
        band=(tuple(share.low for share in whole), tuple(share.high for share in whole)),
        last="finished images",
        strips=one.strips,
        alt=STRIP,
        form="percent",
    )


def _signed(value: float) -> str:
    """Return a number such as ``+0.85``, with a true minus sign and without a sign at 0."""
    text = f"{value:+.2f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\u2212")
