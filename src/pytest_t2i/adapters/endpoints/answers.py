"""Read what an answer without a picture says: a refusal by policy, an error, or nothing.

Services put codes and messages into different fields and at different depths; the table
``refusals.toml`` lists by which codes, fields and sentences they refuse.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pytest_t2i.adapters.endpoints.addresses import netloc
from pytest_t2i.adapters.endpoints.deadlines import DeadlinePassedError
from pytest_t2i.adapters.loading import NETWORK_MODULES
from pytest_t2i.adapters.picture_files import picture_in, picture_of
from pytest_t2i.errors import GenerationError, T2IError
from pytest_t2i.protocols import AnswerLimits
from pytest_t2i.read_files import content_of, convert, read_toml

if TYPE_CHECKING:
    from PIL.Image import Image

FILE = Path(str(files("pytest_t2i.adapters.endpoints") / "refusals.toml"))
MOST_TEXT, MOST_MESSAGE, LONGEST_CODE = 2**20, 4000, 100
"""Characters of a body, of one message in it and of a code that are read."""
MOST_DEPTH, MOST_VALUES = 16, 2000
"""Nesting and number of the values of a body that are read."""
MESSAGES = ("message", "msg", "detail", "error_message", "errors")
"""Fields with the message of an error, the most telling first."""
ERRORS = ("error", "errors", "errormessage", "detail", "fault", "exception")
"""Fields that, if they are not empty, make an answer an error."""
FAILED = {"error", "failed", "failure", "fail"}
"""Values of the field ``status`` that do so."""
STATUSES = ("code", "status", "statuscode", "httpstatus", "httpcode")
"""Fields with an HTTP status."""


class _Shape(msgspec.Struct, forbid_unknown_fields=True):
    """How one service refuses."""

    service: str
    source: str
    checked: bool
    codes: list[str] = []
    fields: dict[str, list[str | bool]] = {}
    sentences: list[str] = []
    replaces: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """Content of refusals.toml."""

    echoes: list[str]
    statuses: dict[str, list[str]]
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


class _Value(NamedTuple):
    """A value of a body."""

    field: str
    value: Any
    depth: int


class _Refusals(NamedTuple):
    """The table, ready to compare with."""

    codes: set[str]
    fields: set[tuple[str, Any]]
    replacing: set[tuple[str, Any]]
    sentences: list[str]
    echoes: set[str]
    statuses: dict[str, int]
    """Code of an error in an answer with HTTP 200 -> the HTTP status that it stands for."""

    def has_sentence(self, message: str) -> bool:
        text = _plain_text(message)
        return any(sentence in text for sentence in self.sentences)


@cache
def _refusals() -> _Refusals:
    table = convert(FILE, read_toml(FILE), _File)
    shapes = table.shape

    def fields(shapes: Iterable[_Shape]) -> set[tuple[str, Any]]:
        return {
            (plain_code(name), value if value == "*" or value is True or value is False
             else plain_code(str(value)))
            for shape in shapes for name, values in shape.fields.items() for value in values
        }  # fmt: skip

    return _Refusals(
        {plain_code(code) for shape in shapes for code in shape.codes},
        fields(shapes),
        fields(shape for shape in shapes if shape.replaces),
        [_plain_text(sentence) for shape in shapes for sentence in shape.sentences],
        set(map(plain_code, table.echoes)),
        {code: int(status) for status, codes in table.statuses.items() for code in codes},
    )


def read_answer(text: str | bytes, *, by_words: bool = True) -> Answer:
    r"""Read an answer's body, which is JSON or plain text.

    >>> read_answer('{"error": {"message": "No.", "code": "content_policy_violation"}}').refusal
    'No.'
    >>> read_answer("Unknown parameter: 'safety_checker'.").refusal
    ''
    """
    body = text.decode(errors="replace") if isinstance(text, bytes) else text
    body = body[: MOST_TEXT + 1].strip()
    if body.startswith("<"):
        return Answer("a page of HTML")
    plain, table = json_in(body), _refusals()
    if plain is None:
        words = _cut(body)
        return Answer(words, refusal=words if by_words and table.has_sentence(words) else "")
    values = list(_walked(plain))
    texts = [value.value for value in values if isinstance(value.value, str)]
    codes = frozenset(code for text in texts for code in _codes_in(text))
    words, refusal = _message(plain), ""
    is_coded = not codes.isdisjoint(table.codes) or any(_is_in(table.fields, v) for v in values)
    if is_coded or by_words:
        refusal = next(filter(table.has_sentence, texts), words if is_coded else "")
    return Answer(words, codes, _status(values), _is_error(plain), _cut(refusal))


def is_replaced(fields: Any) -> bool:
    """Whether the fields beside a picture say that it stands in the place of a refused one.

    >>> is_replaced({"b64_json": "iVBOR", "finish_reason": "CONTENT_FILTERED"})
    True
    """
    return any(_is_in(_refusals().replacing, value) for value in _walked(fields))


def plain_code(code: str) -> str:
    """A code in lower case, with letters and digits alone.

    >>> plain_code("Content Policy-Violation") == plain_code("content_policy_violation")
    True
    """
    return "".join(sign for sign in code.lower() if sign.isalnum())


def _is_in(fields: set[tuple[str, Any]], value: _Value) -> bool:
    if isinstance(value.value, bool):
        return (value.field, value.value) in fields
    return (
        isinstance(value.value, str)
        and bool(value.value.strip())
        and (not fields.isdisjoint({(value.field, "*"), (value.field, plain_code(value.value))}))
    )


def json_in(text: str) -> Any:
    """The object, list or text of a JSON text; None where it is none, or too long."""
    if len(text) > MOST_TEXT:
        return None
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict | list | str) else None


def _walked(plain: Any) -> Iterator[_Value]:
    """The values of a body, breadth first, without those that repeat the request.

    A text may quote JSON, as gateways quote the answer of another service.
    """
    waiting, count, echoes = deque([_Value("", plain, 0)]), 0, _refusals().echoes
    while waiting and count < MOST_VALUES:
        value = waiting.popleft()
        count += 1
        inner: Iterable[tuple[str, Any]] = ()
        if isinstance(value.value, dict):
            fields = ((plain_code(str(k)[:LONGEST_CODE]), v) for k, v in value.value.items())
            inner = ((name, v) for name, v in fields if name not in echoes)
        elif isinstance(value.value, list):
            inner = ((value.field, element) for element in value.value)
        else:
            yield value
            inner = ((value.field, element) for element in _quoted(value.value))
        if value.depth < MOST_DEPTH:
            for field, element in inner:
                if len(waiting) > MOST_VALUES:
                    break
                waiting.append(_Value(field, element, value.depth + 1))


def _quoted(value: Any) -> list[Any]:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        return []
    begin = re.search(r"[{\[]", value[:LONGEST_CODE])
    plain = json_in(value[begin.start() :].strip()) if begin else None
    return [plain] if isinstance(plain, dict | list) else []


def _codes_in(text: str) -> Iterator[str]:
    """The codes that a text may be: the whole, and the parts of one without blanks."""
    if len(text) <= LONGEST_CODE:
        yield plain_code(text)
        if not re.search(r"\s", text.strip()):
            yield from map(plain_code, re.split(r"[.:/#|]", text))


def _message(plain: Any) -> str:
    """The message of an error: of its own fields, else the whole as JSON."""
    message = plain
    while isinstance(message, dict | list) and message:
        if isinstance(message, list):
            if len(message) > 1 and message is not plain:
                break
            message = message[0]
        else:
            name = next((name for name in ("error", *MESSAGES) if message.get(name)), None)
            if name is None:
                break
            message = message[name]
    return _cut(message if isinstance(message, str) else json.dumps(message))


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
    """The first HTTP status of an error in a body."""
    digits = (str(v.value) for v in values if v.field in STATUSES and not isinstance(v.value, bool))
    return next((int(text) for text in digits if re.fullmatch("[45][0-9]{2}", text)), None)


def _cut(text: str) -> str:
    return " ".join(text[:MOST_TEXT].split())[:MOST_MESSAGE]


def _plain_text(text: str) -> str:
    return re.sub(r"[\s_\-]+", " ", text.lower().replace("\u2019", "'"))


BAD_REQUEST, TIMEOUT, TOO_EARLY, UNPROCESSABLE, TOO_MANY = 400, 408, 425, 422, 429
SERVER_ERROR, NOT_IMPLEMENTED, UNAVAILABLE, LOOP = 500, 501, 503, 508
"""From 500 on, 501 alone is permanent, and 503 alone means that no work was begun."""
REDIRECTS_OF_POST = {307, 308}
"""HTTP statuses of redirects that repeat the request as it was."""
NOT_CONNECTED = {
    "ConnectError", "ConnectTimeout", "ConnectionRefusedError", "NewConnectionError", "gaierror",
}  # fmt: skip
"""Names of exceptions of requests that were never sent."""
KIND_OF_STATUS = {TOO_MANY: "busy", UNAVAILABLE: "unavailable", TIMEOUT: "late", TOO_EARLY: "busy"}
"""HTTP status -> kind of failure; others from 500 on are server errors."""
JUDGED_BY_WORDS = {200, 400, 403, 422, 451}
"""HTTP statuses with which a sentence alone, without a code, is a refusal by policy."""
NO_MONEY = {"insufficientquota", "billinghardlimitreached"}
"""Codes of HTTP 429 that are permanent."""
PASSING_WORDS = re.compile(
    r"\b(busy|overloaded|rate.?limit\w*|too many requests|try again|currently loading|temporar\w+"
    r"|timed? ?out|unavailable)\b",
    re.IGNORECASE,
)
"""Messages of such an error that another attempt may not meet."""
LONGEST_HEADER, LONGEST_DEMAND = 60, 30 * 24 * 3600.0
"""Characters of the header Retry-After, and the seconds beyond which it is no demand."""


class RefusedError(GenerationError):
    """The provider's policy forbids this picture."""

    kind = "refused"


