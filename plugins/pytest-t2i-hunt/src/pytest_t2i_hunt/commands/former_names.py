"""``t2i hunt``: former name of a command of t2i research, for one more release."""

from __future__ import annotations

import argparse
import sys
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any


class FormerName:
    """A command under the name that it had before it became one of ``t2i research``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return what the command's own module says, such as KEPT."""
        return getattr(self._module, name)

    @cached_property
    def _module(self) -> ModuleType:
        return import_module(f"{__package__}.{self._name}")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""
        self._module.add_arguments(parser)

    def run(self, **arguments: Any) -> int:
        """Say the new name, then run the command."""
        say = f"t2i {self._name} is now called t2i research {self._name}"
        print(say, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool
        return int(self._module.run(**arguments))


hunt = FormerName("hunt")
stop = FormerName("stop")
candidates = FormerName("candidates")
sentences = FormerName("sentences")
