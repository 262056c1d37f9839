"""Proxies and certificates that the environment names: which one a request takes, and mistakes."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies

from pytest_t2i.errors import ConfigurationError

SCHEMES = {"http", "https", "socks5", "socks5h"}
CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file of certificates; that of Python, and those of other programs."""
FOLDER_OF_CERTIFICATES = "SSL_CERT_DIR"
NO_PROXY = "or write the host into NO_PROXY if it needs no proxy"


class Proxy(NamedTuple):
    """A proxy, and the variable that names it."""

    variable: str
    address: str

    def __str__(self) -> str:
        """The variable with its value, without user and password."""
        scheme, _, rest = self.address.partition("://")
        return f"{self.variable}={scheme}://{rest.rpartition('@')[2]}"

    def check(self) -> None:
        """Raise ConfigurationError for an address that cannot be that of a proxy."""
        try:
            parts = urlsplit(self.address)
            is_address = bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or parts.scheme not in SCHEMES:
            raise ConfigurationError(
                f"{self}: expected the address of a proxy that begins with http://, https://, "
                f"socks5:// or socks5h://: correct the variable, or unset it, {NO_PROXY}"
            )
        if parts.scheme.startswith("socks") and find_spec("socksio") is None:
            raise ConfigurationError(
                f"{self}: a SOCKS proxy needs the package 'socksio', which is not installed. "
                f'Run: pip install "httpx[socks]", {NO_PROXY}'
            )


def proxy_of(address: str) -> Proxy | None:
    """The proxy of a request to this address; None for this machine and hosts of NO_PROXY.

    >>> proxy_of("http://127.0.0.1:8000/v1") is None
    True
    """
    parts, proxies = urlsplit(address), getproxies()
    if _is_exempt(parts.hostname or "", parts.port, proxies.get("no", "")):
        return None
    for scheme in (parts.scheme, "all"):
        if value := proxies.get(scheme, "").strip():
            lower = f"{scheme}_proxy"
            names = (name for name in (lower, lower.upper()) if os.environ.get(name))
            variable = next(names, "the system's proxy")
            return Proxy(variable, value if "://" in value else f"http://{value}")
    return None


def _is_exempt(host: str, port: int | None, no_proxy: str) -> bool:
    """Whether a host is this machine, or is named by NO_PROXY: a name, an address or a network."""
    number = _number(host)
    if host == "localhost" or host.endswith(".localhost") or (number and number.is_loopback):
        return True
    return any(_names(entry, host, port, number) for entry in _entries(no_proxy))


def _entries(no_proxy: str) -> Iterator[str]:
    yield from filter(None, (entry.strip().lower() for entry in no_proxy.split(",")))


def _names(
    entry: str,
    host: str,
    port: int | None,
    number: ipaddress.IPv4Address | ipaddress.IPv6Address | None,
) -> bool:
    if number is not None:
        try:
            return number in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:  # a name, or an address with a port
            return entry in {"*", f"{host}:{port}", f"[{host}]:{port}"}
    name = entry.rpartition("://")[2].removeprefix("*").removeprefix(".")
    return entry == "*" or any(
        pattern == name or pattern.endswith(f".{name}") for pattern in (host, f"{host}:{port}")
    )


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def check_environment() -> None:
    """Raise ConfigurationError for a proxy or certificates that no library can use.

    Libraries that download weights read these variables themselves, for any address.
    """
    named_certificates()
    for scheme in ("http", "https"):
        if proxy := proxy_of(f"{scheme}://example.org"):
            proxy.check()


def through(address: str) -> str:
    """Words for a message: through which proxy an address is reached; "" without one."""
    proxy = proxy_of(address)
    return f" through the proxy {proxy}" if proxy else ""


def named_certificates() -> ssl.SSLContext | None:
    """The certificates that a variable names, in the place of the usual ones; None without one.

    Raises ConfigurationError where they are not there, or cannot be read.
    """
    variables = (*CERTIFICATES, FOLDER_OF_CERTIFICATES)
    proxies = {name: text for name in variables if (text := os.environ.get(name, "").strip())}
    for name, text in proxies.items():
        if not os.path.exists(text):  # noqa: PTH110 - it may be no path at all
            raise ConfigurationError(
                f"{name}={text}: expected a file or folder of certificates, and there is none: "
                "correct the variable, or unset it"
            )
    name, text = next(iter(proxies.items()), ("", ""))
    if not name:
        return None
    is_folder = os.path.isdir(text)  # noqa: PTH112
    try:
        if is_folder:
            return ssl.create_default_context(capath=text)
        return ssl.create_default_context(cafile=text)
    except OSError as error:
        raise ConfigurationError(
            f"{name}={text}: expected a file of certificates in PEM, got another one "
            f"({error.strerror or error}): correct the variable, or unset it"
        ) from None
