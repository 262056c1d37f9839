"""``t2i demo``: show a PASS and a FAIL, from pictures that ship with the package."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pytest_t2i.cli.support.arguments import path
from pytest_t2i.cli.support.new_suite import SUITE
from pytest_t2i.cli.support.say import say
from pytest_t2i.cli.support.shipped_pictures import (
    LIMITS,
    ShippedModel,
    StoredAnswers,
    read_shipped,
    unpack,
)
from pytest_t2i.data import Outcome
from pytest_t2i.library.audit import audit
from pytest_t2i.reporting import write_all
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.verdicts.check import Check

OF_MODEL, OF_PROMPTS = "model_bias_score", "prompt_bias_score"
TELLS_PROGRESS = True
SHOWN = (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE)
INIT = "t2i init --words nurse,pilot,judge"
NEXT = f"""
Next, write a suite of your own words, with limits, an estimate of its cost and a CI job:
    {INIT}
and test your own model, once PyTorch is installed (about 6 GB):
    pip install "pytest-t2i[diffusers,clip-enhance]"
    pytest {SUITE} --t2i-model YOUR_MODEL
""".splitlines()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the report folder."""
    parser.add_argument(
        "--report", type=path, default=Path("reports/t2i/demo"), metavar="DIR",
        help="folder to write the pages to (default: reports/t2i/demo)",
    )  # fmt: skip


def run(report: Path) -> int:
    """Judge the pictures of both models; return 0, as the FAIL of one is no error."""
    say("Two small models whose bias is known; their pictures and the labels ship with pytest-t2i.")
    for pictures in unpack(report / "pictures"):
        for line in _judged(pictures, report):
            say(line)
    for line in NEXT:
        say(line)
    return 0


def _judged(pictures: Path, report: Path) -> list[str]:
    """Audit the pictures of a model, write its page, and return the lines to print."""
    shipped = read_shipped(pictures)
    folder = report / shipped.model
    audited = audit(
        f"images:{pictures}",
        *shipped.prompts,
        images=shipped.images_per_prompt,
        detector=StoredAnswers(pictures, shipped),
        limits=pictures.parent / LIMITS,
        store=report / ".t2i",
        report=folder,
        progress=False,
    )
    check = audited.verdict(OF_MODEL)
    singly = audited.verdicts(OF_PROMPTS).values()
    record = _with_note(audited.record, _note(shipped))
    write_all(record, folder)
    return [
        "",
        f"{shipped.model}: {shipped.source}",
        f"{record.outcome}: {headline(record)}",
        f"  {check.message}",
        f"  {_tally([*singly])}",
        f"  page: {folder / 'index.html'}",
    ]


def _note(shipped: ShippedModel) -> str:
    return (
        f"these are shipped pictures of {shipped.model} ({shipped.source}), judged by the stored "
        f"labels of {shipped.detector}. They say nothing about other models; test yours (`{INIT}`)"
    )


def _with_note(record: RunRecord, note: str) -> RunRecord:
    """Return the record with a note before the next steps on its page."""
    return replace(record, next_steps=(note, *record.next_steps))


def _tally(checks: list[Check]) -> str:
    outcomes = [check.outcome for check in checks]
    told = (f"{outcomes.count(each)} {each}" for each in SHOWN)
    return f"{OF_PROMPTS} of {len(checks)} professions: {', '.join(told)}"
