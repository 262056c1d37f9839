"""Runs trials at their full size and writes their rows into results.md.

``PYTHONPATH=tests:plugins/pytest-t2i-origins/tests python tests/trials/run.py`` runs all of them,
which takes an hour; names behind it run some.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import budget_kills
import corruptions
import endpoints
import hostile
import hostile_answers
import instant
import judges
import kills
import label_kills
import raw_requests
import records
import requests_to_label
import seeding
import stop_attacks
import store_beside_runs
import store_crowds
import timeouts
import worn_disks
from tally import HEAD, Tally

RESULTS = Path(__file__).with_name("results.md")
INTRODUCTION = """# Trials

Made by `PYTHONPATH=tests:plugins/pytest-t2i-origins/tests python tests/trials/run.py`, seeded.
Every row is one trial: how often it was tried, with what, what was wanted and which faults were
met.

"""


def _kills(folder: Path, share: float) -> Tally:
    tally = Tally("kill -9 of processes alone", kills.WANTED)
    label_kills.go(folder / "labels", round(50 * share), tally)
    return kills.go(folder / "runs", round(170 * share), kills.ALONE, tally, tell=write)


def _worker_kills(folder: Path, share: float) -> Tally:
    tally = Tally("kill -9 with xdist", kills.WANTED)
    return kills.go(folder, round(80 * share), kills.WITH_WORKERS, tally, tell=write)


def _crowds(folder: Path, share: float) -> Tally:
    return store_crowds.go(folder, round(300 * share))


def _at_scale(folder: Path, share: float) -> Tally:
    return store_crowds.at_scale(folder, round(12_000 * share))


def _timeouts(folder: Path, share: float) -> Tally:
    return timeouts.go(folder, round(4 * share))


def _corruptions(folder: Path, share: float) -> Tally:
    return corruptions.go(folder, round(200 * share))


def _hostile(folder: Path, share: float) -> Tally:
    return hostile.go(folder, share)


def _records(folder: Path, share: float) -> Tally:
    return records.go(folder, round(5000 * share))


def _instant(folder: Path, share: float) -> Tally:
    return instant.go(folder, share)


def _requests(folder: Path, share: float) -> Tally:
    return requests_to_label.go(folder, round(400 * share))


def _raw_requests(folder: Path, share: float) -> Tally:
    return raw_requests.go(folder, round(280 * share))


def _store(folder: Path, share: float) -> Tally:
    return store_beside_runs.go(folder, round(200 * share))


def _stop_kills(folder: Path, share: float) -> Tally:
    return stop_attacks.kills(folder, round(80 * share))


def _stop_requests(folder: Path, share: float) -> Tally:
    return stop_attacks.requests(folder, round(250 * share))


def _worn_disks(folder: Path, share: float) -> Tally:
    return worn_disks.go(folder, round(36 * share))


def _seeding(folder: Path, share: float) -> Tally:
    return seeding.go(round(30 * share))


def _endpoints(folder: Path, share: float) -> Tally:
    return endpoints.go(folder, round(2000 * share), round(20 * share))


def _budget_kills(folder: Path, share: float) -> Tally:
    return budget_kills.go(folder, round(200 * share))


def _hostile_answers(folder: Path, share: float) -> Tally:
    return hostile_answers.go(folder, round(5000 * share))


def _judge_kills(folder: Path, share: float) -> Tally:
    tally = Tally("kill -9 of runs that judge pictures", judges.WANTED)
    return judges.kills(folder, round(60 * share), tally)


def _judge_versions(folder: Path, share: float) -> Tally:
    tally = Tally("judges whose version changes in the middle of a run", judges.WANTED)
    return judges.versions(folder, round(12 * share), tally)


def _judge_answers(folder: Path, share: float) -> Tally:
    del folder
    return judges.hostile(round(500 * share), Tally("hostile answers of judges", judges.WANTED))


TRIALS: dict[str, Callable[[Path, float], Tally]] = {
    "kills": _kills,
    "worker-kills": _worker_kills,
    "crowds": _crowds,
    "at-scale": _at_scale,
    "timeouts": _timeouts,
    "corruptions": _corruptions,
    "hostile": _hostile,
    "records": _records,
    "store": _store,
    "requests": _requests,
    "raw-requests": _raw_requests,
    "stop-kills": _stop_kills,
    "stop-requests": _stop_requests,
    "instant": _instant,
    "worn-disks": _worn_disks,
    "seeding": _seeding,
    "endpoints": _endpoints,
    "budget-kills": _budget_kills,
    "hostile-answers": _hostile_answers,
    "judge-kills": _judge_kills,
    "judge-versions": _judge_versions,
    "judge-answers": _judge_answers,
}


def rows() -> dict[str, str]:
    """The rows that are there, by the name of their trial."""
    if not RESULTS.exists():
        return {}
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("| ")][1:]
    return {line.split(" | ")[0].removeprefix("| "): line for line in table}


def write(tally: Tally) -> None:
    """The row of this trial in place of the one before; what is said below the table stays."""
    table = rows() | {tally.name: tally.row}
    told = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    below = told.rpartition("|\n")[2]
    RESULTS.write_text(f"{INTRODUCTION}{HEAD}\n" + "\n".join(table.values()) + f"\n{below}")


def main() -> int:
    """Run the trials that are named, all by default; 1 where one met a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=", ".join(TRIALS))
    parser.add_argument("--share", type=float, default=1.0, help="of the full size")
    asked = parser.parse_args()
    unknown = set(asked.trials) - set(TRIALS)
    if unknown:
        parser.error(f"expected {', '.join(TRIALS)}, got {', '.join(sorted(unknown))}")
    faults = 0
    for name in asked.trials or TRIALS:
        folder = Path(tempfile.mkdtemp(prefix="t2i-trial-"))
        started = time.monotonic()
        try:
            tally = TRIALS[name](folder, asked.share)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        write(tally)
        print(tally.row, f"({time.monotonic() - started:.0f} s)", *tally.faults, sep="\n")
        sys.stdout.flush()
        faults += len(tally.faults)
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
