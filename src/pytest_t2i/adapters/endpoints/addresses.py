"""Read and check the addresses of endpoints."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pytest_t2i.errors import ConfigurationError

OPENAI_ROUTES = (
    "/images/(?:generations|edits|variations)|/chat/completions|/completions|/responses"
    "|/models|/embeddings"
)
"""Pattern of what requests of OpenAI's protocol append to a base URL."""
OF_AZURE = "/openai/deployments/"
"""Part of the addresses of Azure that are not of OpenAI's protocol."""


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
        return not is_public(name)
    except ValueError:
        return "." not in name or name.endswith((".localhost", ".local", ".internal"))


def is_public(literal: str) -> bool:
    """Whether a numerical address is public; ValueError for a name.

    >>> is_public("10.0.0.1"), is_public("93.184.216.34"), is_public("::ffff:10.0.0.1")
    (False, True, False)
    """
    address = ipaddress.ip_address(literal.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_global and not address.is_multicast


def base_url(text: str, variable: str, key: str) -> str:
    """Check the address in an environment variable; "" where the variable is empty.

    Raises ConfigurationError for an invalid address; the message shows neither key nor user.

    >>> base_url("http://127.0.0.1:8000/v1", "OPENAI_BASE_URL", "sk-0")
    'http://127.0.0.1:8000/v1'
    """
    text = text.strip()
    if text and not is_address(text):
        address = text.rpartition("@")[2].partition("?")[0]
        got = "one that holds the key" if key in address else repr(address)
        raise ConfigurationError(
            f"{variable}: expected an address such as http://127.0.0.1:8000/v1, got {got}: correct "
            "the variable, or unset it to use OpenAI's own endpoint."
        )
    return without_route(variable, text, OPENAI_ROUTES)


def is_address(text: str) -> bool:
    """Whether a text is the address of an endpoint.

    >>> is_address("http://127.0.0.1:8000/v1"), is_address("127.0.0.1:8000"), is_address("http://[x")
    (True, False, False)
    """
    try:
        parts = urlsplit(text)
        is_http = parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:
        return False
    return is_http and re.fullmatch(r"[\w.:%-]+", parts.hostname or "") is not None


def without_route(where: str, address: str, routes: str, model: str = "", **query: str) -> str:
    """The base URL where a whole address of a request was pasted, as documentation shows it.

    Args:
        where: the option or variable, for messages.
        address: what was given.
        routes: pattern of what requests append to the base URL; its group ``model`` is a name,
            and ``{model}`` that of the model that was asked for.
        model: the model that was asked for.
        query: parameters that requests have, with underscores for hyphens.

    Raises ConfigurationError, with the right address, for a route of another model, of another
    protocol, or with other parameters.

    >>> without_route("OPENAI_BASE_URL", "http://gpu1/v1/images/generations", OPENAI_ROUTES)
    'http://gpu1/v1'
    """
    parts = urlsplit(address) if is_address(address) else None
    route = parts and re.search(f"(?:{routes.replace('{model}', re.escape(model))})/*$", parts.path)
    if parts is None or route is None:
        return address
    base = urlunsplit((parts.scheme, parts.netloc, parts.path[: route.start()], "", ""))
    right = plain_address(base)
    problem, named = "", unquote(route.groupdict().get("model") or "")
    fields = dict(parse_qsl(parts.query))
    unfilled = sorted(name for name in fields if query.get(name.replace("-", "_")) != fields[name])
    if OF_AZURE in parts.path and routes == OPENAI_ROUTES:
        right = f"{plain_address(base).partition(OF_AZURE)[0]}/openai/v1"
        problem = "that of a deployment, whose requests are not of OpenAI's protocol"
    elif named and model.removeprefix("models/").partition(":")[0] != named.partition(":")[0]:
        problem = f"that of requests to {named!r}, while the model is {model!r}"
    elif unfilled:
        problem = f"that of a request with {', '.join(unfilled)}, which reports would show"
        if unfilled == ["api-version"]:
            problem = "one with another api-version than AZURE_OPENAI_API_VERSION sets"
    if problem:
        raise ConfigurationError(
            f"{where}: expected the base URL of the service, got {problem}: write {right}"
        )
    return base
