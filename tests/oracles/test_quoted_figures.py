"""Figures that pages, suites and comments quote from the five documents are those printed there."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quotes import NUMBER, REPOSITORY, Sentence, figures, paths, sentences, text_of, value

from pytest_t2i import axes, stereotypes
from pytest_t2i.cli.reproduce import reproduction
from pytest_t2i.read_files import convert, read_toml

HERE = Path(__file__).parent / "published"
TABLE = Path(__file__).parent / "quotes.toml"
SHARED = Path(__file__).parents[2].parent / "shared"
TEXTS = {
    "lyu": "001_88060f4ac409a4e7.txt",
    "oasis": "002_f23003dde4e90609.txt",
    "wu": "000_a190e844cb80fc44.txt",
    "wu-aies": "003_566ff4cb1dde95bc.txt",
    "thesis": "004_77cb67422b05ffcf.txt",
}
"""Text of each document, where the shared folder is there."""
SPACES = ("prompt", "denoising", "ssim", "clip")
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote from a document: ``quotes.toml`` says what each field is."""

    where: str
    words: str
    source: str
    lines: tuple[int, ...]
    printed: str
    percent: bool = False
    product: bool = False
    sum: bool = False
    code: bool = False
    """Whether the words are code, not something to read."""

    def values(self) -> list[float]:
        """The printed numbers, as the page may write them before rounding."""
        numbers = [value(text.rstrip("%")) for text in self.printed.split()]
        if self.product:
            return [float(np.prod(numbers))]
        if self.sum:
            return [sum(numbers)]
        return [number / 100 for number in numbers] if self.percent else numbers


@dataclass(frozen=True, slots=True)
class Derived:
    """A quote that a test of this file computes from a whole table."""

    where: str
    words: str
    test: str


@dataclass(frozen=True, slots=True)
class Ours:
    """Numbers beside the name of a document that are not the document's."""

    where: str
    words: str
    why: str


@dataclass(frozen=True, slots=True)
class Quotes:
    """The parts of ``quotes.toml``."""

    quotes: tuple[Quote, ...]
    derived: tuple[Derived, ...]
    ours: tuple[Ours, ...]


QUOTES = convert(TABLE, read_toml(TABLE), Quotes)


def pattern(words: str) -> re.Pattern[str]:
    """The words as a pattern, in which each N stands for a number."""
    number = f"({NUMBER.pattern})"
    return re.compile(re.sub(r"\bN\b", lambda _: number, re.escape(words)))


def quoted(words: str, where: str = "suites/limits.toml", *, is_code: bool = False) -> list[str]:
    """The numbers of the one place of a file that these words, with N for each number, match.

    >>> quoted("Wu Table 6 has N to N")
    ['0.014', '0.043']
    """
    path = REPOSITORY / where
    text = " ".join(path.read_text(encoding="utf-8").split()) if is_code else text_of(where)
    found = [match.groups() for match in pattern(words).finditer(text)]
    assert len(found) == 1, f"{words!r} is {len(found)} times in {where}: mend quotes.toml"
    return list(found[0])


def numbers(words: str) -> list[float]:
    """The same as numbers."""
    return [value(text) for text in quoted(words)]


def digits(figure: str) -> int:
    """Decimal places of a figure."""
    return len(figure.partition(".")[2])


def test_every_quote_is_in_the_table():
    """A sentence that names a document has no number that the table does not explain."""
    missing = [
        f"{sentence.where}: {', '.join(unexplained(sentence))} in {sentence.text[:200]!r}"
        for path in paths()
        for sentence in sentences(path)
        if unexplained(sentence)
    ]
    assert not missing, (
        f"add each to {TABLE.name}: as a quote with the printed number and its line, or as ours "
        "with a reason:\n" + "\n".join(missing)
    )


