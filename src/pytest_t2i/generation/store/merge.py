"""Merge one store into another: images that only the other store has are copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_t2i.data import FactKind
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, is_relative, stamp, write_whole
from pytest_t2i.generation.store import claims
from pytest_t2i.generation.store.index import check_store_has_index, connect
from pytest_t2i.generation.store.locks import maintenance
from pytest_t2i.generation.store.repair import Findings, check_is_store, verify_alone
from pytest_t2i.generation.store.rows import insert, is_sealed, picture_place
from pytest_t2i.generation.store.shards import read_array, write_arrays

if TYPE_CHECKING:
    import numpy as np

Content = TypeVar("Content")
Tick = Callable[[int], None]
AT_ONCE = 500
"""Number of images copied in one transaction."""
SAID = {"detections": "detector", "objects": "finder", "arrays": "name"}
"""Table of observations on a picture -> the column that names the detector, finder or array."""
CARRIED = tuple(
    kind.of("")
    for kind in (
        FactKind.MODEL,
        FactKind.SEEDING,
        FactKind.BATCH,
        FactKind.JUDGED,
        FactKind.JUDGED_AGAIN,
    )
)
"""Beginnings of facts that are copied: names of models, whether seeds hold, images per batch, and
answers of judges, which were paid for."""


@dataclass(slots=True)
class Merged:
    """Result of a merge."""

    here: Findings
    """Damage found in the target store before the merge; it was removed from the index."""
    copied: int = 0
    """Images copied: only the other store had them, or they were damaged in the target."""
    common: int = 0
    """Images that are identical in both stores."""
    otherwise: int = 0
    """Images that differ between the stores: the target keeps its own, with its detections."""
    said: int = 0
    """Detections, objects, traces and features copied."""
    there: Findings = field(default_factory=Findings)
    """Damage in the other store: not copied, and left unchanged."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was damaged on either side."""
        return self.here.is_whole and self.there.is_whole


def merge(folder: Path, other: Path, tick: Tick = lambda _: None) -> Merged:
    """Copy from ``other`` what the store in ``folder`` lacks; every file's checksum is verified.

    A picture that both stores have stays as it is in ``folder``. Where the two pictures differ,
    the other store's detections are of another picture, and are not copied. Damaged entries of
    ``folder`` are removed first, so that intact pictures replace them. Damage in ``other`` is
    reported, and ``other`` is not changed.
    """
    if folder.resolve() == other.resolve():
        raise StoreError(
            f"{folder}: expected two stores to merge, got the same one twice: name another one"
        )
    check_is_store(other)
    check_store_has_index(other)
    is_new = not folder.exists()
    if not is_new:
        check_is_store(folder)
        check_store_has_index(folder)
    with maintenance(other), maintenance(folder):
        findings = Findings() if is_new else verify_alone(folder)
        with closing(connect(folder)) as mine, closing(connect(other)) as theirs:
            return _Merge(folder, other, mine, theirs, Merged(findings)).run(tick)


