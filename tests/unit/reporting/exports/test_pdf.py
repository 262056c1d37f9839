"""Card and report on paper: what stands in it, who prints it, and what if nobody does."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from importlib import import_module

import pytest
from score_rows import score_row

from pytest_t2i import RunRecord
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError, MissingExtraError
from pytest_t2i.reporting.exports import pdf
from pytest_t2i.reporting.exports.pdf import PICTURES, write_pdf
from pytest_t2i.reporting.formatting import moment
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.statement import Statement


@pytest.fixture
def pages(monkeypatch):
    """Pages as they would be printed; nothing is."""
    seen = []

    def printed(page, style):
        seen.append(page)
        return b"%PDF"

    monkeypatch.setattr(pdf, "printed", printed)
    monkeypatch.setattr(pdf, "pages_of", lambda content: {"card-limits": 3, "images": 7})
    return seen


def test_a_document_has_cover_contents_card_and_report(record, tmp_path, pages):
    stated = replace(record, statement=Statement(auditor="A. <Auditor>"))
    assert write_pdf(stated, tmp_path / "a.pdf") is True
    assert (tmp_path / "a.pdf").read_bytes() == b"%PDF"
    first, second = pages
    anchors = re.findall(r'<a href="#([^"]+)" data-page="([^"]*)"', second)
    assert [anchor for anchor, _ in anchors[:2]] == ["part-card", "card-tested"]
    assert dict(anchors)["card-limits"] == "3"
    assert dict(anchors)["images"] == "7"
    assert {page for _, page in re.findall(r'(#[^"]+)" data-page="([^"]*)"', first)} == {""}
    assert all(f'id="{anchor}"' in second for anchor, _ in anchors)
    assert second.count("A. &lt;Auditor&gt;") == 1
    assert "approver" in second


def test_the_cover_says_which_run_of_which_model_is_signed(record, tmp_path, pages):
    known = {"model": {"fingerprint": "0123456789abcdef" * 4}, "environment": {"pytest-t2i": "9.9"}}
    write_pdf(replace(record, provenance=known), tmp_path / "a.pdf")
    cover = pages[-1].partition('class="signature"')[0]
    assert "0123456789abcdef" * 4 in cover
    assert moment(record.created) in cover
    assert "pytest-t2i 9.9" in cover


def test_contents_have_titles_and_anchors_as_they_are():
    body = (
        '<h1 class="part" id="p">P</h1><section id="it&#39;s" class="a"><h2>It&#39;s <b>A</b></h2>'
    )
    assert pdf._contents(body) == [
        pdf.ContentsEntry("p", "P", is_part=True),
        pdf.ContentsEntry("it's", "It's A", is_part=False),
    ]


def test_paper_cannot_unfold_and_leads_nowhere(record, tmp_path, pages):
    write_pdf(record, tmp_path / "a.pdf")
    page = pages[-1]
    assert "<details" in page
    assert re.findall(r"<details(?![^>]*\bopen\b)[^>]*>", page) == []
    assert re.findall(r'href="(?!#)[^"]*"', page) == []
    assert "<script" not in page
    assert str(tmp_path) not in page


def test_of_each_prompt_the_first_pictures_are_printed(record, tmp_path, pages):
    prompt = record.prompts[0]
    many = replace(prompt, images=prompt.images * 10)
    write_pdf(replace(record, prompts=(many,)), tmp_path / "a.pdf")
    assert pages[-1].count("<figure") == PICTURES
    assert f"and {len(many.images) - PICTURES} more" in pages[-1]


def test_without_pages_the_contents_are_told_to_lack_them(record, tmp_path, pages, monkeypatch):
    monkeypatch.setattr(pdf, "pages_of", lambda content: {})
    assert write_pdf(record, tmp_path / "a.pdf") is False
    assert len(pages) == 1


def test_a_run_without_a_model_has_no_pdf(tmp_path):
    bare = RunRecord("2026-11-22T10:00:00+00:00", 9.0, "", {}, {}, {})
    with pytest.raises(ConfigurationError, match="a PDF is about a model"):
        write_pdf(bare, tmp_path / "a.pdf")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo away >&2; exit 3", r"printed nothing \(exit 3\): away"),
        ("exit 0", r"printed nothing \(exit 0\): no message on stderr"),
        ("sleep 60", r"printed nothing within 0.2 s"),
    ],
)
def test_a_browser_that_prints_nothing(tmp_path, monkeypatch, script, told):
    if sys.platform == "win32":
        pytest.skip("a shell script stands for the browser")
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\n{script}\n")
    browser.chmod(0o755)
    monkeypatch.setattr(pdf, "BROWSERS", (str(browser),))
    monkeypatch.setattr(pdf, "PATIENCE", 0.2 if "sleep" in script else 60.0)
    with pytest.raises(ConfigurationError, match=told):
        pdf.printed("<p>page</p>", "")


def test_neither_browser_nor_weasyprint(monkeypatch):
    monkeypatch.setattr(pdf, "BROWSERS", ())
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pytest-t2i\[pdf\]"'):
        pdf.printed("<p>page</p>", "")


def test_a_picture_of_somebody_elses_is_not_printed(
    record, tmp_path, tmp_path_factory, pages, capsys
):
    source = tmp_path_factory.mktemp("elsewhere") / "run.json"
    record.write(source)
    assert main(["export", "pdf", str(source), "--output", str(tmp_path / "a.pdf")]) == 2
    assert "outside of its store" in capsys.readouterr().err
    assert not pages


@pytest.fixture(params=["browser", "weasyprint"])
def printer(request, monkeypatch):
    """One of the two programs that print."""
    pytest.importorskip("pypdf")
    if request.param == "weasyprint":
        pytest.importorskip("weasyprint")
        monkeypatch.setattr(pdf, "BROWSERS", ())
    elif pdf.browser() is None:
        pytest.skip("no browser on this machine")


def texts_of(content):
    """The words of each page."""
    pages = import_module("pypdf").PdfReader(io.BytesIO(content)).pages
    return [" ".join(page.extract_text().split()) for page in pages]


@pytest.mark.slow
@pytest.mark.usefixtures("printer")
def test_a_table_stays_together_and_nothing_asks_to_be_opened(record, tmp_path):
    """Each set of prompts had a page of its own, in letters twice as large."""
    parity = record.audits["parity"]
    sets = [f"set{number}" for number in range(6)]
    (score, *_) = parity.rows
    rows = (score, *(score_row(score.interval, name=name) for name in sets))
    prompts = tuple(
        replace(prompt, id=f"{prompt.id}{number}", concept=f"{prompt.concept}{number}")
        for number in range(20)
        for prompt in record.prompts
    )
    crowded = replace(
        record,
        prompts=prompts,
        audits={"parity": replace(parity, rows=rows)},
        next_steps=("one step", "two steps", "three steps"),
    )
    write_pdf(with_blocks(crowded), tmp_path / "a.pdf")
    texts = texts_of((tmp_path / "a.pdf").read_bytes())
    (table,) = (text for text in texts if sets[0] in text and "Fair model" in text)
    assert all(name in table for name in sets)
    words = " ".join(texts)
    assert "Open a row" not in words
    assert not re.search(r"and \d+ more(?!, counted)", words)
    assert "One step Two steps Three steps" in words
    pictured = words.rpartition("undetected, not a gender")[2]
    assert all(f"{prompt.concept} " in pictured for prompt in prompts)
    # Only the last page may be short.
    assert all(len(text) >= 200 for text in texts[:-1])


@pytest.mark.slow
@pytest.mark.usefixtures("printer")
def test_a_pdf_has_numbered_pages_contents_and_pictures(record, tmp_path, capsys):
    pypdf = import_module("pypdf")
    source = tmp_path / "reports/run.json"
    source.parent.mkdir()
    record.write(source)
    file = tmp_path / "reports/fairness.pdf"
    assert main(["export", "pdf", str(source), "--output", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    content = file.read_bytes()
    reader = pypdf.PdfReader(io.BytesIO(content))
    texts = texts_of(content)
    assert f"2 / {len(texts)}" in texts[1]
    (limits,) = re.findall(r"Limits (\d+)", " ".join(texts[:2]))
    assert "no reason given" in texts[int(limits) - 1]
    assert sum(len(page.images) for page in reader.pages) > 0
    assert str(tmp_path).encode() not in content
    assert not any(str(tmp_path) in text for text in texts)
