"""The version of a model behind HTTP, and the version that the store saw last.

The version is part of the model's fingerprint: for another version pictures are made anew. Where a
service reports no version for a moment, its last version is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import msgspec
from filelock import FileLock

from pytest_t2i.adapters.models.endpoint_faults import PassingFaultError
from pytest_t2i.adapters.models.endpoints import EndpointModel
from pytest_t2i.adapters.models.reported_versions import versions_words
from pytest_t2i.errors import T2IError
from pytest_t2i.generation.store import Store

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
    """Request the model's version and set it on the model; returns a note for the user, or "".

    Args:
        store: stores the version.
        model: the model; its fingerprint is valid only afterwards.
        run_id: id of an xdist run, whose workers use the version that one of them got.
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
    # Pictures that the store has already are assumed to be of the first version reported.
    unnamed = told if before is None and store.model_name(plain) else (before or Known()).unnamed
    known = Known(dict(told), dict(unnamed))
    if known == before:
        return known, ""
    store.remember(name, asdict(known))
    if before is None:
        return known, ""
    return known, (
        f"{model} has another version than before, {versions_words(told)}; it was "
        f"{versions_words(before.told)}: pictures are made anew, and the old ones are kept apart"
    )


def _silence(model: EndpointModel, before: Known | None, told: object) -> str:
    """A note where no version was reported; "" for a service that has never reported one."""
    if before is not None:
        why = f" ({told})" if isinstance(told, T2IError) else ""
        return (
            f"{model} reports no version at this moment{why}: the last one is assumed, "
            f"{versions_words(before.told)}"
        )
    # A server that is down is reported when pictures are requested.
    is_told = isinstance(told, PassingFaultError) and told.kind != "unreachable"
    return f"the version of {model} is not known: {told}" if is_told else ""


def _known(store: Store, name: str) -> Known | None:
    try:
        return msgspec.convert(store.fact(name), Known)
    except msgspec.ValidationError:
        return None
