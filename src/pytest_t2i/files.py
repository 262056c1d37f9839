"""Functions that write files atomically, and read files of users with clear messages."""

from __future__ import annotations

import ast
import codecs
import csv
import errno
import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import threading
import time
import tomllib
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import filelock
import msgspec

from pytest_t2i.data import beyond_reach
from pytest_t2i.errors import (
    ConfigurationError,
    FileFormatError,
    StoreError,
    mismatch,
    nearest,
    printable,
    shown,
    some,
)

Kind = TypeVar("Kind")
MOST_BYTES = 1 << 28
"""Largest size of a file that is read."""
MOST_TOML = 1 << 22
"""Largest size of a TOML file: people write it, and it is parsed slowly."""
MOST_DEPTH = 64
"""Largest depth of nested tables and lists; our own files have ten levels."""
MOST_TEXT = 1 << 17
"""Largest number of characters of a text in a file, such as a cell, and of a prompt."""
FORMULA = re.compile(r"'[=+@\-]")
MOST_BITS = 64
"""Largest number of bits of a whole number: a store's index and seeds allow no more."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none; create its folder where it is absent.

    Raises StoreError when the folder cannot be written or the disk is full.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "new", "notes.txt"), b"all of it")
    ...     Path(folder, "new", "notes.txt").read_text()
    'all of it'
    """
    try:
        temporary = temporary_beside(path)
        try:
            with temporary.open("xb") as file:
                file.write(content)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(explain(path, error)) from error


def temporary_beside(path: Path) -> Path:
    """Return a new name in the folder of ``path``, and create the folder where it is absent.

    A file that ``open`` creates follows the umask, unlike those of ``tempfile``.
    """
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")


MOST_NAME, MOST_PATH = 255, 4096
"""Largest length in bytes of a file's name and of a path."""


def user_path(text: str) -> Path:
    """Return the path that a user typed; ``~`` is the home folder.

    Raises ConfigurationError for a text that cannot be a path, or the home of an unknown user.

    >>> user_path("~/pictures") == Path.home() / "pictures"
    True
    """
    names = re.split(r"[/\\]", text)
    is_long = any(len(os.fsencode(name)) > MOST_NAME for name in names)
    if is_long or len(os.fsencode(text)) > MOST_PATH or "\0" in text:
        raise ConfigurationError(f"expected the path of a file or folder, got {shown(text)}")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigurationError(f"expected a path, got {shown(text)}: no such user") from None


def from_here(path: Path) -> Path:
    """Return a path relative to the working directory if it lies inside, else absolute."""
    whole = path.absolute()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole


def file_name(text: str) -> str:
    """Turn a text into a short, readable name of a file or folder.

    >>> file_name("owner/name"), file_name("images:some/where")
    ('owner-name', 'images-some-where')
    """
    words = "".join(c if c.isalnum() or c in "._" else " " for c in text).split()
    return "-".join(words).strip(".")[:60] or "unnamed"


TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")
"""Pattern of the names that ``temporary_beside`` gives."""
UNFINISHED_AGE = 60.0
"""Age in seconds from which a temporary file counts as abandoned."""


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files below a folder that killed processes left in ``write_whole``."""
    oldest = time.time() - UNFINISHED_AGE
    for file in folder.rglob(".*.????????"):
        with suppress(OSError):
            if TEMPORARY.fullmatch(file.name) and file.stat().st_mtime < oldest:
                file.unlink()


def check_writable(path: Path, option: str) -> None:
    """Raise StoreError, which names the option, where a file cannot be written; leaves nothing."""
    if path.is_dir():
        raise StoreError(f"{path}: expected the name of a file, got a folder: correct {option}.")
    folder = next(each for each in path.absolute().parents if each.exists())
    try:
        trial = temporary_beside(folder / path.name)
        try:
            trial.write_bytes(b"a trial, whether this folder can be written")
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(explain(path, error, option)) from error


def explain(path: Path, error: OSError, option: str = "") -> str:
    """Return a message for the user about a failed write: the cause and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path}: the disk is full. Nothing made so far is lost: free some space, or move the "
            "store with --t2i-store, and run again."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"{path}: no permission to write{owned(path)}. Choose another folder with "
            f"{option or '--t2i-store or --t2i-report'}."
        )
    return (
        f"{path}: cannot be written: {error.strerror or error}.{option and f' Correct {option}.'}"
    )


