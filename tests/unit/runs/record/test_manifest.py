"""manifest.json: what is named in it, relative to where it lies, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.record.manifest import (
    NAME,
    add_outputs,
    manifest_beside,
    new_manifest,
    read_report_manifest,
    rendered_anew,
    sha256_of,
    unlisted_files,
    write_manifest,
)

SHA = "0" * 64


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
    files = [project / "limits.toml", project.parent / "labels/labels.csv"]
    write_manifest(new_manifest(report, project).with_files(files, report, project), report)
    return report


def test_paths_are_relative_and_nothing_says_where_the_machine_keeps_them(report, tmp_path):
    manifest = read_report_manifest(report)
    assert manifest.project == "../.."
    assert list(manifest.files) == ["../../limits.toml", "run.json"]
    assert list(manifest.elsewhere.values()) == ["labels.csv"]
    assert str(tmp_path) not in (report / NAME).read_text()


def test_what_lies_outside_is_named_and_not_checked(report, capsys):
    assert main(["report", "verify", str(report)]) == 0
    told = capsys.readouterr().out
    assert "not checked, as it lay outside of the project: labels.csv" in told
    assert f"verified: all 2 files of {report / NAME}" in told


def test_a_mailed_folder_verifies_and_a_lost_file_does_not(report, tmp_path, capsys):
    mailed = tmp_path / "mailed"
    shutil.copytree(report, mailed)
    assert main(["report", "verify", str(mailed)]) == 0
    told = capsys.readouterr().out
    assert "not checked: 1 file outside of this folder" in told
    assert "verified: 1 of 2 files" in told
    (mailed / "run.json").write_text("{ }")
    assert main(["report", "verify", str(mailed)]) == 1
    assert "changed: run.json" in capsys.readouterr().out
    (mailed / "run.json").unlink()
    assert main(["report", "verify", str(mailed)]) == 1
    assert "missing: run.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"files": {}}, "expected run.json among its files"),
        ({"schema": "x"}, "expected schema 'pytest-t2i/manifest/1', got 'x'"),
        ({"files": {"run.json": SHA, "/etc/passwd": SHA}}, "relative paths, got '/etc/passwd'"),
        ({"files": {"run.json": SHA, "a/../../b": SHA}}, "relative paths, got 'a/../../b'"),
        ({"files": {"run.json": "0"}}, "files"),
        ({"store": "/etc"}, "relative paths, got '/etc'"),
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
    made = report / "fairness.pdf"
    made.write_text("pdf")
    add_outputs(report / "run.json", [made])
    assert "fairness.pdf" in read_report_manifest(report).files

    (report / "run.json").write_text("{ }")
    assert manifest_beside(report / "run.json") is None
    before = (report / NAME).read_bytes()
    add_outputs(report / "run.json", [made])
    assert (report / NAME).read_bytes() == before


def test_what_lies_outside_of_the_project_is_not_added(report, tmp_path):
    made = tmp_path / "fairness.pdf"
    made.write_text("pdf")
    add_outputs(report / "run.json", [made])
    assert "fairness.pdf" not in (report / NAME).read_text()


@pytest.mark.parametrize("place", [".", "../signed", "../../../elsewhere"])
def test_a_report_rendered_anew_has_a_manifest_of_its_own(report, place):
    folder = report / place
    folder.mkdir(exist_ok=True)
    manifest = manifest_beside(report / "run.json")
    (folder / "run.json").write_text("{'statement': 1}")
    (folder / "index.html").write_text("page")
    rendered_anew(manifest, report, folder)
    made = read_report_manifest(folder)
    inputs = set() if place.endswith("elsewhere") else {"../../limits.toml"}
    assert set(made.files) == {"run.json", "index.html", *inputs}
    names = set(made.elsewhere.values())
    assert names == {"labels.csv"} | ({"limits.toml"} if not inputs else set())
    assert main(["report", "verify", str(folder)]) == 0


def write_pictures(root, report, count):
    """Write pictures into the store, and the file that names them."""
    lines = []
    for number in range(count):
        name = f".t2i/images/00/00{number}.png"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(str(number))
        lines.append(
            {"prompt": "p", "seed": number, "file": name, "detections": {}}
            | {"sha256": sha256_of(root / name)}
        )
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (report / "run.images.jsonl").write_text(text)


@pytest.fixture
def with_pictures(project):
    """A report of a project with many pictures, whose PDF was made in the project."""
    report = project / "reports/t2i"
    write_pictures(project, report, 200)
    manifest = new_manifest(report, project).with_files([project / "limits.toml"], report, project)
    write_manifest(replace(manifest, store="../../.t2i"), report)
    (project / "fairness.pdf").write_text("pdf")
    add_outputs(report / "run.json", [project / "fairness.pdf"])
    return report


def verified(folder, capsys):
    status = main(["report", "verify", str(folder)])
    return status, capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("place", ["t2i/fairness.pdf", "fairness.pdf"])
def test_a_pdf_that_was_mailed_with_its_report_is_checked(with_pictures, tmp_path, capsys, place):
    """A line for each picture of the project said that it is missing, and another one the PDF."""
    mailed = shutil.copytree(with_pictures, tmp_path / "mailed/reports/t2i")
    paper = {"t2i/fairness.pdf": mailed, "fairness.pdf": mailed.parents[1]}[place] / "fairness.pdf"
    shutil.copy(with_pictures.parents[1] / "fairness.pdf", paper)
    status, told = verified(mailed, capsys)
    assert status == 0
    assert told[0] == "not checked: 201 files outside of this folder, which are not here"
    assert told[-1].startswith("verified: 3 of 204 files")
    assert not any("not named by" in line for line in told)
    paper.write_text("another")
    status, told = verified(mailed, capsys)
    assert status == 1
    named = "fairness.pdf" if paper.parent == mailed else "../../fairness.pdf"
    assert told[0] == f"changed: {named}"
    paper.unlink()
    assert verified(mailed, capsys)[0] == 0


def test_missing_files_have_one_line_a_kind(with_pictures, capsys):
    root = with_pictures.parents[1]
    shutil.rmtree(root / ".t2i")
    (root / "fairness.pdf").unlink()
    status, told = verified(with_pictures, capsys)
    assert status == 1
    assert told[:-1] == [
        "missing: ../../fairness.pdf",
        "missing: 200 pictures, such as ../../.t2i/images/00/000.png",
    ]
    assert told[-1].startswith("NOT VERIFIED: 201 of 204 files")


def test_changed_pictures_are_named_and_their_list_is_guarded(with_pictures, capsys):
    picture = with_pictures.parents[1] / ".t2i/images/00/007.png"
    picture.write_text("another")
    assert verified(with_pictures, capsys)[1][0] == "changed: ../../.t2i/images/00/007.png"
    # Who writes the digest of another picture into the list changes the list.
    images = with_pictures / "run.images.jsonl"
    lines = [json.loads(line) for line in images.read_text().splitlines()]
    lines[7]["sha256"] = sha256_of(picture)
    images.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    status, told = verified(with_pictures, capsys)
    assert status == 1
    assert told[0] == "changed: run.images.jsonl"


def test_pictures_outside_of_the_project_are_not_checked(with_pictures, capsys):
    write_manifest(replace(read_report_manifest(with_pictures), store=None), with_pictures)
    shutil.rmtree(with_pictures.parents[1] / ".t2i")
    status, told = verified(with_pictures, capsys)
    assert status == 0
    assert told[0] == "not checked: 200 files outside of this folder, which are not here"


@pytest.mark.parametrize("place", ["../signed", "../../../elsewhere"])
def test_a_report_rendered_elsewhere_finds_the_same_pictures(with_pictures, capsys, place):
    folder = with_pictures / place
    shutil.copytree(with_pictures, folder)
    rendered_anew(manifest_beside(with_pictures / "run.json"), with_pictures, folder)
    status, told = verified(folder, capsys)
    assert status == 0
    is_there = not place.endswith("elsewhere")
    assert told[-1].startswith("verified: all 204" if is_there else "verified: 2 of 202")


def test_leftovers_of_another_run_are_named_and_turn_nothing(report, capsys):
    (report / "20260101T000000-m-abcdef").mkdir(parents=True)
    for name in ("fairness.pdf", "manifest.json.sig", ".latest.lock"):
        (report / name).write_text(name)
    manifest = read_report_manifest(report)
    assert unlisted_files(manifest, report) == ["fairness.pdf", "manifest.json.sig"]
    assert main(["report", "verify", str(report)]) == 0
    told = capsys.readouterr().out
    assert "not named by manifest.json, so not checked: fairness.pdf, manifest.json.sig" in told
    assert "verified: all 2 files" in told
