"""Fitting a picture and coming back."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.adapters.finders.scaling import FAIRFACE_LONGEST, fitted, fitted_size


def picture(width, height):
    rng = np.random.default_rng(width + height)
    small = Image.fromarray(rng.integers(0, 256, (9, 7, 3), dtype=np.uint8))
    return small.resize((width, height), Image.Resampling.BICUBIC)


def test_none_leaves_a_picture_as_it_is():
    image = picture(31, 17)
    result = fitted(image)
    assert np.array_equal(result.pixels, np.asarray(image))
    assert (result.wider, result.higher) == (1, 1)


@pytest.mark.parametrize("size", [(200, 100), (100, 333), (60, 60), (1200, 900)])
def test_is_dlibs_resize(size):
    dlib = pytest.importorskip("dlib")
    image = picture(*size)
    width, height = fitted_size(*size, FAIRFACE_LONGEST)
    expected = dlib.resize_image(np.asarray(image), rows=height, cols=width)
    result = fitted(image, FAIRFACE_LONGEST).pixels
    assert result.shape == expected.shape
    assert np.abs(result.astype(int) - expected.astype(int)).max() <= 1


def test_boxes_come_back_in_the_pictures_own_pixels():
    box = fitted(picture(200, 100), 800).box((40, 80, 120, 160), 0.5, ((48, 88),))
    assert (box.left, box.top, box.right, box.bottom) == (10, 20, 30, 40)
    assert box.landmarks == ((12, 22),)


def test_a_sliver_keeps_a_pixel():
    assert fitted(picture(2000, 1), 800).pixels.shape == (1, 800, 3)
