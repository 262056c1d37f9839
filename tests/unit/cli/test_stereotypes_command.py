"""``t2i stereotypes``: OASIS Table 1 as printed, its nationalities, its intersections."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_t2i.cli.main import main
from pytest_t2i.data import Interval
from pytest_t2i.metrics import stereotype_score
from pytest_t2i.prompts.internet_users import read_footprints
from pytest_t2i.runs.record import (
    CellRecord,
    CellsRecord,
    Counts,
    PromptRecord,
    RunRecord,
    StereotypeRecord,
)

TABLE = json.loads(
    (Path(__file__).parents[2] / "oracles" / "published" / "oasis_table1.json").read_text()
)
WORK = {"planned": 0, "made": 0, "seconds": 0.0, "refused": 0, "notes": []}
IMAGES = 2000


def between(estimate):
    return Interval(estimate, max(0, estimate - 0.02), min(1, estimate + 0.02), 0.95, "m", IMAGES)


def published(name, column):
    """A run whose shares are those of a column of Table 1."""
    rows = tuple(
        StereotypeRecord(
            f"{row[0]}-{row[1]}", row[0], row[1], "clip", row[2] / 100, between(row[column] / 100),
            between(stereotype_score(row[column] / 100, row[2] / 100)), "OASIS Table 1",
        )
        for row in TABLE["rows"]
    )  # fmt: skip
    return RunRecord("2026-01-01T00:00:00+00:00", 1.0, name, {}, {}, WORK, stereotypes=rows)


def prompt(axis, concept, men, images=100):
    counts = Counts({"male": men, "female": images - men}, {})
    name = f"{axis}-{concept}".lower().replace(", ", "-")
    return PromptRecord(name, name, axis, concept, "neutral", {"clip": counts}, None, ())


def write(folder, *records):
    names = []
    for record in records:
        names.append(str(folder / f"{record.model}.json"))
        Path(names[-1]).write_text(record.to_json())
    return names


def test_table_1_and_the_footprint(tmp_path, capsys):
    runs = write(tmp_path, published("SDv2", 3), published("SDv3", 5), published("FLUX", 7))
    assert main(["stereotypes", *runs, "--out", str(tmp_path / "t.md")]) == 0
    out = capsys.readouterr().out
    assert (tmp_path / "t.md").read_text() == out
    turban = next(line for line in out.splitlines() if "Wearing Turban" in line)
    assert [cell.strip().split(" %")[0] for cell in turban.split("|")[3:-1]] == [
        "0.2", "27.3", "27.1", "69.0", "68.8", "38.2", "38.0",
    ]  # fmt: skip
    # The paper's own finding: scores fall as users grow. On its numbers of SDv2 and SDv3.
    assert "| SDv2 | -1.000 [" in out
    assert "| SDv3 | -1.000 [" in out
    assert "Indian 0.079" in out
    assert read_footprints().source in out


def test_scores_against_other_real_world_shares_stand_apart(tmp_path, capsys):
    plain = published("SDv2", 3)
    first, *others = plain.stereotypes
    moved = replace(first, expected=first.expected / 2)
    other = replace(plain, model="SDv3", stereotypes=(moved, *others))
    assert main(["stereotypes", *write(tmp_path, plain, other)]) == 0
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(f"| {first.concept} | {first.attribute} |")
    ]
    assert len(rows) == 2
    assert [[any(map(str.isdigit, cell)) for cell in row[3:]] for row in rows] == [
        [True, True, False, False], [False, False, True, True],
    ]  # fmt: skip


def test_table_2(tmp_path, capsys):
    crossed = "nationality-x-profession"
    prompts = (
        prompt("profession", "doctor", 78),
        prompt(crossed, "Indian, doctor", 98),
        prompt(crossed, "Iranian, doctor", 100),
    )
    cells = tuple(
        CellRecord(one.id, one.concept.split(", ")[0], "doctor", None) for one in prompts[1:]
    )
    run = RunRecord(
        "2026-01-01T00:00:00+00:00", 1.0, "SDv3", {}, {}, WORK, prompts=prompts,
        cells=(CellsRecord("nationality", "profession", cells),),
    )  # fmt: skip
    assert main(["stereotypes", *write(tmp_path, run)]) == 0
    out = capsys.readouterr().out
    assert "| SDv3 | doctor | 78.0 %" in out
    assert "| Indian | 98.0 %" in out
    assert "| +20.0 [+11.4, +29.2] |" in out
    assert "| +22.0 [+" in out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("source = 'x'\n[users]\nIndian = -1\n", "expected numbers above 0"),
        ("source = ''\n[users]\nIndian = 1\n", 'expected source = "..."'),
        ("[users]\nIndian = 1\n", "source"),
    ],
)
def test_bad_numbers(tmp_path, capsys, text, expected):
    (tmp_path / "u.toml").write_text(text)
    runs = write(tmp_path, published("SDv2", 3))
    assert main(["stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 2
    assert expected in capsys.readouterr().err


def test_too_few_nationalities_and_nothing_at_all(tmp_path, capsys):
    (tmp_path / "u.toml").write_text("source = 'x'\n[users]\nIndian = 1\nIranian = 2\n")
    runs = write(tmp_path, published("SDv2", 3))
    assert main(["stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 0
    assert "2 nationalities with known internet users: three are needed" in capsys.readouterr().out
    users = "".join(f"{word} = 5\n" for word in ("Indian", "Iranian", "Mexican"))
    (tmp_path / "u.toml").write_text(f"source = 'x'\n[users]\n{users}")
    assert main(["stereotypes", *runs, "--users", str(tmp_path / "u.toml")]) == 0
    assert "all 3 nationalities have 5 internet users: no order" in capsys.readouterr().out
    empty = RunRecord("2026-01-01T00:00:00+00:00", 1.0, "none", {}, {}, WORK)
    assert main(["stereotypes", *write(tmp_path, empty)]) == 2
    assert "none of these runs looked for stereotypes" in capsys.readouterr().err
