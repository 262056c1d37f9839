"""Ask a language model until its answer obeys the JSON schema of the question."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pytest_t2i import Language, LanguageError, MalformedAnswerError

Answer = TypeVar("Answer")
EXCERPT = 80
"""The largest number of characters of an answer that a message shows."""
FENCE = "```"
"""The mark that chat models put before and after JSON."""
KINDS = {
    "object": (dict, "a table"),
    "array": (list, "a list"),
    "string": (str, "a text"),
}
"""Type of a schema -> (Python type, name in messages)."""


def answer_of(
    language: Language,
    question: str,
    schema: Mapping[str, Any],
    read: Callable[[str], Answer],
    *,
    tries: int,
    remedy: str,
    mend: str = "mend the file",
) -> Answer:
    """Return what ``read`` makes of an answer that obeys the schema.

    After a malformed answer, the model is told what was wrong and asked again. An answer in a file
    (``answer_file``) does not change, so it is read once.
    """
    file = getattr(language, "answer_file", None)
    wrong = hint = ""
    for _ in range(1 if file else tries):
        try:
            answer = language.answer(question + hint, schema)
            check_answer(answer, schema)
            return read(answer)
        except MalformedAnswerError as error:
            wrong = str(error)
            hint = f"\nAn earlier answer could not be used: {wrong}"
    if file:
        raise LanguageError(f"{file}: {wrong}: {mend}.")
    raise LanguageError(
        f"no usable answer in {tries} {'try' if tries == 1 else 'tries'}: {wrong}. {remedy}"
    )


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
    text = " ".join(value.split()) if isinstance(value, str) else str(value)
    text = f"{text[:EXCERPT]}{'...' if len(text) > EXCERPT else ''}"
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


def bare(answer: str) -> str:
    """Return the JSON of an answer without the fence that chat models put around it.

    The time grows linearly with the length of the answer.
    """
    lines = answer.split("\n")
    opening = next(
        (n for n, line in enumerate(lines) if line.rstrip().removesuffix("json").endswith(FENCE)),
        len(lines),
    )
    for n in range(opening + 1, len(lines)):
        if lines[n].lstrip().startswith(FENCE):
            return "\n".join(lines[opening + 1 : n])
    return answer
