"""Paths of pictures in records: written without this machine's folders, and found again."""

from __future__ import annotations

import os
import os.path
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_t2i.data import LabelledPath, PicturePath
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.generation.store.rows import picture_place
from pytest_t2i.runs.record.picture_fields import with_texts
from pytest_t2i.runs.record.record import RunRecord

STORE = ".t2i"
IMAGES = "images"
"""Folder of the pictures in a store: ``images/ab/<key>.png``."""


def locate_pictures(
    record: RunRecord, source: str | Path, stores: Sequence[Path] = ()
) -> RunRecord:
    """Return the record with the current paths of its pictures.

    A picture that cannot be found keeps its path.

    Args:
        record: the record that ``read_run`` returned.
        source: path of the run.json. A store that was moved together with it is found.
        stores: folders of image stores (.t2i) to search first.

    Raises:
        ConfigurationError: none of ``stores`` is a store, or the record names pictures outside of
            the run's own folders, as an untrusted run.json may.

    >>> from pytest_t2i import RunRecord
    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> locate_pictures(run, "run.json").files()
    []
    """
    source = Path(source)
    if stores and not any((store / IMAGES).is_dir() for store in stores):
        raise ConfigurationError(f"--store: expected a store, {stores[0]} has no folder {IMAGES}")
    for place in stores or _moved_along(record, source):
        record = found_in_store(record, place)
    check_pictures(record, source, stores)
    return record


def _moved_along(record: RunRecord, source: Path) -> list[Path]:
    """Return the store's folder if it was moved together with the run.json; [] if unknown."""
    store, report = record.settings.get("store"), record.settings.get("report")
    if not isinstance(store, str) or not isinstance(report, str) or not (store and report):
        return []
    here = source.absolute()
    if not Path(store).is_absolute():
        return [up / store for up in here.parents if (up / store / IMAGES).is_dir()][:1]
    return [here.parent / os.path.relpath(store, report)]


def check_pictures(record: RunRecord, source: Path, stores: Sequence[Path] = ()) -> None:
    """Refuse a run that names existing pictures outside of its folders.

    Such files shall not be copied or shown. Absent pictures are not an error.
    """
    _check(record.files(), source, [*stores, *_folders(source)])


def check_labelled_pictures(
    files: Sequence[str], source: Path, stores: Sequence[Path] = ()
) -> None:
    """Refuse labelled images outside of the run's folders and its project, as ``check_pictures``.

    The project is the folder of the nearest .t2i above the run.json.
    """
    here = source.absolute()
    project = [up for up in here.parents if (up / STORE).is_dir()][:1]
    _check(files, source, [*stores, *_folders(source), *project])


def store_of_run(source: Path) -> Path:
    """Return the store of a run.json: the first .t2i beside or above it."""
    places = [up / STORE for up in source.absolute().parents]
    for place in places:
        if place.is_dir():
            return place
    raise ConfigurationError(
        f"no {STORE} beside or above {source}: name the store with --store DIR"
    )


def found_in_store(record: RunRecord, store: Path) -> RunRecord:
    """Return the record with the paths of absent pictures replaced by those in a store, by key."""
    images = str(store / IMAGES)

    def find(recorded: str) -> str:
        if exists(recorded):
            return recorded
        folder, name = os.path.split(recorded)
        file = f"{images}/{os.path.basename(folder)}/{name}"  # noqa: PTH119 - texts, not paths
        return file if exists(file) else recorded

    return record.with_files(find)


def _folders(source: Path) -> list[Path]:
    here = source.absolute()
    return [here.parent, *(up / STORE for up in here.parents)]


def _check(files: Sequence[str], source: Path, folders: Sequence[Path]) -> None:
    roots = [os.path.realpath(folder) for folder in folders]
    real_folder = cache(os.path.realpath)
    strays = [f for f in files if exists(f) and not _is_inside(f, roots, real_folder)]
    if strays:
        raise ConfigurationError(
            f"{source} names {len(strays)} of {len(files)} files outside of its store, "
            f"{some(strays)}: name the store that they belong to with --store DIR"
        )


def _is_inside(file: str, roots: Sequence[str], real_folder: Callable[[str], str]) -> bool:
    """Whether a regular file lies in one of the folders, links followed; texts cost a tenth."""
    folder, name = os.path.split(os.path.abspath(file))  # noqa: PTH100
    path = f"{real_folder(folder)}{os.sep}{name}"
    if os.path.islink(path):  # noqa: PTH114
        path = os.path.realpath(path)
    is_within = any(path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
    return is_within and os.path.isfile(path)  # noqa: PTH113


def exists(file: str) -> bool:
    """Whether anything exists at the path; ``_check`` refuses what is not a regular file."""
    try:
        return os.path.exists(file)  # noqa: PTH110 - a text, a tenth of the cost of a Path
    except ValueError:  # the name has a NUL
        return False


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
                caveats=tuple(
                    replace(caveat, message=without_machine(caveat.message, project))
                    for caveat in check.caveats
                ),
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

    A picture of a store keeps its place there instead, by which it is found again. The working
    directory is tried after the first root, because readers look there, too.
    """
    path = os.path.abspath(file)  # noqa: PTH100 - texts, not paths: a tenth of the time
    for root in (roots[0], Path.cwd(), *roots[1:]):
        start = f"{root.absolute()}{os.sep}"
        if root.parent != root and path.startswith(start):
            return path[len(start) :].replace(os.sep, "/")
    name = os.path.basename(path)  # noqa: PTH119
    place = picture_place(os.path.splitext(name)[0])  # noqa: PTH122
    return place if path.replace(os.sep, "/").endswith(f"/{place}") else name


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
        return ABSOLUTE.sub(lambda match: _short(match[0], project), text)
    if isinstance(value, Mapping):
        return {name: without_machine(member, project) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_machine(member, project) for member in value)
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
