"""Whatever stands in a file: it is read, or refused by an error of ours."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from documents import DOCUMENTS
from hypothesis import given, settings
from hypothesis import strategies as st
from mistakes import places, replaced

from pytest_t2i.errors import T2IError

WHOLE = {document.name: document for document in DOCUMENTS}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where documents are written, one after the other."""
    return tmp_path_factory.mktemp("documents")


def read(document, folder, content):
    """Whether the reader takes it; anything but an error of ours goes through."""
    for old in folder.iterdir():
        old.unlink()
    path = document.write(folder)
    path.write_bytes(content)
    try:
        document.read(path)
    except T2IError:
        return False
    return True


@pytest.mark.parametrize("name", WHOLE)
def test_a_valid_document_is_read(folder, name):
    assert read(WHOLE[name], folder, WHOLE[name].text.encode())


@pytest.mark.slow
def test_every_mistake_of_the_grammar_is_an_error_of_ours(folder):
    hostile = {
        f"{document.name}: {words}": (document, content)
        for document in DOCUMENTS
        for words, content, _ in document.mistakes()
    }
    few = list(hostile.values())[::25]
    refused = sum(not read(document, folder, content) for document, content in few)
    assert len(few) > 250
    assert refused > len(few) / 2


def altered(document, data):
    """The document with a value of any kind at some place, or its text with a piece exchanged."""
    plain = document.plain
    if plain is not None and data.draw(st.booleans(), "as a table"):
        place = data.draw(st.sampled_from([(), *places(plain)]), "place")
        try:
            return document.dump(replaced(plain, place, data.draw(PLAIN, "value"))).encode()
        except (ValueError, UnicodeEncodeError):
            return b""
    text = document.text
    start = data.draw(st.integers(0, len(text)), "start")
    end = data.draw(st.integers(start, min(len(text), start + 20)), "end")
    piece = data.draw(st.text(max_size=20) | st.sampled_from(PIECES), "piece")
    return (text[:start] + piece + text[end:]).encode("utf-8", "surrogatepass")


PIECES = ('"', "\n", "[", "{", ",", "\t", "=", "#", "\\ud800", "1e999", "NaN", "[[a]]", "\0", "../")


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=40, deadline=None, database=None, derandomize="CI" in os.environ)
@given(data=st.data())
def test_whatever_stands_in_a_file(folder, name, data):
    document = WHOLE[name]
    kind = data.draw(st.sampled_from(["altered", "bytes", "JSON"]), "kind")
    if kind == "altered":
        content = altered(document, data)
    elif kind == "bytes":
        content = data.draw(st.binary(max_size=200), "content")
    else:
        content = json.dumps(data.draw(PLAIN, "content")).encode()
    read(document, folder, content)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link in a circle", "absent"])
def test_what_is_no_ordinary_file(tmp_path, name, kind):
    document = WHOLE[name]
    path = document.write(tmp_path)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "absent":
        path.symlink_to("/dev/zero" if kind == "device" else path)
    if kind == "absent" and name in ("labels", "prompts of labels"):
        return  # nobody has labelled yet
    signal.alarm(20)  # rather the end of this process than a wait for a pipe's other end
    with pytest.raises(T2IError):
        document.read(Path(path))
    signal.alarm(0)
