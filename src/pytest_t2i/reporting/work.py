"""What a run had to do, in words: images made, read from a folder, or labelled by people."""

from __future__ import annotations

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.formatting import duration, early_stopping
from pytest_t2i.runs.record import RunRecord


def made_images(record: RunRecord, rate: str = "") -> str:
    """``4 made (0:02), 6 from the store``; of ready-made pictures read, of labelled ones how many.

    ``rate`` follows the images that were made in this run.
    """
    if not record.model:
        return f"{labelled_images(record)} with people's labels, none made"
    work = record.work
    done = "read from the folder" if work.get("is_ready_made") else "made"
    return f"{work['made']} {done}{rate if work['made'] else ''}, {unmade_images(record)}"


def labelled_images(record: RunRecord) -> int:
    """Images that detectors were tried on."""
    return max((trial.images for trial in record.trials), default=0)


def unmade_images(record: RunRecord) -> str:
    """Of the images that were not made: that the store had them, or that nobody came to them."""
    count = _others(record)
    if record.outcome is Outcome.INTERRUPTED:
        return f"{count} others in the store or not made yet"
    return f"{count} from the store"


def work_table(record: RunRecord) -> list[tuple[str, str]]:
    """The same and what detectors did, as rows."""
    work = dict(record.work)
    rows = list(_of_model(record)) if record.model else []
    if record.trials:
        rows.append(("Labelled by people", str(labelled_images(record))))
    rows.append(("Looked at by a detector", str(work.get("detected", 0))))
    if record.model:
        rows.append(("Time spent", duration(float(work.get("seconds", 0.0)))))
    return rows + [("Note", str(note)) for note in work.get("notes", ())]


def _of_model(record: RunRecord) -> list[tuple[str, str]]:
    work = dict(record.work)
    done = "Read from the folder" if work.get("is_ready_made") else "Made in this run"
    is_cut_short = record.outcome is Outcome.INTERRUPTED
    others = "In the store or not made yet" if is_cut_short else "From the store"
    rows = [
        ("Images needed", str(work.get("planned", 0))),
        (done, str(work.get("made", 0))),
        (others, str(_others(record))),
        ("Refused by the model", str(work.get("refused", 0))),
    ]
    if told := early_stopping(record):
        rows.insert(1, ("Early stopping", told.partition(": ")[2]))
    return rows


def _others(record: RunRecord) -> int:
    return max(int(record.work.get("planned", 0)) - int(record.work.get("made", 0)), 0)
