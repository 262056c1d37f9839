"""Check an endpoint's address, report retries, and search texts for the key."""

from __future__ import annotations

import re
import sys
from typing import Any
from urllib.parse import urlsplit

from pytest_t2i.adapters.support.secrets import is_word
from pytest_t2i.errors import ConfigurationError, printable

FAILED = 400
"""First HTTP status of an error."""


def base_url(given: str, variable: str, key: str) -> str:
    """Check the address in an environment variable; "" where the variable is empty.

    Raises ConfigurationError for an invalid address; the message shows neither key nor user.

    >>> base_url("http://127.0.0.1:8000/v1", "OPENAI_BASE_URL", "sk-0")
    'http://127.0.0.1:8000/v1'
    """
    given = given.strip()
    if given and not is_address(given):
        address = given.rpartition("@")[2].partition("?")[0]
        got = "one that holds the key" if key in address else repr(address)
        raise ConfigurationError(
            f"{variable}: expected an address such as http://127.0.0.1:8000/v1, got {got}: correct "
            "the variable, or unset it to use OpenAI's own endpoint."
        )
    return given


def is_address(given: str) -> bool:
    """Whether a text is the address of an endpoint.

    >>> is_address("http://127.0.0.1:8000/v1"), is_address("127.0.0.1:8000"), is_address("http://[x")
    (True, False, False)
    """
    try:
        parts = urlsplit(given)
        is_http = parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:
        return False
    return is_http and re.fullmatch(r"[\w.:%-]+", parts.hostname or "") is not None


def host(address: str) -> str:
    """Host and port of an address, without its user.

    >>> host("http://me:secret@127.0.0.1:8000/v1"), host("http://[::1]/v1")
    ('127.0.0.1:8000', '[::1]')
    """
    return urlsplit(address).netloc.rpartition("@")[2]


def holds(text: str, key: str) -> bool:
    r"""Whether a text contains the key, plain or with escapes of JSON.

    An endpoint without keys accepts any word, such as "none", which is no secret.

    >>> holds(r"is it \u0073k-0123-4567?", "sk-0123-4567"), holds("none of them", "none")
    (True, False)
    """
    return not is_word(key) and (key in text or key in _unescaped(text))


def _unescaped(text: str) -> str:
    plain_text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r"\\(.)", r"\1", plain_text)


class Waiting:
    """Reports on stderr each time that a request to an endpoint is repeated."""

    def __init__(self, name: str, where: str, times: int) -> None:
        self._name, self._where, self._times = name, where, times
        self._status: int | None = None

    @property
    def hooks(self) -> dict[str, list[Any]]:
        """Hooks that the HTTP library calls at each request and each response."""
        return {"request": [self._asking], "response": [self._answered]}

    def _asking(self, request: Any) -> None:
        again = str(request.headers.get("x-stainless-retry-count", ""))
        if again.isdecimal() and int(again):
            message = f"{self._name}: {self._where} {self._why}, trying again ({int(again) + 1} of "
            print(f"{printable(message)}{self._times})", file=sys.stderr, flush=True)  # noqa: T201
        self._status = None

    def _answered(self, response: Any) -> None:
        self._status = int(response.status_code)

    @property
    def _why(self) -> str:
        if self._status is None:
            return "does not answer"
        return f"answers HTTP {self._status}" if self._status >= FAILED else "breaks off its answer"
