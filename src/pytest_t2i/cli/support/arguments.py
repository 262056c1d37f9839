"""Arguments that commands share, with the syntax of pytest's options.

Companions import this module as ``pytest_t2i.arguments``.

>>> import argparse
>>> from pytest_t2i import arguments
>>> parser = argparse.ArgumentParser()
>>> arguments.add_run_options(parser, ("model", "seed"), required=("model",))
>>> arguments.run_settings(vars(parser.parse_args(["--model", "sdxl", "--seed", "7"]))).seed
7
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_t2i import settings
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.option_names import OPTIONS
from pytest_t2i.reporting.formatting import wrapped
from pytest_t2i.sections.escaping import line as one_line
from pytest_t2i.settings import (
    READERS,
    Reader,
    Settings,
    confidence,
    names,
    number,
    settings_of,
    share,
    whole,
)

__all__ = [
    "COST_OPTIONS",
    "RUN_OPTIONS",
    "add_confidence",
    "add_run_options",
    "names",
    "number",
    "path",
    "run_choices",
    "run_settings",
    "say",
    "share",
    "value",
    "whole",
]

RUN_OPTIONS = {option.name: option for option in OPTIONS}
"""Every option of a run by its name."""
COST_OPTIONS = ("price", "budget")
"""The options that pytest calls ``--t2i-price`` and ``--t2i-budget``."""


def value(read: Reader) -> Callable[[str], Any]:
    """Return a type for argparse that parses a text as a setting is parsed."""

    def parse(text: str) -> Any:
        try:
            return read("", text)
        except ConfigurationError as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix(": ")) from None

    return parse


def path(text: str) -> Path:
    """Return a path; ``~`` stands for the home folder."""
    parsed: Path = value(settings.path)(text)
    return parsed


def add_confidence(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add ``--confidence``, with the destination ``level``."""
    parser.add_argument(
        "--confidence",
        dest="level",
        type=value(confidence),
        default=0.95,
        metavar="LEVEL",
        help=f"{meaning} (default: 0.95)",
    )


def add_run_options(
    parser: argparse.ArgumentParser, chosen: tuple[str, ...], *, required: tuple[str, ...] = ()
) -> None:
    """Add options of a run: pytest's ``--t2i-model`` is ``--model`` here, and so on."""
    for name in chosen:
        option = RUN_OPTIONS[name]
        # A command has one model and one detector.
        help_text = option.help.split("; several by comma", maxsplit=1)[0]
        how: dict[str, Any] = {"dest": option.ini, "help": help_text}
        if option.is_switch:
            parser.add_argument(f"--{name}", action="store_const", const=True, **how)
        else:
            parser.add_argument(
                f"--{name}",
                type=value(READERS[name]),
                metavar=option.metavar,
                required=name in required,
                **how,
            )


def run_settings(parsed: dict[str, Any]) -> Settings:
    """Return the settings of the given run options, which are removed from ``parsed``."""
    entries = {option.name: parsed.pop(option.ini, None) for option in RUN_OPTIONS.values()}
    return settings_of({name: setting for name, setting in entries.items() if setting is not None})


def run_choices(parsed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run options that were given, by the names of their settings.

    >>> run_choices({"t2i_batch": 4, "t2i_store": None})
    {'batch': 4}
    """
    names_of = {option.ini: option.name.replace("-", "_") for option in RUN_OPTIONS.values()}
    return {names_of[ini]: chosen for ini, chosen in parsed.items() if chosen is not None}


def say(line: str) -> None:
    """Print a line, wrapped to the width of the terminal (or ``COLUMNS``).

    Control characters and line breaks are escaped.

    >>> say("2 images labelled.")
    2 images labelled.
    """
    width = shutil.get_terminal_size((0, 0)).columns or None
    for part in wrapped(one_line(line), width):
        print(part, flush=True)  # noqa: T201 - a command line tool
