"""The advice after a worse run: the command that names the change behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_t2i.adapters.registry import Registries, brought_by_companion
from pytest_t2i.data import Outcome
from pytest_t2i.files import from_here
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.sections_files import SectionsFile

COMMAND = "explain"


def hint(record: RunRecord, beside: Sequence[SectionsFile] = ()) -> str:
    """Return the advice for a run that failed beside a baseline; "" for another run.

    It says what to install where the command is not there, and is "" where its answer lies beside
    the run.
    """
    failed = record.outcome is Outcome.FAIL and record.tally()[Outcome.FAIL]
    if record.baseline is None or not (failed and record.model):
        return ""
    if any(file.name == COMMAND for file in beside):
        return ""
    report = from_here(Path(str(record.settings.get("report") or "reports/t2i")))
    command = f"t2i {COMMAND} {report}/run.json --baseline {record.baseline.file}"
    words = f"`{command}` names the change that made it worse, and says first what it costs"
    if COMMAND in Registries().commands:
        return words
    install = brought_by_companion("command", COMMAND).removeprefix("Run: ").partition(" (")[0]
    return f"after `{install}`, {words}"
