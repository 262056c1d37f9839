"""``t2i list prompts``: list the prompts of suites or of the built-in axes, or write a manifest.

pytest collects the suites in a process of its own, so that their modules and conftest.py files are
not imported here.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.adapters.models.manifest import COLUMNS
from pytest_t2i.adapters.support.escaping import line
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import printed_cell
from pytest_t2i.settings import Settings

COLLECT = (
    *("-m", "pytest", "-p", "pytest_t2i.plugin.collect_prompts", "--collect-only", "-q"),
    *("-p", "no:cacheprovider"),
)
NOTHING = 5
"""The exit status of pytest where there are no tests."""


class Wanted(NamedTuple):
    """A prompt, and the number of images of it that a suite needs."""

    id: str
    text: str
    images: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the suites, and the form of the list."""
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        help="prompts: test files or folders, as pytest takes them (default: the built-in axes)",
    )
    parser.add_argument(
        "-k",
        dest="expression",
        metavar="EXPRESSION",
        help="prompts: list those of tests that pytest's -k selects",
    )
    parser.add_argument(
        "--manifest",
        action="store_true",
        help="prompts: print a manifest.csv for --t2i-model images:DIR, with a row for each "
        "picture that is needed",
    )


def lines(
    suites: Sequence[str], expression: str | None, images: int | None, *, manifest: bool
) -> list[str]:
    """Return the prompts with their ids, or the rows of a manifest.

    Raises ConfigurationError where suites cannot be collected or have no prompts.
    """
    if suites or expression:
        wanted = _of_suites([*suites, *(("-k", expression) if expression else ())], images)
    else:
        wanted = _of_axes(Settings().images if images is None else images)
    return _manifest(wanted) if manifest else [line(f"{each.id}: {each.text}") for each in wanted]


def _manifest(wanted: Sequence[Wanted]) -> list[str]:
    text = io.StringIO(newline="")
    rows = ((f"{p.id}-{seed}.png", p.text, seed) for p in wanted for seed in range(p.images))
    csv.writer(text, lineterminator="\n").writerows(
        [COLUMNS, *(map(printed_cell, row) for row in rows)]
    )
    return text.getvalue().removesuffix("\n").split("\n")


def _of_axes(images: int) -> list[Wanted]:
    from pytest_t2i.prompts import builtin_axes

    prompts = (prompt for axis in builtin_axes() for prompt in axis.prompts())
    return [Wanted(prompt.id, prompt.text, images) for prompt in prompts]


def _of_suites(arguments: Sequence[str], images: int | None) -> list[Wanted]:
    options = () if images is None else ("--t2i-images", str(images))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.json"
        done = subprocess.run(  # noqa: S603 - the Python that runs this
            [sys.executable, *COLLECT, "--t2i-prompts-to", str(file), *options, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in {0, NOTHING}:
            raise ConfigurationError(f"pytest could not collect: {_reason(done)}")
        rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    if not rows:
        raise ConfigurationError(f"no test with prompts in {' '.join(arguments)}")
    return [Wanted(*row) for row in rows]


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr.strip() or done.stdout.strip()).split("\n")[-12:])
