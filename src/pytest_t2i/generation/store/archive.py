"""Export a store to one tar file with checksums, and import such a file."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sqlite3
import stat
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, NamedTuple

import msgspec

from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum
from pytest_t2i.generation.store.index import NAME, check_store_has_index, connect
from pytest_t2i.generation.store.locks import maintenance, use
from pytest_t2i.generation.store.merge import Merged, merge
from pytest_t2i.generation.store.repair import check_is_store

BLOCK = 512
MOST_RECORDS = 1 << 16
"""Largest size in bytes of the records that precede a file's header."""
NUMBER = re.compile(rb"[ \0]*([0-7]{1,12})[ \0]*")
SIZE = re.compile(rb"[0-9]{1,18}")
PLAIN, OLD, CONTIGUOUS = b"0", b"\0", b"7"
"""Types of a regular file."""
RECORDS, COMMON = b"x", b"g"
"""Types of the records for the next file, and for all files."""


class StrangeMemberError(Exception):
    """A member that is no regular file, or that has properties which no file of a store has."""


class ArchiveMember(NamedTuple):
    """A regular file in an archive."""

    name: str
    offset: int
    """Place of its first byte."""
    size: int


def members(archive: IO[bytes], end: int, most: int) -> Iterator[ArchiveMember]:
    """Yield the regular files of an archive in order; what is cut off at its end is left out."""
    offset, records = 0, dict[bytes, bytes]()
    for _ in range(most):
        if offset + BLOCK > end:
            return
        archive.seek(offset)
        header = archive.read(BLOCK)
        size = _size(header, records)
        if size is None or offset + BLOCK + size > end:
            return
        kind, name = header[156:157], _name(header, records)
        data, offset = offset + BLOCK, offset + BLOCK + size + -size % BLOCK
        if kind in (RECORDS, COMMON):
            if size > MOST_RECORDS:
                raise StrangeMemberError(f"{size} bytes of records")
            archive.seek(data)
            fresh = _records(archive.read(size))
            records = fresh if kind == RECORDS else records
        elif kind in (PLAIN, OLD, CONTIGUOUS):
            records = {}
            yield ArchiveMember(name, data, size)
        else:
            raise StrangeMemberError(repr(name))
    raise StrangeMemberError(f"more than {most} headers")


def _size(header: bytes, records: dict[bytes, bytes]) -> int | None:
    """The size that a header gives; None where it is no header, as at the end of an archive."""
    checksum, size = _number(header[148:156]), _number(header[124:136])
    # The checksum is that of the header with blanks in its own place.
    if checksum is None or sum(header) - sum(header[148:156]) + 8 * ord(" ") != checksum:
        return None
    if (record := records.get(b"size")) is not None and header[156:157] not in (RECORDS, COMMON):
        return int(record)
    return size


def _number(field: bytes) -> int | None:
    """A whole number in octal digits, or in the form of GNU tar for large ones; else None."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    match = NUMBER.fullmatch(field)
    return None if match is None else int(match[1], 8)


def _name(header: bytes, records: dict[bytes, bytes]) -> str:
    name, prefix = (part.partition(b"\0")[0] for part in (header[:100], header[345:500]))
    if prefix and header[257:263] == b"ustar\0":
        name = prefix + b"/" + name
    return records.get(b"path", name).decode(errors="backslashreplace")


def _records(content: bytes) -> dict[bytes, bytes]:
    """The records before a file: lines "length key=value", whose length counts itself."""
    records: dict[bytes, bytes] = {}
    start = 0
    while start < len(content) and content[start : start + 1] != b"\0":
        digits, blank, _ = content[start : start + 20].partition(b" ")
        length = int(digits) if blank and SIZE.fullmatch(digits) else 0
        line = content[start : start + length]
        key, equals, value = line[len(digits) + 1 :].partition(b"=")
        if length <= len(digits) + 1 or len(line) < length or not equals or value[-1:] != b"\n":
            raise StrangeMemberError("records that are none")
        records[key] = value[:-1]
        start += length
    if any(key.startswith(b"GNU.sparse") for key in records):
        raise StrangeMemberError("a sparse file")
    if not SIZE.fullmatch(records.get(b"size", b"0")):
        raise StrangeMemberError(f"size={records[b'size'][:20]!r}")
    return records


Tick = Callable[[int], None]
MANIFEST = "manifest.json"
FORMAT = 1
EXPECTED = "expected a tar file that t2i store export wrote"
MEMBER = re.compile(
    r"index\.sqlite|images/[0-9A-Za-z]{2}/[0-9A-Za-z]+\.png"
    r"|arrays/[0-9A-Za-z]{2}/[0-9A-Za-z]+\.[0-9a-f]{8}\.npy"
    r"|arrays/[0-9a-f]{2}/[0-9a-f]{32}\.safetensors"
)
"""Names that files of a store may have. A hostile tar may name other files or outside paths."""
MOST_MANIFEST = 1 << 28
"""Largest size of the manifest in bytes; 1.4 million pictures have one of this size."""
MOST_FILE = 1 << 30
"""Largest size of a picture or of a file of arrays in bytes; the index may be larger."""
MOST_VALUE = 1 << 26
"""Largest size of a value in the index in bytes."""
AT_ONCE = 1 << 20
MORE_HEADERS = 16
"""Number of headers beyond two for each file of the manifest."""
STRANGE = re.compile(r"\b(CHECK|GENERATED|VIRTUAL)\b|\bAS\s*\(", re.IGNORECASE)
"""What computes something where a table is read or opened; the tables of a store have none."""
FEWEST_SECONDS, SECONDS_PER_BYTE = 60.0, 1e-6
"""Time limit for the checks of an index."""
Name = Annotated[str, msgspec.Meta(pattern=rf"^(?:{MEMBER.pattern})\Z", max_length=200)]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Packed(msgspec.Struct, forbid_unknown_fields=True):
    """Size and checksum of one file, as the manifest records them."""

    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: Sha256


class ArchiveManifest(msgspec.Struct, forbid_unknown_fields=True):
    """The manifest, the first file of an archive."""

    format: int
    files: dict[Name, Packed]


@dataclass(slots=True)
class Unpacked:
    """Result of importing an archive."""

    merged: Merged
    damaged: list[str] = field(default_factory=list)
    """Files that are missing or whose checksums differ. They were not imported."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was damaged."""
        return not self.damaged and self.merged.is_whole


