"""What a part is: the digest of its code, and the digests of its files and folders.

The code of a registered part is its module and all that this imports of its package (of ours: of
the adapters); that of an own factory is its file and what this imports from its folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_t2i.data import digest
from pytest_t2i.files import checksum, stamp, temporary_beside

ADAPTERS = "pytest_t2i.adapters"
"""Only adapters of this package count: the rest is the same for all detectors."""
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n;]+))|"
    r"import[ \t]+([^\n;]+))",
    re.MULTILINE,
)
"""An import: where from and which names, in parentheses or not, or which modules."""


def code_of_entry_point(module: str) -> str:
    """Digest of a module that need not be imported yet; "" where there is no source."""
    package = ADAPTERS if module.startswith(f"{ADAPTERS}.") else module.partition(".")[0]
    path, root = _file_of(module), _file_of(package)
    if path is None or root is None:
        return ""
    return _code(path, root.parent if root.name == "__init__.py" else root, package)


def code_of_factory(factory: Callable[..., Any]) -> str:
    """Digest of the file that defines a factory, and of what this imports from its folder.

    "" where there is no source: then only the component's own fingerprint identifies it.

    >>> code_of_factory(len), len(code_of_factory(code_of_factory))
    ('', 64)
    """
    while isinstance(factory, partial):
        factory = factory.func
    is_code = isinstance(factory, type) or hasattr(factory, "__code__")
    definition = factory if is_code else type(factory)
    try:
        file = inspect.getsourcefile(definition)
    except TypeError:
        file = None
    if file is None:
        return ""
    path = Path(file).resolve()
    return _code(path, path.parent, definition.__module__.rpartition(".")[0], is_own=True)


def _file_of(name: str) -> Path | None:
    """The source of a module, which is not imported for it; None where there is none."""
    top, *parts = name.split(".")
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return _source_of(origin.parent, parts) if parts else origin if origin.is_file() else None


def _source_of(folder: Path, parts: Iterable[str]) -> Path | None:
    below = folder.joinpath(*parts)
    files = (below.with_suffix(".py"), below / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _code(first: Path, root: Path, package: str, *, is_own: bool = False) -> str:
    """Digest of a file and of all that it imports below a folder, which is that of a package."""
    waiting, sums = [first], dict[Path, str]()
    while waiting:
        file = waiting.pop()
        if file not in sums:
            sums[file], imported = _read(file, stamp(file), root, package, is_own)
            waiting += imported
    return digest(sorted(sums.values())) if sums[first] else ""


@cache
def _read(
    file: Path, version: str | None, root: Path, package: str, is_own: bool
) -> tuple[str, list[Path]]:
    """Checksum of a file, and the files that it imports; "" and none where it cannot be read.

    The modules beside an own factory may be imported by their names alone.
    """
    del version  # a file that changes is read again
    try:
        content = file.read_bytes()
    except OSError:
        return "", []
    names: set[str] = set()
    text = re.sub("#.*", "", content.decode(errors="replace"))
    for origin, within, plain, modules in IMPORT.findall(text):
        dot = "." if origin.strip(".") else ""
        listed = (part.split() for part in (within or plain or modules).split(","))
        names |= {origin, *(f"{origin}{dot}{words[0]}" for words in listed if words)}
    files = (_imported(file, name, root, package, is_own=is_own) for name in sorted(names))
    return checksum(content), [
        imported for imported in files if imported and imported.is_relative_to(root)
    ]


def _imported(file: Path, name: str, root: Path, package: str, *, is_own: bool) -> Path | None:
    """The file of an imported name; None for another package's, and for a function or class."""
    plain = name.lstrip(".")
    level = len(name) - len(plain)
    if not level and name.startswith(f"{package}."):
        plain = name[len(package) + 1 :]
    elif not level and not is_own:
        return None
    return (
        _source_of(file.parents[level - 1] if level else root, plain.split(".")) if plain else None
    )


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
        with contextlib.suppress(OSError):
            target = cache_file()
            with temporary_beside(target).open("x", encoding="utf-8") as file:
                json.dump(digests, file)
            Path(file.name).replace(target)
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
