"""The commit of a project and changes of limits; nothing is said where git says nothing."""

from __future__ import annotations

import subprocess

import pytest

from pytest_t2i.runs import version_control
from pytest_t2i.runs.version_control import SHALLOW, commit_of, limit_changes

FIRST = "[model_bias_score]\nlimit = 0.2\n"


def git(folder, *words, author="a"):
    names = ("-c", f"user.name={author}", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def changed(folder, text, author):
    (folder / "limits.toml").write_text(text)
    git(folder, "commit", "-q", "-a", "-m", "other", "--date=2026-11-20T10:00:00Z", author=author)


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


def test_changes_of_limits_have_author_date_and_both_bounds(repository):
    file = repository / "limits.toml"
    assert limit_changes([file]) == []
    changed(repository, FIRST.replace("0.2", "0.3"), "Ann")
    changed(repository, FIRST.replace("0.2", "0.3") + "[wals]\nlimit = 0.4\n", "Bo")
    assert sorted(limit_changes([file])) == [
        "model_bias_score 0.2 -> 0.3 by Ann, 2026-11-20",
        "wals new -> 0.4 by Bo, 2026-11-20",
    ]
    file.write_text(FIRST)
    assert set(limit_changes([file])[:2]) == {
        "model_bias_score 0.3 -> 0.2 not committed",
        "wals 0.4 -> removed not committed",
    }


@pytest.mark.parametrize("text", ["not [ toml", "[model_bias]\nlimit = 1\n", "a = 5\n", ""])
def test_a_version_that_nobody_can_read_hides_no_change_around_it(repository, text):
    file = repository / "limits.toml"
    changed(repository, text, "Ann")
    changed(repository, FIRST.replace("0.2", "0.4"), "Bo")
    found = limit_changes([file])
    assert "by Bo, 2026-11-20" in " ".join(found)
    assert found[0].startswith("model_bias_score ")
    assert found[0].split(" by ")[0].endswith("-> 0.4")


def test_same_bounds_with_another_reason_are_no_change(repository):
    changed(repository, FIRST + 'reason = "other"\n', "Ann")
    assert limit_changes([repository / "limits.toml"]) == []


def test_a_part_of_the_history_is_said_and_other_places_say_nothing(repository, tmp_path):
    changed(repository, FIRST.replace("0.2", "0.3"), "Ann")
    url = f"file://{repository}"
    git(tmp_path, "clone", "-q", "--depth", "1", url, str(tmp_path / "shallow"))
    assert limit_changes([tmp_path / "shallow" / "limits.toml"]) == [SHALLOW]
    (tmp_path / "new.toml").write_text(FIRST)
    assert limit_changes([tmp_path / "new.toml", tmp_path / "shallow" / "none.toml"]) == []


def test_many_changes_are_counted(repository):
    for k in range(25):
        changed(repository, FIRST.replace("0.2", f"0.{300 + k}"), "Ann")
    found = limit_changes([repository / "limits.toml"])
    assert len(found) == 21
    assert found[0].startswith("model_bias_score 0.323 -> 0.324")
    assert found[-1] == "and 5 earlier ones"
