"""A store is verified, and read back in when its index is gone or broken."""

from __future__ import annotations

import io
import shutil
import sqlite3

import numpy as np
import pytest
from PIL import Image
from writing import new

from pytest_t2i.data import FINAL_LATENT, Detection
from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.index import NAME, store_error
from pytest_t2i.generation.store.repair import repair, verify_store
from pytest_t2i.generation.store.rows import TABLES, insert
from pytest_t2i.generation.store.self_describing_png import nameless, read_origin

KEYS = ["aa1", "ab2", "ac3"]


@pytest.fixture
def folder(tmp_path):
    latent = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
    store = Store(tmp_path / "store")
    store.add_images([new("aa1", latent=latent), new("ab2"), new("ac3", colour=(0, 0, 0))])
    store.add_detections("d", {key: Detection("male") for key in KEYS})
    store.close()
    return store.folder


def look(folder):
    store = Store(folder)
    known = store.images(KEYS)
    latents = store.arrays(KEYS, FINAL_LATENT)
    said = store.detections(KEYS, "d")
    store.close()
    return known, latents, said


def test_a_picture_says_what_it_is_of(folder):
    origin, size = read_origin((folder / "images/aa/aa1.png").read_bytes())
    assert (origin.key, origin.black, size) == ("aa1", False, (8, 8))
    assert origin.prompt
    assert set(origin.settings) >= {"steps", "guidance", "width", "height"}


def test_a_lost_index_gives_back_what_a_service_drew(folder):
    store = Store(folder)
    store.add_images([new("aa1", drawn="a smiling nurse")])
    store.close()
    (folder / NAME).unlink()
    assert repair(folder).images == 3
    store = Store(folder)
    assert store.revised_prompts(KEYS) == {"aa1": "a smiling nurse"}
    store.close()
    assert verify_store(folder).is_whole


def test_a_changed_revised_prompt_is_struck_alone(folder):
    store = Store(folder)
    store.add_images([new("aa1", drawn="a smiling nurse")])
    store._connection.execute("UPDATE revised_prompts SET text = 'a nurse'")
    store.close()
    assert verify_store(folder).changed == ["revised_prompts aa1"]
    assert verify_store(folder).is_whole


def test_a_picture_whose_service_tells_nothing_has_the_bytes_it_had_before(folder):
    content = (folder / "images/ab/ab2.png").read_bytes()
    with Image.open(io.BytesIO(content)) as picture:
        assert "revised_prompt" not in picture.text["pytest-t2i"]


def test_equal_pictures_are_equal_bytes(tmp_path, folder):
    other = Store(tmp_path / "other")
    other.add_images([new("ab2")])
    other.close()
    name = "images/ab/ab2.png"
    assert (other.folder / name).read_bytes() == (folder / name).read_bytes()


def test_what_people_label_does_not_say_it(tmp_path, folder):
    copied = tmp_path / "1.png"
    copied.write_bytes(nameless(folder / "images/aa/aa1.png"))
    assert read_origin(copied.read_bytes()) is None
    assert b"pytest-t2i" not in copied.read_bytes()


def test_an_undamaged_store_is_whole(folder):
    findings = verify_store(folder)
    assert (findings.images, findings.arrays) == (3, 1)
    assert findings.damaged == findings.absent == []


def test_rot_with_an_unchanged_time_is_noticed_and_struck(folder):
    rotten, gone = folder / "images/aa/aa1.png", folder / "images/ab/ab2.png"
    times = rotten.stat()
    content = bytearray(rotten.read_bytes())
    content[-20] ^= 1
    rotten.write_bytes(content)
    import os

    os.utime(rotten, ns=(times.st_atime_ns, times.st_mtime_ns))
    gone.unlink()
    findings = verify_store(folder)
    assert (findings.damaged, findings.absent) == ([rotten], [gone])
    known, latents, said = look(folder)
    assert list(known) == list(said) == ["ac3"]
    assert latents == {}
    assert verify_store(folder).damaged == []


