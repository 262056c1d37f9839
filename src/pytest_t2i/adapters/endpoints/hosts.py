"""Restrict redirects and URLs in answers to public hosts, and to hosts that the user named."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Container
from typing import Any
from urllib.parse import urlsplit

from pytest_t2i.adapters.endpoints.proxies import proxy_of
from pytest_t2i.errors import GenerationError


class UnknownHostError(GenerationError):
    """The address in an answer names a host that there is not."""


def plain_address(address: str) -> str:
    """An address without user, password, query and fragment.

    >>> plain_address("http://me:secret@Host:8000/v1/?key=0#x")
    'http://host:8000/v1'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{netloc(address)}{parts.path.rstrip('/')}"


def netloc(address: str) -> str:
    """Host and port in lower case, without a user."""
    return urlsplit(address).netloc.rpartition("@")[2].lower()


def is_local(address: str) -> bool:
    """Whether an address, by its name, is on this machine or in its network.

    >>> [is_local(f"http://{name}/v1") for name in ("127.0.0.1:8000", "gpu1", "api.openai.com")]
    [True, True, False]
    """
    name = urlsplit(address).hostname or ""
    try:
        return not _is_public(name)
    except ValueError:
        return "." not in name or name.endswith((".localhost", ".local", ".internal"))


def public_or(own: Container[str]) -> Callable[[Any], None]:
    """A request hook of httpx that allows public hosts and the ``own`` ones (host and port).

    The hook runs at each redirect, too. The request goes to the address that was checked, as a
    second look-up of the name may give another address. ``named_again`` is needed as a response
    hook.
    """

    def hook(request: Any) -> None:
        url = str(request.url)
        if netloc(url) in own:
            return
        addresses = _public_addresses(str(request.url.host))
        if not addresses:
            raise GenerationError(
                f"the answer refers to {netloc(url)}: expected a public host or the endpoint's "
                "own. Nothing was downloaded from there"
            )
        if proxy_of(url) is None:  # a proxy looks names up itself
            _send_to(addresses[0], request)

    return hook


NAMED, SNI = "pytest_t2i.named", "sni_hostname"
"""Keys of a request's extensions: its URL with the host's name; the name that TLS verifies."""


def _send_to(address: str, request: Any) -> None:
    """Connect to this address, with the host's name in the request and for the certificate."""
    url = request.url
    request.extensions = {**request.extensions, NAMED: url, SNI: url.host}
    request.url = url.copy_with(host=address)
    # Another name may have the same address: connections are not shared.
    request.headers["connection"] = "close"


def named_again(response: Any) -> None:
    """A response hook of httpx that restores the host's name, from which redirects are resolved."""
    request = response.request
    url = request.extensions.get(NAMED)
    if url is not None:
        request.url = url
        request.extensions = {
            key: value for key, value in request.extensions.items() if key not in (NAMED, SNI)
        }


def _public_addresses(name: str) -> list[str]:
    """Addresses of a host, IPv4 first; none where one of them is not public."""
    try:
        entries = socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        raise UnknownHostError(f"the answer refers to {name}: there is no such host") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    return (
        sorted(addresses, key=lambda address: ":" in address)
        if all(map(_is_public, addresses))
        else []
    )


def _is_public(literal: str) -> bool:
    """Whether a numerical address is public; ValueError for a name."""
    address = ipaddress.ip_address(literal.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_global and not address.is_multicast
