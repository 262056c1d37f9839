"""Whole-file writes, locks, and the names and places of files."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar

import filelock

from pytest_t2i.errors import (
    ConfigurationError,
    StoreError,
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
    write_lines(path, (content,))


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file as ``write_whole`` does, line by line: each ends with its line feed."""
    try:
        temporary = temporary_beside(path)
        try:
            with temporary.open("xb") as file:
                file.writelines(lines)
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
    absolute = path.absolute()
    return absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute


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
    folder = next(parent for parent in path.absolute().parents if parent.exists())
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
        there = next(parent for parent in (path, *path.parents) if parent.exists())
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
        if alike := sorted(set(similar) - {name}):  # itself: a link that cannot be followed
            names = some(alike)
            return f"{shown(name)} may mean {names}: write the name as it is on the disk."
        plain = PurePosixPath(_spelling(name))
        tails = [path for path in everything if _spelling(path).endswith(f"/{plain.name}")
                 or _spelling(path) == plain.name]  # fmt: skip
        if tails:
            return f"There is {some(tails, 1)}: give paths relative to the folder of the manifest."
        stems = [path for path in everything if PurePosixPath(_spelling(path)).stem
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
