"""Hide secrets, such as keys, in all texts of a service.

A service or a proxy may echo a secret plain, percent-encoded, in base64, in hexadecimal or escaped
as in JSON and HTML. A text with an encoded secret is not shown at all. Other encodings, and one
within another, are not looked for.
"""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

HIDDEN = "[hidden]"
SHORTEST, LONGEST_WORD = 8, 16
"""A key with fewer characters than the first number, or with letters alone and fewer characters
than the second, is no secret."""
ESCAPE = re.compile(r"\\(?:u00|x)([0-9a-fA-F]{2})")
"""Escapes of JSON and Python."""
ENTITY = re.compile(r"&#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6});")
"""Characters as numbers in HTML."""
LONGEST_SHOWN = 20_000
"""Characters of a text that is shown."""
LONGEST_LETTER = 9
"""Characters of one encoded letter of a secret, at most."""
NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""Names of environment variables with a secret."""


class Secrets:
    """A few secrets, which the object's repr does not show."""

    __slots__ = ("_words",)

    def __init__(self, *words: str) -> None:
        self._words = words

    def are_in(self, text: str) -> bool:
        """Whether a text contains one of the secrets, plain or encoded.

        >>> Secrets("abc", "xyz").are_in("no such key: %61bc")
        True
        """
        plain = [form.lower() for form in _decoded(text)]
        return any(form in part for word in self._words for form in _forms(word) for part in plain)

    def hide_in(self, text: str, most: int = LONGEST_SHOWN) -> str:
        r"""The text with the secrets replaced; nothing of it where one is encoded.

        The text is cut to ``most`` characters. It is cut first, and the end, where a part of a
        secret may be left, is dropped: a server decides how long its texts are.

        >>> secrets = Secrets("abc", "xyz")
        >>> secrets.hide_in("no such key: abc"), secrets.hide_in(r"key \u0061bc")
        ('no such key: [hidden]', '[hidden]')
        """
        margin = LONGEST_LETTER * max(map(len, self._words), default=0)
        excerpt = text[: 4 * most + margin]
        is_cut = len(excerpt) < len(text)
        for word in sorted(self._words, key=len, reverse=True):
            excerpt = re.sub(re.escape(word), HIDDEN, excerpt, flags=re.IGNORECASE)
        if self.are_in(excerpt):
            return HIDDEN
        return self._without_part(excerpt[:-margin] if is_cut and margin else excerpt)[:most]

    def _without_part(self, text: str) -> str:
        lengths = range(max(map(len, self._words), default=1) - 1, SHORTEST - 1, -1)
        heads = (word[:length] for length in lengths for word in self._words)
        head = next((head for head in heads if text.lower().endswith(head.lower())), "")
        return f"{text[: -len(head)]}..." if head else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({HIDDEN})"

    def __reduce__(self) -> str:
        raise TypeError(f"{type(self).__name__} cannot be pickled.")


def secrets_of(key: str, address: str) -> Secrets:
    """The key, and the user, password and query of an address, as secrets."""
    parts = urlsplit(address)
    words = {key, *(unquote(word or "") for word in (parts.username, parts.password))}
    return _secrets(words | {value for _, value in parse_qsl(parts.query)})


def secrets_of_environment() -> Secrets:
    """The keys, tokens and passwords in environment variables, as far as their names tell."""
    return _secrets({value.strip() for name, value in os.environ.items() if NAMES.search(name)})


def _secrets(words: set[str]) -> Secrets:
    """Those that are no mere words, such as "none" for an endpoint that needs no key."""
    return Secrets(
        *sorted(
            word for word in words if len(word) >= (LONGEST_WORD if word.isalpha() else SHORTEST)
        )
    )


def _forms(word: str) -> Iterator[str]:
    """A secret in plain, hexadecimal and base64 form, in lower case."""
    content = word.encode()
    yield word.lower()
    yield content.hex()
    # The offset within three bytes decides the base64 letters; letters shared with neighbours
    # are cut.
    for before in range(3):
        letters = base64.b64encode(b"\0" * before + content).decode().rstrip("=")
        core = letters[(0, 2, 3)[before] : len(letters) - ((before + len(content)) % 3 > 0)]
        yield core.lower()
        yield core.lower().replace("+", "-").replace("/", "_")


def _decoded(text: str) -> Iterator[str]:
    yield text
    yield unquote(text)
    yield ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    yield ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
