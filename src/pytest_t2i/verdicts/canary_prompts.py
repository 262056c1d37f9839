"""Canary prompts: fixed prompts and their pictures in a baseline, to detect a changed model."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import convert

SIDE = 8
"""Width and height of a stored thumbnail, in pixels of three colours."""
REPEATS = 2
"""Number of pictures of each prompt; two show how much unchanged pictures differ."""


@dataclass(frozen=True, slots=True)
class CanaryPicture:
    """The stored part of one picture."""

    thumbnail: bytes | None
    """Colours in SIDE x SIDE pixels; None where the model gave no picture."""
    sign: int
    """Label by the deciding detector: +1 male, -1 female, 0 neither."""


@dataclass(frozen=True, slots=True)
class CanaryPrompt:
    """A fixed prompt and seed, with their recorded pictures."""

    text: str
    seed: int
    pictures: tuple[CanaryPicture, ...]


@dataclass(frozen=True, slots=True)
class _Plain:
    """A canary prompt as stored in the file."""

    text: str
    seed: int
    thumbnails: list[str | None]
    """Thumbnails in base64."""
    signs: list[int]


def as_plain(prompts: Sequence[CanaryPrompt]) -> list[dict[str, Any]]:
    """Return the prompts as the file stores them."""
    return [
        {
            "text": prompt.text,
            "seed": prompt.seed,
            "thumbnails": [
                None if picture.thumbnail is None else base64.b64encode(picture.thumbnail).decode()
                for picture in prompt.pictures
            ],
            "signs": [picture.sign for picture in prompt.pictures],
        }
        for prompt in prompts
    ]


def read_canary(path: Path, plain: Sequence[Any]) -> tuple[CanaryPrompt, ...]:
    """Return the prompts from the output of ``as_plain``; FileFormatError for anything else."""
    return tuple(_prompt(path, entry, f"canary {place}") for place, entry in enumerate(plain, 1))


def _prompt(path: Path, plain: Any, where: str) -> CanaryPrompt:
    entry = convert(path, plain, _Plain, where=where)
    if not (len(entry.thumbnails) == len(entry.signs) == REPEATS) or entry.seed < 0:
        problem = f"expected {REPEATS} thumbnails and signs, and a seed of at least 0."
        raise FileFormatError(path, problem, where=where)
    if not set(entry.signs) <= {-1, 0, 1}:
        raise FileFormatError(
            path, f"expected signs of -1, 0 or 1, got {entry.signs}.", where=where
        )
    pictures = [
        CanaryPicture(_bytes(path, thumbnail, where), sign)
        for thumbnail, sign in zip(entry.thumbnails, entry.signs, strict=True)
    ]
    return CanaryPrompt(entry.text, entry.seed, tuple(pictures))


def _bytes(path: Path, text: str | None, where: str) -> bytes | None:
    if text is None:
        return None
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if len(content) != 3 * SIDE * SIDE:
        problem = f"expected {SIDE} x {SIDE} pixels of three colours in base64."
        raise FileFormatError(path, problem, where=where)
    return content
