"""Sections as plain data, as run.json and the files beside it hold them.

A record is a table with its class under ``is``.

>>> from pytest_t2i.sections import Note, Section
>>> plain_section(Section("Why", (Note("The unet."),)))["blocks"]
[{'is': 'Note', 'text': 'The unet.'}]
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_t2i.data import Bounds, Interval, Mask, Outcome
from pytest_t2i.sections.blocks import (
    Album,
    Axis,
    Bar,
    BarChart,
    CurveChart,
    Note,
    Overlay,
    Overlays,
    Paragraph,
    Picture,
    Plane,
    Point,
    RowChart,
    Section,
    Table,
    Tint,
)

KIND = "is"
KINDS = {
    kind.__name__: kind
    for kind in (
        Album, Axis, Bar, BarChart, Bounds, CurveChart, Interval, Mask, Note, Overlay, Overlays,
        Paragraph, Picture, Plane, Point, RowChart, Section, Table, Tint,
    )
}  # fmt: skip
"""Name -> record that a file may hold."""


def plain_section(section: Section) -> dict[str, Any]:
    """Return a section as plain data."""
    plain: dict[str, Any] = _plain(section)
    return plain


def section_of(plain: Any) -> Section:
    """Return the section of plain data.

    Raises:
        ValueError: the data are none of a section; the message says what was expected.
    """
    section: Section = _value(plain, Section)
    return section


def _plain(value: Any) -> Any:
    if isinstance(value, Outcome):
        return {KIND: "Outcome", "value": value.value}
    name = type(value).__name__
    if name in KINDS:
        unsaid = _defaults(name)
        fields_ = {key: getattr(value, key) for key in _hints(name)}
        said = {
            key: content for key, content in fields_.items() if content != unsaid.get(key, MISSING)
        }
        return {KIND: name} | {key: _plain(each) for key, each in said.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"expected blocks of pytest_t2i.sections, got {type(value).__name__}")


def _value(plain: Any, hint: Any) -> Any:
    """Return plain data as what the hint allows."""
    allowed = _members(hint)
    if isinstance(plain, dict):
        return _record(plain, allowed)
    if isinstance(plain, list):
        return _items(plain, allowed)
    literals = [
        literal
        for member in allowed
        for literal in get_args(member)
        if (get_origin(member) is Literal)
    ]
    kinds = tuple(member for member in allowed if isinstance(member, type))
    # A whole number stands for a number; a flag for neither.
    kinds += (int,) if float in kinds else ()
    fits = type(plain) in kinds or plain in literals
    if not fits or (isinstance(plain, float) and not math.isfinite(plain)):
        raise ValueError(f"expected {_words(allowed)}, got {plain!r:.80}")
    return plain


def _record(plain: dict[str, Any], allowed: tuple[Any, ...]) -> Any:
    name = plain.get(KIND)
    values = {key: value for key, value in plain.items() if key != KIND}
    if name == "Outcome" and Outcome in allowed:
        return Outcome(str(values.get("value")))
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None or kind not in allowed:
        raise ValueError(f"expected {_words(allowed)}, got {name!r:.80}")
    hints = _hints(str(name))
    if unknown := values.keys() - hints.keys():
        raise ValueError(f"{name}: unknown keys {sorted(unknown)!r:.80}")
    try:
        return kind(**{key: _value(value, hints[key]) for key, value in values.items()})
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def _items(plain: list[Any], allowed: tuple[Any, ...]) -> tuple[Any, ...]:
    for member in allowed:
        kinds = get_args(member) if get_origin(member) is tuple else ()
        if kinds and kinds[-1] is ...:
            return tuple(_value(item, kinds[0]) for item in plain)
        if kinds and len(kinds) == len(plain):
            return tuple(_value(each, kind) for each, kind in zip(plain, kinds, strict=True))
    raise ValueError(f"expected {_words(allowed)}, got a list of {len(plain)}")


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _words(allowed: tuple[Any, ...]) -> str:
    return " or ".join(getattr(member, "__name__", str(member)) for member in allowed)


@cache
def _hints(name: str) -> dict[str, Any]:
    return get_type_hints(KINDS[name])


@cache
def _defaults(name: str) -> dict[str, Any]:
    kind: Any = KINDS[name]
    if is_dataclass(kind):
        return {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    return dict(getattr(kind, "_field_defaults", {}))