MOUNTS = Path("/proc/self/mountinfo")
MOUNT = re.compile(r"(?:\S+ ){4}(?P<point>\S+) .*? - (?P<kind>\S+)")
"""A line of that file; blanks in a folder's name are written as octal numbers."""


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the file system that a folder lies on, such as "ext4" or "nfs4"; "" if unknown.

    >>> file_system_of(Path("/anywhere"), mounts=Path("no such file"))
    ''
    """
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no Linux
        return ""
    kind, deepest = "", -1
    for line in lines:
        mount = MOUNT.match(line)
        if mount is None:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount["point"]))
        # The last of several mounts at one place is the visible one.
        if folder.is_relative_to(point) and len(point.parts) >= deepest:
            kind, deepest = mount["kind"], len(point.parts)
    return kind


NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL}
"""What file systems without locks of files answer to flock."""


class FileLock(filelock.FileLock):
    """A lock of a file that ends with its process.

    Where the file system has no such locks, filelock alone would wait for the end of a process
    that was killed, as it would only see that the file exists.
    """

    def __init__(self, file: Path, timeout: float = -1, *, thread_local: bool = True) -> None:
        super().__init__(file, timeout, thread_local=thread_local, fallback_to_soft=False)

    def acquire(self, *arguments: Any, **named: Any) -> filelock.AcquireReturnProxy[Any]:
        """As filelock does; raise StoreError where the file system has no locks."""
        try:
            return super().acquire(*arguments, **named)
        except OSError as error:
            if error.errno in NO_LOCKS:
                raise StoreError(no_locks(Path(self.lock_file).parent, str(error))) from error
            raise


def no_locks(folder: Path, words: str) -> str:
    """Return the message for a folder whose file system has no locks of files."""
    kind = file_system_of(Path(os.path.realpath(folder)))
    system = f"a file system ({kind})" if kind else "a file system"
    return (
        f"{folder} lies on {system} on which files cannot be locked: {words}. Choose a folder on a "
        "local disk (--t2i-store, --t2i-report), or mount this one with locks, as Lustre with "
        "-o flock and NFS with its lock service."
    )


def owned(path: Path) -> str:
    """Return whose file this is, or else the folder that lacks it, for messages; "" if unknown."""
    try:
        there = next(each for each in (path, *path.parents) if each.exists())
        return f" ({there} belongs to {there.owner()})"
    except (OSError, KeyError, StopIteration, NotImplementedError):
        return ""


def checksum(content: bytes) -> str:
    """Return the hex SHA-256 of the content."""
    return hashlib.sha256(content).hexdigest()


def stamp(path: Path | str) -> str | None:
    """Return size and modification time, which show a change without reading; None if absent."""
    try:
        status = os.stat(path)  # noqa: PTH116 - three times as fast as Path.stat for a str
    except OSError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


NAME = "file"
"""Column with names of files, which are relative to the folder of the table."""


class CsvRow(NamedTuple):
    """One row of a CSV file."""

    where: str
    """Place in the file, such as "line 3"."""
    values: dict[str, str]
    """Cells by column, without surrounding blanks, but names of files as they are; "" where the row
    ends early."""


def stamps(path: Path, pattern: str = "*") -> list[str]:
    """List every file at or below a path as "name:stamp"; the list is empty if there is none."""
    if path.is_file():
        return [f"{path.name}:{stamp(path)}"]
    files = sorted(file for file in path.rglob(pattern) if file.is_file()) if path.is_dir() else []
    return [f"{file.relative_to(path)}:{stamp(file)}" for file in files]


BYTE = re.compile("[\udc80-\udcff]")
"""A byte of a file's name that is no UTF-8, as Python reads it."""


def encodable(text: str) -> str:
    r"""Return a path as JSON can hold it: bytes that are no UTF-8 are written as in an address.

    >>> encodable("a\udcff.png"), encodable("100%.png")
    ('a%FF.png', '100%.png')
    """
    return BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


PLAIN = re.compile(r"[^/\\\\:\0]+(?:/[^/\\\\:\0]+)*")
"""Relative paths that every system reads alike: names with slashes between them."""


def is_relative(name: str) -> bool:
    """Whether a relative path, as it is written, stays inside its folder on every system.

    >>> [is_relative(name) for name in ("a/b.png", "../b.png", "/b.png", "C:b.png", "a/../../b")]
    [True, False, False, False, False]
    """
    if PLAIN.fullmatch(name):  # a fast path for nearly all names
        return ".." not in name.split("/")
    there = PurePosixPath(name), PureWindowsPath(name)
    return not any(path.anchor or ".." in path.parts for path in there) and "\0" not in name