def export(folder: Path, file: Path, tick: Tick = lambda _: None) -> int:
    """Write a store to a tar file and return the number of files in it.

    The index is copied as it is at one moment, so that runs may go on. Damaged or missing files of
    the store are reported when the tar file is imported.
    """
    check_is_store(folder)
    check_store_has_index(folder)
    if file.exists():
        raise StoreError(f"{file}: the file exists already: name another one, or remove it")
    with use(folder), tempfile.TemporaryDirectory() as work:
        index = Path(work) / NAME
        names = _copy_index(folder, index)
        there = {name: folder / name for name in names if (folder / name).is_file()}
        sources = {NAME: index, **there}
        contents = ((name, path.read_bytes()) for name, path in sources.items())
        listed = {name: Packed(len(content), checksum(content)) for name, content in contents}
        unfinished = file.with_name(f".{file.name}.unfinished")
        try:
            with tarfile.open(unfinished, "w") as tar:
                content = msgspec.json.encode(ArchiveManifest(FORMAT, listed))
                _check_size(file, folder, content, listed)
                _add(tar, MANIFEST, content)
                for count, (name, path) in enumerate(sources.items(), 1):
                    _add(tar, name, path.read_bytes())
                    tick(count)
            unfinished.replace(file)
        except OSError as error:
            raise StoreError(f"{file}: cannot be written: {error.strerror or error}.") from None
        finally:
            unfinished.unlink(missing_ok=True)
    return len(sources)


def unpack(file: Path, folder: Path, tick: Tick = lambda _: None) -> Unpacked:
    """Merge the content of a tar file written by ``export`` into a store.

    The store is created where it is absent. A file is written to a temporary folder beside the
    store, and only if its name, size and checksum equal those of the manifest. Links, devices,
    sparse files and other names are refused. No step takes more time or memory than the size of the
    archive allows for.
    """
    if folder.exists():
        check_is_store(folder)
        with maintenance(folder):  # said before the archive is read
            pass
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=".t2i-import-") as work:
        damaged = _extract(file, Path(work))
        if not (Path(work) / NAME).exists():
            raise StoreError(f"{file}: its index is damaged: export it again")
        _check_index(file, Path(work) / NAME)
        (Path(work) / "images").mkdir(exist_ok=True)
        merged = merge(folder, Path(work), tick)
        # Reported by their names in the archive, as the temporary folder is gone by then.
        lost = [*merged.there.damaged, *merged.there.absent]
        damaged = sorted({*damaged, *(path.relative_to(work).as_posix() for path in lost)})
        merged.there.damaged, merged.there.absent = [], []
    return Unpacked(merged, damaged)


def _check_size(file: Path, folder: Path, manifest: bytes, listed: dict[str, Packed]) -> None:
    """Raise StoreError for a store that no import would take."""
    largest = max((packed.bytes for name, packed in listed.items() if name != NAME), default=0)
    if len(manifest) > MOST_MANIFEST or largest > MOST_FILE:
        raise StoreError(
            f"{file}: {folder} is too large for one archive: use t2i store merge instead"
        )


