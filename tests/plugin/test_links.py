"""A link where a report belongs is replaced, and what it leads to stays as it is."""

from __future__ import annotations

import pytest

NURSE = ("-k", "test_prompt and nurse", "--t2i-images", "4")


@pytest.mark.parametrize("target", ["folder", "file", "nothing", "itself", "above"])
def test_a_link_at_latest_is_replaced(project, target):
    other = project.path / "other"
    other.mkdir()
    (other / "index.html").write_text("mine")
    (project.path / "mine.txt").write_text("mine")
    reports = project.path / "reports/t2i"
    reports.mkdir(parents=True)
    places = {
        "folder": other, "file": project.path / "mine.txt", "nothing": project.path / "no",
        "itself": reports / "latest", "above": project.path,
    }  # fmt: skip
    (reports / "latest").symlink_to(places[target])
    (reports / ".latest.lock").symlink_to(project.path / "mine.txt")
    (reports / "index.html").symlink_to(other / "index.html")
    project.run(*NURSE)
    assert not (reports / "latest").is_symlink()
    assert (reports / "latest/run.json").is_file()
    assert (reports / "index.html").read_text().startswith("<!doctype html>")
    assert (other / "index.html").read_text() == (project.path / "mine.txt").read_text() == "mine"
    assert list(other.iterdir()) == [other / "index.html"]
    assert not (project.path / "run.json").exists()


@pytest.mark.slow
def test_links_at_the_folders_of_several_models_are_replaced(project):
    other = project.path / "other"
    other.mkdir()
    (project.path / "reports/t2i").mkdir(parents=True)
    (project.path / "reports/t2i/biased").symlink_to(other)
    project.run_apart(*NURSE, "--t2i-model", "fair,biased")
    assert list(other.iterdir()) == []
    assert (project.path / "reports/t2i/biased/run.json").is_file()
