"""Reading files of strangers: bytes, text, TOML and JSON within limits, as records."""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import stat
import threading
import tomllib
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from pytest_t2i.data import beyond_reach
from pytest_t2i.errors import (
    ConfigurationError,
    FileFormatError,
    mismatch,
    shown,
)
from pytest_t2i.files import MOST_BITS, MOST_BYTES, MOST_DEPTH, MOST_TEXT, MOST_TOML, Kind


def open_regular(path: Path, *, kind: str = "file", remedy: str = "Check the path.") -> BinaryIO:
    """Open a regular file to read its bytes; raise FileFormatError for anything else."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileFormatError(path, f"expected a {kind}, this is not a regular file.")
        return path.open("rb")
    except FileNotFoundError:
        raise FileFormatError(path, f"no such {kind}.", remedy=remedy) from None
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None


def read_bytes(
    path: Path, *, kind: str = "file", remedy: str = "Check the path.", most: int | None = None
) -> bytes:
    """Read a regular file of at most ``most`` bytes; raise FileFormatError for anything else."""
    most = MOST_BYTES if most is None else most
    try:
        with open_regular(path, kind=kind, remedy=remedy) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise FileFormatError(path, f"expected a {kind} of at most {most >> 20} MiB.")
            return file.read()
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None


def read_text(
    path: Path, *, kind: str = "file", remedy: str = "Check the path.", most: int | None = None
) -> str:
    """Read a regular UTF-8 file of at most ``most`` bytes, with line feeds between its lines.

    Raises FileFormatError, whose message names the ``kind`` of file that was expected; of another
    one, such as a spreadsheet or a Git LFS pointer, it says what it is.

    >>> read_text(Path("words.txt"), kind="list of words")
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.FileFormatError: words.txt: no such list of words. Check the path.
    """
    path = Path(path)
    content = read_bytes(path, kind=kind, remedy=remedy, most=most)
    _check_is_text(path, content, kind)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"expected a {kind} in UTF-8: {error}."
        raise FileFormatError(path, problem, remedy="Save it as UTF-8.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_is_text(path: Path, content: bytes, kind: str) -> None:
    """Raise FileFormatError for a spreadsheet, a picture, a pointer of Git LFS and the like."""
    shown = content_of(content)
    if shown.name and content and shown.kind not in (TEXT, MARKUP):
        remedy = 'Save it as "CSV UTF-8".' if shown.kind == TABLE else ""
        raise FileFormatError(path, f"expected a {kind} of text, got {shown.name}.", remedy=remedy)


PICTURE, TABLE, TEXT, MARKUP, OTHER = "picture", "table", "text", "markup", ""


class Content(NamedTuple):
    """What a file is."""

    name: str
    """In words, such as "JPEG XL"; "" where it is unknown."""
    kind: str = OTHER
    """A picture or a table of a format that is not read, a text, a text in a language, or other."""


CONTENTS = {
    rb"\xff\x0a|\0{3}\x0cJXL ": Content("JPEG XL", PICTURE),
    rb".{4}ftyp(hei[cxms]|hev[cx]|mif1|msf1)": Content("HEIC", PICTURE),
    rb"8BPS": Content("PSD", PICTURE),
    rb"%!PS|\xc5\xd0\xd3\xc6": Content("EPS", PICTURE),
    rb"%PDF": Content("PDF", PICTURE),
    rb"\0\0\x01\0": Content("ICO", PICTURE),
    rb"DDS |qoif|v/1\x01|#\?RADIANCE": Content("a format of pictures that is not read", PICTURE),
    rb"version https://git-lfs\.": Content("a Git LFS pointer (`git lfs pull` fetches the file)"),
    rb"/annex/objects": Content("a git-annex pointer (`git annex get` fetches the file)"),
    rb"\x89PNG": Content("PNG that cannot be decoded"),
    rb"\xff\xd8": Content("JPEG that cannot be decoded"),
    rb"RIFF.{4}WEBP": Content("WebP that cannot be decoded"),
    rb"GIF8": Content("GIF that cannot be decoded"),
    rb"II\*\0|MM\0\*": Content("TIFF that cannot be decoded"),
    rb"BM.{4}\0{4}": Content("BMP that cannot be decoded"),
    rb"\0{3}\x0cjP": Content("JPEG 2000 that cannot be decoded"),
    rb".{4}ftypavi[fs]": Content("AVIF that cannot be decoded"),
    rb".{4}ftyp|\x1aE\xdf\xa3|RIFF.{4}AVI": Content("a video"),
    rb"PK\x03\x04.*(\[Content_Types\]|xl/)": Content("an Excel workbook (.xlsx)", TABLE),
    rb"\xd0\xcf\x11\xe0": Content("an Excel workbook (.xls)", TABLE),
    rb"PK\x03\x04.*opendocument": Content("an OpenDocument spreadsheet (.ods)", TABLE),
    rb"PK\x03\x04.*Index/": Content("a Numbers spreadsheet", TABLE),
    rb"PAR1": Content("a Parquet file", TABLE),
    rb"ARROW1|FEA1": Content("an Arrow file", TABLE),
    rb"SQLite format 3": Content("an SQLite database", TABLE),
    rb"PK(\x03\x04|\x05\x06)": Content("a ZIP archive"),
    rb"\x1f\x8b|BZh|7z\xbc\xaf|\xfd7zXZ|\x28\xb5\x2f\xfd": Content("a packed file"),
    rb"\x93NUMPY": Content("an array of NumPy"),
    rb"data:image/|iVBORw0KGgo|/9j/[\w+/]": Content("a picture in base64", MARKUP),
    rb"\s*<(!doctype html|html|head|body|title)\b": Content("a web page", MARKUP),
    rb"\s*(<[?!].*)?<svg[\s>]": Content("SVG", PICTURE),
    rb"\s*<[?!\w]": Content("XML", MARKUP),
    rb"\s*[\[{]": Content("JSON", MARKUP),
    rb"[\t\n\r\x20-\x7e\x80-\xff]+\Z": Content("a text", TEXT),
}
"""Pattern of the first bytes of a file -> what the file is."""
BEGINNING = 512
"""Number of bytes by which a file is recognised."""


def content_of(source: bytes | Path) -> Content:
    """Return what a file is that is not what was expected.

    >>> content_of(b"<html>").name, content_of(b"").name
    ('a web page', 'an empty file')
    """
    try:
        if isinstance(source, Path):
            with source.open("rb") as file:
                source = file.read(BEGINNING)
    except OSError:
        return Content("")
    first = source[:BEGINNING].removeprefix(codecs.BOM_UTF8)
    matching = (
        content
        for pattern, content in CONTENTS.items()
        if re.match(pattern, first, re.DOTALL | re.IGNORECASE)
    )
    return next(matching, Content("" if source else "an empty file"))


def inflated(content: bytes, most: int = MOST_BYTES) -> bytes:
    """Unpack zlib's data, from which a few bytes can give any number; else raise ValueError.

    >>> inflated(zlib.compress(b"all of it"))
    b'all of it'
    """
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(content, most)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not inflater.eof:
        raise ValueError(f"expected at most {most >> 20} MiB")
    return plain


def check_length(path: Path, text: str, where: str = "") -> None:
    """Raise FileFormatError for a text of more than MOST_TEXT characters."""
    if len(text) > MOST_TEXT:
        problem = f"expected a text of at most {MOST_TEXT} characters, got {len(text)}."
        raise FileFormatError(path, problem, where=where)


def read_toml(path: Path | str) -> dict[str, Any]:
    """Read a TOML file as a dict; raise FileFormatError with file and line.

    >>> read_toml(Path("absent.toml"))
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.FileFormatError: absent.toml: no such file. Check the path.
    """
    path = Path(path)
    content = read_text(path, most=MOST_TOML)
    # Refuse keys of many parts: the time of the parser grows with the square of their number.
    bare = TOML_TEXTS.sub(lambda text: "x" + "\n" * text[0].count("\n"), content)
    if long_key := LONG_KEY.search(bare):
        line = bare.count("\n", 0, long_key.start()) + 1
        problem = f"expected keys of at most {MOST_DEPTH} parts."
        raise FileFormatError(path, problem, where=f"line {line}")
    try:
        plain = tomllib.loads(content)
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid TOML: {_reason(error)}.") from None
    _check_plain(path, plain)
    return plain


TOML_TEXTS = re.compile(
    r'''(?sx) """(?:[^\\]|\\.)*? (?:"{3,5} | \Z) | \'{3} .*? (?:\'{3,5} | \Z)'''
    r"""| "(?:[^"\\\n] | \\.)*+ "? | \'[^\'\n]*+ \'? | \#[^\n]*+"""
)
"""Texts and remarks in a TOML file, also those that have no end."""
LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_DEPTH}}}")
"""A key of too many parts in a TOML file without its texts."""


