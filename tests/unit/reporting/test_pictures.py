"""Thumbnails: kept in the store with a row that ties each to its picture, else made again."""

from __future__ import annotations

import base64
import io
import os
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from writing import new

from pytest_t2i.data import Mask
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.index import NAME
from pytest_t2i.generation.store.pruning import note_needed, prune
from pytest_t2i.generation.store.repair import verify_store
from pytest_t2i.reporting.pictures import (
    LARGEST,
    OVERLAY_SIDE,
    SIDE,
    overlay,
    thumbnails,
)
from pytest_t2i.sections import Overlay

COLOURS = {"abcd": (200, 60, 40), "ab12": (40, 60, 200)}


@pytest.fixture
def folder(tmp_path):
    store = Store(tmp_path / ".t2i")
    store.add_images([new(key, colour) for key, colour in COLOURS.items()])
    store.close()
    return store.folder


@pytest.fixture
def picture(folder):
    return folder / "images" / "ab" / "abcd.png"


def opened(uri):
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


def shown(folder):
    """Key -> the middle of the thumbnail that a report shows."""
    files = {key: str(folder / "images" / key[:2] / f"{key}.png") for key in COLOURS}
    small = thumbnails(files.values())
    return {key: opened(small[file]).convert("RGB").getpixel((4, 4)) for key, file in files.items()}


def are_true(folder):
    """Whether every thumbnail has about the colour of its picture."""
    return all(
        max(abs(a - b) for a, b in zip(colour, COLOURS[key], strict=True)) < 12
        for key, colour in shown(folder).items()
    )


def test_small_and_of_the_same_shape(tmp_path):
    file = tmp_path / "mine.png"
    Image.new("RGB", (256, 128), (200, 60, 40)).save(file)
    small = opened(thumbnails([str(file)])[str(file)])
    assert (small.format, small.size) == ("WEBP", (SIDE, SIDE // 2))


def test_kept_beside_the_store(picture, folder, monkeypatch):
    first = thumbnails([str(picture)])
    assert (folder / "thumbnails" / "abcd.webp").is_file()
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("a kept thumbnail was made again"))
    assert thumbnails([str(picture)]) == first


def test_a_touched_picture_is_read_and_not_made_again(picture, monkeypatch):
    first = thumbnails([str(picture)])
    os.utime(picture, (1, 1))
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("a kept thumbnail was made again"))
    assert thumbnails([str(picture)]) == first


@pytest.mark.parametrize("age", [-10, 0, 10])
def test_made_anew_when_the_picture_changed(picture, folder, age):
    first = thumbnails([str(picture)])
    Image.new("RGB", (256, 128), (40, 60, 200)).save(picture)
    time = (folder / "thumbnails" / "abcd.webp").stat().st_mtime + age
    os.utime(picture, (time, time))
    assert thumbnails([str(picture)]) != first


def swapped(one, other, _):
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def swapped_with_rows(one, other, folder):
    swapped(one, other, folder)
    with closing(sqlite3.connect(folder / NAME)) as index:
        rows = index.execute("SELECT picture, sha256, seal FROM thumbnails ORDER BY key").fetchall()
        for key, row in zip(sorted(COLOURS, reverse=True), rows, strict=True):
            query = "UPDATE thumbnails SET picture = ?, sha256 = ?, seal = ? WHERE key = ?"
            index.execute(query, (*row, key))
        index.commit()


def encoded_again(one, *_):
    with Image.open(one) as image:
        image.load()
    image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(one, "WEBP", quality=1)


def another_picture(one, *_):
    Image.new("RGB", (8, 8), (9, 200, 9)).save(one, "WEBP")


EXCHANGES = {
    "swapped": swapped,
    "swapped with their rows": swapped_with_rows,
    "replaced": another_picture,
    "encoded again": encoded_again,
    "cut short": lambda one, *_: one.write_bytes(one.read_bytes()[:-9]),
    "emptied": lambda one, *_: one.write_bytes(b""),
    "one bit": lambda one, *_: one.write_bytes(one.read_bytes()[:-1] + b"\x01"),
    "no picture": lambda one, *_: one.write_bytes(b"<svg onload=alert(1)>"),
    "a link to the other": lambda one, other, _: (one.unlink(), one.symlink_to(other)),
}


