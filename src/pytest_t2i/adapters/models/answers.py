"""Read what an answer without a picture says: a refusal by policy, an error, or nothing.

Answers of all HTTP statuses are read in the same way. Services put their codes and messages into
different fields and at different depths; ``refusals.toml`` lists how they refuse.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pytest_t2i.files import convert, read_toml

FILE = Path(str(files("pytest_t2i.adapters.models") / "refusals.toml"))
MOST_TEXT, MOST_MESSAGE = 2**20, 4000
"""Characters of a body, and of one message in it, that are read."""
MOST_DEPTH, MOST_VALUES = 16, 2000
"""Nesting and number of the values of a body that are read."""
LONGEST_CODE = 100
"""Characters of a code; a longer text is a message."""
MESSAGES = (
    "message", "msg", "error_message", "errormessage", "error_description", "detail", "details",
    "error", "errors", "reason", "description", "title", "text",
)  # fmt: skip
"""Fields with a message, the most telling first."""
ERRORS = ("error", "errors", "errormessage", "detail", "fault", "exception")
"""Fields that, if they are not empty, make an answer an error."""
FAILED = {"error", "failed", "failure", "fail"}
"""Values of the field ``status`` that do so."""
ECHOES = {
    "loc", "param", "input", "prompt", "revisedprompt", "negativeprompt", "url", "imageurl", "ctx",
    "parameters", "request", "b64json", "base64", "image", "headers",
}  # fmt: skip
"""Fields that repeat the request or hold a picture."""
STATUSES = ("code", "status", "statuscode", "httpstatus", "httpcode")
"""Fields with an HTTP status."""
FIRST_ERROR, LAST_ERROR = 400, 599


class _Shape(msgspec.Struct, forbid_unknown_fields=True):
    """How one service refuses."""

    service: str
    source: str
    checked: bool
    codes: list[str] = []
    fields: dict[str, list[str | bool]] = {}
    sentences: list[str] = []
    replaces: bool = False


class _General(msgspec.Struct, forbid_unknown_fields=True):
    """Words of refusals of any service."""

    things: list[str]
    verbs: list[str]
    weak_things: list[str]
    strong_verbs: list[str]
    exceptions: list[str]
    other_codes: list[str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """Content of refusals.toml."""

    general: _General
    shape: list[_Shape]


class Answer(NamedTuple):
    """What an answer without a picture says."""

    words: str = ""
    """Message for the user; "" where there is none."""
    codes: frozenset[str] = frozenset()
    """Codes at any depth, as ``plain_code`` writes them."""
    status: int | None = None
    """HTTP status in the body; None where there is none."""
    is_error: bool = False
    """Whether the body has an error."""
    refusal: str = ""
    """Message of a refusal by policy; "" where nothing is refused."""

    def with_code(self, code: str) -> Answer:
        """The same with another code, which a service gives beside the message."""
        codes = self.codes | set(_codes_in(code))
        is_refused = self.refusal and not _refusals().has_other_code(codes)
        refusal = self.refusal if is_refused else ""
        if _refusals().has_code(codes):
            refusal = self.refusal or self.words or code
        return self._replace(codes=codes, refusal=refusal)


class _Value(NamedTuple):
    """A value of a body."""

    field: str
    value: Any
    depth: int


class _Refusals:
    """The shapes of refusals.toml, ready to compare with."""

    def __init__(self, content: _File) -> None:
        shapes, general = content.shape, content.general
        self._codes = {plain_code(code) for shape in shapes for code in shape.codes}
        self._other_codes = {plain_code(code) for code in general.other_codes}
        self._fields = dict(_fields_of(shapes))
        self._replacing = dict(_fields_of(shape for shape in shapes if shape.replaces))
        self._sentences = tuple(
            _plain_text(sentence) for shape in shapes for sentence in shape.sentences
        )
        strong = [thing for thing in general.things if thing not in general.weak_things]
        self._pairs = (
            (_any_of(strong), _any_of(general.verbs)),
            (_any_of(general.weak_things), _any_of(general.strong_verbs)),
        )
        self._exceptions = _any_of(general.exceptions)

    def has_code(self, codes: Iterable[str]) -> bool:
        return not self._codes.isdisjoint(codes)

    def has_other_code(self, codes: Iterable[str]) -> bool:
        return not self._other_codes.isdisjoint(codes)

    def has_field(self, value: _Value, *, replacing: bool = False) -> bool:
        refusing = (self._replacing if replacing else self._fields).get(value.field, ())
        if isinstance(value.value, str):
            return bool(value.value.strip()) and (
                "*" in refusing or plain_code(value.value) in refusing
            )
        return isinstance(value.value, bool) and value.value in refusing

    def is_in(self, message: str) -> bool:
        """Whether a message is that of a refusal."""
        text = _plain_text(message)
        if any(sentence in text for sentence in self._sentences):
            return True
        return any(map(self._is_sentence, re.split(r"[.!?;\n]+(?=\s|$)", text)))

    def _is_sentence(self, text: str) -> bool:
        return not self._exceptions.search(text) and any(
            thing.search(text) and verb.search(text) for thing, verb in self._pairs
        )


def read_answer(text: str | bytes, *, by_words: bool = True) -> Answer:
    r"""Read an answer's body, which is JSON or plain text.

    Args:
        text: the body; what lies beyond MOST_TEXT characters is not read.
        by_words: whether a message alone, without a code or field, makes a refusal.

    >>> read_answer('{"error": {"message": "No.", "code": "content_policy_violation"}}').refusal
    'content_policy_violation'
    >>> read_answer("Unknown parameter: 'safety_checker'.").refusal
    ''
    """
    body = text.decode(errors="replace") if isinstance(text, bytes) else text
    body = body[: MOST_TEXT + 1].strip()
    if body.startswith("<"):
        return Answer("a page of HTML")
    plain = _json(body)
    if plain is None:
        words = _cut(body)
        return Answer(words, refusal=words if by_words and _refusals().is_in(words) else "")
    return _read(plain, by_words=by_words)


def is_replaced(fields: Mapping[str, Any]) -> bool:
    """Whether the fields beside a picture say that it stands in the place of a refused one.

    >>> is_replaced({"b64_json": "iVBOR", "finish_reason": "CONTENT_FILTERED"})
    True
    """
    refusals = _refusals()
    return any(refusals.has_field(value, replacing=True) for value in _walked(fields))


def plain_code(code: str) -> str:
    """A code in lower case, with letters and digits alone.

    >>> plain_code("Content Policy-Violation") == plain_code("content_policy_violation")
    True
    """
    return "".join(sign for sign in code.lower() if sign.isalnum())


def _read(plain: Any, *, by_words: bool) -> Answer:
    refusals, values = _refusals(), list(_walked(plain))
    codes = frozenset(
        code for value in values if isinstance(value.value, str) for code in _codes_in(value.value)
    )
    words = _message(plain, values)
    is_error = _is_error(plain)
    refusal = ""
    if refusals.has_code(codes) or any(map(refusals.has_field, values)):
        refusal = next(filter(refusals.is_in, _messages(values)), words) or "refused"
    elif by_words and not refusals.has_other_code(codes):
        refusal = next(filter(refusals.is_in, _messages(values)), "")
    return Answer(words, codes, _status(values), is_error, refusal[:MOST_MESSAGE])


def _json(text: str) -> Any:
    """The value of a JSON text; None where it is none, or too long."""
    if len(text) > MOST_TEXT:
        return None
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict | list | str) else None


def _walked(plain: Any) -> Iterator[_Value]:
    """The values of a body, breadth first, without those that repeat the request."""
    waiting, count = deque([_Value("", plain, 0)]), 0
    while waiting and count < MOST_VALUES:
        value = waiting.popleft()
        count += 1
        inner: Iterable[tuple[str, Any]] = ()
        if isinstance(value.value, dict):
            inner = _fields_in(value.value)
        elif isinstance(value.value, list):
            inner = ((value.field, one) for one in value.value)
        else:
            yield value
            inner = ((value.field, one) for one in _nested(value.value))
        if value.depth < MOST_DEPTH:
            for field, one in inner:
                if len(waiting) > MOST_VALUES:
                    break
                waiting.append(_Value(field, one, value.depth + 1))


def _fields_in(values: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of an object, without echoes; a list of complaints about the prompt is none."""
    for name, value in values.items():
        field = plain_code(str(name)[:LONGEST_CODE])
        if field not in ECHOES or (field == "prompt" and isinstance(value, list)):
            yield field, value


