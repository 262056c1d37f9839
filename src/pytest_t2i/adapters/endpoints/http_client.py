"""The HTTP client of services: allowed hosts, deadline, size limit, no key elsewhere."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import ssl
import weakref
from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from pytest_t2i.adapters.endpoints.answers import (
    SERVER_ERROR,
    TOO_MANY,
    BrokenPictureError,
    PassingFaultError,
    fault_in,
    fault_of_status,
    fetch_fault,
    proxy_fault,
    same_host,
    too_large,
)
from pytest_t2i.adapters.endpoints.hosts import NAMED, named_again, netloc, public_or
from pytest_t2i.adapters.endpoints.http_limits import PLAIN, cut_at, end_with_call, is_cut
from pytest_t2i.adapters.endpoints.proxies import (
    CERTIFICATES,
    FOLDER_OF_CERTIFICATES,
    Proxy,
    named_certificates,
    proxy_of,
)
from pytest_t2i.adapters.loading import needs
from pytest_t2i.errors import GenerationError
from pytest_t2i.protocols import AnswerLimits

with needs("a model behind HTTP", "endpoints"):
    import httpx

MOST_REDIRECTS = 3
"""Largest number of redirects of one request."""
FAILED = 400
"""First HTTP status of an error."""
NO_ADDRESS = "expected the address of a picture in the answer, got none that can be read"
UNKNOWN = re.compile(
    r"unknown|unexpected|unrecogni[sz]ed|unsupported|not (supported|permitted|allowed|known)|extra",
    re.IGNORECASE,
)
"""Messages for a field that a server does not support."""
URL_SAFE = str.maketrans("-_", "+/")
"""Letters of base64 in URLs -> usual letters."""


def trusted_certificates() -> ssl.SSLContext:
    """The certificates that httpx trusts, which are read once for all clients of a process."""
    return _trusted(*map(os.environ.get, (*CERTIFICATES, FOLDER_OF_CERTIFICATES)))


@cache
def _trusted(*_named: str | None) -> ssl.SSLContext:
    return named_certificates() or httpx.create_ssl_context(trust_env=False)


class _ByProxy(httpx.BaseTransport):
    """Sends each request through the proxy that the environment names for its host."""

    def __init__(self) -> None:
        # Made before any request: it makes the loggers that ``unlogged`` disables during one.
        direct = httpx.HTTPTransport(verify=trusted_certificates())
        self._transports: dict[Proxy | None, httpx.HTTPTransport] = {None: direct}
        self._lock = Lock()

    def handle_request(self, request: Any) -> Any:
        """Send a request; PassingFaultError, which names the proxy, where that is not there."""
        proxy = proxy_of(str(request.extensions.get(NAMED, request.url)))
        try:
            return self._transport(proxy).handle_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            if proxy is None:
                raise
            raise proxy_fault(proxy, error) from error

    def _transport(self, proxy: Proxy | None) -> httpx.HTTPTransport:
        with self._lock:
            if proxy not in self._transports:
                if proxy is not None:
                    proxy.check()
                self._transports[proxy] = httpx.HTTPTransport(
                    verify=trusted_certificates(), proxy=proxy and proxy.address
                )
            return self._transports[proxy]

    def close(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            transport.close()


class Call(NamedTuple):
    """A request to a service."""

    path: str
    """Path behind the base URL, or a whole address on the service's own host."""
    body: Mapping[str, Any] | None = None
    """JSON; None for a request without a body."""
    form: Mapping[str, str] | None = None
    """Fields of a multipart form, in place of JSON."""
    content: bytes | None = None
    """A body that was signed, in place of JSON."""
    headers: Mapping[str, str] = {}
    method: str = "POST"


