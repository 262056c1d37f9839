"""Sections that a command puts beside a run.json, which every report of the run shows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_t2i.data import EMPTY, Moment, Name
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import write_whole
from pytest_t2i.read_files import convert, read_json
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections import Album, Overlays, Section
from pytest_t2i.sections.plain import plain_section, section_of

SCHEMA = "pytest-t2i/sections/1"
SUFFIX = ".sections.json"


@dataclass(frozen=True, slots=True)
class SectionsFile:
    """What a command says of a run."""

    name: Name
    """Name of the command, which the file has, too."""
    run: str
    """Model of the run."""
    run_created: Moment
    """Time of the run: sections beside another run.json are not shown with it."""
    sections: tuple[Any, ...]
    """Sections as plain data."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Results for scripts, as plain data."""
    schema: str = SCHEMA

    def write(self, folder: Path) -> Path:
        """Write the file as a whole into a folder, and return its path."""
        path = folder / f"{self.name}{SUFFIX}"
        plain = {
            "schema": self.schema, "name": self.name, "run": self.run,
            "run_created": self.run_created, "facts": dict(self.facts), "sections": self.sections,
        }  # fmt: skip
        text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, f"{text}\n".encode())
        return path

    def shown(self) -> tuple[Section, ...]:
        """The sections; raises ValueError where the data are none, or show pictures."""
        sections = tuple(section_of(plain) for plain in self.sections)
        if any(
            isinstance(block, Album | Overlays) for section in sections for block in section.blocks
        ):
            raise ValueError("expected blocks without pictures, as run.json has those of the run")
        return sections


def sections_file(
    record: RunRecord, name: str, sections: Sequence[Section], facts: Mapping[str, Any] = EMPTY
) -> SectionsFile:
    plain = tuple(plain_section(section) for section in sections)
    file = SectionsFile(name, record.model, record.created, plain, facts)
    file.shown()
    return file


def files_beside(record: RunRecord, folder: Path) -> list[SectionsFile]:
    """Return the files beside a run.json that are of this run and hold sections, by name."""
    copies = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            file = convert(path, read_json(path, SCHEMA, kind="sections of a run"), SectionsFile)
            file.shown()
        except (FileFormatError, ValueError):
            # A report must not fail for what lies beside its run.
            continue
        is_named = path.name == f"{file.name}{SUFFIX}"
        if is_named and (file.run, file.run_created) == (record.model, record.created):
            copies.append(file)
    return copies


def is_sections_file(path: str) -> bool:
    return path.endswith(SUFFIX)
