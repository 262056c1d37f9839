"""What files of pictures hold, decoded as a viewer shows them; the values are known by drawing."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile

from pytest_t2i.adapters.black_or_unreadable import gate, refusing_cut_files
from pytest_t2i.adapters.picture_files import (
    PictureMemory,
    in_batches,
    picture_in,
    stored_picture,
)
from pytest_t2i.data import Undetected

EXACT = {"WEBP": {"lossless": True}}
RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def saved(picture, kind="PNG", **how):
    content = io.BytesIO()
    picture.save(content, kind, **how)
    return content.getvalue()


def png_of(width, height):
    """The beginning of a PNG file of that size, and hardly any pixel."""

    def chunk(kind, content):
        checked = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checked

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def drawn(mode="RGB"):
    """Left red, right blue."""
    picture = Image.new("RGB", (8, 4), RED)
    picture.paste(BLUE, (4, 0, 8, 4))
    return picture.convert(mode)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_a_picture_is_turned_as_its_camera_was(kind):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = picture_in(saved(drawn(), kind, exif=exif, **EXACT.get(kind, {})))
    assert turned.size == (4, 8)
    assert (turned.getpixel((0, 0)), turned.getpixel((0, 7))) == (RED, BLUE)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_of_grey_are_scaled(kind):
    grey = np.array([[0, 30_000, 65_535]], dtype=np.uint16)
    picture = picture_in(saved(Image.fromarray(grey), kind))
    assert [picture.getpixel((k, 0))[0] for k in range(3)] == [0, 116, 255]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_lies_on_white(mode):
    if mode == "P":
        content = saved(drawn("P"), transparency=bytes(256))
    else:
        hidden = drawn(mode)
        hidden.putalpha(0)
        content = saved(hidden)
    assert picture_in(content).getpixel((0, 0)) == WHITE


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_of_several_is_taken(kind):
    first, second = (Image.new("RGB", (4, 4), colour) for colour in (RED, BLUE))
    how = {"save_all": True, "append_images": [second], **EXACT.get(kind, {})}
    assert picture_in(saved(first, kind, **how)).getpixel((0, 0)) == RED


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(png_of(2**31 - 1, 2**31 - 1), id="more pixels than there is memory"),
        pytest.param(png_of(10_000, 10_000), id="more pixels than Pillow takes"),
        pytest.param(png_of(0, 0), id="no pixel"),
        pytest.param(saved(Image.effect_noise((64, 64), 50))[:600], id="PNG cut"),
        pytest.param(saved(Image.effect_noise((64, 64), 50), "JPEG")[:600], id="JPEG cut"),
        pytest.param(saved(drawn(), "TIFF")[:60], id="TIFF cut"),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg'/>", id="SVG"),
        pytest.param(saved(drawn(), "EPS"), id="EPS"),
        pytest.param(saved(Image.fromarray(np.full((4, 4), 0.5, np.float32)), "TIFF"), id="floats"),
        pytest.param(saved(Image.fromarray(np.full((4, 4), 9, np.int32)), "TIFF"), id="32 bits"),
    ],
)
def test_what_is_no_picture(content):
    assert picture_in(content) is None


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_cut_file_is_none_where_a_library_lets_pillow_fill_it(monkeypatch, kind):
    """As WeasyPrint does for the whole process, when the first PDF is printed."""
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    cut = saved(Image.effect_noise((64, 64), 50), kind)[:600]
    with refusing_cut_files():
        assert picture_in(cut) is None
        assert not ImageFile.LOAD_TRUNCATED_IMAGES
    assert gate(Image.open(io.BytesIO(cut))) is Undetected.UNREADABLE
    assert ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK"])
def test_other_modes_are_read(tmp_path, mode):
    kind = "JPEG" if mode == "CMYK" else "PNG"
    (tmp_path / "a").write_bytes(saved(Image.new(mode, (4, 4)), kind))
    assert picture_in(tmp_path / "a").mode == "RGB"


def test_a_library_that_changed_how_pictures_are_opened_is_no_traceback(monkeypatch):
    """As ultralytics does, where a project imported it first."""

    def wants_a_package(*args, **kwargs):
        raise ModuleNotFoundError("No module named 'pi_heif'")

    monkeypatch.setattr("PIL.Image.open", wants_a_package)
    assert picture_in(b"no picture") is None
    assert stored_picture(b"no picture") is None


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
