"""The store: PNG files that people can open, and an index of their detections and arrays."""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.picture_files import stored_picture
from pytest_t2i.data import Box, Detection, FactKind, FoundObject, Mask
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, is_relative, remove_unfinished, stamp, write_whole
from pytest_t2i.generation.store import claims
from pytest_t2i.generation.store.entries import NewImage, StoredArray, StoredImage
from pytest_t2i.generation.store.index import check_store_has_index, connect
from pytest_t2i.generation.store.locks import Owner, words
from pytest_t2i.generation.store.pixels import Pixels, pixels_of
from pytest_t2i.generation.store.places import Machine
from pytest_t2i.generation.store.rows import (
    detection_row,
    image_row,
    insert,
    is_sealed,
    picture_place,
    read_detection,
)
from pytest_t2i.generation.store.self_describing_png import PictureOrigin, encode
from pytest_t2i.generation.store.shards import is_intact, read_array, write_arrays
from pytest_t2i.read_files import inflated

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

MOST_BYTES = 1 << 27
"""Largest size of the objects of a picture as JSON: a few bytes can be unpacked to any number."""


MOST_WRITERS = 16
"""Largest number of threads that encode pictures; the disk is busy with fewer."""


@cache
def writers() -> ThreadPoolExecutor:
    """Threads that encode and write pictures, each on a core of its own."""
    return ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_WRITERS), "t2i-writer")


# A forked process has none of its parent's threads.
os.register_at_fork(after_in_child=writers.cache_clear)


def packed(objects: Sequence[FoundObject]) -> bytes:
    """Objects as compressed JSON; their masks are run-length encoded already."""
    plain = [asdict(each_object) for each_object in objects]
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode())


def unpacked(content: bytes) -> tuple[FoundObject, ...]:
    """The inverse of ``packed``.

    >>> hat = FoundObject("hat", Box(0, 0, 2, 1, 0.5), Mask.of([[True, True]]))
    >>> unpacked(packed([hat])) == (hat,)
    True
    """
    try:
        return tuple(
            FoundObject(plain["name"], _box(plain["box"]), _mask(plain["mask"]))
            for plain in json.loads(inflated(content, MOST_BYTES))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"objects of a picture: cannot be read: {error}") from None


def _box(plain: dict[str, float]) -> Box:
    names = ("left", "top", "right", "bottom", "score")
    left, top, right, bottom, score = (plain[name] for name in names)
    return Box(left, top, right, bottom, score)


def _mask(plain: dict[str, object] | None) -> Mask | None:
    if plain is None:
        return None
    return Mask(int(str(plain["height"])), int(str(plain["width"])), tuple(plain["runs"]))  # type: ignore[arg-type]


OF_PIXELS = ("revised_prompts", "detections", "objects", "arrays", "pixels", "thumbnails")
"""Tables whose rows hold for one picture, and not for a picture that replaces it."""
DAMAGED = "{}: damaged (its checksum differs): run again, and it is made again"
IGNORE = "# Made by pytest-t2i: images and detections, safe to delete.\n*\n"


