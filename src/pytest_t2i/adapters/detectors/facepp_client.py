"""HTTP client of the Face++ Detect API, which keeps the rate limit and never shows the key.

Key and secret are in one object whose repr hides them. Exceptions during a request are neither
passed on nor chained, as they hold the request. Of the service's messages only documented texts are
repeated.
"""

from __future__ import annotations

import base64
import random
import ssl
import time
from collections.abc import Callable
from functools import cache
from urllib.parse import urlsplit

from pytest_t2i.adapters.detectors.facepp_answers import (
    NO_ANSWER,
    NOT_DOCUMENTED,
    Answer,
    read_answer,
)
from pytest_t2i.adapters.detectors.facepp_credentials import Credentials
from pytest_t2i.adapters.detectors.facepp_errors import (
    TOO_MANY_REQUESTS,
    Course,
    name_of,
    remedy_for,
)
from pytest_t2i.adapters.support.http_limits import (
    PLAIN,
    DeadlinePassedError,
    cut_at,
    is_cut,
    unlogged,
    within,
)
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.errors import ConfigurationError, DetectorError
from pytest_t2i.protocols import AnswerLimits

with needs("the detector face++", "facepp"):
    import httpx
    from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt
    from tenacity.wait import wait_exponential

ADDRESS = "FACEPP_API_URL"
"""Environment variable with the address of the service, which also selects the region."""
DEFAULT_ADDRESS = "https://api-us.faceplusplus.com"
PATH = "/facepp/v3/detect"
TIMEOUT = httpx.Timeout(60.0, connect=15.0)
"""Seconds to connect, and for each other step."""
WAITS = 8
"""Number of waits for the rate limit per picture: about two minutes in all."""
RETRIES = 4
"""Number of retries per picture after a temporary failure."""
LONGEST_WAIT = 30.0
"""Longest wait in seconds."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def checked_address(address: str) -> str:
    """Check the address of the service and remove a final slash.

    Raises:
        ConfigurationError: the address is no URL, or would send key and secret unencrypted.

    Example:
        >>> checked_address("https://api-cn.faceplusplus.com/")
        'https://api-cn.faceplusplus.com'
    """
    if not _is_address(address):
        raise ConfigurationError(
            f"{ADDRESS}: expected a URL without user name, query and fragment, such as "
            f"{DEFAULT_ADDRESS} or https://api-cn.faceplusplus.com. Correct the address."
        )
    parts = urlsplit(address)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ConfigurationError(
            f"{ADDRESS}={address!r} would send key and secret unencrypted. Use https."
        )
    return address.rstrip("/").removesuffix(PATH)


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        # Otherwise an address that only httpx refuses would fail during a request.
        host = httpx.URL(address).host and parts.hostname
        _ = parts.port
    except (ValueError, httpx.InvalidURL):
        return False
    plain = "@" not in parts.netloc and not parts.query and not parts.fragment
    is_line = address.isprintable() and " " not in address
    return parts.scheme in {"https", "http"} and bool(host) and plain and is_line


class Client:
    """A client of the Detect API with one key; it sends pictures one after another."""

    def __init__(
        self,
        address: str,
        credentials: Credentials,
        limits: AnswerLimits = AnswerLimits(),  # noqa: B008 - frozen
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args: the address, the key and secret, limits of answers, and a clock for tests.

        Raises:
            ConfigurationError: the address is invalid, or contains the key or the secret.
        """
        if credentials.are_in(address):
            raise ConfigurationError(
                f"{ADDRESS} contains the key or the secret: give the address of the service alone, "
                f"such as {DEFAULT_ADDRESS}."
            )
        self.url = checked_address(address) + PATH
        self._credentials = credentials
        self._limits, self._sleep, self._clock = limits, sleep, clock
        self._until = float("inf")
        self._spacing = 0.0
        self._sent = float("-inf")

    def detect(self, picture: bytes, seed: int) -> Answer:
        """Send one JPEG or PNG file and wait for the answer.

        Args:
            picture: content of the file.
            seed: seed of the jitter in the waits, so that runs repeat exactly.

        Raises:
            DetectorError: the service cannot be used; the message has the reason and the remedy.
        """
        self._until = self._clock() + self._limits.seconds
        jitter = random.Random(seed)  # noqa: S311 - spreads waits, guards nothing
        limited = self._retrying(Course.WAIT, WAITS, jitter)
        failing = self._retrying(Course.RETRY, RETRIES, jitter)
        answer: Answer = failing(limited, self._ask, picture)
        if answer.course in {Course.WAIT, Course.RETRY, Course.STOP}:
            raise DetectorError(self._complaint(answer))
        return answer

    def _retrying(self, course: Course, times: int, jitter: random.Random) -> Retrying:
        """A policy that sends again while answers have this course, and returns the last one."""
        backoff = wait_exponential(max=LONGEST_WAIT)

        def slow_down(_: RetryCallState) -> None:
            if course is Course.WAIT:
                self._spacing = min(max(2 * self._spacing, 0.5), 4.0)

        return Retrying(
            retry=retry_if_result(lambda answer: answer.course is course),
            stop=stop_after_attempt(times + 1),
            # Exponential, between half and all of it.
            wait=lambda state: backoff(state) * jitter.uniform(0.5, 1.0),
            sleep=lambda seconds: self._sleep(min(seconds, max(self._left, 0.0))),
            before_sleep=slow_down,
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )

    def _ask(self, picture: bytes) -> Answer:
        """Send a picture once; key and secret are removed from exceptions."""
        self._take_turn()
        if self._left <= 0:
            return Answer(Course.STOP, message=self._too_late, status=NO_ANSWER)
        stopped: BaseException | None = None
        try:
            with unlogged():
                return self._exchange(picture)
        except DeadlinePassedError:
            return Answer(Course.STOP, message=self._too_late, status=NO_ANSWER)
        except Exception as error:  # noqa: BLE001 - httpx raises many kinds, not all its own
            said = type(error).__name__
            if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                # Nothing was sent yet, so the message cannot echo the key.
                said = f"{said}: {self._credentials.hide_in(str(error))}"
        except BaseException as error:  # noqa: BLE001 - the frames of Ctrl-C, too, hold the request
            stopped = error
        if stopped is not None:
            # Raised anew outside of the handler, without the frames that hold the request.
            stopped.__traceback__ = stopped.__cause__ = stopped.__context__ = None
            hide = self._credentials.hide_in
            stopped.args = tuple(hide(part) if type(part) is str else part for part in stopped.args)
            raise stopped
        return Answer(Course.RETRY, message=said, status=NO_ANSWER)

    def _exchange(self, picture: bytes) -> Answer:
        # One connection per picture: a run may send pictures minutes apart.
        form = {
            **self._credentials.form(),
            "image_base64": base64.b64encode(picture).decode(),
            "return_attributes": "gender",
        }
        hooks = {"response": [cut_at(self._limits.bytes)]}
        with httpx.Client(
            timeout=TIMEOUT, verify=_certificates(), event_hooks=hooks, headers=PLAIN
        ) as http:
            reply = within(self._left, lambda: http.post(self.url, data=form), http.close)
        if is_cut(reply):
            told = f"its answer is larger than {self._limits.megabytes:g} MiB"
            return Answer(Course.STOP, message=told, status=NO_ANSWER)
        return read_answer(reply.status_code, reply.text)

    @property
    def _left(self) -> float:
        """Seconds until the deadline of the present picture."""
        return self._until - self._clock()

    @property
    def _too_late(self) -> str:
        return f"no whole answer in {self._limits.seconds:g} seconds, --t2i-answer-deadline"

    def _take_turn(self) -> None:
        """Wait until the rate limit allows the next request."""
        wait = self._sent + self._spacing - self._clock()
        if self._spacing and wait > 0:
            self._sleep(wait)
        self._sent = self._clock()

    def _complaint(self, answer: Answer) -> str:
        if answer.status == NO_ANSWER:
            return (
                f"{self.url} cannot be reached ({answer.message}). Check the network and "
                f"{ADDRESS}, or run again later; what was detected before is kept."
            )
        if answer.message == NOT_DOCUMENTED:
            return f"{self.url} answered {NOT_DOCUMENTED}. Check {ADDRESS}."
        documented = {Course.WAIT: TOO_MANY_REQUESTS, Course.RETRY: "INTERNAL_ERROR"}
        remedy = remedy_for(documented.get(answer.course or Course.STOP, name_of(answer.message)))
        return f"Face++ answered {answer.message!r} (HTTP status {answer.status}). {remedy}"


@cache
def _certificates() -> ssl.SSLContext:
    # Cached: reading them for each client takes a fifth of a second.
    return httpx.create_ssl_context()
