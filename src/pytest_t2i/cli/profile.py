"""``t2i profile``: measure the time of making and detecting images, part by part."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_t2i.cli.support.arguments import add_run_options, run_settings, value
from pytest_t2i.cli.support.say import say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.profiling import Profile, Spent, cores_here, profile
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.runs.session import Session
from pytest_t2i.settings import whole

RUN_OPTIONS = (
    *("model", "detector", "seed", "steps", "guidance", "size", "other-size", "dtype", "device"),
    "batch",
    *("catalogue", "store", "trust-remote-code"),
)
"""The options that a profile shares with a run of pytest."""
PROMPTS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: options of a run, and the number of images."""
    add_run_options(parser, RUN_OPTIONS, required=("model",))
    parser.add_argument(
        "--images",
        type=value(whole(1)),
        default=16,
        metavar="N",
        help=f"images of each of {PROMPTS} prompts; they are made twice and not kept (default: 16)",
    )


def run(*, images: int, **run_options: Any) -> int:
    """Measure, and print a table; return 0."""
    settings = run_settings(run_options)
    components = Components(settings, Store(settings.store))
    session = Session(settings, components)
    session.validate()
    if is_ready_made(components.model()):
        raise ConfigurationError(
            f"t2i profile measures the making of images, but {settings.model} is a folder of "
            "pictures made elsewhere: name a model that makes images"
        )
    prompts = builtin_axes().profession.prompts()[:PROMPTS]
    found = profile(components, prompts, images)
    for line in lines(found, settings.model or "", ", ".join(components.detector_names)):
        say(line)
    return 0


def lines(found: Profile, model: str, detectors: str) -> list[str]:
    r"""Return the lines of the table, then the speed of a whole run.

    >>> found = Profile(2, {"denoiser": Spent(0.06, 0.05), "PNG": Spent(0.01, 0.01)}, 0.1, 0.15)
    >>> print("\n".join(lines(found, "m", "d")[1:4]))
    part                    wall ms    core ms   share
    denoiser                   30.0       25.0    83 %
    PNG                         5.0        5.0    17 %
    """
    whole_time = Spent(
        sum(part.wall for part in found.parts.values()),
        sum(part.processor for part in found.parts.values()),
    )
    rows = sorted(found.parts.items(), key=lambda item: -item[1].processor)
    rate = found.images / found.seconds
    core = found.processor / found.images * 1000
    return [
        f"{model} with {detectors}: {found.images} images, each part alone in one thread",
        f"{'part':<22}{'wall ms':>9}{'core ms':>11}{'share':>8}",
        *(_row(name, part, found.images, whole_time.processor) for name, part in rows),
        _row("all", whole_time, found.images, whole_time.processor),
        f"in a run: {rate:.1f} images/s, {core:.1f} ms of a core per image, "
        f"{found.cores_busy:.2f} of {cores_here()} cores busy",
    ]


def _row(name: str, part: Spent, images: int, of_all: float) -> str:
    wall, core = (1000 * seconds / images for seconds in (part.wall, part.processor))
    share = part.processor / of_all if of_all else 0.0
    return f"{name:<22}{wall:>9.1f}{core:>11.1f}{100 * share:>6.0f} %"