@pytest.mark.parametrize("harm", ["gone", "garbage", "truncated"])
def test_a_lost_index_is_read_from_the_pictures(folder, harm):
    before, latents, _ = look(folder)
    index = folder / NAME
    for journal in folder.glob(f"{NAME}-*"):
        journal.unlink()
    if harm == "gone":
        index.unlink()
    else:
        index.write_bytes(b"x" * 5000 if harm == "garbage" else index.read_bytes()[:6000])
    with pytest.raises(StoreError, match="t2i store repair"):
        look(folder)
    findings = repair(folder)
    assert (findings.images, findings.arrays, findings.damaged) == (3, 1, [])
    after, latents_after, said = look(folder)
    assert after == before
    assert latents_after == latents
    assert said == {}
    assert harm == "gone" or (folder / f"{NAME}.0").exists()


def test_damaged_and_foreign_pictures_are_left_out(folder):
    (folder / "images/ab/ab2.png").write_bytes(b"no picture")
    shutil.copy(folder / "images/aa/aa1.png", folder / "images/aa/aa9.png")
    findings = repair(folder)
    assert sorted(file.name for file in findings.damaged) == ["aa9.png", "ab2.png"]
    assert sorted(look(folder)[0]) == ["aa1", "ac3"]


def test_a_store_at_work_is_not_repaired(folder):
    store = Store(folder)
    store.claim(["zz"])
    with pytest.raises(StoreError, match="using this store"):
        repair(folder)
    store.close()


def test_what_is_no_store_is_said(tmp_path):
    for action in (verify_store, repair):
        with pytest.raises(StoreError, match="expected the folder of a store"):
            action(tmp_path)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("SQLITE_FULL", "The disk is full"),
        ("SQLITE_BUSY", "Another process"),
        ("SQLITE_READONLY_DBMOVED", "Correct the permissions"),
        ("SQLITE_CORRUPT", "t2i store repair"),
    ],
)
def test_what_the_index_complains_of_comes_with_what_mends_it(tmp_path, code, advice):
    error = sqlite3.DatabaseError("told by SQLite")
    error.sqlite_errorname = code
    assert advice in str(store_error(tmp_path / NAME, error))


def test_a_row_of_no_number_is_as_if_absent(folder):
    connection = sqlite3.connect(folder / NAME)
    connection.execute("UPDATE detections SET scores = '{\"male\": NaN}' WHERE key = 'aa1'")
    connection.execute("UPDATE detections SET undetected = 'no such reason' WHERE key = 'ab2'")
    connection.commit()
    connection.close()
    assert list(look(folder)[2]) == ["ac3"]


CHANGES = {
    "label": ("detections", "label = 'female' WHERE key = 'aa1'"),
    "score": ("detections", "scores = '{\"male\": 0.1}' WHERE key = 'aa1'"),
    "detector": ("detections", "detector = 'e' WHERE key = 'aa1'"),
    "seed": ("images", "seed = 7 WHERE key = 'aa1'"),
    "prompt": ("images", "prompt = 'another' WHERE key = 'aa1'"),
    "black": ("images", "black = 1 WHERE key = 'aa1'"),
    "refusal": ("images", "file = NULL, refusal = 'no' WHERE key = 'aa1'"),
    "checksum": ("arrays", "sha256 = 'ab' WHERE key = 'aa1'"),
    "objects": ("objects", "objects = x'00' WHERE key = 'aa1'"),
    "fact": ("facts", "value = '2' WHERE name = 'f'"),
    "seal": ("detections", "seal = NULL WHERE key = 'aa1'"),
    # What is no UTF-8 any more, in what names a row and beside it.
    "name of a row": ("arrays", "name = CAST(x'66ff' AS TEXT) WHERE key = 'aa1'"),
    "name of a file": ("arrays", "file = CAST(x'61ff2e' AS TEXT) WHERE key = 'aa1'"),
    "key": ("detections", "key = CAST(x'6161ff' AS TEXT) WHERE key = 'aa1'"),
    "words": ("detections", "scores = CAST(x'7bff' AS TEXT) WHERE key = 'aa1'"),
}


