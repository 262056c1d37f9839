"""A component by name: loaded on first use, and identified by a fingerprint of its version.

A component's fingerprint, labels and provenance are stored under its *identity*: a hash of all that
they depend on, as far as that can be known without loading it. So a run that makes nothing loads no
torch. Components that a conftest.py registered, or that use such a part, are loaded every time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from pytest_t2i.adapters.registry import PartName, Registries
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, blamed, shown
from pytest_t2i.generation.store import Store

T = TypeVar("T")


@dataclass(slots=True)
class Origin:
    """The code behind a component: that of its own factory, and that of its parts' factories."""

    registries: Registries
    names: set[PartName] = field(default_factory=set)
    """Kind and name of each registered factory that the component used; parts once loaded."""
    read: dict[PartName, str] = field(default_factory=dict)
    """Digests computed so far: code that is loaded does not change."""

    def code(self) -> dict[str, str]:
        """Digest of the code behind each name."""
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
        """Whether everything that ``states`` recorded is unchanged."""
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
    origin: Origin | None = None
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
        """Every label that a detector may give."""
        known = self._facts().get("labels")
        return tuple(cast("Any", self.get()).labels if known is None else known)

    @property
    def made_for(self) -> str:
        """The kind of pictures that a detector or encoder was made for; "" for any."""
        return str(self._facts().get("made_for", ""))

    def _facts(self) -> dict[str, Any]:
        known = self._remembered() if self._loaded is None else None
        if known is not None:
            return known
        loaded = self.get()
        own = str(cast("Any", loaded).fingerprint)
        facts = {
            "fingerprint": digest([own, self.origin.code()]) if self.origin else own,
            "own": own,
            "provenance": dict(getattr(loaded, "provenance", {})),
            "labels": list(getattr(loaded, "labels", ())),
            "made_for": str(getattr(loaded, "made_for", "")),
            "parts": self.origin.states() if self.origin else [],
        }
        identity = self.run_identity if facts["parts"] is None else self.identity
        identity = identity or self.run_identity
        if identity:
            self.store.remember(_name(identity), facts)
        return facts

    def _remembered(self) -> dict[str, Any] | None:
        """Facts from the store, if all that they depended on is unchanged."""
        known = self.store.fact(_name(self.identity)) if self.identity else None
        if known is not None and (not self.origin or self.origin.has_state(known.get("parts"))):
            return cast("dict[str, Any]", known)
        known = self.store.fact(_name(self.run_identity)) if self.run_identity else None
        return cast("dict[str, Any] | None", known)


def _name(identity: str | None) -> str:
    return f"component:{identity}"
