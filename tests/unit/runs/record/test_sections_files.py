"""Sections that a command puts beside a run, and every report of it shows."""

from __future__ import annotations

import json

import pytest
from fakes import FakeDetector, FakeModel

from pytest_t2i import audit, put_sections
from pytest_t2i.cli.main import main
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.sections_files import files_beside
from pytest_t2i.sections import Note, Paragraph, Section

SECTION = Section("Why it is so", (Paragraph("The <unet> did it.", "summary"), Note("By seeds.")))


@pytest.fixture
def report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"detector": FakeDetector(), "images": 3, "progress": False, "store": ".t2i"}
    audit(FakeModel(0.5, "fair"), "a photo of a nurse", **options).write_report("reports/t2i")
    return tmp_path / "reports/t2i"


def test_the_report_shows_them(report):
    page = put_sections(report / "run.json", "why", [SECTION], {"culprit": "unet"})
    assert "The &lt;unet&gt; did it." in page.read_text()
    assert "unet" in (report / "summary.md").read_text()
    assert json.loads((report / "why.sections.json").read_text())["facts"] == {"culprit": "unet"}


def test_a_report_that_is_rendered_again_shows_them(report, tmp_path):
    put_sections(report / "run.json", "why", [SECTION])
    assert main(["report", str(report / "run.json"), str(tmp_path / "again")]) == 0
    assert "Why it is so" in (tmp_path / "again/index.html").read_text()
    assert (tmp_path / "again/why.sections.json").is_file()


def test_what_lies_beside_another_run_is_not_shown(report):
    put_sections(report / "run.json", "why", [SECTION])
    file, record = report / "why.sections.json", read_run(report / "run.json")
    assert [each.name for each in files_beside(record, report)] == ["why"]
    plain = json.loads(file.read_text())
    for changed in (
        {"run": "other"},
        {"run_created": "2026-01-01T00:00:00+00:00"},
        {"name": "who"},
        {"schema": "pytest-t2i/sections/9"},
        {"sections": [{"is": "Section", "title": "a", "blocks": [{"is": "Album"}]}]},
        {"sections": {}},
    ):
        file.write_text(json.dumps(plain | changed))
        assert files_beside(record, report) == []
    file.write_text("{")
    assert files_beside(record, report) == []
