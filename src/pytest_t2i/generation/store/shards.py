"""Traces and features on disk: one safetensors file for each stored batch of arrays.

A row of the index names the file; the tensor in the file is named by the array's key and name. The
row's checksum is that of the array, so that damage to a file affects only the arrays that it hit.
"""

from __future__ import annotations

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
"""Largest total size of the arrays of one file, which are held in memory to write it. A single
array may be larger."""
MOST_HEADER = 1 << 26
"""Largest number of bytes read from a file's header."""
DTYPES = {
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
    "BOOL": "?",
    "C64": "<c8",
}
"""Number types: safetensors' name -> NumPy's name."""
Row = tuple[str, str, str, str, str]
"""A row of the index: key, name, file, checksum, stamp."""


Whole = Annotated[int, msgspec.Meta(ge=0)]


class ArrayEntry(msgspec.Struct):
    """One array in the header of a file."""

    dtype: str
    shape: tuple[Whole, ...]
    data_offsets: tuple[Whole, Whole]
    """First and last byte of the array, counted from the end of the header."""


def write_arrays(folder: Path, arrays: Iterable[tuple[str, str, np.ndarray]]) -> list[Row]:
    """Write arrays into as few files as hold them and return their rows for the index."""
    return [row for part in _parts(arrays) for row in _write(folder, part)]


def read_array(file: Path, key: str, name: str, sha256: str) -> np.ndarray | None:
    """Read an array and verify its checksum; None where the array is damaged."""
    array = _read(file, _tensor(key, name))
    return array if array is not None and _checksum(array) == sha256 else None


def is_intact(file: Path, row: Any) -> bool:
    """Whether the picture or array that a row names is unchanged since it was written."""
    if file.suffix != ENDING:
        return bool(checksum(file.read_bytes()) == row["sha256"])
    return read_array(file, row["key"], row["name"], row["sha256"]) is not None


def unnamed_arrays(folder: Path, index: Any) -> list[str]:
    """Names of array files that no row of the index names any more."""
    query = f"SELECT DISTINCT file FROM arrays WHERE file LIKE '%{ENDING}'"  # noqa: S608 - a constant
    listed = {row["file"] for row in index.execute(query)}
    there = {path.relative_to(folder).as_posix() for path in folder.glob(f"arrays/*/*{ENDING}")}
    return sorted(there - listed)


def newest(folder: Path, name: str) -> dict[str, Row]:
    """Key -> index row of the newest array of this name, read from the files themselves."""
    rows: dict[str, Row] = {}
    files = sorted(folder.glob(f"arrays/*/*{ENDING}"), key=lambda file: file.lstat().st_mtime_ns)
    for file in files:
        where, now = file.relative_to(folder).as_posix(), stamp(file) or ""
        with suppress(OSError):
            for tensor in _header(str(file), now)[1]:
                key, _, array_name = tensor.partition(" ")
                array = _read(file, tensor) if array_name == name else None
                if array is not None:
                    rows[key] = (key, name, where, _checksum(array), now)
    return rows


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
    """The array as it is written: in C order and little-endian."""
    import numpy as np

    numbers = np.asarray(array)
    kind = numbers.dtype.newbyteorder("<")
    if kind not in [np.dtype(dtype) for dtype in DTYPES.values()]:
        raise StoreError(
            f"array {name!r} of {key}: expected whole or floating-point numbers of up to 64 bits, "
            f"got {numbers.dtype}"
        )
    return np.asarray(numbers, dtype=kind, order="C")


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
    """Checksum of an array's numbers, type and shape."""
    head = f"{array.dtype.name} {array.shape} ".encode()
    return checksum(head + array.tobytes())


@lru_cache(maxsize=256)
def _header(file: str, now: str) -> tuple[int, dict[str, msgspec.Raw]]:
    """Offset of the arrays in a file and the header's entries; no entries where it is damaged.

    ``now`` is the file's stamp, which makes the cache notice a changed file.
    """
    del now
    with Path(file).open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        content = stream.read(min(size, MOST_HEADER))
    try:
        return 8 + size, msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0, {}


def _read(file: Path, tensor: str) -> np.ndarray | None:
    """An array of a file; None where the array is absent or damaged.

    The library would map the file into memory, and a failing disk would then kill the process.
    """
    import numpy as np

    start, header = _header(str(file), stamp(file) or "")
    try:
        entry = msgspec.json.decode(header[tensor], type=ArrayEntry)
        kind = np.dtype(DTYPES[entry.dtype])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    size, (first, last) = math.prod(entry.shape) * kind.itemsize, entry.data_offsets
    if last - first != size:
        return None
    with file.open("rb") as stream:
        if start + last > os.fstat(stream.fileno()).st_size:
            return None
        stream.seek(start + first)
        content = bytearray(stream.read(size))
    # A bytearray makes the array writable.
    return np.frombuffer(content, dtype=kind).reshape(entry.shape)
