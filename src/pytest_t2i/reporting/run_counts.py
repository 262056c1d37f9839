"""The counts of a run in words: images made, from the store, read from a folder, or labelled."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_t2i.adapters.support.fault_counts import fault_words
from pytest_t2i.data import Money, Outcome
from pytest_t2i.errors import some
from pytest_t2i.reporting.formatting import duration, early_stopping
from pytest_t2i.runs.earlier_looks import looks_in_words
from pytest_t2i.runs.record import RunRecord


def made_images(record: RunRecord, rate: str = "") -> str:
    """Return the counts of images: ``4 made (0:02), 6 from the store``.

    Ready-made images were "read from the folder"; a run without a model has labelled images alone.
    ``rate`` stands after the number of images made.
    """
    if not record.model:
        return f"{labelled_images(record)} with people's labels, none made"
    work = record.done
    done = "read from the folder" if work.is_ready_made else "made"
    return f"{work.made} {done}{rate if work.made else ''}, {_unmade_images(record)}"


def labelled_images(record: RunRecord) -> int:
    """Return the number of labelled images on which detectors were evaluated."""
    found = record.provenance.get("labelled images")
    images = found.get("images") if isinstance(found, Mapping) else 0
    return images if isinstance(images, int) else 0


def _unmade_images(record: RunRecord) -> str:
    """Return the number of images that this run did not make, with their source."""
    count = _others(record)
    if record.outcome is Outcome.INTERRUPTED:
        return f"{count} others in the store or not made yet"
    return f"{count} from the store"


def paid(record: RunRecord) -> str:
    """Return ``spent 0.48 USD, saved 0.24 USD``; "" if no price is known.

    For an interrupted run the saved amount is unknown and left out.
    """
    work = record.done
    if work.spent is None or record.outcome is Outcome.INTERRUPTED:
        return "" if work.spent is None else f"spent {work.spent}"
    return f"spent {work.spent}, saved {work.saved}"


def tried(record: RunRecord) -> str:
    """Return ``10 requests to try the seeds (0.40 USD)``; "" without such requests."""
    work = record.done
    return _requests(work.probed, TRYING, work.spent_on_seeds)


def watched(record: RunRecord) -> str:
    """Return ``10 requests of the canary (0.40 USD)``; "" without such requests."""
    work = record.done
    return _requests(work.canary, "of the canary", work.spent_on_canary)


def failed(record: RunRecord) -> str:
    """Return ``faults of the endpoint: busy (HTTP 429): 12, broken connection: 3``, or ""."""
    met = record.done.faults
    return f"faults of the endpoint: {fault_words(met)}" if met else ""


def distinct_words(record: RunRecord) -> str:
    """Return ``57 of 60``, with what repeats and which prompts have no verdict; "" if unknown."""
    found = record.distinct
    if found is None:
        return ""
    words = [f"{found.distinct} of {found.pictures}"]
    if repeated := found.pictures - found.distinct:
        words.append(f"{repeated} repeat another picture of their prompt and do not count")
    if names := found.without_verdict:
        words.append(f"no verdict for {some(names, MOST_NAMED)}, where more than a tenth repeat")
    if found.nearly_equal:
        words.append(f"{found.nearly_equal} are nearly equal to another one, and count")
    return "; ".join(words)


def looks_words(record: RunRecord) -> str:
    """Return ``2 runs, with 20 and 40 images``: who judged these tests before; "" for nobody."""
    return looks_in_words(record.looked_at_before)


MOST_NAMED = 5
"""Largest number of prompts that a line names."""
TRYING = "to try the seeds"


def _requests(count: int, what: str, spent: Money | None) -> str:
    cost = f" ({spent})" if spent is not None else ""
    return f"{count} requests {what}{cost}" if count else ""


def work_table(record: RunRecord) -> list[tuple[str, str]]:
    """Return all counts of a run as (name, value) rows."""
    work = record.done
    rows = list(_of_model(record)) if record.model else []
    if labelled := labelled_images(record):
        rows.append(("Labelled by people", str(labelled)))
    rows.append(("Looked at by a detector", str(work.detected)))
    if record.model:
        rows.append(("Time spent", duration(work.seconds)))
    return rows + [("Note", str(note)) for note in work.notes]


def _of_model(record: RunRecord) -> list[tuple[str, str]]:
    work = record.done
    done = "Read from the folder" if work.is_ready_made else "Made in this run"
    is_cut_short = record.outcome is Outcome.INTERRUPTED
    others = "In the store or not made yet" if is_cut_short else "From the store"
    rows = [
        ("Images needed", str(work.planned)),
        (done, str(work.made)),
        (others, str(_others(record))),
        ("Refused by the model", str(work.refused)),
    ]
    if words := distinct_words(record):
        rows.append(("Distinct pictures", words))
    if looks := looks_words(record):
        rows.append(("Looked at before", looks))
    if work.probed:
        rows.append((f"Requests {TRYING}", str(work.probed)))
    if work.canary:
        rows.append(("Requests of the canary", str(work.canary)))
    if work.faults:
        rows.append(("Faults of the endpoint", fault_words(work.faults)))
    if work.spent is not None:
        rows.append(("Spent", f"{work.spent} ({work.paid} requests at {work.price})"))
        if not is_cut_short:
            rows.append(("Saved by the store", str(work.saved)))
    if stopped := early_stopping(record):
        rows.insert(1, ("Early stopping", stopped.partition(": ")[2]))
    return rows


def _others(record: RunRecord) -> int:
    return max(record.done.planned - record.done.made, 0)
