"""How well a detector is known by people's labels."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.audits.peoples_labels import accuracy_of, told_accuracy

NAN = float("nan")


def test_accuracy_is_of_images_that_both_gave_a_group():
    words = [np.array([1, 1, -1, 0, 1.0]), np.array([-1, -1.0])]
    people = [np.array([1, -1, -1, 1, NAN]), np.array([1, NAN])]
    found = accuracy_of(words, people, {"male": 1.0, "female": -1.0, "other": 5.0}, 0.95)
    # Of two men with a word one is right, of two women one; nobody is of the third group.
    assert (found["male"].estimate, found["male"].n) == (0.5, 2)
    assert (found["female"].estimate, found["female"].n) == (0.5, 2)
    assert found["other"] is None
    assert found["male"].low < 0.5 < found["male"].high


@pytest.mark.parametrize(("images", "told"), [(1, "measured on 1 label: "), (9, "9 labels: ")])
def test_it_is_told_in_words(images, told):
    assert told in told_accuracy(images, {"a": None})
