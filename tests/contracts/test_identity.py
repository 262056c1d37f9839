"""No word of another version is ever read: of a detector, a part, an encoder or a model.

Each case is one way of naming something in a project; each version of it is tried on the store
that the one before has written to, as a later run would.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import tiny

from pytest_t2i.adapters import registry
from pytest_t2i.data import Attribute, Detection
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

pytestmark = pytest.mark.slow

SOURCE = '''
"""Everything that a project can register, in one file."""

VERSION = "mine-1"
THRESHOLD = 1


class Mine:
    labels = ("male", "female")

    def __init__(self, options):
        self.fingerprint = VERSION

    def detect(self, images):
        return []

    def for_attribute(self, attribute):
        return self

    def encode(self, images):
        return []

    def faces(self, images):
        return []

    persons = faces


class Composed(Mine):
    """A detector of a project's own that takes its parts by name."""

    def __init__(self, options):
        from pytest_t2i.adapters.detectors.parts import face_part, person_part
        self.fingerprint = [face_part(options, "mine").fingerprint,
                            person_part(options, "mine").fingerprint]
'''
CHANGES = {
    "another fingerprint": ('"mine-1"', '"mine-2"'),
    "another constant": ("THRESHOLD = 1", "THRESHOLD = 2"),
    "another body": ("return []", "return [None]"),
}
CATALOGUE = """
[weights.clip]
own = "clip"
[weights.yolo]
own = "yolo.pt"
[weights.mine]
own = "clip"
[weights.faces]
own = "mine"
[weights.persons]
own = "mine"
[weights.crop]
own = "grey"
"""


INSTALLED = registry._installed


class Project:
    """A folder whose conftest.py, or an installed distribution, registers what it has."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, installed: bool) -> None:
        self.folder, self.monkeypatch, self.installed = folder, monkeypatch, installed
        self.file = folder / "its_own_parts.py"
        self.file.write_text(SOURCE)
        (folder / "clip").symlink_to(tiny.written(tiny.write_clip))
        (folder / "yolo.pt").symlink_to(tiny.written(tiny.write_yolo) / "yolo.pt")
        (folder / "own.toml").write_text(CATALOGUE)
        monkeypatch.syspath_prepend(str(folder))
        self.runs = 0

    def change(self, before: str, after: str) -> None:
        """Another version of the file."""
        text = self.file.read_text()
        assert before in text
        self.file.write_text(text.replace(before, after))

    def components(self, **named: Any) -> Components:
        """What a run of its own process works with."""
        self.runs += 1
        # A process that starts anew has no module and no stamp in its memory.
        sys.modules.pop("its_own_parts", None)
        sys.dont_write_bytecode = True
        importlib.invalidate_caches()
        settings = Settings(model="sdxl", catalogue=self.folder / "own.toml", device="cpu")
        made = Components(settings, Store(self.folder / "store"), **named)
        module = importlib.import_module("its_own_parts")
        groups = {
            "models": {"mine": module.Mine},
            "detectors": {"mine": module.Mine, "composed": module.Composed},
            "encoders": {"mine": module.Mine},
            "faces": {"mine": module.Mine, "mmod": module.Mine},
            "persons": {"mine": module.Mine, "yolo": module.Mine},
        }
        if self.installed:
            self._install(groups)
        else:
            for kind, factories in groups.items():
                getattr(made.registries, kind).update(factories)
        return made

    def _install(self, groups: dict[str, dict[str, Any]]) -> None:
        known = INSTALLED

        def installed(group: str) -> dict[str, EntryPoint]:
            own = groups.get(group.partition(".")[2], {})
            points = {
                name: EntryPoint(name, f"its_own_parts:{factory.__name__}", group)
                for name, factory in own.items()
            }
            return {**known(group), **points}

        self.monkeypatch.setattr(registry, "_installed", installed)


def detector(name: str) -> Callable[[Components], NamedComponent[Any]]:
    return lambda made: made.detector(DetectorRef(name))


TURBAN = Attribute("turban", "with a turban", "without a turban")
WAYS: dict[str, Callable[[Components], NamedComponent[Any]]] = {
    "detector": detector("mine"),
    "detector with weights": detector(f"mine:{Path(__file__).parent}"),
    "detector with an alias": detector("mine:own"),
    "detector of an attribute": lambda made: made.detector(DetectorRef("mine:own", TURBAN)),
    "parts of an own detector": detector("composed:own"),
    "default parts of an own detector": detector("composed"),
    "parts of a registered detector": detector("clip-enhance:own"),
    "default parts of a registered detector": detector(
        f"clip-enhance:{tiny.written(tiny.write_clip)}"
    ),
    "parts of a registered detector of an attribute": lambda made: made.detector(
        DetectorRef("clip-enhance:own", TURBAN)
    ),
    "encoder": lambda made: made.encoder("mine"),
    "encoder with an alias": lambda made: made.encoder("mine:own"),
}


@dataclass(frozen=True, slots=True)
class Way:
    """One way of naming something."""

    name: str
    handle: Callable[[Components], NamedComponent[Any]]


def ways(*names: str) -> Any:
    chosen = names or tuple(WAYS)
    return pytest.mark.parametrize("way", [Way(name, WAYS[name]) for name in chosen], ids=chosen)


@pytest.fixture(params=["conftest", "installed"])
def project(request, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return Project(tmp_path, monkeypatch, installed=request.param == "installed")


@ways()
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_version_reads_no_word_of_the_first(project, way, change):
    made = project.components()
    first = way.handle(made).fingerprint
    made.store.add_detections(first, {"image": Detection("male")})
    # Nothing changed: the word is known, in later runs, too.
    assert way.handle(project.components()).fingerprint == first
    project.change(*change)
    later = project.components()
    changed = way.handle(later).fingerprint
    assert changed != first
    assert later.store.detections(["image"], changed) == {}
    # And the other way round, when the change is taken back.
    project.change(*change[::-1])
    assert way.handle(project.components()).fingerprint == first


def test_a_part_that_a_project_replaces_is_another_detector(tmp_path, monkeypatch):
    own = Project(tmp_path, monkeypatch, installed=False)
    made = own.components()
    for kind in ("persons", "detectors"):
        getattr(made.registries, kind).local.clear()
    # YOLO is the registered one, under the name that the project takes next.
    made.catalogue.weights["persons"]["own"] = "yolo"
    first = made.detector(DetectorRef("clip-enhance:own")).fingerprint
    replaced = own.components()
    replaced.registries.detectors.local.clear()
    replaced.catalogue.weights["persons"]["own"] = "yolo"
    assert replaced.detector(DetectorRef("clip-enhance:own")).fingerprint != first


def test_a_models_fingerprint_is_its_own_word_and_is_always_asked(tmp_path, monkeypatch):
    own = Project(tmp_path, monkeypatch, installed=False)
    for expected in ("mine-1", "mine-2"):
        for name in ("mine", "mine:own", "its_own_parts:Mine"):
            made = own.components(run_id="one run")
            made.settings = Settings(model=name, catalogue=tmp_path / "own.toml", device="cpu")
            assert made.model().fingerprint == expected
        own.change('"mine-1"', '"mine-2"') if expected == "mine-1" else None


def test_workers_of_one_run_ask_once_and_another_run_asks_again(project):
    made = project.components(run_id="first")
    first = made.detector(DetectorRef("mine:own"))
    assert first.fingerprint
    worker = project.components(run_id="first").detector(DetectorRef("mine:own"))
    assert worker.fingerprint == first.fingerprint
    assert worker._loaded is None
    project.change('"mine-1"', '"mine-2"')
    other = project.components(run_id="second").detector(DetectorRef("mine:own"))
    assert other.fingerprint != first.fingerprint


def test_what_is_installed_is_not_loaded_again_to_be_known(tmp_path, monkeypatch):
    own = Project(tmp_path, monkeypatch, installed=True)
    for name in ("mine:own", "composed:own"):
        first = own.components().detector(DetectorRef(name))
        assert first.fingerprint
        again = own.components().detector(DetectorRef(name))
        assert again.fingerprint == first.fingerprint
        assert again._loaded is None


@pytest.mark.parametrize("library", ["torch", "pytest-t2i"])
def test_another_version_of_a_library_is_asked_again(tmp_path, monkeypatch, library):
    own = Project(tmp_path, monkeypatch, installed=True)
    assert own.components().detector(DetectorRef("mine:own")).fingerprint
    from pytest_t2i.generation import identities

    version = identities._version
    monkeypatch.setattr(
        identities, "_version", lambda name: "0.0" if name == library else version(name)
    )
    again = own.components().detector(DetectorRef("mine:own"))
    assert again.fingerprint
    assert again._loaded is not None


def test_other_weights_behind_a_part_are_asked_again(tmp_path, monkeypatch):
    own = Project(tmp_path, monkeypatch, installed=True)
    weights = tmp_path / "face.onnx"
    weights.write_bytes(b"one")
    toml = tmp_path / "own.toml"
    toml.write_text(CATALOGUE.replace('[weights.faces]\nown = "mine"',
                                      '[weights.faces]\nown = "mine:face.onnx"'))  # fmt: skip
    identities = set()
    for content in (b"one", b"two2"):
        weights.write_bytes(content)
        identities.add(own.components().detector(DetectorRef("composed:own")).identity)
    assert len(identities) == 2
