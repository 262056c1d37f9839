"""Where a key stands in what a run left, in any of eight encodings.

Plain, percent, base64, base64url, hexadecimal, UTF-16, JSON-escaped and HTML-escaped; letters in
either case.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

ESCAPED = re.compile(rb"\\u00([0-9a-fA-F]{2})")


def leaks(folder: Path, key: str, *texts: str) -> list[tuple[str, str]]:
    """Where it stands, in which encoding: in the files below a folder, and in these texts."""
    contents = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    contents |= {f"output {place}": text.encode() for place, text in enumerate(texts)}
    return [(where, form) for where, content in contents.items() for form in _found(content, key)]


def _found(content: bytes, key: str) -> Iterator[str]:
    for form, written in _forms(key.encode()):
        if written.lower() in content.lower():
            yield form
    for form, plain in _read(content):
        if key.encode().lower() in plain.lower():
            yield form


def _forms(key: bytes) -> Iterator[tuple[str, bytes]]:
    """What stands there; base64 without the letters that depend on what is beside it."""
    yield "plain", key
    yield "hexadecimal", key.hex().encode()
    for order in ("le", "be"):
        yield "UTF-16", key.decode().encode(f"utf-16-{order}")
    for before in range(3):
        first, last = (0, 2, 3)[before], (before + len(key)) % 3 > 0
        for name, encode in (
            ("base64", base64.b64encode),
            ("base64url", base64.urlsafe_b64encode),
        ):
            letters = encode(b"x" * before + key).rstrip(b"=")
            yield name, letters[first : len(letters) - last]


def _read(content: bytes) -> Iterator[tuple[str, bytes]]:
    """What a content says, read in these ways; of a key some letters may be escaped alone."""
    if b"%" in content:
        yield "percent", unquote_to_bytes(content)
    if b"\\u" in content:
        yield "JSON-escaped", ESCAPED.sub(lambda sign: bytes([int(sign[1], 16)]), content)
    if b"&#" in content:
        yield "HTML-escaped", html.unescape(content.decode("latin-1")).encode("latin-1", "ignore")
