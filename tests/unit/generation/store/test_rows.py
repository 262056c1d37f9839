"""What an index says of a picture has one hash in every copy of the store."""

from __future__ import annotations

import shutil
import sqlite3

import pytest
from writing import new

from pytest_t2i.data import Detection
from pytest_t2i.files import checksum
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.row_digests import picture_hashes, row_digests


@pytest.fixture
def folder(tmp_path):
    """A store of two pictures that one detector has seen."""
    store = Store(tmp_path / "store")
    store.add_images([new("aa1"), new("ab2", drawn="a smiling nurse")])
    store.add_detections("colour", {"aa1": Detection("male"), "ab2": Detection("female")})
    store.close()
    return store.folder


def write(folder, statement):
    with sqlite3.connect(folder / "index.sqlite") as index:
        index.execute(statement)
    index.close()


def test_copies_and_later_runs_change_nothing(folder, tmp_path):
    before = row_digests(folder, ["aa1", "ab2"], ["colour"])
    assert set(before) == {"aa1", "ab2"}
    assert before["aa1"] != before["ab2"]
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copy)
    assert row_digests(tmp_path / "copy", ["aa1", "ab2"], ["colour"]) == before
    store = Store(folder)
    store.add_images([new("ac3")])
    store.add_detections("second", {"aa1": Detection("female")})
    store.close()
    assert row_digests(folder, ["aa1", "ab2"], ["colour"]) == before


@pytest.mark.parametrize(
    ("key", "statement"),
    [
        ("aa1", "UPDATE detections SET label = 'female' WHERE key = 'aa1'"),
        ("aa1", "DELETE FROM detections WHERE key = 'aa1'"),
        ("aa1", "UPDATE images SET prompt = 'a chef' WHERE key = 'aa1'"),
        ("ab2", "UPDATE revised_prompts SET text = 'a nurse'"),
    ],
)
def test_a_row_that_was_changed_has_another_hash(folder, key, statement):
    before = row_digests(folder, ["aa1", "ab2"], ["colour"])
    write(folder, statement)
    after = row_digests(folder, ["aa1", "ab2"], ["colour"])
    assert {one for one in before if before[one] != after[one]} == {key}


def test_hashes_of_pictures_are_those_of_their_files(folder):
    hashes = picture_hashes(folder, ["aa1", "ab2", "absent"])
    assert len(hashes) == 2
    assert all(checksum(file.read_bytes()) == sha for file, sha in hashes.items())


@pytest.mark.parametrize("content", [None, b"no database at all", b""])
def test_without_an_index_that_can_be_read_nothing_is_found(tmp_path, content):
    if content is not None:
        (tmp_path / "index.sqlite").write_bytes(content)
    assert row_digests(tmp_path, ["aa1"], ["colour"]) == {}
    assert sorted(tmp_path.iterdir()) == ([] if content is None else [tmp_path / "index.sqlite"])


def test_more_pictures_than_one_query_takes(folder):
    keys = [f"{number:064x}" for number in range(1200)]
    assert set(row_digests(folder, [*keys, "ab2"], ["colour"])) == {"ab2"}
