"""What is laid over a picture: darkness without attention, an outline around the object."""

from __future__ import annotations

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.data import Mask
from pytest_t2i.reporting.overlays import SIDE, overlay
from pytest_t2i.sections import Overlay


def region(top, bottom, left, right):
    pixels = np.zeros((SIDE, SIDE), bool)
    pixels[top:bottom, left:right] = True
    return Mask.of(pixels)


@pytest.fixture
def example(tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (SIDE, SIDE), (200, 100, 50)).save(file)
    whole, box = region(0, SIDE, 0, 120), region(40, 80, 40, 80)
    return Overlay(str(file), box, whole, ("tie",), "a tie")


def seen(example):
    content = overlay(example).partition("base64,")[2]
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_dark_is_what_was_not_looked_at(example):
    pixels = seen(example)
    assert pixels.shape == (SIDE, SIDE, 3)
    assert np.abs(pixels[20:30, 20:30].mean(axis=(0, 1)) - (200, 100, 50)).max() < 12
    assert pixels[20:30, 200:210].mean() < 0.5 * pixels[20:30, 20:30].mean()


def test_the_object_has_an_edge_and_keeps_its_inside(example):
    pixels = seen(example)
    assert np.abs(pixels[55:65, 55:65].mean(axis=(0, 1)) - (200, 100, 50)).max() < 12
    assert pixels[40:80, 38].mean() > 200
    assert pixels[40:80, 39].mean() < 60
    nowhere = seen(replace(example, region=region(0, 0, 0, 0)))
    assert np.abs(nowhere[40:80, 30:50] - pixels[40:80, 30:50]).max() > 80


def test_large_pictures_are_made_small(example):
    big = Image.new("RGB", (3 * SIDE, 2 * SIDE), (200, 100, 50))
    big.save(example.file)
    assert seen(example).shape == (2 * SIDE // 3, SIDE, 3)


def test_a_picture_that_is_gone_or_no_picture(example, tmp_path):
    assert overlay(replace(example, file=None)) is None
    assert overlay(replace(example, file=str(tmp_path / "gone.png"))) is None
    (tmp_path / "a.png").write_text("no picture")
    assert overlay(example) is None
