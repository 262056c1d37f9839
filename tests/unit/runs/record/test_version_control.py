"""The commit of a project; nothing is said where git says nothing."""

from __future__ import annotations

import subprocess

import pytest

from pytest_t2i.runs.record import version_control
from pytest_t2i.runs.record.version_control import commit_of

FIRST = "[model_bias_score]\nlimit = 0.2\n"


def git(folder, *words):
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "limits.toml").write_text(FIRST)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_a_commit_and_whether_files_differ_from_it(repository):
    told = commit_of(repository)
    assert len(told["commit"]) == 40
    assert told["changed"] is False
    (repository / "new.txt").write_text("git does not follow it")
    assert commit_of(repository) == told
    (repository / "limits.toml").write_text("")
    assert commit_of(repository) == told | {"changed": True}


def test_nothing_without_git_a_repository_or_an_answer(tmp_path, repository, monkeypatch):
    (tmp_path / "plain").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert commit_of(tmp_path / "absent") == {}
    monkeypatch.setattr(version_control, "PATIENCE", 0.0)
    assert commit_of(repository) == {}
    monkeypatch.setattr(version_control, "which", lambda name: None)
    assert commit_of(repository) == {}
