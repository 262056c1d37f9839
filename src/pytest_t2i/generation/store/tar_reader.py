"""Read a tar file of strangers: headers are walked forward, and everything has a bound.

``tarfile`` follows what a header says of itself: a negative size leads it backwards for ever, and a
list of holes of a sparse file fills the memory. Here a file has no other properties than its name
and its size, and each step leads forward within the archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, NamedTuple

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


class Member(NamedTuple):
    """A regular file in an archive."""

    name: str
    offset: int
    """Place of its first byte."""
    size: int


def members(archive: IO[bytes], end: int, most: int) -> Iterator[Member]:
    """Yield the regular files of an archive in order; what is cut off at its end is left out.

    Args:
        archive: the file, of which ``end`` bytes are read at most.
        end: size of the file.
        most: largest number of headers.

    Raises:
        StrangeMemberError: a link, a device, a folder, a sparse file, or too many headers.
    """
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
            found = _records(archive.read(size))
            records = found if kind == RECORDS else records
        elif kind in (PLAIN, OLD, CONTIGUOUS):
            records = {}
            yield Member(name, data, size)
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
    found = NUMBER.fullmatch(field)
    return None if found is None else int(found[1], 8)


def _name(header: bytes, records: dict[bytes, bytes]) -> str:
    name, prefix = (part.partition(b"\0")[0] for part in (header[:100], header[345:500]))
    if prefix and header[257:263] == b"ustar\0":
        name = prefix + b"/" + name
    return records.get(b"path", name).decode(errors="backslashreplace")


def _records(content: bytes) -> dict[bytes, bytes]:
    """The records before a file: lines "length key=value", whose length counts itself.

    Raises StrangeMemberError for records of a sparse file, and for malformed ones.
    """
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