def read_json(path: Path, schema: str, *, kind: str, remedy: str = "") -> dict[str, Any]:
    """Read a JSON file of this project that has this schema.

    Raises FileFormatError for invalid JSON and for another schema; the remedy ends its message.
    """
    plain = parse_json(path, read_text(path, kind=kind, remedy=remedy))
    schema_words = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
    if schema_words != schema:
        message = f"expected schema {schema!r}, got {shown(schema_words)}."
        raise FileFormatError(path, message, remedy=remedy)
    return plain  # type: ignore[no-any-return]


def parse_json(path: Path, content: str, *, first_line: int = 1) -> Any:
    """Return the JSON value of a file's content; raise FileFormatError with line and column.

    ``first_line`` is the number of the content's first line in the file.

    NaN, half a surrogate pair, which JSON does not allow, and duplicate keys are refused.
    """
    try:
        plain = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_table)
        if "\\ud" in content.lower():
            json.dumps(plain, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno + first_line - 1} column {error.colno}"
        raise FileFormatError(path, f"is not valid JSON: {error.msg}.", where=where) from None
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid JSON: {_reason(error)}.") from None
    _check_plain(path, plain, is_finite=True)
    return plain


def decode_json(path: Path, kind: type[Kind], *, remedy: str = "") -> Kind:
    """Read a JSON file of another program as a value of this type, and check every field.

    Args:
        path: path of the file.
        kind: a dataclass or a built-in type such as ``list[dict[str, str]]``; keys of the file that
            the type does not have are ignored.
        remedy: description of the expected file, appended to every message.

    Raises:
        FileFormatError: the file does not match; the message names the key, what was expected and
            what was given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "words.json")
    ...     _ = file.write_text('[{"word": "nurse"}]')
    ...     decode_json(file, list[dict[str, str]])
    [{'word': 'nurse'}]
    """
    return convert(path, parse_json(path, read_text(path)), kind, remedy=remedy)


