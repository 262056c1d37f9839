"""A store is verified, and read back in when its index is gone or broken."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from writing import new

from pytest_t2i.data import FINAL_LATENT, Detection
from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.index import NAME, store_error
from pytest_t2i.generation.store.repair import repair, verify_store
from pytest_t2i.generation.store.rows import insert
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


@pytest.mark.parametrize(("copied", "latents"), [(["images"], 0), (["images", "arrays"], 1)])
def test_a_copy_of_pictures_alone_loses_their_latents(folder, tmp_path, copied, latents):
    Store(tmp_path / "ours").close()
    for name in copied:
        shutil.copytree(folder / name, tmp_path / "ours" / name, dirs_exist_ok=True)
    findings = repair(tmp_path / "ours")
    assert (findings.adopted, findings.arrays) == (3, latents)


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
    assert findings.adopted == 3
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


LEAF = 0x0A
"""First byte of a page of an index's b-tree that has no pages below it; others lose those, too."""


def rot(folder, *texts):
    """Damage a leaf of the index that holds one of these texts; return the page's content."""
    with closing(sqlite3.connect(folder / NAME)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray((folder / NAME).read_bytes())
    starts = (content.index(text) // size * size for text in texts)
    start = next(start for start in starts if content[start] == LEAF)
    page = bytes(content[start : start + size])
    content[start : start + 64] = b"\xff" * 64
    (folder / NAME).write_bytes(content)
    return page


def key_of(number):
    return f"{number * 7 % 256:02x}{number:06d}"


MANY = range(600)


@pytest.fixture
def paid(tmp_path):
    """Pictures, refusals, detections and answers that were paid for."""
    store = Store(tmp_path / "paid")
    store.add_images(
        new(key_of(n), refusal="policy" if n % 5 == 0 else None, colour=(1 + n % 250, n // 250, 9))
        for n in MANY
    )
    store.add_detections("judge", {key_of(n): Detection("male") for n in MANY if n % 5})
    for n in MANY:
        store.remember(f"judged:{key_of(n)}", {"answer": "male"})
    store.close()
    return store.folder


def left(folder):
    store, keys = Store(folder), [key_of(n) for n in MANY]
    images = store.images(keys)
    found = (
        {key for key, image in images.items() if image.refusal is None},
        {key for key, image in images.items() if image.refusal is not None},
        set(store.detections(keys, "judge")),
        set(store.facts("judged:")),
    )
    store.close()
    return found


def test_an_index_that_is_whole_is_kept_whole(paid):
    before = left(paid)
    findings = repair(paid)
    assert findings.is_whole
    assert (findings.images, findings.refused, findings.observed) == (480, 120, 480)
    assert findings.adopted == 0
    assert left(paid) == before


@pytest.mark.parametrize("text", [b"%sjudge", b"judged:%s"])
def test_what_is_on_other_pages_than_the_damaged_one_is_kept(paid, text):
    before = left(paid)
    page = rot(paid, *(text % key_of(n).encode() for n in (301, 302, 303)))
    with pytest.raises(StoreError, match="t2i store repair"):
        verify_store(paid)
    assert repair(paid).images == 480
    images, refused, detections, facts = left(paid)
    assert (images, refused) == before[:2]
    for kept, was in ((detections, before[2]), (facts, before[3])):
        lost = {name for name in was - kept if name.encode() not in page}
        assert not lost
    assert 0 < len(before[2]) - len(detections) + len(before[3]) - len(facts) < 150
    assert verify_store(paid).is_whole


def test_of_a_damaged_page_of_images_the_pictures_are_adopted(paid):
    before = left(paid)
    page = rot(paid, *(b"%smodel" % key_of(n).encode() for n in (301, 302, 303)))
    findings = repair(paid)
    assert 0 < findings.adopted < 100
    images, refused, *_ = left(paid)
    assert images == before[0]
    assert all(key.encode() in page for key in before[1] - refused)


def test_pictures_copied_from_another_store_are_adopted(folder, tmp_path):
    other = Store(tmp_path / "other")
    other.add_images([new("ab2"), new("ad4", drawn="a smiling nurse")])
    other.close()
    shutil.copytree(other.folder / "images", folder / "images", dirs_exist_ok=True)
    findings = repair(folder)
    assert (findings.images, findings.adopted, findings.observed) == (4, 1, 3)
    store = Store(folder)
    assert store.revised_prompts(["ad4"]) == {"ad4": "a smiling nurse"}
    # The picture of ab2 is the same in both stores, and so its detection holds.
    assert set(store.detections([*KEYS, "ad4"], "d")) == set(KEYS)
    store.close()
    assert repair(folder).adopted == 0


def test_another_picture_of_the_same_key_is_adopted_without_what_was_observed(folder, tmp_path):
    other = Store(tmp_path / "other")
    other.add_images([new("ab2", colour=(9, 9, 9))])
    other.close()
    shutil.copytree(other.folder / "images", folder / "images", dirs_exist_ok=True)
    assert repair(folder).adopted == 1
    known, _, said = look(folder)
    assert set(known) == set(KEYS)
    assert set(said) == {"aa1", "ac3"}
    assert verify_store(folder).is_whole


def test_what_is_of_no_image_is_kept_unless_images_are_on_a_damaged_page(paid):
    store = Store(paid)
    store.add_detections("judge", {"a labelled picture": Detection("female")})
    store.add_arrays("text_features", {"a text": np.ones(3, np.float32)})
    store.close()
    assert repair(paid).arrays == 1
    rot(paid, *(b"%smodel" % key_of(n).encode() for n in (301, 302, 303)))
    assert repair(paid).arrays == 0
    store = Store(paid)
    assert not store.detections(["a labelled picture"], "judge")
    store.close()


def test_a_changed_row_is_named_and_its_picture_adopted(full):
    change(full, "seed")
    change(full, "fact")
    findings = repair(full)
    assert findings.changed == ["images aa1", "facts f"]
    assert findings.adopted == 1
    assert known_of_the_first(full) == {"images", "arrays"}
    assert verify_store(full).is_whole


def test_a_repair_that_is_killed_leaves_the_old_index(full, monkeypatch):
    before = known_of_the_first(full)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pytest_t2i.generation.store.repair._set_aside", killed)
        with pytest.raises(KeyboardInterrupt):
            repair(full)
    assert known_of_the_first(full) == before
    # Killed between two files: the index that was set aside last is read.
    (full / NAME).replace(full / f"{NAME}.0")
    assert repair(full).is_whole
    assert known_of_the_first(full) == before
    assert not list(full.glob(".repair-*"))


HOSTILE = {
    "a view in the place of a table": "DROP TABLE detections; CREATE VIEW detections AS WITH "
    "RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS key FROM n",
    "no table": "DROP TABLE detections",
    "another table": "DROP TABLE detections; CREATE TABLE detections (key, detector)",
    "a large value": "INSERT INTO facts VALUES ('x', zeroblob(90000000), 1)",
}


@pytest.mark.parametrize("harm", HOSTILE)
def test_a_strangers_index_takes_no_more_than_its_size(full, harm, monkeypatch):
    monkeypatch.setattr("pytest_t2i.generation.store.repair.FEWEST_STEPS", 10**6)
    with closing(sqlite3.connect(full / NAME)) as connection:
        connection.executescript(HOSTILE[harm])
    findings = repair(full)
    assert findings.images == 3
    assert findings.observed == (4 if harm == "a large value" else 1)
    assert verify_store(full).is_whole


def test_a_store_of_another_format_is_one_line(full):
    with closing(sqlite3.connect(full / NAME)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreError, match=r"expected a store of format store/1, got store/2"):
        Store(full)


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
