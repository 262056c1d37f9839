"""Objects found in a picture as bytes: compressed JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict

from pytest_t2i.data import Box, FoundObject, Mask
from pytest_t2i.errors import StoreError

MOST_BYTES = 1 << 27
"""Largest size of the objects of a picture as JSON: a few bytes can be unpacked to any number."""


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
    decompressor = zlib.decompressobj()
    plain_text = decompressor.decompress(content, MOST_BYTES)
    if not decompressor.eof:
        raise StoreError(f"objects of a picture: expected at most {MOST_BYTES >> 20} MiB")
    return tuple(
        FoundObject(plain["name"], _box(plain["box"]), _mask(plain["mask"]))
        for plain in json.loads(plain_text)
    )


def _box(plain: dict[str, float]) -> Box:
    named = ("left", "top", "right", "bottom", "score")
    left, top, right, bottom, score = (plain[name] for name in named)
    return Box(left, top, right, bottom, score)


def _mask(plain: dict[str, object] | None) -> Mask | None:
    if plain is None:
        return None
    return Mask(int(str(plain["height"])), int(str(plain["width"])), tuple(plain["runs"]))  # type: ignore[arg-type]
