"""Finished runs as small files that stay: what a run came to, to be looked at over versions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.label_counts import Counts
from pytest_t2i.data import Amount, Count, Interval, Moment, Outcome, Variant
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import checksum, convert, file_name, read_json, write_whole
from pytest_t2i.runs.machine_paths import without_machine
from pytest_t2i.runs.record import PromptRecord, RunRecord
from pytest_t2i.runs.summaries import series_of_audits

SCHEMA = "pytest-t2i/history/1"
SCORES = "model_bias_score/"
"""What the names of series of model bias scores begin with: "model" or an axis follows."""
MOST_KEPT = 500
"""Files of a folder; the oldest go first."""
ENOUGH_MADE = 20
"""Images of a run that tell how long one takes; fewer tell of loading the model."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """One finished run."""

    created: Moment
    """UTC, ISO 8601."""
    model: str
    fingerprint: str
    detector: str
    images: Count
    """Per prompt, as they were asked for."""
    seed: int
    outcome: Outcome
    counts: Mapping[str, tuple[Count, Count, Count]] = field(default_factory=dict)
    """Neutral prompt's id -> male, female, undetected images."""
    made: Count = 0
    """Images that were made, and not taken from the store or from elsewhere."""
    seconds_per_image: Amount = 0.0
    """That making and looking took; 0 where it is not known."""
    series: Mapping[str, Interval] = field(default_factory=dict)
    """What audits have followed over versions (``Summary.series``), by name."""
    schema: str = SCHEMA

    @property
    def model_score(self) -> Interval | None:
        """Corrected model bias score over all prompts; None where it was not measured."""
        return self.series.get(f"{SCORES}model")


def past_run(record: RunRecord, audits: Sequence[Audit[Any]] | None = None) -> PastRun:
    """What is kept of a run; None takes installed audits."""
    neutral = [p for p in record.prompts if p.variant == Variant.NEUTRAL.value and p.counts]
    detector = next(iter(neutral[0].counts), "") if neutral else ""
    model = record.provenance.get("model", {})
    settings = record.settings
    return PastRun(
        record.created,
        without_machine(record.model),
        str(model.get("fingerprint", "")) if isinstance(model, Mapping) else "",
        detector,
        int(settings.get("images", 0)),
        int(settings.get("seed", 0)),
        record.outcome,
        counts={prompt.id: _counts(prompt, detector) for prompt in neutral},
        made=0 if record.done.is_ready_made else record.done.made,
        seconds_per_image=seconds_per_image(record) or 0.0,
        series=series_of_audits(record, audits),
    )


def seconds_per_image(record: RunRecord) -> float | None:
    """What an image took in a run, without the wait for the first batch where there were more.

    None where it made none.
    """
    work = record.done
    if not work.made or not work.seconds:
        return None
    return work.seconds_per_image or work.seconds / work.made


def _counts(prompt: PromptRecord, detector: str) -> tuple[int, int, int]:
    counts = prompt.counts.get(detector, Counts({}, {}))
    labels = counts.labels
    male, female = labels.get("male", 0), labels.get("female", 0)
    return male, female, sum(labels.values()) + sum(counts.undetected.values()) - male - female


def keep(
    record: RunRecord, folder: Path, audits: Sequence[Audit[Any]] | None = None
) -> Path | None:
    """Add a finished run to a history; None where there is nothing to look at later.

    The file's name begins with the time, so that files sort; the oldest beyond 500 go.
    """
    past = past_run(record, audits)
    if record.is_interrupted or not (record.prompts or past.series):
        return None
    plain = asdict(past)
    content = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()
    file = folder / f"{moment_and_model(record)}-{checksum(content)[:6]}.json"
    write_whole(file, content + b"\n")
    for old in sorted(folder.glob("*.json"))[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    return file


def moment_and_model(record: RunRecord) -> str:
    """How names of files and folders of a run begin, so that they sort by time."""
    moment = re.sub(r"[^0-9T]", "", record.created[:19])
    return f"{moment}-{file_name(without_machine(record.model))}"


def read_history(folder: Path) -> list[PastRun]:
    """The runs of a history in order of time.

    Raises FileFormatError that names a file that is none of ours.
    """
    if not folder.is_dir():
        raise FileFormatError(
            folder,
            "there is no history.",
            remedy="Runs keep theirs in reports/t2i/history, or --t2i-history",
        )
    runs = map(_read, sorted(folder.glob("*.json")))
    return sorted(runs, key=lambda run: run.created)


def last_that_made_images(folder: Path, model: str | None = None) -> PastRun | None:
    """The latest run of a history that tells how long an image takes; None where there is none.

    Args:
        folder: of the history; it need not be there.
        model: whose run it has to be; None takes that of any.

    Raises FileFormatError that names a file that is none of ours.
    """
    model = without_machine(model)
    for file in sorted(folder.glob("*.json"), reverse=True):
        run = _read(file)
        if run.made >= ENOUGH_MADE and run.seconds_per_image > 0 and model in (None, run.model):
            return run
    return None


def _read(file: Path) -> PastRun:
    return convert(file, read_json(file, SCHEMA, kind="run of a history"), PastRun)


@dataclass(frozen=True, slots=True)
class Series:
    """Runs that can be compared: the same prompts by the same detector."""

    detector: str
    prompts: tuple[str, ...]
    """Ids of the neutral prompts that all of them have."""
    runs: tuple[PastRun, ...]
    repeats: tuple[bool, ...]
    """Whether a run shows the very same images as an earlier one: it adds no evidence."""
    changes: tuple[statistics.ChangePoint, ...]
    """By place among the runs."""


def series_of(runs: Sequence[PastRun], *, level: float) -> list[Series]:
    """Runs sorted into series, the one with the latest run first, and where each changed."""
    groups: dict[tuple[str, tuple[str, ...]], list[PastRun]] = {}
    for run in runs:
        groups.setdefault((run.detector, tuple(sorted(run.counts))), []).append(run)
    made = [_series(detector, ids, members, level) for (detector, ids), members in groups.items()]
    return sorted(made, key=lambda series: series.runs[-1].created, reverse=True)


def _series(
    detector: str, prompts: tuple[str, ...], runs: Sequence[PastRun], level: float
) -> Series:
    repeats = list(_repeats(runs))
    fresh = [place for place, repeats_ in enumerate(repeats) if not repeats_]
    changes: list[statistics.ChangePoint] = []
    if prompts and len(fresh) > 1:
        counts = np.array([[runs[k].counts[id_] for id_ in prompts] for k in fresh])
        changes = [
            statistics.ChangePoint(fresh[c.run], fresh[c.seen_at], c.change, c.p_value)
            for c in statistics.change_points(counts[:, :, 0], counts[:, :, 1], level=level)
        ]
    return Series(detector, prompts, tuple(runs), tuple(repeats), tuple(changes))


def _repeats(runs: Iterable[PastRun]) -> Iterable[bool]:
    seen: set[tuple[object, ...]] = set()
    for run in runs:
        identity = (run.fingerprint, run.seed, run.images, tuple(sorted(run.counts.items())))
        yield identity in seen
        seen.add(identity)
