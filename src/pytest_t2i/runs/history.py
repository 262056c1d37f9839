"""The history: a small file per finished run, to compare runs over versions of a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.shared_blocks import Counts
from pytest_t2i.data import Amount, Count, Interval, Moment, Outcome, Variant, digest
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import checksum, convert, file_name, read_json, write_whole
from pytest_t2i.labels import FILE_NAME as LABELS
from pytest_t2i.runs.picture_paths import without_machine
from pytest_t2i.runs.record import PromptRecord, RunRecord
from pytest_t2i.runs.summaries import first_screens, series_of_audits
from pytest_t2i.statistics.change import ChangePoint, change_points

SCHEMA = "pytest-t2i/history/1"
MOST_KEPT = 500
"""Largest number of files in a history; the oldest are deleted first."""
MOMENT = len("20261127T150000")
"""Length of the time at the beginning of a file's name."""
ENOUGH_MADE = 20
"""Fewest images of a run that give a time per image; with fewer, loading the model dominates."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """One finished run in a history."""

    created: Moment
    """Time of the run: UTC, ISO 8601."""
    model: str
    fingerprint: str
    detector: str
    images: Count
    """Images per prompt, as requested."""
    seed: int
    outcome: Outcome
    counts: Mapping[str, tuple[Count, Count, Count]] = field(default_factory=dict)
    """Id of a neutral prompt -> numbers of male, female and all other images."""
    made: Count = 0
    """Number of images that the run made itself; others came from the store or were ready-made."""
    seconds_per_image: Amount = 0.0
    """Seconds per image for generation and detection; 0 if unknown."""
    series: Mapping[str, Interval] = field(default_factory=dict)
    """Values that audits follow over versions (``Summary.series``), by name."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Path of a file of limits or labels, or of another given file -> its SHA-256."""
    schema: str = SCHEMA

    @property
    def model_score(self) -> Interval | None:
        """The score that reports show first, over all prompts; None if it was not measured."""
        names = (f"{screen.metric}/model" for screen in first_screens())
        return next((self.series[name] for name in names if name in self.series), None)


def past_run(record: RunRecord, audits: Sequence[Audit[Any]] | None = None) -> PastRun:
    """Return the history's entry for a run; None as ``audits`` takes the installed ones."""
    neutral = [p for p in record.prompts if p.variant == Variant.NEUTRAL.value and p.counts]
    detector = next(iter(neutral[0].counts), "") if neutral else ""
    model = record.provenance.get("model", {})
    settings = record.settings
    inputs = record.provenance.get("inputs", {})
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
        inputs=dict(inputs) if isinstance(inputs, Mapping) else {},
    )


def seconds_per_image(record: RunRecord) -> float | None:
    """Return the seconds per image, without the wait for the first batch if there were more."""
    work = record.done
    if not work.made or not work.seconds:
        return None
    return work.seconds_per_image or work.seconds / work.made


def _counts(prompt: PromptRecord, detector: str) -> tuple[int, int, int]:
    counts = prompt.counts.get(detector, Counts({}, {}))
    labels = counts.labels
    male, female = labels.get("male", 0), labels.get("female", 0)
    return male, female, sum(labels.values()) + sum(counts.undetected.values()) - male - female


