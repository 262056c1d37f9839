"""Read what an answer without a picture says: a refusal by policy, an error, or nothing.

Answers of all HTTP statuses are read in the same way. Services put their codes and messages into
different fields and at different depths; ``refusals.toml`` lists how they refuse.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pytest_t2i.adapters.endpoints.hosts import UnknownHostError, netloc, plain_address
from pytest_t2i.adapters.endpoints.http_limits import DeadlinePassedError
from pytest_t2i.adapters.endpoints.proxies import NO_PROXY, Proxy
from pytest_t2i.adapters.loading import NETWORK_MODULES
from pytest_t2i.adapters.picture_files import picture_in, picture_of
from pytest_t2i.errors import GenerationError, T2IError
from pytest_t2i.files import content_of, convert, read_toml
from pytest_t2i.protocols import AnswerLimits

if TYPE_CHECKING:
    from PIL.Image import Image

FILE = Path(str(files("pytest_t2i.adapters.endpoints") / "refusals.toml"))
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
            inner = ((value.field, element) for element in value.value)
        else:
            yield value
            inner = ((value.field, element) for element in _nested(value.value))
        if value.depth < MOST_DEPTH:
            for field, element in inner:
                if len(waiting) > MOST_VALUES:
                    break
                waiting.append(_Value(field, element, value.depth + 1))


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
        for name, codes in shape.fields.items():
            fields.setdefault(plain_code(name), set()).update(
                code if isinstance(code, bool) or code == "*" else plain_code(code)
                for code in codes
            )
    yield from fields.items()


@cache
def _refusals() -> _Refusals:
    return _Refusals(convert(FILE, read_toml(FILE), _File))


REASONED = re.compile(
    r"</(?:think|thinking|thought|reason|reasoning|analysis)>|\[/THINK\]|\u25c1/think\u25b7"
    r"|<\|channel\|>final\s*(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>|<channel\|>"
    r"|<\|end_of_thought\|>",
    re.IGNORECASE,
)
"""Marks at the end of a model's reasoning."""
REASONING = re.compile(
    r"<(?:think|thinking|thought|reason|reasoning|analysis)>|\[THINK\]|\u25c1think\u25b7"
    r"|<\|channel\|?>|<\|begin_of_thought\|>",
    re.IGNORECASE,
)
"""Marks at its begin."""


def without_reasoning(text: str) -> str:
    """What follows the last mark at the end of a model's reasoning, without further reasoning.

    Args:
        text: what a language model wrote, of which its reasoning may be a part.

    A text that is JSON is an answer, whatever marks it quotes.

    >>> without_reasoning("Perhaps {}?</think> {1}"), without_reasoning("<think>Perhaps {}")
    ('{1}', '')
    """
    if _json(text.strip()) is not None:
        return text
    ends = list(REASONED.finditer(text))
    answer = REASONING.split(text[ends[-1].end() :] if ends else text, maxsplit=1)[0]
    return text if answer == text else answer.strip()


BAD_REQUEST, TIMEOUT, TOO_EARLY, UNPROCESSABLE, TOO_MANY, SERVER_ERROR = (
    400,
    408,
    425,
    422,
    429,
    500,
)
NOT_IMPLEMENTED = 501
"""The only permanent HTTP status from 500 on."""
UNAVAILABLE = 503
"""The only HTTP status from 500 on that means that no work was begun."""
LOOP = 508
"""HTTP status "loop detected", for redirects without end."""
REDIRECTS_OF_POST = {307, 308}
"""HTTP statuses of redirects that repeat the request as it was."""
NOT_CONNECTED = {
    "ConnectError", "ConnectTimeout", "ConnectionRefusedError", "NewConnectionError", "gaierror",
}  # fmt: skip
"""Names of exceptions of requests that were never sent."""
KIND_OF_STATUS = {TOO_MANY: "busy", UNAVAILABLE: "unavailable", TIMEOUT: "late", TOO_EARLY: "busy"}
"""HTTP status -> kind of failure; others from 500 on are server errors."""
JUDGED_BY_WORDS = {200, 400, 403, 422, 451}
"""HTTP statuses with which a message alone, without a code, can be a refusal by policy."""
NO_MONEY = {"insufficientquota", "billinghardlimitreached"}
"""Codes of HTTP 429 that are permanent."""
STATUS_OF_CODE = {
    "ratelimitexceeded": TOO_MANY, "ratelimited": TOO_MANY, "toomanyrequests": TOO_MANY,
    "resourceexhausted": TOO_MANY, "throttlingexception": TOO_MANY, "throttling": TOO_MANY,
    "overloaded": UNAVAILABLE, "overloadederror": UNAVAILABLE, "unavailable": UNAVAILABLE,
    "serviceunavailable": UNAVAILABLE, "engineoverloaded": UNAVAILABLE,
    "modelnotready": UNAVAILABLE, "servererror": SERVER_ERROR, "internalerror": SERVER_ERROR,
    "internalservererror": SERVER_ERROR, "timeout": SERVER_ERROR,
    "deadlineexceeded": SERVER_ERROR, "gatewaytimeout": SERVER_ERROR,
}  # fmt: skip
"""Code of an error in an answer with HTTP 200 -> the HTTP status that it stands for."""
PASSING_WORDS = re.compile(
    r"\b(busy|overloaded|rate.?limit\w*|too many requests|try again|currently loading|temporar\w+"
    r"|timed? ?out|unavailable)\b",
    re.IGNORECASE,
)
"""Messages of such an error that another attempt may not meet."""


