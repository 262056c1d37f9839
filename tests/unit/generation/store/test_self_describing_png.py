"""Pictures as PNG files: the same pixels, the same bytes, and readable by other libraries."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.generation.store.self_describing_png import PictureOrigin, encode, read_origin

ORIGIN = PictureOrigin("key", "model", "a photo of a nurse", 1, {"steps": 2}, black=False)
SIZES = ((1, 1), (1, 9), (9, 1), (64, 48), (130, 257))


def picture(mode, size, seed=0):
    shape = (size[1], size[0], len(mode)) if len(mode) > 1 else (size[1], size[0])
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, np.uint8), mode)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_every_pixel_and_the_origin_are_kept(mode, size):
    image = picture(mode, size)
    content = encode(image, ORIGIN)
    with Image.open(io.BytesIO(content)) as read:
        read.load()
        assert (read.mode, read.size) == (mode, size)
        assert np.array_equal(np.asarray(read), np.asarray(image))
    with Image.open(io.BytesIO(content)) as read:
        read.verify()
    assert read_origin(content) == (ORIGIN, size)


@pytest.mark.parametrize("mode", ["1", "P", "LA", "I;16", "CMYK"])
def test_other_modes_of_pillow_are_kept_or_refused(mode):
    if mode == "CMYK":
        with pytest.raises(OSError, match="CMYK"):
            encode(Image.new(mode, (4, 3)), ORIGIN)
        return
    content = encode(Image.new(mode, (4, 3)), ORIGIN)
    assert read_origin(content) == (ORIGIN, (4, 3))


def test_a_picture_that_is_not_contiguous_in_memory():
    image = Image.fromarray(np.asarray(picture("RGB", (40, 30)))[::-2, ::3])
    with Image.open(io.BytesIO(encode(image, ORIGIN))) as read:
        assert np.array_equal(np.asarray(read), np.asarray(image))


def test_equal_pictures_give_equal_bytes_in_any_thread_and_after_others():
    images = [picture("RGB", (8 + k % 5, 8), k % 20) for k in range(400)]
    images += [Image.new("RGB", (8, 8), (k, 7, 7)) for k in range(100)]
    first = [encode(image, ORIGIN) for image in images]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(lambda image: encode(image, ORIGIN), images)) == first


def test_a_file_that_an_earlier_version_wrote_is_read():
    from PIL.PngImagePlugin import PngInfo

    chunks, buffer = PngInfo(), io.BytesIO()
    text = '{"key":"key","model":"model","prompt":"a photo of a nurse","seed":1,'
    chunks.add_itxt("pytest-t2i", text + '"settings":{"steps":2},"black":false}', zip=True)
    picture("RGB", (5, 5)).save(buffer, format="PNG", compress_level=1, pnginfo=chunks)
    assert read_origin(buffer.getvalue()) == (ORIGIN, (5, 5))
