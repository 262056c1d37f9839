"""Verify a store, and rebuild its index from what can be read of the old one and the pictures."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import string
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pytest_t2i.data import FINAL_LATENT
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, is_relative
from pytest_t2i.generation.store import claims
from pytest_t2i.generation.store.index import NAME, check_store_has_index, connect
from pytest_t2i.generation.store.locks import maintenance, use
from pytest_t2i.generation.store.rows import (
    TABLES,
    UNREAD,
    image_row,
    insert,
    is_sealed,
    picture_place,
)
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
    adopted: int = 0
    """Number of intact pictures that the index lacked, of a repair."""
    refused: int = 0
    """Number of refusals kept, of a repair."""
    unreadable: int = 0
    """Number of answers kept that hold no readable picture, of a repair."""
    observed: int = 0
    """Number of detections and of images with objects kept, of a repair."""

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
    findings = Findings()
    with use(folder), closing(connect(folder)) as index:
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
    return findings


def repair(folder: Path, tick: Tick = lambda _: None) -> Findings:
    """Make a new index of the pictures and of the old index, whose readable rows are kept.

    A row is kept if it is as it was written, and so is the file that it names: refusals, detections
    and answers of judges are not asked for again. A picture that the old index lacks is adopted
    from its own metadata, and one that differs from its row loses what was observed on it. A
    picture that is damaged or has no metadata stays where it is; the next run makes it again.
    """
    check_is_store(folder)
    with maintenance(folder):
        for left in folder.glob(f"{DRAFT}*"):  # by a repair that was killed
            shutil.rmtree(left, ignore_errors=True)
        # The old index stays in its place until the new one is whole.
        draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=folder))
        old_file = _old_index(folder)
        if old_file is not None:
            _move_journal_into(old_file)
        with closing(connect(draft)) as index:
            findings = _Repair(folder, index, old_file, Findings(), tick).run()
        _set_aside(folder)
        (draft / NAME).replace(folder / NAME)
        shutil.rmtree(draft, ignore_errors=True)
    return findings


DRAFT = ".repair-"
"""Beginning of the name of the folder in which a repair writes the new index."""


FEWEST_STEPS, STEPS_PER_BYTE, AT_A_TIME = 10**8, 10, 10**5
"""Largest number of steps of SQLite to read an old index, and how often they are counted."""
MOST_VALUE = 1 << 26
"""Largest size in bytes of a value of an old index."""
CHARACTERS = sorted(string.ascii_letters + string.digits + "-:")
"""Characters of keys and of names of facts; others are between them."""
LAST = chr(0x10FFFF)
"""A text behind all keys."""
AT_ONCE = 500
"""Number of rows in one transaction."""


@dataclass(slots=True)
class _Repair:
    folder: Path
    index: sqlite3.Connection
    old_file: Path | None
    """The old index; None where there was none."""
    findings: Findings
    tick: Tick
    known: set[str] = field(default_factory=set)
    """Keys of the images in the new index."""
    lost: set[str] = field(default_factory=set)
    """Keys of images whose row was readable and whose picture is gone or another one."""

    def run(self) -> Findings:
        findings = self.findings
        if self.old_file is None:
            self._adopt()
        else:
            with closing(_OldIndex(self.old_file)) as old:
                self._keep_rows(old, "images")
                self._adopt()
                for table in (name for name in TABLES if name not in ("images", "thumbnails")):
                    self._keep_rows(old, table)
        self._find_latents()
        count = partial(_count, self.index)
        findings.images = count("images WHERE file NOT NULL")
        findings.unreadable = count(UNREAD)
        findings.refused = count("images WHERE file IS NULL") - findings.unreadable
        findings.arrays = count("arrays")
        findings.observed = count("detections") + count("objects")
        return findings

    def _keep_rows(self, old: _OldIndex, table: str) -> None:
        columns = len(_columns(self.index, table))
        for rows in old.rows(table):
            kept = [row for row in rows if len(row) == columns and self._is_kept(table, row, old)]
            with claims.transaction(self.index):
                insert(self.index, table, (tuple(row)[:-1] for row in kept))

    def _is_kept(self, table: str, row: sqlite3.Row, old: _OldIndex) -> bool:
        if not is_sealed(row):
            self.findings.changed.append(_words(table, _name(table, row)))
            if table == "images":
                self.lost.add(str(row["key"]))
            return False
        if table == "images":
            if self._is_intact_image(row):
                self.known.add(row["key"])
                self.tick(len(self.known))
                return True
            self.lost.add(row["key"])
            return False
        if table == "facts":
            return True
        # Other keys are of texts and of pictures that people labelled, unless the row of an image
        # is on a damaged page.
        is_other = row["key"] not in self.known
        if row["key"] in self.lost or (is_other and "images" in old.damaged):
            return False
        return table != "arrays" or (
            is_relative(row["file"]) and _is_whole(self.folder / row["file"], row, self.findings)
        )

    def _is_intact_image(self, row: sqlite3.Row) -> bool:
        if row["file"] is None:
            return True
        file = self.folder / row["file"]
        if row["file"] != picture_place(row["key"]):
            return False
        try:
            return checksum(file.read_bytes()) == str(row["sha256"])
        except FileNotFoundError:
            self.findings.absent.append(file)
            return False

    def _adopt(self) -> None:
        """Add the intact pictures that the new index lacks, and name the damaged ones."""
        rows: list[tuple[Any, ...]] = []
        revised: list[tuple[str, str]] = []
        for file in sorted((self.folder / "images").glob("*/*.png")):
            if file.stem in self.known:
                continue
            found = _rows_of(self.folder, file)
            if found is None:
                self.findings.damaged.append(file)
                continue
            rows.append(found[0])
            revised += found[1]
            self.known.add(file.stem)
            self.tick(len(self.known))
        with claims.transaction(self.index):
            insert(self.index, "images", rows)
            insert(self.index, "revised_prompts", revised)
        self.findings.adopted = len(rows)

    def _find_latents(self) -> None:
        """Add the final latents of images whose rows were lost."""
        query = f"SELECT key FROM arrays WHERE name = '{FINAL_LATENT}'"  # noqa: S608 - a constant
        there = {row["key"] for row in self.index.execute(query)}
        found = newest(self.folder, FINAL_LATENT)
        with claims.transaction(self.index):
            insert(
                self.index,
                "arrays",
                [row for key, row in found.items() if key in self.known and key not in there],
            )


class _OldIndex:
    """An index that may be damaged or a stranger's, to read its rows alone.

    A page that names itself would be read for ever: the work is limited by the size of the file.
    """

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        self._connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        self._connection.row_factory = sqlite3.Row
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
        self._left = (file.stat().st_size * STEPS_PER_BYTE + FEWEST_STEPS) // AT_A_TIME
        self._connection.set_progress_handler(self._is_too_long, AT_A_TIME)
        self.damaged: set[str] = set()
        """Tables with a page that cannot be read."""

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def rows(self, table: str) -> Iterator[list[sqlite3.Row]]:
        """Yield the rows that can be read, in parts: before, between and after damaged pages."""
        column, start = NAMES[table][0], ""
        while True:
            last = yield from self._until_damage(f"{table} WHERE {column} >= ? ORDER BY 1", start)
            if last is None:
                return
            self.damaged.add(table)
            after = self._beyond(table, column, max(last, start))
            back = f"{table} WHERE {column} < ? ORDER BY 1 DESC"
            yield from self._until_damage(back, after or LAST)
            if after is None:
                return
            start = after

    def _until_damage(
        self, what: str, bound: str
    ) -> Generator[list[sqlite3.Row], None, str | None]:
        """Yield rows in parts; return None at their end, else the key of the last that was read."""
        query, part = f"SELECT * FROM {what}", list[sqlite3.Row]()  # noqa: S608 - fixed names
        last, count = "", 0
        try:
            for row in self._connection.execute(query, (bound,)):
                part.append(row)
                last, count = str(row[0]), count + 1
                if len(part) == AT_ONCE:
                    yield part
                    part = []
        except sqlite3.DatabaseError:
            # The module reads one row ahead, and drops the last intact one with the error.
            with suppress(sqlite3.DatabaseError):
                for row in self._connection.execute(f"{query} LIMIT 1 OFFSET {count}", (bound,)):
                    part.append(row)
                    last = str(row[0])
            yield part
            return last
        yield part
        return None

    def _beyond(self, table: str, column: str, last: str) -> str | None:
        """Return the first readable key behind a damaged page, in small steps and then larger ones.

        A step changes one character of the last key that was read, beginning at its end.
        """
        query = f"SELECT {column} FROM {table} WHERE {column} >= ? ORDER BY 1 LIMIT 1"  # noqa: S608 - fixed names
        for place in reversed(range(len(last) + 1)):
            for character in CHARACTERS:
                if character <= last[place : place + 1]:
                    continue
                bound = last[:place] + character
                with suppress(sqlite3.DatabaseError):
                    row = self._connection.execute(query, (bound,)).fetchone()
                    if row is not None and str(row[0]) > last:
                        return str(row[0])
        return None

    def _is_too_long(self) -> bool:
        self._left -= 1
        return self._left < 0


def _columns(index: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in index.execute(f"PRAGMA table_info({table})")]


def _count(index: sqlite3.Connection, what: str) -> int:
    return int(index.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0])  # noqa: S608 - fixed names


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
    findings.changed += [_words(table, name) for name in names]
    return names


def _words(table: str, name: Name) -> str:
    """Return the table and the primary key of a row as readable text."""
    return f"{table} {b' '.join(name).decode(errors='backslashreplace')}"


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


def _old_index(folder: Path) -> Path | None:
    """Return the index, else the one set aside last: a repair may have been killed in between."""
    if (folder / NAME).exists():
        return folder / NAME
    aside = [file for file in folder.glob(f"{NAME}.*") if file.suffix[1:].isdigit()]
    return max(aside, key=lambda file: int(file.suffix[1:]), default=None)


def _move_journal_into(file: Path) -> None:
    """Write the journal's pages into the index where SQLite can: one file is moved in one step."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _set_aside(folder: Path) -> None:
    """Rename the old index and its journal files."""
    number = next(n for n in itertools.count() if not (folder / f"{NAME}.{n}").exists())
    for ending in ("-wal", "-shm", ""):
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