SECONDS = re.compile(r"([+-]?[0-9]{1,12}(?:\.[0-9]{0,12})?) ?(?:s|secs?|seconds?)?", re.IGNORECASE)
"""Seconds in the header Retry-After, as services write them."""
LONGEST_HEADER, LONGEST_DEMAND = 200, 30 * 24 * 3600.0
"""Characters of that header, and seconds that it may demand."""


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
        """Kind under which the failure is counted (``fault_counts.KINDS``)."""
        self.after = after
        """Seconds of waiting that the endpoint demands; None where it demands none."""
        self.is_free = is_free
        """Whether the request was certainly not charged."""
        self.is_busy = is_busy
        """Whether the endpoint may have too many requests at the same time."""


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


def same_host(response: Any) -> None:
    """A response hook of httpx: a POST is redirected on its own host only, and stays a POST.

    Raises RedirectedError for every other redirect of a POST: the next host would get the prompt,
    and a key with it.
    """
    request = response.request
    if request.method != "POST" or not response.has_redirect_location:
        return
    status, location = response.status_code, response.headers["location"]
    try:
        target = request.url.join(location)
    except Exception:  # noqa: BLE001 - httpx and its successor raise classes of their own
        raise RedirectedError(status, "an address that cannot be read") from None
    ports = {"http": 80, "https": 443}
    before, after = (
        (url.scheme, url.host, url.port or ports.get(url.scheme)) for url in (request.url, target)
    )
    # Encryption may be added: http on port 80 becomes https on port 443.
    is_same = after in (before, ("https", before[1], 443 if before[2] == 80 else None))  # noqa: PLR2004
    if not is_same:
        raise RedirectedError(status, netloc(str(target)) or "an address that cannot be read")
    if status not in REDIRECTS_OF_POST:
        raise RedirectedError(status, plain_address(str(target)))


def fault(status: int, words: str, code: str = "", retry_after: str | None = None) -> T2IError:
    """The error for an HTTP status, with the endpoint's message or the body of its answer.

    >>> type(fault(503, "busy")).__name__, type(fault(400, "x", "moderation_blocked")).__name__
    ('PassingFaultError', 'RefusedError')
    """
    answer = read_answer(words, by_words=status in JUDGED_BY_WORDS)
    if code:
        answer = answer.with_code(code)
    return _fault(status, answer, retry_after)


def _fault(status: int, answer: Answer, retry_after: str | None = None) -> T2IError:
    message = f"HTTP {status}{': ' if answer.words else ''}{answer.words}"
    if answer.refusal:
        return RefusedError(answer.refusal)
    passing = status in {TIMEOUT, TOO_EARLY, TOO_MANY} or (
        status >= SERVER_ERROR and status != NOT_IMPLEMENTED
    )
    if passing and not answer.codes & NO_MONEY:
        is_free = status < SERVER_ERROR or status == UNAVAILABLE
        is_busy = status in {TOO_MANY, UNAVAILABLE}
        kind = KIND_OF_STATUS.get(status, "server error")
        after = _seconds(retry_after)
        return PassingFaultError(message, after, is_free=is_free, is_busy=is_busy, kind=kind)
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
    if answer.refusal:
        return RefusedError(answer.refusal)
    if not answer.is_error:
        return None
    status = answer.status or next(
        (STATUS_OF_CODE[code] for code in sorted(answer.codes & STATUS_OF_CODE.keys())), None
    )
    if status is None:
        status = UNAVAILABLE if PASSING_WORDS.search(answer.words) else BAD_REQUEST
    error = _fault(status, answer)
    if isinstance(error, PassingFaultError | FinalFaultError):
        error.is_free = False
        error.args = (f"HTTP 200 with an error in its answer: {answer.words}",)
    return error


