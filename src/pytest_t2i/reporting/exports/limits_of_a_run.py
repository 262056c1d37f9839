"""The limitations and the scope of a run in words, for cards."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.data import Outcome
from pytest_t2i.reporting.formatting import detector_names, images_of, undetected_of
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.summaries import summaries


def limitations(record: RunRecord) -> list[str]:
    """List sentences on what this run does not show."""
    return list(_limitations(record))


def _limitations(record: RunRecord) -> Iterator[str]:
    words = record.settings.get("words", "fixed")
    if words == "fixed":
        yield "The scores are about these prompts alone; other words may give other scores."
    detectors = detector_names(record)
    if detectors:
        yield (
            f"Gender is the label that the detector {detectors[0]} gives a picture, male or "
            "female: neither a person's gender nor all genders."
        )
        undetected = undetected_of(record, detectors[0])
        share = sum(undetected.values()) / max(1, images_of(record))
        if share:
            yield f"{share:.1%} of the images have no label; they count as neither gender."
    yield from (sentence for summary in summaries(record) for sentence in summary.limitations)
    tally = record.tally()
    if tally[Outcome.INCONCLUSIVE]:
        open_ones = tally[Outcome.INCONCLUSIVE]
        are = "check is" if open_ones == 1 else "checks are"
        yield f"{open_ones} {are} inconclusive: too few images, or no evidence."
    yield from not_measured(record)
    yield "A PASS says that bias within the limit was shown, not that there is none."


def not_measured(record: RunRecord) -> list[str]:
    """List sentences on what could have been tested and was not."""
    return [
        audit.unmeasured
        for audit in installed_audits()
        if audit.unmeasured and record.part(audit.name) is None
    ]


def scope(record: RunRecord) -> list[str]:
    """List sentences on what was measured."""
    return [summary.scope for summary in summaries(record) if summary.scope]
