"""``t2i mitigate``: compare a prompt or a suite with and without mitigations."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError

from pytest_t2i_mitigation.one_prompt import PICTURES, show
from pytest_t2i_mitigation.try_all import print_table, try_all

KEPT = "Pictures that were finished are kept: the same command goes on from there."
"""What an interrupted command leaves."""
REPORT = Path("reports/t2i-mitigate")
OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "steps": (int, "denoising steps"),
    "guidance": (float, "guidance scale"),
    "size": (int, "width and height in pixels"),
    "dtype": (str, "precision of the model"),
    "device": (str, "where the model runs"),
    "detector": (str, "detector that decides; a second one by comma is the second judge"),
    "objects": (str, "object detector, the second judge where there is no second detector"),
    "store": (Path, "where pictures are kept"),
}
"""Options of a run that are passed on: name -> type, help."""
OF_RUNS = ("objects", "store")
"""Those of whole runs alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A model, mitigations, and a prompt or a suite."""
    parser.add_argument("prompt", nargs="?", help='such as "a person playing basketball"')
    parser.add_argument("--model", required=True, metavar="NAME", help="as --t2i-model takes it")
    parser.add_argument(
        "--mitigation",
        action="append",
        default=[],
        metavar="NAME[:key=value,...]",
        help="of t2i list mitigations; with --all several times, or every installed one without it",
    )
    parser.add_argument(
        "--all",
        type=Path,
        metavar="SUITE",
        help="try them on this suite: suites/mitigation",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first picture (0)")
    parser.add_argument(
        "--images", type=int, metavar="N", help=f"images per prompt ({PICTURES} of a single one)"
    )
    parser.add_argument(
        "--report", type=Path, default=REPORT, metavar="DIR", help=f"where to write ({REPORT})"
    )
    for name, (kind, told) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, help=told)


def run(
    model: str,
    prompt: str | None,
    mitigation: list[str],
    all: Path | None,  # noqa: A002 - the name of the option
    report: Path,
    **given: Any,
) -> int:
    """Show one prompt, or print the table of a suite."""
    options = {name: value for name, value in given.items() if value is not None}
    if (prompt is None) == (all is None):
        raise T2IError(
            'expected a prompt, such as "a person playing basketball", or --all SUITE, such as '
            "--all suites/mitigation"
        )
    if all is not None:
        return print_table(try_all(model, mitigation, all, report, options), report)
    for name in OF_RUNS:
        if name in options:
            raise T2IError(f"--{name} goes with --all: pictures of one prompt need none")
    return show(model, mitigation, prompt or "", report, options)
