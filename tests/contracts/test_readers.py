"""Every reader that is exported takes a path as a text, too, and says what is not there."""

from __future__ import annotations

import inspect

import pytest

import pytest_t2i
from pytest_t2i import labels
from pytest_t2i.errors import T2IError

READERS = {
    name: reader
    for room in (pytest_t2i, labels)
    for name in room.__all__
    if name.startswith(("read_", "load_")) and inspect.isfunction(reader := getattr(room, name))
    if name not in {"load_encoder", "load_language", "load_pretrained"}  # by a name
}


def test_there_are_readers():
    assert {"read_run", "read_axes", "read_labels"} <= set(READERS)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["text", "path"])
def test_a_path_may_be_a_text(name, kind, tmp_path):
    absent = tmp_path / "absent.toml"
    with pytest.raises(T2IError, match=r"absent\.toml"):
        READERS[name](kind(absent))
