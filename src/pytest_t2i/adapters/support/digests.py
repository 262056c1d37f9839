"""Digests of files and folders; those of large files are cached between runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pytest_t2i.data import digest
from pytest_t2i.files import temporary_beside

WEIGHTS_AND_CONFIGS = {".safetensors", ".json", ".txt", ".model", ".py"}
WORTH_REMEMBERING = 64 * 2**20
"""Size in bytes from which on a digest is cached; a smaller file is read faster than a cache."""
CHUNK = 2**20


def file_digest(path: Path) -> str:
    """Hex SHA-256 of a file's contents.

    The digest of a large file is cached under its path, size, change times and inode.
    """
    real = Path(os.path.realpath(path))  # which leaves a circle of links for stat to refuse
    status = real.stat()
    if status.st_size < WORTH_REMEMBERING:
        return _sha256(real)
    name = f"{real}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"
    digests = _remembered()
    if name not in digests:
        digests[name] = _sha256(real)
        _remember(digests)
    return digests[name]


def folder_digest(folder: Path, suffixes: Iterable[str] = WEIGHTS_AND_CONFIGS) -> str:
    """Hex SHA-256 of the names and contents of a model's files.

    Hidden files and folders (.git, .cache) are left out.
    """
    endings = set(suffixes)
    files = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in endings and path.is_file()
    }
    visible = {name: path for name, path in files.items() if "/." not in f"/{name}"}
    return digest({name: file_digest(path) for name, path in visible.items()})


def cache_file() -> Path:
    """Path of the cache of digests."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "pytest-t2i" / "digests.json"


def _sha256(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()


@cache
def _remembered() -> dict[str, str]:
    try:
        digests = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}


def _remember(digests: Mapping[str, str]) -> None:
    # A cache that cannot be written only costs time at the next run.
    with contextlib.suppress(OSError):
        target = cache_file()
        with temporary_beside(target).open("x", encoding="utf-8") as file:
            json.dump(digests, file)
        Path(file.name).replace(target)
