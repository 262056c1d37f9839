"""Speaks HTTP with the Face++ Detect API: sends one picture, waits its turn, never shows the key.

Key and secret live in one object whose repr hides them. Nothing that httpx raises is passed on or
chained, since its errors carry the request, and whatever the service says is cleared of both
before it is shown.
"""

from __future__ import annotations

import base64
import os
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from pytest_t2i.adapters.detectors.facepp_errors import (
    TOO_MANY_REQUESTS,
    Course,
    course_of,
    name_of,
    remedy_for,
)
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.errors import ConfigurationError, DetectorError

with needs("the detector face++", "facepp"):
    import httpx

KEY, SECRET, ADDRESS = "FACEPP_API_KEY", "FACEPP_API_SECRET", "FACEPP_API_URL"
"""Environment variables; the address also chooses the region."""
DEFAULT_ADDRESS = "https://api-us.faceplusplus.com"
PATH = "/facepp/v3/detect"
TIMEOUT = httpx.Timeout(60.0, connect=15.0)
"""Seconds: to connect, and for each other step."""
WAITS = 8
"""Times that one picture waits for the rate limit: about two minutes in all."""
RETRIES = 4
"""Times that one picture is sent again after a passing fault."""
LONGEST_WAIT = 30.0
"""Seconds."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
HIDDEN = "[hidden]"


class Credentials:
    """Key and secret; hidden wherever the object is shown."""

    __slots__ = ("_key", "_secret")

    def __init__(self, key: str, secret: str) -> None:
        self._key, self._secret = key, secret

    @classmethod
    def from_environment(cls) -> Credentials:
        """Read FACEPP_API_KEY and FACEPP_API_SECRET.

        Raises:
            ConfigurationError: one of them is absent or empty.
        """
        missing = [name for name in (KEY, SECRET) if not os.environ.get(name, "").strip()]
        if missing:
            raise ConfigurationError(
                f"the detector face++ needs the environment variable {' and '.join(missing)}. "
                "Register at https://console.faceplusplus.com, make an API key, and set both "
                f"{KEY} and {SECRET}; they are read from nowhere else and written nowhere."
            )
        return cls(os.environ[KEY].strip(), os.environ[SECRET].strip())

    def form(self) -> dict[str, str]:
        """The two fields of a request."""
        return {"api_key": self._key, "api_secret": self._secret}

    def hide_in(self, text: str) -> str:
        """The text without key and secret.

        Example:
            >>> Credentials("abc", "xyz").hide_in("no such key: abc")
            'no such key: [hidden]'
        """
        for secret in sorted((self._key, self._secret), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    def __repr__(self) -> str:
        return f"Credentials({HIDDEN})"

    def __reduce__(self) -> str:
        raise TypeError("Credentials are not written anywhere.")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said of one picture."""

    course: Course | None
    """None: it was analysed; else what became of it (RESIZE, UNREADABLE, MULTIPLE)."""
    faces: tuple[Mapping[str, Any], ...] = ()
    """The ``faces`` of the answer as documented."""
    message: str = ""
    """The service's error message."""


