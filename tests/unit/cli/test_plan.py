"""t2i plan."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_t2i.audits.parity.record import ModelScoreRecord, ParityPart
from pytest_t2i.cli.main import main
from pytest_t2i.cli.support.seconds_per_image import HISTORY
from pytest_t2i.data import Interval
from pytest_t2i.runs.history import add_run
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.runs.record import AuditRecord, RunRecord

PROMPT = ("plan", "--metric", "prompt_bias_score", "--limit", "0.5", "--prompts", "10")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder without a history of runs, which would tell seconds per image."""
    monkeypatch.chdir(tmp_path)


def write_run(folder, made, seconds):
    work = {"planned": 50, "made": made, "seconds": seconds, "refused": 0, "notes": []}
    record = RunRecord("2026-01-01T00:00:00+00:00", 1.0, "m", {}, {}, work)
    (folder / "run.json").write_text(record.to_json())
    return str(folder / "run.json")


def test_images_minutes_and_what_a_budget_shows(tmp_path, capsys):
    run = write_run(tmp_path, made=40, seconds=60.0)
    assert main([*PROMPT, "--run", run, "--budget", "10min"]) == 0
    told = capsys.readouterr().out
    assert "33             330         8.2  prompt_bias_score <= 0.5: a prompt at 0 passes" in told
    assert "FIRST-LAST" not in told
    assert "with 400 images (40 per prompt, 10.0 minutes):" in told
    assert "the smallest value found with power 0.8 is 0.85" in told


@pytest.mark.slow
def test_a_models_power_is_told_as_a_range(capsys):
    model = ("plan", "--metric", "model_bias_score", "--limit", "0.3", "--prompts", "20")
    assert main([*model, "--seconds-per-image", "2", "--budget", "400"]) == 0
    told = capsys.readouterr().out
    assert "FIRST-LAST for a model" in told
    line = re.search(
        r"(\d+)-(\d+) +(\d+)-(\d+) +\S+ +model_bias_score <= 0.3: a model at 0.5", told
    )
    assert line is not None
    first, last, *images = map(int, line.groups())
    assert 4 <= first < last <= 40
    assert images == [20 * first, 20 * last]
    assert "a model at 0 passes in 98% of cases" in told
    assert re.search(r"at 0.5 fails in \d+% to 100% of cases \(\d+% if spread as in publi", told)
    assert re.search(r"the smallest value found with power 0.8 is 0.4\d to 0.4\d", told)


@pytest.mark.slow
def test_where_a_spread_needs_too_many_images_the_end_is_open(capsys):
    model = ("plan", "--metric", "model_bias_score", "--limit", "0.9", "--prompts", "5")
    assert main([*model, "--beyond", "0.05", "--budget", "10"]) == 0
    told = capsys.readouterr().out
    assert "no value is found with power 0.8" in told


def test_what_images_cost_and_what_a_budget_pays_for(capsys):
    assert main([*PROMPT, "--price", "0.04 USD", "--budget", "16 USD"]) == 0
    told = capsys.readouterr().out
    row = r"33 +330 +- +13.20 USD  prompt_bias_score <= 0.5: a prompt at 0"
    assert re.search(row, told)
    assert "with 400 images (40 per prompt, 16 USD):" in told


@pytest.mark.parametrize("more", [(), ("--price", "0.04 EUR")])
def test_a_budget_of_money_needs_a_price_of_its_currency(capsys, more):
    assert main([*PROMPT, "--budget", "16 USD", *more]) == 2
    told = capsys.readouterr().err
    assert 'a --budget of 16 USD needs the price of an image: --price "0.04 USD"' in told


@pytest.mark.slow
def test_a_limits_file(tmp_path, capsys):
    (tmp_path / "limits.toml").write_text(
        "accuracy = 0.9\ngroup_distance = 0.3\n[model_bias_score]\nlimit = 0.3\n"
        "[model_bias_score.margin]\nlimit = 0.1\n"
    )
    arguments = ("--limits", str(tmp_path / "limits.toml"), "--prompts", "10", "--power", "0.5")
    assert main(["plan", *arguments, "--beyond", "0.4"]) == 0
    told = capsys.readouterr().out
    assert "model_bias_score <= 0.3: a model at 0.7 fails" in told
    assert "model_bias_score against a baseline, margin 0.1: a model at 0 that grows by 0.5" in told
    assert "not planned (their power cannot be computed): accuracy\n" in told
    assert "limits of group_distance are planned with --groups N" in told


