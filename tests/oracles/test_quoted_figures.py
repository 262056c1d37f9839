"""Figures that the suites' limits quote from the papers are those of the papers' tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "published"
LIMITS = (Path(__file__).parents[2] / "suites" / "limits.toml").read_text(encoding="utf-8")
TEXT = re.sub(r"\n# ?", " ", LIMITS)
"""The file with its comments on one line each."""
SHARED = Path(__file__).parents[2].parent / "shared"
SPACES = ("prompt", "denoising", "ssim", "clip")
NUMBER = r"-?\d+(?:\.\d+)?"


def table(name: str) -> list[dict[str, Any]]:
    facts = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return [dict(zip(facts["columns"], row, strict=True)) for row in facts["rows"]]


def quoted(words: str) -> list[float]:
    """The numbers of the one sentence of the limits file that these words, with N for each, match.

    >>> quoted("Wu Table 6 has N to N")
    [0.014, 0.043]
    """
    pattern = re.escape(words).replace("N", f"({NUMBER})")
    found = re.findall(pattern, TEXT)
    assert len(found) == 1, f"{words!r} is there {len(found)} times"
    (numbers,) = found
    return [float(number) for number in ([numbers] if isinstance(numbers, str) else numbers)]


def gaps(space: str) -> list[float]:
    rows = table("wu_table5")
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return [masculine[space] - feminine[space] for feminine, masculine in pairs]


@pytest.mark.parametrize(
    ("words", "space"),
    [
        ("N to N in prompt space", "prompt"),
        ("N to N in denoising space", "denoising"),
        ("N to N by CLIP features", "clip"),
        ("N to N by SSIM", "ssim"),
    ],
)
def test_ranges_of_wu_table_5(words, space):
    low, high = quoted(words)
    assert low == pytest.approx(min(gaps(space)), abs=5e-4 + 1e-9)
    assert high == pytest.approx(max(gaps(space)), abs=5e-4 + 1e-9)


def test_limits_of_gaps_lie_where_their_reasons_say():
    assert 2 * max(gaps("prompt")) < 0.05
    assert pytest.approx(1.5 * max(gaps("denoising")), abs=2e-3) == 0.05
    assert all(max(map(abs, gaps(space))) < 0.1 for space in SPACES)


def test_wu_table_5_has_every_model_set_and_pair():
    rows = table("wu_table5")
    assert len({(row["model"], row["captions"], row["pair"]) for row in rows}) == len(rows) == 30
    assert all(row["pair"] == ("fem", "mas")[k % 2] for k, row in enumerate(rows))


def test_wu_table_6():
    differences = [row["mas"] - row["fem"] for row in table("wu_table6")]
    assert quoted("Wu Table 6 has N to N") == [
        pytest.approx(min(differences)),
        pytest.approx(max(differences)),
    ]


def test_lyu_table_6():
    scores = {row["model"]: row["all"] for row in table("lyu_table6")}
    low, high = quoted("Lyu Table 6 reach N to N")
    assert (low, high) == (round(min(scores.values()), 2), round(max(scores.values()), 2))
    assert "half of the difference between SD3 and Dreamlike in Lyu Table 6" in TEXT
    assert (scores["sd3"] - scores["dreamlike"]) / 2 == pytest.approx(0.05, abs=1e-3)


def test_lyu_table_1():
    small, large = quoted("Face++ and CLIP-Enhance stay within N %, others reach N %")
    kept = {"mivolo", "fairface", "face++", "clip-enhance"}
    percent = {
        row["detector"]: max(
            abs(row[f"{model}_percent"] or 0.0) for model in ("sdxl", "sd3", "dreamlike")
        )
        for row in table("lyu_table1")
    }
    assert max(percent[name] for name in kept) <= small
    assert max(percent[name] for name in kept) > small - 1
    assert round(max(percent.values())) == large
    assert {name for name, value in percent.items() if value > small} <= set(percent) - kept


def test_lyu_table_2():
    (best,) = (row for row in table("lyu_table2") if row["detector"] == "clip-enhance")
    values = [best[model] for model in ("sdxl", "sd3", "dreamlike")]
    assert quoted("best of Lyu Table 2, N to N") == [min(values), max(values)]
    rest = [row for row in table("lyu_table2") if row is not best]
    assert all(best["sdxl"] <= row["sdxl"] for row in rest)


def test_lyu_table_3():
    (best,) = (row for row in table("lyu_table3") if row["detector"] == "clip-enhance")
    recall, rate, low, high = quoted("N % recall, N % filter rate and N to N % accuracy per gender")
    assert recall == pytest.approx(best["recall"], abs=0.05)
    assert rate == pytest.approx(best["filter_rate"], abs=0.05)
    assert low == round(best["accuracy_female"])
    assert high == round(best["accuracy_male"])
    assert len(table("lyu_table3")) == 8
    assert "the best of eight" in TEXT
    rates = {row["detector"]: row["filter_rate"] for row in table("lyu_table3")}
    assert rates["clip"] == 0.0
    assert all(rates[name] >= 70 for name in ("face++", "fairface", "clip-enhance"))


def test_oasis_table_1():
    rows = table("oasis_table1")
    largest = max(row[f"{model}_psi"] for row in rows for model in ("sd2", "sd3", "flux"))
    assert quoted("OASIS Table 1 reaches N") == [round(largest / 100, 2)]


def test_typed_tables_are_those_of_the_documents():
    thesis = SHARED / "papers" / "004_77cb67422b05ffcf.txt"
    if not thesis.is_file():
        pytest.skip(f"{thesis} is not there")
    lines = [re.sub(r"<[^>]*>", "", line) for line in thesis.read_text("utf-8").splitlines()]
    start = next(k for k, line in enumerate(lines) if line.startswith("Table 3.8:"))
    printed = [
        [float(cell) for cell in line.split("\t")[1:] if cell.strip()]
        for line in lines[start : start + 60]
        if line.startswith("(neu, ")
    ]
    assert printed == [[*row.values()][3:] for row in table("wu_table5")]
    start = next(k for k, line in enumerate(lines) if line.startswith("Table 3.4:"))
    numbers = [
        [float(cell) for cell in line.split("\t")[1:] if cell.strip()]
        for line in lines[start : start + 14]
        if line.startswith("$s_O")
    ]
    rows = table("wu_table6")
    typed = [[row[pair] for row in rows[k : k + 5]] for k in (0, 5, 10) for pair in ("fem", "mas")]
    assert numbers == typed


@pytest.mark.parametrize("name", ["lyu_table2"])
def test_typed_tables_are_those_of_the_published_data(name):
    published = SHARED / "data" / "published" / "lyu_tables1_2_3.json"
    if not published.is_file():
        pytest.skip(f"{published} is not there")
    facts = json.loads(published.read_text(encoding="utf-8"))["prompt_bias_difference"]
    assert {row["detector"]: [*row.values()][1:] for row in table(name)} == facts
