"""A component by name: loaded on first use, known by a fingerprint that no other version shares.

What a component tells of itself is remembered in the store under its *identity*: all that it
depends on, as far as that can be seen without loading it. So a run that makes nothing loads no
torch. Whatever a conftest.py registered, as a whole or as a part, is asked every time.
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
    """Whose code stands behind a component: its own factory's, and those of its parts."""

    registries: Registries
    names: set[PartName] = field(default_factory=set)
    """Kind and name of everything registered that was asked for; parts once it is loaded."""
    read: dict[PartName, str] = field(default_factory=dict)
    """Digests so far: code that is loaded stays what it was."""

    def code(self) -> dict[str, str]:
        """Digest of the code behind each name."""
        for kind, name in self.names - self.read.keys():
            self.read[kind, name] = self.registries.of(kind).code(name)
        return {f"{kind} {name}": self.read[kind, name] for kind, name in sorted(self.names)}

    def states(self) -> list[list[str]] | None:
        """Kind, name and state of each; None where one has to be asked every time."""
        states = [(*part, self.registries.of(part[0]).state(part[1])) for part in self.names]
        if any(state is None for *_, state in states):
            return None
        return sorted([kind, name, str(state)] for kind, name, state in states)

    def has_state(self, recorded: Any) -> bool:
        """Whether everything that was recorded by ``states`` is still as it was."""
        return isinstance(recorded, list) and all(
            self.registries.of(kind).state(name) == state for kind, name, state in recorded
        )


@dataclass(slots=True)
class NamedComponent(Generic[T]):
    """A component that loads on first use."""

    name: str
    load: Callable[[], T]
    identity: str | None
    """Hash of all its fingerprint depends on; None when only loading tells."""
    store: Store
    lists_images: bool = False
    """Whether it may be a model of ready-made images."""
    origin: Origin | None = None
    """None for a model: its fingerprint says all that changes its pictures."""
    run_identity: str | None = None
    """Hash that holds within one xdist run, whose workers ask once."""
    _loaded: T | None = None

    def get(self) -> T:
        """The component, loaded once."""
        if self._loaded is None:
            with blamed(ConfigurationError, "what makes", self.name):
                self._loaded = self.load()
            if not hasattr(self._loaded, "fingerprint"):
                raise ConfigurationError(
                    f"what makes {self.name!r} gave {shown(self._loaded)}: expected an object "
                    "with a fingerprint, as pytest_t2i's Protocols say"
                )
        return self._loaded

    @property
    def fingerprint(self) -> str:
        """Its own fingerprint together with its code, from the store when nothing changed."""
        return str(self._facts()["fingerprint"])

    @property
    def own_fingerprint(self) -> str:
        """That of the component by itself, as another process that loads it knows it."""
        facts = self._facts()
        return str(facts["own"] if "own" in facts else cast("Any", self.get()).fingerprint)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Readable facts behind the fingerprint, as far as the component tells them."""
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
        """What was told before, if all that it depended on is as it was."""
        known = self.store.fact(_name(self.identity)) if self.identity else None
        if known is not None and (not self.origin or self.origin.has_state(known.get("parts"))):
            return cast("dict[str, Any]", known)
        known = self.store.fact(_name(self.run_identity)) if self.run_identity else None
        return cast("dict[str, Any] | None", known)


def _name(identity: str | None) -> str:
    return f"component:{identity}"
