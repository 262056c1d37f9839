"""``t2i label export``: copy a random part of a run's images for people to label."""

from __future__ import annotations

import argparse
import csv
import io
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from pytest_t2i.adapters.models.manifest import REVISED
from pytest_t2i.adapters.picture_files import picture_in
from pytest_t2i.adapters.tables import printed_cell
from pytest_t2i.cli.report import located
from pytest_t2i.cli.support.arguments import path, say, value
from pytest_t2i.data import FoundObject, Mask
from pytest_t2i.errors import ConfigurationError, StoreError
from pytest_t2i.files import explain, write_whole
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.self_describing_png import nameless
from pytest_t2i.prompts.grammar import with_article
from pytest_t2i.reporting.formatting import several
from pytest_t2i.reporting.pictures import outlined
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.picture_paths import exists, store_of_run
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.settings import whole

MANIFEST = "manifest.csv"


class PictureManifest:
    """A manifest that numbers pictures, and is written when all of them are there."""

    def __init__(self, folder: Path, columns: Sequence[str], count: int) -> None:
        self.folder, self.digits = folder, len(str(count))
        self.rows: list[Sequence[object]] = [("file", *columns)]

    def add(self, suffix: str, row: Sequence[object]) -> Path:
        """Add a row, and return the file for its picture."""
        name = f"{len(self.rows):0{self.digits}}{suffix}"
        self.rows.append((name, *row))
        return self.folder / name

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write the manifest at the end of this context."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            raise StoreError(explain(self.folder, error)) from error
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(map(printed_cell, row) for row in self.rows)
        write_whole(self.folder / MANIFEST, text.getvalue().encode())


class Chosen(NamedTuple):
    """An image that is copied."""

    file: Path
    prompt: str
    seed: int
    revised_prompt: str | None
    """The prompt that a service says it used instead."""


def choose(record: RunRecord, per_prompt: int, seed: int) -> list[Chosen]:
    """Return randomly chosen images, in random order.

    The choice must depend neither on the image nor on its detections, as the correction of a run by
    labels assumes.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    picks = []
    for prompt in record.prompts:
        if prompt.variant == "neutral":
            there = [of_image(prompt, image) for image in _images_there(prompt)]
            picks += rng.sample(there, min(per_prompt, len(there)))
    rng.shuffle(picks)
    return picks


def _images_there(prompt: PromptRecord) -> list[ImageRecord]:
    return [image for image in prompt.images if image.file and exists(image.file)]


def of_image(prompt: PromptRecord, image: ImageRecord) -> Chosen:
    return Chosen(Path(str(image.file)), prompt.text, image.seed, image.revised_prompt)


def copy(chosen: list[Chosen], folder: Path) -> None:
    """Copy the images under numbers, and write the manifest of their prompts and seeds."""
    revised = [REVISED] if any(pick.revised_prompt for pick in chosen) else []
    manifest = PictureManifest(folder, ("prompt", "seed", *revised), len(chosen))
    with manifest.written():
        for pick in chosen:
            cells = [pick.revised_prompt or ""] if revised else []
            row = (pick.prompt, pick.seed, *cells)
            manifest.add(pick.file.suffix, row).write_bytes(nameless(pick.file))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, the number of images, and the folder to copy them to."""
    parser.add_argument("source", metavar="RUN", type=path, help="run.json to take images from")
    parser.add_argument("folder", metavar="FOLDER", type=path, help="new folder for the copies")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--per-prompt",
        type=value(whole(1)),
        default=10,
        metavar="N",
        help="images per prompt (default: 10)",
    )
    which.add_argument(
        "--objects",
        type=value(whole(1)),
        metavar="N",
        help="instead: N objects that the run's object detector found, each outlined, to confirm "
        "or reject",
    )
    parser.add_argument(
        "--seed",
        type=value(whole(0)),
        default=0,
        metavar="N",
        help="seed of the choice (default: 0)",
    )
    parser.add_argument(
        "--store",
        type=path,
        metavar="DIR",
        help="store that holds the images (default: a .t2i beside or above the run)",
    )


def run(
    source: Path,
    folder: Path,
    *,
    per_prompt: int,
    objects: int | None,
    seed: int,
    store: Path | None,
) -> int:
    """Copy randomly chosen images of a run, under numbers as names; return 0."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty: name a new folder, so that no images mix")
    record = located(read_run(source), source, [store] if store else [])
    labels = ""
    if objects is None:
        # Copy randomly chosen images of every prompt; return how many.
        picks = choose(record, per_prompt, seed)
        if not picks:
            raise ConfigurationError(f"{source} names no image that is still there")
        copy(picks, folder)
        summary = several(len(picks), "image")
    else:
        count = _sample_objects(record, store or store_of_run(source), folder, objects, seed)
        summary, labels = several(count, "object"), " --labels yes-no"
    model = f" --model {quote(record.model)}" if record.model else ""
    say(f"{summary} in {folder}")
    next_step = f"next: t2i label page {quote(str(folder))} --annotator NAME"
    say(f"{next_step}{labels}{model}")
    return 0


InPicture = tuple[Path, str, FoundObject]
"""File and prompt of a picture, and an object in it."""


def _sample_objects(record: RunRecord, store: Path, folder: Path, count: int, seed: int) -> int:
    """Copy randomly chosen objects that the run's object detector found; return how many."""
    objects = _choose_objects(record, store, count, seed)
    _copy_objects(objects, folder)
    return len(objects)


def _choose_objects(record: RunRecord, store: Path, count: int, seed: int) -> list[InPicture]:
    finder, model = record.provenance.get("objects"), record.provenance.get("model")
    if not isinstance(finder, dict) or not isinstance(model, dict):
        raise ConfigurationError(
            "--objects: this run looked for no objects: name a run with tests of objects or "
            "dependencies"
        )
    objects = list(_seen(Store(store), str(finder["fingerprint"]), str(model["fingerprint"])))
    if not objects:
        raise ConfigurationError(
            f"--objects: {store} holds no object that {finder['finder']} found"
        )
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    return rng.sample(objects, min(count, len(objects)))


def _seen(store: Store, finder: str, model: str) -> list[InPicture]:
    prompts = store.seen_by(finder, model)
    images, objects = store.images(list(prompts)), store.objects(list(prompts), finder)
    return [
        (image.file, prompts[key], seen_object)
        for key, image in images.items()
        if image.file is not None
        for seen_object in objects.get(key, ())
    ]


def _copy_objects(objects: list[InPicture], folder: Path) -> None:
    manifest = PictureManifest(folder, ("prompt", "question"), len(objects))
    with manifest.written():
        for file, prompt, seen_object in objects:
            picture = picture_in(file)
            if picture is None:
                raise StoreError(f"{file} cannot be read as a picture. Run t2i store verify.")
            question = f"Is the outlined object {with_article(seen_object.name)}?"
            target = manifest.add(".png", (prompt, question))
            outlined(picture, Mask.of(seen_object.region(picture.size))).save(target)
