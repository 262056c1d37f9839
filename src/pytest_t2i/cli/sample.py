"""``t2i sample``: a random part of a run's images, copied for people to label.

With ``--for-correction`` not every image has the same probability (sample_for_correction.py).
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
    """Which images, how many of them, and where to."""
    parser.add_argument("source", metavar="RUN", type=path, help="a run.json")
    parser.add_argument("folder", metavar="FOLDER", type=path, help="a new folder")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--per-prompt", type=value(whole(1)), default=10, metavar="N", help="images per prompt (10)"
    )
    which.add_argument(
        "--for-correction",
        type=value(whole(1)),
        metavar="N",
        help="instead: N images in all, those more often of which the detector is unsure, to "
        "correct the model bias score by few labels",
    )
    which.add_argument(
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
    for_correction: int | None,
    objects: int | None,
    seed: int,
    store: Path | None,
) -> int:
    """Copy images of a run at random, under names that tell nothing."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty: give a new folder, so that nothing mixes")
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
