"""Put what a command found out about a run into its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_t2i.data import EMPTY
from pytest_t2i.reporting import write_all
from pytest_t2i.runs.record.manifest import add_outputs, manifest_beside, rendered_anew
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.sections_files import sections_file
from pytest_t2i.sections import Section


def put_sections(
    source: Path, name: str, sections: Sequence[Section], facts: Mapping[str, Any] = EMPTY
) -> Path:
    """Write sections beside a run.json, and its report anew.

    ``t2i report`` and every later report of this run show them, too. Sections of the same name
    are replaced.

    Args:
        source: the run.json.
        name: name of the command; the file is ``NAME.sections.json``.
        sections: what the page shows before the sections of the audits, and Markdown shows after
            what was judged. Blocks without pictures.
        facts: results for scripts, which the file holds as they are: text, numbers, lists, tables.

    Returns:
        The page.

    Raises:
        FileFormatError: the run.json cannot be read.
        ValueError: a block shows pictures, or a fact is no plain data.

    >>> from pytest_t2i.sections import Note, Section
    >>> def say_why(run: Path, words: str) -> Path:
    ...     return put_sections(run, "why", [Section("Why", (Note(words),))])
    """
    record, folder = read_run(source), source.parent
    file = sections_file(record, name, sections, facts).write(folder)
    manifest = manifest_beside(source)
    write_all(record, folder, project=Path.cwd())
    if manifest is not None:
        rendered_anew(manifest, folder, folder)
        add_outputs(source, (file,))
    return folder / "index.html"