class PassingFaultError(GenerationError):
    """A temporary failure: another attempt may succeed."""

    def __init__(
        self,
        message: str,
        after: float | None = None,
        *,
        is_free: bool = False,
        is_busy: bool = False,
        kind: str = "broken",
    ) -> None:
        super().__init__(message)
        self.remedy: str | None = None
        """What the user can do, where the kind does not say it."""
        self.kind = kind
        """Kind under which the failure is counted (``spending.KINDS``)."""
        self.after = after
        """Seconds of waiting that the endpoint demands; None where it demands none."""
        self.is_free = is_free
        """Whether the request was certainly not charged."""
        self.is_busy = is_busy
        """Whether the endpoint may have too many requests at the same time."""
        self.goes_on = False
        """Whether the next attempt goes on with what is paid, and sends no request with a price."""


class BrokenPictureError(PassingFaultError):
    """An answer without a picture that can be read."""


class OtherAspectError(GenerationError):
    """A picture whose aspect is not that of the requested size; it was charged."""

    kind = "aspect"


class FinalFaultError(GenerationError):
    """A permanent failure; the request was not charged."""

    is_free, kind = True, "final"
    status: int | None = None
    """HTTP status, of the answer or in its body; None for an error without."""


class RedirectedError(FinalFaultError):
    """The endpoint redirects a request to another address, which is not followed."""

    kind = "redirected"

    def __init__(self, status: int, where: str) -> None:
        super().__init__(
            f"HTTP {status}: expected a picture, got a redirect to {where}; if that host is right, "
            "give its address as base URL"
        )


