"""The registered audits, of installed distributions and of a conftest.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.audits.audit import Audit
from pytest_t2i.errors import ConfigurationError, UnknownNameError


@cache
def installed_audits() -> tuple[Audit[Any], ...]:
    """Return the audits of installed distributions, the built-in ones among them."""
    return audits_of(Registries())


def recorded_kinds(audits: Iterable[Audit[Any]]) -> dict[str, Any]:
    """Return, by name of the audit, the type of what it keeps in a baseline file."""
    kinds = ((audit.name, audit.recorded_type) for audit in audits)
    return {name: kind for name, kind in kinds if kind is not None}


def audits_of(registries: Registries) -> tuple[Audit[Any], ...]:
    """Return every registered audit, each after the audits whose records it reads.

    Raises ConfigurationError for a factory that returns no audit of its name, for audits that
    read one another's records in a cycle and for two that add the same name to samples,
    UnknownNameError for one that reads records of an audit that is not registered.
    """
    audits = tuple(_ordered([_made(name, registries) for name in registries.audits.names()]))
    for door in ("of_sample", "of_samples"):
        owners: dict[str, str] = {}
        for audit in audits:
            for name in getattr(audit, door):
                if owners.setdefault(name, audit.name) != audit.name:
                    raise ConfigurationError(
                        f"the audits {owners[name]!r} and {audit.name!r} both add {name!r} by "
                        f"{door}: rename one of them"
                    )
    return audits


def _made(name: str, registries: Registries) -> Audit[Any]:
    audit = registries.audits.get(name)()
    if not isinstance(audit, Audit) or getattr(audit, "name", "") != name:
        raise ConfigurationError(
            f"audit {name!r}: expected a factory of a pytest_t2i.Audit whose name is {name!r}, got "
            f"{audit!r}"
        )
    return audit


def _ordered(audits: Sequence[Audit[Any]]) -> Iterable[Audit[Any]]:
    by_name = {audit.name: audit for audit in audits}
    for audit in audits:
        for before in audit.after:
            if before not in by_name:
                raise UnknownNameError(f"audit that {audit.name!r} comes after", before, by_name)
    try:
        order = TopologicalSorter({a.name: a.after for a in audits}).static_order()
        return [by_name[name] for name in order]
    except CycleError as error:
        cycle = ", ".join(error.args[1])
        raise ConfigurationError(f"audits read one another's records in a cycle: {cycle}") from None
