"""Pictures as features of the encoder below, each encoded once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from pytest_t2i import Encoder, Pictured, T2IError, load, pictures

from pytest_t2i_goya.prompts import Described, crossed, described

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 64
"""Pictures that are encoded at once, and lost at most where a command is stopped."""
EVERY = 16
"""Batches after which features are kept, and progress is told."""


@dataclass(frozen=True)
class Seen:
    """Pictures with their descriptions and features."""

    prompts: list[Described]
    """Prompt of each picture."""
    seeds: list[int]
    features: np.ndarray
    """[n, d] float32."""

    @property
    def contents(self) -> list[str]:
        """Content of each picture."""
        return [one.content for one in self.prompts]

    @property
    def styles(self) -> list[str]:
        """Style of each picture."""
        return [one.style for one in self.prompts]

    def __len__(self) -> int:
        return len(self.prompts)


@dataclass(frozen=True)
class Asked:
    """Which pictures are meant."""

    model: Any
    contents: Sequence[str]
    styles: Sequence[str]
    per_content: int
    images: int | None
    seed: int
    options: Mapping[str, Any]
    """Options of a run: steps, store and so on."""

    @property
    def prompts(self) -> list[Described]:
        """Contents crossed with styles; of a folder of pictures without contents those it has.

        Raises T2IError for a style that is none, and for a prompt without one.
        """
        if self.contents:
            return crossed(self.contents, self.styles, self.per_content, self.seed)
        return described(getattr(load(self.model).model, "prompts", ()), self.styles)

    def pictures(self) -> Iterator[tuple[Described, Pictured]]:
        """Every picture that is not refused, with its descriptions; made where it is missing."""
        by_text = {one.text: one for one in self.prompts}
        made = pictures(
            self.model, list(by_text), images=self.images, seed=self.seed, **self.options
        )
        return ((by_text[one.prompt], one) for one in made if one.image is not None)


def seen(asked: Asked, encoder: Encoder, kept: Path | None, say: Callable[[str], None]) -> Seen:
    """Pictures with their features, which are kept in a file; what it has is not encoded again."""
    memory = Memory(encoder, kept)
    prompts, seeds, rows, batches = list[Described](), list[int](), list[np.ndarray](), 0
    stream = asked.pictures()
    while part := list(islice(stream, BATCH)):
        rows += memory.features([one.image for _, one in part if one.image is not None])
        prompts += [prompt for prompt, _ in part]
        seeds += [one.seed for _, one in part]
        batches += 1
        if batches % EVERY == 0:
            memory.keep()
            say(f"features of {len(rows)} pictures")
    memory.keep()
    if not rows:
        raise T2IError(f"{asked.model}: every picture was refused, so nothing can be learned")
    return Seen(prompts, seeds, np.stack(rows).astype(np.float32))


class Memory:
    """Features by the pixels of their pictures."""

    def __init__(self, encoder: Encoder, kept: Path | None) -> None:
        """Args: the encoder, and the file in which its features are kept."""
        self._encoder, self._kept = encoder, kept
        self._rows = {} if kept is None else _read(kept, encoder.fingerprint)
        self._told = len(self._rows)

    def features(self, images: Sequence[Image]) -> list[np.ndarray]:
        """[d] of each picture."""
        names = [_name(image) for image in images]
        new = {n: i for n, i in zip(names, images, strict=True) if n not in self._rows}
        if new:
            self._rows.update(zip(new, self._encoder.encode(list(new.values())), strict=True))
        return [self._rows[name] for name in names]

    def keep(self) -> None:
        """Write what is new, whole or not at all."""
        if self._kept is None or len(self._rows) == self._told:
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._kept.with_name(f".{self._kept.name}.part")
        with temporary.open("wb") as file:
            np.savez(
                file, by=self._encoder.fingerprint, names=np.array(list(self._rows)),
                features=np.stack(list(self._rows.values())),
            )  # fmt: skip
        temporary.replace(self._kept)
        self._told = len(self._rows)


def _name(image: Image) -> str:
    return hashlib.sha256(f"{image.mode}{image.size}".encode() + image.tobytes()).hexdigest()


def _read(kept: Path, fingerprint: str) -> dict[str, np.ndarray]:
    """What is kept; nothing where there is no file, or it is damaged or of another encoder."""
    try:
        with np.load(kept, allow_pickle=False) as file:
            if str(file["by"]) != fingerprint:
                return {}
            return dict(zip(file["names"].tolist(), file["features"], strict=True))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}
