"""What no run of the last few needed goes, and nothing else."""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import fakes
import numpy as np
import pytest
from writing import new

from pytest_t2i import axes
from pytest_t2i.data import Detection
from pytest_t2i.errors import StoreError
from pytest_t2i.files import write_whole
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.store import Store, pruning
from pytest_t2i.generation.store.pruning import note_needed, prune
from pytest_t2i.generation.store.repair import verify_store
from pytest_t2i.settings import Settings

KEYS = ["aa1", "ab2", "ac3", "ad4"]
LATENT = np.arange(4, dtype=np.float32).reshape(1, 2, 2)


@pytest.fixture
def folder(tmp_path):
    store = Store(tmp_path / "store")
    store.add_images([*(new(key, latent=LATENT) for key in KEYS[:3]), new("ad4", refusal="no")])
    store.add_detections("d", {key: Detection("male") for key in KEYS})
    store.add_arrays("features", {"labelled picture": LATENT})
    store.close()
    for run, keys in (("1", ["aa1"]), ("2", ["ab2"]), ("3", ["ab2", "ac3"])):
        note = store.folder / "runs" / f"run-00000000000{run}-2026010{run}T000000-r.keys"
        write_whole(note, zlib.compress("\n".join(keys).encode()))
    return store.folder


def there(folder):
    store = Store(folder)
    known = sorted(store.images(KEYS))
    said = sorted(store.detections(KEYS, "d"))
    latents = sorted(store.arrays(KEYS, "final_latent"))
    features = sorted(store.arrays(["labelled picture"], "features"))
    store.close()
    return known, said, latents, features


@pytest.mark.parametrize(
    ("runs", "kept"), [(1, ["ab2", "ac3"]), (2, ["ab2", "ac3"]), (3, KEYS[:3]), (9, KEYS[:3])]
)
def test_what_the_last_runs_needed_stays_with_all_that_is_known_of_it(folder, runs, kept):
    done = prune(folder, runs)
    assert there(folder) == (kept, kept, kept, ["labelled picture"])
    assert (done.removed, done.kept, done.runs) == (4 - len(kept), len(kept), min(runs, 3))
    files = {path.stem for path in folder.rglob("*.png")}
    assert files == set(kept)
    assert (done.bytes > 0) == (len(kept) < 3)
    # Their latents lie in one file, the features of the labelled picture in another.
    assert len(list(folder.rglob("*.safetensors"))) == 2
    assert verify_store(folder).is_whole
    assert prune(folder, runs).removed == 0
    assert len(list((folder / "runs").iterdir())) == min(runs, 3)


def test_a_run_that_is_told_again_is_one(folder):
    note_needed(folder, "20260103T000000-r", ["ac3"])
    prune(folder, 1)
    assert there(folder)[0] == ["ac3"]


def test_nothing_is_removed_where_nobody_knows_what_is_needed(folder):
    (folder / "runs/run-000000000003-20260103T000000-r.keys").write_bytes(b"rot")
    with pytest.raises(StoreError, match=r"keys: cannot be read"):
        prune(folder, 2)
    for note in (folder / "runs").iterdir():
        note.unlink()
    with pytest.raises(StoreError, match="no run recorded which images it needs"):
        prune(folder, 2)
    assert there(folder)[0] == KEYS


def test_a_store_at_work_is_left_alone(folder):
    store = Store(folder)
    store.claim(["ff9"])
    with pytest.raises(StoreError, match="a run is using this store"):
        prune(folder, 1)
    store.close()


def test_notes_do_not_grow_without_bound(folder, monkeypatch):
    monkeypatch.setattr(pruning, "MOST_RUNS", 2)
    for _ in range(2):
        note_needed(folder, "20260104T000000-r", ["aa1"])
        names = sorted(path.name for path in (folder / "runs").iterdir())
        assert names == [f"run-00000000000{n}-2026010{n}T000000-r.keys" for n in (3, 4)]


NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
CLOCKS = {
    "a clock that was ahead": (400, 0),
    "a clock that falls back a second": (0, -1 / 86400),
    "a clock that stands still": (0, 0),
    "a clock of 1970": (0, -20_000),
    "ahead, then behind": (400, -400),
    "ever further back": (0, -1, -2, -3, -4),
}


@pytest.mark.parametrize("days", CLOCKS.values(), ids=CLOCKS)
@pytest.mark.parametrize("has_earlier_notes", [True, False])
def test_the_latest_run_is_the_last_that_started_whatever_the_clock_said(
    folder, monkeypatch, days, has_earlier_notes
):
    if not has_earlier_notes:
        for note in (folder / "runs").iterdir():
            note.unlink()
    for place, day in enumerate(days):
        clock = SimpleNamespace(now=lambda _, day=day: NOW + timedelta(days=day))
        monkeypatch.setattr(pruning, "datetime", clock)
        needed = KEYS[1:2] if place == len(days) - 1 else KEYS[:1]
        name = pruning.name_of_run(f"{9 - place}")
        note_needed(folder, name, KEYS[2:3])
        note_needed(folder, name, needed)
    assert len(list((folder / "runs").iterdir())) == len(days) + 3 * has_earlier_notes
    prune(folder, 1)
    assert there(folder)[0] == ["ab2"]


def test_runs_that_start_at_once_have_different_numbers(folder):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: note_needed(folder, f"2026-{k}", ["aa1"]), range(40)))
    names = [p.name for p in (folder / "runs").iterdir() if p.name.startswith("run-")]
    assert sorted(int(name.split("-")[1]) for name in names) == list(range(1, 44))


def test_a_run_notes_what_it_needs_in_all_its_rounds(tmp_path):
    settings = Settings(model="fair", detectors=("colour",), store=tmp_path / "store")
    components = Components(settings, Store(settings.store))
    components.registries.models.local["fair"] = fakes.fair
    components.registries.detectors.local["colour"] = fakes.detector
    prompts, seen = axes.profession.prompts()[:3], frozenset({DetectorRef("colour")})

    def run(several):
        runner = Runner(components, components.store)
        for prompt in several:
            plan = Plan(RequestSettings(settings.generation))
            plan.add(Need(prompt, (1, 2), seen))
            runner.run(plan)

    run(prompts)
    assert len(list((tmp_path / "store/runs").iterdir())) == 1
    components.own_id = "another"
    run(prompts[1:])
    components.store.close()
    done = prune(tmp_path / "store", 1)
    assert (done.removed, done.kept) == (2, 4)
