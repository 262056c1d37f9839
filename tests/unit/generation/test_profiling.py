"""Times by part: each counts for itself, and all is left as it was."""

from __future__ import annotations

import time
from types import SimpleNamespace

import fakes
import pytest

from pytest_t2i import axes
from pytest_t2i.generation import detect
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.profiling import Stopwatch, profile
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store import store as store_module
from pytest_t2i.settings import Settings


def test_what_is_within_counts_for_itself_alone():
    watch = Stopwatch()
    inner = watch.timed("inner", lambda: time.sleep(0.03))

    def outer():
        time.sleep(0.01)
        inner()

    watch.timed("outer", outer)()
    assert watch.parts["inner"].wall >= 0.03
    assert 0.01 <= watch.parts["outer"].wall < 0.03
    assert watch.parts["inner"].processor < 0.02


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
