"""The registered audits, of installed distributions and of a conftest.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pytest_t2i.adapters.registry import Registries, brought_by_companion, import_factory
from pytest_t2i.audits.audit import Audit
from pytest_t2i.errors import ConfigurationError, UnknownNameError, shown


@cache
def installed_audits() -> tuple[Audit, ...]:
    """Return the audits of installed distributions, the built-in ones among them."""
    return audits_of(Registries())


def chosen_audits(entries: Any) -> tuple[Audit, ...]:
    """Return audits by their names, or by their classes: the class itself or ``module:Class``.

    >>> [audit.name for audit in chosen_audits("parity")]
    ['parity']
    """
    single = isinstance(entries, str | type | Audit)
    return tuple(map(_chosen, (entries,) if single else tuple(entries)))


def _chosen(entry: Any) -> Audit:
    by_name = {audit.name: audit for audit in installed_audits()}
    if isinstance(entry, str) and entry in by_name:
        return by_name[entry]
    if isinstance(entry, str) and ":" not in entry:
        hint = brought_by_companion("audit", entry) or "An audit class and module:Class, too."
        raise UnknownNameError("audit", entry, by_name, hint)
    factory = import_factory(entry) if isinstance(entry, str) else entry
    audit = factory() if isinstance(factory, type) and issubclass(factory, Audit) else factory
    name = getattr(audit, "name", "")
    if not isinstance(audit, Audit) or not name:
        raise ConfigurationError(
            "audits: expected names of installed audits, subclasses of pytest_t2i.Audit with a "
            f"name, or module:Class, got {shown(entry)}"
        )
    if name in by_name and type(audit) is not type(by_name[name]):
        raise ConfigurationError(
            f"audits: {type(audit).__name__} has the name of the installed audit {name!r}: give it "
            "another name"
        )
    return audit


def recorded_kinds(audits: Iterable[Audit]) -> dict[str, Any]:
    """Return, by name of the audit, the type of what it keeps in a baseline file."""
    kinds = ((audit.name, audit.recorded_type) for audit in audits)
    return {name: kind for name, kind in kinds if kind is not None}


def audits_of(registries: Registries) -> tuple[Audit, ...]:
    """Return every registered audit, each after the audits whose records it reads."""
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


def _made(name: str, registries: Registries) -> Audit:
    audit = registries.audits.get(name)()
    if not isinstance(audit, Audit) or getattr(audit, "name", "") != name:
        raise ConfigurationError(
            f"audit {name!r}: expected a factory of a pytest_t2i.Audit whose name is {name!r}, got "
            f"{audit!r}"
        )
    return audit


def _ordered(audits: Sequence[Audit]) -> Iterable[Audit]:
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
