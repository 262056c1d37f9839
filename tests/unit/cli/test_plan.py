"""t2i plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_t2i.cli.main import main
from pytest_t2i.generation.batch_times import remember_pace
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.record.record import RunRecord

PLAN = ("plan", "--prompts", "10")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with one limit, and without a store, which would tell seconds per image."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "240")  # lines are whole
    limits("prompt_bias_score = 0.5\n")


def limits(text):
    Path("limits.toml").write_text(text, encoding="utf-8")


def write_run(folder, made, seconds):
    work = {"planned": 50, "made": made, "seconds": seconds, "refused": 0, "notes": []}
    record = RunRecord("2026-01-01T00:00:00+00:00", 1.0, "m", {}, {}, work)
    record.write(folder / "run.json")
    return str(folder / "run.json")


ROW = re.compile(r" +(none|[\d,]+) +(-|[\d,]+) +\S+(?: +[\d.]+ USD| +-)? {2}(\S.*)")


def rows(told):
    """The table: images per prompt, images, and the verdict."""
    found = [match for line in told.splitlines() if (match := ROW.fullmatch(line))]
    return {match[3]: (match[1], match[2]) for match in found}


def test_images_minutes_and_price_of_a_limit(tmp_path, capsys):
    run = write_run(tmp_path, made=40, seconds=60.0)
    assert main([*PLAN, "--run", run, "--price", "0.04 USD"]) == 0
    told = capsys.readouterr().out
    passes = "prompt_bias_score <= 0.5: a prompt at 0 passes"
    assert f"33       330       8.2      13.20 USD  {passes}" in told
    assert "minutes: at 1.5 s an image (as in " in told
    assert [*rows(told)] == [
        passes, "prompt_bias_score <= 0.5: a prompt at 0.7 fails, alone among fair ones",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_model_and_its_gate(capsys):
    limits("[model_bias_score]\nlimit = 0.3\n[model_bias_score.margin]\nlimit = 0.2\n")
    assert main(["plan", "--prompts", "30"]) == 0
    told = capsys.readouterr().out
    table = {words.partition(": ")[2]: int(each) for words, (each, _) in rows(told).items()}
    assert table.keys() == {
        "a model at 0 passes", "a model at 0.5 fails",
        "an unchanged model passes with other seeds",
    }  # fmt: skip
    assert all(4 <= images <= 100 for images in table.values())
    assert "against a baseline, margin 0.2" in told
    limits("model_bias_score = 0.9\n")
    assert main(["plan", "--prompts", "30"]) == 0
    assert "against a baseline, margin 0.1 (by default)" in capsys.readouterr().out


@pytest.mark.slow
def test_what_no_number_decides_is_none(capsys):
    limits("[model_bias_score.margin]\nlimit = 0.0\n")
    assert main(["plan", "--prompts", "3", "--price", "0.04 USD"]) == 0
    (numbers,) = rows(capsys.readouterr().out).values()
    assert numbers == ("none", "-")


@pytest.mark.slow
def test_groups_that_are_compared(capsys):
    limits("[demographic_parity_difference.language]\nlimit = 0.2\n")
    suite = ("plan", "--prompts", "9", "--groups", "3")
    assert main(suite) == 0
    about = "demographic_parity_difference.language <= 0.2: a gap between 3 groups at"
    passes, fails = rows(capsys.readouterr().out).items()
    for (words, (each, images)), end in ((passes, "0 passes"), (fails, "0.4 fails")):
        assert int(images) == 9 * int(each)
        assert words == f"{about} {end}, {3 * int(each)} images a group"
    assert main([*suite, "--beyond", "0.1", "--images", "130"]) == 0
    told = capsys.readouterr().out
    assert "9 prompts of 130 images, confidence 0.95\n" in told
    power = re.findall(r"^ +(\S+)  .* at (0 passes|0.3 fails)$", told, re.MULTILINE)
    assert [end for _, end in power] == ["0 passes", "0.3 fails"]
    assert all(0.5 < float(chance) <= 1.0 for chance, _ in power)


def test_a_limit_of_one_is_never_exceeded(capsys):
    limits("prompt_bias_score = 1.0\n")
    assert main(PLAN) == 0
    assert "fails" not in capsys.readouterr().out


def test_other_limits_are_named(capsys):
    limits("prompt_bias_score = 0.5\naccuracy = 0.9\ngroup_distance = 0.4\n")
    assert main(PLAN) == 0
    told = capsys.readouterr().out
    assert "not planned (their power cannot be computed): accuracy, group_distance\n" in told


def test_minutes_are_at_the_slowest_pace_of_the_store(tmp_path, capsys):
    store = Store(tmp_path / ".t2i")
    for name, seconds in (("fast", 0.5), ("slow", 1.5)):
        store.name_model(f"{name} 1", name)
        remember_pace(store, f"{name} 1", {"cpu": seconds})
    store.close()
    assert main(PLAN) == 0
    assert "minutes: at 1.5 s an image (as slow takes on cpu)" in capsys.readouterr().out
    assert main([*PLAN, "--seconds-per-image", "3"]) == 0
    assert "minutes: at 3 s an image (as given)" in capsys.readouterr().out


def test_early_stopping_is_planned_exactly(capsys):
    assert main([*PLAN, "--sequential"]) == 0
    told = capsys.readouterr().out
    assert "prompt_bias_score <= 0.5 with --t2i-sequential, one of 10 prompts" in told
    assert re.search(r"^ +112 +\d+ of 112, 0\.99", told, re.MULTILINE)


@pytest.mark.parametrize(
    ("content", "arguments", "problem"),
    [
        ("prompt_bias_score = -0.5\n", (), "limit of the absolute score, from 0 to 1, got -0.5"),
        ("accuracy = 0.5\n", (), "a plan can be made for limits of prompt_bias_score"),
        ("model_bias_score = 0.5\n", ("--sequential",), "expected a limit of prompt_bias_score"),
        ("prompt_bias_score = 1.0\n", ("--sequential",), "expected a limit of prompt_bias_score"),
        ("", ("--limits", "absent.toml"), "absent.toml: no such file"),
        (
            "demographic_parity_difference = 0.2\n",
            ("--prompts", "5"),
            "--groups: expected at most as many groups as prompts, 5, got 10",
        ),
    ],
)
def test_what_does_not_fit_is_told(content, arguments, problem, capsys):
    limits(content)
    assert main(["plan", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_run_that_made_nothing_has_no_seconds_per_image(tmp_path, capsys):
    assert main([*PLAN, "--run", write_run(tmp_path, made=0, seconds=0.0)]) == 2
    assert "made no image" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--confidence", "1"), "expected a level above 0.5 and below 1"),
        (("--power", "1"), "expected a number above 0 and below 1"),
        (("--seconds-per-image", "0"), "expected a number above 0"),
        (("--prompts", "0"), "expected at least 1, got 0"),
        (("--groups", "1"), "expected at least 2, got 1"),
        (("--images", "0"), "expected at least 1, got 0"),
        (("--beyond", "1.5"), "expected a share from 0 to 1, got 1.5"),
    ],
)
def test_mistyped_arguments(arguments, problem, capsys):
    with pytest.raises(SystemExit):
        main(["plan", *arguments])
    assert problem in capsys.readouterr().err
