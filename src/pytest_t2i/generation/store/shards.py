"""Traces and features on disk: one safetensors file for each stored batch of arrays.

A row of the index names the file; the tensor in the file is named by the array's key and name. The
row's checksum is that of the array, so that damage to a file affects only the arrays that it hit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, stamp, write_whole

if TYPE_CHECKING:
    import numpy as np

ENDING = ".safetensors"
MOST_BYTES = 1 << 26
"""Largest total size of the arrays of one file, which are held in memory to write it. A single
array may be larger."""
NUMBERS = "?bhilqBHILQefdF"
"""NumPy's characters of the types that a file holds: up to 64 bits."""
Row = tuple[str, str, str, str, str]
"""A row of the index: key, name, file, checksum, stamp."""


def write_arrays(folder: Path, arrays: Iterable[tuple[str, str, np.ndarray]]) -> list[Row]:
    """Write arrays into as few files as hold them and return their rows for the index."""
    return [row for part in _parts(arrays) for row in _write(folder, part)]


def read_array(file: Path, key: str, name: str, sha256: str) -> np.ndarray | None:
    """Read an array and verify its checksum; None where the array is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as arrays:
            array: np.ndarray = arrays.get_tensor(_tensor(key, name))
    except SafetensorError:
        return None
    return array if _checksum(array) == sha256 else None


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
    from safetensors import SafetensorError, safe_open

    rows: dict[str, Row] = {}
    files = sorted(folder.glob(f"arrays/*/*{ENDING}"), key=lambda file: file.lstat().st_mtime_ns)
    for file in files:
        where, now = file.relative_to(folder).as_posix(), stamp(file) or ""
        with suppress(OSError, SafetensorError), safe_open(file, framework="numpy") as arrays:
            for tensor in arrays.keys():  # noqa: SIM118 - it is no dictionary
                key, _, array_name = tensor.partition(" ")
                if array_name == name:
                    rows[key] = (key, name, where, _checksum(arrays.get_tensor(tensor)), now)
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
    if numbers.dtype.char not in NUMBERS:
        raise StoreError(
            f"array {name!r} of {key}: expected whole or floating-point numbers of up to 64 bits, "
            f"got {numbers.dtype}"
        )
    return np.asarray(numbers, dtype=numbers.dtype.newbyteorder("<"), order="C")


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
