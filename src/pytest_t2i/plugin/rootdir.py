"""Keep values of our options from changing pytest's rootdir.

Pytest settles rootdir and settings file before plugins register their options, so it takes the
value of ``--t2i-store DIR`` for a path of tests where that folder exists (with ``=`` it does not).
"""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_t2i.settings import OPTIONS

FLAGS = tuple(option.flag for option in OPTIONS if not option.is_switch)


class Setup(NamedTuple):
    """The root folder and settings file of pytest."""

    rootdir: Path
    ini: Path | None
    """The settings file."""


def keep_rootdir(config: pytest.Config, args: Sequence[str]) -> None:
    """Restore the rootdir if the value of one of our options has changed it.

    Raises pytest.UsageError if pytest has read another settings file, which cannot be undone.
    """
    taken = _taken_for_tests(args)
    right = _setup(config) if taken else None
    if right is None or right == (config.rootpath, config.inipath):
        return
    flag, value = taken[0]
    if right.ini != config.inipath:
        raise pytest.UsageError(
            f"pytest takes {value}, the value of {flag}, for a path of tests, and so reads "
            f"{config.inipath or 'no settings'} instead of {right.ini or 'none'}. Write it with an "
            f"equals sign: {flag}={value}"
        )
    _move(config, right.rootdir)


def _taken_for_tests(args: Sequence[str]) -> list[tuple[str, str]]:
    """Return our options whose value is a separate argument and an existing path."""
    # os.path accepts texts that cannot be a path, too.
    return [
        (flag, value)
        for flag, value in itertools.pairwise(args)
        if flag in FLAGS and os.path.exists(value)  # noqa: PTH110
    ]


def _setup(config: pytest.Config) -> Setup | None:
    """Return what pytest would choose now that it knows our options; None if unknown."""
    from _pytest.config import findpaths

    known = config.known_args_namespace
    facts: dict[str, Any] = {
        "inifile": known.inifilename,
        "override_ini": known.override_ini,
        "args": known.file_or_dir,
        "rootdir_cmd_arg": known.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    # The parameters of pytest's private function differ between versions.
    accepted = inspect.signature(findpaths.determine_setup).parameters
    if not {"inifile", "args", "rootdir_cmd_arg"} <= set(accepted) <= {*facts, "config"}:
        return None
    rootdir, ini, *_ = findpaths.determine_setup(
        **{name: value for name, value in facts.items() if name in accepted}
    )
    return Setup(rootdir, ini)


def _move(config: Any, rootdir: Path) -> None:
    if config.known_args_namespace.confcutdir == str(config.rootpath):
        config.known_args_namespace.confcutdir = str(rootdir)
    config._rootpath = rootdir  # noqa: SLF001 - nothing public sets it once plugins are loaded
