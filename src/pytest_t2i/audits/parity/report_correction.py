"""What parity shows of people's labels: the score and the groups, before and after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.audits.parity.record import (
    CorrectedPrompt,
    CorrectionRecord,
    GroupCorrectionRecord,
    ParityPart,
)
from pytest_t2i.sections import Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check

HOW = (
    "People labelled {labels} of the images at random{where}. What {detector} gets wrong on them "
    "is taken off its word on all (prediction-powered inference)"
)


def corrected(part: ParityPart, checks: Sequence[Check]) -> Iterator[Section]:
    """The paper's score before and after people's labels; nothing without any."""
    correction = part.correction
    if correction is None:
        return
    by_people = next((check for check in checks if _is_by_people(check)), None)
    how = HOW.format(labels=correction.labels, where="", detector=correction.detector)
    yield Section(
        "Corrected by people's labels",
        (
            Note(f"{how}; intervals are for what people would say of these very images."),
            Paragraph(_in_words(correction, by_people), "summary"),
            Table(
                "Model bias score, paper's estimate",
                ("By", "Score"),
                tuple(_rows(correction, by_people)),
            ),
            _prompts(correction.prompts),
        ),
    )


def _is_by_people(check: Check) -> bool:
    return check.method.endswith("ppi++") and check.estimate is not None


def _in_words(correction: CorrectionRecord, judged: Check | None) -> str:
    both = "" if judged is None else f"; judged is {_ends(judged)}"
    more = (
        f"; {correction.labels_to_halve} more labels would halve the interval"
        if correction.labels_to_halve
        else ""
    )
    return (
        f"by people's labels on {correction.labels} images: paper's score "
        f"{correction.by_detector:.3f} by the detector, {correction.corrected} by people"
        f"{both}{more}"
    )


def _ends(check: Check) -> str:
    return f"{check.estimate:.3f} [{check.low:.3f}, {check.high:.3f}]"


def _rows(correction: CorrectionRecord, judged: Check | None) -> Iterator[tuple[Cell, ...]]:
    yield "the detector alone", correction.by_detector
    yield "people, estimated from their labels (PPI++)", correction.corrected
    if judged is not None:
        yield "what the verdict judges: by people, and corrected for few images", _ends(judged)
    if correction.adjusted is not None:
        # Its interval knows nothing of the images drawn, and covers a fair model's score never.
        told = "second opinion: adjusted count (Rogan-Gladen), no interval"
        yield told, correction.adjusted.estimate
    if correction.labels_to_halve:
        yield "labels more that would halve the interval", correction.labels_to_halve
    if correction.left_out:
        yield "prompts left out for want of labels", correction.left_out


def _prompts(prompts: Sequence[CorrectedPrompt]) -> Table:
    rows = tuple((p.id, p.by_detector, p.corrected, p.labels) for p in prompts)
    columns = ("Prompt", "By the detector", "By people [interval]", "Labels")
    return Table(f"{len(rows)} prompts", columns, rows, "detail", 2, form="signed")


def corrected_groups(part: ParityPart) -> Iterator[Section]:
    """Shares of a detector's groups before and after people's labels; nothing without any."""
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
            Paragraph(_groups_in_words(correction), "summary"),
            Table("Share of the clear images", ("Group", "By the detector", "By people"), rows),
        ),
    )


def _groups_in_words(correction: GroupCorrectionRecord) -> str:
    shares = ", ".join(
        f"{name} {'-' if own is None else f'{own:.3f}'} -> {share}"
        for name, share in correction.corrected.items()
        for own in (correction.by_detector[name],)
    )
    return f"by people's labels on {correction.labels} images, {correction.detector}: {shares}"
