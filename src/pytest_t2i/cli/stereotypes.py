"""``t2i stereotypes``: recorded runs side by side, in the layout of OASIS Tables 1 and 2."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_t2i.audits.stereotypes.side_by_side import side_by_side
from pytest_t2i.cli.support.arguments import add_confidence, path, value
from pytest_t2i.errors import ConfigurationError, printable
from pytest_t2i.files import write_whole
from pytest_t2i.prompts.internet_users import FORM
from pytest_t2i.reporting import markdown_sections, terminal_sections
from pytest_t2i.runs.comparison.read_compared_models import read_runs
from pytest_t2i.settings import whole

EXAMPLE = "\n".join(f"  {line}".rstrip() for line in FORM.splitlines())
EPILOG = f"""\
The file of --users, in millions, nationalities as the stereotypes name them:

{EXAMPLE}

In a terminal the tables are set for its width; elsewhere, and in the file of
--out, they are Markdown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which runs, and what they are held against."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("sources", metavar="RUN", type=path, nargs="+", help="run.json files")
    parser.add_argument(
        "--users",
        type=path,
        metavar="FILE",
        help="internet users by nationality, TOML as below (those of OASIS 4.2)",
    )
    add_confidence(parser, "level of all intervals")
    parser.add_argument(
        "--seed", type=value(whole(0)), default=0, metavar="N", help="of the resampling (0)"
    )
    parser.add_argument(
        "--out", type=path, metavar="FILE", help="write the tables there, too, as Markdown"
    )


def run(
    sources: Sequence[Path], *, users: Path | None, level: float, seed: int, out: Path | None
) -> int:
    """Print the tables: in a terminal as wide as it is, elsewhere as Markdown."""
    if out is not None and out.is_dir():
        raise ConfigurationError(f"--out: expected a file, {out} is a folder. Name a file in it")
    shown = side_by_side(read_runs(sources), users, level, seed)
    markdown = _joined(markdown_sections.whole_lines(shown))
    # As wide as the terminal, or as COLUMNS says; a pipe and a file have no width.
    is_narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = shutil.get_terminal_size().columns
    text = _joined(terminal_sections.whole_lines(shown, width)) if is_narrow else markdown
    print(printable(text), end="")  # noqa: T201 - a command line tool
    if out is not None:
        write_whole(out, markdown.encode())
    return 0


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
