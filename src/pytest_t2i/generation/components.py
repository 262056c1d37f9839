"""Model, detectors and encoders by name: resolved at once, loaded when something is missing.

A fingerprint that was computed before is remembered in the store under all that it depends on, so
that a run that makes nothing loads no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from pytest_t2i.adapters.catalogue import CROP, FACES, Catalogue, read_catalogues
from pytest_t2i.adapters.registry import Factory, Registries, import_factory
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.files import stamp
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import Detector, Encoder, LoadOptions, OpenSet, TextToImage
from pytest_t2i.settings import Settings

T = TypeVar("T")
LIBRARIES = (
    *("pytest-t2i", "torch", "diffusers", "transformers", "open_clip_torch", "pillow"),
    *("dlib-bin", "dlib", "face_recognition_models", "facenet-pytorch", "ultralytics"),
    *("opencv-python", "opencv-python-headless", "timm"),
)
"""Distributions whose version may change a fingerprint."""


@dataclass(slots=True)
class Handle(Generic[T]):
    """A component that loads on first use."""

    name: str
    load: Callable[[], T]
    identity: str | None
    """Hash of all its fingerprint depends on; None when only loading tells."""
    store: Store
    lists_images: bool = False
    """Whether it may be a model of ready-made images."""
    _loaded: T | None = None

    def get(self) -> T:
        """The component, loaded once."""
        if self._loaded is None:
            self._loaded = self.load()
        return self._loaded

    @property
    def fingerprint(self) -> str:
        """The component's fingerprint, from the store when nothing changed."""
        return str(self._facts()["fingerprint"])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Readable facts behind the fingerprint, as far as the component tells them."""
        return cast("Mapping[str, str]", self._facts()["provenance"])

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that a detector may give."""
        known = self._facts().get("labels")
        return tuple(cast("Any", self.get()).labels if known is None else known)

    def _facts(self) -> dict[str, Any]:
        name = f"component:{self.identity}"
        known = self.store.fact(name) if self.identity and self._loaded is None else None
        if known is not None:
            return cast("dict[str, Any]", known)
        loaded = self.get()
        facts = {
            "fingerprint": cast("Any", loaded).fingerprint,
            "provenance": dict(getattr(loaded, "provenance", {})),
            "labels": list(getattr(loaded, "labels", ())),
        }
        if self.identity:
            self.store.remember(name, facts)
        return facts


