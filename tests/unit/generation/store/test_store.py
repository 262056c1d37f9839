"""The store keeps everything whole: through damage, kills and several writers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import time
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays
from writing import UNDECODABLE, new, write_many

from pytest_t2i.data import (
    Box,
    Detection,
    FoundObject,
    GenerationSettings,
    Mask,
    Prompt,
    Undetected,
)
from pytest_t2i.errors import ConfigurationError, StoreError
from pytest_t2i.files import MOST_TEXT, checksum, explain, write_whole
from pytest_t2i.generation.plan import RequestSettings
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.index import store_error
from pytest_t2i.generation.store.store import MOST_BYTES, packed, unpacked
from pytest_t2i.generation.traces import MOST_STEPS, denoising_previews, unpacked_strip


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "store")
    yield opened
    opened.close()


def test_an_image_comes_back_as_it_was(store):
    store.add_images([new("aa1")])
    result = store.images(["aa1", "absent"])
    assert list(result) == ["aa1"]
    assert store.open_image(result["aa1"]).getpixel((0, 0)) == (10, 20, 30)
    assert result["aa1"].file.suffix == ".png"
    assert result["aa1"].undetected is None


def test_refused_and_black_images_are_known_as_such(store):
    store.add_images([new("aa1", refusal="safety checker"), new("aa2", colour=(0, 0, 0))])
    result = store.images(["aa1", "aa2"])
    assert result["aa1"].undetected is Undetected.REFUSED
    assert result["aa2"].undetected is Undetected.BLACK_IMAGE
    with pytest.raises(StoreError, match="refused"):
        store.open_image(result["aa1"])


def test_what_a_service_drew_is_kept_with_its_picture(store):
    store.add_images([new("aa1", drawn="a smiling nurse"), new("aa2"), new("aa3", drawn="")])
    known = store.revised_prompts(["aa1", "aa2", "aa3", "absent"])
    assert known == {"aa1": "a smiling nurse", "aa3": ""}
    store.add_images([new("aa1", drawn="a nurse at work")])
    assert store.revised_prompts(["aa1"]) == {"aa1": "a nurse at work"}
    store.add_images([new("aa1")])
    assert store.revised_prompts(["aa1"]) == {}


def test_nothing_was_drawn_for_a_refused_image(store):
    store.add_images([new("aa1", refusal="no", drawn="a smiling nurse")])
    assert store.revised_prompts(["aa1"]) == {}


def test_what_was_drawn_is_text_whatever_a_service_sends(store):
    store.add_images([new("aa1", drawn="a \ud800 nurse\x00")])
    assert store.revised_prompts(["aa1"]) == {"aa1": "a \\ud800 nurse\x00"}
    assert "aa1" in store.images(["aa1"])


def test_a_revised_prompt_that_was_changed_in_the_index_is_none(store):
    store.add_images([new("aa1", drawn="a smiling nurse")])
    store._connection.execute("UPDATE revised_prompts SET text = 'a nurse'")
    assert store.revised_prompts(["aa1"]) == {}


def test_a_store_from_before_revised_prompts_is_read(store):
    store.add_images([new("aa1", drawn="a smiling nurse")])
    store._connection.execute("DROP TABLE revised_prompts")
    older = Store(store.folder)
    assert "aa1" in older.images(["aa1"])
    assert older.revised_prompts(["aa1"]) == {}
    older.add_images([new("aa2", drawn="a nurse at work")])
    assert older.revised_prompts(["aa1", "aa2"]) == {"aa2": "a nurse at work"}
    older.close()


@pytest.mark.parametrize("damage", [lambda f: f.write_bytes(b"x"), lambda f: f.unlink()])
def test_a_damaged_file_is_forgotten_with_all_said_of_it(store, damage):
    store.add_images([new("aa1", drawn="a smiling nurse")])
    store.add_detections("d", {"aa1": Detection("male")})
    damage(store.images(["aa1"])["aa1"].file)
    assert store.images(["aa1"]) == {}
    assert store.detections(["aa1"], "d") == {}
    assert store.revised_prompts(["aa1"]) == {}


def test_a_touched_but_equal_file_stays(store):
    store.add_images([new("aa1")])
    os.utime(store.images(["aa1"])["aa1"].file, (1, 1))
    assert "aa1" in store.images(["aa1"])


def test_damage_after_the_look_up_is_noticed_on_opening(store):
    store.add_images([new("aa1")])
    result = store.images(["aa1"])["aa1"]
    result.file.write_bytes(b"damaged")
    with pytest.raises(StoreError, match="checksum differs"):
        store.open_image(result)


def replaced(store, content):
    """A picture of the store that somebody made with a right checksum."""
    store.add_images([new("aa1")])
    stored = store.images(["aa1"])["aa1"]
    stored.file.write_bytes(content)
    store._connection.execute("DELETE FROM pixels")
    return replace(stored, sha256=checksum(content))


@pytest.mark.parametrize("content", UNDECODABLE.values(), ids=UNDECODABLE)
def test_what_cannot_be_decoded_is_no_picture_and_starts_nothing(store, content, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a program was started"))
    stored = replaced(store, content)
    assert store.open_image(stored) is None
    assert store.pixels([stored]) == {}
    strip = np.frombuffer(b"\xff\xff\xff\xff" + content, np.uint8)
    assert unpacked_strip(strip) == []
    previews = denoising_previews(strip, "ab", set())
    assert len(previews.needs) == MOST_STEPS
    assert previews.open(next(iter(previews.needs))) is Undetected.UNREADABLE


def test_a_picture_that_came_out_differently_leaves_no_stale_word(store):
    store.add_images([new("aa1")])
    store.add_detections("d", {"aa1": Detection("male")})
    store.add_images([new("aa1")])
    assert store.detections(["aa1"], "d")
    store.add_images([new("aa1", colour=(1, 2, 3))])
    assert store.detections(["aa1"], "d") == {}


def test_detections_are_kept_per_detector(store):
    first = Detection("male", scores={"male": 0.7, "female": 0.3}, detail="raw")
    second = Detection(None, Undetected.NO_FACE)
    store.add_detections("one", {"k": first})
    store.add_detections("two", {"k": second})
    assert store.detections(["k"], "one") == {"k": first}
    assert store.detections(["k"], "two") == {"k": second}


def test_arrays_are_kept_per_name(store):
    latent = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
    store.add_images([new("aa1", latent=latent)])
    store.add_arrays("feature", {"aa1": np.ones(3)})
    assert np.array_equal(store.open_array(store.arrays(["aa1"], "final_latent")["aa1"]), latent)
    store.arrays(["aa1"], "feature")["aa1"].file.write_bytes(b"damaged")
    assert store.arrays(["aa1"], "feature") == {}


def test_thousands_of_keys_are_looked_up_at_once(store):
    store.add_images([new(f"{k:04}") for k in range(600)])
    assert len(store.images([f"{k:04}" for k in range(2000)])) == 600


def test_claims_are_exclusive_until_released(tmp_path):
    mine, other = Store(tmp_path), Store(tmp_path)
    assert mine.claim(["a", "b"]) == ["a", "b"]
    assert other.claim(["b", "c"]) == ["c"]
    mine.release(["a", "b"])
    assert other.claim(["b"]) == ["b"]
    mine.close()
    other.close()


def test_a_stored_image_needs_no_claim_any_more(tmp_path):
    mine, other = Store(tmp_path), Store(tmp_path)
    assert mine.claim(["a", "b"]) == ["a", "b"]
    mine.add_images([new("a")])
    assert other.owners(["a"]) == []
    assert other.owners(["b"]) != []
    assert other.claim(["b"]) == []
    mine.close()
    other.close()


@pytest.mark.slow
def test_several_processes_write_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path, 20 * k)) for k in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    keys = [f"{k:04}" for k in range(80)]
    store = Store(tmp_path)
    assert len(store.images(keys)) == len(store.detections(keys, "d")) == 80


def test_a_kill_loses_the_batch_in_flight_at_most(tmp_path):
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=write_many, args=(tmp_path, 0))
    writer.start()
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("images/*/*.png"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    store = Store(tmp_path)
    files = {entry.stem for entry in tmp_path.glob("images/*/*.png")}
    known = store.images(sorted(files))
    assert len(files) >= 5
    assert len(files) - len(known) <= 1
    assert all(store.open_image(entry).size == (8, 8) for entry in known.values())


def test_a_full_disk_is_told_as_such(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreError, match=r"the disk is full\. Nothing made so far is lost"):
        write_whole(tmp_path / "file", b"content")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_written_is_told_as_such(tmp_path):
    assert "no permission to write" in explain(tmp_path, PermissionError(13, "denied"))


def test_a_store_of_another_format_is_refused(tmp_path):
    store = Store(tmp_path)
    store._connection.execute("PRAGMA user_version=99")
    store.close()
    with pytest.raises(StoreError, match="expected a store of format store/1, got store/99"):
        Store(tmp_path)


def test_git_ignores_a_store(store):
    assert "*" in (store.folder / ".gitignore").read_text().splitlines()


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path):
    folder = tmp_path / "store"
    opened = Store(folder)
    opened.add_images([new("aa1")])
    old, fresh = folder / "images/aa/.aa2.png.abcd1234", folder / "images/aa/.aa3.png.abcd1234"
    for file in (old, fresh):
        file.write_bytes(b"half")
    os.utime(old, (1, 1))
    opened.claim(["x"])
    assert old.exists()
    opened.close()
    (folder / "locks" / "0123456789ab.owner").touch()
    later = Store(folder)
    later.claim(["x"])
    assert (old.exists(), fresh.exists()) == (False, True)
    assert list(later.images(["aa1"])) == ["aa1"]
    later.close()


def test_a_picture_that_cannot_be_read_is_told_and_not_forgotten(store):
    store.add_images([new("aa")])
    file = store.folder / "images/aa/aa.png"
    file.rename(store.folder / "aside")
    file.mkdir()
    with pytest.raises(StoreError, match=r"aa\.png: cannot be read: Is a directory"):
        store.images(["aa"])
    file.rmdir()
    (store.folder / "aside").rename(file)
    assert "aa" in store.images(["aa"])


def test_a_disk_that_refuses_is_not_called_damage():
    refused = sqlite3.OperationalError("disk I/O error")
    refused.sqlite_errorname = "SQLITE_IOERR_WRITE"
    told = str(store_error(Path("index.sqlite"), refused))
    assert "check its free space" in told
    assert "damaged" not in told


def test_rows_are_of_one_detector_and_models_have_names(store):
    assert store.busiest_detector() is None
    store.add_images([new("aa1"), new("aa2")])
    store.add_detections("few", {"aa1": Detection("female")})
    store.add_detections("many", {key: Detection("male") for key in ("aa1", "aa2")})
    assert store.busiest_detector() == "many"
    assert [row["said"] for row in store.labelled_rows("many")] == ["male", "male"]
    assert [row["said"] for row in store.labelled_rows("few")] == ["female"]
    assert store.model_name("m") is None
    store.name_model("m", "mine")
    assert store.model_name("m") == "mine"


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


@pytest.mark.parametrize(
    "content",
    [
        b"no zlib",
        zlib.compress(bytes(MOST_BYTES + 1)),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b'[{"name": 1}]'),
        zlib.compress(b"3"),
    ],
)
def test_objects_that_nobody_wrote_are_told(content):
    with pytest.raises(StoreError, match="objects of a picture"):
        unpacked(content)


def test_a_prompt_that_no_picture_could_hold_is_refused_and_a_long_one_kept(store):
    settings = RequestSettings(GenerationSettings())
    longest = "\x01" * MOST_TEXT
    request = settings.requests(Prompt(longest, "a", "b"), [1])[0]
    with pytest.raises(ConfigurationError, match="a prompt of at most 131072 characters, got"):
        settings.requests(Prompt(f"{longest}x", "a", "b"), [1])[0]
    made = new("aa1", drawn=longest)
    store.add_images([replace(made, request=request)])
    assert store.open_image(store.images(["aa1"])["aa1"]).size == (8, 8)
