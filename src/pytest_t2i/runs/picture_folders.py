"""The folders in which pictures of a run may lie; an untrusted run.json may name any file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.files import inside
from pytest_t2i.runs.record import RunRecord

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

    Args:
        record: record of the run.
        source: path of its run.json. Pictures may lie in the folder of the run.json, and in every
            .t2i beside or above it.
        stores: further folders in which pictures may lie.

    Raises:
        ConfigurationError: pictures lie elsewhere; the message names them and the option --store.
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


def store_of(source: Path) -> Path:
    """Return the store of a run.json: the first .t2i beside or above it.

    Raises:
        ConfigurationError: there is none; the message names the option --store.
    """
    places = [up / STORE for up in source.absolute().parents]
    for place in places:
        if place.is_dir():
            return place
    raise ConfigurationError(
        f"no {STORE} beside or above {source}: name the store with --store DIR"
    )


def found_in_store(record: RunRecord, store: Path) -> RunRecord:
    """Return the record with the paths of absent pictures replaced by those in a store, by key."""

    def find(recorded: str) -> str:
        file = store / IMAGES / Path(recorded).parent.name / Path(recorded).name
        return str(file) if not exists(recorded) and exists(str(file)) else recorded

    return record.with_files(find)


def _folders(source: Path) -> list[Path]:
    here = source.absolute()
    return [here.parent, *(up / STORE for up in here.parents)]


def _check(files: Sequence[str], source: Path, folders: Sequence[Path]) -> None:
    there = [file for file in files if exists(file)]
    strays = [f for f in there if not any(inside(up, str(Path(f).absolute())) for up in folders)]
    if strays:
        raise ConfigurationError(
            f"{source} names {len(strays)} of {len(files)} files outside of its store, "
            f"{some(strays)}: name the store that they belong to with --store DIR"
        )


def exists(file: str) -> bool:
    """Whether anything exists at the path; ``_check`` refuses what is not a regular file."""
    try:
        return Path(file).exists()
    except (OSError, ValueError):  # the name is too long or has a NUL
        return False
