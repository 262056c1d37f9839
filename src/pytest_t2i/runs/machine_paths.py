"""Functions that remove the absolute paths of the run's machine from its files.

Reports and run.json are passed on to other people. Files in the project are named relative to it,
installed files relative to site-packages, pictures of a store elsewhere relative to that store, and
of any other path only the last name is kept.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_t2i.data import LabelledPath, PicturePath
from pytest_t2i.runs.picture_paths import with_texts
from pytest_t2i.runs.record import RunRecord

ABSOLUTE = re.compile(
    r"(?<![\w/.~\\-])(?:/[^\s/:;,'\"<>|`]+){2,}/?|\b[A-Za-z]:[\\/][^\s:;,'\"<>|`]+"
)
"""An absolute path; a path with a blank matches only up to the blank."""
INSTALLED = re.compile(r".*[\\/](?:site|dist)-packages[\\/]")


def portable(record: RunRecord, project: str | None = None) -> RunRecord:
    """Return the record without absolute paths in its texts.

    Pictures keep their paths, because pages link to them; prompts stay unchanged. ``project`` is
    the folder to which paths become relative; None takes the common folder of store and report.
    """
    project = _project_of(record) if project is None else project
    return replace(
        record,
        model=without_machine(record.model, project),
        settings=without_machine(record.settings, project),
        provenance=without_machine(record.provenance, project),
        work=without_machine(record.work, project),
        failed_because=without_machine(record.failed_because, project),
        next_steps=without_machine(record.next_steps, project),
        baseline=None
        if record.baseline is None
        else replace(record.baseline, file=without_machine(record.baseline.file, project)),
        checks=tuple(
            replace(
                check,
                remarks=without_machine(check.remarks, project),
                message=without_machine(check.message, project),
            )
            for check in record.checks
        ),
        audits=with_texts(record.audits, {str: lambda text: _whole(text, project)}),
    )


def as_kept(record: RunRecord, project: Path) -> RunRecord:
    """Return the record as run.json keeps it: ``portable``, with relative paths of pictures."""
    project, store = project.absolute(), record.settings.get("store")
    roots = [project, *([Path(store)] if isinstance(store, str) and store else [])]

    def named(file: str) -> str:
        return named_from(file, roots)

    # A path relative to the root of a file system would be as good as absolute.
    root = "" if project.parent == project else str(project)
    return with_texts(portable(record, root), {PicturePath: named, LabelledPath: named})


def named_from(file: str, roots: Sequence[Path]) -> str:
    """Return a path relative to the first root that contains it, with slashes; else its name.

    The working directory is tried after the first root, because readers look there, too.
    """
    path = Path(file).absolute()
    for root in map(Path.absolute, (roots[0], Path.cwd(), *roots[1:])):
        if root.parent != root and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _project_of(record: RunRecord) -> str:
    """Return the common folder of the run's store and report; "" if there is none."""
    places = [str(record.settings.get(name, "")) for name in ("store", "report")]
    if not all(map(os.path.isabs, places)):
        return ""
    try:
        shared = os.path.commonpath(places)
    except ValueError:  # on different drives
        return ""
    return "" if os.path.dirname(shared) == shared else shared  # noqa: PTH120 - texts, not paths


def without_machine(value: Any, project: str = "") -> Any:
    """Return plain values with every absolute path in their texts shortened.

    >>> without_machine({"source": "/opt/lib/site-packages/people/weights"})
    {'source': 'people/weights'}
    >>> without_machine(["/home/me/audit/.t2i", "images:/data/sdxl"], "/home/me/audit")
    ['.t2i', 'images:sdxl']
    >>> without_machine("hf.co/owner/name, https://host/a/b and 1/2/3")
    'hf.co/owner/name, https://host/a/b and 1/2/3'
    """
    if isinstance(value, str):
        # The project's own path may hold blanks.
        text = re.sub(rf"(?<![\w/.~\\-]){re.escape(project)}[\\/]", "", value) if project else value
        return ABSOLUTE.sub(lambda found: _short(found[0], project), text)
    if isinstance(value, Mapping):
        return {name: without_machine(each, project) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_machine(each, project) for each in value)
    return value


def _whole(text: str, project: str) -> str:
    """Shorten a text that is a path as a whole; return any other text, such as a prompt, as is."""
    is_path = ABSOLUTE.fullmatch(text) or (project and text.startswith(project + os.sep))
    return str(without_machine(text, project)) if is_path else text


def _short(path: str, project: str) -> str:
    if project and (path == project or path.startswith(project + os.sep)):
        return path[len(project) + 1 :] or "."
    if INSTALLED.match(path):
        return INSTALLED.sub("", path)
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]
