"""Check of a language model's answer against the JSON schema of the question."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_t2i.errors import MalformedAnswerError, printable
from pytest_t2i.prompts.candidates import bare

EXCERPT = 80
"""The largest number of characters of an answer that a message shows."""
KINDS = {
    "object": (dict, "a table"),
    "array": (list, "a list"),
    "string": (str, "a text"),
}
"""Type of a schema -> (Python type, name in messages)."""


def check_answer(answer: str, schema: Mapping[str, Any]) -> None:
    """Raise MalformedAnswerError where the answer does not obey the schema.

    The message says what is wrong, so that the model can be asked again. The schema consists of
    tables, lists and texts. A key that occurs twice in a table is an error, too.

    >>> check_answer('{"word": "hat"}', {"type": "object", "properties": {"word": {}}})
    """
    if not answer.strip():
        raise MalformedAnswerError("the answer is empty")
    try:
        plain = json.loads(bare(answer), object_pairs_hook=_table)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(
            f"the answer is not JSON: {error}; it begins {_excerpt(answer)}"
        ) from None
    _check(plain, schema, "the answer")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise MalformedAnswerError(f"the key {_excerpt(name)} is there twice in one table")
    return dict(pairs)


def _excerpt(value: Any) -> str:
    """Return the beginning of a value on one line, in quotation marks if it is a text."""
    text = " ".join(value.split()) if isinstance(value, str) else str(value)
    text = printable(f"{text[:EXCERPT]}{'...' if len(text) > EXCERPT else ''}")
    return f'"{text}"' if isinstance(value, str) else text


def _check(plain: Any, schema: Mapping[str, Any], where: str) -> None:
    kind, words = KINDS.get(schema.get("type", ""), (object, ""))
    if not isinstance(plain, kind):
        raise MalformedAnswerError(f"{where}: expected {words}, got {_excerpt(plain)}")
    if isinstance(plain, dict):
        _check_keys(plain, schema, where)
        for name, inner in schema.get("properties", {}).items():
            if name in plain:
                _check(plain[name], inner, f"{where}: {name}")
    if isinstance(plain, list):
        for number, value in enumerate(plain, start=1):
            _check(value, schema.get("items", {}), f"{where} {number}")


def _check_keys(plain: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> None:
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in plain]
    more = [name for name in plain if name not in properties]
    if missing:
        raise MalformedAnswerError(
            f"{where}: expected the keys {_listed(properties)}, {_listed(missing)} is not there"
        )
    if more and schema.get("additionalProperties") is False:
        raise MalformedAnswerError(
            f"{where}: expected no keys but {_listed(properties)}, got {_excerpt(more[0])}, too"
        )


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
