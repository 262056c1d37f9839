"""What a part is: the digest of its code, and the digests of its files and folders.

A module counts with its syntax tree, without comments, docstrings, layout and raised exceptions,
none of which can change a detection. The modules of the same package that it imports count, too.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.data import digest
from pytest_t2i.files import stamp, stamps, temporary_beside

OURS = "pytest_t2i."
ADAPTERS = "pytest_t2i.adapters."
"""Only adapters of this package count: the rest is the same for all detectors."""
NO_WORD_OF_THEIRS = {
    f"{ADAPTERS}{name}"
    for name in (
        "registry",
        "catalogue",
        "endpoints.reported_versions",
        "endpoints.addresses",
        "endpoints.answers",
        "endpoints.aspects",
        "endpoints.deadlines",
        "loading",
        "endpoints.parallel_calls",
        "endpoints.spending",
        "identity",
        "endpoints.http_client",
        "endpoints.proxies",
        "endpoints.paid_requests",
        "endpoints.secrets",
        "endpoints.shapes",
    )
}
"""Modules of this package that detectors import and that cannot change a detection."""


class Module(NamedTuple):
    """Name and path of a Python module, loaded or not."""

    name: str
    path: Path


def code_of_entry_point(module: str) -> str:
    """Digest of a module that need not be imported yet; "" where there is no source."""
    top = module.partition(".")[0]

    def within(name: str) -> Module | None:
        return module_in(name) if name.partition(".")[0] == top else None

    return _digest(module_in(module), within)


def code_of_factory(factory: Callable[..., Any]) -> str:
    """Digest of the module that defines a factory, and of the modules beside it that it imports.

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

    def beside(name: str) -> Module | None:
        """The loaded module of this name, if it lies in the same folder or below."""
        loaded = Path(getattr(sys.modules.get(name), "__file__", None) or "/").resolve()
        return Module(name, loaded) if loaded.is_relative_to(path.parent) else None

    return _digest(Module(definition.__module__, path), beside)


def version_of_package(module: str) -> str:
    """A digest that changes with every source file of a module's package, without reading them.

    >>> version_of_package("pytest_t2i.adapters.detectors.clip") != version_of_package("json")
    True
    """
    return _stamped("pytest_t2i.adapters" if module.startswith(OURS) else module.partition(".")[0])


@cache
def _stamped(package: str) -> str:
    module = module_in(package)
    if module is None:
        return ""
    is_package = module.path.name == "__init__.py"
    return digest(stamps(module.path.parent, "*.py") if is_package else stamps(module.path))


def module_in(name: str) -> Module | None:
    """Find a module by its name without importing it; None where it has no source."""
    top, *parts = name.split(".")
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    below = folder.joinpath(*parts)
    candidates = (below.with_suffix(".py"), below / "__init__.py") if parts else (spec.origin,)
    return next((Module(name, Path(path)) for path in candidates if Path(path).is_file()), None)


def _digest(first: Module | None, finder: Callable[[str], Module | None]) -> str:
    """Digest of a module and of all modules of the ``finder`` and adapters that it imports."""
    waiting = [first] if first else []
    trees: dict[str, str] = {}
    while waiting:
        module = waiting.pop()
        if module.name in trees:
            continue
        source = _source(module.path, stamp(module.path))
        trees[module.name] = _tree(source)
        for name in _imported(_package(module), source):
            dependency = _plugged_in(name) if name.startswith(OURS) else finder(name)
            waiting += [dependency] if dependency else []
    if not any(trees.values()):
        return ""
    return digest(sorted(trees.values()))


def _plugged_in(name: str) -> Module | None:
    counts = name.startswith(ADAPTERS) and name not in NO_WORD_OF_THEIRS
    return module_in(name) if counts else None


@cache
def _source(path: Path, version: str | None) -> bytes | None:
    """The source of a module; None where there is none."""
    del version  # a file that changes is read again
    try:
        return path.read_bytes()
    except OSError:
        return None


@cache
def _parsed(source: bytes | None) -> ast.Module | None:
    """The tree of a source: copies of a file are parsed once."""
    try:
        return None if source is None else ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _package(module: Module) -> str:
    is_package = module.path.name == "__init__.py"
    return module.name if is_package else module.name.rpartition(".")[0]


@cache
def _imported(package: str, source: bytes | None) -> frozenset[str]:
    """Absolute names that a module imports; some may be functions or classes."""
    tree = _parsed(source)
    names: set[str] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node, package)
            names |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    try:
        return resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return node.module or ""


@cache
def _tree(source: bytes | None) -> str:
    tree = _parsed(source)
    return digest(ast.unparse(_Bare().visit(tree))) if tree else ""


class _Bare(ast.NodeTransformer):
    """Removes docstrings and raised exceptions, which cannot change a detection."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        del node
        return ast.Raise()


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
