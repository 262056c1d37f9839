"""Read values out of answers, whatever their shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def at(value: Any, *names: str | int) -> Any:
    """A value deep in an answer; None where the answer has another shape.

    >>> at({"a": [{"b": 3}]}, "a", 0, "b"), at({"a": 1}, "a", "b")
    (3, None)
    """
    for name in names:
        if isinstance(value, Mapping) and isinstance(name, str):
            value = value.get(name)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return None
    return value


def items(value: Any, *names: str | int) -> list[Any]:
    """The elements of a list deep in an answer; [] where the answer has another shape.

    >>> items({"data": [{"url": "a"}]}, "data")
    [{'url': 'a'}]
    """
    inner = at(value, *names)
    return inner if isinstance(inner, list) else []


def texts(*values: Any) -> Iterator[str]:
    yield from (value for value in values if isinstance(value, str) and value)


def text(*values: Any) -> str:
    """The first of the values that is a text; "" where none is."""
    return next(texts(*values), "")


def present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
