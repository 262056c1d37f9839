"""Verify a store, and rebuild a lost index from the pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_t2i.data import FINAL_LATENT
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, stamp
from pytest_t2i.generation.store import claims
from pytest_t2i.generation.store.index import NAME, check_store_has_index, connect
from pytest_t2i.generation.store.locks import maintenance, use
from pytest_t2i.generation.store.rows import TABLES, image_row, insert, is_sealed, picture_place
from pytest_t2i.generation.store.self_describing_png import read_origin
from pytest_t2i.generation.store.shards import is_intact, newest
from pytest_t2i.generation.store.thumbnails import damaged_thumbnails

Tick = Callable[[int], None]
Name = tuple[bytes, ...]
"""The primary key of a row as bytes: damaged text cannot be decoded."""
NAMES = {
    "images": ("key",),
    "revised_prompts": ("key",),
    "detections": ("key", "detector"),
    "objects": ("key", "finder"),
    "arrays": ("key", "name"),
    "pixels": ("key",),
    "thumbnails": ("key",),
    "facts": ("name",),
}
"""Table -> the columns of its primary key."""
NOTHING: dict[str, list[Name]] = {table: [] for table in NAMES}
"""Table -> no row."""


@dataclass(slots=True)
class Findings:
    """Result of verifying or rebuilding a store."""

    images: int = 0
    """Number of intact pictures."""
    arrays: int = 0
    """Number of intact traces and features."""
    damaged: list[Path] = field(default_factory=list)
    """Files whose content was changed, or that this package did not write."""
    absent: list[Path] = field(default_factory=list)
    """Files that the index names and that are missing."""
    changed: list[str] = field(default_factory=list)
    """Rows of the index that were changed after they were written: table and key."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged, missing or changed."""
        return not (self.damaged or self.absent or self.changed)


def verify_store(folder: Path, tick: Tick = lambda _: None) -> Findings:
    """Verify the checksum of every row of the index and of every file that a row names.

    What is damaged, missing or changed is removed from the index together with its detections, so
    that the next run makes it again.
    """
    check_is_store(folder)
    check_store_has_index(folder)
    with use(folder):
        return verify_alone(folder, tick)


def verify_alone(folder: Path, tick: Tick = lambda _: None) -> Findings:
    """Verify a store that this process uses already."""
    findings = Findings()
    index = connect(folder)
    try:
        lost = {table: _changed(index, table, findings) for table in TABLES}
        _strike(index, lost)
        for count, (table, row) in enumerate(_named(index), 1):
            if _is_whole(folder / row["file"], row, findings):
                findings.images += table == "images"
                findings.arrays += table == "arrays"
            else:
                lost[table].append(_name(table, row))
            tick(count)
        _strike(index, lost)
        exchanged, gone = damaged_thumbnails(folder, index)
        findings.damaged += exchanged
        _strike(index, {**NOTHING, "thumbnails": [(key.encode(),) for key in gone]})
    finally:
        index.close()
    return findings


def repair(folder: Path, tick: Tick = lambda _: None) -> Findings:
    """Set the index aside and make a new one from the metadata in the pictures.

    The next run makes detections and features again. A picture that is damaged or has no metadata
    stays where it is, and the next run makes it again, too.
    """
    check_is_store(folder)
    with maintenance(folder):
        return _repair(folder, tick)


def _repair(folder: Path, tick: Tick) -> Findings:
    _set_aside(folder)
    findings = Findings()
    index = connect(folder)
    try:
        rows: list[tuple[Any, ...]] = []
        revised: list[tuple[str, str]] = []
        for count, file in enumerate(sorted((folder / "images").glob("*/*.png")), 1):
            file_rows = _rows_of(folder, file)
            if file_rows is None:
                findings.damaged.append(file)
            else:
                rows.append(file_rows[0])
                revised += file_rows[1]
            tick(count)
        latents = _latents(folder, [row[0] for row in rows])
        with claims.transaction(index):
            insert(index, "images", rows)
            insert(index, "revised_prompts", revised)
            insert(index, "arrays", latents)
    finally:
        index.close()
    findings.images, findings.arrays = len(rows), len(latents)
    return findings


