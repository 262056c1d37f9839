"""``t2i list``: what is registered under which name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.catalogue import Catalogue, ModelEntry, read_catalogues
from pytest_t2i.adapters.mitigations import INSTALL, NamedMitigation, load_mitigation
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.arguments import add_run_options, run_settings

KINDS = (
    *("models", "detectors", "faces", "persons", "encoders", "languages", "executors"),
    *("mitigations", "axes"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is listed."""
    parser.add_argument("kind", choices=KINDS)
    add_run_options(parser, ("catalogue",))


def run(kind: str, **of_run: Any) -> int:
    """Print one line per name."""
    for line in lines(kind, run_settings(of_run).catalogue):
        print(line)  # noqa: T201 - a command line tool
    return 0


def lines(kind: str, own: Path | None = None) -> list[str]:
    """One line per registered name of a kind, with a project's own catalogue, if it has one.

    Nothing heavy is imported.
    """
    registries = Registries()
    if kind == "axes":
        return _axes()
    if kind == "mitigations":
        return _mitigations(registries)
    catalogue = read_catalogues(registries.catalogues, own)
    if kind == "models":
        return sorted(_model(entry) for entry in catalogue.models.values())
    names = getattr(registries, kind).names()
    return [_part(name, catalogue) for name in names]


def _axes() -> list[str]:
    # Reading axes is for those who ask for them: every other kind starts without.
    from pytest_t2i.prompts import builtin_axes

    return [
        f"{axis.name}: {len(axis.concepts)} concepts: {', '.join(axis.concepts)}"
        for axis in [*builtin_axes(), *builtin_axes().wu]
    ]


def _mitigations(registries: Registries) -> list[str]:
    known = registries.mitigations
    if not known.names():
        return [f"no mitigation is installed. Run: {INSTALL}"]
    return [_mitigation(load_mitigation(known, name)) for name in known.names()]


def _mitigation(named: NamedMitigation) -> str:
    of, keys = named.mitigation, ",".join(f"{key}={value}" for key, value in named.keys.items())
    passes = f"{of.passes:g} pass{'' if of.passes == 1 else 'es'} per picture"
    fits = ", ".join(of.families) or "any model"
    return f"{named.asked}: stage {of.stage}, {passes}, fits {fits}{f' ({keys})' if keys else ''}"


def _part(name: str, catalogue: Catalogue) -> str:
    # Detectors put together around a CLIP take the aliases of its weights.
    family = "clip" if name.startswith("clip-") else name
    aliases = sorted(catalogue.weights.get(family, {}))
    return f"{name} ({', '.join(f'{name}:{alias}' for alias in aliases)})" if aliases else name


def _model(entry: ModelEntry) -> str:
    asked = entry.options.defaults
    settings = f"{asked.steps} steps, guidance {asked.guidance}, {asked.width} px"
    detector = f", detector {entry.detector}" if entry.detector else ""
    return f"{entry.alias}: {entry.options.source} ({settings}{detector})"