class Store:
    """A folder of images with its index.

    Several processes may write at once. Where a file is missing, or the checksum of a file or row
    differs, the entry is removed from the index when it is looked up, so that it is made again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._place = str(self.folder)
        self._machine = Machine(self.folder)
        self.owner = Owner(self.folder)
        """This process as one that uses the store, also where it only reads."""
        # A store that nobody closes lets go when it is forgotten, or with its process.
        self._end = weakref.finalize(self, _end, self.owner, self._machine)
        try:
            check_store_has_index(self.folder)
            self._connection = connect(self.folder)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                write_whole(ignore, IGNORE.encode())
            if self.owner.has_dead_neighbours:
                remove_unfinished(self.folder)
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Release all claims, close the index, and end the use of the store."""
        self._connection.close()
        self._end()

    # images

    def images(self, keys: Sequence[str]) -> dict[str, StoredImage]:
        """The intact images of these keys, by key."""
        images: dict[str, StoredImage] = {}
        damaged = []
        own_keys = {key: key for key in keys}  # texts of the caller, so that none is held twice
        for row in self._rows("SELECT * FROM images WHERE key IN ({})", keys):
            key = own_keys[row["key"]]
            if _is_in_place(row) and self._is_whole(row):
                images[key] = self._stored(key, row)
            else:
                damaged.append(key)
        if damaged:
            self._drop(damaged)
        return images

    def add_images(self, new: Iterable[NewImage]) -> None:
        """Store images and their traces: files first, then the index in one transaction."""
        self._machine.renew()
        rows, revised, pixels = [], [], []
        traces: list[tuple[str, str, np.ndarray]] = []
        images = list(new)
        for image, (row, content) in zip(images, writers().map(self._written, images), strict=True):
            rows.append(row)
            if content is not None:
                pixels.append((image.key, row[6], *content))
            traces += [(image.key, *trace) for trace in image.arrays.items()]
            if image.revised_prompt is not None:
                revised.append((image.key, image.revised_prompt))
        arrays = write_arrays(self.folder, traces)
        with claims.transaction(self._connection):
            self._forget_changed(rows)
            # An image that is stored needs no claim: few claims make a renewal cheap.
            claims.release(self._connection, [image.key for image in images], self.owner.name)
            claims.renew(self._connection, self.owner.name)
            insert(self._connection, "images", rows)
            insert(self._connection, "pixels", pixels)
            insert(self._connection, "revised_prompts", revised)
            insert(self._connection, "arrays", arrays)

    def pixels(self, images: Iterable[StoredImage]) -> dict[str, Pixels]:
        """The content of pictures by image key; of refused, black and unreadable ones none.

        What is not stored is computed from the picture, and stored.
        """
        pictures = {image.key: image for image in images if image.undetected is None}
        rows = self._select("SELECT * FROM pixels WHERE key IN ({})", list(pictures))
        stored = {
            row["key"]: Pixels(row["digest"], row["likeness"])
            for row in filter(is_sealed, rows)
            if row["sha256"] == pictures[row["key"]].sha256
        }
        new = {}
        for key, image in pictures.items():
            if key not in stored:
                with suppress(StoreError):  # damaged: the detectors tell of it
                    if (picture := self.open_image(image)) is not None:
                        new[key] = pixels_of(picture)
        if new:
            with claims.transaction(self._connection):
                insert(
                    self._connection,
                    "pixels",
                    [(key, pictures[key].sha256, *content) for key, content in new.items()],
                )
        return stored | new

    def open_image(self, stored: StoredImage) -> Image | None:
        """Open a picture and verify its checksum; None where it cannot be decoded."""
        if stored.file is None:
            raise StoreError(f"image {stored.key}: there is no picture ({stored.undetected})")
        content = _content(stored.file)
        if checksum(content) != stored.sha256:
            self._drop([stored.key])
            raise StoreError(DAMAGED.format(stored.file))
        return stored_picture(content)

    def revised_prompts(self, keys: Sequence[str]) -> dict[str, str]:
        """Revised prompts that a service reported, by image key."""
        rows = self._select("SELECT * FROM revised_prompts WHERE key IN ({})", keys)
        return {row["key"]: row["text"] for row in rows if is_sealed(row)}

    # arrays: traces and features

    def arrays(self, keys: Sequence[str], name: str) -> dict[str, StoredArray]:
        """The intact arrays of this name, by key."""
        query = "SELECT * FROM arrays WHERE key IN ({}) AND name = ?"
        rows = self._select(query, keys, name)
        intact = {
            row["key"]: StoredArray(row["key"], name, self.folder / row["file"], row["sha256"])
            for row in rows
            if self._is_whole(row)
        }
        lost = [(row["key"], name) for row in rows if row["key"] not in intact]
        if lost:
            self._drop_arrays(lost)
        return intact

    def open_array(self, stored: StoredArray) -> np.ndarray:
        """Open an array and verify its checksum."""
        try:
            array = read_array(stored.file, stored.key, stored.name, stored.sha256)
        except OSError as error:
            raise StoreError(f"{stored.file}: {error.strerror or error}.") from None
        if array is None:
            self._drop_arrays([(stored.key, stored.name)])
            raise StoreError(DAMAGED.format(stored.file))
        return array

    def add_arrays(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store one array per key under a name."""
        rows = write_arrays(self.folder, ((key, name, array) for key, array in arrays.items()))
        with claims.transaction(self._connection):
            insert(self._connection, "arrays", rows)

    # detections and objects

    def objects(self, keys: Sequence[str], finder: str) -> dict[str, tuple[FoundObject, ...]]:
        """Objects found by the object detector with this fingerprint, by image key."""
        query = "SELECT * FROM objects WHERE key IN ({}) AND finder = ?"
        rows = filter(is_sealed, self._select(query, keys, finder))
        return {row["key"]: unpacked(row["objects"]) for row in rows}

    def seen_by(self, finder: str, model: str) -> dict[str, str]:
        """Key -> prompt of a model's images that this object detector has processed, in order."""
        query = (
            "SELECT images.key, prompt FROM images JOIN objects ON objects.key = images.key "
            "WHERE finder = ? AND model = ? ORDER BY images.key"
        )
        return {
            row["key"]: row["prompt"] for row in self._connection.execute(query, (finder, model))
        }

    def add_objects(self, finder: str, objects: Mapping[str, Sequence[FoundObject]]) -> None:
        """Store the objects that an object detector found."""
        rows = [(key, finder, packed(in_image)) for key, in_image in objects.items()]
        with claims.transaction(self._connection):
            insert(self._connection, "objects", rows)

    def detections(self, keys: Sequence[str], detector: str) -> dict[str, Detection]:
        """Detections of the detector with this fingerprint, by image key.

        A row that was changed since it was written, or that is no valid detection, is left out.
        """
        query = "SELECT * FROM detections WHERE key IN ({}) AND detector = ?"
        rows = filter(is_sealed, self._rows(query, keys, detector))
        own_keys = {key: key for key in keys}  # texts of the caller, so that none is held twice
        detections = {own_keys[row["key"]]: read_detection(row) for row in rows}
        return {key: detection for key, detection in detections.items() if detection is not None}

    def add_detections(self, detector: str, detections: Mapping[str, Detection]) -> None:
        """Store detections of a detector."""
        self._machine.renew()
        rows = [detection_row(key, detector, detection) for key, detection in detections.items()]
        with claims.transaction(self._connection):
            insert(self._connection, "detections", rows)

    def busiest_detector(self) -> str | None:
        """Fingerprint of the detector with the most detections; None where there is none."""
        query = "SELECT detector FROM detections GROUP BY detector ORDER BY COUNT(*) DESC, detector"
        row = self._connection.execute(query).fetchone()
        return None if row is None else str(row["detector"])

    def labelled_rows(self, detector: str) -> list[dict[str, Any]]:
        """Model, prompt, seed, file and predicted label of every image with a detection."""
        query = "SELECT * FROM detections WHERE detector = ?"
        rows = filter(is_sealed, self._connection.execute(query, (detector,)))
        detections = {row["key"]: read_detection(row) for row in rows}
        ordered = self._connection.execute("SELECT * FROM images ORDER BY model, prompt, seed")
        return [
            {name: row[name] for name in ("model", "prompt", "seed", "file")}
            | {"said": detection.said}
            for row in ordered
            if (detection := detections.get(row["key"])) is not None
            and is_sealed(row)
            and _is_in_place(row)
        ]

    def name_model(self, fingerprint: str, name: str) -> None:
        """Store the name under which a model was run."""
        if self.model_name(fingerprint) != name:
            self.remember(FactKind.MODEL.of(fingerprint), name)

    def model_name(self, fingerprint: str) -> str | None:
        """The last name under which a model was run; None where none is stored."""
        name = self.fact(FactKind.MODEL.of(fingerprint))
        return name if isinstance(name, str) else None

    # facts

    def fact(self, name: str) -> Any:
        """The JSON value stored under a name; None where there is none."""
        row = self._connection.execute("SELECT * FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row["value"]) if row and is_sealed(row) else None

    def facts(self, prefix: str) -> dict[str, Any]:
        """The JSON values stored under all names that begin so."""
        # A range, unlike LIKE, uses the index and has no wildcards.
        rows = self._connection.execute(
            "SELECT * FROM facts WHERE name >= ? AND name < ?", (prefix, prefix + chr(0x10FFFF))
        )
        return {row["name"]: json.loads(row["value"]) for row in rows if is_sealed(row)}

    def remember(self, name: str, value: Any) -> None:
        """Store a JSON value under a name."""
        with claims.transaction(self._connection):
            insert(self._connection, "facts", [(name, json.dumps(value))])

    def forget(self, name: str) -> None:
        """Delete the value of a name."""
        with claims.transaction(self._connection):
            self._connection.execute("DELETE FROM facts WHERE name = ?", (name,))

    # claims

    def claim(self, keys: Sequence[str]) -> list[str]:
        """Claim images so that no other process makes them, too; returns the keys claimed."""
        locks = self.folder / "locks"
        return claims.claim(self._connection, locks, keys, self.owner.name)

    def owners(self, keys: Sequence[str]) -> list[str]:
        """The processes that are making these images, for messages."""
        rows = claims.held(self._connection, keys)
        return sorted({words(row["owner"]) for row in rows})

    def release(self, keys: Iterable[str]) -> None:
        """Release claims."""
        with claims.transaction(self._connection):
            claims.release(self._connection, keys, self.owner.name)

    def _select(self, query: str, keys: Sequence[str], *more: str) -> list[sqlite3.Row]:
        return list(self._rows(query, keys, *more))

    def _rows(self, query: str, keys: Sequence[str], *more: str) -> Iterator[sqlite3.Row]:
        """Yield the rows of the keys, a few hundred of which are held at a time."""
        for start in range(0, len(keys), 500):
            part = list(keys[start : start + 500])
            filled = query.format(",".join("?" * len(part)))
            yield from self._connection.execute(filled, (*part, *more)).fetchall()

    def _is_whole(self, row: sqlite3.Row) -> bool:
        if not is_sealed(row):
            return False
        if row["file"] is None:
            return True
        if not is_relative(row["file"]):
            return False
        now = stamp(f"{self.folder}/{row['file']}")  # faster than building a Path
        if now is None or now == row["stamp"]:
            return now is not None
        # The file was touched since: its content decides.
        file = self.folder / row["file"]
        try:
            return is_intact(file, row)
        except FileNotFoundError:
            return False
        except OSError as error:  # the fault may pass: the entry stays
            raise StoreError(
                f"{file}: cannot be read: {error.strerror or error}. Correct its permissions, or "
                "remove it, and run again."
            ) from None

    def _drop(self, keys: Sequence[str]) -> None:
        with claims.transaction(self._connection):
            for table in ("images", *OF_PIXELS):
                self._connection.executemany(
                    f"DELETE FROM {table} WHERE key = ?",  # noqa: S608 - a fixed name
                    [(key,) for key in keys],
                )

    def _drop_arrays(self, lost: Sequence[tuple[str, str]]) -> None:
        with claims.transaction(self._connection):
            self._connection.executemany("DELETE FROM arrays WHERE key = ? AND name = ?", lost)

    def _forget_changed(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Delete the detections and arrays of pictures that came out differently this time."""
        for row in rows:
            key, sha256 = row[0], row[6]
            query = "SELECT sha256 FROM images WHERE key = ?"
            before = self._connection.execute(query, (key,)).fetchone()
            if before is not None and before["sha256"] != sha256:
                for table in OF_PIXELS:
                    self._connection.execute(f"DELETE FROM {table} WHERE key = ?", (key,))  # noqa: S608

    def _stored(self, key: str, row: sqlite3.Row) -> StoredImage:
        folder = None if row["file"] is None else self._place
        size = _size(row["width"] or 0, row["height"] or 0)
        return StoredImage(key, folder, row["sha256"], bool(row["black"]), row["refusal"], size)

    def _written(self, new: NewImage) -> tuple[tuple[Any, ...], Pixels | None]:
        """Write an image's file; its row, and its pixels where there is a picture."""
        image = new.generated.image
        return self._write_image(new), None if image is None else pixels_of(image)

    def _write_image(self, new: NewImage) -> tuple[Any, ...]:
        image = new.generated.image
        request = new.request
        origin = PictureOrigin(
            new.key, new.model, request.prompt, request.seed, asdict(request.settings), new.black,
            new.revised_prompt,
        )  # fmt: skip
        if image is None:
            return image_row(self.folder, origin, None, (0, 0), new.generated.refusal)
        content = encode(image, origin)
        write_whole(self.folder / picture_place(new.key), content)
        return image_row(self.folder, origin, content, image.size, None)


def _end(owner: Owner, machine: Machine) -> None:
    owner.let_go()
    machine.let_go()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror or error}.") from None


def _is_in_place(row: sqlite3.Row) -> bool:
    """Whether the file that an image's row names is where the store writes it."""
    return row["file"] in (None, picture_place(row["key"]))


@lru_cache(maxsize=64)
def _size(width: int, height: int) -> tuple[int, int]:
    """One pair for all pictures of a size."""
    return width, height
