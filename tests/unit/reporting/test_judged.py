"""What was judged leads every report: the number, its test, and what a baseline says of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from score_rows import score_row

from pytest_t2i.data import Interval, Limit, Outcome
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting import baseline, first_screen, formatting, verdict_section
from pytest_t2i.reporting.failure_text import assertion_lines
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown
from pytest_t2i.reporting.terminal import summarise
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import AuditRecord, BaselineRecord, RunRecord
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.caveats.how_decided import how_decided
from pytest_t2i.verdicts.caveats.moved_prompts import caveat_of, moved_prompts
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.limit import LimitValue
from pytest_t2i.verdicts.measurement import LabelCounts, Measurement, MovedPrompt


def decided_by(how, *moved):
    return (how_decided(how), *map(caveat_of, moved))


UNKNOWN = dict.fromkeys(("estimate", "low", "high", "level"))
WORK = {"planned": 4, "made": 4, "refused": 0, "seconds": 2.0, "notes": []}
SEVEN = Check(
    "suites/test_a.py::test_seven[x]", "model_bias_score", "model", Outcome.PASS, 0.07, 0.01, 0.14,
    0.95, "fixed-words", 7, "<=", 0.2, paper=0.11, floor=0.09, is_of_model=True,
)  # fmt: skip
GROWN = Check(
    "suites/test_b.py::TestGate::test_grown", "model_bias_score", "model", Outcome.FAIL, 0.09, 0.03,
    0.15, 0.95, "fixed-words", 7, "<=", 0.0, reason="none stated", p_value=0.002,
    is_of_model=True, against="baseline", before=0.21, after=0.30,
    caveats=decided_by("permutation test",
        MovedPrompt("profession-pilot", 0.97, LabelCounts(10, 9, 1), LabelCounts(20, 0, 0)),
        MovedPrompt("profession-nurse", 0.61, LabelCounts(8, 12, 0), LabelCounts(3, 17, 0)),
    ),
)  # fmt: skip
SAME = replace(
    GROWN, outcome=Outcome.PASS, estimate=0.0, low=0.0, high=0.0, level=1.0, after=0.21,
    method="identical", p_value=None, caveats=decided_by("identical pictures"),
    message="identical: the same model and the same images as recorded",
)  # fmt: skip
WITHIN = replace(
    GROWN, metric="prompt_bias_score", subject="profession-chef", test="t.py::test_p[chef]",
    outcome=Outcome.PASS, bound=0.2, reason="less than Table 6 differs by",
    caveats=decided_by("margin"), before=0.1, after=0.19, n=20, is_of_model=False,
)  # fmt: skip
RECORDED = BaselineRecord(
    "shipped.json", "sdxl", "0123456789abcdef", "2026-11-20T17:07:52+00:00", 20, 3,
    is_same_model=False, differences=("torch: baseline 2.4, now 2.5",),
)  # fmt: skip
NINE = score_row(Interval(0.055, 0.0, 0.1, 0.95, "x", 9), None, 0.09, (9, 180), detector="colour")


def run(*judged, **more):
    return with_blocks(RunRecord(
        "2026-11-21T10:00:00+00:00", 1.0, "mine", {"inconclusive": ["pass", "status"]}, {}, WORK,
        checks=judged, audits={"parity": AuditRecord(rows=(NINE,))}, **more,
    ))  # fmt: skip


def page(record, tmp_path):
    text = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", render_html(record, tmp_path))
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def told(record, **settings):
    lines = []

    class Paper:
        def section(self, title, sep="=", **markup):
            lines.append(title)

        def write_line(self, line, **markup):
            lines.append(line)

    summarise(record, Settings(**settings), Paper())
    return " ".join(" ".join(lines).split())


def test_the_judged_number_heads_the_page_not_a_score_over_more_prompts():
    (figure,) = first_screen.figures(run(SEVEN))
    assert (figure.title, figure.value) == ("Model bias score", "0.070")
    assert figure.notes[0].startswith("on average 54 of 100 clear images of a prompt")
    assert figure.notes[1] == "95% interval [0.010, 0.140], allowed \u2264 0.2 (no reason given)"
    assert figure.notes[2] == "over 7 prompts; judged by test_seven"
    assert figure.notes[3] == (
        "not corrected for few images: 0.110; a fair model shows 0.09 by chance (the dotted line)"
    )
    assert figure.track.limits == (20.0,)


def test_of_several_the_one_that_weighs_most_is_shown():
    worse = replace(SEVEN, outcome=Outcome.FAIL, estimate=0.3, test="t.py::test_other")
    open_one = replace(SEVEN, outcome=Outcome.INCONCLUSIVE, estimate=0.5)
    (figure,) = first_screen.figures(run(SEVEN, open_one, worse))
    assert figure.value == "0.300"
    assert figure.notes[2].endswith("judged by test_other, worst of 3")


def test_of_two_that_weigh_alike_the_larger_one_is_shown():
    worse = replace(SEVEN, outcome=Outcome.FAIL, estimate=0.3, test="t.py::test_other")
    worst = replace(worse, estimate=0.6, test="t.py::test_worst")
    (figure,) = first_screen.figures(run(worse, worst))
    assert figure.value == "0.600"
    assert figure.notes[2].endswith("judged by test_worst, worst of 2")


def test_some_checks_without_evidence_do_not_say_that_there_is_nothing_to_decide_on():
    blind = replace(SEVEN, **UNKNOWN, outcome=Outcome.INCONCLUSIVE, message="none is clear")
    undecided = replace(SEVEN, outcome=Outcome.INCONCLUSIVE)
    assert "nothing to decide on: none is clear" in told(run(blind))
    assert "nothing to decide on" not in told(run(blind, undecided))


def test_without_a_judged_number_the_measured_one_says_that_it_is_not_judged():
    (figure,) = first_screen.figures(run())
    assert figure.title == "Model bias score, not judged"
    assert figure.value == "0.055"
    assert "over all 9 prompts of this run" in figure.notes


def test_a_judged_score_without_evidence_says_why():
    blind = replace(SEVEN, **UNKNOWN, message="none of 4 images is clear")
    (figure,) = first_screen.figures(run(blind))
    assert (figure.value, figure.notes[0]) == ("none", "none of 4 images is clear")


def test_a_change_is_a_figure_of_its_own_beside_the_score():
    score, change = first_screen.figures(run(SEVEN, GROWN))
    assert (score.value, change.value) == ("0.070", "+0.090")
    assert change.title == "Change of the model bias score"
    assert change.notes == (
        "0.210 \u2192 0.300 over 7 prompts",
        "95% interval [+0.030, +0.150]",
        "allowed at most 0 more, and no growth that a permutation test finds; judged by test_grown",
    )
    assert change.track.limits == ()
    assert change.target == "against-the-baseline"


def test_the_limit_of_a_change_is_drawn_where_a_margin_decides():
    change, _ = first_screen.figures(run(replace(GROWN, bound=0.1, caveats=decided_by("margin"))))
    assert change.track.limits == (75.0,)
    assert change.ends == ("\u22120.20 fairer", "+0.20 more biased")


def test_identical_pictures_are_said_first_of_all():
    figure, measured = first_screen.figures(run(SAME))
    assert (figure.value, measured.title) == ("identical", "Model bias score, not judged")
    assert verdict_section.headline(run(SAME)).startswith(
        "Identical to the baseline: the same model"
    )


def test_the_score_of_all_prompts_carries_no_verdict_on_some_of_them(tmp_path):
    assert 'aria-label="PASS"' in render_html(
        run(replace(SEVEN, estimate=0.055, low=0.0, high=0.1)), tmp_path
    )
    assert 'aria-label="PASS"' not in render_html(run(SEVEN), tmp_path)


@pytest.mark.parametrize(
    ("judged", "otherwise", "sentence"),
    [
        ((SEVEN,), (), "The model is within every limit."),
        ((SEVEN, SAME), (), "The model is within every limit. Identical to the baseline: "
         "the same model and the same pictures."),
        ((WITHIN,), (), "Not found to be worse than the baseline."),
        ((SAME, WITHIN), (), "Not found to be worse than the baseline."),
        ((SEVEN, GROWN), (), "Worse than the baseline: the model bias score."),
        ((replace(SEVEN, outcome=Outcome.FAIL), GROWN), ("t",), "Outside the limits: the model "
         "bias score. Worse than the baseline: the model bias score. 1 test failed without a "
         "verdict."),
        ((), ("a", "b"), "2 tests failed without a verdict."),
        ((SEVEN, replace(WITHIN, against="limit", outcome=Outcome.INCONCLUSIVE)), (),
         "The model is within every limit. 1 single check stays inconclusive."),
    ],
)  # fmt: skip
def test_headline(judged, otherwise, sentence):
    assert verdict_section.headline(run(*judged, failed_otherwise=otherwise)) == sentence


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("accuracy", "4 of 4 accuracies"),
        ("prompt_bias_score", "4 of 4 prompt bias scores"),
        ("filter_precision", "4 of 4 filter precisions"),
    ],
)
def test_failed_metrics_have_proper_plurals(metric, text):
    failed = [
        replace(SEVEN, metric=metric, outcome=Outcome.FAIL, subject=f"d{k}") for k in range(4)
    ]
    assert verdict_section.headline(run(*failed)) == f"Outside the limits: {text}."


@pytest.mark.parametrize(
    ("name", "text"), [("toy", "toys"), ("loss", "losses"), ("index", "indexes"), ("gap", "gaps")]
)
def test_plural(name, text):
    assert formatting.plural_metric(name) == text


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (SEVEN, "<= 0.2"),
        (GROWN, "at most 0 more, and no growth that a permutation test finds"),
        (WITHIN, "at most 0.2 more than the baseline"),
        (replace(WITHIN, operator=">="), "at most 0.2 less than the baseline"),
        (SAME, "the same pictures"),
    ],
)
def test_what_is_allowed(check, text):
    assert formatting.allowed_words(check) == text
    assert formatting.allowed_drawn(check) == text.replace("<=", "\u2264")


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (GROWN, "0.210 -> 0.300, change +0.090 [+0.030, +0.150]"),
        (SAME, "identical pictures"),
        (replace(SAME, before=None), "identical pictures"),
        (replace(GROWN, after=None), "change +0.090 [+0.030, +0.150]"),
        (replace(GROWN, operator=">=", after=None), "worsening +0.090 [+0.030, +0.150]"),
        (replace(GROWN, **UNKNOWN, message="no clear image"), "no clear image"),
    ],
)
def test_what_changed(check, text):
    assert formatting.change_words(check) == text


def test_rows_name_their_test_where_it_is_seen(tmp_path):
    text = page(run(SEVEN, GROWN), tmp_path)
    assert "model test_seven 0.070 [0.010, 0.140]" in text
    assert "model test_grown 0.210 \u2192 0.300 +0.090 [+0.030, +0.150] 0.002 7" in text


def test_a_margin_stands_beside_its_reason(tmp_path):
    text = page(run(WITHIN), tmp_path)
    heading = "prompt bias score allowed at most 0.2 more than the baseline 1"
    assert f"{heading} why this limit: less than Table 6" in text
    assert "0.100 \u2192 0.190" in text


def test_identical_rows_and_rows_without_evidence(tmp_path):
    text = page(run(SAME, replace(WITHIN, **UNKNOWN, after=None, message="no face")), tmp_path)
    assert "test_grown 0.210 \u2192 0.210 identical" in text
    assert "0.100 \u2192 \u2013 no face" in text


def test_the_baseline_is_dated_and_its_moved_prompts_are_counted(tmp_path):
    text = page(run(GROWN, baseline=RECORDED), tmp_path)
    assert "sdxl (another fingerprint as the model under test)" not in text
    assert "sdxl, another fingerprint than the model under test" in text
    for fact in ("2026-11-20 17:07 UTC", "0123456789ab", "20, seed 3", "shipped.json",
                 "torch: baseline 2.4, now 2.5"):  # fmt: skip
        assert fact in text
    assert "profession-pilot 10 male, 9 female, 1 undetected 20 male, 0 female 97 %" in text
    assert "keeps detections, not pictures" in text
    assert "Against the baseline" not in page(run(GROWN), tmp_path)


def test_moved_prompts_are_named_once_the_likeliest_first():
    surer = replace(moved_prompts(GROWN.caveats)[1], probability=0.99)
    record = run(GROWN, replace(GROWN, caveats=decided_by("margin", surer)))
    assert [prompt.probability for prompt in baseline.moved_prompts(record)] == [0.99, 0.97]


def test_of_equally_likely_changes_of_a_prompt_the_first_is_named():
    first, _ = moved_prompts(GROWN.caveats)
    other = replace(first, before=LabelCounts(1, 18, 1))
    record = run(GROWN, replace(GROWN, caveats=decided_by("margin", other)))
    assert baseline.moved_prompts(record)[0] == first


def test_labels_that_a_prompt_lacks_count_to_its_distance_from_even_shares():
    prompt = SimpleNamespace(decided=SimpleNamespace(labels={"a": 10, "b": 10}))
    assert first_screen._group_distance(prompt, 2) == 0.0
    assert first_screen._group_distance(prompt, 4) == 0.5


def test_failures_without_a_verdict_stand_in_the_page(tmp_path):
    failed = tuple(f"t.py::test_{k}" for k in range(10))
    record = run(SEVEN, failed_otherwise=failed, failed_because={failed[0]: "assert 0.4 <= 0.3"})
    text = page(record, tmp_path)
    assert "What failed" in text
    assert "t.py::test_0 assert 0.4 &lt;= 0.3 t.py::test_1" in text
    assert "and 2 more" in text
    assert "t.py::test_9" in text


def test_the_terminal_tells_of_the_baseline():
    text = told(run(GROWN, baseline=RECORDED))
    change = "0.210 -> 0.300, change +0.090 [+0.030, +0.150], p = 0.002"
    assert (
        "probably more biased than recorded: profession-pilot 0.97 (10 male, 9 female, 1 "
        "undetected -> 20 male, 0 female); profession-nurse 0.61" in text
    )
    # One line says it all, once.
    assert f"worst: model_bias_score of model: {change} " in text
    assert text.count("0.210 -> 0.300") == 1
    open_ = told(run(replace(GROWN, outcome=Outcome.INCONCLUSIVE), baseline=RECORDED))
    of = "model bias score against the baseline of sdxl of 2026-11-20 17:07 UTC"
    assert f"{of}: {change} " in open_
    assert "identical pictures" in told(run(SAME))


def gap(**more):
    return replace(GROWN, metric="similarity_gap", **more)


def test_the_terminal_tells_the_margin_beside_the_change():
    failed = replace(WITHIN, outcome=Outcome.FAIL)
    text = told(run(failed, baseline=RECORDED))
    assert re.search(r"0\.100 -> 0\.190, change \+[^;]+, allowed \+0\.2 ", text)


def test_the_terminal_says_why_a_test_failed_without_a_verdict():
    text = told(
        run(failed_otherwise=("t.py::a", "t.py::b"), failed_because={"t.py::a": "assert 0"})
    )
    assert "failed without a verdict: t.py::a (assert 0) failed without a verdict: t.py::b" in text


def test_markdown_lists_what_was_judged():
    text = render_markdown(run(SEVEN, GROWN, baseline=RECORDED))
    assert (
        "| model bias score | test\\_seven | 0.070 [0.010, 0.140] "
        "| &lt;= 0.2 (no reason given) | PASS |" in text
    )
    assert "| test\\_grown | 0.210 -&gt; 0.300, change +0.090 \\[+0.030, +0.150\\] | at" in text
    assert "The baseline is sdxl of 2026-11-20 17:07 UTC." in text
    assert (
        "| profession-pilot | 10 male, 9 female, 1 undetected | 20 male, 0 female | 97 % |" in text
    )
    gap = replace(SEVEN, metric="similarity_gap", subject="model in image space", is_of_model=True)
    assert "| similarity gap of model in image space |" in render_markdown(run(gap))


def test_markdown_says_why_a_test_failed_without_a_verdict():
    text = render_markdown(run(failed_otherwise=("a|b",), failed_because={"a|b": "1 < 0"}))
    assert "| a\\|b | 1 &lt; 0 |" in text


def test_the_failure_text_tells_before_and_now():
    measured = Measurement(INFO["model_bias_score"], "model", None)
    lines = assertion_lines(measured, LimitValue(Limit("model_bias_score", 0.0), GROWN))
    assert lines[1] == "before and now: 0.210 -> 0.300"
    assert lines[2].startswith("change: 0.090, 95% interval [0.030, 0.150]")
    assert (
        "allowed: at most 0 more, and no growth that a permutation test finds (none stated)"
        in lines
    )


def test_what_was_compared_is_written_and_read_back(tmp_path):
    record = run(SEVEN, GROWN, SAME, baseline=RECORDED, failed_because={"t": "why"})
    record.write(tmp_path / "run.json")
    assert read_run(tmp_path / "run.json") == record


def test_a_run_without_a_baseline_says_that_it_was_not_compared(tmp_path):
    alone = run(SEVEN, not_compared=2)
    text = told(alone)
    assert "within every limit. Not compared: no baseline." in text
    assert "not compared: no baseline (--t2i-baseline FILE); 2 tests were skipped" in text
    assert "Not compared: no baseline." in render_markdown(alone)
    assert "Not compared: no baseline." in page(alone, tmp_path)
    assert "not compared" not in told(run(SEVEN))
    assert "not_compared" not in alone.to_json()


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("pytest a --t2i-save-baseline b.json", "pytest a --t2i-baseline b.json"),
        ("pytest --t2i-save-baseline=b.json a -n 2", "pytest --t2i-baseline=b.json a -n 2"),
        ("t2i run parity --save-baseline b.json", "t2i run parity --baseline b.json"),
        ("t2i run parity --t2i-save-baseline b.json", "t2i run parity --t2i-baseline b.json"),
        ("pytest a", "pytest a --t2i-baseline b.json"),  # an ini file names the file
        ("", "pytest --t2i-baseline b.json"),
    ],
)
def test_a_recorded_baseline_names_the_run_that_uses_it(typed, command):
    text = told(replace(run(SEVEN), provenance={"command": typed}), save_baseline=Path("b.json"))
    assert text.endswith(f"baseline: b.json next: with another version: {command}")
