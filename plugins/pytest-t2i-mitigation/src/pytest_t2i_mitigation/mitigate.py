"""``t2i mitigate``: a mitigation on one prompt, or all of them on a suite, to choose by."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError

KEPT = "Pictures that were finished are kept: the same command goes on from there."
"""What an interrupted command leaves."""
REPORT = Path("reports/t2i-mitigate")
OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "steps": (int, "denoising steps"),
    "guidance": (float, "guidance scale"),
    "size": (int, "width and height in pixels"),
    "dtype": (str, "precision of the model"),
    "device": (str, "where the model runs"),
    "detector": (str, "whose word decides"),
    "store": (Path, "where pictures are kept"),
}
"""What both have in common with a run of pytest: name -> type, help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One prompt with ``--mitigation``, or a suite with ``--all``."""
    parser.add_argument("prompt", nargs="?", help="a neutral text, such as 'a person in a park'")
    parser.add_argument("--model", required=True, metavar="NAME", help="as --t2i-model takes it")
    parser.add_argument(
        "--mitigation",
        action="append",
        default=[],
        metavar="NAME[:key=value,...]",
        help="of t2i list mitigations; with --all several times, every installed one without it",
    )
    parser.add_argument(
        "--all", type=Path, metavar="SUITE", help="try mitigations on this suite: suites/mitigation"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the pictures (0)")
    parser.add_argument("--images", type=int, metavar="N", help="with --all: images per prompt")
    parser.add_argument(
        "--report", type=Path, default=REPORT, metavar="DIR", help=f"where to write ({REPORT})"
    )
    for name, (kind, told) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=kind, help=told)


def run(
    prompt: str | None,
    model: str,
    mitigation: list[str],
    all: Path | None,  # noqa: A002 - the name of the option
    seed: int,
    images: int | None,
    report: Path,
    **given: Any,
) -> int:
    """Write the page of a prompt, or print the table of a suite."""
    options = {name: value for name, value in given.items() if value is not None}
    if all is None:
        if images is not None:
            raise T2IError("--images goes with --all: the page of one prompt has its own number")
        return _one(prompt, model, mitigation, seed, report, options)
    if prompt is not None:
        raise T2IError(f"expected a prompt or --all SUITE, got both: {prompt!r} and {all}")
    from pytest_t2i_mitigation.try_all import print_table, try_all

    options |= {"seed": seed} | ({"images": images} if images is not None else {})
    return print_table(try_all(model, mitigation, all, report, options), report)


def _one(
    prompt: str | None,
    model: str,
    mitigation: list[str],
    seed: int,
    report: Path,
    options: dict[str, Any],
) -> int:
    if prompt is None or len(mitigation) != 1:
        raise T2IError(
            "expected one --mitigation NAME and a prompt, such as t2i mitigate --model M "
            '--mitigation random-counterpart "a person in a park", or --all SUITE'
        )
    try:
        page = import_module("pytest_t2i_mitigation.one_prompt").page
    except ModuleNotFoundError:
        raise T2IError("this version has no page of one prompt: use --all SUITE") from None
    print(f"page: {page(model, mitigation[0], prompt, seed=seed, folder=report, **options)}")  # noqa: T201 - a command line tool
    return 0
