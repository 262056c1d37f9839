"""``t2i sample``: a random part of a run's images, copied for people to label."""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from pytest_t2i.adapters.models.manifest import REVISED
from pytest_t2i.cli.arguments import path, value
from pytest_t2i.cli.sample_manifest import Manifest
from pytest_t2i.cli.say import say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.store.self_describing_png import nameless
from pytest_t2i.runs.picture_folders import check_pictures, exists, store_of
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.settings import whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which images, how many of them, and where to."""
    parser.add_argument("source", metavar="RUN", type=path, help="a run.json")
    parser.add_argument("folder", metavar="FOLDER", type=path, help="a new folder")
    parser.add_argument(
        "--per-prompt", type=value(whole(1)), default=10, metavar="N", help="images per prompt (10)"
    )
    parser.add_argument(
        "--objects",
        type=value(whole(1)),
        metavar="N",
        help="instead: N objects that the run's finder saw, each outlined, to say yes or no to",
    )
    parser.add_argument(
        "--seed", type=value(whole(0)), default=0, metavar="N", help="of the choice (0)"
    )
    parser.add_argument(
        "--store",
        type=path,
        metavar="DIR",
        help="where the images lie (a .t2i beside or above the run)",
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
    """Copy images of every prompt at random, under names that tell nothing."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty: give a new folder, so that nothing mixes")
    record = read_run(source)
    check_pictures(record, source, [store] if store else [])
    if objects is None:
        told = f"{sample_images(record, source, folder, per_prompt, seed)} images"
        labels = ""
    else:
        from pytest_t2i.cli.sample_objects import sample_objects

        count = sample_objects(record, store or store_of(source), folder, objects, seed)
        told, labels = f"{count} objects", " --labels yes-no"
    model = f" --model {quote(record.model)}" if record.model else ""
    say(f"{told} in {folder}")
    next_step = f"next: t2i label {quote(str(folder))} --annotator NAME"
    say(f"{next_step}{labels}{model}")
    return 0


def sample_images(record: RunRecord, source: Path, folder: Path, per_prompt: int, seed: int) -> int:
    """Copy images of every prompt at random; returns how many."""
    chosen = choose(record, per_prompt, seed)
    if not chosen:
        raise ConfigurationError(f"{source} names no image that is still there")
    copy(chosen, folder)
    return len(chosen)


class Chosen(NamedTuple):
    """An image that is copied."""

    file: Path
    prompt: str
    seed: int
    revised_prompt: str | None
    """What a service says that it drew."""


def choose(record: RunRecord, per_prompt: int, seed: int) -> list[Chosen]:
    """Randomly chosen images, in random order.

    Chance alone must choose, without a look at the image or the detector's word: the correction
    of a run by labels rests on it.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    chosen = []
    for prompt in record.prompts:
        if prompt.variant != "neutral":
            continue
        there = [
            Chosen(Path(i.file), prompt.text, i.seed, i.revised_prompt)
            for i in prompt.images
            if i.file and exists(i.file)
        ]
        chosen += rng.sample(there, min(per_prompt, len(there)))
    rng.shuffle(chosen)
    return chosen


def copy(chosen: list[Chosen], folder: Path) -> None:
    """The images under numbers, and a manifest that says what they are, and what was drawn."""
    revised = [REVISED] if any(one.revised_prompt for one in chosen) else []
    manifest = Manifest(folder, ("prompt", "seed", *revised), len(chosen))
    with manifest.written():
        for one in chosen:
            drawn = [one.revised_prompt or ""] if revised else []
            row = (one.prompt, one.seed, *drawn)
            manifest.add(one.file.suffix, row).write_bytes(nameless(one.file))