@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
@pytest.mark.parametrize("keeps_time", [True, False])
def test_an_exchanged_thumbnail_is_named_and_never_shown(folder, exchange, keeps_time):
    before = shown(folder)
    files = [folder / "thumbnails" / f"{key}.webp" for key in ("abcd", "ab12")]
    times = [file.stat() for file in files]
    exchange(*files, folder)
    if keeps_time:
        for file, time in zip(files, times, strict=True):
            os.utime(file, ns=(time.st_atime_ns, time.st_mtime_ns))
    assert shown(folder) == before
    assert are_true(folder)
    exchange(*files, folder)
    findings = verify_store(folder)
    assert not findings.is_whole
    assert files[0] in findings.damaged or findings.changed
    assert are_true(folder)
    assert verify_store(folder).is_whole


def test_thumbnails_of_earlier_versions_are_made_again(folder):
    expected = shown(folder)
    with closing(sqlite3.connect(folder / NAME)) as index:
        index.execute("DROP TABLE thumbnails")
        index.commit()
    swapped(*[folder / "thumbnails" / f"{key}.webp" for key in ("abcd", "ab12")], folder)
    assert shown(folder) == expected
    assert verify_store(folder).is_whole


def test_a_removed_thumbnail_is_no_damage(folder):
    before = shown(folder)
    (folder / "thumbnails" / "abcd.webp").unlink()
    assert verify_store(folder).is_whole
    assert shown(folder) == before


def test_the_thumbnail_of_a_pruned_picture_goes_with_it(folder):
    shown(folder)
    note_needed(folder, "20260103T000000-r", ["abcd"])
    prune(folder, 1)
    assert [file.name for file in (folder / "thumbnails").iterdir()] == ["abcd.webp"]


def test_pictures_outside_a_store_leave_nothing_behind(tmp_path):
    file = tmp_path / "mine.png"
    Image.new("RGB", (32, 32)).save(file)
    assert str(file) in thumbnails([str(file)])
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_named_like_that_of_a_store_is_none(tmp_path):
    file = tmp_path / "images" / "ab" / "abcd.png"
    file.parent.mkdir(parents=True)
    Image.new("RGB", (32, 32)).save(file)
    assert str(file) in thumbnails([str(file)])
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_a_store_that_cannot_be_written_is_no_obstacle(picture, folder):
    (folder / "thumbnails").write_text("a file in the way")
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


def region(top, bottom, left, right):
    pixels = np.zeros((OVERLAY_SIDE, OVERLAY_SIDE), bool)
    pixels[top:bottom, left:right] = True
    return Mask.of(pixels)


@pytest.fixture
def example(tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (OVERLAY_SIDE, OVERLAY_SIDE), (200, 100, 50)).save(file)
    whole, box = region(0, OVERLAY_SIDE, 0, 120), region(40, 80, 40, 80)
    return Overlay(str(file), box, whole, ("tie",), "a tie")


def seen(example):
    content = overlay(example).partition("base64,")[2]
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_dark_is_what_was_not_looked_at(example):
    pixels = seen(example)
    assert pixels.shape == (OVERLAY_SIDE, OVERLAY_SIDE, 3)
    assert np.abs(pixels[20:30, 20:30].mean(axis=(0, 1)) - (200, 100, 50)).max() < 12
    assert pixels[20:30, 200:210].mean() < 0.5 * pixels[20:30, 20:30].mean()


def test_the_object_has_an_edge_and_keeps_its_inside(example):
    pixels = seen(example)
    assert np.abs(pixels[55:65, 55:65].mean(axis=(0, 1)) - (200, 100, 50)).max() < 12
    assert pixels[40:80, 38].mean() > 200
    assert pixels[40:80, 39].mean() < 60
    nowhere = seen(replace(example, region=region(0, 0, 0, 0)))
    assert np.abs(nowhere[40:80, 30:50] - pixels[40:80, 30:50]).max() > 80


def test_large_pictures_are_made_small(example):
    big = Image.new("RGB", (3 * OVERLAY_SIDE, 2 * OVERLAY_SIDE), (200, 100, 50))
    big.save(example.file)
    assert seen(example).shape == (2 * OVERLAY_SIDE // 3, OVERLAY_SIDE, 3)


def test_a_picture_that_is_gone_or_no_picture(example, tmp_path):
    assert overlay(replace(example, file=None)) is None
    assert overlay(replace(example, file=str(tmp_path / "gone.png"))) is None
    (tmp_path / "a.png").write_text("no picture")
    assert overlay(example) is None
