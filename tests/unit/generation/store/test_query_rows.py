"""Rows are read from the index, which is not written."""

from __future__ import annotations

import pytest
from writing import new

from pytest_t2i.files import checksum
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.rows import picture_place
from pytest_t2i.generation.store.thumbnails import origins


@pytest.fixture
def folder(tmp_path):
    """A store of two pictures."""
    store = Store(tmp_path / "store")
    store.add_images([new("aa1"), new("ab2", drawn="a smiling nurse")])
    store.close()
    return store.folder


def test_hashes_of_pictures_are_those_of_their_files(folder):
    found = origins(folder, ["aa1", "ab2", "absent"])
    assert len(found) == 2
    for key, picture in found.items():
        assert checksum((folder / picture_place(key)).read_bytes()) == picture.sha256


@pytest.mark.parametrize("content", [None, b"no database at all", b""])
def test_without_an_index_that_can_be_read_nothing_is_found(tmp_path, content):
    if content is not None:
        (tmp_path / "index.sqlite").write_bytes(content)
    assert origins(tmp_path, ["aa1"]) == {}
    assert sorted(tmp_path.iterdir()) == ([] if content is None else [tmp_path / "index.sqlite"])


def test_more_pictures_than_one_query_takes(folder):
    keys = [f"{number:064x}" for number in range(1200)]
    assert len(origins(folder, [*keys, "ab2"])) == 1