def fault_of(error: Exception) -> T2IError | None:
    """The error for an exception of an HTTP library; None for an exception of other code."""
    if hook_fault := next(
        (exception for exception in _causes(error) if isinstance(exception, T2IError)), None
    ):
        return hook_fault  # of a hook, which libraries wrap
    response: Any = getattr(error, "response", None)
    if isinstance(getattr(response, "status_code", None), int):
        return fault_of_status(response)
    cause = error.__cause__ or error
    modules = {type(exception).__module__.partition(".")[0] for exception in (error, cause)}
    if modules & NETWORK_MODULES or isinstance(error, OSError):
        names = [type(exception).__name__ for exception in _causes(error)]
        if "TooManyRedirects" in names:
            return RedirectedError(LOOP, "itself")
        is_free = any(name in NOT_CONNECTED for name in names)
        is_busy = any("Timeout" in name for name in names)
        kind = "unreachable" if is_free else "late" if is_busy else "dropped"
        message = f"{type(cause).__name__}: {str(cause)[:MOST_MESSAGE]}"
        return PassingFaultError(message, is_free=is_free, is_busy=is_busy, kind=kind)
    return None


def proxy_fault(proxy: Proxy, error: Exception) -> PassingFaultError:
    """The error for a proxy that cannot be connected to, or that refuses to pass a request on."""
    problem = PassingFaultError(
        f"the proxy {proxy} cannot be used: {type(error).__name__}: {error}",
        is_free=True,
        kind="unreachable",
    )
    problem.remedy = f" Check that the proxy is running, correct or unset the variable, {NO_PROXY}."
    return problem


def fault_of_status(response: Any) -> T2IError:
    """The error for an answer with the HTTP status of an error."""
    status = response.status_code
    answer = read_answer(body_of(response), by_words=status in JUDGED_BY_WORDS)
    return _fault(status, answer, response.headers.get("retry-after"))


def body_of(response: Any) -> str:
    """The text of an answer; "" for a body that was not read, or cannot be decoded."""
    try:
        return str(response.text)
    except Exception:  # noqa: BLE001 - libraries raise errors of their own
        return ""


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
    if isinstance(reason, T2IError) and not isinstance(
        reason, PassingFaultError | FinalFaultError | UnknownHostError
    ):
        return reason
    if isinstance(reason, PassingFaultError) and reason is error:
        return reason
    words = str(reason) if reason else f"{type(error).__name__}"
    kind = (
        "unreachable" if isinstance(reason, UnknownHostError) else getattr(reason, "kind", "broken")
    )
    return BrokenPictureError(
        f"{words}, at the picture's address", kind="broken" if kind == "final" else kind
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
    if isinstance(given, bytes) and len(given) > limits.bytes:
        raise too_large(limits)
    picture = picture_in(given) if isinstance(given, bytes) else picture_of(given)
    if picture is None and isinstance(given, bytes) and (error := fault_in(given)):
        raise error
    if picture is None:
        raise unreadable(given if isinstance(given, bytes) else None)
    return picture


def unreadable(content: bytes | None) -> BrokenPictureError:
    """The error for an answer that is, or has, no picture that can be read."""
    kind = "" if content is None else content_of(content).name
    words = "expected a picture in the answer, got none that can be read"
    return BrokenPictureError(f"{words}: {kind}" if kind else words)


def too_large(limits: AnswerLimits) -> BrokenPictureError:
    """The error for an answer beyond the size limit; another attempt may succeed."""
    return BrokenPictureError(
        f"expected an answer of at most {limits.megabytes:g} MiB, got a larger one: ask for "
        "smaller pictures (--t2i-size)",
        kind="endless",
    )


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of the header Retry-After, which has seconds or a date; None where it is neither.

    Of several values the longest counts. A wait of more than LONGEST_DEMAND is no demand.

    >>> _seconds("2, 7"), _seconds("nan"), _seconds("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None, 0.0)
    """
    text = str(retry_after or "")[:LONGEST_HEADER].strip()
    numbers = [match for part in text.split(",") if (match := SECONDS.fullmatch(part.strip()))]
    seconds = max(float(match[1]) for match in numbers) if numbers else _seconds_until(text)
    return max(seconds, 0.0) if seconds <= LONGEST_DEMAND else None


def _seconds_until(date: str) -> float:
    """Seconds until a date of HTTP; infinity where there is no such date."""
    try:
        until = parsedate_to_datetime(date)
        # The form of asctime has no zone; all dates of HTTP are in UTC.
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return (until - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return math.inf