def _copy_index(folder: Path, index: Path) -> list[str]:
    """Copy the index without claims and return the names of the files in it."""
    with closing(connect(folder)) as source, closing(sqlite3.connect(index)) as copy:
        source.backup(copy)
        copy.execute("DELETE FROM claims")
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.commit()
        query = "SELECT file FROM images WHERE file NOT NULL UNION SELECT file FROM arrays"
        return sorted(str(name) for (name,) in copy.execute(query) if MEMBER.fullmatch(str(name)))


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    tar.addfile(member, io.BytesIO(content))


def _extract(file: Path, folder: Path) -> list[str]:
    """Write the files that match the manifest; return the names of those missing or damaged."""
    try:
        # Opening a pipe or a device would wait.
        if not stat.S_ISREG(file.stat().st_mode):
            raise StoreError(f"{file}: {EXPECTED}: it is no regular file.")
        with file.open("rb") as archive:
            end = os.fstat(archive.fileno()).st_size
            manifest = _manifest(file, archive, end)
            _check_room(file, folder, manifest, end)
            missing = dict(manifest.files)
            # One more for the manifest itself, and records before each.
            most = 2 * (len(missing) + 1) + MORE_HEADERS
            for number, member in enumerate(members(archive, end, most)):
                if number and not MEMBER.fullmatch(member.name):
                    raise StrangeMemberError(repr(member.name))  # noqa: TRY301 - told below
                entry = missing.get(member.name) if number else None
                if entry is not None and _take(archive, member, entry, folder):
                    del missing[member.name]
    except StrangeMemberError as error:
        raise StoreError(
            f"{file}: expected the files of a store, got {error}: nothing is imported. Import a "
            "file that t2i store export wrote"
        ) from None
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror or error}.") from None
    return sorted(missing)


def _manifest(file: Path, archive: IO[bytes], end: int) -> ArchiveManifest:
    first = next(members(archive, end, MORE_HEADERS), None)
    try:
        if first is None or first.name != MANIFEST or first.size > MOST_MANIFEST:
            raise msgspec.ValidationError("it does not begin with a manifest")
        archive.seek(first.offset)
        manifest = msgspec.json.decode(archive.read(first.size), type=ArchiveManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"{file}: {EXPECTED}: {error}.") from None
    if manifest.format != FORMAT:
        raise StoreError(
            f"{file}: its format is {manifest.format}, this pytest-t2i reads {FORMAT}. Use the "
            "version that wrote it."
        )
    return manifest


def _check_room(file: Path, folder: Path, manifest: ArchiveManifest, end: int) -> None:
    """Raise StoreError for a file that is too large, and where the disk cannot hold them all."""
    for name, packed in manifest.files.items():
        if packed.bytes > MOST_FILE and name != NAME:
            raise StoreError(
                f"{file}: expected files of at most {MOST_FILE >> 20} MiB, got {name} of "
                f"{packed.bytes >> 20} MiB: nothing is imported"
            )
    needed = min(end, sum(packed.bytes for packed in manifest.files.values()))
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise StoreError(
            f"{file}: {needed >> 20} MiB are to be written, and {free >> 20} MiB are free beside "
            "the store: free some space"
        )


def _take(archive: IO[bytes], member: ArchiveMember, entry: Packed, folder: Path) -> bool:
    """Write a file of the archive, in parts; return whether it is as the manifest says."""
    if member.size != entry.bytes:
        return False
    draft, target = folder / ".unfinished", folder / member.name
    target.parent.mkdir(parents=True, exist_ok=True)
    sha256, left = hashlib.sha256(), member.size
    archive.seek(member.offset)
    with draft.open("wb") as output:
        while left and (part := archive.read(min(left, AT_ONCE))):
            sha256.update(part)
            output.write(part)
            left -= len(part)
    if left or sha256.hexdigest() != entry.sha256:
        return False
    draft.replace(target)
    return True


def _check_index(file: Path, index: Path) -> None:
    """Raise StoreError for an index that is damaged, or not such as a store has it.

    A page that names itself would be read for ever, and a view or a computed column could cost any
    time or memory; a store has none of them.
    """
    limit = FEWEST_SECONDS + index.stat().st_size * SECONDS_PER_BYTE
    deadline = time.monotonic() + limit
    uri = f"{index.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
            connection.set_progress_handler(lambda: int(time.monotonic() > deadline), 100_000)
            connection.execute("PRAGMA trusted_schema=OFF")
            strange = [
                str(name)
                for kind, name, sql in connection.execute(
                    "SELECT type, name, sql FROM sqlite_master"
                )
                if kind not in ("table", "index") or STRANGE.search(str(sql))
            ]
            is_whole = strange or connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        strange, is_whole = [], False
    if strange:
        raise StoreError(
            f"{file}: its index has {strange[0]!r}, which no store has: nothing is imported"
        )
    if not is_whole:
        raise StoreError(f"{file}: its index is damaged: export it again")
