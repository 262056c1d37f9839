"""A history: what is kept, what is told of it, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.parity import ParityAudit
from pytest_t2i.audits.parity.record import ModelScoreRecord, ParityPart
from pytest_t2i.audits.summary import Summary
from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Interval, Outcome
from pytest_t2i.errors import FileFormatError
from pytest_t2i.reporting.history import history_lines, history_page, history_section
from pytest_t2i.runs import history
from pytest_t2i.runs.history import PastRun, add_run, past_run, read_history, series_of
from pytest_t2i.runs.record import AuditRecord, Counts, ImageRecord, PromptRecord, RunRecord
from pytest_t2i.sections import BarChart, CurveChart, Paragraph


def curves_of(series):
    """The titles of the curves below the chart of the runs."""
    blocks = history_section(series).blocks
    return [block.title for block in blocks if isinstance(block, CurveChart)]


@dataclass(frozen=True)
class Kept:
    """What an audit of somebody else keeps."""

    index: Interval


def recorded(day=1, men=10, **more):
    """A finished run of two prompts."""
    prompts = tuple(
        PromptRecord(
            f"job-{k}", f"a {k}", "job", str(k), "neutral",
            {"clip": Counts({"male": men, "female": 20 - men}, {})}, None,
            (ImageRecord(0, None, {"clip": Detection("male")}),),
        )
        for k in range(2)
    )  # fmt: skip
    score = Interval(abs(men / 10 - 1), 0.0, 1.0, 0.95, "test", 2)
    scores = (ModelScoreRecord("model", "clip", score, score.estimate, 0.1, 2, 40),)
    return RunRecord(
        f"2026-11-{day:02}T10:00:00+00:00", 1.0, "my model/v2", {"images": 20, "seed": 3},
        {"model": {"fingerprint": "f" * 64}}, {}, prompts=prompts,
        audits={"parity": AuditRecord(1, ParityPart(scores))}, **more,
    )  # fmt: skip


def past(day, men, *, fingerprint="f", name="m", n=20, prompts=20):
    created = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:00:00+00:00"
    counts = {f"job-{k}": (men, n - men, 0) for k in range(prompts)}
    score = Interval(abs(2 * men / n - 1), 0.0, 1.0, 0.95, "test", prompts)
    return PastRun(
        created, name, fingerprint, "clip", n, day, Outcome.PASS, counts,
        series={"model_bias_score/model": score},
    )  # fmt: skip


def test_a_run_comes_back_as_it_was_kept(tmp_path):
    file = add_run(recorded(), tmp_path)
    assert file.name.startswith("20261101T100000-my-model-v2-")
    assert file.stat().st_size < 2000
    assert read_history(tmp_path) == [past_run(recorded())]
    assert past_run(recorded(men=15)).counts == {"job-0": (15, 5, 0), "job-1": (15, 5, 0)}


def test_an_unfinished_run_is_not_kept(tmp_path):
    assert add_run(recorded(is_interrupted=True), tmp_path) is None
    assert add_run(replace(recorded(), audits={}, prompts=()), tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_the_oldest_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "MOST_KEPT", 3)
    for day in range(1, 7):
        add_run(recorded(day), tmp_path)
    assert [run.created[8:10] for run in read_history(tmp_path)] == ["04", "05", "06"]


def test_a_change_is_named_with_its_runs():
    runs = [past(day, 10) for day in range(4)] + [past(day, 17, name="new") for day in (4, 5)]
    (series,) = series_of(runs, level=0.95)
    assert [change.run for change in series.changes] == [4]
    told = list(history_lines([series]))
    assert "the model bias score rose by" in told[-1]
    assert "and new (" in told[-1]
    assert sum("<- changed" in line for line in told) == 1
    section = history_section(series)
    (sentence,) = (block.text for block in section.blocks if isinstance(block, Paragraph))
    assert "the model bias score rose by" in sentence.replace("The model", "the model")
    (chart,) = (block for block in section.blocks if isinstance(block, BarChart))
    assert [bar.cells[1] for bar in chart.bars].count("changed") == 1
    assert chart.high == 1.0, "no score exceeds 1"
    assert history_page([series]).count(">changed<") == 1


def test_the_same_images_again_are_no_evidence():
    runs = [past(0, 10), past(0, 10), past(1, 10)]
    (series,) = series_of(runs, level=0.95)
    assert series.repeats == (False, True, False)
    (chart,) = (block for block in history_section(series).blocks if isinstance(block, BarChart))
    assert [bar.cells[1] for bar in chart.bars] == ["", "same images", ""]
    told = list(history_lines([series]))
    assert [line.endswith(" repeat") for line in told[1:4]] == [False, True, False]
    assert told[4].startswith("repeat: the same images as in an earlier run")
    assert "repeat" not in "".join(history_lines(series_of(runs[1:], level=0.95)))


def test_a_run_of_the_reference_is_told_in_one_line_of_80_columns():
    runs = [replace(past(0, 10, name="reference-biased"), outcome=Outcome.INCONCLUSIVE)] * 2
    rows = list(history_lines(series_of(runs, level=0.95)))[1:3]
    assert max(map(len, rows)) <= 80


def test_other_prompts_make_another_series():
    series = series_of([past(0, 10), past(1, 10, prompts=5)], level=0.95)
    assert [len(part.prompts) for part in series] == [5, 20]


def test_unequal_images_are_compared():
    rng = np.random.default_rng(0)
    runs = []
    for day in range(8):
        n = (10, 40)[day % 2]
        run = past(day, 5, n=n)
        men = rng.binomial(n, 0.5, 20).tolist()
        counts = {f"job-{k}": (m, n - m, 0) for k, m in enumerate(men)}
        runs.append(replace(run, counts=counts))
    assert series_of(runs, level=0.95)[0].changes == ()


def test_words_of_others_are_escaped():
    page = history_page(series_of([past(0, 10, name="<script>x"), past(1, 10)], level=0.95))
    assert "<script>x" not in page


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "expected schema"),
        ("[1", "not valid JSON"),
        ('{"schema": "pytest-t2i/history/1"}', "created"),
    ],
)
def test_what_is_no_history_is_said(tmp_path, content, problem):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(FileFormatError, match=problem):
        read_history(tmp_path)


def test_the_command(tmp_path, capsys):
    for day in (1, 2):
        add_run(recorded(day), tmp_path / "h")
    out = tmp_path / "out"
    assert main(["compare", "history", str(tmp_path / "h"), "--report", str(out)]) == 0
    assert "2 runs of 2 prompts, by clip" in capsys.readouterr().out
    assert "2 runs of 2 prompts by clip" in (out / "index.html").read_text()
    assert main(["compare", "history", str(tmp_path / "h"), "--model", "absent"]) == 2
    assert main(["compare", "history", str(tmp_path / "nowhere")]) == 2
    assert "there is no history" in capsys.readouterr().err


def test_numbers_are_plain(tmp_path):
    assert json.loads(add_run(recorded(), tmp_path).read_text())["schema"] == "pytest-t2i/history/1"


class Simpson(Audit[Kept]):
    """An audit of somebody else with a series."""

    name = "simpson"

    def summary(self, record):
        return Summary(series={"simpson/model": record.index})


def test_series_of_any_audit_are_followed(tmp_path):
    index = Interval(0.25, 0.2, 0.3, 0.95, "test", 20)
    audits = {**recorded().audits, "simpson": AuditRecord(1, Kept(index))}
    add_run(replace(recorded(), audits=audits), tmp_path, (ParityAudit(), Simpson()))
    (series,) = series_of(read_history(tmp_path), level=0.95)
    assert series.runs[0].series["simpson/model"] == index
    assert curves_of(series) == ["simpson/model"]


def test_a_line_is_named_for_what_was_measured_where_its_metric_is_plain():
    score = Interval(0.2, 0.1, 0.3, 0.95, "test", 20)
    more = {"stereotype_score/iranian-hat": score, "similarity_gap/image: model": score}
    first, second = past(1, 10), past(2, 12)
    (series,) = series_of([first, replace(second, series=second.series | more)], level=0.95)
    assert curves_of(series) == ["iranian-hat", "image: model"]


def test_a_run_without_parity_is_kept(tmp_path):
    run = replace(recorded(), audits={})
    assert add_run(run, tmp_path)
    (kept,) = read_history(tmp_path)
    assert kept.model_score is None
    assert any(
        "no model bias score" in told for told in history_lines(series_of([kept], level=0.95))
    )