CONVERTING = threading.Lock()
"""msgspec 0.22 looks at a type when it is first used, and two threads that do so at the same time
end the process with a segmentation fault."""


def quoted(text: str) -> str:
    r"""Return a text in double quotes, as TOML and YAML read it alike.

    Raises ConfigurationError for half a surrogate pair, which neither of them can hold.

    >>> quoted('a "nurse"\x85'), quoted("é")
    ('"a \\"nurse\\"\\u0085"', '"é"')
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"expected a text in UTF-8, got {shown(text)}") from None
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) <= 0xFFFF else f"\\U{ord(sign):08x}"  # noqa: PLR2004 - the last of four digits


def convert(
    path: Path,
    plain: Any,
    kind: type[Kind],
    *,
    where: str = "",
    number: str = "a number",
    remedy: str = "",
) -> Kind:
    """Convert a plain value to a record of this type, and check every field.

    Args:
        path: file of the value, for messages.
        plain: value that TOML or JSON gave.
        kind: a msgspec Struct, a dataclass or a built-in type such as ``dict[str, float]``.
        where: place of the value in the file, such as ``[hobby]``.
        number: words for a number in this file, for messages, such as "a share".
        remedy: text appended to the message.

    Raises:
        FileFormatError: a value has the wrong type or is out of the bounds of its field
            (``data.Count``, ``data.Reach``); the message names the key, what was expected and what
            was given.
    """
    try:
        with CONVERTING:
            record = msgspec.convert(plain, kind)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        problem, key = mismatch(str(error), plain, kind)
        place = " ".join(part for part in (where, key) if part)
        problem = problem.replace("expected a number", f"expected {number}")
        raise FileFormatError(path, problem, where=place, remedy=remedy) from None
    for key, value, reach in beyond_reach(record, kind):
        problem = f"expected an interval within {reach.low:g} to {reach.high:g}"
        raise FileFormatError(path, f"{problem}, got {key}={value}.", where=where)
    return record


def _check_plain(path: Path, plain: Any, *, is_finite: bool = False) -> None:
    """Refuse values that would fail only later: huge integers and texts, infinite numbers, depth.

    JSON has no infinity, but Python reads 1e999 as infinity. TOML has infinity, which the callers
    of ``read_toml`` check.
    """
    level = [plain]
    for _ in range(MOST_DEPTH):
        if any(type(value) is int and value.bit_length() > MOST_BITS for value in level):
            raise FileFormatError(path, f"holds a whole number of more than {MOST_BITS} bits.")
        if is_finite and any(type(v) is float and not math.isfinite(v) for v in level):
            raise FileFormatError(path, "holds a number that is not finite.")
        for value in level:
            for text in value if isinstance(value, dict) else (value,):
                if isinstance(text, str):
                    check_length(path, text)
        within = (
            value.values() if isinstance(value, dict) else value
            for value in level
            if isinstance(value, dict | list)
        )
        level = [value for values in within for value in values]
        if not level:
            return
    raise FileFormatError(path, f"is nested deeper than {MOST_DEPTH} levels.")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {shown(twice)} stands twice in one table")
    return table


def _no_constant(name: str) -> float:
    raise ValueError(f"it holds {name}")


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
