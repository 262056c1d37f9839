"""Emergence: at which denoising steps an attribute gets into the images (OASIS eq. 10-11, 4.6).

It measures SPI, and what the denoising preview of each step shows. Tests use the fixtures
``sample`` and ``stereotype``.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, attributes
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import (
    FORESEEN,
    JPEG,
    VELOCITY,
    Attribute,
    Interval,
    Prompt,
    Row,
    Scalar,
    digest,
)
from pytest_t2i.sections import Block, CurveChart, Note, Paragraph, Section, Table, half_width

if TYPE_CHECKING:
    from PIL.Image import Image

    from pytest_t2i.audits.emergence.measure import Emergence
    from pytest_t2i.audits.emergence.predisposition import Predisposition
    from pytest_t2i.generation.plan import DetectorRef, Need

SPI, CENTRED = "spi", "centred_spi"
SHARE, SETTLED = "foreseen_share", "settled_step"
"""Metrics of denoising previews: a step's share of the attribute or label, and the step from which
on the share stays within the interval of the finished images."""
SHOWN, SHOWN_STRIPS = 12, 4
"""Largest numbers of images whose own curves, and whose film strips, are kept."""
SIDE = 72
"""Side of each picture in a film strip, in pixels."""
FORESEEN_NOTE = (
    "Share of denoising previews (the finished image as each step predicts it) that show the "
    "attribute or label, with intervals; the last share is that of the finished images. A film "
    "strip shows the previews of one image."
)
STRIP = "the denoising previews of one image, from the first step to the last"
COLUMNS = ("Emergence", "SPI", "Centred")
BY_STEP = "SPI of the first step"
BY_CHECK = "SPI of the first steps, as the tests judge it"
Key = tuple[str, Scalar]
"""Subject of a curve, and what tells it apart from another one of the same name."""
Judged = Mapping[str, tuple[Interval, str]]
"""Subject of a check against a limit -> its interval, which is shown wherever one is, and its steps
in words."""


class EmergenceAudit(Audit):
    """The audit of how an attribute gets into a prompt's images, step by step."""

    name, place = "emergence", 70
    of_sample = attributes(
        f"{__name__}.sample_members:PromptEmergence", "spi", "foreseen", "foreseen_label"
    )
    title = "Emergence of attributes"
    reading = (
        "SPI: how far each step of the making moves an image towards an attribute, from \u22121 to "
        "1. Thin lines are single images, the thick one is their mean with a band that holds at "
        "all steps at once. The centred index says where a step lies between the descriptions, "
        "from \u22121 at the attribute\u2019s absence to 1 at its presence: use it to compare "
        "attributes, where the descriptions name the concept."
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterator[Need]:
        """Return the need for velocities compared with descriptions, and for denoising previews."""
        from pytest_t2i.audits.emergence import measure, predisposition

        yield from measure.needs(context, test)
        yield from predisposition.needs(context, test)

    def rows(self, context: AuditContext) -> Iterator[Row | Block]:
        """Yield the rows of every curve, with curves of single images and film strips."""
        names: set[str] = set()
        for emergence in _emergences(context):
            header, *steps = _curve_rows(emergence, names)
            yield from (header, *steps)
            if emergence.band is not None:
                curves = emergence.curves[:SHOWN].round(4).tolist()
                curve_tuples = tuple(map(tuple, curves))
                yield CurveChart(_name(header), emergence.band.mean, -1.0, 1.0, curves=curve_tuples)
        for foreseen, strips in _foreseens(context):
            header, *steps = _foreseen_rows(foreseen, names)
            yield from (header, *steps)
            yield CurveChart(_name(header), (), 0.0, 1.0, strips=_strips(foreseen, strips))

    def in_words(self, rows: Rows) -> str:
        """Return the attribute that the first step leads to most, by its band; "" without any."""
        curves = _curves(rows, CENTRED)
        leaning = [
            (curves[key][0], header)
            for header in _headers(rows)
            if (key := _key(header, centred=True)) in curves
        ]
        if not leaning:
            return ""
        first, most = max(leaning, key=lambda pair: pair[0].estimate)
        leads = "adds most of" if first.estimate > 0 else "leads to none, least away from"
        return f"emergence (SPI, centred): first step {leads} {_title(most)}, {_ends(first)}"

    def sections(self, rows: Rows, run: Any) -> Sequence[Section]:
        """Return a section for SPI and one for denoising previews, where they were measured."""
        lines = []
        if spi := _spi_blocks(rows, run):
            line = _of_checks(rows, _judged(run)) or self.in_words(rows)
            paragraphs = [Paragraph(line, "summary")] if line else []
            lines.append(Section(self.title, (*paragraphs, Note(self.reading), *spi)))
        if charts := tuple(_foreseen_charts(rows)):
            lines.append(Section("Denoising previews", (Note(FORESEEN_NOTE), *charts)))
        return lines


# what is measured


def _emergences(context: AuditContext) -> Iterator[Emergence]:
    """Yield every prompt and attribute, with guidance and without."""
    from pytest_t2i.audits.emergence.measure import Emergence

    for test, prompt, attribute in _observed(context, VELOCITY):
        seeds = context.observations.distinct([prompt], context.seeds(prompt, test.images))
        for guidance in (True, False):
            yield Emergence(
                prompt, seeds, attribute, context.observations, context.instruments(test),
                context.settings.interval_level, guidance,
            )  # fmt: skip


def _foreseens(context: AuditContext) -> Iterator[tuple[Predisposition, int]]:
    """Yield every attribute, and labels of the deciding detector, with its number of strips."""
    pairs: set[tuple[str, DetectorRef]] = set()
    for test, prompt, attribute in _observed(context, FORESEEN):
        sample = context.one_sample(prompt, test)
        foreseen = [sample.foreseen(attribute)] if attribute else []
        first, *further = context.observations.labels(sample.ref)
        # With two labels, the share of one gives that of the other.
        labels = [first, *further] if len(further) > 1 else [first]
        foreseen += [sample.foreseen_label(label) for label in labels]
        for place, curve in enumerate(foreseen):
            if (curve.id, curve.ref) not in pairs:
                pairs.add((curve.id, curve.ref))
                yield curve, 0 if place else SHOWN_STRIPS


def _observed(context: AuditContext, what: str) -> Iterable[tuple[AskedTest, Prompt, Any]]:
    """Return each prompt and attribute with this observation once, with most images."""
    widest: dict[tuple[str, Attribute | None], tuple[AskedTest, Prompt, Any]] = {}
    for test in context.tests:
        if what not in test.selection.observe:
            continue
        plain = [(prompt, None) for prompt in test.selection.prompts] * (what == FORESEEN)
        for prompt, attribute in test.selection.subjects or plain:
            candidate = widest.get((prompt.text, attribute))
            if candidate is None or candidate[0].images < test.images:
                widest[prompt.text, attribute] = (test, prompt, attribute)
    return widest.values()


def _curve_rows(emergence: Emergence, names: set[str]) -> Iterator[Row]:
    apart = _apart(f"{SPI} {emergence.id}", emergence.attribute, names)
    facts: dict[str, Scalar] = {
        "name": emergence.attribute.name,
        "concept": emergence.prompt.concept,
        "prompt": emergence.prompt.id,
        "guidance": emergence.guidance,
    }
    mean, images = emergence.mean(1.0).interval, {"images": len(emergence.curves)}
    yield Row(SPI, emergence.id, "prompt", mean, apart, facts, images, emergence.absent)
    noise = emergence.noise.tolist()
    curves = [(SPI, emergence)]
    if emergence.guidance:  # which has no effect on the centred index
        curves.append((CENTRED, replace(emergence, center=True)))
    for metric, interval in curves:
        for step, value in enumerate(_band_of(interval), 1):
            step_facts = facts | {"noise": noise[step - 1]}
            yield Row(metric, interval.id, "step", value, {"step": step, **apart}, step_facts)


def _band_of(emergence: Emergence) -> Iterator[Interval]:
    """Yield the mean of each step with its band; nothing without a band."""
    if (band := emergence.band) is not None:
        for ends in zip(band.mean, band.low, band.high, strict=True):
            yield Interval(*ends, band.level, "simultaneous band", band.n)


def _foreseen_rows(foreseen: Predisposition, names: set[str]) -> Iterator[Row]:
    apart = _apart(f"{SETTLED} {foreseen.id}", foreseen.ref.attribute, names)
    facts: dict[str, Scalar] = {
        "name": foreseen.looked_for,
        "concept": foreseen.prompt.concept,
        "prompt": foreseen.prompt.id,
        "detector": foreseen.ref.name,
    }
    settles, images = foreseen.settles, {"images": len(foreseen.said)}
    value = None if settles is None else float(settles)
    why = "a step has no label" if foreseen.said else "this model shows no denoising previews"
    absent = "" if value else why
    yield Row(SETTLED, foreseen.id, "prompt", value, apart, facts, images, absent)
    pairs = zip(foreseen.shares, foreseen.undetected, strict=True) if foreseen.said else ()
    for step, (share, undetected) in enumerate(pairs, 1):
        yield Row(
            SHARE,
            foreseen.id,
            "step",
            share,
            {"step": step, **apart},
            facts | {"is_finished": step > foreseen.steps},
            images | {"undetected": undetected},
            "" if share else "no picture has a label",
        )


def _apart(name: str, attribute: Attribute | None, names: set[str]) -> dict[str, Scalar]:
    """Return what tells a curve apart from an earlier one of its name; {} for the first."""
    is_first = name not in names
    names.add(name)
    texts = [attribute.positive, attribute.negative] if attribute else []
    return {} if is_first else {"descriptions": digest(texts)[:8]}


def _strips(foreseen: Predisposition, most: int) -> tuple[str, ...]:
    """Return the film strips of the first images that have denoising previews."""
    strips = map(foreseen.strip, range(min(most, len(foreseen.seeds))))
    return tuple(_film_strip(pictures) for pictures in strips if pictures)


def _film_strip(pictures: Sequence[Image]) -> str:
    """Return the denoising previews of one image, side by side, as a data URI."""
    from PIL import Image as Images

    strip = Images.new("RGB", (SIDE * len(pictures), SIDE))
    for place, picture in enumerate(pictures):
        strip.paste(picture.resize((SIDE, SIDE)), (place * SIDE, 0))
    buffer = io.BytesIO()
    strip.save(buffer, format="JPEG", quality=80)
    return JPEG + base64.b64encode(buffer.getvalue()).decode()


# what is shown


def _headers(rows: Rows) -> list[Row]:
    """Return the rows of whole curves with guidance, with which the images were made."""
    return [row for row in rows.of(SPI, "prompt") if row.facts["guidance"]]


def _key(header: Row, *, centred: bool = False) -> Key:
    subject = f"{header.facts['prompt']}-{header.name} centred" if centred else header.subject
    return subject, header.dims.get("descriptions")


def _name(header: Row) -> str:
    """Return the title of the draft of a curve, which holds what no row does."""
    return " ".join([header.metric, *map(str, _key(header))])


def _drafts(rows: Rows) -> dict[str, CurveChart]:
    return {draft.title: draft for draft in rows.pictures if isinstance(draft, CurveChart)}


def _steps(rows: Rows, metric: str) -> dict[Key, list[Interval | None]]:
    steps: dict[Key, list[Interval | None]] = {}
    for row in rows.of(metric, "step"):
        key = row.subject, row.dims.get("descriptions")
        steps.setdefault(key, []).append(row.interval)
    return steps


def _curves(rows: Rows, metric: str) -> dict[Key, list[Interval]]:
    """Return the bands of SPI, which are known at each step."""
    steps = _steps(rows, metric)
    return {
        key: [interval for interval in band if interval is not None] for key, band in steps.items()
    }


def _title(header: Row) -> str:
    return f"{header.facts['concept']}: {header.name}"


def _judged(run: Any) -> Judged:
    """Return what checks of emergence judged; the first test of a subject counts."""
    judged: dict[str, tuple[Interval, str]] = {}
    for check in run.checks:
        of_emergence = check.metric in {SPI, CENTRED} and check.against == "limit"
        if of_emergence and check.interval is not None:
            steps = next((f" ({remark})" for remark in check.remarks if "steps" in remark), "")
            judged.setdefault(check.subject, (check.interval, steps))
    return judged


def _of_checks(rows: Rows, judged: Judged) -> str:
    """Return the attribute that the judged steps lead to most, in words; "" without a check."""
    # Where both indices were judged, the centred one compares attributes.
    for centred, kind in ((True, "SPI, centred"), (False, "SPI")):
        keys = [(_key(header, centred=centred)[0], header) for header in _headers(rows)]
        leaning = [(judged[subject], header) for subject, header in keys if subject in judged]
        if leaning:
            (value, steps), most = max(leaning, key=lambda pair: pair[0][0].estimate)
            leads = "add most of" if value.estimate > 0 else "lead to none, least away from"
            return f"emergence ({kind}): first steps {leads} {_title(most)}, {_ends(value)}{steps}"
    return ""


def _spi_blocks(rows: Rows, run: Any) -> tuple[Block, ...]:
    """Return the charts of all curves with a band on one scale, and a table; () without any."""
    judged, drafts = _judged(run), _drafts(rows)
    bands, centred = _curves(rows, SPI), _curves(rows, CENTRED)
    ends = [
        abs(end)
        for band in bands.values()
        for interval in band
        for end in (interval.low, interval.high)
    ]
    scale = half_width(min(max(ends, default=0.0), 1.0))
    charts, cells = [], []
    for header in _headers(rows):
        if band := bands.get(_key(header)):
            key = _key(header, centred=True)
            index = centred.get(key, ())
            note = _spi_note(index, judged.get(key[0]))
            charts.append(_spi_chart(header, band, scale, note, drafts.get(_name(header))))
            firsts = _first(band, header.subject, judged), _first(index, key[0], judged)
            cells.append((_title(header), *firsts))
    table = Table(BY_CHECK if judged else BY_STEP, COLUMNS, tuple(cells))
    return (*charts, table) if charts else ()


def _spi_chart(
    header: Row, band: Sequence[Interval], scale: float, note: str, draft: CurveChart | None
) -> CurveChart:
    mean = tuple(interval.estimate for interval in band)
    ends = " at the first step to ".join(_signed(mean[k]) for k in (0, -1))
    return CurveChart(
        _title(header),
        mean,
        -scale,
        scale,
        f"{header.counts['images']} images{note}",
        f"SPI from {ends} at the last of {len(mean)}{note}",
        band=_band(band),
        curves=() if draft is None else draft.curves,
        form="signed",
    )


def _spi_note(centred: Sequence[Interval], judged: tuple[Interval, str] | None) -> str:
    """Return the centred index in words: as judged, else that of the first step; "" for none."""
    if not centred:
        return ""
    if judged is not None:
        return f"; centred {_ends(judged[0])} as judged"
    first, low, high = (_signed(x) for x in (centred[0].estimate, centred[0].low, centred[0].high))
    return f"; centred {first} [{low}, {high}] at step 1"


def _first(band: Sequence[Interval], subject: str, judged: Judged) -> str:
    """Return a judged index, else that of the first step.

    One interval for one question: the band of a single step holds at all steps at once, and with
    few images it is wider than the interval that a test judges.
    """
    if subject in judged:
        return _ends(judged[subject][0])
    return f"{_ends(band[0])}{' at step 1' if judged else ''}" if band else "none"


def _foreseen_charts(rows: Rows) -> Iterator[CurveChart]:
    drafts, shares = _drafts(rows), _steps(rows, SHARE)
    for header in rows.of(SETTLED, "prompt"):
        if every := shares.get(_key(header)):
            draft = drafts.get(_name(header))
            yield _foreseen_chart(header, every, () if draft is None else draft.strips)


def _foreseen_chart(
    header: Row, every: Sequence[Interval | None], strips: tuple[str, ...]
) -> CurveChart:
    shares = [share for share in every if share is not None]
    missing, final = len(every) - len(shares), every[-1]
    curve = [] if missing else shares
    ends = f"{final.estimate:.2f} [{final.low:.2f}, {final.high:.2f}]" if final else ""
    settles = "" if header.value is None else f"settles at step {header.value:.0f}; "
    note = f"{settles}finished images {ends or 'no clear image'}"
    return CurveChart(
        _title(header),
        tuple(share.estimate for share in curve),
        0.0,
        1.0,
        f"{note}{f'; {missing} steps without any label' if missing else ''}",
        f"share of {header.name}, step by step; {note}",
        band=_band(curve),
        last="finished images",
        strips=strips,
        alt=STRIP,
        form="percent",
    )


def _band(values: Sequence[Interval]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(interval.low for interval in values), tuple(each.high for each in values)


def _ends(value: Interval) -> str:
    return f"{value.estimate:+.3f} [{value.low:+.3f}, {value.high:+.3f}]"


def _signed(value: float) -> str:
    """Return a number such as ``+0.85``, with a true minus sign and without a sign at 0."""
    text = f"{value:+.2f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\u2212")