def check_is_store(folder: Path) -> None:
    """Raise StoreError for a folder that is no store."""
    if not (folder / NAME).exists() and not (folder / "images").is_dir():
        raise StoreError(
            f"{folder}: expected the folder of a store, found none. A run's store is .t2i, or the "
            "folder given with --t2i-store"
        )


def _named(index: Any) -> Iterator[tuple[str, Any]]:
    """Table and row of every file that the index names."""
    yield from (
        ("images", row) for row in index.execute("SELECT * FROM images WHERE file NOT NULL")
    )
    yield from (("arrays", row) for row in index.execute("SELECT * FROM arrays"))


def _is_whole(file: Path, row: Any, findings: Findings) -> bool:
    try:
        is_whole = is_intact(file, row)
    except FileNotFoundError:
        if file not in findings.absent:
            findings.absent.append(file)
        return False
    except OSError as error:
        # The fault may pass and says nothing of the picture: the entry stays.
        raise StoreError(f"{file}: cannot be read: {error.strerror or error}.") from None
    # Several rows may name the same file of arrays.
    if not is_whole and file not in findings.damaged:
        findings.damaged.append(file)
    return is_whole


def _changed(index: Any, table: str, findings: Findings) -> list[Name]:
    """Keys of the rows of a table whose checksums differ."""
    rows = index.execute(f"SELECT * FROM {table}")  # noqa: S608 - a fixed name
    names = [_name(table, row) for row in rows if not is_sealed(row)]
    findings.changed += [
        f"{table} {b' '.join(name).decode(errors='backslashreplace')}" for name in names
    ]
    return names


def _name(table: str, row: Any) -> Name:
    return tuple(str(row[column]).encode(errors="surrogateescape") for column in NAMES[table])


def _strike(index: Any, lost: dict[str, list[Name]]) -> None:
    with claims.transaction(index):
        for table in TABLES[:-1]:  # everything that is stored of an image
            index.executemany(f"DELETE FROM {table} WHERE {_is('key')}", lost["images"])  # noqa: S608
        for table, columns in NAMES.items():
            where = " AND ".join(map(_is, columns))
            index.executemany(f"DELETE FROM {table} WHERE {where}", lost[table])  # noqa: S608


def _is(column: str) -> str:
    return f"{column} = CAST(? AS TEXT)"


def _set_aside(folder: Path) -> None:
    """Rename the old index and its journal files, so that a new index can be made."""
    for number in range(1000):
        if not (folder / f"{NAME}.{number}").exists():
            break
    for ending in ("", "-wal", "-shm"):
        old = folder / f"{NAME}{ending}"
        if old.exists():
            old.replace(folder / f"{NAME}.{number}{ending}")


def _rows_of(folder: Path, file: Path) -> tuple[tuple[Any, ...], list[tuple[str, str]]] | None:
    """The rows of a picture and of its revised prompt; None where the picture is damaged."""
    content = file.read_bytes()
    header = read_origin(content)
    if header is None:
        return None
    origin, size = header
    if picture_place(origin.key) != file.relative_to(folder).as_posix():
        return None
    revised = [] if origin.revised_prompt is None else [(origin.key, origin.revised_prompt)]
    return image_row(folder, origin, content, size, None), revised


def _latents(folder: Path, keys: Sequence[str]) -> list[tuple[str, ...]]:
    """Index rows of the final latents of images."""
    together = newest(folder, FINAL_LATENT)
    rows = [together.get(key) or _latent_of(folder, key) for key in keys]
    return [row for row in rows if row is not None]


def _latent_of(folder: Path, key: str) -> tuple[str, ...] | None:
    """Index row of a final latent in a file of its own, as older versions wrote it."""
    import numpy as np

    name = f"arrays/{key[:2]}/{key}.{checksum(FINAL_LATENT.encode())[:8]}.npy"
    file = folder / name
    try:
        np.load(file, allow_pickle=False)
        return (key, FINAL_LATENT, name, checksum(file.read_bytes()), stamp(file) or "")
    except (OSError, ValueError, EOFError):
        return None
