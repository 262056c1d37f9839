"""Archives of strangers: refused or read in bounded time and memory; nothing leaves the folder."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from writing import new

from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum
from pytest_t2i.generation.store import Store, archive
from pytest_t2i.generation.store.archive import StrangeMemberError, members
from pytest_t2i.generation.store.shards import read_array
from pytest_t2i.generation.store.store import unpacked

SECONDS = 10
"""Largest time of one import."""
LATENT = np.arange(4, dtype=np.float32).reshape(1, 2, 2)


@pytest.fixture
def exported(tmp_path):
    return written(tmp_path)


def written(folder):
    store = Store(folder / "a")
    store.add_images([new("aa1", latent=LATENT), new("ab2"), new("ac3")])
    store.close()
    archive.export(folder / "a", folder / "a.tar")
    return folder / "a.tar"


def block(name, size, kind=b"0"):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.USTAR_FORMAT)


def padded(content):
    return content + b"\0" * (-len(content) % 512)


def record(text):
    """A record of the next file, with its length before it."""
    for digits in range(1, 6):
        line = f"{len(text) + digits + 2} {text}\n".encode()
        if len(line) == int(line.split()[0]):
            return line
    raise AssertionError(text)


def with_records(*texts, name="index.sqlite", size=0):
    content = b"".join(map(record, texts))
    return block("x", len(content), b"x") + padded(content) + block(name, size)


def signed(size):
    """A header whose size is a negative number in the form of GNU tar."""
    header = bytearray(block("index.sqlite", 0))
    header[124:136] = (size % (1 << 96)).to_bytes(12, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


TAILS = {
    "a negative size": with_records("size=-1536"),
    "a negative size that leads to the manifest": with_records("size=-512"),
    "a size beyond the end": with_records(f"size={1 << 60}"),
    "a size of many digits": with_records("size=" + "9" * 60_000),
    "a size that is none": with_records("size=1e9"),
    "a negative size of GNU tar": signed(-1536),
    "a huge size of GNU tar": signed((1 << 95) - 1),
    "a sparse file": with_records("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.size=99"),
    "a sparse file of old": block("index.sqlite", 0, b"S") + b"\xff" * 4096,
    "holes without end": with_records("GNU.sparse.map=" + "0,1," * 15_000),
    "records of a length of nothing": block("x", 512, b"x") + padded(b"0 size=1\n"),
    "records that are longer than they are": block("x", 512, b"x") + padded(b"999999999 size=1\n"),
    "records of a mebibyte": block("x", 1 << 20, b"x") + b"9" * (1 << 20),
    "records for all files": block("g", 512, b"g") + padded(record("size=-1536")),
    "records upon records": with_records("size=0")[:-512] * 5000,
    "a million headers": block("index.sqlite", 0) * 20_000,
    "a long name": block("x", 512, b"L") + b"../" * 170 + b"aa",
    "a link": block("images/aa/aa1.png", 0, b"2"),
    "a hard link": block("images/aa/aa1.png", 0, b"1"),
    "a device": block("images/aa/aa1.png", 0, b"3"),
    "a name by records": with_records("path=../evil.png"),
    "an absolute name by records": with_records("path=/tmp/evil.png"),
    "a link by records": with_records("linkpath=/etc/passwd", name="../evil.png"),
    "a folder above by its prefix": block("../" * 30 + "a/" * 40 + "evil.png", 0),
}


def manifest_of(files):
    content = json.dumps({"format": 1, "files": files}).encode()
    return block("manifest.json", len(content)) + padded(content)


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("place", ["second", "last"])
def test_headers_that_lie_end_at_once(exported, tmp_path, tail, place):
    if place == "second":
        content = manifest_of({}) + tail
    else:
        content = exported.read_bytes()
        content = content[: -(-len(content.rstrip(b"\0")) // 512) * 512] + tail
    (tmp_path / "bad.tar").write_bytes(content + b"\0" * 1024)
    before, started = sorted(tmp_path.rglob("*")), time.monotonic()
    with suppress(StoreError):
        archive.unpack(tmp_path / "bad.tar", tmp_path / "deep" / "new")
    assert time.monotonic() - started < SECONDS
    left = {path for path in tmp_path.rglob("*") if (tmp_path / "deep") not in path.parents}
    assert left - set(before) <= {tmp_path / "deep"}
    assert not list(tmp_path.rglob(".t2i-import-*"))


@pytest.mark.parametrize("tail", [TAILS[name] for name in TAILS if "size" in name])
def test_a_walk_only_leads_forward(tail):
    content = manifest_of({}) + tail + b"\0" * 1024
    places = []
    with suppress(StrangeMemberError):
        places = [m.offset for m in members(io.BytesIO(content), len(content), 100)]
    assert places == sorted(set(places))


def test_files_that_tar_programs_write_are_read(exported, tmp_path):
    for number, kind in enumerate((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)):
        again = tmp_path / f"{number}.tar"
        with tarfile.open(exported) as old, tarfile.open(again, "w", format=kind) as tar:
            for member in old.getmembers():
                content = old.extractfile(member).read()
                member.mtime, member.uname = 1_700_000_000.5, "somebody"
                tar.addfile(member, io.BytesIO(content))
        found = archive.unpack(again, tmp_path / f"new{number}")
        assert (found.is_whole, found.merged.copied) == (True, 3)


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "compressed"])
def test_what_is_no_tar_file_is_said_at_once(tmp_path, exported, kind):
    file = tmp_path / "other"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "device":
        file = Path("/dev/zero")
    else:
        import gzip

        file.write_bytes(gzip.compress(exported.read_bytes()))
    with pytest.raises(StoreError, match="expected a tar file that t2i store export wrote"):
        archive.unpack(file, tmp_path / "new")


def with_index(exported, change):
    """Write an archive whose index was changed, with the checksum of the changed one."""
    with tarfile.open(exported) as tar:
        contents = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}
    index = exported.with_name("changed.sqlite")
    index.write_bytes(contents["index.sqlite"])
    with closing(sqlite3.connect(index)) as opened:
        change(opened)
        opened.commit()
    contents["index.sqlite"] = index.read_bytes()
    manifest = {
        name: {"bytes": len(content), "sha256": checksum(content)}
        for name, content in contents.items()
        if name != archive.MANIFEST
    }
    bad = exported.with_name("bad.tar")
    rest = [block(n, len(c)) + padded(c) for n, c in contents.items() if n in manifest]
    bad.write_bytes(manifest_of(manifest) + b"".join(rest) + b"\0" * 1024)
    return bad


ENDLESS = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT"


def replaced(table, what):
    def change(index):
        index.execute(f"DROP TABLE {table}")
        index.execute(what)

    return change


INDEXES = {
    "an endless view": replaced(
        "images",
        f"CREATE VIEW images AS {ENDLESS} 'aa' AS key, '' AS model, '' AS prompt, 1 AS seed, '' AS "
        "settings, NULL AS file, NULL AS sha256, NULL AS stamp, 1 AS width, 1 AS height, 0 AS "
        "black, NULL AS refusal, '' AS created, 1 AS seal FROM n",
    ),
    "a computed column": replaced(
        "facts", "CREATE TABLE facts (name TEXT, value AS (hex(zeroblob(900000000))), seal)"
    ),
    "a check that computes": replaced(
        "facts", "CREATE TABLE facts (name TEXT, value, seal CHECK (length(zeroblob(900000000))))"
    ),
    "a trigger": lambda index: index.execute(
        f"CREATE TRIGGER t AFTER INSERT ON facts BEGIN {ENDLESS} k FROM n; END"
    ),
    "a virtual table": replaced("facts", "CREATE VIRTUAL TABLE facts USING fts5(name, value)"),
}


@pytest.mark.parametrize("change", INDEXES.values(), ids=INDEXES)
def test_an_index_that_computes_is_refused(exported, tmp_path, change):
    bad, started = with_index(exported, change), time.monotonic()
    with pytest.raises(StoreError, match="which no store has: nothing is imported"):
        archive.unpack(bad, tmp_path / "new")
    assert time.monotonic() - started < SECONDS


def test_a_picture_under_the_name_of_another_is_not_taken(exported, tmp_path):
    """Else it would take the place of a picture that the target has."""
    from pytest_t2i.generation.store.rows import seal

    def change(index):
        row = list(index.execute("SELECT * FROM images WHERE key = 'ab2'").fetchone())
        row[0] = "zz9"
        index.execute("INSERT INTO images VALUES (" + "?," * 13 + "?)", (*row[:-1], seal(row[:-1])))

    found = archive.unpack(with_index(exported, change), tmp_path / "new")
    assert found.merged.there.changed == ["images zz9"]
    assert found.merged.copied == 3


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"index.sqlite": {"bytes": 1, "sha256": "x"}}, "sha256"),
        ({"../evil": {"bytes": 1, "sha256": "0" * 64}}, "str"),
        ({"index.sqlite": {"bytes": -1, "sha256": "0" * 64}}, "int"),
        ({"images/aa/a.png": {"bytes": 1 << 40, "sha256": "0" * 64}}, "at most 1024 MiB"),
    ],
)
def test_a_manifest_that_lies_is_refused(tmp_path, files, problem):
    (tmp_path / "bad.tar").write_bytes(manifest_of(files) + b"\0" * 1024)
    with pytest.raises(StoreError, match=problem):
        archive.unpack(tmp_path / "bad.tar", tmp_path / "new")


def test_a_disk_that_cannot_hold_it_is_said_before_anything_is_written(
    exported, tmp_path, monkeypatch
):
    usage = archive.shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StoreError, match="free some space"):
        archive.unpack(exported, tmp_path / "new")


def test_objects_that_unfold_are_refused():
    import zlib

    with pytest.raises(StoreError, match="expected at most 128 MiB"):
        unpacked(zlib.compress(b" " * ((1 << 27) + 1), 1))


@pytest.mark.parametrize(
    "header",
    [
        {"descr": "<f8", "fortran_order": False, "shape": (10**10,)},
        {"descr": "<f8", "fortran_order": False, "shape": (1 << 62, 1 << 62)},
        {"descr": "|O", "fortran_order": False, "shape": (1,)},
        {"descr": "<f8", "fortran_order": False, "shape": (-1,)},
        {"descr": "<f8", "fortran_order": False, "shape": "x"},
    ],
)
def test_an_array_that_promises_more_than_there_is_is_damaged(tmp_path, header):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(1))
    text = repr(header).encode().ljust(117) + b"\n"
    content = buffer.getvalue()[:8] + len(text).to_bytes(2, "little") + text + b"\0" * 8
    (tmp_path / "a.npy").write_bytes(content)
    assert read_array(tmp_path / "a.npy", "a", "b", checksum(content)) is None


@pytest.mark.parametrize("array", [LATENT, np.asfortranarray(np.arange(6).reshape(2, 3))])
def test_an_array_of_an_earlier_version_is_read(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    digest = checksum((tmp_path / "a.npy").read_bytes())
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy", "a", "b", digest), array)


# Mutated archives: each in a process that may take little time and memory.

MEMORY = 300 << 20
"""Memory in bytes that the imports may take beyond that of the process."""


LENGTHS = (b"7" * 11 + b"\0", b"-0000001000\0", b"\xff" * 12, b"\x80" + b"\xff" * 11, b"0" * 12)
NAMES = (b"../../evil", b"/tmp/evil", b"index.sqlite", b"images/aa/aa1.png")


def mutated(content, draw):
    """An archive with a few bytes, numbers, names or blocks of another, or cut off."""
    changed = bytearray(content)
    headers = [k for k in range(0, len(content), 512) if content[k + 257 : k + 262] == b"ustar"]
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.choice(headers)
        kind = draw.randrange(6)
        if kind == 0:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        elif kind == 1:
            changed[at + 156] = draw.choice(b"01234567xgLKSDMNV\0A")
        elif kind == 2:
            changed[at + 124 : at + 136] = draw.choice(LENGTHS)
        elif kind == 3:
            changed[at : at + 100] = draw.choice(NAMES).ljust(100, b"\0")
        elif kind == 4:
            changed[at:at] = draw.choice(list(TAILS.values()))
        else:
            changed[at + 512 : at + 576] = bytes(draw.randrange(256) for _ in range(64))
        if draw.randrange(5):  # mostly with a right checksum
            changed[at + 148 : at + 156] = b" " * 8
            changed[at + 148 : at + 156] = b"%06o\0 " % sum(changed[at : at + 512])
    end = draw.choice((len(changed), len(changed), draw.randrange(len(changed))))
    return bytes(changed[:end])


def import_many(folder, seed, times):
    """Import mutated archives under limits; print what went wrong."""
    import resource

    draw = random.Random(seed)
    content = written(folder).read_bytes()
    # The first import loads what it needs.
    archive.unpack(folder / "a.tar", folder / "first")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    before = sorted(folder.rglob("*"))
    place = folder / "deep" / "deeper"
    for _ in range(times):
        (folder / "bad.tar").write_bytes(mutated(content, draw))
        signal.alarm(SECONDS)
        with suppress(StoreError):
            archive.unpack(folder / "bad.tar", place / "new")
        signal.alarm(0)
        if (place / "new").exists():
            import shutil

            shutil.rmtree(place / "new")
        strays = [p for p in folder.rglob("*") if p not in before and p.name != "bad.tar"]
        if any(p not in (place, place.parent) for p in strays) or Path("/tmp/evil").exists():
            print("left behind", strays)
            return
    print("held")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits by /proc")
@pytest.mark.parametrize("seed", range(2))
def test_mutated_archives_take_little_time_and_memory_and_leave_nothing(tmp_path, seed):
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[3:]\n"
        "from test_strange_archives import import_many\n"
        "import_many(Path(sys.argv[1]), int(sys.argv[2]), 150)"
    )
    places = [str(Path(__file__).parent), str(Path(__file__).parents[3])]
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(seed), *places],
        capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "held"), done.stderr[-2000:]


def test_an_archive_that_cannot_be_written_says_why(exported, tmp_path):
    with pytest.raises(StoreError, match=r"cannot be written: No such file or directory\."):
        archive.export(tmp_path / "a", tmp_path / "missing" / "store.tar")
