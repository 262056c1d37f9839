"""Published weights: whole and of the published checksum, or not at all."""

from __future__ import annotations

import bz2
import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_t2i.adapters import fetching
from pytest_t2i.adapters.fetching import (
    PublishedWeights,
    fetched,
    how_to_fetch,
    published,
    weights_of,
)
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError, ModelLoadError

pytest.importorskip("httpx")
# httpx imports it late. Where that happens inside a run of pytester, which forgets the modules that
# it imported, httpx knows exceptions of another copy.
pytest.importorskip("httpcore")
pytest.importorskip("huggingface_hub")

from pytest_t2i.adapters.fetching import fetch

CONTENT = bytes(range(256)) * 40
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = {
            "/whole": CONTENT, "/packed.bz2": bz2.compress(CONTENT), "/other": CONTENT[::-1],
            "/cut": CONTENT[:100], "/torn.bz2": b"no bz2 at all",
        }.get(self.path)  # fmt: skip
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/whole")
            self.end_headers()
            return
        if self.path == "/endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return
        self.send_response(200 if body is not None else 404)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *arguments):
        pass


@contextmanager
def serving():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server():
    with serving() as made:
        yield made


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pytest-t2i" / "weights"


def weights(server, path):
    return PublishedWeights(
        "small", "a small file", "MIT", ("small-part",), "small.bin",
        f"http://127.0.0.1:{server.server_port}{path}", len(CONTENT), SHA256,
    )  # fmt: skip


@pytest.mark.parametrize("path", ["/whole", "/packed.bz2", "/moved"])
def test_a_file_comes_whole_and_once(server, cache, path):
    told = []
    assert fetch(weights(server, path), told.append) == [cache / "small.bin"]
    assert (cache / "small.bin").read_bytes() == CONTENT
    assert sum(told) > 0
    asked = len(server.asked)
    fetch(weights(server, path))
    assert len(server.asked) == asked


def test_what_lies_there_damaged_comes_anew(server, cache):
    fetch(weights(server, "/whole"))
    (cache / "small.bin").write_bytes(b"damaged")
    fetch(weights(server, "/whole"))
    assert (cache / "small.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/other", f"expected {len(CONTENT)} bytes with sha256 {SHA256}, got .* No file was kept"),
        ("/cut", "got 100 with"),
        ("/endless", "No file was kept"),
        ("/torn.bz2", "expected a bz2 file"),
        ("/absent", r"cannot be downloaded .*404.*put the file at"),
    ],
)
def test_anything_else_is_refused_and_nothing_kept(server, cache, path, words):
    with pytest.raises(ModelLoadError, match=words):
        fetch(weights(server, path))
    assert [*cache.iterdir()] == []


def test_a_server_that_is_not_there_is_told():
    with serving() as server:
        gone = weights(server, "/whole")
    with pytest.raises(ModelLoadError, match=r"cannot be downloaded .*Run again with a network"):
        fetch(gone)


def test_a_hub_repository_comes_without_pickles(monkeypatch, tmp_path):
    asked = {}

    def download(repository, allow_patterns):
        asked[repository] = allow_patterns
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    entry = PublishedWeights("two", "two", "MIT", ("a",), hub=("some/one", "some/other"))
    assert fetch(entry) == [tmp_path, tmp_path]
    assert [*asked] == ["some/one", "some/other"]
    assert not any(pattern.endswith((".bin", ".pt", ".pth")) for pattern in asked["some/one"])


def test_the_hub_out_of_reach_is_one_message(monkeypatch):
    def download(repository, allow_patterns):
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(ModelLoadError, match="cannot be reached"):
        fetch(published()["clip"])


def test_the_table_says_all_that_is_needed():
    for name, one in published().items():
        assert all((one.licence, one.title, one.parts)), name
        assert bool(one.url) + bool(one.hub) + bool(one.by_hand) == 1, name
        assert not one.url or (one.file and one.bytes > 0 and len(one.sha256) == 64), name
        assert all(weights_of(part) is one for part in one.parts), name
        assert name in how_to_fetch(one.parts[0]) or one.by_hand
    assert fetched("yunet") is None


def test_the_list_has_size_licence_and_address(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["detector", "fetch"]) == 0
    told = {line.split(":")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "6.5 MB, licence: AGPL-3.0, https://github.com/ultralytics" in told["yolov8n"]
    assert "by hand" in told["fairface"]


def test_the_command_fetches_and_says_where(server, monkeypatch, capsys, cache):
    known = {"small": weights(server, "/whole")}
    monkeypatch.setattr("pytest_t2i.cli.fetch.published", lambda: known)
    monkeypatch.setattr(fetching, "published", lambda: known)
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["detector", "fetch", "small"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"small: {cache / 'small.bin'}"
    assert fetched("small-part") == cache / "small.bin"
    assert main(["detector", "fetch"]) == 0
    assert "small (fetched): " in capsys.readouterr().out


def test_what_cannot_be_fetched_is_told(capsys):
    assert main(["detector", "fetch", "fairface"]) == 2
    assert "Download it there and write fairface:PATH" in capsys.readouterr().err
    assert main(["detector", "fetch", "yunett"]) == 2
    assert "Did you mean 'yunet'" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="Download it there"):
        fetch(published()["fairface"])