def checked_address(address: str) -> str:
    """The address of the service without a final slash.

    Raises:
        ConfigurationError: it is no URL, or key and secret would travel unencrypted.

    Example:
        >>> checked_address("https://api-cn.faceplusplus.com/")
        'https://api-cn.faceplusplus.com'
    """
    parts = urlsplit(address)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.username:
        raise ConfigurationError(
            f"{ADDRESS} is no address of a service. Expected a URL without user name, such as "
            f"{DEFAULT_ADDRESS} or https://api-cn.faceplusplus.com."
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ConfigurationError(
            f"{ADDRESS}={address!r} would send key and secret unencrypted. Use https."
        )
    return address.rstrip("/").removesuffix(PATH)


class Client:
    """One Detect API with one key; sends pictures one after another."""

    def __init__(
        self,
        address: str,
        credentials: Credentials,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args: where the service is, who asks, and the clock (tests bring their own)."""
        self.url = checked_address(address) + PATH
        self._credentials = credentials
        self._sleep, self._clock = sleep, clock
        self._spacing = 0.0
        self._sent = float("-inf")

    def detect(self, picture: bytes, seed: int) -> Answer:
        """Send one JPEG or PNG file and wait for the answer.

        Args:
            picture: The file.
            seed: Of the jitter in the waits, so that a run repeats itself exactly.

        Raises:
            DetectorError: the service cannot be used; says why and what to do.
        """
        jitter = random.Random(seed)  # noqa: S311 - spreads waits, guards nothing
        waits = retries = 0
        while True:
            status, body = self._post(picture)
            if isinstance(body, dict) and status == httpx.codes.OK and "error_message" not in body:
                return Answer(None, self._faces(body))
            message = self._message(status, body)
            course = course_of(status, message)
            if course is Course.WAIT and waits < WAITS:
                waits += 1
                self._slow_down()
                self._sleep(_pause(waits, jitter))
            elif course is Course.RETRY and retries < RETRIES:
                retries += 1
                self._sleep(_pause(retries, jitter))
            elif course in {Course.WAIT, Course.RETRY, Course.STOP}:
                raise DetectorError(self._complaint(status, message, course))
            else:
                return Answer(course, message=message)

    def _post(self, picture: bytes) -> tuple[int, Any]:
        """HTTP status (599 when nothing came back) and body: JSON if it is, else text.

        The body is cleared of key and secret before it is anywhere else.
        """
        self._take_turn()
        try:
            # A connection each: pictures come minutes apart when a run makes them meanwhile.
            with httpx.Client(timeout=TIMEOUT, verify=_certificates()) as http:
                reply = http.post(
                    self.url,
                    data={
                        **self._credentials.form(),
                        "image_base64": base64.b64encode(picture).decode(),
                        "return_attributes": "gender",
                    },
                )
                status, text = reply.status_code, reply.text
        except httpx.HTTPError as error:
            # The error itself is not kept: it carries the request, and that the key.
            status, text = 599, f"{type(error).__name__}: {error}"
        text = self._credentials.hide_in(text)
        try:
            return status, httpx.Response(status, text=text).json()
        except ValueError:
            return status, text

    def _take_turn(self) -> None:
        """Keep the distance from the last request that the rate limit has shown to be needed."""
        wait = self._sent + self._spacing - self._clock()
        if self._spacing and wait > 0:
            self._sleep(wait)
        self._sent = self._clock()

    def _slow_down(self) -> None:
        self._spacing = min(max(2 * self._spacing, 0.5), 4.0)

    def _faces(self, body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        faces = body.get("faces")
        if not isinstance(faces, list) or not all(isinstance(face, dict) for face in faces):
            raise DetectorError(
                f"{self.url} answered without a list of faces, so it is not the Face++ Detect API "
                f"as documented. Check {ADDRESS}."
            )
        return tuple(faces)

    def _message(self, status: int, body: Any) -> str:
        told = body.get("error_message") if isinstance(body, dict) else body
        lines = str(told or "").strip().splitlines()
        # A proxy answers with a page; its first line is enough.
        return lines[0][:200] if lines else f"HTTP status {status}"

    def _complaint(self, status: int, message: str, course: Course) -> str:
        if status == 599:  # noqa: PLR2004 - no answer at all, see _post
            return (
                f"{self.url} cannot be reached ({message}). Check the network and {ADDRESS}, or "
                "run again later; what was detected before is kept."
            )
        documented = TOO_MANY_REQUESTS if course is Course.WAIT else name_of(message)
        if course is Course.RETRY:
            documented = "INTERNAL_ERROR"
        return f"Face++ answered {message!r} (HTTP status {status}). {remedy_for(documented)}"


@cache
def _certificates() -> ssl.SSLContext:
    # Read once: a client that reads them itself takes a fifth of a second to make.
    return httpx.create_ssl_context()


def _pause(attempt: int, jitter: random.Random) -> float:
    """Seconds before the next attempt: doubling, between half and all of it."""
    longest = min(0.5 * 2.0**attempt, LONGEST_WAIT)
    return longest * jitter.uniform(0.5, 1.0)
