"""What stands in a tutorial: files to write and commands to run.

A block of code with a title is a file. A block of console has commands after ``$``; what stands
below a command is what it prints. ``<!-- exit 1 -->`` before it says the exit status,
``<!-- not run -->`` that it is not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"(?:<!-- (?P<remark>[^>]*) -->\n)?^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<content>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class File(NamedTuple):
    """A file that the reader writes."""

    name: str
    content: str

    def write(self, folder: Path) -> None:
        """Into the reader's folder."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.content, encoding="utf-8")


class Command(NamedTuple):
    """A command that the reader runs."""

    line: str
    output: list[str]
    status: int


def steps(tutorial: Path) -> Iterator[File | Command]:
    """What a reader does, in the order of the page."""
    for match in BLOCK.finditer(tutorial.read_text(encoding="utf-8")):
        block = match.groupdict()
        if block["remark"] == "not run":
            continue
        if block["title"]:
            yield File(block["title"], block["content"])
        elif block["language"] == "console":
            yield from _commands(block["content"], block["remark"] or "exit 0")


def _commands(content: str, remark: str) -> list[Command]:
    status = int(remark.removeprefix("exit "))
    commands: list[Command] = []
    for line in content.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], [], status))
        elif line.strip():
            commands[-1].output.append(line)
    return commands