def inside(folder: Path, name: str) -> Path | None:
    """Return the existing file of this name if it lies in the folder, links followed; else None."""
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name too long or with NUL, or a circle of links
        return None


def outside(folder: Path, names: Iterable[str]) -> list[str]:
    """List the names whose files lie outside the folder, as they are written or by a link."""
    return [name for name in names if not is_relative(name) or _links_outside(folder, name)]


def _links_outside(folder: Path, name: str) -> bool:
    try:
        path = folder / name
        return path.is_file() and not path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


class FileNames:
    """The files below a folder, by names in which case and composition of letters are equal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: dict[str, list[str]] | None = None

    def on_disk(self, name: str) -> str | None:
        """Return the file that this name can only mean; None where there is none, or several."""
        if inside(self.folder, name) is not None:
            return name
        if not is_relative(name.replace("\\", "/")):
            return None
        similar = self._files.get(_spelling(name), [])
        readable = len(similar) == 1 and inside(self.folder, similar[0]) is not None
        return similar[0] if readable else None

    def cause(self, absent: Sequence[str]) -> str:
        """Return why files with similar names were not taken; "" where there are none."""
        everything = [name for names in self._files.values() for name in names]
        name = absent[0]
        similar = self._files.get(_spelling(name), [])
        if others := sorted(set(similar) - {name}):  # itself: a link that cannot be followed
            names = some(others)
            return f"{shown(name)} may mean {names}: write the name as it is on the disk."
        plain = PurePosixPath(_spelling(name))
        tails = [each for each in everything if _spelling(each).endswith(f"/{plain.name}")
                 or _spelling(each) == plain.name]  # fmt: skip
        if tails:
            return f"There is {some(tails, 1)}: give paths relative to the folder of the manifest."
        stems = [each for each in everything if PurePosixPath(_spelling(each)).stem
                 in {plain.stem, plain.name}]  # fmt: skip
        return f"There is {some(stems, 1)}: write names with their endings." if stems else ""

    @property
    def _files(self) -> dict[str, list[str]]:
        if self._found is None:
            self._found = {}
            for top, _, names in os.walk(self.folder):
                for name in names:
                    file = (Path(top) / name).relative_to(self.folder).as_posix()
                    self._found.setdefault(_spelling(file), []).append(file)
        return self._found


def _spelling(name: str) -> str:
    r"""Return a name as all systems compare it.

    >>> _spelling(r".\Sub\A.png"), _spelling("sub/a.png")
    ('sub/a.png', 'sub/a.png')
    """
    plain = unicodedata.normalize("NFC", name).casefold().replace("\\", "/")
    return "/".join(part for part in plain.split("/") if part not in {"", "."})


def read_bytes(
    path: Path, *, kind: str = "file", remedy: str = "Check the path.", most: int | None = None
) -> bytes:
    """Read a regular file of at most ``most`` bytes; raise FileFormatError for anything else."""
    most = MOST_BYTES if most is None else most
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileFormatError(path, f"expected a {kind}, this is not a regular file.")
        if status.st_size > most:
            raise FileFormatError(path, f"expected a {kind} of at most {most >> 20} MiB.")
        return path.read_bytes()
    except FileNotFoundError:
        raise FileFormatError(path, f"no such {kind}.", remedy=remedy) from None
    except (OSError, ValueError) as error:
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
        raise FileFormatError(path, f"cannot be read: {error}.") from None
    return _lines(text)


def _check_is_text(path: Path, content: bytes, kind: str) -> None:
    """Raise FileFormatError for a spreadsheet, a picture, a pointer of Git LFS and the like."""
    shown = content_of(content)
    if shown.name and content and shown.kind not in (TEXT, MARKUP):
        remedy = "Save it as CSV." if shown.kind == TABLE else ""
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


def _lines(text: str) -> str:
    """Return the text with one kind of line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_toml(path: Path | str) -> dict[str, Any]:
    """Read a TOML file as a dict; raise FileFormatError with file and line.

    >>> read_toml(Path("absent.toml"))
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.FileFormatError: absent.toml: no such file. Check the path.
    """
    path = Path(path)
    content = read_text(path, most=MOST_TOML)
    _check_keys(path, content)
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


