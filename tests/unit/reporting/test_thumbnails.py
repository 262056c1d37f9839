"""Thumbnails: kept beside the store, made anew when the picture changes."""

from __future__ import annotations

import base64
import io
import os

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.reporting.thumbnails import LARGEST, SIDE, cache_path, thumbnails


@pytest.fixture
def picture(tmp_path):
    file = tmp_path / ".t2i" / "images" / "ab" / "abcd.png"
    file.parent.mkdir(parents=True)
    Image.new("RGB", (256, 128), (200, 60, 40)).save(file)
    return file


def opened(uri):
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


def test_small_and_of_the_same_shape(picture):
    small = opened(thumbnails([str(picture)])[str(picture)])
    assert (small.format, small.size) == ("WEBP", (SIDE, SIDE // 2))


def test_kept_beside_the_store(picture, tmp_path, monkeypatch):
    first = thumbnails([str(picture)])
    assert cache_path(picture) == tmp_path / ".t2i" / "thumbnails" / "abcd.webp"
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("a kept thumbnail was made again"))
    assert thumbnails([str(picture)]) == first


def test_made_anew_when_the_picture_changed(picture):
    first = thumbnails([str(picture)])
    Image.new("RGB", (256, 128), (40, 60, 200)).save(picture)
    later = cache_path(picture).stat().st_mtime + 10
    os.utime(picture, (later, later))
    assert thumbnails([str(picture)]) != first


def test_pictures_outside_a_store_leave_nothing_behind(tmp_path):
    file = tmp_path / "mine.png"
    Image.new("RGB", (32, 32)).save(file)
    assert str(file) in thumbnails([str(file)])
    assert list(tmp_path.iterdir()) == [file]


def test_a_store_that_cannot_be_written_is_no_obstacle(picture):
    (picture.parents[2] / "thumbnails").write_text("a file in the way")
    assert str(picture) in thumbnails([str(picture)])


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\nbroken"])
def test_an_unreadable_picture_has_none(picture, content):
    picture.write_bytes(content)
    assert thumbnails([str(picture), str(picture.with_name("gone.png"))]) == {}


def test_a_picture_of_noise_is_small_too(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    (uri,) = thumbnails([str(tmp_path / "noise.png")]).values()
    assert len(uri) <= LARGEST * 4 / 3 + 30
