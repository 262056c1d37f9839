"""``t2i list``: list registered names, or the prompts of suites."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.catalogue import Catalogue, ModelEntry, read_catalogues
from pytest_t2i.adapters.mitigations import INSTALL, NamedMitigation, load_mitigation
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.support import list_prompts
from pytest_t2i.cli.support.arguments import add_run_options, run_settings
from pytest_t2i.errors import ConfigurationError

KINDS = (
    *("models", "detectors", "faces", "persons", "encoders", "languages", "executors"),
    *("mitigations", "axes"),
)
PROMPTS = "prompts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the kind of names, and how prompts are listed."""
    parser.add_argument(
        "kind",
        choices=(*KINDS, PROMPTS),
        help="what to list: registered names of a kind, the words of the built-in axes, or prompts",
    )
    list_prompts.add_arguments(parser)
    add_run_options(parser, ("catalogue", "images"))


def run(
    kind: str, *, suites: list[str], expression: str | None, manifest: bool, **run_options: Any
) -> int:
    """Print one line per name, or per prompt; return 0."""
    images, own = run_options.get("t2i_images"), run_settings(run_options).catalogue
    if kind == PROMPTS:
        listed = list_prompts.lines(suites, expression, images, manifest=manifest)
    elif suites or expression or manifest or images:
        raise ConfigurationError(
            f"suites, -k, --manifest and --images go with t2i list prompts, not t2i list {kind}"
        )
    else:
        listed = lines(kind, own)
    for line in listed:
        print(line)  # noqa: T201 - a command line tool
    return 0


def lines(kind: str, own: Path | None = None) -> list[str]:
    """Return one line per registered name of a kind; ``own`` is the project's own catalogue.

    Mitigations are imported; nothing else is.
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
    # Only this kind pays for reading the axes.
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
    passes = f"{of.passes:.3g} pass{'' if of.passes == 1 else 'es'} per picture"
    fits = ", ".join(of.families) or "any model"
    return f"{named.asked}: stage {of.stage}, {passes}, fits {fits}{f' ({keys})' if keys else ''}"


def _part(name: str, catalogue: Catalogue) -> str:
    # Detectors that are built on a CLIP take the aliases of CLIP weights.
    family = "clip" if name.startswith("clip-") else name
    aliases = sorted(catalogue.weights.get(family, {}))
    return f"{name} ({', '.join(f'{name}:{alias}' for alias in aliases)})" if aliases else name


def _model(entry: ModelEntry) -> str:
    asked = entry.options.defaults
    settings = f"{asked.steps} steps, guidance {asked.guidance}, {asked.width} px"
    detector = f", detector {entry.detector}" if entry.detector else ""
    return f"{entry.alias}: {entry.options.source} ({settings}{detector})"