def _check_keys(path: Path, content: str) -> None:
    """Refuse keys of many parts: the time of the parser grows with the square of their number."""
    bare = TOML_TEXTS.sub(lambda text: "x" + "\n" * text[0].count("\n"), content)
    if found := LONG_KEY.search(bare):
        line = bare.count("\n", 0, found.start()) + 1
        problem = f"expected keys of at most {MOST_DEPTH} parts."
        raise FileFormatError(path, problem, where=f"line {line}")


def read_json(path: Path, schema: str, *, kind: str, remedy: str = "") -> dict[str, Any]:
    """Read a JSON file of this project that has this schema.

    Raises FileFormatError for invalid JSON and for another schema; the remedy ends its message.
    """
    plain = parse_json(path, read_text(path, kind=kind, remedy=remedy))
    given = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
    if given != schema:
        message = f"expected schema {schema!r}, got {shown(given)}."
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


class CsvTable(NamedTuple):
    """A CSV file whose columns have the names that were looked for."""

    rows: list[CsvRow]
    form: tuple[str, ...]
    """How the file differs from UTF-8 with commas and these names of columns, in words."""


DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Separators of cells that spreadsheets write, and their names."""
SEPARATOR_LINE = re.compile(r"sep=([,;|\t])\s*")
"""First line with which a spreadsheet says its separator."""
MOST_LISTED = 50
"""Largest number of columns that a message lists."""
CLOSED = re.compile(r'("(?:[^"]|"")*+"?)(?:[ \t]++(?=[,;|\t\r\n]|$))?')
"""A quoted cell, and blanks between its last quote and the separator."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
"""Byte order marks, their encodings, and the names of those that are not UTF-8."""


def read_csv(path: Path, needed: Sequence[str], *, remedy: str = "") -> Iterator[CsvRow]:
    """Yield the rows of a CSV file in UTF-8, with commas and a header with these columns.

    Rows without any text are left out, and so are blanks around cells. Raises FileFormatError that
    names the line, and of a column that is absent the nearest that is there.
    """
    records = _records(path, read_text(path, remedy=remedy), ",")
    line, header, _ = records[0] if records else _Record(1, [], [])
    _Headers(path, needed, needed, {}, remedy).check(header, f"line {line}")
    yield from (_row(path, header, ",", record) for record in records[1:])


def read_table(
    path: Path,
    needed: Sequence[str],
    *,
    optional: Sequence[str] = (),
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    remedy: str = "",
) -> CsvTable:
    """Read a CSV file as spreadsheets and people write it.

    The header decides which of DELIMITERS separates the cells. Its names may differ in case, blanks
    and underscores. Rows without any text are left out, and so are blanks around cells.

    Args:
        path: path of the file.
        needed: names of columns that the header must have.
        optional: names of further columns that are looked for.
        aliases: other names that a column may have.
        remedy: text appended to messages about the file and its header.

    Raises:
        FileFormatError: a column is absent or ambiguous, or a row is malformed (file, line).
    """
    text, encoding = read_encoded(path, remedy=remedy, guess=True)
    first = SEPARATOR_LINE.match(text)
    skipped = 0 if first is None else first[0].count("\n")
    text = text if first is None else text[first.end() :]
    tables = _Headers(path, (*needed, *optional), needed, aliases, remedy)
    delimiter = first[1] if first else tables.delimiter(text)
    records = [each._replace(line=each.line + skipped) for each in _records(path, text, delimiter)]
    if not records:
        tables.check([])
    (line, header, _), *others = records
    columns = tables.named(header, f"line {line}")
    rows = [_row(path, columns, delimiter, record) for record in others]
    renamed = [
        f"{old!r} as {new!r}" for old, new in zip(header, columns, strict=False) if old != new
    ]
    form = (
        *([f"in {encoding}"] if encoding else ()),
        *([f"separated by {DELIMITERS[delimiter]}"] if delimiter != "," else ()),
        *([f"with {', '.join(renamed)}"] if renamed else ()),
    )
    return CsvTable(rows, form)


def named_alike(
    path: Path,
    row: Mapping[str, Any],
    known: Sequence[str],
    aliases: Mapping[str, Sequence[str]],
    where: str,
) -> dict[str, Any]:
    """Return a table of a JSON file with the known names in place of their variants.

    Raises FileFormatError for two keys that may both be a known one.
    """
    columns = _Headers(path, known, (), aliases, "").renamed(list(row), where)
    return dict(zip(columns, row.values(), strict=True))


