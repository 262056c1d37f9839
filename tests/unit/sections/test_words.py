"""What a detector says, in words."""

from __future__ import annotations

from pytest_t2i.data import Detection, Undetected
from pytest_t2i.sections import words


def test_a_label_is_not_a_reason():
    assert words.said(Detection("no_face")) == "no_face"
    assert words.said(Detection(None, Undetected.NO_FACE)) == "undetected, no face"
