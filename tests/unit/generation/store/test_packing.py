"""Masks and objects survive being kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays

from pytest_t2i.data import Box, FoundObject, Mask
from pytest_t2i.generation.store.packing import packed, unpacked


@given(arrays.arrays(np.bool_, (7, 5)))
def test_a_mask_comes_back(pixels):
    mask = Mask.of(pixels)
    assert (mask.pixels() == pixels).all()
    assert mask.area == pixels.sum()


def test_objects_come_back_and_are_small():
    pixels = np.zeros((512, 512), bool)
    pixels[100:300, 50:400] = True
    objects = (
        FoundObject("hat", Box(50, 100, 400, 300, 0.75), Mask.of(pixels)),
        FoundObject("tie", Box(0, 0, 1.5, 2.5)),
    )
    assert unpacked(packed(objects)) == objects
    assert len(packed(objects)) < 1000


def test_a_mask_of_another_size_is_refused():
    with pytest.raises(ValueError, match="2 x 2 pixels has runs for 3"):
        Mask(2, 2, (3,)).pixels()
    with pytest.raises(ValueError, match=r"\[height, width\]"):
        Mask.of(np.ones(3, bool))
