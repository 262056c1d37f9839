"""The report of corrections by people's labels: the score and the groups, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.audits.parity.record import (
    CorrectedPrompt,
    CorrectionRecord,
    GroupCorrectionRecord,
    ParityPart,
)
from pytest_t2i.audits.peoples_labels import of_annotators
from pytest_t2i.audits.summary import Frame
from pytest_t2i.sections import Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check

HOW = (
    "People labelled {labels} of the images at random{where}. The errors of {detector} on them "
    "correct its labels on all images (prediction-powered inference)"
)


def corrected(part: ParityPart, checks: Sequence[Check]) -> Iterator[Section]:
    """Yield the section of the corrected score; nothing without people's labels."""
    correction = part.correction
    if correction is None:
        return
    if not correction.prompts:
        yield _weighted_section(correction, corrected_in_words(part, checks))
        return
    how = HOW.format(labels=correction.labels, where="", detector=correction.detector)
    rows = tuple(_rows(correction))
    more = (Table("Labels", ("What", "Value"), rows, "detail"),) if rows else ()
    yield Section(
        "Corrected by people's labels",
        (
            Note(
                f"{how}; the bars of prompts, the most biased prompts, verdicts and this table "
                "are corrected alike. The counts of an image's labels are the detector's own."
            ),
            Paragraph(corrected_in_words(part, checks), "summary"),
            *more,
            _prompts(correction.prompts),
        ),
    )


def _weighted_section(correction: CorrectionRecord, told: str) -> Section:
    """Return the section for labels of images that were drawn where the detector is unsure."""
    how = (
        f"People labelled {correction.labels} images, drawn with known probabilities where "
        f"{correction.detector} is unsure. Its errors on them, weighted by 1 / probability, "
        "correct the model bias score; prompts keep the predicted labels; "
        "the same score stands in the verdict."
    )
    return Section("Corrected by people's labels", (Note(how), Paragraph(told, "summary")))


def corrected_in_words(part: ParityPart, checks: Sequence[Check] = ()) -> str:
    """Return the corrected score in words, with the number of labels and the uncorrected score."""
    correction = part.correction
    if correction is None:
        return ""
    model = next((s for s in part.of_deciding() if s.is_of_model), None)
    judged = next((check for check in checks if _is_by_people(check)), None)
    beside = f"{correction.by_detector:.3f}"
    if model is not None and model.uncorrected is not None:
        beside = f"{model.uncorrected.estimate:.3f}"
    score = str(correction.corrected)
    if judged is not None:
        score = f"{judged.estimate:.3f} [{judged.low:.3f}, {judged.high:.3f}]"
    elif model is not None and model.uncorrected is not None:
        score = str(model.corrected)
    more = (
        f"; {correction.labels_to_halve} more labels would halve the labels' part of the interval"
        if correction.labels_to_halve
        else ""
    )
    by = by_labels(correction.labels, correction.annotators)
    return f"{by}: model bias score {score} (uncorrected {beside}){more}"


def by_labels(labels: int, annotators: int | None) -> str:
    """Return ``corrected by 30 labels of 2 annotators`` with these numbers."""
    return f"corrected by {labels} labels{of_annotators(annotators)}"


def _is_by_people(check: Check) -> bool:
    of_model = (check.metric, check.subject, check.against) == (
        "model_bias_score",
        "model",
        "limit",
    )
    return of_model and check.is_by_people and check.estimate is not None


def _rows(correction: CorrectionRecord) -> Iterator[tuple[Cell, ...]]:
    if correction.adjusted is not None:
        # Its interval leaves out the sampling of images, and never covers a fair model's score.
        told = "second opinion: adjusted count (Rogan-Gladen), no interval"
        yield told, correction.adjusted.estimate
    if correction.left_out:
        yield "prompts left out with too few labels", correction.left_out


def _prompts(prompts: Sequence[CorrectedPrompt]) -> Table:
    rows = tuple((p.id, p.by_detector, p.corrected, p.labels) for p in prompts)
    columns = ("Prompt", "By the detector", "By people [interval]", "Labels")
    title = "1 prompt" if len(rows) == 1 else f"{len(rows)} prompts"
    return Table(title, columns, rows, "detail", 2, form="signed")


def corrected_groups(part: ParityPart) -> Iterator[Section]:
    """Yield the section of groups before and after people's labels; nothing without any."""
    correction = part.group_correction
    if correction is None:
        return
    where = f", on {correction.prompts} prompts"
    how = HOW.format(labels=correction.labels, where=where, detector=correction.detector)
    out = f" {correction.left_out} prompts have too few labels." if correction.left_out else ""
    rows = tuple(
        (name, correction.by_detector[name], share) for name, share in correction.corrected.items()
    )
    yield Section(
        "Groups corrected by people's labels",
        (
            Note(f"{how}.{out}"),
            Paragraph(corrected_groups_in_words(correction), "summary"),
            Table("Share of the clear images", ("Group", "By the detector", "By people"), rows),
        ),
    )


def corrected_groups_in_words(correction: GroupCorrectionRecord) -> str:
    """Return distance and shares in a line, with the uncorrected distance."""
    shares = ", ".join(f"{name} {share}" for name, share in correction.corrected.items())
    by = by_labels(correction.labels, correction.annotators)
    far = "" if correction.distance is None else f"distance from even {correction.distance}"
    own = correction.distance_by_detector
    beside = f" (uncorrected {own:.3f})" if far and own is not None else ""
    told = "; ".join(filter(None, (f"{far}{beside}", shares)))
    return f"{by}, {correction.detector}: {told}"


def correction_frames(part: ParityPart) -> dict[str, Frame]:
    """Return the corrected scores of the model and of prompts, for pandas and CSV."""
    known = part.correction
    model = () if known is None else (
        (
            known.detector, known.labels, known.annotators, known.left_out, known.by_detector,
            known.corrected,
        ),
    )  # fmt: skip
    prompts = () if known is None else known.prompts
    return {
        "correction": Frame(
            ("detector", "labels", "annotators", "left_out", "by_detector", "corrected"),
            model,
            ("corrected",),
        ),
        "corrected_prompts": Frame(
            ("id", "labels", "by_detector", "corrected"),
            [(one.id, one.labels, one.by_detector, one.corrected) for one in prompts],
            ("corrected",),
        ),
    }
