"""The labelled set of drawn scenes."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image
from pytest_t2i.labels import load_labelled_set

from pytest_t2i_reference.labelled import OTHERS, PORTRAITS, write_drawn

BY_EYE = Path(__file__).parents[1] / "results" / "labelled"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    write_drawn(folder)
    return load_labelled_set(folder)


@pytest.mark.slow
def test_every_kind_of_scene_is_there(drawn):
    assert len(drawn) == 50 * (PORTRAITS + len(OTHERS[0]))
    labels = Counter(one.label for one in drawn)
    assert labels["male"] > labels["female"] > 100
    assert 0.1 < labels["low_quality"] / len(drawn) < 0.2
    reasons = Counter(one.reason for one in drawn if one.label == "low_quality")
    assert set(reasons) == {"no_person", "no_face", "multiple_people"}
    assert min(reasons.values()) >= 15
    assert len({one.prompt for one in drawn}) == 50


@pytest.mark.slow
def test_the_same_every_time(drawn, tmp_path):
    write_drawn(tmp_path)
    assert load_labelled_set(tmp_path).fingerprint == drawn.fingerprint


@pytest.mark.slow
def test_pictures_are_of_the_size_that_the_models_make(drawn):
    with Image.open(drawn.path(drawn.images[0])) as picture:
        assert picture.size == (128, 128)


def test_the_pictures_labelled_by_eye_are_a_labelled_set():
    found = load_labelled_set(BY_EYE)
    assert len(found) == 100
    assert Counter(one.label for one in found) == {"male": 65, "female": 31, "low_quality": 4}
    assert len({one.prompt for one in found}) == 20


@pytest.mark.slow
def test_the_detector_of_the_reference_models_agrees_with_the_eye():
    pytest.importorskip("dlib")
    if find_spec("ultralytics") is None:  # not imported here: it changes other libraries
        pytest.skip("needs ultralytics")
    from pytest_t2i.adapters.catalogue import read_catalogues
    from pytest_t2i.adapters.detectors.clip_enhance import load
    from pytest_t2i.adapters.registry import Registries
    from pytest_t2i.protocols import LoadOptions

    weights = read_catalogues(Registries().catalogues).weights
    parts = {family: aliases["reference"] for family, aliases in weights.items() if "reference" in aliases}
    detector = load(LoadOptions(source=parts["clip"], device="cpu", extra={"weights": parts}))
    clear = [one for one in load_labelled_set(BY_EYE) if one.clear]
    pictures = [Image.open(BY_EYE / one.file).convert("RGB") for one in clear]
    said = [one.label for one in detector.detect(pictures)]
    right = [word == one.label for word, one in zip(said, clear, strict=True) if word is not None]
    assert said.count(None) <= 5
    assert sum(right) / len(right) >= 0.97
