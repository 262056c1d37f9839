"""The HTTP client of services: one deadline, a size limit, public hosts only, no key elsewhere."""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import weakref
from collections.abc import Iterator, Mapping
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from pytest_t2i.adapters.endpoints.addresses import is_public, netloc, plain_address
from pytest_t2i.adapters.endpoints.answers import (
    REDIRECTS_OF_POST,
    SERVER_ERROR,
    TOO_MANY,
    BrokenPictureError,
    PassingFaultError,
    RedirectedError,
    fault_in,
    fault_of_status,
    fetch_fault,
    too_large,
)
from pytest_t2i.adapters.endpoints.deadlines import TimedCall, present_call
from pytest_t2i.adapters.endpoints.proxies import (
    CERTIFICATES,
    FOLDER_OF_CERTIFICATES,
    NO_PROXY,
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
SLACK = 1.0
"""Seconds by which a step may take longer than its call, which ends at its own deadline."""
FAILED = 300
"""First HTTP status of an answer that is none: redirects that can be followed are followed."""
NO_ADDRESS = "expected the address of a picture in the answer, got none that can be read"
URL_SAFE = str.maketrans("-_", "+/")
"""Letters of base64 in URLs -> usual letters."""


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


def trusted_certificates() -> ssl.SSLContext:
    """The certificates that httpx trusts, which are read once for all clients of a process."""
    return _trusted(*map(os.environ.get, (*CERTIFICATES, FOLDER_OF_CERTIFICATES)))


@cache
def _trusted(*_named: str | None) -> ssl.SSLContext:
    return named_certificates() or httpx.create_ssl_context(trust_env=False)


class _Bounded(httpx.SyncByteStream):
    """A body that raises an error at the size limit, or at the deadline of its call."""

    def __init__(self, stream: Any, limits: AnswerLimits, call: TimedCall | None) -> None:
        self._stream, self._limits, self._call = stream, limits, call

    def __iter__(self) -> Iterator[bytes]:
        length = 0
        for chunk in self._stream:
            length += len(chunk)
            if length > self._limits.bytes:
                raise too_large(self._limits)
            if self._call is not None:
                self._call.check()
            yield chunk

    def close(self) -> None:
        self._stream.close()


class _Transport(httpx.BaseTransport):
    """Sends a request through the proxy of its host, over a connection of its own."""

    def __init__(self, own: frozenset[str], limits: AnswerLimits) -> None:
        self._own, self._limits, self._lock = own, limits, Lock()
        direct = httpx.HTTPTransport(verify=trusted_certificates())
        self._transports: dict[Proxy | None, httpx.HTTPTransport] = {None: direct}

    def handle_request(self, request: Any) -> Any:
        url, call = str(request.url), present_call()
        proxy = proxy_of(url)
        is_own = netloc(url) in self._own

        def trace(event: str, told: Mapping[str, Any]) -> None:
            if event.endswith("connect_tcp.complete") and not is_own and proxy is None:
                stream = told["return_value"]
                try:
                    _check_public(stream.get_extra_info("server_addr")[0], url)
                except GenerationError:
                    stream.close()
                    raise
            if call is not None:
                call.trace(event, told)

        if not is_own:
            _check_public(str(request.url.host), url)
        # A connection ends with its call, and answers are not unpacked: a few bytes may become
        # very many.
        request.headers.update({"connection": "close", "accept-encoding": "identity"})
        request.extensions = {**request.extensions, "trace": trace}
        try:
            response = self._transport(proxy).handle_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            if proxy is None:
                raise
            raise _proxy_fault(proxy, error) from error
        _check_redirect(request, response)
        headers = [(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"]
        body = _Bounded(response.stream, self._limits, call)
        return httpx.Response(
            response.status_code, headers=headers, stream=body, extensions=response.extensions
        )

    def _transport(self, proxy: Proxy | None) -> httpx.HTTPTransport:
        with self._lock:
            if proxy is not None and proxy not in self._transports:
                proxy.check()
                self._transports[proxy] = httpx.HTTPTransport(
                    verify=trusted_certificates(), proxy=proxy.address
                )
            return self._transports[proxy]

    def close(self) -> None:
        for transport in self._transports.values():
            transport.close()


def _check_public(host: str, url: str) -> None:
    """Raise GenerationError for an address that is not public; a name may have any address."""
    try:
        if is_public(host):
            return
    except ValueError:
        return
    raise GenerationError(
        f"the answer refers to {netloc(url)}: expected a public host or the endpoint's own. "
        "Nothing was downloaded from there"
    )


def _check_redirect(request: Any, response: Any) -> None:
    """Raise RedirectedError where a POST is redirected to another host, or to be no POST.

    The next host would get the prompt, and a key with it.
    """
    if request.method != "POST" or not response.has_redirect_location:
        return
    try:
        target = request.url.join(response.headers["location"])
    except Exception:  # noqa: BLE001 - httpx raises classes of its own
        raise RedirectedError(response.status_code, "an address that cannot be read") from None
    ports = {"http": 80, "https": 443}
    before, after = (
        (u.scheme, u.host, u.port or ports.get(u.scheme)) for u in (request.url, target)
    )
    # Encryption may be added: http on port 80 becomes https on port 443.
    is_same = after in (before, ("https", before[1], 443 if before[2] == 80 else None))  # noqa: PLR2004
    if not is_same:
        where = netloc(str(target)) or "an address that cannot be read"
        raise RedirectedError(response.status_code, where)
    if response.status_code not in REDIRECTS_OF_POST:
        raise RedirectedError(response.status_code, plain_address(str(target)))


def _proxy_fault(proxy: Proxy, error: Exception) -> PassingFaultError:
    problem = PassingFaultError(
        f"the proxy {proxy} cannot be used: {type(error).__name__}: {error}",
        is_free=True,
        kind="unreachable",
    )
    problem.remedy = f" Check that the proxy is running, correct or unset the variable, {NO_PROXY}."
    return problem


class HttpClient:
    """A client of one service."""

    def __init__(self, address: str, limits: AnswerLimits) -> None:
        """Args: the base URL, whose host alone gets keys, and limits of answers."""
        self.address = address.rstrip("/")
        hosts = {netloc(address), netloc(str(httpx.URL(address)))}
        self.http = httpx.Client(
            transport=_Transport(frozenset(hosts), limits),
            trust_env=False,
            follow_redirects=True,
            max_redirects=MOST_REDIRECTS,
        )
        self._own = hosts
        if proxy := proxy_of(address):
            proxy.check()
        weakref.finalize(self, self.http.close)

    def reply(self, call: Call, seconds: float) -> Any:
        """The response of httpx to a request, whatever its status; GenerationError if too large."""
        url = urljoin(f"{self.address}/", call.path)
        if netloc(str(httpx.URL(url))) not in self._own:
            raise GenerationError(
                f"the answer refers to {netloc(url)}: expected the service's own host. Nothing was "
                "sent there"
            )
        return self.http.request(
            call.method,
            url,
            json=call.body,
            content=call.content,
            files=None if call.form is None else {k: (None, v) for k, v in call.form.items()},
            headers=dict(call.headers),
            timeout=seconds + SLACK,
            # httpx takes the header Authorization off on the way to another host, and no other.
            follow_redirects=call.method == "POST",
        )

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
        """The picture that a text of an answer stands for: a data URL or an address.

        An address is fetched without the key, from a public host or the service's own.
        """
        text = text.strip()
        return decoded_body(text) if text[:5].lower() == "data:" else self._fetched(text, seconds)

    def _fetched(self, text: str, seconds: float) -> bytes:
        try:
            url = httpx.URL(urljoin(f"{self.address}/", text))
            is_address = url.scheme in {"http", "https"} and bool(url.host)
        except Exception:  # noqa: BLE001 - urllib and httpx raise classes of their own
            is_address = False
        if not is_address:
            raise BrokenPictureError(NO_ADDRESS)
        try:
            reply = self.http.get(url, timeout=seconds + SLACK)
        except Exception as error:  # noqa: BLE001 - libraries raise errors of their own
            raise fetch_fault(error) from None
        status = reply.status_code
        if status == TOO_MANY or status >= SERVER_ERROR:
            kind = "busy" if status == TOO_MANY else "server error"
            raise PassingFaultError(f"HTTP {status} at the picture's address", kind=kind)
        if status >= FAILED:
            raise BrokenPictureError(f"HTTP {status} at the picture's address")
        return bytes(reply.content)


def decoded_body(text: str) -> bytes:
    """A picture in base64, of either alphabet, with or without padding and a data URL's head."""
    head, comma, letters = text.partition(",")
    letters = unquote(letters) if comma else head
    plain = "".join(letters.split()).translate(URL_SAFE).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BrokenPictureError("expected base64 in the answer, got something else") from None
