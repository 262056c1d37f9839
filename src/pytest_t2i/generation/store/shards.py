"""Traces and features on disk: a safetensors file for each batch that is kept, not one for each.

A row of the index names the file; the tensor in it is named by key and name of the array. The row's
checksum is that of the array, so that damage strikes the arrays that it met. Stores of older
versions have a file in numpy's format for each array, whose checksum is that of the file.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, stamp, write_whole

if TYPE_CHECKING:
    import numpy as np

ENDING = ".safetensors"
MOST_BYTES = 1 << 26
"""Of the arrays of one file, but for a single one that is larger: so much is held to write it."""
MOST_HEADER = 1 << 26
"""Bytes of a file's header that are read."""
DTYPES = {
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "BOOL": "?",
    "C64": "<c8",
}
"""Kinds of numbers as safetensors names them -> as numpy does."""
Row = tuple[str, str, str, str, str]
"""Of the index: key, name, file, checksum, stamp."""


Whole = Annotated[int, msgspec.Meta(ge=0)]


class Entry(msgspec.Struct):
    """What the header of a file says of one array."""

    dtype: str
    shape: tuple[Whole, ...]
    data_offsets: tuple[Whole, Whole]
    """Its bytes, from the end of the header on."""


def write_arrays(folder: Path, arrays: Iterable[tuple[str, str, np.ndarray]]) -> list[Row]:
    """Write arrays into as few files as hold them; their rows of the index, which come after.

    Args:
        folder: of the store.
        arrays: key, name and array of each: whole or floating-point numbers of up to 64 bits.

    Raises:
        StoreError: the folder cannot be written, or an array holds something else.
    """
    return [row for part in _parts(arrays) for row in _write(folder, part)]


def read_array(file: Path, key: str, name: str, sha256: str) -> np.ndarray | None:
    """An array whose checksum is this one; None where it is damaged.

    Raises OSError where the file cannot be read.
    """
    import numpy as np

    if file.suffix != ENDING:
        content = file.read_bytes()
        if checksum(content) != sha256:
            return None
        old: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
        return old
    array = _read(file, _tensor(key, name))
    return array if array is not None and _checksum(array) == sha256 else None


def is_intact(file: Path, row: Any) -> bool:
    """Whether what a row of images or arrays names is as it was written.

    Raises OSError where the file cannot be read.
    """
    if file.suffix != ENDING:
        return bool(checksum(file.read_bytes()) == row["sha256"])
    return read_array(file, row["key"], row["name"], row["sha256"]) is not None


def unnamed(folder: Path, index: Any) -> list[str]:
    """Files of arrays that no row names any more."""
    query = f"SELECT DISTINCT file FROM arrays WHERE file LIKE '%{ENDING}'"  # noqa: S608 - a constant
    named = {row["file"] for row in index.execute(query)}
    there = {path.relative_to(folder).as_posix() for path in folder.glob(f"arrays/*/*{ENDING}")}
    return sorted(there - named)


def newest(folder: Path, name: str) -> dict[str, Row]:
    """Key -> row of the array of this name that was written last, as the files themselves say it.

    Files that cannot be read are left out.
    """
    found: dict[str, Row] = {}
    files = sorted(folder.glob(f"arrays/*/*{ENDING}"), key=lambda file: file.stat().st_mtime_ns)
    for file in files:
        where, now = file.relative_to(folder).as_posix(), stamp(file) or ""
        with suppress(OSError):
            for tensor in _header(str(file), now)[1]:
                key, _, named = tensor.partition(" ")
                array = _read(file, tensor) if named == name else None
                if array is not None:
                    found[key] = (key, name, where, _checksum(array), now)
    return found


def _parts(
    arrays: Iterable[tuple[str, str, np.ndarray]],
) -> Iterator[list[tuple[str, str, np.ndarray]]]:
    part: list[tuple[str, str, np.ndarray]] = []
    size = 0
    for key, name, array in arrays:
        plain = _plain(key, name, array)
        if part and size + plain.nbytes > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append((key, name, plain))
        size += plain.nbytes
    if part:
        yield part


def _plain(key: str, name: str, array: np.ndarray) -> np.ndarray:
    """As it is written: in C order, the lowest byte of a number first."""
    import numpy as np

    given = np.asarray(array)
    kind = given.dtype.newbyteorder("<")
    if kind not in [np.dtype(known) for known in DTYPES.values()]:
        raise StoreError(
            f"array {name!r} of {key}: expected whole or floating-point numbers of up to 64 bits, "
            f"got {given.dtype}"
        )
    return np.asarray(given, dtype=kind, order="C")


def _write(folder: Path, part: list[tuple[str, str, np.ndarray]]) -> list[Row]:
    from safetensors.numpy import save

    content = save({_tensor(key, name): array for key, name, array in part})
    digest = checksum(content)
    file = f"arrays/{digest[:2]}/{digest[:32]}{ENDING}"
    write_whole(folder / file, content)
    now = stamp(folder / file) or ""
    return [(key, name, file, _checksum(array), now) for key, name, array in part]


def _tensor(key: str, name: str) -> str:
    return f"{key} {name}"


def _checksum(array: np.ndarray) -> str:
    """Of the numbers, of which kind they are and in what shape."""
    head = f"{array.dtype.name} {array.shape} ".encode()
    return checksum(head + array.tobytes())


@lru_cache(maxsize=256)
def _header(file: str, now: str) -> tuple[int, dict[str, msgspec.Raw]]:
    """Where the arrays of a file begin, and what is said of each; nothing of a damaged file.

    ``now`` is the file's stamp: each array of it asks for the same.
    """
    del now
    with Path(file).open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        content = opened.read(min(size, MOST_HEADER))
    try:
        return 8 + size, msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0, {}


def _read(file: Path, tensor: str) -> np.ndarray | None:
    """An array of a file; None where it is not there, or damaged.

    By hand: what the library maps into memory ends the process where a disk fails meanwhile.
    """
    import numpy as np

    start, header = _header(str(file), stamp(file) or "")
    try:
        entry = msgspec.json.decode(header[tensor], type=Entry)
        kind = np.dtype(DTYPES[entry.dtype])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    size, (first, last) = math.prod(entry.shape) * kind.itemsize, entry.data_offsets
    if last - first != size:
        return None
    with file.open("rb") as opened:
        if start + last > os.fstat(opened.fileno()).st_size:
            return None
        opened.seek(start + first)
        content = bytearray(opened.read(size))
    # Of a bytearray, so that it can be written to, as any array can.
    return np.frombuffer(content, dtype=kind).reshape(entry.shape)