@dataclass(slots=True)
class _Merge:
    folder: Path
    other: Path
    mine: Any
    theirs: Any
    merged: Merged

    def run(self, tick: Tick) -> Merged:
        count = 0
        for rows in self._images():
            self._take(rows)
            count += len(rows)
            tick(count)
        self._take_facts()
        return self.merged

    def _images(self) -> Iterator[list[Any]]:
        """Intact rows of the other store's images, in parts; damaged rows are reported."""
        part: list[Any] = []
        for row in self.theirs.execute("SELECT * FROM images ORDER BY key"):
            if self._is_good("images", row):
                part.append(row)
            if len(part) == AT_ONCE:
                yield part
                part = []
        if part:
            yield part

    def _take(self, rows: Sequence[Any]) -> None:
        digests = {row["key"]: row["sha256"] for row in self._held(rows)}
        alike = [row for row in rows if digests.get(row["key"], "") == row["sha256"]]
        self.merged.common += len(alike)
        self.merged.otherwise += sum(row["key"] in digests for row in rows) - len(alike)
        new = [
            copied
            for row in rows
            if row["key"] not in digests and (copied := self._copied(row)) is not None
        ]
        self.merged.copied += len(new)
        keys = [row["key"] for row in alike] + [row[0] for row in new]
        words_of_tables = {table: list(self._new_words(table, keys)) for table in SAID}
        revised = self._of("theirs", "revised_prompts", [row[0] for row in new])
        with claims.transaction(self.mine):
            insert(self.mine, "images", new)
            insert(self.mine, "revised_prompts", map(_unsealed, revised))
            for table, words in words_of_tables.items():
                insert(self.mine, table, words)
        self.merged.said += sum(map(len, words_of_tables.values()))

    def _held(self, rows: Sequence[Any]) -> list[Any]:
        return self._of("mine", "images", [row["key"] for row in rows])

    def _of(self, side: str, table: str, keys: Sequence[str]) -> list[Any]:
        """Intact rows of a table for these images."""
        index = self.mine if side == "mine" else self.theirs
        intact: list[Any] = []
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(part))
            query = f"SELECT * FROM {table} WHERE key IN ({marks})"  # noqa: S608 - a fixed name
            rows = index.execute(query, list(part))
            intact += [
                r for r in rows if (is_sealed(r) if side == "mine" else self._good(table, r))
            ]
        return intact

    def _new_words(self, table: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of the other store's table for these images that the target store lacks."""
        by = SAID[table]
        pairs = {(row["key"], row[by]) for row in self._of("mine", table, keys)}
        new = [row for row in self._of("theirs", table, keys) if (row["key"], row[by]) not in pairs]
        if table == "arrays":
            yield from write_arrays(self.folder, self._arrays(new))
        else:
            yield from map(_unsealed, new)

    def _arrays(self, rows: Iterable[Any]) -> Iterator[tuple[str, str, np.ndarray]]:
        """Key, name and content of the other store's arrays; damaged ones are reported."""
        for row in rows:
            reader = partial(read_array, key=row["key"], name=row["name"], sha256=row["sha256"])
            array = self._read(row["file"], reader)
            if array is not None:
                yield row["key"], row["name"], array

    def _copied(self, row: Any) -> tuple[Any, ...] | None:
        """Copy an image's file and return its new row; None where the file is damaged."""
        if row["file"] is None:
            return _unsealed(row)
        content = self._read(row["file"], lambda file: _undamaged(file, row["sha256"]))
        if content is None:
            return None
        file = self.folder / row["file"]
        write_whole(file, content)
        columns = dict(zip(row.keys(), row, strict=True)) | {"stamp": stamp(file) or ""}
        return tuple(columns.values())[:-1]

    def _read(self, name: str, reader: Callable[[Path], Content | None]) -> Content | None:
        """Content of a file of the other store; a missing or damaged file is reported once."""
        file, lost = self.other / name, self.merged.there.damaged
        try:
            content = reader(file)
        except FileNotFoundError:
            content, lost = None, self.merged.there.absent
        except OSError as error:
            raise StoreError(f"{file}: {error.strerror or error}.") from None
        if content is None and file not in lost:
            lost.append(file)
        return content

    def _is_good(self, table: str, row: Any) -> bool:
        good = self._good(table, row)
        if good and row["file"] is not None:
            self.merged.there.images += 1
        return good

    def _good(self, table: str, row: Any) -> bool:
        """Whether a row is as it was written; a changed row is reported."""
        columns: Mapping[str, Any] = dict(zip(row.keys(), row, strict=True))
        file = columns.get("file")
        is_own = table != "images" or file == picture_place(columns["key"])
        if is_sealed(row) and (file is None or (is_relative(file) and is_own)):
            return True
        key = str(columns["key"]).encode(errors="surrogateescape").decode(errors="backslashreplace")
        self.merged.there.changed.append(f"{table} {key}")
        return False

    def _take_facts(self) -> None:
        names = {row["name"] for row in self.mine.execute("SELECT * FROM facts")}
        new = [
            _unsealed(row)
            for row in self.theirs.execute("SELECT * FROM facts")
            if is_sealed(row) and row["name"] not in names and row["name"].startswith(CARRIED)
        ]
        with claims.transaction(self.mine):
            insert(self.mine, "facts", new)


def _undamaged(file: Path, sha256: str) -> bytes | None:
    content = file.read_bytes()
    return content if checksum(content) == sha256 else None


def _unsealed(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(row)[:-1]
