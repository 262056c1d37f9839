"""Paths of the machine that a run was made on, as reports name them: without where it keeps them.

A report is handed on. What lies in the project is named from there, what was installed by its
package, and of anything else the name alone.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_t2i.runs.record import RunRecord

ABSOLUTE = re.compile(
    r"(?<![\w:/.~\\-])(?:/[^\s/:;,'\"<>|`]+){2,}/?|\b[A-Za-z]:[\\/][^\s:;,'\"<>|`]+"
)
"""A path from the root of a file system; of a blank within, what stands before it."""
INSTALLED = re.compile(r".*[\\/](?:site|dist)-packages[\\/]")


def portable(record: RunRecord) -> RunRecord:
    """The record whose settings, provenance and remarks name no place of a machine.

    Pictures keep their paths: pages link them relative to their own folder. Prompts are left alone.
    """
    project = project_of(record)
    return replace(
        record,
        model=without_machine(record.model, project),
        settings=without_machine(record.settings, project),
        provenance=without_machine(record.provenance, project),
        failed_because=without_machine(record.failed_because, project),
        next_steps=without_machine(record.next_steps, project),
        baseline=None
        if record.baseline is None
        else replace(record.baseline, file=without_machine(record.baseline.file, project)),
        checks=tuple(
            replace(check, remarks=without_machine(check.remarks, project))
            for check in record.checks
        ),
    )


def project_of(record: RunRecord) -> str:
    """The folder that the run's store and report lie in; "" where they share none."""
    places = [str(record.settings.get(name, "")) for name in ("store", "report")]
    if not all(map(os.path.isabs, places)):
        return ""
    try:
        shared = os.path.commonpath(places)
    except ValueError:  # on different drives
        return ""
    return "" if os.path.dirname(shared) == shared else shared  # noqa: PTH120 - of any system


def without_machine(value: Any, project: str = "") -> Any:
    """Plain values with every absolute path in their texts made short.

    >>> without_machine({"source": "/opt/lib/site-packages/people/weights"})
    {'source': 'people/weights'}
    >>> without_machine(["/home/me/audit/.t2i", "/data/sdxl"], "/home/me/audit")
    ['.t2i', 'sdxl']
    >>> without_machine("hf.co/owner/name, https://host/a/b and 1/2/3")
    'hf.co/owner/name, https://host/a/b and 1/2/3'
    """
    if isinstance(value, str):
        return ABSOLUTE.sub(lambda found: _short(found[0], project), value)
    if isinstance(value, Mapping):
        return {name: without_machine(each, project) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_machine(each, project) for each in value)
    return value


def _short(path: str, project: str) -> str:
    if project and (path == project or path.startswith(project + os.sep)):
        return path[len(project) + 1 :] or "."
    if INSTALLED.match(path):
        return INSTALLED.sub("", path)
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]
