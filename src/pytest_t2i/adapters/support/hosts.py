"""Which hosts a server may send us to: public ones, and those that the user named."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Container
from typing import Any
from urllib.parse import urlsplit

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

    It is asked at each redirect, too.
    """

    def hook(request: Any) -> None:
        url = str(request.url)
        if netloc(url) not in own and not _leads_to_public(urlsplit(url).hostname or ""):
            raise GenerationError(
                f"the answer leads to {netloc(url)}, which is neither a public host nor the "
                "endpoint's own: nothing is fetched there"
            )

    return hook


def _leads_to_public(name: str) -> bool:
    try:
        found = socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(_is_public(str(entry[4][0])) for entry in found)


def _is_public(literal: str) -> bool:
    """ValueError for what is no address in numbers."""
    address = ipaddress.ip_address(literal.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_global and not address.is_multicast
