"""``t2i mitigate``: compare a prompt or a suite with and without mitigations."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError

from pytest_t2i_mitigation.one_prompt import PICTURES, show
from pytest_t2i_mitigation.try_all import print_table, try_all

KEPT = "Finished pictures are kept: the same command resumes from there."
"""The note after an interruption."""
REPORT = Path("reports/t2i-mitigate")
OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "steps": (int, "denoising steps (default: the model's)"),
    "guidance": (float, "guidance scale (default: the model's)"),
    "size": (int, "width and height in pixels (default: the model's)"),
    "dtype": (str, "number format of the model: float32, float16 or bfloat16 (default: auto)"),
    "device": (str, "device of the model: cpu, cuda or mps (default: auto)"),
    "detector": (
        str,
        "detector that decides; with a comma, a second one as second judge (default: the model's)",
    ),
    "objects": (str, "with --all: object detector, the second judge without a second detector"),
    "store": (Path, "with --all: folder of images and detections (default: .t2i)"),
}
"""The options of a run that are passed on: name -> type, help."""
OF_RUNS = ("objects", "store")
"""The options that need ``--all``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: a model, mitigations, and a prompt or a suite."""
    parser.add_argument(
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help='prompt to compare with and without one mitigation, such as "a person playing '
        'basketball"',
    )
    parser.add_argument(
        "--model",
        required=True,
        metavar="NAME",
        help="model: alias, hub id, folder or module:factory, as in --t2i-model",
    )
    parser.add_argument(
        "--mitigation",
        action="append",
        default=[],
        metavar="NAME[:key=value,...]",
        help="mitigation to try (t2i list mitigations); with --all, may be repeated (default "
        "there: all that are installed)",
    )
    parser.add_argument(
        "--all",
        type=Path,
        metavar="SUITE",
        help="try mitigations on a suite instead of a prompt, such as suites/mitigation",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the first picture (default: 0)"
    )
    parser.add_argument(
        "--images",
        type=int,
        metavar="N",
        help=f"images per prompt (default: {PICTURES}; with --all, the suite's)",
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=REPORT,
        metavar="DIR",
        help=f"folder to write to (default: {REPORT})",
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
    """Compare one prompt, or print the table of a suite; return the exit status."""
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
            raise T2IError(f"--{name} goes with --all: it is not used for a single prompt")
    return show(model, mitigation, prompt or "", report, options)