def unexplained(sentence: Sentence) -> list[str]:
    """The figures of a sentence that no entry of the table covers."""
    rest = Counter(sentence.figures)
    for entry in (*QUOTES.quotes, *QUOTES.derived, *QUOTES.ours):
        if entry.where == sentence.where:
            for match in pattern(entry.words).finditer(sentence.text):
                rest -= Counter(figures(match[0]))
    return sorted(rest.elements())


@pytest.mark.parametrize("quote", QUOTES.quotes, ids=lambda quote: f"{quote.where}-{quote.words}")
def test_a_quote_is_as_printed(quote):
    found = quoted(quote.words, quote.where, is_code=quote.code)
    assert len(found) == len(quote.values())
    for figure, printed in zip(found, quote.values(), strict=True):
        unit = 10.0 ** -digits(figure)
        assert abs(value(figure) - printed) <= unit / 2 + ROUNDING, (
            f"{quote.where} quotes {figure}, {quote.source} prints {quote.printed}"
        )


@pytest.mark.parametrize("entry", [*QUOTES.derived, *QUOTES.ours], ids=lambda entry: entry.words)
def test_other_entries_are_still_there(entry):
    assert pattern(entry.words).search(text_of(entry.where)), f"{entry.words!r}: mend quotes.toml"
    if isinstance(entry, Derived):
        assert entry.test in globals()


@pytest.mark.parametrize("quote", QUOTES.quotes, ids=lambda quote: f"{quote.source}-{quote.lines}")
def test_typed_numbers_are_on_their_lines(quote):
    name = TEXTS[quote.source.split()[0]]
    path = SHARED / "papers" / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    lines = path.read_text(encoding="utf-8").split("\n")
    texts = [lines[line - 1] for line in quote.lines]
    for printed in quote.printed.split():
        assert any(re.search(rf"(?<![\d.]){re.escape(printed)}(?!\d)", text) for text in texts)


LAST_EQUATION = {"lyu": 6, "oasis": 16, "wu": 7}
"""Number of the last equation; those of the thesis are numbered by chapter."""
LAST_OF_CHAPTER = {"2": 12, "3": 7, "4": 32}


def label_fault(document: str, kind: str, label: str) -> bool:
    """Whether a document has no table, figure or equation of this label."""
    if kind == "eq":
        if document == "thesis":
            chapter, _, last = label.partition(".")
            return int(last or 0) > LAST_OF_CHAPTER.get(chapter, 0)
        return int(float(label)) > LAST_EQUATION[document]
    names = ("wu", "wu-aies") if document == "wu" else (document,)
    everything = reproduction().document
    return not any(
        row.label == f"{kind} {label}" for name in names for row in everything[name]["rows"]
    )


NUMBERED = r"(S?\d+(?:\.\d+)?)"
LABELLED = re.compile(
    rf"\b(Lyu|OASIS|Wu|[Tt]hesis),? \(?(Table|Figure|eq)s?\.? {NUMBERED}"
    rf"(?:(?:, | to | and | or |-)(?!0\.){NUMBERED})*"
)


