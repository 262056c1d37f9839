"""Check the address of an endpoint."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pytest_t2i.errors import ConfigurationError


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
    return text


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
