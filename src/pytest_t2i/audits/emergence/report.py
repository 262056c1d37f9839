"""The report of emergence: curves over the denoising steps (OASIS Fig. 6, 8 and 9)."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.emergence.measure import Emergence
from pytest_t2i.audits.emergence.predisposition import Predisposition
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.data import (
    FORESEEN,
    JPEG,
    VELOCITY,
    Attribute,
    Count,
    Interval,
    Number,
    Prompt,
    Share,
    ShareInterval,
    Strip,
    check_ends,
)
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.sections import Block, Cell, CurveChart, Note, Paragraph, Section, Table, half_width
from pytest_t2i.statistics.curves import Band
from pytest_t2i.verdicts.check import Check

if TYPE_CHECKING:
    from PIL.Image import Image

SHOWN = 12
"""Largest number of images whose own curves are kept."""
SHOWN_STRIPS = 4
"""Largest number of images whose film strips are kept."""
STRIP_SIZE = 72
"""Side of each picture in a film strip, in pixels."""


@dataclass(frozen=True, slots=True)
class EmergenceRecord:
    """How an attribute gets into a prompt's images, step by step."""

    id: str
    prompt: str
    """Id of the prompt."""
    concept: str
    attribute: str
    guidance: bool
    """Whether the values are of the velocity with guidance."""
    noise: tuple[Share, ...]
    """Share of noise in the latent at each step, from 1 to 0."""
    mean: tuple[Number, ...]
    """Mean SPI of each step; () without a band."""
    low: tuple[Number, ...]
    """Lower ends of a band that holds at all steps at once."""
    high: tuple[Number, ...]
    half_step: Interval | None
    """The step by which half of the final lean is reached; None where there is none."""
    images: Count
    absent: str
    """Why there is no band; "" where there is one."""
    curves: tuple[tuple[Number, ...], ...] = ()
    """SPI of some of the images, step by step."""
    centred: tuple[Number, ...] = ()
    """Mean centred index of each step; () without a band."""
    centred_low: tuple[Number, ...] = ()
    centred_high: tuple[Number, ...] = ()

    def __post_init__(self) -> None:
        centred = self.centred, self.centred_low, self.centred_high
        for mean, low, high in ((self.mean, self.low, self.high), centred):
            if {len(mean), len(low), len(high)} not in ({0}, {len(self.noise)}):
                raise ValueError(f"expected bands over {len(self.noise)} steps or none")
            for ends in zip(low, high, strict=True):
                check_ends(*ends)
        if any(len(curve) != len(self.noise) for curve in self.curves):
            raise ValueError(f"expected curves over {len(self.noise)} steps")


@dataclass(frozen=True, slots=True)
class ForeseenRecord:
    """Share of an attribute or a label among the denoising previews of each step."""

    id: str
    prompt: str
    """Id of the prompt."""
    concept: str
    looked_for: str
    """The attribute, or a label of the detector."""
    detector: str
    shares: tuple[ShareInterval | None, ...]
    """Share at each step, then of the finished images; None where no picture has a label."""
    undetected: tuple[Count, ...]
    """Number of pictures without a label at each step, last among the finished images."""
    settles: Count | None
    """The step from which the share stays within the finished images' interval."""
    strips: tuple[Strip, ...] = ()
    """Film strips, each with the denoising previews of one image: a small JPEG as a data URI."""


@dataclass(frozen=True, slots=True)
class EmergencePart:
    """The part of run.json that emergence writes."""

    emergence: tuple[EmergenceRecord, ...] = ()
    """SPI of each prompt and attribute, with guidance and without."""
    foreseen: tuple[ForeseenRecord, ...] = ()
    """Shares of each attribute or label among the denoising previews."""


def measured(context: AuditContext) -> EmergencePart | None:
    """Return what the tests of a run asked to be observed; None where they asked for nothing."""
    part = EmergencePart(tuple(_emergences(context)), tuple(_foreseens(context)))
    return part if part != EmergencePart() else None


def _emergences(context: AuditContext) -> Iterator[EmergenceRecord]:
    """Yield the records of every prompt and attribute, with guidance and without."""
    for test, prompt, attribute in _observed(context, VELOCITY):
        seeds = context.observations.distinct([prompt], context.seeds(prompt, test.images))
        for guidance in (True, False):
            emergence = Emergence(
                prompt, seeds, attribute, context.observations, context.instruments(test),
                context.settings.interval_level, guidance,
            )  # fmt: skip
            yield _emergence(emergence)