@dataclass(frozen=True, slots=True)
class _Headers:
    """The columns that are looked for in the header of one file."""

    path: Path
    known: Sequence[str]
    needed: Sequence[str]
    aliases: Mapping[str, Sequence[str]]
    remedy: str

    def delimiter(self, text: str) -> str:
        """Return the separator that gives the needed columns, else the one that gives most."""
        headers = {mark: _first_row(text, mark) for mark in DELIMITERS}
        for mark, header in headers.items():
            plain = {_plain(cell) for cell in header}
            if all(plain & self._names(name) for name in self.needed):
                return mark
        return max(headers, key=lambda mark: len(headers[mark]))

    def _names(self, name: str) -> set[str]:
        return {_plain(each) for each in (name, *self.aliases.get(name, ()))}

    def named(self, header: Sequence[str], where: str) -> list[str]:
        """Return the header with the names that are looked for, in place of their variants."""
        columns = self.renamed(header, where)
        self.check(columns, where)
        return columns

    def renamed(self, header: Sequence[str], where: str) -> list[str]:
        """Return the same, whatever columns are absent."""
        columns = list(header)
        for name in self.known:
            if name in columns:
                continue
            found = [place for place, cell in enumerate(columns) if self._means(cell, name)]
            if len(found) > 1:
                names = " and ".join(repr(columns[place]) for place in found)
                problem = f"the columns {names} may both be {name!r}."
                raise FileFormatError(self.path, problem, where=where, remedy="Rename one of them.")
            for place in found:
                columns[place] = name
        return columns

    def _means(self, cell: str, name: str) -> bool:
        return cell not in self.known and _plain(cell) in self._names(name)

    def check(self, columns: Sequence[str], where: str = "line 1") -> None:
        """Raise FileFormatError unless the needed columns are there, each once."""
        listed = some(columns, MOST_LISTED) or "none"
        for name in self.needed:
            if name not in columns:
                if (content := content_of(self.path)).kind == MARKUP:
                    problem = f"expected a table, got {content.name}."
                    raise FileFormatError(self.path, problem, remedy=self.remedy)
                close = nearest(name, columns[:MOST_LISTED])
                meant = f" Is it {close!r}?" if close else ""
                problem = f"no column {name!r}; there are: {listed}.{meant}"
                raise FileFormatError(self.path, problem, where=where, remedy=self.remedy)
        titles = [name for name in columns if name]
        if len(set(titles)) < len(titles):
            problem = f"expected distinct names of columns, got: {listed}."
            raise FileFormatError(self.path, problem, where=where)


