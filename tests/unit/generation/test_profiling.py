"""Times by part: each counts for itself, and all is left as it was."""

from __future__ import annotations

from types import SimpleNamespace

import fakes
import pytest

from pytest_t2i import axes
from pytest_t2i.generation import detect, profiling
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.profiling import Spent, Stopwatch, profile
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store import store as store_module
from pytest_t2i.settings import Settings


def test_what_is_within_counts_for_itself_alone(monkeypatch):
    readings = iter([(0.0, 0.0), (1.0, 0.5), (4.0, 0.75), (6.0, 1.0)])
    monkeypatch.setattr(profiling, "_now", lambda: next(readings))
    watch = Stopwatch()
    watch.timed("outer", watch.timed("inner", lambda: None))()
    assert watch.parts == {"inner": Spent(3.0, 0.25), "outer": Spent(3.0, 0.75)}


def test_an_error_passes_and_is_timed():
    watch = Stopwatch()
    with pytest.raises(ZeroDivisionError):
        watch.timed("part", lambda: 1 / 0)()
    assert "part" in watch.parts
    assert not watch._within


def test_functions_are_left_as_they_were():
    class Slotted:
        __slots__ = ()

        def go(self):
            return 1

    watch, owner = Stopwatch(), SimpleNamespace(go=lambda: 2)
    before, store, said = owner.go, vars(Store)["add_images"], detect.detections_of
    for each in (owner, Slotted(), None):
        watch.watch(each, "go", "part")
    watch.watch(Store, "add_images", "store")
    watch.watch(detect, "detections_of", "detection")
    assert owner.go() == 2
    assert watch.parts.keys() == {"part"}
    assert detect.detections_of is not said
    watch.undo()
    assert owner.go is before
    assert vars(Store)["add_images"] is store
    assert detect.detections_of is said


def test_a_profile_names_the_parts_and_keeps_nothing(tmp_path):
    settings = Settings(model="fair", detectors=("colour",), store=tmp_path / "store")
    components = Components(settings, Store(settings.store))
    components.registries.models.local["fair"] = fakes.fair
    components.registries.detectors.local["colour"] = fakes.detector
    encode = store_module.encode
    found = profile(components, axes.profession.prompts()[:2], 5)
    assert found.images == 10
    assert found.parts.keys() == {"rest of the pipeline", "PNG", "detection", "store", "rest"}
    assert all(part.wall >= 0 for part in found.parts.values())
    assert found.seconds > 0
    assert found.cores_busy > 0
    assert store_module.encode is encode
    assert components.store.folder == tmp_path / "store"
    assert not list((tmp_path / "store").rglob("*.png"))
    components.store.close()
