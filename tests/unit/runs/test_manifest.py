"""manifest.json: what is named in it, relative to where it lies, and what is refused."""

from __future__ import annotations

import json

import pytest

from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.manifest import (
    NAME,
    REPORT,
    ManifestPart,
    ReportManifest,
    add_outputs,
    manifest_beside,
    new_manifest,
    parts_of,
    read_report_manifest,
    rendered_anew,
    report_part,
    sha256_of,
    unlisted_files,
    write_manifest,
)

STRAYS = ("run.json", "../../etc/passwd")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a report, a file of it, and one outside."""
    monkeypatch.setenv("COLUMNS", "240")  # lines are whole
    root = tmp_path / "project"
    report = root / "reports/t2i"
    report.mkdir(parents=True)
    (report / "run.json").write_text("{}")
    (root / "limits.toml").write_text("limits")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels/labels.csv").write_text("labels")
    return root


@pytest.fixture
def report(project):
    """The same with its manifest."""
    report = project / "reports/t2i"
    manifest = new_manifest(report, project)
    for name, file in (
        ("limits", project / "limits.toml"),
        ("labels", project.parent / "labels/labels.csv"),
    ):
        for kind, part in parts_of(name, [file], report, project).items():
            manifest = manifest.with_part(kind, part)
    write_manifest(manifest.with_part(REPORT, report_part(report)), report)
    return report


def test_paths_are_relative_and_nothing_says_where_the_machine_keeps_them(report, tmp_path):
    manifest = read_report_manifest(report)
    assert manifest.project == "../.."
    assert manifest.parts["limits"].folder == "../.."
    assert list(manifest.parts["limits"].hashes) == ["limits.toml"]
    outside = manifest.parts["labels elsewhere"]
    assert (outside.folder, list(outside.hashes)) == (None, ["labels.csv"])
    assert str(tmp_path) not in (report / NAME).read_text()


def test_what_lies_outside_is_looked_for_where_one_says(report, tmp_path, capsys):
    assert main(["report", "verify", str(report)]) == 1
    assert "not checked: labels elsewhere: 1 files" in capsys.readouterr().out
    at = ["--at", f"labels elsewhere={tmp_path / 'labels'}"]
    assert main(["report", "verify", str(report), *at]) == 0
    (tmp_path / "labels/labels.csv").write_text("others")
    assert main(["report", "verify", str(report), *at]) == 1
    assert "changed: labels elsewhere: labels.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("labels", "expected PART=DIR, got 'labels'"),
        (
            "label=here",
            "unknown part of the manifest 'label'. Known: labels elsewhere, limits, report",
        ),
    ],
)
def test_a_place_that_cannot_be_used(report, capsys, at, told):
    assert main(["report", "verify", str(report), "--at", at]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"parts": {}}, "expected run.json among the files of its report"),
        ({"schema": "x"}, "expected schema 'pytest-t2i/manifest/1', got 'x'"),
        (
            {"parts": {"report": {"folder": ".", "hashes": dict.fromkeys(STRAYS, "0" * 64)}}},
            "stay in their folder, got '../../etc/passwd'",
        ),
        ({"parts": {"a": {"folder": ".", "hashes": {"run.json": "0"}}}}, "hashes"),
    ],
)
def test_a_manifest_that_cannot_be_used(report, capsys, change, told):
    plain = json.loads((report / NAME).read_text())
    (report / NAME).write_text(json.dumps(plain | change))
    assert main(["report", "verify", str(report)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 1


def test_a_report_without_a_manifest(tmp_path, capsys):
    assert main(["report", "verify", str(tmp_path)]) == 2
    assert "no such manifest of a report" in capsys.readouterr().err
    with pytest.raises(FileFormatError):
        read_report_manifest(tmp_path)


def test_a_hash_is_of_ordinary_files_alone(tmp_path):
    assert sha256_of(tmp_path) is None
    assert sha256_of(tmp_path / "absent") is None
    (tmp_path / "empty").touch()
    assert sha256_of(tmp_path / "empty") == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_what_is_made_of_a_run_is_added_and_a_changed_run_is_not_made_good(report):
    card = report / "card.html"
    card.write_text("card")
    add_outputs(report / "run.json", "card", [card])
    assert list(read_report_manifest(report).parts["card"].hashes) == ["reports/t2i/card.html"]

    (report / "run.json").write_text("{ }")
    assert manifest_beside(report / "run.json") is None
    before = (report / NAME).read_bytes()
    add_outputs(report / "run.json", "pdf", [card])
    assert (report / NAME).read_bytes() == before


def test_what_lies_outside_of_the_project_is_not_added(report, tmp_path):
    card = tmp_path / "card.html"
    card.write_text("card")
    add_outputs(report / "run.json", "card", [card])
    assert "card" not in read_report_manifest(report).parts


@pytest.mark.parametrize("place", [".", "../signed", "../../../elsewhere"])
def test_a_report_rendered_anew_has_a_manifest_of_its_own(report, tmp_path, place, capsys):
    folder = report / place
    folder.mkdir(exist_ok=True)
    manifest = manifest_beside(report / "run.json")
    (folder / "run.json").write_text("{'statement': 1}")
    (folder / "index.html").write_text("page")
    rendered_anew(manifest, report, folder)
    made = read_report_manifest(folder)
    assert set(made.parts[REPORT].hashes) == {"run.json", "index.html"}
    given = ["--at", f"labels elsewhere={tmp_path / 'labels'}"]
    if place.endswith("elsewhere"):
        assert made.parts["limits"] == ManifestPart(None, manifest.parts["limits"].hashes)
        given += ["--at", f"limits={tmp_path / 'project'}"]
    assert main(["report", "verify", str(folder), *given]) == 0


def test_leftovers_of_another_run_are_named_and_turn_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    report = tmp_path / "reports/t2i"
    (report / "20260101T000000-m-abcdef").mkdir(parents=True)
    for name in ("run.json", "fairness.pdf", "manifest.json.asc", "card.html", ".latest.lock"):
        (report / name).write_text(name)
    hashes = {name: sha256_of(report / name) or "" for name in ("run.json", "card.html")}
    manifest = ReportManifest(
        "2026-01-01T00:00:00+00:00",
        "pytest-t2i",
        "../..",
        {
            REPORT: ManifestPart(".", {"run.json": hashes["run.json"]}),
            "card": ManifestPart("../..", {"reports/t2i/card.html": hashes["card.html"]}),
        },
    )
    write_manifest(manifest, report)
    assert unlisted_files(manifest, report) == ["fairness.pdf", "manifest.json.asc"]
    assert main(["report", "verify", str(report)]) == 0
    told = capsys.readouterr().out
    assert "not named by the manifest, so not checked: fairness.pdf, manifest.json.asc (" in told
    assert "verified: all 2 entries" in told
    for name in ("fairness.pdf", "manifest.json.asc"):
        (report / name).unlink()
    assert main(["report", "verify", str(report)]) == 0
    assert "beside it" not in capsys.readouterr().out
