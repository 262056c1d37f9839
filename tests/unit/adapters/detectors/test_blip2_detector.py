"""BLIP-2 asked in words, with a tiny random model of the true class."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import tiny
from PIL import Image

from pytest_t2i.adapters.detectors import blip2
from pytest_t2i.data import Undetected
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("male", "male"),
        ("a female", "female"),
        ("Female.", "female"),
        ("the person looks like a male", "male"),
        ("it's a woman", "female"),
        ("male or female", None),
        ("", None),
        ("a person", None),
        ("malevolent", None),
        ("human", None),
    ],
)
def test_answers_are_read_word_by_word(answer, label):
    result = blip2.decide_answers(answer)
    assert result.label == label
    assert (result.undetected is Undetected.LOW_CONFIDENCE) == (label is None)
    assert answer in result.detail


@pytest.fixture(scope="module")
def detector():
    return blip2.load(LoadOptions(source=str(tiny.written(tiny.write_blip2)), device="cpu"))


def noise(count):
    rng = np.random.default_rng(0)
    return [
        Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)) for _ in range(count)
    ]


def test_pictures_are_asked_about_in_batches_in_order(detector, monkeypatch):
    monkeypatch.setattr(blip2, "BATCH", 2)
    pictures = noise(5)
    together = detector.detect(pictures)
    assert [entry.detail for entry in together] == [
        detector.detect([p])[0].detail for p in pictures
    ]
    # A random network answers gibberish, which differs between pictures.
    assert len({entry.detail for entry in together}) > 1


def test_only_the_answer_is_read_not_the_question(detector):
    assert not any("Question" in entry.detail for entry in detector.detect(noise(3)))


def test_what_the_network_answers_is_what_is_read(detector, monkeypatch):
    monkeypatch.setattr(detector, "_ask", lambda some: ["a male", "female", "cat"][: len(some)])
    labels = [entry.label for entry in detector.detect(noise(3))]
    assert labels == ["male", "female", None]


def copied(tmp_path):
    return shutil.copytree(tiny.written(tiny.write_blip2), tmp_path / "blip2")


def test_a_folder_without_weights(tmp_path):
    folder = copied(tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelLoadError, match="safetensors"):
        blip2.load(LoadOptions(source=str(folder), device="cpu"))


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(ModelLoadError, match="no such folder"):
        blip2.load(LoadOptions(source=str(tmp_path / "absent"), device="cpu"))


def test_weights_from_before_image_tokens(tmp_path):
    folder = copied(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    del config["image_token_index"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelLoadError, match="image token"):
        blip2.load(LoadOptions(source=str(folder), device="cpu"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    """The Q-Former stays at full precision in float16; the parts still fit together."""
    source = str(tiny.written(tiny.write_blip2))
    detector = blip2.load(LoadOptions(source=source, device="cpu", dtype=dtype))
    assert detector.provenance["dtype"] == dtype
    assert all(entry.detail for entry in detector.detect(noise(2)))