def test_minutes_are_those_of_the_last_run_here(tmp_path, capsys):
    score = Interval(0.1, 0.0, 0.2, 0.95, "test", 20)
    scores = (ModelScoreRecord("model", "clip", score, score.estimate, 0.1, 2, 40),)
    audits = {"parity": AuditRecord(1, ParityPart(scores))}
    run = replace(read_run(write_run(tmp_path, made=40, seconds=60.0)), audits=audits)
    add_run(run, HISTORY)
    assert main([*PROMPT, "--budget", "10min"]) == 0
    told = capsys.readouterr().out
    assert f"minutes: at 1.5 s an image (as {run.model} took on {run.created[:10]})" in told
    assert "with 400 images (40 per prompt, 10.0 minutes)" in told
    assert main([*PROMPT, "--seconds-per-image", "3"]) == 0
    assert "minutes: at 3 s an image (as given)" in capsys.readouterr().out


def test_a_budget_too_small_for_an_image_each(capsys):
    assert main([*PROMPT, "--budget", "5"]) == 0
    assert "with 0 images (0 per prompt):" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--metric", "prompt_bias_score"), "needs --limit X or --margin X"),
        (("--metric", "prompt_bias_score", "--limit", "1.5"), "lies between -1 and 1, got 1.5"),
        (
            ("--metric", "prompt_bias_score", "--limit", "-0.5"),
            "limit of the absolute score, from 0 to 1, got -0.5",
        ),
        (("--metric", "prompt_bias_score", "--margin", "-0.1"), "a margin is at least 0"),
        (("--metric", "prompt_bias_scor", "--limit", "0.5"), "Did you mean 'prompt_bias_score'"),
        (("--metric", "accuracy", "--limit", "0.5"), "a plan can be made for prompt_bias_score"),
        (("--limits", "absent.toml"), "absent.toml: no such file"),
        ((*PROMPT[1:], "--budget", "9min"), "needs --seconds-per-image S, --run run.json or"),
        ((*PROMPT[1:], "--before", "1"), "expected a score of 0 or more and below 1"),
    ],
)
def test_what_does_not_fit_is_told(arguments, problem, capsys):
    assert main(["plan", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_run_that_made_nothing_has_no_seconds_per_image(tmp_path, capsys):
    assert main([*PROMPT, "--run", write_run(tmp_path, made=0, seconds=0.0)]) == 2
    assert "made no image" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--confidence", "1"), "expected a level above 0.5 and below 1"),
        (("--power", "1"), "expected a number above 0 and below 1"),
        (("--budget", "much"), "as in 2000, 90min, 2h or 5 USD, got 'much'"),
        (("--budget", "2x"), "as in 2000, 90min, 2h or 5 USD, got '2x'"),
        (("--seconds-per-image", "0"), "expected a number above 0"),
        (("--prompts", "0"), "expected at least 1, got 0"),
    ],
)
def test_mistyped_arguments(arguments, problem, capsys):
    with pytest.raises(SystemExit):
        main([*PROMPT, *arguments])
    assert problem in capsys.readouterr().err


def test_groups_are_planned_where_their_number_is_given(capsys):
    group = ("plan", "--metric", "group_distance", "--limit", "0.4", "--prompts", "5")
    assert main([*group, "--groups", "3", "--budget", "200"]) == 0
    told = capsys.readouterr().out
    assert "FIRST-LAST for groups" in told
    assert re.search(r"\d+ +\d+ +- +group_distance of 3 <= 0.4: a prompt at 0 passes", told)
    # One group only is 2/3 away: no more can be beyond the limit.
    assert re.search(r"a prompt at 0.6 fails, alone among 5 fair ones in \d+%", told)
    assert "the smallest value found with power 0.8 is" in told
    assert "published" not in told


@pytest.mark.slow
def test_a_models_groups_are_planned(capsys):
    model = ("plan", "--metric", "group_distance.model", "--limit", "0.3", "--prompts", "6")
    assert main([*model, "--groups", "3"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"group_distance.model of 3 <= 0.3: a model at 0.5 fails\n", told)


def test_groups_need_their_number_and_a_margin_is_not_planned(capsys):
    assert main(["plan", "--metric", "group_distance", "--limit", "0.4"]) == 2
    told = capsys.readouterr().err
    assert "--metric group_distance needs --groups N, the number of the detector's labels" in told
    margin = ("plan", "--metric", "group_distance", "--margin", "0.1", "--groups", "3")
    assert main([*margin]) == 2
    told = capsys.readouterr().err
    assert "with --groups N for limits of group_distance and group_distance.model" in told
