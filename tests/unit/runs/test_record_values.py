"""Numbers that no run comes to are refused where a record is read, with one clear line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from filled import filled_run

from pytest_t2i.cli.main import main
from pytest_t2i.data import Count, Interval, Moment, Name, Share, ShareInterval
from pytest_t2i.errors import FileFormatError
from pytest_t2i.read_files import convert
from pytest_t2i.reporting.exports.cards import card_contents
from pytest_t2i.runs.record.read_run import read_run


@pytest.fixture
def written(tmp_path):
    """run.json with something in every field, and other values at some places."""

    def write(**changes):
        file = tmp_path / "run.json"
        filled_run().write(file)
        plain = json.loads(file.read_text())
        for place, value in changes.items():
            *way, last = (int(k) if k.isdigit() else k for k in place.split("__"))
            table = plain
            for key in way:
                table = table[key]
            table[last] = value
        file.write_text(json.dumps(plain), encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("checks__1__subject", "", "expected a text that is not blank, got checks[1].subject=''"),
        ("checks__0__level", -1, "expected a number > 0, got checks[0].level=-1"),
        ("checks__0__p_value", -1, "expected a number >= 0, got checks[0].p_value=-1"),
        ("checks__0__n", -1, "expected a whole number >= 0, got checks[0].n=-1"),
        ("checks__0__low", 0.9, "expected low <= high (low=0.9, high=0.5), got checks[0]="),
        ("checks__0__low", None, "expected estimate, low, high and level, or none of them"),
        ("checks__0__operator", "=", "got checks[0].operator='='"),
        ("created", "yesterday", "expected a date or time such as 2026-11-21T10:00:00+00:00, got"),
        ("created", "2026-02-31", "created='2026-02-31'"),
        ("seconds", -1, "expected a number >= 0, got seconds=-1"),
        (
            "prompts__0__counts__key__labels",
            {"female": 3, "male": -2},
            "expected a whole number >= 0, got prompts[0].counts.key.labels.male=-2",
        ),
        ("prompts__0__prompt_bias_score__low", -1.2, "expected an interval within -1 to 1"),
        (
            "audits__parity__rows__1__value",
            {"estimate": 6.0, "low": 5.0, "high": 7.0, "level": 0.9, "method": "t", "n": 4},
            "expected an estimate within 0.0 to 1.0, got 6.",
        ),
        (
            "audits__variety__rows__0__value__high",
            0.1,
            "expected low <= high (low=0.2, high=0.1), got audits.",
        ),
        (
            "audits__detector_validation__rows__0__value",
            {"estimate": 6.0, "low": 5.0, "high": 7.0, "level": 0.9, "method": "t", "n": 4},
            "audits.detector_validation.rows.0.value: expected an estimate within 0.0 to 1.0",
        ),
        ("work", {"made": -1}, "work: expected a whole number >= 0, got made=-1"),
        ("settings", {"confidence": 0}, "settings: expected a number > 0, got confidence=0"),
    ],
)
def test_impossible_values_are_refused(written, place, value, told):
    file = written(**{place: value})
    with pytest.raises(FileFormatError) as refused:
        read_run(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_beyond_all_numbers_is_refused(written):
    file = written()
    file.write_text(file.read_text().replace('"seconds": 0.5', '"seconds": 1e999'))
    with pytest.raises(FileFormatError, match="not finite"):
        read_run(file)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("work", {}),
        ("settings", {"store": ""}),
        ("prompts__0__counts__key__labels", {}),
        ("prompts__0__counts", {}),
        ("audits__emergence__rows__0__facts", {}),
        ("audits__stereotypes__rows__0__facts", {}),
        ("audits__variety__rows__0__dims", {}),
        ("checks", []),
    ],
)
def test_what_is_only_empty_is_rendered(written, tmp_path, place, value, capsys):
    run, out = str(written(**{place: value})), str(tmp_path / "out")
    assert main(["report", run, out]) == 0
    assert card_contents(read_run(Path(run)))
    assert main(["compare", run, run, "--report", out]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


@dataclass(frozen=True, slots=True)
class OfAnybody:
    """A record of anybody: nothing but its types says what it holds."""

    name: Name
    at: Moment
    counts: Mapping[str, Count]
    score: ShareInterval | None = None
    share: Share = 0.0


def test_any_record_gets_its_checks_by_types_alone():
    plain = {"name": "a", "at": "2026-01-31", "counts": {"x": 1}, "share": 1}
    assert convert(Path("f"), plain, OfAnybody).counts == {"x": 1}
    wide = {"estimate": 0.5, "low": -1, "high": 1, "level": 0.9, "method": "", "n": 1}
    for change in ({"name": ""}, {"at": "2026-01-32"}, {"share": 2}, {"score": wide}):
        with pytest.raises(FileFormatError, match=f"got {next(iter(change))}="):
            convert(Path("f"), plain | change, OfAnybody)


def test_ends_that_are_exchanged_are_no_interval():
    with pytest.raises(ValueError, match=r"expected low <= high \(low=0.9, high=0.1\)"):
        Interval(0.5, 0.9, 0.1, 0.95, "", 3)
