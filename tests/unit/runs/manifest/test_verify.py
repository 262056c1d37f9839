"""What lies beside a manifest and is none of it is named."""

from __future__ import annotations

from pytest_t2i.cli.main import main
from pytest_t2i.runs.manifest.document import (
    REPORT,
    Manifest,
    Part,
    sha256_of,
    write_manifest,
)
from pytest_t2i.runs.manifest.verify import unnamed


def test_leftovers_of_another_run_are_named_and_turn_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    report = tmp_path / "reports/t2i"
    (report / "20260101T000000-m-abcdef").mkdir(parents=True)
    for name in ("run.json", "fairness.pdf", "manifest.json.sig", "card.html", ".latest.lock"):
        (report / name).write_text(name)
    hashes = {name: sha256_of(report / name) or "" for name in ("run.json", "card.html")}
    manifest = Manifest(
        "2026-01-01T00:00:00+00:00",
        "pytest-t2i",
        "../..",
        {
            REPORT: Part(".", {"run.json": hashes["run.json"]}),
            "card": Part("../..", {"reports/t2i/card.html": hashes["card.html"]}),
        },
    )
    write_manifest(manifest, report)
    assert unnamed(manifest, report) == ["fairness.pdf", "manifest.json.sig"]
    assert main(["verify-report", str(report)]) == 0
    told = capsys.readouterr().out
    assert "not named by the manifest, so not checked: fairness.pdf, manifest.json.sig (" in told
    assert "verified: all 2 entries" in told
    for name in ("fairness.pdf", "manifest.json.sig"):
        (report / name).unlink()
    assert main(["verify-report", str(report)]) == 0
    assert "beside it" not in capsys.readouterr().out
