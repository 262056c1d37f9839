"""Features of pictures from the encoder below the heads; each picture is encoded once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from pytest_t2i import Encoder, Pictured, T2IError, load

from pytest_t2i_goya.prompts import Described, crossed, described

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 64
"""The number of pictures that are encoded together."""
EVERY = 16
"""The number of batches after which features are saved and progress is printed."""


@dataclass(frozen=True)
class Seen:
    """Pictures with their descriptions and features."""

    prompts: list[Described]
    """The prompt of each picture."""
    seeds: list[int]
    """The seed of each picture."""
    features: np.ndarray
    """The features, [n, d] float32."""

    @property
    def contents(self) -> list[str]:
        return [one.content for one in self.prompts]

    @property
    def styles(self) -> list[str]:
        return [one.style for one in self.prompts]

    def __len__(self) -> int:
        return len(self.prompts)


@dataclass(frozen=True)
class Asked:
    """The pictures that a command works on."""

    model: Any
    contents: Sequence[str]
    styles: Sequence[str]
    per_content: int
    images: int | None
    seed: int
    options: Mapping[str, Any]
    """The options of a run: steps, store and so on."""

    @property
    def prompts(self) -> list[Described]:
        """The prompts: contents crossed with styles, or without contents those of a folder.

        Raises T2IError for a style that no prompt has, and for a prompt without a style.
        """
        if self.contents:
            return crossed(self.contents, self.styles, self.per_content, self.seed)
        return described(getattr(load(self.model).model, "prompts", ()), self.styles)

    def pictures(self) -> Iterator[tuple[Described, Pictured]]:
        """Yield every picture that is not refused, with its prompt; missing pictures are made."""
        by_text = {one.text: one for one in self.prompts}
        loaded = load(self.model, seed=self.seed, **self.options)
        made = loaded.pictures(list(by_text), self.images)
        return ((by_text[one.prompt], one) for one in made if one.image is not None)


def seen(asked: Asked, encoder: Encoder, kept: Path | None, say: Callable[[str], None]) -> Seen:
    """Return the pictures with their features, which a file keeps from one call to the next."""
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
    """The features of pictures, found by their pixels."""

    def __init__(self, encoder: Encoder, kept: Path | None) -> None:
        """Read the features that ``encoder`` wrote to the file ``kept``, if there is one."""
        self._encoder, self._kept = encoder, kept
        self._rows = {} if kept is None else _read(kept, encoder.fingerprint)
        self._told = len(self._rows)

    def features(self, images: Sequence[Image]) -> list[np.ndarray]:
        """Return the features of each picture, [d] each."""
        names = [_name(image) for image in images]
        new = {n: i for n, i in zip(names, images, strict=True) if n not in self._rows}
        if new:
            self._rows.update(zip(new, self._encoder.encode(list(new.values())), strict=True))
        return [self._rows[name] for name in names]

    def keep(self) -> None:
        """Write the file, whole or not at all, where features are new."""
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
    """Return the features in a file; {} if it is missing, damaged or of another encoder."""
    try:
        with np.load(kept, allow_pickle=False) as file:
            if str(file["by"]) != fingerprint:
                return {}
            return dict(zip(file["names"].tolist(), file["features"], strict=True))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}
