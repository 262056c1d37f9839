"""Which encoder looks at images: the model's, else the detector's own CLIP."""

from __future__ import annotations

import pytest

from pytest_t2i.adapters.catalogue import Catalogue
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.session.session import Session
from pytest_t2i.settings import Settings


@pytest.mark.parametrize(
    ("detector", "encoder"),
    [
        ("clip:mine", "clip:mine"),
        ("clip-enhance:mine", "clip:mine"),
        ("clip-enhance:other", "clip"),
        ("clip-enhance", "clip"),
        ("colour", "clip"),
    ],
)
def test_a_detector_that_has_a_clip_lends_it(tmp_path, detector, encoder):
    settings = Settings(model="own", detectors=(detector,))
    components = Components(settings, Store(tmp_path))
    components.registries.encoders.update({"clip": lambda options: None})
    components._catalogue = Catalogue({}, {"clip": {"mine": "weights/mine"}})
    assert Session(settings, components).encoder == encoder