def change(folder, where):
    connection = sqlite3.connect(folder / NAME)
    table, what = CHANGES[where]
    assert connection.execute(f"UPDATE {table} SET {what}").rowcount == 1
    connection.commit()
    connection.close()


def known_of_the_first(folder):
    """What a run would not ask for again."""
    store = Store(folder)
    key = ["aa1"]
    known = {
        "images": store.images(key),
        "detections": store.detections(key, "d") | store.detections(key, "e"),
        "objects": store.objects(key, "o"),
        "arrays": store.arrays(key, FINAL_LATENT),
        "facts": store.fact("f"),
    }
    store.close()
    return {table for table, rows in known.items() if rows}


@pytest.fixture
def full(folder):
    store = Store(folder)
    store.add_objects("o", {"aa1": ()})
    store.remember("f", 1)
    store.close()
    return folder


@pytest.mark.parametrize("where", CHANGES)
def test_a_row_changed_by_hand_is_as_if_absent(full, where):
    whole = {"images", "detections", "objects", "arrays", "facts"}
    assert known_of_the_first(full) == whole
    change(full, where)
    store = Store(full)
    assert all(row["seed"] == 1 and row["said"] == "male" for row in store.labelled_rows("d"))
    store.close()
    table = CHANGES[where][0]
    lost = whole - {"facts"} if table == "images" else {table}
    assert known_of_the_first(full) == whole - lost


@pytest.mark.parametrize("where", CHANGES)
def test_a_row_changed_by_hand_is_found_and_struck(full, where):
    change(full, where)
    findings = verify_store(full)
    (changed,) = findings.changed
    assert changed.startswith(CHANGES[where][0])
    assert findings.damaged == findings.absent == []
    assert verify_store(full).is_whole


def test_a_page_that_is_damaged_is_told_while_rows_are_read(tmp_path):
    store = Store(tmp_path)
    for number in range(300):
        store.remember(f"fact {number:04}", "a long one " * 20)
    store.close()
    connection = sqlite3.connect(tmp_path / NAME)
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    index = tmp_path / NAME
    content = bytearray(index.read_bytes())
    middle = content.index(b"fact 0200") // size * size
    content[middle : middle + 64] = b"\xff" * 64
    index.write_bytes(content)
    with pytest.raises(StoreError, match="t2i store repair"):
        verify_store(tmp_path)


def test_a_row_names_no_file_outside_of_the_store(full, tmp_path):
    (tmp_path / "private.png").write_bytes((full / "images/aa/aa1.png").read_bytes())
    connection = sqlite3.connect(full / NAME)
    *row, _ = connection.execute("SELECT * FROM images WHERE key = 'aa1'").fetchone()
    row[5] = "../private.png"
    insert(connection, "images", [row])
    connection.commit()
    connection.close()
    store = Store(full)
    assert "aa1" in {row["key"] for row in store._connection.execute("SELECT key FROM images")}
    assert len(store.labelled_rows("d")) == 2
    assert store.images(["aa1"]) == {}
    store.close()


def test_a_store_of_the_format_without_seals_is_sealed_as_it_is(full):
    before = known_of_the_first(full)
    connection = sqlite3.connect(full / NAME)
    for table in TABLES:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    assert known_of_the_first(full) == before
    findings = verify_store(full)
    assert findings.is_whole
    assert (findings.images, findings.arrays) == (3, 1)
    change(full, "label")
    assert verify_store(full).changed == ["detections aa1 d"]


def test_an_array_that_changed_after_the_look_is_damaged_and_struck(folder):
    import os

    store = Store(folder)
    (stored,) = store.arrays(["aa1"], FINAL_LATENT).values()
    assert store.open_array(stored).shape == (1, 2, 2)
    times = stored.file.stat()
    content = bytearray(stored.file.read_bytes())
    content[-1] ^= 1
    stored.file.write_bytes(content)
    os.utime(stored.file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert store.arrays(["aa1"], FINAL_LATENT)  # nothing tells without reading
    with pytest.raises(StoreError, match="its checksum differs"):
        store.open_array(stored)
    assert store.arrays(["aa1"], FINAL_LATENT) == {}
    store.close()
