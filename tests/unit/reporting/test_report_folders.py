"""A folder for each run, the latest beside it and above, and the oldest go."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from multiprocessing import get_context

import pytest
from filelock import FileLock

from pytest_t2i.cli.main import main
from pytest_t2i.errors import StoreError
from pytest_t2i.reporting import report_folders
from pytest_t2i.reporting.report_folders import publish, write_run
from pytest_t2i.runs.record.manifest import new_manifest, read_report_manifest, write_manifest

FILES = ["index.html", "manifest.json", "run.images.jsonl", "run.json", "summary.md"]


def reported(record, reports, created):
    """A run of that time, published."""
    folder = write_run(replace(record, created=created), reports)
    write_manifest(new_manifest(folder, reports.parent), folder)
    publish(folder, reports, read_report_manifest(folder))
    return folder


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def reports(tmp_path):
    return tmp_path / "project/reports/t2i"


def test_a_second_run_leaves_the_first_as_it_was(record, reports):
    first = reported(record, reports, "2026-11-20T10:00:00+00:00")
    before = {name: (first / name).read_bytes() for name in FILES}
    second = reported(record, reports, "2026-11-21T10:00:00+00:00")
    assert first.name.startswith("20261120T100000-")
    assert second.name > first.name
    assert {name: (first / name).read_bytes() for name in names(first)} == before
    for place in (second, reports / "latest", reports):
        assert "2026-11-21T10:00:00" in (place / "run.json").read_text()
        assert main(["report", "verify", str(place)]) == 0


def test_the_latest_takes_no_room_twice_where_links_are_there(record, reports):
    folder = reported(record, reports, "2026-11-20T10:00:00+00:00")
    assert names(reports / "latest") == FILES
    assert all((reports / "latest" / name).samefile(folder / name) for name in FILES)
    assert (reports / "run.json").samefile(folder / "run.json")
    # Another run takes the names away, and changes no file that has two.
    before = (folder / "run.json").read_bytes()
    reported(record, reports, "2026-11-21T10:00:00+00:00")
    assert (folder / "run.json").read_bytes() == before


def test_a_file_system_without_links_has_copies(record, reports, monkeypatch):
    def refuse(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    folder = reported(record, reports, "2026-11-20T10:00:00+00:00")
    assert names(reports / "latest") == FILES
    assert not (reports / "run.json").samefile(folder / "run.json")
    for place in (reports, reports / "latest"):
        assert main(["report", "verify", str(place)]) == 0


def test_the_same_run_is_published_again_without_a_stray(record, reports):
    folder = reported(record, reports, "2026-11-20T10:00:00+00:00")
    publish(folder, reports, read_report_manifest(folder))
    assert names(reports / "latest") == FILES
    assert [name for name in names(reports) if name.startswith(".run.json")] == []


def test_links_of_the_page_hold_in_every_place(record, reports):
    picture = reports.parents[1] / ".t2i/images/ab/ab12.png"
    prompts = tuple(
        replace(p, images=tuple(replace(i, file=str(picture)) for i in p.images))
        for p in record.prompts
    )
    picture.parent.mkdir(parents=True)
    from PIL import Image

    Image.new("RGB", (8, 8), "grey").save(picture)
    folder = reported(replace(record, prompts=prompts), reports, "2026-11-20T10:00:00+00:00")
    for place in (folder, reports / "latest", reports):
        links = re.findall(r'href="([^#"]+)"', (place / "index.html").read_text())
        assert links
        assert all((place / link).samefile(picture) for link in links)


def test_the_oldest_go_but_for_what_may_be_in_use(record, reports, monkeypatch):
    monkeypatch.setattr(report_folders, "MOST_KEPT", 3)
    made = [reported(record, reports, f"2026-11-2{k}T10:00:00+00:00") for k in range(5)]
    assert all(folder.is_dir() for folder in made)
    long_ago = time.time() - 2 * report_folders.MAYBE_IN_USE
    for folder in made:
        os.utime(folder, (long_ago, long_ago))
    (reports / "fair").mkdir()
    made.append(reported(record, reports, "2026-11-29T10:00:00+00:00"))
    assert [folder.is_dir() for folder in made] == [False, False, False, True, True, True]
    assert (reports / "fair").is_dir()


def test_a_run_that_waits_for_another_says_where_its_report_is(record, reports, monkeypatch):
    monkeypatch.setattr(report_folders, "LONGEST_WAIT", 0.05)
    first = reported(record, reports, "2026-11-20T10:00:00+00:00")
    with FileLock(reports / report_folders.LOCK), pytest.raises(StoreError) as told:
        publish(first, reports, read_report_manifest(first))
    assert str(first) in str(told.value)


def _many(record, reports, which):
    for k in range(3):
        reported(record, reports, f"2026-11-2{which}T10:00:0{k}+00:00")


def test_runs_that_end_together_do_not_mix(record, reports):
    started = [
        get_context("fork").Process(target=_many, args=(record, reports, which))
        for which in range(3)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
        assert process.exitcode == 0
    assert sum(bool(report_folders.FOLDER.fullmatch(name)) for name in names(reports)) == 9
    for place in (reports, reports / "latest"):
        assert main(["report", "verify", str(place)]) == 0
    assert (reports / "run.json").samefile(reports / "latest/run.json")
