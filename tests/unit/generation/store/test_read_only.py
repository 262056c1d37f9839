"""The hashes of pictures are read from the index, which is not written."""

from __future__ import annotations

from pathlib import Path

import pytest
from writing import new

from pytest_t2i.files import checksum
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.read_only import picture_hashes


@pytest.fixture
def folder(tmp_path):
    """A store of two pictures."""
    store = Store(tmp_path / "store")
    store.add_images([new("aa1"), new("ab2", drawn="a smiling nurse")])
    store.close()
    return store.folder


def test_hashes_of_pictures_are_those_of_their_files(folder):
    hashes = picture_hashes(folder, ["aa1", "ab2", "absent"])
    assert len(hashes) == 2
    assert all(checksum(Path(file).read_bytes()) == sha for file, sha in hashes.items())


@pytest.mark.parametrize("content", [None, b"no database at all", b""])
def test_without_an_index_that_can_be_read_nothing_is_found(tmp_path, content):
    if content is not None:
        (tmp_path / "index.sqlite").write_bytes(content)
    assert picture_hashes(tmp_path, ["aa1"]) == {}
    assert sorted(tmp_path.iterdir()) == ([] if content is None else [tmp_path / "index.sqlite"])


def test_more_pictures_than_one_query_takes(folder):
    keys = [f"{number:064x}" for number in range(1200)]
    assert len(picture_hashes(folder, [*keys, "ab2"])) == 1
