"""The console script ``t2i``: it reads arguments; pytest_t2i.cli does what they say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_t2i.errors import T2IError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="t2i", description="Companion of the pytest plugin.")
    parser.add_argument(
        "--version", action="version", version=f"pytest-t2i {version('pytest-t2i')}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_listing, _report, _plan, _sample, _agreement, _label, _hunt):
        add(commands)
    parsed = vars(parser.parse_args(arguments))
    parsed.pop("command")
    module, function = parsed.pop("run")
    try:
        # One command alone is imported, so that each starts fast.
        run: Callable[..., int] = getattr(import_module(f"pytest_t2i.cli.{module}"), function)
        return run(**parsed)
    except T2IError as error:
        print(f"ERROR: {error}", file=sys.stderr)  # noqa: T201 - a command line tool
        return 2


def level(text: str) -> float:
    """A confidence level for argparse."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None
    if not 0.5 < value < 1.0:  # noqa: PLR2004 - at or below a coin toss would be evidence
        raise argparse.ArgumentTypeError(
            f"expected a level above 0.5 and below 1, such as 0.95, got {text}"
        )
    return value


def positive(text: str) -> int:
    """A whole number of at least 1 for argparse."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def above_zero(text: str) -> float:
    """A number above 0 for argparse."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return value


def share(text: str) -> float:
    """A probability strictly between 0 and 1 for argparse."""
    value = above_zero(text)
    if value >= 1.0:
        raise argparse.ArgumentTypeError(f"expected a number above 0 and below 1, got {text}")
    return value


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once, for argparse."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise argparse.ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return found


def budget(text: str) -> tuple[float, str]:
    """``2000`` images or ``90min`` of the device, for argparse."""
    for ending, unit in (("min", "minutes"), ("", "images")):
        if text.endswith(ending):
            value = above_zero(text.removesuffix(ending))
            return value, unit
    raise AssertionError  # the empty ending fits everything


def _listing(commands: Any) -> None:
    kinds = ("models", "detectors", "faces", "persons", "encoders", "axes")
    command = commands.add_parser("list", help="list what is registered under which name")
    command.add_argument("kind", choices=kinds)
    command.set_defaults(run=("listing", "run"))


def _report(commands: Any) -> None:
    command = commands.add_parser("report", help="render a run.json as index.html and summary.md")
    command.add_argument("source", metavar="RUN", type=Path, help="a run.json")
    command.add_argument("folder", metavar="FOLDER", type=Path, help="where to write")
    command.set_defaults(run=("report", "run"))


def _plan(commands: Any) -> None:
    command = commands.add_parser("plan", help="how many images decide, and what fewer can show")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--limits", type=Path, metavar="FILE", help="all limits of a limits.toml")
    what.add_argument("--metric", metavar="NAME", help="one metric, with --limit or --margin")
    bound = command.add_mutually_exclusive_group()
    bound.add_argument("--limit", type=float, metavar="X", help="largest value that passes")
    bound.add_argument("--margin", type=float, metavar="X", help="growth over a baseline tolerated")
    command.add_argument(
        "--prompts", type=positive, default=100, metavar="N", help="prompts of the suite (100)"
    )
    command.add_argument(
        "--confidence", dest="level", type=level, default=0.95, help="of the verdicts (0.95)"
    )
    command.add_argument(
        "--power", type=share, default=0.8, help="wanted chance of the right verdict (0.8)"
    )
    command.add_argument(
        "--beyond", type=share, default=0.2, metavar="X",
        help="how far beyond its limit or margin what is to fail lies (0.2)",
    )  # fmt: skip
    command.add_argument(
        "--before", type=float, default=0.0, metavar="X", help="score of the baseline (0: fair)"
    )
    time = command.add_mutually_exclusive_group()
    time.add_argument("--seconds-per-image", dest="seconds", type=above_zero, metavar="S")
    time.add_argument("--run", dest="measured", type=Path, metavar="RUN",
                      help="a run.json to take the seconds per image from")  # fmt: skip
    command.add_argument(
        "--budget", type=budget, metavar="IMAGES|90min", help="what can be shown with so much"
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of simulations (0)")
    command.set_defaults(run=("plan", "run"))


def _sample(commands: Any) -> None:
    command = commands.add_parser("sample", help="copy a random part of a run's images to label")
    command.add_argument("source", metavar="RUN", type=Path, help="a run.json")
    command.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder")
    command.add_argument(
        "--per-prompt", type=positive, default=10, metavar="N", help="images per prompt (10)"
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice (0)")
    command.set_defaults(run=("sample", "run"))


def _agreement(commands: Any) -> None:
    command = commands.add_parser("agreement", help="how far annotators agree, and where not")
    command.add_argument(
        "source",
        metavar="FOLDER",
        type=Path,
        help="folder with labels.csv, or a Label Studio export (.json)",
    )
    command.add_argument(
        "--confidence", dest="level", type=level, default=0.95, help="level of intervals (0.95)"
    )
    command.add_argument(
        "--all", dest="everything", action="store_true", help="list every disagreement"
    )
    command.set_defaults(run=("agreement", "run"))


def _label(commands: Any) -> None:
    command = commands.add_parser("label", help="label images by hand on a local page")
    command.add_argument("folder", metavar="FOLDER", type=Path, help="folder of images")
    who = command.add_mutually_exclusive_group(required=True)
    who.add_argument("--annotator", metavar="NAME", help="who labels; each sees only their own")
    who.add_argument("--review", action="store_true", help="settle what annotators disagree on")
    command.add_argument("--port", type=int, default=0, help="default: a free one")
    command.add_argument("--model", default="", help="model that made the images, kept with labels")
    command.set_defaults(run=("label", "run"))


def _hunt(commands: Any) -> None:
    command = commands.add_parser("hunt", help="find the most biased combinations of words")
    command.add_argument("--model", required=True, metavar="NAME", help="as for --t2i-model")
    command.add_argument(
        "--axes", type=names, default=(), metavar="A,B,C", help="axes to take words from"
    )
    command.add_argument("--axes-file", type=Path, metavar="FILE", help="TOML file of own axes")
    command.add_argument(
        "--template", action="append", default=[], metavar="TEXT",
        help='a beginning to try, such as "a portrait of a person"; may be repeated',
    )  # fmt: skip
    command.add_argument(
        "--words", type=positive, default=3, metavar="N", help="most words of a combination (3)"
    )
    command.add_argument(
        "--images", type=positive, default=2000, metavar="N", help="images in all (2000)"
    )
    command.add_argument(
        "--beyond", type=share, default=0.5, metavar="X", help="bias to look for (0.5)"
    )
    command.add_argument(
        "--held-out", type=positive, default=30, metavar="N",
        help="images that confirm each finding (30)",
    )  # fmt: skip
    command.add_argument(
        "--confidence", type=level, default=0.95, metavar="LEVEL", help="of findings (0.95)"
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the hunt (0)")
    command.add_argument("--detector", metavar="NAME", help="default: what suits the model")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (auto)")
    command.add_argument(
        "--store", type=Path, default=Path(".t2i"), metavar="DIR", help="images (.t2i)"
    )
    command.add_argument(
        "--out", type=Path, default=Path("hunt.json"), metavar="FILE", help="result (hunt.json)"
    )
    command.set_defaults(run=("hunt", "run"))
