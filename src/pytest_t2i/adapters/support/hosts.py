"""Which hosts a server may send us to: public ones, and those that the user named."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Container
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from pytest_t2i.errors import GenerationError


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
    """Whether an address is on this machine or in its network, as far as its name tells.

    >>> [is_local(f"http://{name}/v1") for name in ("127.0.0.1:8000", "gpu1", "api.openai.com")]
    [True, True, False]
    """
    name = urlsplit(address).hostname or ""
    try:
        return not _is_public(name)
    except ValueError:
        return "." not in name or name.endswith((".localhost", ".local", ".internal"))


def public_or(own: Container[str]) -> Callable[[Any], None]:
    """A request hook of httpx: it goes to a public host, or to one of these (host and port).

    It is asked at each redirect, too. The request goes to the very address that was looked at: a
    name that is asked for twice may lead elsewhere the second time. Needs ``named_again`` as a
    response hook beside it.
    """

    def hook(request: Any) -> None:
        url = str(request.url)
        if netloc(url) in own:
            return
        addresses = _public_addresses(urlsplit(url).hostname or "")
        if not addresses:
            raise GenerationError(
                f"the answer leads to {netloc(url)}, which is neither a public host nor the "
                "endpoint's own: nothing is fetched there"
            )
        if not getproxies():  # a proxy looks names up by itself
            _send_to(addresses[0], request)

    return hook


NAMED, SNI = "pytest_t2i.named", "sni_hostname"
"""Keys of a request's extensions: its URL with the host's name; the name that TLS asks for."""


def _send_to(address: str, request: Any) -> None:
    """Connect to this address, and ask there, and for its certificate, by the host's name."""
    named = request.url
    request.extensions = {**request.extensions, NAMED: named, SNI: named.host}
    request.url = named.copy_with(host=address)
    # Another name may lead to the same address: its connection is its own.
    request.headers["connection"] = "close"


def named_again(response: Any) -> None:
    """A response hook of httpx: what follows, a redirect, begins from the host's name."""
    request = response.request
    named = request.extensions.get(NAMED)
    if named is not None:
        request.url = named
        request.extensions = {
            key: value for key, value in request.extensions.items() if key not in (NAMED, SNI)
        }


def _public_addresses(name: str) -> list[str]:
    """Addresses of a host, those of IPv4 first; none where one of them is not public."""
    try:
        found = socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return []
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    return sorted(addresses, key=lambda one: ":" in one) if all(map(_is_public, addresses)) else []


def _is_public(literal: str) -> bool:
    """ValueError for what is no address in numbers."""
    address = ipaddress.ip_address(literal.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_global and not address.is_multicast
