"""Hide secrets, such as keys, in all texts of a service, in whatever encoding they come back.

A service or a proxy may echo a secret plainly, or encoded for a URL, JSON or HTML, in base64 or in
hexadecimal. A text with an encoded secret is not shown at all.
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
LAYERS = 4
"""Number of nested encodings that are decoded."""
ESCAPE = re.compile(
    r"\\u\{(0*[0-9a-fA-F]{1,5})\}|\\u([0-9a-fA-F]{4})|\\U(000[0-9a-fA-F]{5})|\\x([0-9a-fA-F]{2})"
)
"""Escapes of JavaScript, JSON and Python."""
LONGEST_SHOWN = 20_000
"""Characters of a text that is shown."""
LONGEST_LETTER = 64
"""Characters of one encoded letter of a secret, at most."""
ZEROS, MANY_DIGITS = re.compile(r"(&#[xX]?)0+(?=[0-9a-fA-F])"), re.compile(r"&#[0-9]{8,}")
"""Leading zeros of a number in HTML, and a number that stands for no character. Python reads no
number of thousands of digits."""
NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
"""Names of environment variables with a secret."""
FILLERS = re.compile(r"[\s:\\-]")
"""Characters that may separate the letters of a secret or of its hexadecimal form."""


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
        forms = [form for word in self._words for form in _forms(word)]
        return any(form in plain for plain in _decoded(text) for form in forms)

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
        """The text without the first letters of a secret at its end, where it was cut before."""
        end = text[-max(map(len, self._words), default=1) :].lower()
        parts = (
            length
            for word in self._words
            for length in range(len(word) - 1, SHORTEST - 1, -1)
            if end.endswith(word[:length].lower())
        )
        longest = max(parts, default=0)
        return text[: len(text) - longest] + "..." if longest else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({HIDDEN})"

    def __reduce__(self) -> str:
        raise TypeError(f"{type(self).__name__} cannot be pickled.")


def secrets_of(key: str, address: str) -> Secrets:
    """The key, and the user, password and query of an address, as secrets."""
    parts = urlsplit(address)
    words = {key, *(unquote(word or "") for word in (parts.username, parts.password))}
    words |= {value for _, value in parse_qsl(parts.query)}
    return Secrets(*sorted(word for word in words if not is_word(word)))


def secrets_of_environment() -> Secrets:
    """The keys, tokens and passwords in environment variables, as far as their names tell."""
    words = {value.strip() for name, value in os.environ.items() if NAMES.search(name)}
    return Secrets(*sorted(word for word in words if not is_word(word)))


def is_word(key: str) -> bool:
    """Whether a key is a mere word, such as "none" for an endpoint that needs no key.

    >>> is_word("none"), is_word("sk-0123-4567")
    (True, False)
    """
    return len(key) < SHORTEST or (key.isalpha() and len(key) < LONGEST_WORD)


def _forms(word: str) -> Iterator[str]:
    """A secret in plain, hexadecimal and base64 form, in lower case."""
    content = word.encode()
    yield word.lower()
    yield FILLERS.sub("", word.lower())
    yield content.hex()
    # The offset within three bytes decides the base64 letters; letters shared with neighbours
    # are cut.
    for before in range(3):
        letters = base64.b64encode(b"\0" * before + content).decode().rstrip("=")
        core = letters[(0, 2, 3)[before] : len(letters) - ((before + len(content)) % 3 > 0)]
        yield core.lower()
        yield core.lower().translate({ord("+"): "-", ord("/"): "_"})


def _decoded(text: str) -> Iterator[str]:
    """The text, and its decoding from URL, JSON and HTML, layer by layer, in lower case."""
    for _ in range(LAYERS):
        yield text.lower()
        yield FILLERS.sub("", text.lower())
        text = MANY_DIGITS.sub("&#9999999", ZEROS.sub(r"\1", unquote(text)))
        text = _unescaped(html.unescape(text))


def _unescaped(text: str) -> str:
    r"""Replace escapes of JSON and Python by their characters.

    >>> _unescaped(r"\u0061\x62\/\141")
    'ab/a'
    """
    text = re.sub(r"\\+", r"\\", text)
    text = ESCAPE.sub(lambda escape: chr(int(next(filter(None, escape.groups())), 16)), text)
    text = re.sub(r"\\([0-3][0-7]{2})", lambda octal: chr(int(octal[1], 8)), text)
    return text.replace("\\/", "/")
