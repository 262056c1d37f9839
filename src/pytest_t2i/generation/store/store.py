"""Images as PNG files that people can open, and an index of what is known of each."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.data import Detection, Generated, Request, Undetected
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, stamp, write_whole
from pytest_t2i.generation.store import claims
from pytest_t2i.generation.store.schema import connect

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

IGNORE = "# Made by pytest-t2i: images and detections, safe to delete.\n*\n"


@dataclass(frozen=True, slots=True)
class StoredImage:
    """What the index says of one image."""

    key: str
    file: Path | None
    """None when the model refused to make it."""
    sha256: str | None
    black: bool
    """Whether every pixel is black (a safety checker's doing)."""
    refusal: str | None

    @property
    def undetected(self) -> Undetected | None:
        """Why no detector need look at it."""
        if self.file is None:
            broken = (self.refusal or "").startswith(Undetected.UNREADABLE)
            return Undetected.UNREADABLE if broken else Undetected.REFUSED
        return Undetected.BLACK_IMAGE if self.black else None


@dataclass(frozen=True, slots=True)
class NewImage:
    """One image to be stored."""

    key: str
    model: str
    request: Request
    generated: Generated
    black: bool
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Traces of its making, by name."""


class Store:
    """A folder of images with its index.

    Several processes may write at once. A file that is absent or whose checksum differs is
    dropped from the index when it is looked up, so that it is made again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._connection = connect(self.folder)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            write_whole(ignore, IGNORE.encode())
        self._owner: claims.Owner | None = None

    @property
    def owner(self) -> claims.Owner:
        """This process as the maker of images; it is one from its first claim on."""
        if self._owner is None:
            self._owner = claims.Owner(self.folder / "locks")
        return self._owner

    def close(self) -> None:
        """Let go of every claim and close the index."""
        if self._owner is not None:
            self._owner.let_go()
            self._owner = None
        self._connection.close()

    # images

    def images(self, keys: Sequence[str]) -> dict[str, StoredImage]:
        """The images that are there and undamaged, by key."""
        rows = self._select("SELECT * FROM images WHERE key IN ({})", keys)
        known = {row["key"]: row for row in rows}
        damaged = [key for key, row in known.items() if not self._is_whole(row)]
        if damaged:
            self._drop(damaged)
        return {key: self._stored(row) for key, row in known.items() if key not in set(damaged)}

    def add_images(self, new: Iterable[NewImage]) -> None:
        """Keep images and their traces: files first, then the index in one transaction."""
        rows, arrays = [], []
        for image in new:
            rows.append(self._write_image(image))
            arrays += [self._write_array(image.key, *named) for named in image.arrays.items()]
        marks = ",".join("?" * 13)
        with claims.transaction(self._connection):
            self._forget_changed(rows)
            if self._owner is not None:
                claims.renew(self._connection, self._owner.name)
            self._connection.executemany(f"INSERT OR REPLACE INTO images VALUES ({marks})", rows)  # noqa: S608 - question marks
            self._insert_arrays(arrays)

    def open_image(self, stored: StoredImage) -> Image:
        """The picture, its checksum verified.

        Raises StoreError when the file was damaged since it was looked up.
        """
        from PIL import Image

        if stored.file is None:
            raise StoreError(f"image {stored.key} was refused by the model: there is no picture")
        try:
            content = stored.file.read_bytes()
        except OSError as error:
            raise StoreError(f"{stored.file}: {error.strerror or error}.") from None
        if checksum(content) != stored.sha256:
            self._drop([stored.key])
            raise StoreError(
                f"{stored.file}: damaged (its checksum differs); run again to remake it"
            )
        return Image.open(io.BytesIO(content)).convert("RGB")

    # arrays: traces and features

    def arrays(self, keys: Sequence[str], name: str) -> dict[str, Path]:
        """Files of the arrays of this name that are there, by key."""
        query = "SELECT * FROM arrays WHERE key IN ({}) AND name = ?"
        rows = self._select(query, keys, name)
        whole = {row["key"]: self.folder / row["file"] for row in rows if self._is_whole(row)}
        lost = [(row["key"], name) for row in rows if row["key"] not in whole]
        if lost:
            with claims.transaction(self._connection):
                self._connection.executemany("DELETE FROM arrays WHERE key = ? AND name = ?", lost)
        return whole

    def add_arrays(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep one array per key under a name."""
        rows = [self._write_array(key, name, array) for key, array in arrays.items()]
        with claims.transaction(self._connection):
            self._insert_arrays(rows)

    # detections

    def detections(self, keys: Sequence[str], detector: str) -> dict[str, Detection]:
        """What the detector with this fingerprint said, by image key."""
        query = "SELECT * FROM detections WHERE key IN ({}) AND detector = ?"
        return {row["key"]: _detection(row) for row in self._select(query, keys, detector)}

    def add_detections(self, detector: str, detections: Mapping[str, Detection]) -> None:
        """Keep what a detector said."""
        rows = [
            (
                key,
                detector,
                detection.label,
                detection.undetected.value if detection.undetected else None,
                json.dumps(dict(detection.scores)),
                detection.detail,
            )
            for key, detection in detections.items()
        ]
        with claims.transaction(self._connection):
            self._connection.executemany(
                "INSERT OR REPLACE INTO detections VALUES (?, ?, ?, ?, ?, ?)", rows
            )

    # facts

    def fact(self, name: str) -> Any:
        """A remembered JSON value, or None."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row["value"]) if row else None

    def remember(self, name: str, value: Any) -> None:
        """Keep a JSON value under a name."""
        with claims.transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value))
            )

    def forget(self, name: str) -> None:
        """Drop a remembered value."""
        with claims.transaction(self._connection):
            self._connection.execute("DELETE FROM facts WHERE name = ?", (name,))

    # claims

    def claim(self, keys: Sequence[str], most: int = sys.maxsize) -> list[str]:
        """Reserve up to ``most`` images so that no other process makes them too."""
        locks = self.folder / "locks"
        return claims.claim(self._connection, locks, keys, self.owner.name, most)

    def owners(self, keys: Sequence[str]) -> list[str]:
        """Who is making these images, in words."""
        rows = claims.held(self._connection, keys)
        return sorted({claims.words(row["owner"]) for row in rows})

    def release(self, keys: Iterable[str]) -> None:
        """Give reservations back."""
        claims.release(self._connection, keys, self.owner.name)

    def _select(self, query: str, keys: Sequence[str], *more: str) -> list[sqlite3.Row]:
        rows: list[sqlite3.Row] = []
        for start in range(0, len(keys), 500):
            part = list(keys[start : start + 500])
            filled = query.format(",".join("?" * len(part)))
            rows += self._connection.execute(filled, (*part, *more)).fetchall()
        return rows

    def _is_whole(self, row: sqlite3.Row) -> bool:
        if row["file"] is None:
            return True
        file = self.folder / row["file"]
        now = stamp(file)
        if now is None or now == row["stamp"]:
            return now is not None
        # Touched since: its content decides.
        return bool(checksum(file.read_bytes()) == row["sha256"])

    def _drop(self, keys: Sequence[str]) -> None:
        with claims.transaction(self._connection):
            for table in ("images", "detections", "arrays"):
                self._connection.executemany(
                    f"DELETE FROM {table} WHERE key = ?",  # noqa: S608 - a fixed name
                    [(key,) for key in keys],
                )

    def _forget_changed(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """A picture that came out differently when made again leaves no stale word about it."""
        for row in rows:
            key, sha256 = row[0], row[6]
            query = "SELECT sha256 FROM images WHERE key = ?"
            before = self._connection.execute(query, (key,)).fetchone()
            if before is not None and before["sha256"] != sha256:
                for table in ("detections", "arrays"):
                    self._connection.execute(f"DELETE FROM {table} WHERE key = ?", (key,))  # noqa: S608

    def _stored(self, row: sqlite3.Row) -> StoredImage:
        file = None if row["file"] is None else self.folder / row["file"]
        return StoredImage(row["key"], file, row["sha256"], bool(row["black"]), row["refusal"])

    def _write_image(self, new: NewImage) -> tuple[Any, ...]:
        image = new.generated.image
        name = content = None
        width = height = 0
        if image is not None:
            buffer = io.BytesIO()
            image.save(buffer, format="PNG", compress_level=1)
            content = buffer.getvalue()
            name = f"images/{new.key[:2]}/{new.key}.png"
            write_whole(self.folder / name, content)
            width, height = image.size
        return (
            new.key,
            new.model,
            new.request.prompt,
            new.request.seed,
            json.dumps(asdict(new.request.settings)),
            name,
            checksum(content) if content is not None else None,
            stamp(self.folder / name) if name else None,
            width,
            height,
            int(new.black),
            new.generated.refusal,
            datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _write_array(self, key: str, name: str, array: np.ndarray) -> tuple[str, ...]:
        import numpy as np

        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        content = buffer.getvalue()
        file = f"arrays/{key[:2]}/{key}.{checksum(name.encode())[:8]}.npy"
        write_whole(self.folder / file, content)
        return (key, name, file, checksum(content), stamp(self.folder / file) or "")

    def _insert_arrays(self, rows: Iterable[tuple[str, ...]]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?, ?)", rows)


def _detection(row: sqlite3.Row) -> Detection:
    undetected = Undetected(row["undetected"]) if row["undetected"] else None
    return Detection(row["label"], undetected, json.loads(row["scores"]), row["detail"])
