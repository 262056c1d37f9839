"""Try several mitigations on one suite, each in a run of pytest, and print a table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pytest_t2i import Interval, Outcome, Rows, RunRecord, T2IError, read_run

from pytest_t2i_mitigation.mitigated.known import BIAS_REDUCTION, FRECHET, HARMS, KERNEL
from pytest_t2i_mitigation.mitigated.report import (
    distances,
    mitigation_of,
    outcome_of,
    reductions,
    scores,
)

GROUP = "pytest_t2i.mitigations"
AUDIT = "mitigated"
FEW = 2
"""The largest number of inconclusive metrics that are named; more are counted."""
COLUMNS = ("mitigation", "gained", "by a second judge", "lost", "passes", "verdict")
NAMES = {metric.name: metric.name.replace("_", " ") for metric in HARMS}


@dataclass(frozen=True)
class Tried:
    """The result of one mitigation on the suite."""

    mitigation: str
    run: RunRecord | None
    """The run; None where it failed."""
    reason: str = ""
    """Why the run failed, in a line."""

    @property
    def rows(self) -> Rows | None:
        """The rows of the audit, or None."""
        rows = Rows() if self.run is None else self.run.part(AUDIT)
        return rows if rows.rows else None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome over all checks of the audit, or None."""
        return None if self.run is None else outcome_of(self.run.checks)


def try_all(
    model: str, mitigations: Sequence[str], suite: Path, report: Path, options: Mapping[str, Any]
) -> Iterator[Tried]:
    """Yield a run of the suite for each mitigation; only the first run makes the plain pictures.

    Raises T2IError where the suite does not exist.
    """
    if not suite.exists():
        raise T2IError(
            f"--all: no such file or folder: {suite}. Expected a suite, such as suites/mitigation "
            "of the project pytest-t2i"
        )
    asked = list(mitigations) or sorted({one.name for one in entry_points(group=GROUP)})
    for mitigation in asked:
        folder = _folder(report, mitigation)
        (folder / "run.json").unlink(missing_ok=True)
        given = {"model": model, "mitigation": mitigation, "report": folder, **options}
        said = _told([f"--t2i-{name}={value}" for name, value in given.items()] + [str(suite)])
        if (folder / "run.json").is_file():
            yield Tried(mitigation, read_run(folder / "run.json"))
        else:
            yield Tried(mitigation, None, _reason(said))


def _folder(report: Path, mitigation: str) -> Path:
    return report / re.sub(r"[^\w.=-]+", "-", mitigation)


def _told(arguments: Sequence[str]) -> list[str]:
    """Run pytest, print its output at once, and return its last lines."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    said: list[str] = []
    with subprocess.Popen(  # noqa: S603 - this very Python
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)  # noqa: T201 - a command line tool
            said = [*said[-99:], line.strip()]
    return said


def _reason(said: Sequence[str]) -> str:
    told = " ".join(said)
    found = re.search(r"ERROR: (.*)", told)
    return (found[1] if found else (said[-1] if said else "pytest printed nothing"))[:300].strip()


def print_table(tried: Iterator[Tried], report: Path) -> int:
    """Print what each mitigation gains, loses and costs; return 0 if one passes, else 1."""
    rows = list(tried)
    for line in table(rows):
        print(line)  # noqa: T201 - a command line tool
    there = [str(_folder(report, row.mitigation) / "run.json") for row in rows if row.run]
    if len(there) > 1:
        print(f"chart: t2i compare {' '.join(there)}")  # noqa: T201 - a command line tool
    return 0 if any(row.outcome is Outcome.PASS for row in rows) else 1


def table(tried: Sequence[Tried]) -> list[str]:
    """Return the lines of the table, with aligned columns."""
    lines = _aligned([COLUMNS, *(_cells(one) for one in tried)])
    reasons = (f"{t.mitigation}: {t.reason}" for t in tried if t.reason)
    return [*_plain(tried), *lines, *_distances(tried), *reasons]


def _distances(tried: Sequence[Tried]) -> list[str]:
    """Return the lines of the thesis' own evaluation: D and B by space, FID and KID."""
    measured = [(one.mitigation, one.rows) for one in tried if one.rows is not None]
    spaces = [
        (name, space, *map(_digits, values))
        for name, rows in measured
        for space, *values in distances(rows)
    ]
    if not spaces:
        return []
    sets_of = [(name, rows.one(FRECHET), rows.one(KERNEL)) for name, rows in measured]
    sets = [
        (
            name,
            f"{fid.value:.4f}",
            _digits(kid.interval if kid else None),
            str(fid.counts["images"]),
        )
        for name, fid, kid in sets_of
        if fid is not None and fid.value is not None
    ]
    encoders = {str(fid.facts["encoder"]) for _, fid, _ in sets_of if fid is not None}
    by = f"FID and KID from the plain pictures, features of {', '.join(sorted(encoders))}"
    return [
        "",
        "distance from both genders (thesis eq. 4.26, 4.27)",
        *_aligned([("mitigation", "space", "D plain", "D mitigated", "B"), *spaces]),
        "",
        f"{by} of unit length; FID is biased upwards, KID is not",
        *_aligned([("mitigation", "FID", "KID", "pictures"), *sets]),
    ]


def _digits(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}]"


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _plain(tried: Sequence[Tried]) -> list[str]:
    before = next((scores(one.rows)[0] for one in tried if one.rows is not None), None)
    return [] if before is None else [f"plain: model bias score {_short(before)}"]


def _cells(tried: Tried) -> tuple[str, ...]:
    rows = tried.rows
    if rows is None or tried.run is None:
        return (tried.mitigation, "", "", "", "", "not measured")
    gained = list(map(_short, reductions(rows).values()))
    first, second = gained[0], gained[-1]
    passes, verdict = f"{mitigation_of(rows)[1]:.3g}", _verdict(tried.run)
    return (tried.mitigation, first, second, _lost(tried.run), passes, verdict)


def _verdict(run: RunRecord) -> str:
    outcome = outcome_of(run.checks)
    helps = run.checks_of(BIAS_REDUCTION.name).values()
    if any(check.outcome is Outcome.FAIL for checks in helps for check in checks):
        return "FAIL: does not help"
    return "not judged" if outcome is None else outcome.value


def _lost(run: RunRecord) -> str:
    """Return the metrics beyond their limits, and the inconclusive ones."""
    checks = [check for check in run.checks if check.metric in NAMES]
    if not checks:
        return "not judged"
    failed = [
        f"{NAMES[check.metric]} {check.estimate:.2f}"
        for check in checks
        if check.outcome is Outcome.FAIL and check.estimate is not None
    ]
    open_ = [NAMES[c.metric] for c in checks if c.outcome is Outcome.INCONCLUSIVE]
    if open_:
        failed.append(f"inconclusive: {', '.join(open_) if len(open_) <= FEW else len(open_)}")
    return ", ".join(failed) or "nothing beyond its limit"


def _short(interval: Interval | None) -> str:
    if interval is None:
        return f"no {BIAS_REDUCTION.name.replace('_', ' ')} known"
    return f"{interval.estimate:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
