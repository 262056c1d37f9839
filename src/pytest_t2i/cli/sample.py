"""``t2i sample``: copy a random part of a run's images for people to label.

With ``--for-correction``, images have different probabilities (sample_for_correction.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from shlex import quote

from pytest_t2i.cli.report import located
from pytest_t2i.cli.support.arguments import path, value
from pytest_t2i.cli.support.sample_images import sample_images
from pytest_t2i.cli.support.say import say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.picture_folders import store_of
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.settings import whole


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
        "--for-correction",
        type=value(whole(1)),
        metavar="N",
        help="instead: N images in all, drawn more often where the detector is unsure, so that few "
        "labels correct the model bias score",
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
    for_correction: int | None,
    objects: int | None,
    seed: int,
    store: Path | None,
) -> int:
    """Copy randomly chosen images of a run, under numbers as names; return 0."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty: name a new folder, so that no images mix")
    record = located(read_run(source), source, [store] if store else [])
    labels = ""
    if for_correction is not None:
        from pytest_t2i.cli.support.sample_for_correction import sample_for_correction

        drawn = sample_for_correction(record, source, folder, for_correction, seed)
        told = several(drawn, "image")
    elif objects is None:
        told = several(sample_images(record, source, folder, per_prompt, seed), "image")
    else:
        from pytest_t2i.cli.support.sample_objects import sample_objects

        count = sample_objects(record, store or store_of(source), folder, objects, seed)
        told, labels = several(count, "object"), " --labels yes-no"
    model = f" --model {quote(record.model)}" if record.model else ""
    say(f"{told} in {folder}")
    next_step = f"next: t2i label {quote(str(folder))} --annotator NAME"
    say(f"{next_step}{labels}{model}")
    return 0