def _emergence(emergence: Emergence) -> EmergenceRecord:
    none = Band((), (), (), emergence.level, 0)
    band, centred = (
        variant.band or none for variant in (emergence, replace(emergence, center=True))
    )
    return EmergenceRecord(
        emergence.id,
        emergence.prompt.id,
        emergence.prompt.concept,
        emergence.attribute.name,
        emergence.guidance,
        tuple(emergence.noise.tolist()),
        band.mean,
        band.low,
        band.high,
        emergence.half_step,
        len(emergence.curves),
        emergence.absent,
        tuple(tuple(curve) for curve in emergence.curves[:SHOWN].round(4).tolist()),
        centred.mean,
        centred.low,
        centred.high,
    )


def _foreseens(context: AuditContext) -> Iterator[ForeseenRecord]:
    """Yield the records of every attribute, and of the labels of the deciding detector."""
    names: set[tuple[str, DetectorRef]] = set()
    for test, prompt, attribute in _observed(context, FORESEEN):
        sample = context.one_sample(prompt, test)
        predispositions = [sample.foreseen(attribute)] if attribute else []
        first, *other_labels = context.observations.labels(sample.ref)
        # With two labels, the share of one gives that of the other.
        labels = [first, *other_labels] if len(other_labels) > 1 else [first]
        predispositions += [sample.foreseen_label(label) for label in labels]
        for place, predisposition in enumerate(predispositions):
            name = predisposition.id, predisposition.ref
            if name not in names:
                names.add(name)
                yield _measured_foreseen(predisposition, strips=SHOWN_STRIPS if not place else 0)


def _measured_foreseen(predisposition: Predisposition, *, strips: int) -> ForeseenRecord:
    return ForeseenRecord(
        predisposition.id,
        predisposition.prompt.id,
        predisposition.prompt.concept,
        predisposition.looked_for,
        predisposition.ref.name,
        tuple(predisposition.shares) if predisposition.said else (),
        tuple(predisposition.undetected) if predisposition.said else (),
        predisposition.settles,
        tuple(
            _film_strip(pictures)
            for pictures in map(predisposition.strip, range(min(strips, len(predisposition.seeds))))
            if pictures
        ),
    )


def _observed(context: AuditContext, what: str) -> Iterator[tuple[AskedTest, Prompt, Any]]:
    """Yield each prompt and attribute with this observation once, with most images."""
    widest: dict[tuple[str, Attribute | None], tuple[AskedTest, Prompt, Any]] = {}
    for test in context.tests:
        if what not in test.selection.observe:
            continue
        plain = [(prompt, None) for prompt in test.selection.prompts] * (what == FORESEEN)
        for prompt, attribute in test.selection.subjects or plain:
            candidate = widest.get((prompt.text, attribute))
            if candidate is None or candidate[0].images < test.images:
                widest[prompt.text, attribute] = (test, prompt, attribute)
    yield from widest.values()


def _film_strip(pictures: Sequence[Image]) -> str:
    """Return the denoising previews of one image, side by side, as a data URI."""
    from PIL import Image as Images

    small = [picture.resize((STRIP_SIZE, STRIP_SIZE)) for picture in pictures]
    strip = Images.new("RGB", (STRIP_SIZE * len(small), STRIP_SIZE))
    for place, picture in enumerate(small):
        strip.paste(picture, (place * STRIP_SIZE, 0))
    buffer = io.BytesIO()
    strip.save(buffer, format="JPEG", quality=80)
    return JPEG + base64.b64encode(buffer.getvalue()).decode()


NAMED = ("id", "prompt", "concept", "attribute", "guidance")
BANDS = ("spi", "spi_low", "spi_high", "centred", "centred_low", "centred_high")


def frames(part: EmergencePart) -> Mapping[str, Frame]:
    """Return the tables of whole curves, of their steps, and of denoising previews."""
    curve_rows = [
        (*_named(record), record.images, record.half_step, record.absent)
        for record in part.emergence
    ]
    return {
        "emergence": Frame((*NAMED, "images", "half_step", "absent"), curve_rows, ("half_step",)),
        "emergence_steps": Frame(
            (*NAMED, "step", "noise", *BANDS),
            [row for record in part.emergence for row in _steps(record)],
        ),
        "foreseen_steps": Frame(
            ("id", "prompt", "concept", "looked_for", "detector", "step", "share", "undetected"),
            [row for record in part.foreseen for row in _foreseen(record)],
            ("share",),
        ),
    }


def _named(record: EmergenceRecord) -> Sequence[Any]:
    return record.id, record.prompt, record.concept, record.attribute, record.guidance


