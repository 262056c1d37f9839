"""A run that is watched: what it notes in its store, the page, and how watching ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import fakes
import pytest

from pytest_t2i import audit
from pytest_t2i.cli import watch
from pytest_t2i.cli.main import main
from pytest_t2i.data import FactKind
from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.reporting.live import NAME, state_sentence, write_live_page
from pytest_t2i.runs.live import LiveCounts, LiveNote, LiveView, Watching

LOOKING = """
import json, pathlib
from pytest_t2i.runs.live import Watching

def pytest_runtest_setup(item):
    view = Watching(pathlib.Path(".t2i")).look()
    seen = [view.is_alive, view.made, view.judged, view.needed, view.undecided, view.note.round]
    names = {prompt.name: dict(prompt.labels) for prompt in view.prompts}
    pathlib.Path("seen.json").write_text(json.dumps([seen, names, len(view.latest)]))
"""


def test_a_run_can_be_watched_while_it_goes_on(project):
    project.write({"watcher.py": LOOKING})
    project.run("-p", "watcher", "-k", "test_prompt or test_model", "--t2i-images", "10")
    record = project.record()
    planned = record["work"]["planned"]
    counts, labels, latest = json.loads((project.path / "seen.json").read_text())
    assert counts == [True, planned, planned, planned, 0, 1]
    recorded = {prompt["id"]: prompt["counts"] for prompt in record["prompts"]}
    for name, found in labels.items():
        assert found == recorded[name]["colour"]["labels"]
    assert set(labels) == set(recorded)
    assert latest == 24


def test_early_stopping_keeps_the_undecided_prompts_open(project):
    project.write({"watcher.py": LOOKING})
    project.run(
        "-p", "watcher", "-k", "test_prompt", "--t2i-images", "60", "--t2i-sequential",
        model="biased",
    )  # fmt: skip
    counts, _, _ = json.loads((project.path / "seen.json").read_text())
    is_alive, made, judged, needed, undecided, rounds = counts
    assert is_alive
    assert made == judged == needed
    assert rounds > 1
    assert 0 < undecided <= 4


def test_when_the_run_is_over_its_note_says_so_and_its_keys_are_gone(project):
    project.run("-k", "test_prompt")
    view = Watching(project.path / ".t2i").look()
    assert view.note.is_over
    assert not view.is_alive
    assert view.undecided == 0
    report = os.path.normpath(project.path / ".t2i" / view.note.report)
    assert report == str(project.path / "reports/t2i/index.html")
    with closing(Store(project.path / ".t2i")) as store:
        assert store.fact(FactKind.LIVE_NEEDS) is None


@pytest.mark.slow
def test_xdist_workers_are_watched_alike(project):
    project.write({"watcher.py": LOOKING})
    project.run_apart("-p", "watcher", "-n", "2", "-k", "test_prompt or test_model")
    counts, _, _ = json.loads((project.path / "seen.json").read_text())
    assert counts[0]
    assert counts[1] == counts[2] == counts[3] == project.record()["work"]["planned"]
    assert Watching(project.path / ".t2i").look().note.is_over


def test_without_a_run_watching_ends_and_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(watch, "PATIENCE", 0.0)
    assert main(["report", "--watch", "--store", str(tmp_path / "none")]) == 2
    assert "start one with pytest --t2i-model" in capsys.readouterr().err
    assert main(["report", "watch", "--every", "0"]) == 2
    assert "expected 1 to 3600 seconds" in capsys.readouterr().err


KILLED = """
import os, sys
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.data import FactKind
store = Store(__import__("pathlib").Path(sys.argv[1]))
needs = [{"name": "profession-nurse", "keys": ["aa", "ab"], "is_open": False}]
store.remember(FactKind.LIVE_NEEDS, needs)
store.remember(FactKind.LIVE, {
    "run": "r", "model": "m", "started": 1.0, "report": "../r/index.html",
    "owner": store.owner.name, "detectors": [], "round": 1, "is_over": False,
})
os._exit(9)
"""


def test_a_killed_run_is_said_to_have_ended(tmp_path):
    folder = tmp_path / "store"
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    view = Watching(folder).look()
    assert not view.is_alive
    assert (view.made, view.needed, view.undecided) == (0, 2, 1)
    assert state_sentence(view).startswith("The run has ended before its report.")
    page = write_live_page(view, folder, 5.0).read_text()
    assert 'http-equiv="refresh"' not in page


def note(**changed):
    plain = LiveNote("r", "m", 1.0, "../reports/index.html", "", ("d",), 1)
    fields = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return LiveNote(**(fields | changed))


def view(**changed):
    prompts = (
        LiveCounts("profession-<b>nurse</b>", 10, 5, 5, {"female": 4, "<i>": 1}, 0, True),
        LiveCounts("profession-judge", 10, 10, 10, {"male": 5, "female": 5}, 0, False),
    )
    return replace(LiveView(note(), prompts, (), True), **changed)


def test_the_page_counts_escapes_and_comes_again(tmp_path):
    page = write_live_page(view(), tmp_path, 5.0, "2.0 images/s, 0:10 left.").read_text()
    assert '<meta http-equiv="refresh" content="5">' in page
    assert "15 of 20 images are made, 15 are judged; 1 of 2 prompts are undecided." in page
    assert "2.0 images/s, 0:10 left." in page
    assert "<b>nurse" not in page
    assert "<i>" not in page
    assert page.index("&lt;b&gt;nurse") < page.rindex("profession-judge")
    assert "not a verdict" in page


def test_the_page_leads_to_the_report_when_the_run_is_over(tmp_path):
    store, over = tmp_path / "store", view(note=note(is_over=True), is_alive=False)
    store.mkdir()
    assert 'http-equiv="refresh"' not in write_live_page(over, store, 5.0).read_text()
    report = tmp_path / "reports/index.html"
    report.parent.mkdir()
    report.write_text("")
    page = write_live_page(over, store, 5.0)
    assert re.search(r'content="0; url=\.\./reports/index\.html"', page.read_text())
    os.utime(report, (0.5, 0.5))  # the report of an earlier run
    assert 'http-equiv="refresh"' not in write_live_page(over, store, 5.0).read_text()


def test_a_script_is_over_when_its_images_are_made(tmp_path):
    audit(
        fakes.fair(LoadOptions()), "a photo of one nurse", detector=fakes.FakeDetector(),
        images=4, progress=False, store=tmp_path / "store",
    )  # fmt: skip
    assert Watching(tmp_path / "store").look().note.is_over


def test_many_labels_share_a_column(tmp_path):
    labels = {f"label {number}": 10 - number for number in range(9)}
    prompts = (LiveCounts("profession-nurse", 52, 52, 52, labels, 0, False),)
    page = write_live_page(view(prompts=prompts), tmp_path, 5.0).read_text()
    assert "other labels" in page
    assert "label 8" not in page


def test_the_command_follows_a_run_to_its_report(tmp_path, capsys, monkeypatch):
    report = tmp_path / "reports/index.html"
    report.parent.mkdir()
    report.write_text("")
    store = tmp_path / "store"
    store.mkdir()
    first, second = view().prompts
    more = replace(first, needed=20, made=20, judged=20)
    looks = [
        None,
        view(),
        view(prompts=(replace(first, made=10, judged=10), second)),
        view(prompts=(more, second), note=note(round=2)),
        view(prompts=(more, second), note=note(round=2, is_over=True), is_alive=False),
    ]

    class Planted:
        def __init__(self, folder):
            assert folder == store

        def look(self):
            return looks.pop(0)

    monkeypatch.setattr(watch, "Watching", Planted)
    monkeypatch.setattr(watch.time, "sleep", lambda seconds: None)
    assert main(["report", "--watch", "--store", str(store)]) == 0
    out = capsys.readouterr().out
    assert f"{store / NAME}" in out.replace("\n", "")
    assert "Round 2: 30 of 30 images are made" in " ".join(out.split())
    assert "The run is over" in out
    assert out.rstrip().endswith("index.html")


@pytest.mark.parametrize("content", [{"run": 1}, [], "words", {"run": "r", "model": None}])
def test_a_note_of_another_shape_is_refused(tmp_path, content):
    with closing(Store(tmp_path / "store")) as store:
        store.remember(FactKind.LIVE, content)
    with pytest.raises(StoreError, match="another version"):
        Watching(tmp_path / "store").look()


def test_a_changed_note_and_a_store_without_one_show_nothing(tmp_path):
    with closing(Store(tmp_path / "store")) as store:
        assert Watching(store.folder).look() is None
        store.remember(FactKind.LIVE, {"run": "r"})
        store._connection.execute("UPDATE facts SET value = '[]'")
    assert Watching(tmp_path / "store").look() is None