def fault(status: int, words: str, code: str = "", retry_after: str | None = None) -> T2IError:
    """The error for an HTTP status, with the endpoint's message or the body of its answer.

    >>> type(fault(503, "busy")).__name__, type(fault(400, "x", "moderation_blocked")).__name__
    ('PassingFaultError', 'RefusedError')
    """
    answer = read_answer(words, by_words=status in JUDGED_BY_WORDS)
    if code:
        codes = answer.codes | set(_codes_in(code))
        is_refused = not codes.isdisjoint(_refusals().codes)
        refusal = answer.refusal or (is_refused and (answer.words or code)) or ""
        answer = answer._replace(codes=codes, refusal=refusal)
    return _fault(status, answer, retry_after)


def _fault(status: int, answer: Answer, retry_after: str | None = None) -> T2IError:
    if answer.refusal:
        return RefusedError(answer.refusal)
    message = f"HTTP {status}{': ' if answer.words else ''}{answer.words}"
    passing = status in {TIMEOUT, TOO_EARLY, TOO_MANY} or (
        status >= SERVER_ERROR and status != NOT_IMPLEMENTED
    )
    if passing and not answer.codes & NO_MONEY:
        return PassingFaultError(
            message,
            _seconds(retry_after),
            is_free=status < SERVER_ERROR or status == UNAVAILABLE,
            is_busy=status in {TOO_MANY, UNAVAILABLE},
            kind=KIND_OF_STATUS.get(status, "server error"),
        )
    error = FinalFaultError(message)
    error.status = status
    return error


def fault_in(content: str | bytes) -> T2IError | None:
    """The error in an answer with HTTP 200 and without a picture; None where there is no error.

    It is classified as with its own HTTP status, or with that which its code stands for, else as
    with HTTP 400. What is answered with HTTP 200 was charged.

    >>> type(fault_in('{"error": {"code": "content_policy_violation"}}')).__name__
    'RefusedError'
    >>> fault_in('{"data": []}') is None
    True
    """
    answer = read_answer(content)
    if not answer.refusal and not answer.is_error:
        return None
    statuses = _refusals().statuses
    codes = sorted(answer.codes & statuses.keys())
    status = answer.status or (statuses[codes[0]] if codes else None)
    if status is None:
        status = UNAVAILABLE if PASSING_WORDS.search(answer.words) else BAD_REQUEST
    error = _fault(status, answer)
    if isinstance(error, PassingFaultError | FinalFaultError):
        error.is_free = False
        error.args = (f"HTTP 200 with an error in its answer: {answer.words}",)
    return error