def _steps(record: EmergenceRecord) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each step; cells are empty where there is no band."""
    none = (None,) * len(record.noise)
    bands = (
        record.mean, record.low, record.high,
        record.centred, record.centred_low, record.centred_high,
    )  # fmt: skip
    columns = [band or none for band in bands]
    for step, (noise, *values) in enumerate(zip(record.noise, *columns, strict=True), 1):
        yield (*_named(record), step, noise, *values)


def _foreseen(record: ForeseenRecord) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each step and one for the finished images; unknown cells are empty."""
    columns = zip_longest(record.shares, record.undetected)
    for step, (share, undetected) in enumerate(columns, 1):
        yield (
            record.id, record.prompt, record.concept, record.looked_for, record.detector,
            step, share, undetected,
        )  # fmt: skip


SPI = (
    "SPI: how far each step of the making moves an image towards an attribute, from \u22121 to 1. "
    "Thin lines are single images, the thick one is their mean with a band that holds at all steps "
    "at once; shaded is the interval of the step by which half of the final lean is reached. "
    "The centred index says where a step lies between the descriptions, from \u22121 at the "
    "attribute\u2019s absence to 1 at its presence: use it to compare attributes, where the "
    "descriptions name the concept."
)
FORESEEN_NOTE = (
    "Share of denoising previews (the finished image as each step predicts it) that show the "
    "attribute or label, with intervals; the last share is that of the finished images. A film "
    "strip shows the previews of one image."
)
STRIP = "the denoising previews of one image, from the first step to the last"
COLUMNS = ("Emergence", "SPI", "Centred", "Half of the lean by step")
BY_STEP = "SPI of the first step"
BY_CHECK = "SPI of the first steps, as the tests judge it"


def sections(part: EmergencePart, run: Any) -> Sequence[Section]:
    """Return a section for SPI and one for denoising previews, where they were measured."""
    spi, foreseen = _spi(part, _judged(run)), _foreseen_blocks(part)
    drafts = (Section("Emergence of attributes", spi), Section("Denoising previews", foreseen))
    return [section for section in drafts if section.blocks]


Judged = Mapping[str, Check]
"""Subject of a check against a limit -> the check, whose interval is shown wherever one is."""


def _judged(run: Any) -> Judged:
    """Return the checks of emergence by subject; the first test of a subject counts."""
    judged: dict[str, Check] = {}
    for check in getattr(run, "checks", ()):
        of_emergence = check.metric in {"spi", "centred_spi"} and check.against == "limit"
        if of_emergence and check.interval is not None:
            judged.setdefault(check.subject, check)
    return judged


def _subject(record: EmergenceRecord, *, centred: bool) -> str:
    """Return the subject of the checks of a record's index."""
    return f"{record.prompt}-{record.attribute} centred" if centred else record.id


def summary(part: EmergencePart) -> Summary:
    """Return, in words, what the first step adds most of, and all curves as tables."""
    # A card has no checks beside it: an interval of its own could contradict theirs.
    return Summary(in_words(part, with_band=False), frames=frames(part))


def _spi(part: EmergencePart, judged: Judged) -> tuple[Block, ...]:
    records = _shown(part)
    if not records:
        return ()
    rows = tuple(_row(record, judged) for record in records)
    table = Table(BY_CHECK if judged else BY_STEP, COLUMNS, rows)
    charts = _spi_charts(part, records, judged)
    return (Note(SPI), *_paragraphs(part, judged), *charts, table)


def _foreseen_blocks(part: EmergencePart) -> tuple[Block, ...]:
    charts = [_foreseen_chart(record) for record in part.foreseen if record.shares]
    return (Note(FORESEEN_NOTE), *charts) if charts else ()


def _shown(part: EmergencePart) -> list[EmergenceRecord]:
    """Return the records with guidance, with which the images were made."""
    return [record for record in part.emergence if record.mean and record.guidance]


def _paragraphs(part: EmergencePart, judged: Judged) -> Iterator[Paragraph]:
    if text := _of_checks(part, judged) or in_words(part):
        yield Paragraph(text, "summary")


def _of_checks(part: EmergencePart, judged: Judged) -> str:
    """Return the attribute that the judged steps lead to most, in words; "" without a check."""
    leaning = [
        (check, record, kind)
        for centred, kind in ((True, "SPI, centred"), (False, "SPI"))
        for record in part.emergence
        if record.guidance and (check := judged.get(_subject(record, centred=centred))) is not None
    ]
    # Where both indices were judged, the centred one compares attributes.
    leaning = [entry for entry in leaning if entry[2] == leaning[0][2]]
    if not leaning:
        return ""
    check, most, kind = max(leaning, key=lambda entry: entry[0].estimate or 0.0)
    leads = "add most of" if (check.estimate or 0.0) > 0 else "lead to none, least away from"
    steps = next((f" ({remark})" for remark in check.remarks if "steps" in remark), "")
    return (
        f"emergence ({kind}): first steps {leads} {most.concept}: {most.attribute}, "
        f"{_ends(check)}{steps}"
    )