def test_every_table_figure_and_equation_that_is_named_exists():
    missing = [
        f"{path.relative_to(REPOSITORY)}: {match[0]!r}"
        for path in paths()
        for match in LABELLED.finditer(text_of(path.relative_to(REPOSITORY).as_posix()))
        for label in filter(None, (match[3], match[4]))
        if label_fault(match[1].casefold(), match[2], label)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize(
    "sentence",
    [
        "Lyu Table 3 prints 97.4 % recall.",
        "OASIS (Table 1) has 0.7.",
        "The paper counts seven detectors.",
        "Wu et al. use 1,000 seeds.",
        "In Table 4.2 of the thesis consistency is .2431.",
        "It is 12 % by the authors.",
        "| gender | paper | 0.5 |",
    ],
)
def test_the_search_finds_a_quote(sentence, tmp_path):
    assert unexplained(Sentence("docs/new.md", sentence, figures(sentence)))


@pytest.mark.parametrize(
    "sentence",
    [
        "Lyu Table 7 and eq. 4-5, section 3.3 (2025)",
        "OASIS eq. 9 to 11, Tables 4 and 5, with SD 2.0 and FLUX.1",
        "Wu section 4.1.3, from 0 to 1",
        "the thesis, eq. 4.11-4.13, Figures 2.9, 2.10",
    ],
)
def test_the_search_finds_no_quote_in_labels(sentence):
    assert not figures(sentence)


def table(name: str) -> list[dict[str, Any]]:
    facts = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return [dict(zip(facts["columns"], row, strict=True)) for row in facts["rows"]]


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
    low, high = numbers(words)
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
    assert numbers("Wu Table 6 has N to N") == [
        pytest.approx(min(differences)),
        pytest.approx(max(differences)),
    ]


def test_lyu_table_6():
    scores = {row["model"]: row["all"] for row in table("lyu_table6")}
    low, high = numbers("Lyu Table 6 reach N to N")
    assert (low, high) == (round(min(scores.values()), 2), round(max(scores.values()), 2))
    assert "half of the difference between SD3 and Dreamlike in Lyu Table 6" in text_of(
        "suites/limits.toml"
    )
    assert (scores["sd3"] - scores["dreamlike"]) / 2 == pytest.approx(0.05, abs=1e-3)


def test_lyu_table_1():
    small, large = numbers("Face++ and CLIP-Enhance stay within N %, others reach N %")
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
    assert numbers("best of Lyu Table 2, N to N") == [min(values), max(values)]
    rest = [row for row in table("lyu_table2") if row is not best]
    assert all(best["sdxl"] <= row["sdxl"] for row in rest)


def test_lyu_table_3():
    (best,) = (row for row in table("lyu_table3") if row["detector"] == "clip-enhance")
    recall, rate, low, high = numbers(
        "N % recall, N % filter rate and N to N % accuracy per gender"
    )
    assert recall == pytest.approx(best["recall"], abs=0.05)
    assert rate == pytest.approx(best["filter_rate"], abs=0.05)
    assert low == round(best["accuracy_female"])
    assert high == round(best["accuracy_male"])
    assert len(table("lyu_table3")) == 8
    assert "the best of eight" in text_of("suites/limits.toml")
    rates = {row["detector"]: row["filter_rate"] for row in table("lyu_table3")}
    assert rates["clip"] == 0.0
    assert all(rates[name] >= 70 for name in ("face++", "fairface", "clip-enhance"))


def test_oasis_table_1():
    rows = table("oasis_table1")
    largest = max(row[f"{model}_psi"] for row in rows for model in ("sd2", "sd3", "flux"))
    assert numbers("OASIS Table 1 reaches N") == [round(largest / 100, 2)]


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


def test_shares_of_the_fifteen_stereotypes():
    shares = [row["real_world"] / 100 for row in table("oasis_table1")]
    assert [stereotype.expected for stereotype in stereotypes] == pytest.approx(shares)
    assert len(shares) == 15


def test_names_of_wu_table_3():
    assert [len(axis.concepts) for axis in axes.wu] == [20] * 16


def test_one_image_in_eight():
    assert round(100 / 12.48) == 8


def test_one_beard_in_six():
    assert round(1 / (1 - 0.8306)) == 6


def test_concentration_of_lyu_table_7():
    """By the method of moments: mean (1 - mean) / variance - 1."""
    (words,) = (entry.words for entry in QUOTES.derived if "fitted" in entry.words)
    found = quoted(words, "src/pytest_t2i/statistics/planning.py")
    for model, figure in zip(("sdxl", "sd3", "dreamlike"), found, strict=True):
        biases = np.abs([row[model] for row in table("lyu_table7")])
        mean = biases.mean()
        assert mean * (1 - mean) / biases.var() - 1 == pytest.approx(value(figure), abs=0.02)
