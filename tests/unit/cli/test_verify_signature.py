"""Who signed a manifest: a right signature, and all the wrong ones."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from pytest_t2i.cli import verify_report
from pytest_t2i.cli.main import main
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.manifest import REPORT, new_manifest, report_part, write_manifest

needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


def ssh_keygen(*words):
    subprocess.run(["ssh-keygen", *map(str, words)], check=True, capture_output=True)


@pytest.fixture
def signed(tmp_path):
    """A manifest, signed by a key of ada@example.org."""
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"schema": "manifest/1"}\n')
    ssh_keygen("-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key")
    ssh_keygen("-Y", "sign", "-f", tmp_path / "key", "-n", verify_report.NAMESPACE, manifest)
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {(tmp_path / 'key.pub').read_text()}")
    return manifest


def sign_again(manifest, namespace):
    path = manifest.with_name("manifest.json.sig")
    path.unlink(missing_ok=True)
    ssh_keygen("-Y", "sign", "-f", manifest.parent / "key", "-n", namespace, manifest)


@needs_ssh_keygen
def test_the_key_is_named_and_the_person_if_the_signers_are_known(signed):
    key = verify_report.signature_beside(signed)
    assert not key.is_wrong
    assert "signed with the ED25519 key SHA256:" in key.sentence
    person = verify_report.signature_beside(signed, signed.parent / "signers")
    assert not person.is_wrong
    assert person.sentence.startswith("signed by ada@example.org with the ED25519 key SHA256:")


@needs_ssh_keygen
@pytest.mark.parametrize(
    "signers", ["*@example.org", "bob@example.org,ada@example.org", "ada@example.org namespaces="]
)
def test_patterns_lists_and_options_of_the_signers_file(signed, signers):
    key = (signed.parent / "key.pub").read_text()
    if signers.endswith("="):
        signers += f'"{verify_report.NAMESPACE}"'
    (signed.parent / "signers").write_text(f"{signers} {key}")
    assert not verify_report.signature_beside(signed, signed.parent / "signers").is_wrong


@needs_ssh_keygen
@pytest.mark.parametrize(
    "fault", ["manifest changed", "other purpose", "no signature at all", "empty", "cut"]
)
def test_a_wrong_signature_is_named(signed, fault):
    path = signed.with_name("manifest.json.sig")
    if fault == "manifest changed":
        signed.write_text('{"schema": "manifest/1"} \n')
    elif fault == "other purpose":
        sign_again(signed, "git")
    else:
        text = path.read_text()
        path.write_text({"empty": "", "cut": text[: len(text) // 2]}.get(fault, "yes, I agree\n"))
    for signers in (None, signed.parent / "signers"):
        found = verify_report.signature_beside(signed, signers)
        assert found.is_wrong
        assert found.sentence.startswith("wrong signature: manifest.json.sig was not made for")


@needs_ssh_keygen
@pytest.mark.parametrize("line", ["", "eve@example.org ssh-ed25519 AAAA", "not a key"])
def test_a_key_of_nobody_who_is_trusted(signed, line):
    signers = signed.parent / "signers"
    signers.write_text(line + "\n")
    found = verify_report.signature_beside(signed, signers)
    assert found.is_wrong
    assert "signers does not trust the ED25519 key" in found.sentence


def test_what_is_no_file_and_what_is_not_there(tmp_path):
    manifest = tmp_path / "manifest.json"
    manifest.write_text("{}")
    assert verify_report.signature_beside(manifest) is None
    assert verify_report.signature_beside(manifest, tmp_path / "signers").is_wrong
    os.mkfifo(tmp_path / "manifest.json.sig")  # opening it would wait
    with pytest.raises(FileFormatError, match="regular file"):
        verify_report.signature_beside(manifest)


@needs_ssh_keygen
def test_signers_that_cannot_be_read(signed):
    with pytest.raises(FileFormatError, match="signers"):
        verify_report.signature_beside(signed, signed.parent / "absent")


def test_without_ssh_keygen_nothing_is_claimed(tmp_path, monkeypatch):
    manifest = tmp_path / "manifest.json"
    manifest.write_text("{}")
    manifest.with_name("manifest.json.sig").write_text("-----BEGIN SSH SIGNATURE-----")
    (tmp_path / "signers").write_text("")
    monkeypatch.setenv("PATH", "")
    found = verify_report.signature_beside(manifest)
    assert found.sentence.startswith("not checked: manifest.json.sig")
    assert not found.is_wrong
    assert verify_report.signature_beside(manifest, tmp_path / "signers").is_wrong


@needs_ssh_keygen
def test_the_command_says_who_signed_and_fails_for_another(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    manifest = new_manifest(folder, tmp_path)
    write_manifest(manifest.with_part(REPORT, report_part(folder)), folder)
    ssh_keygen("-q", "-t", "ed25519", "-N", "", "-f", folder / ".key")
    ssh_keygen("-Y", "sign", "-f", folder / ".key", "-n", "pytest-t2i", folder / "manifest.json")
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {(folder / '.key.pub').read_text()}")
    capsys.readouterr()
    assert main(["report", "verify", str(folder), "--signers", str(signers)]) == 0
    out = capsys.readouterr().out
    assert "signed by ada@example.org" in out
    assert "manifest.json.sig" not in out.replace("manifest.json.sig was", "")
    signers.write_text("")
    assert main(["report", "verify", str(folder), "--signers", str(signers)]) == 1
    assert "NOT VERIFIED: the signature" in capsys.readouterr().out