@dataclass(slots=True)
class Components:
    """Everything one run works with, by name."""

    settings: Settings
    store: Store
    registries: Registries = field(default_factory=Registries)
    device: str | None = None
    """Overrides the settings' device (one GPU per worker)."""
    run_id: str | None = None
    """Of the xdist run, whose workers share what one of them found out."""
    _catalogue: Catalogue | None = None
    _detectors: dict[DetectorRef, Handle[Detector]] = field(default_factory=dict)
    _encoders: dict[str, Handle[Encoder]] = field(default_factory=dict)
    _model: Handle[TextToImage] | None = None

    @property
    def catalogue(self) -> Catalogue:
        """All registered catalogues."""
        if self._catalogue is None:
            self._catalogue = read_catalogues(self.registries.catalogues)
        return self._catalogue

    def model(self) -> Handle[TextToImage]:
        """The model under test.

        Raises UnknownNameError for a name that is no alias, folder, hub id or factory.
        """
        if self._model is None:
            name = self.settings.model or ""
            adapter, factory, options = self._resolve_model(name)
            options = self._with_settings(options)
            own_code = adapter != "diffusers"
            # What a factory of the user's depends on is not known here: it is always asked.
            identity = None if own_code else self._identity("model", name, options)
            self._model = Handle(
                name, lambda: factory()(options), identity, self.store, lists_images=own_code
            )
        return self._model

    def model_batch(self) -> int | None:
        """Images per batch that the catalogue gives for the model."""
        entry = self.catalogue.models.get(self.settings.model or "")
        return entry.batch if entry else None

    def defaults(self) -> LoadOptions:
        """The model's load options, with the settings that the catalogue gives it."""
        return self._with_settings(self._resolve_model(self.settings.model or "")[2])

    def detector(self, ref: DetectorRef) -> Handle[Detector]:
        """A detector, or one that looks for an attribute."""
        if ref not in self._detectors:
            self._detectors[ref] = (
                self._plain_detector(ref.name) if ref.attribute is None else self._open_set(ref)
            )
        return self._detectors[ref]

    def encoder(self, name: str) -> Handle[Encoder]:
        """An encoder, ``name`` or ``name:weights``."""
        if name not in self._encoders:
            self._encoders[name] = self._part("encoder", name)
        return self._encoders[name]

    def _resolve_model(self, name: str) -> tuple[str, Callable[[], Factory], LoadOptions]:
        models = self.registries.models
        entry = self.catalogue.models.get(name)
        if entry is not None:
            return entry.adapter, (lambda: models.get(entry.adapter)), entry.options
        adapter, _, source = name.partition(":")
        if adapter in models:
            return adapter, (lambda: models.get(adapter)), LoadOptions(source=source)
        diffusers = ("diffusers", lambda: models.get("diffusers"))
        if Path(name).expanduser().is_dir():
            folder = str(Path(name).expanduser().absolute())
            return *diffusers, LoadOptions(source=folder)
        if source and adapter.replace(".", "").replace("_", "").isalnum():
            return name, (lambda: import_factory(name)), LoadOptions(source=name)
        if name.count("/") == 1 and not name.startswith((".", "/", "~")):
            return *diffusers, LoadOptions(source=name)
        if name.startswith((".", "/", "~")):
            raise ConfigurationError(
                f"unknown model {name!r}: there is no such folder. A folder written by "
                "save_pretrained is taken; t2i list models lists the aliases."
            )
        raise UnknownNameError(
            "model",
            name,
            [*self.catalogue.models, *models.local],
            "A hub id (owner/name), a folder with model_index.json, images:DIR and "
            "module:factory are taken too.",
        )

    def _plain_detector(self, name: str) -> Handle[Detector]:
        return self._part("detector", name)

    def _open_set(self, ref: DetectorRef) -> Handle[Detector]:
        base = self.detector(DetectorRef(ref.name))
        attribute = ref.attribute
        if attribute is None:
            raise ValueError(f"expected a reference with an attribute, got ref={ref!r}")

        def load() -> Detector:
            detector = base.get()
            if not isinstance(detector, OpenSet):
                raise ConfigurationError(
                    f"detector {ref.name!r} cannot look for the attribute {attribute.name!r}: it "
                    "knows its own labels only. Choose one that can, such as clip."
                )
            return detector.for_attribute(attribute)

        identity = digest([base.identity, asdict(attribute)]) if base.identity else None
        return Handle(f"{ref.name} {attribute.name}", load, identity, self.store)

    def _part(self, kind: str, name: str) -> Handle[Any]:
        registry = getattr(self.registries, f"{kind}s")
        base, _, weights = name.partition(":")
        if base not in registry:
            raise UnknownNameError(kind, base, registry.names())
        parts = {f: a[weights] for f, a in self.catalogue.weights.items() if weights in a}
        # An alias of other families only stands for weights of the parts, not for a source.
        source = parts.get(base, "" if parts else weights)
        options = self._with_settings(LoadOptions(source=source, extra={"weights": parts}))
        # Detectors run in full precision on the CPU whatever the model's dtype.
        options = replace(options, dtype="auto")
        self._check_weights(kind, name, source, parts)
        identity = self._identity(kind, base, options)
        # What a conftest.py registered can be a part of a registered detector.
        given = replace(options, extra={**options.extra, "registries": self.registries})
        return Handle(name, lambda: registry.get(base)(given), identity, self.store)

    def _check_weights(self, kind: str, name: str, source: str, parts: Mapping[str, str]) -> None:
        looks_like_alias = source and not parts and "/" not in source and not Path(source).exists()
        if looks_like_alias and source == name.partition(":")[2] and source.isidentifier():
            known = sorted({a for aliases in self.catalogue.weights.values() for a in aliases})
            raise UnknownNameError(
                f"weights for {kind} {name.partition(':')[0]!r}: alias",
                source,
                known,
                "A hub id or a folder is taken too.",
            )

    def _with_settings(self, options: LoadOptions) -> LoadOptions:
        return replace(
            options,
            device=self.device or self.settings.device,
            dtype=self.settings.dtype if self.settings.dtype != "auto" else options.dtype,
            trust_remote_code=self.settings.trust_remote_code,
        )

    def _identity(self, kind: str, name: str, options: LoadOptions) -> str | None:
        parts = options.extra.get("weights", {})
        sources = [
            options.source,
            *(source for f, source in parts.items() if f not in {FACES, CROP}),
        ]
        trees: list[Any] = [_tree(Path(source)) for source in sources if source]
        trees += [_part_tree(parts[FACES])] if FACES in parts else []
        trees += [[parts[CROP]]] if CROP in parts else []
        if not trees or not all(trees):
            # Only loading tells what a hub id stands for today; a run's workers ask once.
            if self.run_id is None:
                return None
            trees = [self.run_id]
        # One GPU or another makes the same pictures.
        plain = asdict(replace(options, device=self.settings.device))
        return digest(
            [kind, name, plain, trees, {library: _version(library) for library in LIBRARIES}]
        )


def _tree(path: Path) -> list[str]:
    """Every file under a local path with its size and time; empty when it is not local."""
    if path.is_file():
        return [f"{path.name}:{stamp(path)}"]
    if not path.is_dir():
        return []
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return [f"{file.relative_to(path)}:{stamp(file)}" for file in files]


def _part_tree(part: str) -> list[str]:
    """A face part of the catalogue, ``name`` or ``name:weights``, with the files of its weights."""
    weights = part.partition(":")[2]
    return [part, *_tree(Path(weights))] if weights else [part]


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
