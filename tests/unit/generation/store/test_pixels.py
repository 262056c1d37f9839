"""The content of pictures: equal, nearly equal, different; whatever the file and the store."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.data import Generated, Request
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.entries import NewImage
from pytest_t2i.generation.store.pixels import pixels_of, repeats_among
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats


def scene(seed, side=96):
    """Smooth random patches, as pictures have them."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC)


def compressed(image, quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer)


def test_equal_pixels_are_equal_whatever_mode_and_file_they_came_in():
    image = scene(1)
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True)
    assert pixels_of(Image.open(buffer)) == pixels_of(image.convert("RGBA")) == pixels_of(image)


@pytest.mark.parametrize(
    "change",
    [
        lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        lambda image: image.resize((95, 96)),
        lambda image: image.point(lambda value: value ^ 1),
        lambda image: image.crop((0, 0, 96, 95)),
    ],
)
def test_other_pixels_or_sizes_are_not_equal(change):
    assert pixels_of(change(scene(1))).digest != pixels_of(scene(1)).digest


@pytest.mark.parametrize("quality", [50, 75, 95])
def test_compressed_copies_are_nearly_equal_and_count(quality):
    found = repeats_among([pixels_of(scene(1)), pixels_of(compressed(scene(1), quality))])
    assert found == Repeats(2, 2, 1)
    assert not found.are_too_many


def test_many_different_pictures_are_not_nearly_equal():
    assert repeats_among(pixels_of(scene(seed)) for seed in range(200)) == Repeats(200, 200, 0)


def test_what_shows_nothing_is_not_counted():
    assert repeats_among([None, None, pixels_of(scene(1)), pixels_of(scene(1))]) == (2, 1, 0)


def new(key, image, refusal=None):
    request = Request("a nurse", int(key))
    generated = Generated(image, refusal=refusal)
    black = image is not None and image.getextrema() == ((0, 0),) * 3
    return NewImage(key, "m", request, generated, black)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    store.add_images(
        [
            new("0", scene(1)),
            new("1", scene(1)),
            new("2", scene(2)),
            new("3", None, "policy"),
            new("4", Image.new("RGB", (96, 96))),
        ]
    )
    yield store
    store.close()


def known(store):
    return store.pixels(store.images(list("01234")).values())


def test_a_store_tells_the_content_of_pictures_alone(store):
    found = known(store)
    assert set(found) == {"0", "1", "2"}
    assert found["0"] == found["1"] == pixels_of(scene(1)) != found["2"]


def test_what_an_older_version_did_not_store_is_computed_and_stored(store, monkeypatch):
    before = known(store)
    store._connection.execute("DELETE FROM pixels")
    assert known(store) == before
    monkeypatch.setattr(Store, "open_image", lambda *_: pytest.fail("nothing is read again"))
    assert known(store) == before


def test_the_content_of_another_picture_of_the_key_is_not_taken(store):
    stale = store._connection.execute("SELECT * FROM pixels WHERE key = '2'").fetchone()
    store.add_images([new("2", scene(3))])
    store._connection.execute("DELETE FROM pixels WHERE key = '2'")
    store._connection.execute("INSERT INTO pixels VALUES (?, ?, ?, ?, ?)", tuple(stale))
    assert known(store)["2"] == pixels_of(scene(3))
