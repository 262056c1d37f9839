"""Markdown, terminal and failure text, as people see them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_t2i.data import Interval, Limit, Outcome, Row
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting import write_all
from pytest_t2i.reporting.failure_text import assertion_lines
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.run_facts import NEVER, how_known
from pytest_t2i.reporting.terminal import summarise
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import AuditRecord, RunRecord
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.limit import LimitValue
from pytest_t2i.verdicts.measurement import Measurement


class Paper:
    """What pytest's terminal reporter would write, with its colours."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title, sep="=", **markup):
        self.lines.append(f"{sep * 3} {title} {sep * 3}")

    def write_line(self, line, **markup):
        colours = ",".join(sorted(markup))
        self.lines.append(f"[{colours}] {line}" if colours else line)


def told(record, **settings) -> str:
    paper = Paper()
    summarise(record, Settings(**settings), paper)
    return "\n".join(paper.lines) + "\n"


@pytest.mark.parametrize("columns", [80, None])
def test_what_to_do_next_ends_with_the_tenth_line(record, columns):
    """The page says the rest."""
    steps = tuple(f"{number} is an advice of {'many ' * 25}words" for number in range(4))
    paper = Paper()
    summarise(replace(record, next_steps=steps), Settings(), paper, width=columns)
    tally = next(k for k, line in enumerate(paper.lines) if line.startswith("checks: "))
    assert [f"next: {n} is" in "".join(paper.lines) for n in (0, 3)] == [True, columns is None]
    assert tally <= 11  # a title stands above
    alone = replace(record, next_steps=(f"an advice of {'many ' * 250}words",))
    summarise(alone, Settings(), paper := Paper(), width=80)
    assert any(line.startswith("next: an advice") for line in paper.lines)


def test_markdown(record, golden):
    golden("summary.md", render_markdown(record))


def test_markdown_escapes(record):
    text = render_markdown(replace(record, model="a|b`<i>"))
    assert "`a|b'<i>`" in text


def test_terminal(record, golden):
    golden("terminal.txt", told(record))


def test_terminal_of_a_fair_model(record, golden):
    passed = tuple(replace(check, outcome=Outcome.PASS) for check in record.checks)
    fair = replace(record, model="fair", checks=passed, next_steps=())
    golden("terminal-fair.txt", told(fair, save_baseline=Path("baseline.json")))


@pytest.mark.parametrize("render", [render_markdown, told])
def test_an_empty_run_is_told_too(render):
    work = {"planned": 0, "made": 0, "refused": 0, "seconds": 0.0, "notes": []}
    empty = RunRecord("2026-11-20T17:07:52+00:00", 1.0, "fair", {}, {}, work)
    assert "MEASURED" in render(empty)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_failure_text(record, golden, place):
    check = record.checks[place]
    check = replace(check, caveats=(*check.caveats, Caveat("remark", "images: here")))
    measurement = Measurement(INFO[check.metric], check.subject, None)
    lines = assertion_lines(measurement, LimitValue(Limit(check.metric, check.bound), check))
    golden(f"failure-{place}.txt", "\n".join(lines) + "\n")


def test_other_comparisons_are_not_explained(record):
    assert assertion_lines(1, 2) is None
    assert assertion_lines(Measurement(INFO["ssim"], "x", None), 2) is None


def test_all_files_are_written_and_read_back(record, tmp_path):
    write_all(record, tmp_path / "out")
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == {
        "run.json", "run.images.jsonl", "index.html", "summary.md",
    }  # fmt: skip
    assert read_run(tmp_path / "out" / "run.json") == record


def test_a_run_cut_short_does_not_say_that_the_store_had_the_rest(record):
    cut_short = replace(record, is_interrupted=True)
    assert cut_short.outcome is Outcome.INTERRUPTED
    for text in (told(cut_short), render_markdown(cut_short)):
        assert "6 others in the store or not made yet" in text
        assert "from the store" not in text


def test_how_well_the_detector_is_known_is_told(record):
    """By labels of the run's images where there are any, else that it never was."""
    decides = record.settings["detectors"][0]
    assert how_known(replace(record, audits={})) == NEVER
    by_label = {"male": Interval(0.96, 0.9, 0.99, 0.95, "test", 90), "female": None}
    rows = (
        *(
            Row("accuracy", f"{decides} on {label}", "detector", value,
                {"detector": decides, "label": label}, counts={"labels": 200})
            for label, value in by_label.items()
        ),
    )  # fmt: skip
    known = replace(record, audits={"detector_validation": AuditRecord(rows=rows)})
    assert how_known(known) == "measured on 200 labels: male 0.96 [0.90, 0.99], female -"
    assert "measured on 200 labels: male 0.96" in render_markdown(known)
    assert NEVER in render_markdown(replace(record, audits={}))
