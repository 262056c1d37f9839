"""Fields of records that hold paths of pictures: exchanged wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_t2i.data import LabelledPath, PicturePath
from pytest_t2i.runs.record.images import Images

Record = TypeVar("Record")


PLAIN_TYPES = {str, int, float, bool, type(None)}
Exchanged = Mapping[Any, Callable[[str], str]]
"""PicturePath, LabelledPath or str (any other text) -> function that replaces such a text."""


def with_pictures(record: Record, of: Callable[[str], str]) -> Record:
    """Replace every PicturePath in a record of frozen dataclasses, mappings and tuples.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shown:
    ...     file: PicturePath | None
    >>> with_pictures((Shown("a.png"), Shown(None)), str.upper)
    (Shown(file='A.PNG'), Shown(file=None))
    """
    return with_texts(record, {PicturePath: of})


def with_texts(record: Record, of: Exchanged) -> Record:
    """Replace the texts of a record by kind; kinds without a function stay unchanged."""
    return _walked(record, of)  # type: ignore[no-any-return]


def _walked(value: Any, exchanged: Exchanged) -> Any:
    if isinstance(value, str):
        return exchanged[str](value) if str in exchanged and type(value) is str else value
    if isinstance(value, tuple) and type(value) is tuple:
        walked = tuple(_walked(member, exchanged) for member in value)
        return walked if any(a is not b for a, b in zip(walked, value, strict=True)) else value
    if isinstance(value, Images):
        return value.changed(partial(_walked, exchanged=exchanged))
    if isinstance(value, Mapping):
        return {name: _walked(member, exchanged) for name, member in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return _walked_record(value, type(value), exchanged)


def _walked_record(value: Any, record: Any, exchanged: Exchanged) -> Any:
    if str not in exchanged and not _may_hold_pictures(record):
        return value
    kinds = _kinds(record)
    changes: dict[str, Any] = {}
    for field in fields(value):
        before = getattr(value, field.name)
        kind = kinds.get(field.name)
        if kind is None:
            after = _walked(before, exchanged)
        else:
            after = exchanged[kind](before) if before is not None and kind in exchanged else before
        if after is not before:
            changes[field.name] = after
    return replace(value, **changes) if changes else value


@cache
def _kinds(record: type[Any]) -> Mapping[str, Any]:
    """Return the fields of a dataclass that hold paths of pictures, with their kinds."""
    hints = get_type_hints(record, include_extras=True)
    kinds = {name: _kind(hint) for name, hint in hints.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


@cache
def _may_hold_pictures(record: Any) -> bool:
    """Whether a value of this type can hold a picture's path: one that says nothing of it may."""
    if _kind(record) is not None:
        return True
    if get_origin(record) in (Annotated, Literal):
        return get_origin(record) is Annotated and _may_hold_pictures(get_args(record)[0])
    if parts := [part for part in get_args(record) if part is not Ellipsis]:
        return any(map(_may_hold_pictures, parts))
    if isinstance(record, type) and is_dataclass(record):
        try:
            return any(
                map(_may_hold_pictures, get_type_hints(record, include_extras=True).values())
            )
        except RecursionError:  # a type that holds itself
            return True
    return record not in PLAIN_TYPES and not (isinstance(record, type) and issubclass(record, Enum))


def _kind(hint: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        return next((kind for part in get_args(hint) if (kind := _kind(part)) is not None), None)
    return next((kind for kind in (PicturePath, LabelledPath) if hint == kind), None)
