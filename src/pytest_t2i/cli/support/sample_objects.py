"""``t2i sample --objects``: copy detected objects, outlined, for people to confirm or reject."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.cli.support.sample_manifest import Manifest
from pytest_t2i.data import FoundObject, Mask
from pytest_t2i.errors import ConfigurationError, StoreError
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts.grammar import with_article
from pytest_t2i.reporting.overlays import outlined
from pytest_t2i.runs.record import RunRecord


class Seen(NamedTuple):
    """An object that was found in a picture."""

    file: Path
    prompt: str
    seen_object: FoundObject


def sample_objects(record: RunRecord, store: Path, folder: Path, count: int, seed: int) -> int:
    """Copy randomly chosen objects that the run's object detector found; return how many.

    Raises:
        ConfigurationError: the run looked for no objects, or the store has none of them.
        StoreError: a picture cannot be read or written.
    """
    seen = _choose_objects(record, store, count, seed)
    _copy_objects(seen, folder)
    return len(seen)


def _choose_objects(record: RunRecord, store: Path, count: int, seed: int) -> list[Seen]:
    """Return randomly chosen objects that the run's object detector found.

    Raises:
        ConfigurationError: the run looked for no objects, or the store has none of them.
    """
    finder, model = record.provenance.get("objects"), record.provenance.get("model")
    if not isinstance(finder, dict) or not isinstance(model, dict):
        raise ConfigurationError(
            "--objects: this run looked for no objects: name a run with tests of objects or "
            "dependencies"
        )
    seen = list(_seen(Store(store), str(finder["fingerprint"]), str(model["fingerprint"])))
    if not seen:
        raise ConfigurationError(
            f"--objects: {store} holds no object that {finder['finder']} found"
        )
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    return rng.sample(seen, min(count, len(seen)))


def _seen(store: Store, finder: str, model: str) -> list[Seen]:
    prompts = store.seen_by(finder, model)
    images, objects = store.images(list(prompts)), store.objects(list(prompts), finder)
    return [
        Seen(image.file, prompts[key], seen_object)
        for key, image in images.items()
        if image.file is not None
        for seen_object in objects.get(key, ())
    ]


def _copy_objects(seen: list[Seen], folder: Path) -> None:
    """Copy the pictures under numbers, each with one object outlined and a question about it."""
    manifest = Manifest(folder, ("prompt", "question"), len(seen))
    with manifest.written():
        for file, prompt, seen_object in seen:
            picture = picture_in(file)
            if picture is None:
                raise StoreError(f"{file} cannot be read as a picture. Run t2i store verify.")
            question = f"Is the outlined object {with_article(seen_object.name)}?"
            target = manifest.add(".png", (prompt, question))
            outlined(picture, Mask.of(seen_object.region(picture.size))).save(target)
