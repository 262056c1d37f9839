"""What was found out of a picture is kept by its pixels, and forgotten in the order of use."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i.adapters.support.picture_memory import PictureMemory, in_batches


def picture(value):
    return Image.new("RGB", (2, 2), (value, 0, 0))


def looker(seen):
    def look(images):
        seen.append([image.getpixel((0, 0))[0] for image in images])
        return seen[-1]

    return look


def test_each_picture_is_looked_at_once_and_order_is_kept():
    memory, seen = PictureMemory(), []
    assert memory.of([picture(2), picture(1), picture(2)], looker(seen)) == [2, 1, 2]
    assert memory.of([picture(1), picture(3)], looker(seen)) == [1, 3]
    assert memory.of([picture(3)], looker(seen)) == [3]
    assert seen == [[2, 1], [3]]


def test_the_longest_unused_is_forgotten_but_never_what_is_asked_for():
    memory, seen = PictureMemory(2), []
    assert memory.of([picture(k) for k in range(4)], looker(seen)) == [0, 1, 2, 3]
    assert len(memory) == 2
    memory.of([picture(2)], looker(seen))
    memory.of([picture(9)], looker(seen))
    memory.of([picture(2)], looker(seen))
    memory.of([picture(3)], looker(seen))
    assert seen == [[0, 1, 2, 3], [9], [3]]


def test_a_look_that_fails_leaves_nothing():
    memory = PictureMemory()
    with pytest.raises(ZeroDivisionError):
        memory.of([picture(1)], lambda _: [1 / 0])
    with pytest.raises(ValueError, match="zip"):
        memory.of([picture(1), picture(2)], lambda _: [1])
    memory = PictureMemory()
    assert memory.of([], lambda _: 1 / 0) == []


def test_batches_have_the_size_asked_for():
    sizes = []
    assert in_batches(range(5), 2, lambda part: (sizes.append(len(part)), part)[1]) == [*range(5)]
    assert sizes == [2, 2, 1]
    assert in_batches([], 2, lambda part: 1 / 0) == []
