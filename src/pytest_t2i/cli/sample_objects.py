"""``t2i sample --objects``: what an object finder saw, outlined, for people to say yes or no to."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.data import FoundObject, Mask
from pytest_t2i.errors import ConfigurationError, StoreError
from pytest_t2i.files import explain, write_whole
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts.grammar import with_article
from pytest_t2i.reporting.overlays import outlined
from pytest_t2i.runs.record import RunRecord

MANIFEST = "manifest.csv"


class Seen(NamedTuple):
    """An object in a picture."""

    file: Path
    prompt: str
    found: FoundObject


def choose_objects(record: RunRecord, store: Path, count: int, seed: int) -> list[Seen]:
    """Objects that the run's finder saw in pictures of its model, drawn at random.

    Raises:
        ConfigurationError: the run looked for no objects, or the store has none of them.
    """
    finder, model = record.provenance.get("objects"), record.provenance.get("model")
    if not isinstance(finder, dict) or not isinstance(model, dict):
        raise ConfigurationError(
            "--objects: this run looked for no objects: give one of a suite that asks for "
            "objects or dependencies"
        )
    seen = list(_seen(Store(store), str(finder["fingerprint"]), str(model["fingerprint"])))
    if not seen:
        raise ConfigurationError(f"--objects: {store} holds no object that {finder['finder']} saw")
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    return rng.sample(seen, min(count, len(seen)))


def _seen(store: Store, finder: str, model: str) -> list[Seen]:
    prompts = store.seen_by(finder, model)
    images, objects = store.images(list(prompts)), store.objects(list(prompts), finder)
    return [
        Seen(image.file, prompts[key], found)
        for key, image in images.items()
        if image.file is not None
        for found in objects.get(key, ())
    ]


def copy_objects(seen: list[Seen], folder: Path) -> None:
    """The pictures under numbers, each with one object outlined and a question about it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("file", "prompt", "question"))
    digits = len(str(len(seen)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (file, prompt, found) in enumerate(seen, 1):
            name = f"{number:0{digits}}.png"
            picture = picture_in(file)
            if picture is None:
                raise StoreError(f"{file}: is no picture. Run t2i store verify.")
            outlined(picture, Mask.of(found.region(picture.size))).save(folder / name)
            writer.writerow((name, prompt, f"Is what is outlined {with_article(found.name)}?"))
    except OSError as error:
        raise StoreError(explain(folder, error)) from error
    write_whole(folder / MANIFEST, text.getvalue().encode())
