"""Styles change how a drawing looks, and nothing of what it shows; drawings stay what they were."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from pytest_t2i_reference.drawing import STYLES, draw_scene, in_style
from pytest_t2i_reference.worlds import plain_scene

AS_BEFORE = "9a407e9bc89cbfc540c60855a144efc51983cd7e4d3cd31b05ba1f80514957c8"
"""Of the pictures below as they were drawn before there were styles."""


def drawn(seed: int = 3, kind: str = "one"):
    return draw_scene(plain_scene(kind, random.Random(seed)), seed)


def test_plain_drawings_are_what_they_were() -> None:
    content = hashlib.sha256()
    for seed in range(12):
        drawing = drawn(seed, ("one", "two", "none", "behind")[seed % 4])
        assert drawing.style == "plain"
        content.update(drawing.image.tobytes() + drawing.parts.tobytes())
    assert content.hexdigest() == AS_BEFORE


@pytest.mark.parametrize("style", STYLES)
def test_a_style_changes_the_picture_and_no_label(style: str) -> None:
    plain = drawn()
    styled = in_style(plain, style, 3)
    assert styled.style == style
    assert styled.image.shape == plain.image.shape
    assert styled.image.dtype == np.uint8
    assert not np.array_equal(styled.image, plain.image)
    assert styled.scene is plain.scene
    assert styled.boxes() == plain.boxes()
    assert np.array_equal(styled.parts, plain.parts)


@pytest.mark.parametrize("style", STYLES)
def test_the_same_seed_gives_the_same_picture_and_another_seed_another(style: str) -> None:
    plain = drawn()
    first, again, other = (in_style(plain, style, seed).image for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    if style != "flat":  # which draws a number of colours, of three
        assert not np.array_equal(first, other)


def test_no_two_styles_look_alike() -> None:
    plain = drawn()
    pictures = [in_style(plain, style, 0).image.astype(float) for style in STYLES]
    for index, picture in enumerate(pictures):
        for other in pictures[index + 1 :]:
            assert np.abs(picture - other).mean() > 8


@pytest.mark.parametrize("style", STYLES)
def test_what_is_drawn_shows_through_every_style(style: str) -> None:
    of_two = [in_style(drawn(seed), style, 0).image.astype(float) for seed in (3, 4)]
    same = in_style(drawn(3), style, 1).image.astype(float)
    assert np.abs(of_two[0] - same).mean() < np.abs(of_two[0] - of_two[1]).mean()


def test_a_style_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one of line, flat, .*, got style='oil'"):
        in_style(drawn(), "oil", 0)