def fault_of(error: Exception) -> T2IError | None:
    """The error for an exception of an HTTP library; None for an exception of other code."""
    causes = list(_causes(error))
    for exception in causes:
        if isinstance(exception, T2IError):
            return exception  # of our own client, which libraries wrap
    response: Any = getattr(error, "response", None)
    if isinstance(getattr(response, "status_code", None), int):
        return fault_of_status(response)
    cause = causes[min(1, len(causes) - 1)]
    modules = {type(exception).__module__.partition(".")[0] for exception in (error, cause)}
    if not modules & NETWORK_MODULES and not isinstance(error, OSError):
        return None
    names = [type(exception).__name__ for exception in causes]
    if "TooManyRedirects" in names:
        return RedirectedError(LOOP, "itself")
    is_free = any(name in NOT_CONNECTED for name in names)
    is_busy = any("Timeout" in name for name in names)
    kind = "unreachable" if is_free else "late" if is_busy else "dropped"
    message = f"{type(cause).__name__}: {str(cause)[:MOST_MESSAGE]}"
    return PassingFaultError(message, is_free=is_free, is_busy=is_busy, kind=kind)


def fault_of_status(response: Any) -> T2IError:
    status = response.status_code
    try:
        body = str(response.text)
    except Exception:  # noqa: BLE001 - a body that was not read, or cannot be decoded
        body = ""
    answer = read_answer(body, by_words=status in JUDGED_BY_WORDS)
    return _fault(status, answer, response.headers.get("retry-after"))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes, as libraries wrap exceptions."""
    while error is not None:
        yield error
        error = error.__cause__


def fetch_fault(error: Exception) -> Exception:
    """The error for an exception while a picture is fetched that the service has made.

    The service's answer was charged, whatever happens to the picture: it is a broken picture.
    An error of ours, such as a host that is not allowed, and a deadline stay what they are.
    """
    if isinstance(error, DeadlinePassedError):
        return error
    reason = fault_of(error)
    is_fault = isinstance(reason, PassingFaultError | FinalFaultError)
    if reason is not None and (not is_fault or isinstance(error, PassingFaultError)):
        return reason
    kind = getattr(reason, "kind", "broken")
    return BrokenPictureError(
        f"{reason or type(error).__name__}, at the picture's address",
        kind="broken" if kind == "final" else kind,
    )


def is_elsewhere(error: Exception, address: str) -> bool:
    """Whether an exception of an HTTP library is about a GET from another host than this one."""
    try:
        request: Any = getattr(error, "request", None)
        return request.method == "GET" and netloc(str(request.url)) != netloc(address)
    except Exception:  # noqa: BLE001 - an exception without a request
        return False


def picture_from(given: Image | bytes, limits: AnswerLimits) -> Image:
    """A decoded picture, from a picture or the bytes of its file.

    Raises BrokenPictureError for a file beyond the size limit or without a readable picture, and
    the error that the bytes hold in the place of a picture.
    """
    if not isinstance(given, bytes):
        picture, kind = picture_of(given), ""
    elif len(given) > limits.bytes:
        raise too_large(limits)
    else:
        picture, kind = picture_in(given), content_of(given).name
        if picture is None and (error := fault_in(given)):
            raise error
    if picture is None:
        words = "expected a picture in the answer, got none that can be read"
        raise BrokenPictureError(f"{words}: {kind}" if kind else words)
    return picture


def too_large(limits: AnswerLimits) -> BrokenPictureError:
    """The error for an answer beyond the size limit; another attempt may succeed."""
    return BrokenPictureError(
        f"expected an answer of at most {limits.megabytes:g} MiB, got a larger one: ask for "
        "smaller pictures (--t2i-size)",
        kind="endless",
    )


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of the header Retry-After, a number or a date, from 0 on; None for anything else.

    >>> _seconds("7"), _seconds("nan"), _seconds("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None, 0.0)
    """
    text = str(retry_after or "")[:LONGEST_HEADER].strip()
    try:
        if re.fullmatch(r"[0-9.+-]+", text, re.ASCII):
            seconds = float(text)
        else:
            date = parsedate_to_datetime(text)
            date = date if date.tzinfo else date.replace(tzinfo=UTC)
            seconds = (date - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return None
    return max(seconds, 0.0) if seconds <= LONGEST_DEMAND else None
