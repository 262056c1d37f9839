"""An encoder with a domain knows other pictures; one without takes any."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import tiny
from PIL import Image

from pytest_t2i.adapters.detectors import clip as clip_detector
from pytest_t2i.adapters.encoders import clip
from pytest_t2i.adapters.encoders.contrastive import FILE
from pytest_t2i.errors import FileFormatError
from pytest_t2i.protocols import LoadOptions, MadeFor

pytestmark = pytest.mark.slow


def noise(seed: int) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8))


def flat(value: int) -> Image.Image:
    return Image.new("RGB", (32, 32), (value, value, value))


@pytest.fixture
def weights(tmp_path):
    """A CLIP of one's own, to lay a domain beside."""
    folder = tmp_path / "clip"
    shutil.copytree(tiny.written(tiny.write_clip), folder)
    return folder


def with_domain(folder, direction, threshold):
    plain = {"made_for": "flat", "direction": list(map(float, direction)), "threshold": threshold}
    (folder / FILE).write_text(json.dumps(plain))
    return LoadOptions(source=str(folder), device="cpu")


def halfway(folder):
    """The options of a CLIP whose domain is flat pictures."""
    plain = clip.load(LoadOptions(source=str(folder), device="cpu"))
    one, other = plain.summaries([flat(90), noise(0)])
    direction = other - one
    return with_domain(folder, direction, float((one + other) @ direction / 2))


def test_what_it_was_made_for(weights):
    encoder = clip.load(halfway(weights))
    assert isinstance(encoder, MadeFor)
    assert encoder.made_for == "flat"
    assert encoder.in_domain([flat(80), noise(1), flat(100)]) == [True, False, True]


def test_features_are_those_without_a_domain(weights):
    pictures = [flat(80), noise(1)]
    without = clip.load(LoadOptions(source=str(weights), device="cpu"))
    assert without.made_for == ""
    assert without.in_domain(pictures) == [True, True]
    features = without.encode(pictures)
    np.testing.assert_array_equal(clip.load(halfway(weights)).encode(pictures), features)


def test_a_picture_is_encoded_once_for_both(weights, monkeypatch):
    encoder = clip.load(halfway(weights))
    passes: list[int] = []
    inner = encoder._pass
    monkeypatch.setattr(encoder, "_pass", lambda some: (passes.append(len(some)), inner(some))[1])
    encoder.in_domain([flat(7), noise(7)])
    encoder.encode([noise(7), flat(7)])
    assert passes == [2]


def test_fingerprints_change_with_the_domain(weights):
    width = len(clip.load(LoadOptions(source=str(weights))).summaries([flat(1)])[0])
    first, second = (
        clip_detector.load(with_domain(weights, np.ones(width), threshold)).fingerprint
        for threshold in (1.0, 2.0)
    )
    assert first != second


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"made_for": "flat", "direction": [1.0], "threshold": 0}', "expected 64 numbers"),
        ('{"made_for": "flat", "threshold": 0}', "direction"),
        ("no JSON", "is not valid JSON"),
    ],
)
def test_a_damaged_domain_names_its_file(weights, content, problem):
    (weights / FILE).write_text(content)
    with pytest.raises(FileFormatError, match=problem) as raised:
        clip.load(LoadOptions(source=str(weights), device="cpu"))
    assert FILE in str(raised.value)
