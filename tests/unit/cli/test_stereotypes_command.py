"""``t2i compare stereotypes``: OASIS Table 1 as printed, its nationalities, its intersections."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from stereotype_rows import counted_rows

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.cli.main import main
from pytest_t2i.data import Row
from pytest_t2i.prompts.internet_users import FORM, Footprints, of_no_concept, read_footprints
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import AuditRecord, Counts, PromptRecord, RunRecord
from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.shares import stereotype_interval

TABLE = json.loads(
    (Path(__file__).parents[2] / "oracles" / "published" / "oasis_table1.json").read_text()
)
WORK = {"planned": 0, "made": 0, "seconds": 0.0, "refused": 0, "notes": []}
IMAGES = 2000


@pytest.fixture(autouse=True)
def no_terminal(wide_terminal, monkeypatch):
    """Where nothing says how wide it is, Markdown is printed."""
    monkeypatch.delenv("COLUMNS")


def published(name, column):
    """A run whose shares are those of a column of Table 1."""
    return run_of(name, [
        counted_rows(
            f"{row[0]}-{row[1]}", row[0], row[1], row[2] / 100,
            (round(row[column] / 100 * IMAGES), IMAGES),
        )
        for row in TABLE["rows"]
    ])  # fmt: skip


def run_of(name, stereotypes, **more):
    rows = Rows(tuple(row for pair in stereotypes for row in pair))
    run = RunRecord(
        "2026-01-01T00:00:00+00:00", 1.0, name, {}, {}, WORK,
        audits={"stereotypes": AuditRecord(rows=rows.rows)}, **more,
    )  # fmt: skip
    return with_blocks(run)


def prompt(axis, concept, men, images=100):
    counts = Counts({"male": men, "female": images - men}, {})
    name = f"{axis}-{concept}".lower().replace(", ", "-")
    return PromptRecord(name, name, axis, concept, "neutral", {"clip": counts}, None, ())


def write(folder, *records):
    names = []
    for record in records:
        names.append(str(folder / f"{record.model}.json"))
        record.write(Path(names[-1]))
    return names


def test_table_1_and_the_footprint(tmp_path, capsys):
    runs = write(tmp_path, published("SDv2", 3), published("SDv3", 5), published("FLUX", 7))
    assert main(["compare", "stereotypes", *runs, "--out", str(tmp_path / "t.md")]) == 0
    out = capsys.readouterr().out
    assert (tmp_path / "t.md").read_text() == out
    turban = next(line for line in out.splitlines() if "Wearing Turban" in line)
    assert [cell.strip().split(" %")[0] for cell in turban.split("|")[3:-1]] == [
        "0.2", "27.3", "27.1", "69.0", "68.8", "38.2", "38.0",
    ]  # fmt: skip
    # The paper's own finding: scores fall as users grow. On its numbers of SDv2 and SDv3.
    assert "| SDv2 | -1.000, no interval: 3 nationalities are too few (5 needed) |" in out
    assert "| SDv3 | -1.000, no interval" in out
    assert "of 3 nationalities in random order, 1 in 3 orders correlates perfectly" in out
    assert "At 95 % 5 nationalities are needed" in out
    assert "Indian 0.079" in out
    assert read_footprints().source in out


def test_scores_against_other_real_world_shares_stand_apart(tmp_path, capsys):
    names = "Iranian", "Wearing Turban"
    one, other = (
        run_of(model, [counted_rows("a", *names, real, (30, 40))])
        for model, real in (("SDv2", 0.2), ("SDv3", 0.1))
    )
    assert main(["compare", "stereotypes", *write(tmp_path, one, other)]) == 0
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| Iranian | Wearing Turban |")
    ]
    assert len(rows) == 2
    assert [[any(map(str.isdigit, cell)) for cell in row[3:]] for row in rows] == [
        [True, True, False, False], [False, False, True, True],
    ]  # fmt: skip


def crossing(*alone):
    """SDv3 with two nationalities crossed with a profession, and these prompts of one word."""
    crossed = "nationality-x-profession"
    prompts = (prompt(crossed, "Indian, doctor", 98), prompt(crossed, "Iranian, doctor", 100))
    cells = tuple(
        Row(
            "share_of_men", one.id, "prompt", None,
            {"nationality": one.concept.split(", ")[0], "profession": "doctor"},
        )
        for one in prompts
    )  # fmt: skip
    return with_blocks(RunRecord(
        "2026-01-01T00:00:00+00:00", 1.0, "SDv3", {}, {}, WORK, prompts=(*alone, *prompts),
        audits={"parity": AuditRecord(rows=cells)},
    ))  # fmt: skip


DOCTOR = prompt("profession", "doctor", 78)


def test_table_2(tmp_path, capsys):
    assert main(["compare", "stereotypes", *write(tmp_path, crossing(DOCTOR))]) == 0
    out = capsys.readouterr().out
    assert "## Share of men when a word is added (95 % intervals)" in out
    assert "| SDv3 | doctor | 78.0 %" in out
    assert "| Indian | 98.0 %" in out
    assert "| +20.0 [+10.8, +29.4] |" in out
    assert "| +22.0 [+" in out
    assert "(Indian, Iranian). Add nationality to the marker beside intersection" in out


def test_a_crossing_without_its_words_alone_is_told_what_to_add(tmp_path, capsys):
    assert main(["compare", "stereotypes", *write(tmp_path, crossing())]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "their words alone are missing (Indian, Iranian, doctor)." in told.err
    assert "Add nationality and profession to the marker beside intersection(...)" in told.err


def test_words_without_a_clear_image(tmp_path, capsys):
    nobody = [prompt("nationality", word, 0, 0) for word in ("Indian", "Iranian")]
    unclear = crossing(*nobody, prompt("profession", "doctor", 0, 0))
    assert main(["compare", "stereotypes", *write(tmp_path, unclear)]) == 2
    assert "images of one clear man or woman" in capsys.readouterr().err


def counted(*concepts, direction="over"):
    """A run of one stereotype for each concept: 30 of 40 images, and fewer of each further one."""
    return run_of("SDv2", [
        counted_rows(
            concept, concept, "hat", 0.9 if direction == "under" else 0.5, (30 - k, 40), direction
        )
        for k, concept in enumerate(concepts)
    ])  # fmt: skip


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_every_table_is_at_the_level_asked_for(tmp_path, capsys, level):
    runs = write(tmp_path, counted("Iranian"))
    assert main(["compare", "stereotypes", *runs, "--confidence", str(level)]) == 0
    out = capsys.readouterr().out
    share, score = share_interval(30, 40, level), stereotype_interval(30, 40, 0.5, level)
    assert f"75.0 % [{100 * share.low:.1f}, {100 * share.high:.1f}]" in out
    assert f"25.0 % [{100 * score.low:.1f}, {100 * score.high:.1f}]" in out
    headings = [line for line in out.splitlines() if line.startswith("##")]
    assert len(headings) == 2
    assert all(line.endswith(f"({100 * level:g} % intervals)") for line in headings)


def test_an_attribute_shown_too_rarely_at_another_level(tmp_path, capsys):
    runs = write(tmp_path, counted("Iranian", direction="under"))
    assert main(["compare", "stereotypes", *runs, "--confidence", "0.8"]) == 0
    score = stereotype_interval(30, 40, 0.9, 0.8, "under")
    assert f"15.0 % [{100 * score.low:.1f}, {100 * score.high:.1f}]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("facts", "expected", 1.5), ("facts", "expected", "half"),
        ("facts", "direction", "sideways"),
        ("counts", "present", 41),
    ],
)  # fmt: skip
def test_numbers_that_no_run_comes_to_are_refused(tmp_path, capsys, part, name, value):
    (run,) = write(tmp_path, counted("Iranian"))
    plain = json.loads(Path(run).read_text())
    plain["audits"]["stereotypes"]["rows"][0][part][name] = value
    Path(run).write_text(json.dumps(plain))
    assert main(["compare", "stereotypes", run]) == 2
    assert f"{name}={value!r}" in capsys.readouterr().err


def test_too_many_equal_pictures_have_a_share_and_no_column_of_scores(tmp_path, capsys):
    score, share = counted_rows("a", "Iranian", "hat", 0.5, (30, 40))
    runs = write(tmp_path, run_of("SDv2", [(replace(score, value=None), share)]))
    assert main(["compare", "stereotypes", *runs]) == 0
    (line,) = (one for one in capsys.readouterr().out.splitlines() if "| hat |" in one)
    assert [cell.strip()[:6] for cell in line.split("|")[3:-1]] == ["50.0 %", "75.0 %"]


def test_as_many_nationalities_as_a_perfect_order_needs_have_an_interval(tmp_path, capsys):
    names = ("Danish", "French", "Indian", "Polish")
    runs = write(tmp_path, counted(*reversed(names)))
    users = "".join(f"{name} = {k}\n" for k, name in enumerate(names, 1))
    (tmp_path / "u.toml").write_text(f"source = 'x'\n[users]\n{users}")
    with_users = ["compare", "stereotypes", *runs, "--users", str(tmp_path / "u.toml")]
    assert main([*with_users, "--confidence", "0.8"]) == 0
    out = capsys.readouterr().out
    assert "| SDv2 | 1.000 [" in out
    assert "other images of these nationalities" in out
    assert "No interval" not in out
    assert main(with_users) == 0
    assert "1.000, no interval: 4 nationalities are too few (5 needed)" in capsys.readouterr().out


def test_a_terminal_of_80_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = replace(published("FLUX", 7), model="a-model-with-a-rather-long-name")
    crossed = crossing(DOCTOR)
    both = replace(crossed, audits={**published("SDv3", 5).audits, **crossed.audits})
    runs = write(tmp_path, published("SDv2", 3), both)
    assert main(["compare", "stereotypes", *runs, "--out", str(tmp_path / "t.md")]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "|" not in out
    assert "Iranian: Wearing Turban\n  real world   0.2 %\n  SDv2: share  27.3 % [" in out
    assert "SDv3: doctor\n  alone     78.0 % [" in out
    assert "  with      Indian\n  together  98.0 % [" in out
    assert "  rank correlation  -1.000, no interval: 3 nationalities are too few" in out
    assert (tmp_path / "t.md").read_text().startswith("## Stereotype scores (95 % intervals)\n\n|")
    assert main(["compare", "stereotypes", *runs, *write(tmp_path, long)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "  a-model-with-a-rather-long-name: share  " in out


def test_a_run_given_twice_and_two_runs_of_one_model(tmp_path, capsys):
    first = published("SDv2", 3)
    (run,) = write(tmp_path, first)
    assert main(["compare", "stereotypes", run, run]) == 2
    assert f"expected every run once, got the run of {run} again" in capsys.readouterr().err
    for name, created in (("later", "2026-02-01T00:00:00"), ("same-day", "2026-01-01T00:00:01")):
        replace(first, created=created).write(tmp_path / name)
    assert main(["compare", "stereotypes", run, str(tmp_path / "later")]) == 0
    out = capsys.readouterr().out
    assert "SDv2 (2026-01-01T00:00): share" in out
    assert "SDv2 (2026-02-01T00:00): share" in out
    assert main(["compare", "stereotypes", run, str(tmp_path / "same-day")]) == 0
    assert "SDv2 (2026-01-01T00:00) #&#8203;2: share" in capsys.readouterr().out


def test_a_folder_as_out_is_refused_before_the_work(tmp_path, capsys):
    runs = write(tmp_path, published("SDv2", 3))
    assert main(["compare", "stereotypes", *runs, "--out", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"--out: expected a file, {tmp_path} is a folder" in told.err


def test_help_shows_a_file_of_users(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["compare", "stereotypes", "--help"])
    out = capsys.readouterr().out
    assert all(line in out for line in FORM.splitlines())
    (tmp_path / "u.toml").write_text(FORM)
    assert read_footprints(tmp_path / "u.toml").users == {"Indian": 881.3, "Mexican": 96.8}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source = 'x'\n[users]\nIndian = -1\n", "a finite number above 0, got Indian = -1.0."),
        ("source = 'x'\n[users]\nIndian = inf\n", "u.toml: [users]: expected millions of users"),
        ("source = 'x'\n[users]\nIndian = nan\n", "got Indian = nan."),
        ("source = 'x'\n[users]\nindian = 3\n", "'indian'. Did you mean 'Indian'?"),
        ("source = ''\n[users]\nIndian = 1\n", 'expected source = "..."'),
        ("[users]\nIndian = 1\n", "source"),
    ],
)
def test_bad_numbers(tmp_path, capsys, text, expected):
    (tmp_path / "u.toml").write_text(text)
    runs = write(tmp_path, published("SDv2", 3))
    assert main(["compare", "stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 2
    assert expected in capsys.readouterr().err


def test_what_stands_on_one_side_only_is_said(tmp_path, capsys):
    (tmp_path / "u.toml").write_text("source = 'x'\n[users]\nIndian = 1\nIranain = 2\nDanish = 3\n")
    runs = write(tmp_path, published("SDv2", 3))
    assert main(["compare", "stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 0
    out = capsys.readouterr().out
    assert "1 nationality with known internet users: three are needed" in out
    assert "Left out, because their internet users are not known: Iranian, Mexican." in out
    assert "runs have no stereotypes of them: Iranain (did you mean Iranian?), Danish." in out
    assert of_no_concept(Footprints({"Indian": 1.0}, "x"), ["Indian"]) == []


def test_too_few_nationalities_and_nothing_at_all(tmp_path, capsys):
    (tmp_path / "u.toml").write_text("source = 'x'\n[users]\nIndian = 1\nIranian = 2\n")
    runs = write(tmp_path, published("SDv2", 3))
    assert main(["compare", "stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 0
    assert "2 nationalities with known internet users: three are needed" in capsys.readouterr().out
    users = "".join(f"{word} = 5\n" for word in ("Indian", "Iranian", "Mexican"))
    (tmp_path / "u.toml").write_text(f"source = 'x'\n[users]\n{users}")
    assert main(["compare", "stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 0
    assert "all 3 nationalities have 5 internet users: no order" in capsys.readouterr().out
    empty = with_blocks(RunRecord("2026-01-01T00:00:00+00:00", 1.0, "none", {}, {}, WORK))
    assert main(["compare", "stereotypes", *write(tmp_path, empty)]) == 2
    assert "none of these runs looked for stereotypes" in capsys.readouterr().err