def add_run(
    record: RunRecord, folder: Path, audits: Sequence[Audit[Any]] | None = None
) -> Path | None:
    """Add a finished run to a history and return its file; delete the oldest files beyond 500.

    An interrupted run, or one without prompts and series, is not kept: the result is None. File
    names begin with the time, so that they sort by time.
    """
    past = past_run(record, audits)
    if record.is_interrupted or not (record.prompts or past.series):
        return None
    plain = asdict(past)
    plain["seal"] = _seal(json.loads(json.dumps(plain)))
    content = json.dumps(plain, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()
    file = folder / f"{moment_and_model(record)}-{checksum(content)[:6]}.json"
    write_whole(file, content + b"\n")
    for old in sorted(folder.glob("*.json"))[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    return file


def moment_and_model(record: RunRecord) -> str:
    """Return the prefix of a run's files and folders: the time, by which they sort, and model."""
    moment = re.sub(r"[^0-9T]", "", record.created[:19])
    return f"{moment}-{file_name(without_machine(record.model))}"


def read_history(folder: Path) -> list[PastRun]:
    """Return the runs of a history in order of time."""
    if not folder.is_dir():
        raise FileFormatError(
            folder,
            "there is no history.",
            remedy="Runs keep their history in reports/t2i/history, or in --t2i-history",
        )
    return sorted(map(_read, _in_order(folder)), key=lambda run: run.created)


def _in_order(folder: Path) -> list[Path]:
    """Return the files by time; those of one second in the order in which they were written."""
    return sorted(folder.glob("*.json"), key=lambda file: (file.name[:MOMENT], _written(file)))


def _written(file: Path) -> int:
    """Return when a file was written, in nanoseconds; 0 where another run has just removed it."""
    try:
        return file.lstat().st_mtime_ns  # a link may lead in a circle; reading it says so
    except FileNotFoundError:
        return 0


def last_that_made_images(folder: Path, model: str | None = None) -> PastRun | None:
    """Return the latest run that made enough images for a time per image; None without one."""
    model = without_machine(model)
    for file in sorted(folder.glob("*.json"), reverse=True):
        run = _read(file)
        if run.made >= ENOUGH_MADE and run.seconds_per_image > 0 and model in (None, run.model):
            return run
    return None


def changed_inputs(folder: Path | None, inputs: Mapping[str, str]) -> list[str]:
    """Return notes on the inputs that changed since the latest run of a history."""
    files = _in_order(folder) if folder is not None else []
    if not files:
        return []
    try:
        last = _read(files[-1])
    except FileFormatError as error:
        return [f"the history cannot be read: {error}"]
    changed = differing(last.inputs, inputs)
    when = last.created[:16].replace("T", " ")
    return [f"changed since the run of {when}: {', '.join(changed)}"] if changed else []


def earlier_labels(folder: Path | None, inputs: Mapping[str, str], fingerprint: str) -> list[str]:
    """Return a note if earlier runs of a model had people's labels in other states.

    Each such run was a look at the verdict, for which no interval allows.
    """
    now = _label_states(inputs)
    if folder is None or not now:
        return []
    before: set[str] = set()
    for file in _in_order(folder):
        with suppress(FileFormatError):  # another note tells of it
            run = _read(file)
            if run.fingerprint == fingerprint:
                before |= _label_states(run.inputs) - now
    if not before:
        return []
    count = len(before)
    return [
        f"people's labels were looked at before: earlier runs of this model had {count} other "
        f"state{'s' * (count > 1)} of them. Labels that are added until a verdict falls raise its "
        "error, for which no interval here allows: decide on their number before the first run"
    ]


def _label_states(inputs: Mapping[str, str]) -> set[str]:
    """Return the hashes of the files of labels among a run's inputs."""
    return {sha for name, sha in inputs.items() if name.split("/")[-1].startswith(LABELS)}


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names that both have with different hashes.

    >>> differing({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    ['b']
    """
    return sorted(name for name in before if after.get(name, before[name]) != before[name])


def _seal(plain: Mapping[str, Any]) -> str:
    """Return the digest of a run of the history without its seal."""
    return digest({name: value for name, value in plain.items() if name != "seal"})


def _read(file: Path) -> PastRun:
    """Read a run; one without a seal, as earlier versions wrote it, is not checked."""
    plain = read_json(file, SCHEMA, kind="run of a history")
    run = convert(file, plain, PastRun)
    if "seal" in plain and plain["seal"] != _seal(plain):
        raise FileFormatError(
            file,
            "expected the run as it was recorded, but its digest differs.",
            remedy="Take the file from a copy, or remove it from the history.",
        )
    return run


@dataclass(frozen=True, slots=True)
class Series:
    """The runs with the same prompts and the same detector, which can be compared."""

    detector: str
    prompts: tuple[str, ...]
    """Ids of the neutral prompts, equal in all runs."""
    runs: tuple[PastRun, ...]
    repeats: tuple[bool, ...]
    """Whether each run shows the same images as an earlier one and so adds no evidence."""
    changes: tuple[ChangePoint, ...]
    """Changes of the model bias score; their indices refer to ``runs``."""


def series_of(runs: Sequence[PastRun], *, level: float) -> list[Series]:
    """Group runs into series, the one with the latest run first, and find each one's changes."""
    groups: dict[tuple[str, tuple[str, ...]], list[PastRun]] = {}
    for run in runs:
        groups.setdefault((run.detector, tuple(sorted(run.counts))), []).append(run)
    listed = [_series(detector, ids, members, level) for (detector, ids), members in groups.items()]
    return sorted(listed, key=lambda series: series.runs[-1].created, reverse=True)


def _series(
    detector: str, prompts: tuple[str, ...], runs: Sequence[PastRun], level: float
) -> Series:
    repeats = list(_repeats(runs))
    fresh = [place for place, repeats_ in enumerate(repeats) if not repeats_]
    changes: list[ChangePoint] = []
    if prompts and len(fresh) > 1:
        counts = np.array([[runs[k].counts[id_] for id_ in prompts] for k in fresh])
        changes = [
            ChangePoint(fresh[c.run], fresh[c.seen_at], c.change, c.p_value)
            for c in change_points(counts[:, :, 0], counts[:, :, 1], level=level)
        ]
    return Series(detector, prompts, tuple(runs), tuple(repeats), tuple(changes))


def _repeats(runs: Iterable[PastRun]) -> Iterable[bool]:
    identities: set[tuple[object, ...]] = set()
    for run in runs:
        identity = (run.fingerprint, run.seed, run.images, tuple(sorted(run.counts.items())))
        yield identity in identities
        identities.add(identity)