class HttpClient:
    """Requests to one service, and to the hosts of the pictures in its answers.

    A request goes to the service's own host or to a public one. A POST is not redirected to
    another host, an answer ends at the size limit and at the deadline of the call, and the key,
    which is a header of the calls to the service, is sent nowhere else.
    """

    def __init__(self, address: str, limits: AnswerLimits) -> None:
        self._address, self._limits = address.rstrip("/"), limits
        # As the library writes it: without a default port.
        hosts = {netloc(str(httpx.URL(address)))}
        hooks = {
            "request": [public_or(hosts), end_with_call],
            "response": [named_again, cut_at(limits.bytes), same_host],
        }
        if proxy := proxy_of(address):
            proxy.check()
        self.http = httpx.Client(
            transport=_ByProxy(),
            trust_env=False,
            event_hooks=hooks,
            headers=PLAIN,
            follow_redirects=True,
            max_redirects=MOST_REDIRECTS,
        )
        self._hosts = hosts
        weakref.finalize(self, self.http.close)

    def reply(self, call: Call, seconds: float) -> Any:
        """The response of httpx to a request, whatever its status; GenerationError if too large."""
        url = urljoin(f"{self._address}/", call.path)
        if netloc(str(httpx.URL(url))) not in self._hosts:
            raise GenerationError(
                f"the answer refers to {netloc(url)}: expected the service's own host. Nothing was "
                "sent there"
            )
        reply = self.http.request(
            call.method,
            url,
            json=call.body,
            content=call.content,
            files=None if call.form is None else {k: (None, v) for k, v in call.form.items()},
            headers=dict(call.headers),
            timeout=seconds,
            # httpx takes the header Authorization off on the way to another host, and no other.
            follow_redirects=call.method == "POST",
        )
        if is_cut(reply):
            raise too_large(self._limits)
        return reply

    def answer(self, call: Call, seconds: float) -> Any:
        """The JSON of an answer, or its bytes where it is a picture.

        Raises:
            GenerationError: the answer is an error, too large, or neither JSON nor a picture.
        """
        reply = self.reply(call, seconds)
        if reply.status_code >= FAILED:
            raise fault_of_status(reply)
        kind = reply.headers.get("content-type", "").partition(";")[0]
        if kind.startswith("image/"):
            return bytes(reply.content)
        return self._json(reply, kind)

    def _json(self, reply: Any, kind: str) -> Any:
        try:
            return json.loads(reply.content)
        except (ValueError, RecursionError) as error:
            if kind.endswith("json"):
                raise BrokenPictureError(f"no valid JSON ({type(error).__name__})") from None
            fault = fault_in(bytes(reply.content[: 2**20]))
        raise fault or GenerationError(
            f"expected JSON, got {kind or 'no content type'}; check that the base URL is that of "
            "the service"
        )

    def picture(self, text: str, seconds: float) -> bytes:
        """The picture that a text of an answer stands for: base64, a data URL or an address.

        An address is fetched without the key, from a public host or the service's own.
        """
        text = text.strip()
        # A JPEG in base64 begins with a slash, too.
        is_address = text[:8].lower().startswith(("http://", "https://", "/"))
        if not is_address or text.startswith("/9j/"):
            return decoded(text)
        return self.fetched(text, f"{self._address}/", seconds)

    def fetched(self, url: str, base: str, seconds: float) -> bytes:
        """Download a picture from a public host or the service's own, within the size limit."""
        url = url.strip()
        if url[:5].lower() == "data:":
            return decoded(url)
        try:
            request = self.http.build_request("GET", urljoin(base, url), timeout=seconds)
        except Exception:  # noqa: BLE001 - urllib and httpx raise classes of their own
            raise BrokenPictureError(NO_ADDRESS) from None
        if request.url.scheme not in {"http", "https"} or not request.url.host:
            raise BrokenPictureError(NO_ADDRESS)
        try:
            reply = self.http.send(request)
        except Exception as error:  # noqa: BLE001 - libraries raise errors of their own
            raise fetch_fault(error) from None
        if is_cut(reply):
            raise too_large(self._limits)
        status = reply.status_code
        if status == TOO_MANY or status >= SERVER_ERROR:
            kind = "busy" if status == TOO_MANY else "server error"
            raise PassingFaultError(f"HTTP {status} at the picture's address", kind=kind)
        if status >= FAILED:
            raise BrokenPictureError(f"HTTP {status} at the picture's address")
        return bytes(reply.content)


def decoded(text: str) -> bytes:
    """A picture in base64, of either alphabet, with or without padding and a data URL's head."""
    head, comma, letters = text.partition(",")
    if not comma:
        letters = head
    elif "%" in letters:
        letters = unquote(letters)
    plain = "".join(letters.split()).translate(URL_SAFE).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BrokenPictureError("expected base64 in the answer, got something else") from None