def _nested(value: Any) -> list[Any]:
    """The JSON that a text holds, as gateways quote the answer of another service."""
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        return []
    start = min((place for sign in "{[" if (place := value.find(sign)) >= 0), default=-1)
    if start < 0 or start > LONGEST_CODE:
        return []
    plain = _json(value[start:].strip())
    return [plain] if isinstance(plain, dict | list) else []


def _codes_in(text: str) -> Iterator[str]:
    """The codes that a text may be: the whole, and the parts of one without blanks."""
    if len(text) > LONGEST_CODE:
        return
    yield plain_code(text)
    if not re.search(r"\s", text.strip()):
        yield from map(plain_code, re.split(r"[.:/#|]", text))


def _messages(values: Iterable[_Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value.value, str):
            yield _cut(value.value)


def _message(plain: Any, values: Iterable[_Value]) -> str:
    """The message of an error: of its own fields, else the whole as JSON."""
    message = plain.get("error", plain) if isinstance(plain, dict) else plain
    if isinstance(message, dict):
        for name in ("message", "msg", "detail", "error_message", "errors"):
            if message.get(name):
                message = message[name]
                break
    if isinstance(message, list) and len(message) == 1 and isinstance(message[0], str):
        message = message[0]
    if isinstance(message, str):
        return _cut(message)
    if isinstance(plain, list):
        texts = [value for value in values if value.field in MESSAGES]
        texts.sort(key=lambda value: (value.depth, MESSAGES.index(value.field)))
        if texts and isinstance(texts[0].value, str):
            return _cut(texts[0].value)
    return _cut(json.dumps(message))


def _is_error(plain: Any) -> bool:
    body = plain[0] if isinstance(plain, list) and plain else plain
    if not isinstance(body, dict):
        return False
    fields = {plain_code(str(name)): value for name, value in body.items()}
    state = fields.get("status")
    return (
        any(fields.get(name) for name in ERRORS)
        or fields.get("success") is False
        or (isinstance(state, str) and state.lower() in FAILED)
    )


def _status(values: Iterable[_Value]) -> int | None:
    for value in values:
        if value.field in STATUSES and isinstance(value.value, int | str):
            digits = str(value.value)
            if re.fullmatch("[0-9]{3}", digits) and FIRST_ERROR <= int(digits) <= LAST_ERROR:
                return int(digits)
    return None


def _cut(text: str) -> str:
    """A message in one line, of bounded length."""
    return " ".join(text[:MOST_TEXT].split())[:MOST_MESSAGE]


def _plain_text(text: str) -> str:
    return re.sub(r"[\s_\-]+", " ", text.lower().replace("\u2019", "'"))


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in patterns))


def _fields_of(shapes: Iterable[_Shape]) -> Iterator[tuple[str, set[str | bool]]]:
    fields: dict[str, set[str | bool]] = {}
    for shape in shapes:
        for name, given in shape.fields.items():
            fields.setdefault(plain_code(name), set()).update(
                one if isinstance(one, bool) or one == "*" else plain_code(one) for one in given
            )
    yield from fields.items()


@cache
def _refusals() -> _Refusals:
    return _Refusals(convert(FILE, read_toml(FILE), _File))
