"""A grammar of mistakes: what people and broken programs make of a valid document."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Place = tuple[str | int, ...]
WRONG_VALUES: dict[str, Any] = {
    "nothing": None,
    "true": True,
    "minus one": -1,
    "two and a half": 2.5,
    "65 bits": 2**64,
    "infinity": math.inf,
    "no text": "",
    "a text": "x",
    "a text of controls": "\x1b[31m\x00\u202e",
    "a long text": "x" * 3000,
    "a path out": "../../../../etc/passwd",
    "a list": [],
    "a list of lists": [[["x"]]],
    "a table": {},
    "a table of tables": {"x": {"x": {}}},
}
"""In words -> what stands where something else should."""


class Mistake(NamedTuple):
    """One mistake, in words, and what it makes of the document."""

    words: str
    content: Any
    place: Place = ()
    """Where a value of another kind stands that no reader may take; () where that is not sure."""


def places(plain: Any, here: Place = ()) -> Iterator[Place]:
    """Every place below the top of a document, the outer ones first."""
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain)
    if isinstance(plain, dict | list):
        for key, value in list(inner):
            yield (*here, key)
            if isinstance(value, dict | list):
                yield from places(value, (*here, key))


def value_at(plain: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        plain = plain[key]
    return plain


def replaced(plain: Any, place: Place, value: Any) -> Any:
    """The document with another value at a place."""
    if not place:
        return value
    changed = copy.deepcopy(plain)
    value_at(changed, place[:-1])[place[-1]] = value
    return changed


def is_of_another_kind(value: Any, before: Any) -> bool:
    """Whether a value cannot stand where this one stood; nothing may stand for much."""
    if value is None or before is None:
        return False
    if isinstance(before, int) and not isinstance(before, bool) and type(value) is float:
        return True
    numbers = (int, float)
    return type(value) is not type(before) and not {type(value), type(before)} <= set(numbers)


def without(plain: Any, place: Place) -> Any:
    """The document without what stands at a place."""
    changed = copy.deepcopy(plain)
    del value_at(changed, place[:-1])[place[-1]]
    return changed


def renamed(plain: Any, place: Place) -> Any:
    """The document with a key misspelt."""
    changed = copy.deepcopy(plain)
    table = value_at(changed, place[:-1])
    table[f"{place[-1]}x"] = table.pop(place[-1])
    return changed


def wrong_documents(plain: Any) -> Iterator[Mistake]:
    """Every wrong value at every place, every key left out, misspelt or made up."""
    for words, value in WRONG_VALUES.items():
        yield Mistake(f"{words} for the whole", value)
    for place in places(plain):
        name = ".".join(map(str, place))
        yield Mistake(f"no {name}", without(plain, place))
        if isinstance(place[-1], str):
            yield Mistake(f"{name} misspelt", renamed(plain, place))
        for words, value in WRONG_VALUES.items():
            wrong = is_of_another_kind(value, value_at(plain, place))
            told = f"{words} as {name}"
            yield Mistake(told, replaced(plain, place, value), place if wrong else ())


def wrong_texts(text: str) -> Iterator[Mistake]:
    """What happens to files on their way: cut, doubled, in another encoding, not text at all."""
    content = text.encode()
    half = len(content) // 2
    yield Mistake("empty", b"")
    yield Mistake("blank", b" \n\t\n")
    yield Mistake("cut in the middle", content[:half])
    yield Mistake("cut by one", content.rstrip()[:-1])
    yield Mistake("without its beginning", content[half:])
    yield Mistake("twice", content + content)
    yield Mistake("UTF-16", text.encode("utf-16"))
    yield Mistake("Latin 1", (text + "é").encode("latin-1"))
    yield Mistake("a NUL inside", content[:half] + b"\0" + content[half:])
    yield Mistake(
        "a bit flipped", content[:half] + bytes([content[half] ^ 0x40]) + content[half + 1 :]
    )
    yield Mistake("zeros", bytes(len(content)))
    yield Mistake("a picture", b"\x89PNG\r\n\x1a\n" + content)
    yield Mistake("brackets without end", b"[" * 100_000)
    yield Mistake("a deep table", b'{"a":' * 500 + b"1" + b"}" * 500)
    yield Mistake("digits without end", b"1" * 10_000)
    yield Mistake("half a surrogate pair", b'"\\ud800"')
    yield Mistake("not a number", b"[NaN, Infinity, 1e999]")
    yield Mistake("a line without end", b"x" * 300_000)
    yield Mistake("quotes without end", b'"' * 999)
    yield Mistake("controls", b"\x1b]0;title\x07\x1b[2J")


def as_toml(plain: Any) -> str:
    """A document as TOML; a ValueError where TOML has no word for it."""
    if not isinstance(plain, dict):
        raise ValueError("a TOML file is a table")  # noqa: TRY004 - as for all it cannot say
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in plain.items())


def _toml(value: Any) -> str:
    if value is None:
        raise ValueError("TOML has no word for nothing")
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return json.dumps(value)


def as_texts(mistakes: Iterable[Mistake], write: Any) -> Iterator[Mistake]:
    """The mistakes as the content of files; those that the format cannot say are left out."""
    for words, plain, place in mistakes:
        try:
            yield Mistake(words, write(plain).encode(), place)
        except (ValueError, UnicodeEncodeError):
            continue