def in_words(part: EmergencePart, *, with_band: bool = True) -> str:
    """Return the attribute that the first step leads to most, in words; "" without any."""
    leaning = [
        (record.centred[0], record)
        for record in part.emergence
        if record.centred and record.guidance
    ]
    if not leaning:
        return ""
    first, most = max(leaning, key=lambda pair: pair[0])
    bands = most.centred, most.centred_low, most.centred_high
    half = f", half of it by step {most.half_step}" if most.half_step else ""
    leads = "adds most of" if first > 0 else "leads to none, least away from"
    return (
        f"emergence (SPI, centred): first step {leads} {most.concept}: {most.attribute}, "
        f"{_first_step(*bands) if with_band else f'{first:+.3f}'}{half}"
    )


# SPI


def _spi_charts(
    part: EmergencePart, records: Sequence[EmergenceRecord], judged: Judged
) -> Iterator[CurveChart]:
    """Yield the charts, all on one scale."""
    reach = max(
        (abs(v) for record in part.emergence for v in (*record.low, *record.high)), default=0.0
    )
    half_scale = half_width(min(reach, 1.0))
    for record in records:
        half = record.half_step
        note = f"half of the final lean by step {half}" if half else "no lean that images agree on"
        note += _centred(record, judged)
        ends = " at the first step to ".join(_signed(record.mean[k]) for k in (0, -1))
        yield CurveChart(
            f"{record.concept}: {record.attribute}",
            record.mean,
            -half_scale,
            half_scale,
            f"{record.images} images; {note}",
            f"SPI from {ends} at the last of {len(record.mean)}; {note}",
            band=(record.low, record.high),
            curves=record.curves,
            marked=None if half is None else (half.low, half.high),
            form="signed",
        )


def _centred(record: EmergenceRecord, judged: Judged) -> str:
    """Return the centred index in words: as judged, else that of the first step with its band."""
    if not record.centred:
        return ""
    if check := judged.get(_subject(record, centred=True)):
        return f"; centred {_ends(check)} as judged"
    first, low, high = (
        _signed(v[0]) for v in (record.centred, record.centred_low, record.centred_high)
    )
    return f"; centred {first} [{low}, {high}] at step 1"


def _row(record: EmergenceRecord, judged: Judged) -> tuple[Cell, ...]:
    bands = (
        (False, (record.mean, record.low, record.high)),
        (True, (record.centred, record.centred_low, record.centred_high)),
    )
    cells = []
    for centred, band in bands:
        # One interval for one question: the band of a single step holds at all steps at once, and
        # with few images it is wider than the interval that a test judges.
        if check := judged.get(_subject(record, centred=centred)):
            cells.append(_ends(check))
        else:
            at_step = " at step 1" if judged and band[0] else ""
            cells.append(f"{_first_step(*band)}{at_step}")
    return f"{record.concept}: {record.attribute}", *cells, record.half_step


def _ends(check: Check) -> str:
    return f"{check.estimate:+.3f} [{check.low:+.3f}, {check.high:+.3f}]"


def _first_step(*band: Sequence[float]) -> str:
    """Return the mean of the first step with its band, in words."""
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(*(ends[0] for ends in band)) if band[0] else "none"


# denoising previews


def _foreseen_chart(record: ForeseenRecord) -> CurveChart:
    shares = [share for share in record.shares if share is not None]
    missing = len(record.shares) - len(shares)
    curve = [] if missing else shares
    final = record.shares[-1]
    ends = f"{final.estimate:.2f} [{final.low:.2f}, {final.high:.2f}]" if final else ""
    settles = "" if record.settles is None else f"settles at step {record.settles}; "
    note = f"{settles}finished images {ends or 'no clear image'}"
    return CurveChart(
        f"{record.concept}: {record.looked_for}",
        tuple(share.estimate for share in curve),
        0.0,
        1.0,
        f"{note}{f'; {missing} steps without any label' if missing else ''}",
        f"share of {record.looked_for}, step by step; {note}",
        band=(tuple(share.low for share in curve), tuple(share.high for share in curve)),
        last="finished images",
        strips=record.strips,
        alt=STRIP,
        form="percent",
    )


def _signed(value: float) -> str:
    """Return a number such as ``+0.85``, with a true minus sign and without a sign at 0."""
    text = f"{value:+.2f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\u2212")
