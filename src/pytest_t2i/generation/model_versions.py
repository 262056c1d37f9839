"""Which version of a model behind HTTP is under test, and which one was seen last.

The version is part of the model's fingerprint: pictures of another one are made anew. A service
that says nothing for a moment is taken to serve what it said last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import msgspec
from filelock import FileLock

from pytest_t2i.adapters.models.endpoint_faults import PassingFaultError
from pytest_t2i.adapters.models.endpoints import EndpointModel
from pytest_t2i.adapters.models.told_versions import versions_words
from pytest_t2i.errors import T2IError
from pytest_t2i.generation.store import Store

PATIENCE, TRIES = 5.0, 2
"""Seconds for one answer, and how often it is asked for."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the store keeps of a model's version."""

    told: Mapping[str, str] = field(default_factory=dict)
    """By the service, last."""
    unnamed: Mapping[str, str] = field(default_factory=dict)
    """The version that is taken for that of pictures which were made before one was told."""


def learn_versions(store: Store, model: EndpointModel, run_id: str | None) -> str:
    """Ask for the model's version and tell it the model; returns what the user is to know, or "".

    Args:
        store: keeps what was told.
        model: its fingerprint is asked for only afterwards.
        run_id: of an xdist run, whose workers go by what one of them was told.
    """
    plain = model.fingerprint
    folder = store.folder / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "versions"):
        of_run = f"versions:{plain}:{run_id}"
        known = _known(store, of_run) if run_id else None
        note = ""
        if known is None:
            known, note = _learn(store, model, plain)
            if run_id:
                store.remember(of_run, asdict(known))
    model.versions = known.told
    model.counted_versions = {} if known.told == known.unnamed else known.told
    return note


def _learn(store: Store, model: EndpointModel, plain: str) -> tuple[Known, str]:
    name = f"versions:{plain}"
    before = _known(store, name)
    told = model.versions_told(PATIENCE)
    for _ in range(TRIES - 1):
        told = model.versions_told(PATIENCE) if isinstance(told, T2IError) else told
    if not told or isinstance(told, T2IError):
        return before or Known(), _silence(model, before, told)
    # Pictures that a store has already are those of the first version that it is told of.
    unnamed = told if before is None and store.model_name(plain) else (before or Known()).unnamed
    known = Known(dict(told), dict(unnamed))
    if known == before:
        return known, ""
    store.remember(name, asdict(known))
    if before is None:
        return known, ""
    return known, (
        f"{model} is another version than before, {versions_words(told)}; it was "
        f"{versions_words(before.told)}: its pictures are kept apart, and made anew"
    )


def _silence(model: EndpointModel, before: Known | None, told: object) -> str:
    """What follows from no answer; "" where a service that never told its version does not."""
    if before is not None:
        why = f" ({told})" if isinstance(told, T2IError) else ""
        return (
            f"{model} does not say its version at this moment{why}: taken for the one before, "
            f"{versions_words(before.told)}"
        )
    # A server that is down says so where pictures are asked for.
    is_told = isinstance(told, PassingFaultError) and told.kind != "unreachable"
    return f"the version of {model} is not known: {told}" if is_told else ""


def _known(store: Store, name: str) -> Known | None:
    try:
        return msgspec.convert(store.fact(name), Known)
    except msgspec.ValidationError:
        return None
