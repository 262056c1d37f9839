"""The paths of pictures in a record: every field of the type ``PicturePath`` is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_t2i.data import PicturePath

Record = TypeVar("Record")


def with_pictures(record: Record, of: Callable[[str], str]) -> Record:
    """A record of frozen dataclasses, mappings and tuples, every path of a picture exchanged.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shown:
    ...     file: PicturePath | None
    >>> with_pictures((Shown("a.png"), Shown(None)), str.upper)
    (Shown(file='A.PNG'), Shown(file=None))
    """
    return _walked(record, of)  # type: ignore[no-any-return]


def _walked(value: Any, of: Callable[[str], str]) -> Any:
    if isinstance(value, tuple) and type(value) is tuple:
        walked = tuple(_walked(each, of) for each in value)
        return walked if any(a is not b for a, b in zip(walked, value, strict=True)) else value
    if isinstance(value, Mapping):
        return {name: _walked(each, of) for name, each in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    paths = _paths(type(value))
    changes: dict[str, Any] = {}
    for field in fields(value):
        before = getattr(value, field.name)
        if field.name in paths:
            after = None if before is None else of(before)
        else:
            after = _walked(before, of)
        if after is not before:
            changes[field.name] = after
    return replace(value, **changes) if changes else value


@cache
def _paths(kind: type[Any]) -> frozenset[str]:
    """Names of the fields of a dataclass that hold the path of a picture."""
    hints = get_type_hints(kind, include_extras=True)
    return frozenset(name for name, hint in hints.items() if _names_picture(hint))


def _names_picture(hint: Any) -> bool:
    return hint == PicturePath or (
        get_origin(hint) in (Union, UnionType) and any(map(_names_picture, get_args(hint)))
    )
