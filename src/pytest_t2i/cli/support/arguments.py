"""Arguments of ``t2i``, with the same syntax as pytest's options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_t2i import settings
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.settings import OPTIONS, Reader, Settings, confidence, settings_of

RUN_OPTIONS = {option.name: option for option in OPTIONS}


def value(read: Reader) -> Callable[[str], Any]:
    """A reader of settings as a type of argparse."""

    def parse(text: str) -> Any:
        try:
            return read("", text)
        except ConfigurationError as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix(": ")) from None

    return parse


def path(text: str) -> Path:
    """A path; ``~`` is the home folder."""
    parsed: Path = value(settings.path)(text)
    return parsed


def add_confidence(parser: argparse.ArgumentParser, of_what: str) -> None:
    """``--confidence``, as ``level``."""
    parser.add_argument(
        "--confidence",
        dest="level",
        type=value(confidence),
        default=0.95,
        help=f"{of_what} (0.95)",
    )


def add_run_options(
    parser: argparse.ArgumentParser, names: tuple[str, ...], *, required: tuple[str, ...] = ()
) -> None:
    """``--model``, ``--steps``, ...: what pytest calls ``--t2i-model``, ``--t2i-steps``."""
    for name in names:
        option = RUN_OPTIONS[name]
        # A command has one model and one detector.
        told = option.help.split("; several by comma", maxsplit=1)[0]
        how: dict[str, Any] = {"dest": option.ini, "help": told}
        if option.is_switch:
            parser.add_argument(f"--{name}", action="store_const", const=True, **how)
        else:
            parser.add_argument(
                f"--{name}",
                type=value(option.read),
                metavar=option.metavar,
                required=name in required,
                **how,
            )


def run_settings(parsed: dict[str, Any]) -> Settings:
    """The settings of the run options that were given; they are taken out of ``parsed``."""
    given = {option.name: parsed.pop(option.ini, None) for option in RUN_OPTIONS.values()}
    return settings_of({name: known for name, known in given.items() if known is not None})
