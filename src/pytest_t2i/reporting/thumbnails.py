"""Small pictures for reports, kept in the store so that a second report is fast."""

from __future__ import annotations

import base64
import io
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, stamp, write_whole
from pytest_t2i.generation.store.thumbnails import (
    Origin,
    ThumbnailRow,
    add_thumbnails,
    origins,
    store_of,
    thumbnail_file,
    thumbnail_rows,
)

SIDE = 88
"""Longer side in pixels; the page shows 84 pixels."""
QUALITIES = (60, 40, 20, 5)
"""Qualities of WebP; the first that is small enough is used. With the first alone 2,000 portraits
and their page stay below 6 MB (tests/benchmarks/report_size.py)."""

LARGEST = 1700
"""Largest size of a thumbnail in bytes; 2,000 pictures of noise keep the page below 6 MB, too."""


class Thumbnail(NamedTuple):
    """A small picture with the hash of the picture that it shows."""

    content: bytes
    picture: str


def thumbnails(files: Iterable[str]) -> dict[str, str]:
    """Return a data URI per image file; an absent or unreadable file has none.

    A thumbnail that the store keeps is shown where its row in the index fits it and its picture;
    else it is made from the picture again.
    """
    wanted = list(dict.fromkeys(files))
    stores = _by_store(wanted)
    contents: dict[str, bytes] = {}
    for folder, stored in stores.items():
        contents |= _cached(folder, stored)
    missing = [file for file in wanted if file not in contents]
    # Pillow decodes outside of the interpreter's lock, so that threads work in parallel.
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        made = dict(zip(missing, pool.map(_make, map(Path, missing)), strict=True))
    for folder, stored in stores.items():
        _keep(folder, {file: small for file in stored if (small := made.get(file)) is not None})
    contents |= {file: small.content for file, small in made.items() if small is not None}
    return {file: data_uri(contents[file]) for file in wanted if file in contents}


def cache_path(file: Path) -> Path | None:
    """Return the path of a picture's thumbnail in its store; None for a picture elsewhere.

    ``<store>/images/ab/<key>.png`` has ``<store>/thumbnails/<key>.webp``.
    """
    folder = store_of(file)
    return None if folder is None else thumbnail_file(folder, file.stem)


def _by_store(files: Iterable[str]) -> dict[Path, list[str]]:
    """Return the files that lie in stores, by the folder of the store."""
    stores: dict[Path, list[str]] = {}
    for file in files:
        if (folder := store_of(Path(file))) is not None:
            stores.setdefault(folder, []).append(file)
    return stores


def _cached(folder: Path, files: Sequence[str]) -> dict[str, bytes]:
    """Return the kept thumbnails that are those of their pictures."""
    keys = {file: Path(file).stem for file in files}
    rows = thumbnail_rows(folder, list(keys.values()))
    known = origins(folder, list(rows))
    whole = {}
    for file, key in keys.items():
        row = rows.get(key)
        if row is None or row.picture != _hash_of(file, known.get(key)):
            continue
        content = _content(thumbnail_file(folder, key))
        if content is not None and checksum(content) == row.sha256:
            whole[file] = content
    return whole


def _hash_of(file: str, known: Origin | None) -> str | None:
    """Return the SHA-256 of a picture; it is read only if it was touched since it was stored."""
    now = stamp(file)
    if now is None:
        return None
    if known is not None and known.stamp == now:
        return known.sha256
    content = _content(Path(file))
    return None if content is None else checksum(content)


def _content(file: Path) -> bytes | None:
    """Return the content of a regular file; reading from a pipe or a device would wait."""
    try:
        return file.read_bytes() if stat.S_ISREG(file.stat().st_mode) else None
    except (OSError, ValueError):
        return None


def _keep(folder: Path, made: Mapping[str, Thumbnail]) -> None:
    """Write thumbnails into their store, then their rows.

    Where the store cannot be written, as on a read-only disk, the next report is only slower.
    """
    rows = []
    for file, small in made.items():
        key = Path(file).stem
        try:
            write_whole(thumbnail_file(folder, key), small.content)
        except StoreError:
            return
        rows.append(ThumbnailRow(key, small.picture, checksum(small.content)))
    if rows:
        add_thumbnails(folder, rows)


def _make(file: Path) -> Thumbnail | None:
    picture = _content(file)
    small = None if picture is None else _shrunk(picture)
    return None if picture is None or small is None else Thumbnail(small, checksum(picture))


def _shrunk(picture: bytes) -> bytes | None:
    from PIL import Image

    small = picture_in(picture)
    if small is None:
        return None
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    for quality in QUALITIES:
        content = io.BytesIO()
        small.save(content, "WEBP", quality=quality, method=6)
        if content.tell() <= LARGEST:
            break
    return content.getvalue()


def data_uri(content: bytes) -> str:
    """Return a WebP picture as a data URI."""
    return f"data:image/webp;base64,{base64.b64encode(content).decode()}"
