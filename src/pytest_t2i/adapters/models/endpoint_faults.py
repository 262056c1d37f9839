"""Classify an endpoint's answers without a picture: refused, temporary failure, or permanent."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.support.loading import NETWORK_MODULES
from pytest_t2i.adapters.support.picture_files import picture_in, picture_of
from pytest_t2i.errors import GenerationError, T2IError
from pytest_t2i.protocols import AnswerLimits

if TYPE_CHECKING:
    from PIL.Image import Image

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
NOT_CONNECTED = {
    "ConnectError", "ConnectTimeout", "ConnectionRefusedError", "NewConnectionError", "gaierror",
}  # fmt: skip
"""Names of exceptions of requests that were never sent."""
KIND_OF_STATUS = {TOO_MANY: "busy", UNAVAILABLE: "unavailable", TIMEOUT: "late", TOO_EARLY: "busy"}
"""HTTP status -> kind of failure; others from 500 on are server errors."""
REFUSAL_CODES = {
    "contentpolicyviolation", "moderationblocked", "contentfilter", "contentfiltered",
    "contentmoderation", "safetyviolation", "responsibleaipolicyviolation", "nsfwcontent",
}  # fmt: skip
"""Codes of refusals by policy, in lower case and without separators."""
REFUSING = re.compile(
    r"safety (system|filter|checker)|content (policy|policies|filter|moderation|safety)|nsfw"
    r"|violate[sd]? (our|the|its) .{0,20}polic",
    re.IGNORECASE,
)
"""Messages of refusals by policy with HTTP 400 or 422 and no code."""
NO_MONEY = {"insufficientquota", "billinghardlimitreached"}
"""Codes of HTTP 429 that are permanent."""


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


class FinalFaultError(GenerationError):
    """A permanent failure; the request was not charged."""

    is_free, kind = True, "final"


class RedirectedError(FinalFaultError):
    """The endpoint redirects a request to another host."""

    kind = "redirected"

    def __init__(self, status: int, where: str) -> None:
        super().__init__(
            f"HTTP {status}: expected a picture, got a redirect to {where}; if that host is right, "
            "give its address as base URL"
        )


def fault(status: int, words: str, code: str = "", retry_after: str | None = None) -> T2IError:
    """The error for an HTTP status, with the endpoint's message.

    >>> type(fault(503, "busy")).__name__, type(fault(400, "x", "moderation_blocked")).__name__
    ('PassingFaultError', 'RefusedError')
    """
    plain = re.sub(r"[^a-z]", "", code.lower())
    told = f"HTTP {status}{': ' if words else ''}{words}"
    by_words = status in {BAD_REQUEST, UNPROCESSABLE} and REFUSING.search(words)
    if plain in REFUSAL_CODES or by_words:
        return RefusedError(words or code)
    passing = status in {TIMEOUT, TOO_EARLY, TOO_MANY} or (
        status >= SERVER_ERROR and status != NOT_IMPLEMENTED
    )
    if passing and plain not in NO_MONEY:
        is_free = status < SERVER_ERROR or status == UNAVAILABLE
        is_busy = status in {TOO_MANY, UNAVAILABLE}
        kind = KIND_OF_STATUS.get(status, "server error")
        after = _seconds(retry_after)
        return PassingFaultError(told, after, is_free=is_free, is_busy=is_busy, kind=kind)
    return FinalFaultError(told)


def fault_of(error: Exception) -> T2IError | None:
    """The error for an exception of an HTTP library; None for an exception of other code."""
    if isinstance(error, T2IError):
        return error
    response: Any = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if isinstance(status, int):
        words, code = said(response)
        return fault(status, words, code, response.headers.get("retry-after"))
    cause = error.__cause__ or error
    modules = {type(one).__module__.partition(".")[0] for one in (error, cause)}
    if modules & NETWORK_MODULES or isinstance(error, OSError):
        names = _names(error)
        is_free = any(name in NOT_CONNECTED for name in names)
        is_busy = any("Timeout" in name for name in names)
        kind = "unreachable" if is_free else "late" if is_busy else "dropped"
        told = f"{type(cause).__name__}: {cause}"
        return PassingFaultError(told, is_free=is_free, is_busy=is_busy, kind=kind)
    return None


def _names(error: BaseException | None) -> list[str]:
    """Names of an exception and of its causes, as libraries wrap exceptions."""
    names = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__
    return names


def picture_from(given: Image | bytes, limits: AnswerLimits) -> Image:
    """A decoded picture, from a picture or the bytes of its file.

    Raises BrokenPictureError for a file beyond the size limit or without a readable picture.
    """
    if isinstance(given, bytes) and len(given) > limits.bytes:
        raise too_large(limits)
    picture = picture_in(given) if isinstance(given, bytes) else picture_of(given)
    if picture is None:
        raise BrokenPictureError("expected a picture in the answer, got none that can be read")
    return picture


def too_large(limits: AnswerLimits) -> BrokenPictureError:
    """The error for an answer beyond the size limit; another attempt may succeed."""
    return BrokenPictureError(
        f"expected an answer of at most {limits.megabytes:g} MiB, got a larger one: raise "
        "--t2i-answer-limit",
        kind="endless",
    )


def said(response: Any) -> tuple[str, str]:
    """Message and code of an error's body, in any of the usual formats."""
    try:
        text = str(response.text).strip()
    except Exception:  # noqa: BLE001 - a body that was not read, or cannot be decoded
        return "", ""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return ("a page of HTML" if text.startswith("<") else text), ""
    told = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(told, dict):
        return (told if isinstance(told, str) else json.dumps(told)), ""
    words = told.get("message") or told.get("detail") or told
    code = told.get("code") or told.get("type") or ""
    return (words if isinstance(words, str) else json.dumps(words)), str(code)


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of the header Retry-After, which has seconds or a date."""
    if not retry_after:
        return None
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None
