"""Small pictures for reports, kept in the store so that a second report is fast."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.errors import StoreError
from pytest_t2i.files import write_whole

SIDE = 88
"""Longer side in pixels; the page shows 84 pixels."""
QUALITIES = (60, 40, 20, 5)
"""Qualities of WebP; the first that is small enough is used. With the first alone 2,000 portraits
and their page stay below 6 MB (tests/benchmarks/report_size.py)."""

LARGEST = 1700
"""Largest size of a thumbnail in bytes; 2,000 pictures of noise keep the page below 6 MB, too."""


def thumbnails(files: Iterable[str]) -> dict[str, str]:
    """Return a data URI per image file; an absent or unreadable file has none."""
    wanted = list(dict.fromkeys(files))
    contents = {file: _cached(Path(file)) for file in wanted}
    missing = [file for file, content in contents.items() if content is None]
    # Pillow decodes outside of the interpreter's lock, so that threads work in parallel.
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        contents |= zip(missing, pool.map(_make, map(Path, missing)), strict=True)
    return {file: data_uri(content) for file, content in contents.items() if content is not None}


def cache_path(file: Path) -> Path | None:
    """Return the path of a picture's thumbnail in its store; None for a picture elsewhere.

    ``<store>/images/ab/<key>.png`` has ``<store>/thumbnails/<key>.webp``.
    """
    if len(file.parents) <= 2 or file.parents[1].name != "images":  # noqa: PLR2004 - two folders up
        return None
    return file.parents[2] / "thumbnails" / f"{file.stem}.webp"


def _cached(file: Path) -> bytes | None:
    cache = cache_path(file)
    if cache is None:
        return None
    try:
        if cache.stat().st_mtime_ns < file.stat().st_mtime_ns:
            return None
        return cache.read_bytes()
    except OSError:
        return None


def _make(file: Path) -> bytes | None:
    content = _shrunk(file)
    cache = cache_path(file)
    if content is None or cache is None:
        return content
    try:
        write_whole(cache, content)
    except StoreError:
        # Without the cache, as in a read-only store, the next report is only slower.
        return content
    return content


def _shrunk(file: Path) -> bytes | None:
    from PIL import Image

    small = picture_in(file)
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