def _plain(name: str) -> str:
    """Return a name of a column without case, blanks, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _first_row(text: str, delimiter: str) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        return next((row for row in reader if any(cell.strip() for cell in row)), [])
    except csv.Error:
        return []


class _Record(NamedTuple):
    """One row of a CSV file."""

    line: int
    cells: list[str]
    """Without outer blanks."""
    exact: Sequence[str]
    """The cells as they are written."""


def _records(path: Path, text: str, delimiter: str) -> list[_Record]:
    """Return every row that is not blank."""
    try:
        return _parsed(path, text, delimiter)
    except FileFormatError:
        tidy = CLOSED.sub(r"\1", text)
        if tidy == text:
            raise
        return _parsed(path, tidy, delimiter)


def _parsed(path: Path, text: str, delimiter: str) -> list[_Record]:
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    exact = _exact(text, delimiter)
    rows = []
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                rows.append(_Record(reader.line_num, stripped, exact.get(reader.line_num, cells)))
    except csv.Error as error:
        where = f"line {reader.line_num}"
        raise FileFormatError(path, f"{error}.", where=where) from None
    return rows


def _exact(text: str, delimiter: str) -> dict[int, list[str]]:
    """Return last line of each row -> its cells; {} where no cell begins with a blank.

    The reader of rows leaves these blanks out, so that a quote may follow them.
    """
    if not re.search(rf"(?m)(?:^|{re.escape(delimiter)})[ ]", text):
        return {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        return dict((reader.line_num, cells) for cells in reader)  # noqa: C402 - the line moves on
    return {}


def existing(folder: Path, *names: str) -> str:
    """Return the first of these names that is a file in the folder; the last if none is.

    >>> existing(Path("nowhere"), " a.png", "a.png")
    'a.png'
    """
    others = (name for name in names[:-1] if name != names[-1])
    return next((name for name in others if inside(folder, name)), names[-1])


def _row(path: Path, columns: Sequence[str], delimiter: str, record: _Record) -> CsvRow:
    line, cells, exact = record
    named = dict(zip(columns, cells, strict=False))
    if any(cells[len(columns) :]) or named.pop("", ""):
        problem = f"more values than columns. Quote texts with {DELIMITERS[delimiter]}."
        raise FileFormatError(path, problem, where=f"line {line}")
    texts = {name: _cell_text(named.get(name, "")) for name in columns if name}
    if NAME in texts:  # a name may begin with a blank or an apostrophe
        place = columns.index(NAME)
        written = (*exact[place : place + 1], *cells[place : place + 1], texts[NAME])
        texts[NAME] = existing(path.parent, *written)
    return CsvRow(f"line {line}", texts)


def read_encoded(path: Path, *, remedy: str = "", guess: bool = False) -> tuple[str, str]:
    """Read a text, and return it with the name of its encoding, which is "" for UTF-8.

    UTF-16 and UTF-32 are known by their marks, UTF-16 without one by its zero bytes. Where
    ``guess`` is true, bytes that are not Unicode are read as Windows-1252. Raises FileFormatError.
    """
    content = read_bytes(path, remedy=remedy)
    _check_is_text(path, content, "table")
    encoding, name = _encoding_of(content)
    try:
        return _lines(content.decode(encoding)), name
    except UnicodeDecodeError as error:
        if encoding != "utf-8" or not guess:
            problem = f"cannot be read: {error}."
            raise FileFormatError(path, problem, remedy="Save it as UTF-8.") from None
    try:
        return _lines(content.decode("cp1252")), "Windows-1252"
    except UnicodeDecodeError as error:
        problem = f"cannot be read: it is neither Unicode nor Windows-1252: {error}."
        raise FileFormatError(path, problem, remedy="Save it as UTF-8.") from None


def _encoding_of(content: bytes) -> tuple[str, str]:
    for mark, encoding, name in MARKS:
        if content.startswith(mark):
            return encoding, name
    if len(content) >= 4 and not len(content) % 2:  # noqa: PLR2004 - two characters
        if not any(content[1:64:2]):
            return "utf-16-le", "UTF-16"
        if not any(content[0:64:2]):
            return "utf-16-be", "UTF-16"
    return "utf-8", ""


def _cell_text(value: str) -> str:
    """Return a cell without outer blanks and the apostrophe against formulas (``escaping.cell``).

    >>> _cell_text(" '=1 "), _cell_text("'tis")
    ('=1', "'tis")
    """
    plain = value.strip()
    return plain[1:] if FORMULA.match(plain) else plain


CONVERTING = threading.Lock()
"""msgspec 0.22 looks at a type when it is first used, and two threads that do so at the same time
end the process with a segmentation fault."""
LITERAL = "literal:"
"""Prefix of a cell that is written as a Python string, as a table would not keep its text: outer
blanks, control characters, bytes of a file's name that are no UTF-8."""


def exact_cell(value: Any, *, printed: bool = False) -> Any:
    r"""Return a value for a table that ``of_cell`` reads as it is, and no spreadsheet computes.

    With ``printed`` the cell has no character that a terminal would obey.

    >>> exact_cell("=1+1"), exact_cell(" a"), exact_cell("a nurse"), exact_cell(3)
    ("'=1+1", "literal:' a'", 'a nurse', 3)
    """
    if not isinstance(value, str):
        return value
    plain = f"'{value}" if value.startswith(("=", "+", "-", "@")) else value
    try:
        plain.encode()
    except UnicodeEncodeError:
        return literal(value)
    is_kept = not {"\r", "\0"}.intersection(plain) and of_cell(_cell_text(plain)) == value
    is_kept = is_kept and not (printed and printable(plain) != plain)
    return plain if is_kept else literal(value)


def printed_cell(value: Any) -> Any:
    """Return the same as ``exact_cell``, for a table that may be printed on a terminal."""
    return exact_cell(value, printed=True)


def literal(text: str) -> str:
    r"""Return a text as a Python string in printable ASCII, which ``of_cell`` reads.

    >>> literal("a\udcff.png")
    "literal:'a\\udcff.png'"
    """
    return f"{LITERAL}{text!a}"


def of_cell(text: str) -> str:
    r"""Return the text of a cell that ``exact_cell`` wrote and ``_cell_text`` read.

    >>> of_cell("literal:' a'"), of_cell("literal: a")
    (' a', 'literal: a')
    """
    if not text.startswith((f"{LITERAL}'", f'{LITERAL}"')):
        return text
    try:
        held = ast.literal_eval(text.removeprefix(LITERAL))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text
    return held if isinstance(held, str) else text


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
