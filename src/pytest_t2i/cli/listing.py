"""``t2i list``: list registered names, or the prompts of suites."""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.adapters.catalogue import Catalogue, ModelEntry, read_catalogues
from pytest_t2i.adapters.mitigations import NamedMitigation, load_mitigation
from pytest_t2i.adapters.models.manifest import COLUMNS
from pytest_t2i.adapters.registry import MITIGATION, Registries
from pytest_t2i.adapters.tables import printed_cell
from pytest_t2i.cli.support.arguments import add_run_options, run_settings
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.option_names import LOADED
from pytest_t2i.sections.escaping import isolated, line
from pytest_t2i.settings import Settings

COLLECT = (
    *("-m", "pytest", *LOADED, "-p", "pytest_t2i.plugin.collect_prompts", "--collect-only", "-q"),
    *("-p", "no:cacheprovider"),
)
NOTHING = 5
"""The exit status of pytest where there are no tests."""


class Wanted(NamedTuple):
    """A prompt, and the number of images of it that a suite needs."""

    id: str
    text: str
    images: int
    neutral: Sequence[str]
    """The texts from which its seeds follow: its own, or the neutral ones of its triplets."""

    @property
    def seeds(self) -> list[int]:
        base = Settings().seed
        return [seed for text in self.neutral for seed in seeds_of(base, text, self.images)]


def _add_prompt_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the suites, and the form of the list."""
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        help="prompts: test files or folders, as pytest takes them (default: the built-in axes)",
    )
    parser.add_argument(
        "-k",
        dest="expression",
        metavar="EXPRESSION",
        help="prompts: list those of tests that pytest's -k selects",
    )
    parser.add_argument(
        "--manifest",
        action="store_true",
        help="prompts: print a manifest.csv for --t2i-model images:DIR, with a row for each "
        "picture that is needed and a seed that no other prompt has, but for those of its triplet",
    )


def _prompt_lines(
    suites: Sequence[str], expression: str | None, images: int | None, *, manifest: bool
) -> list[str]:
    if suites or expression:
        arguments = [*suites, *(("-k", expression) if expression else ())]
        options = () if images is None else ("--t2i-images", str(images))
        rows = collected([*options, *arguments])["prompts"]
        if not rows:
            raise ConfigurationError(f"no test with prompts in {' '.join(arguments)}")
        prompts = [Wanted(*row) for row in rows]
    else:
        prompts = _of_axes(Settings().images if images is None else images)
    return (
        _manifest(prompts)
        if manifest
        else [f"{line(prompt.id)}: {isolated(line(prompt.text))}" for prompt in prompts]
    )


def _manifest(prompts: Sequence[Wanted]) -> list[str]:
    text = io.StringIO(newline="")
    rows = (
        (f"{prompt.id}-{number}.png", prompt.text, seed)
        for prompt in prompts
        for number, seed in enumerate(prompt.seeds)
    )
    csv.writer(text, lineterminator="\n").writerows(
        [COLUMNS, *(map(printed_cell, row) for row in rows)]
    )
    return text.getvalue().removesuffix("\n").split("\n")


def _of_axes(images: int) -> list[Wanted]:
    from pytest_t2i.prompts import builtin_axes

    prompts = (prompt for axis in builtin_axes() for prompt in axis.prompts())
    return [Wanted(prompt.id, prompt.text, images, [prompt.text]) for prompt in prompts]


def collected(arguments: Sequence[str]) -> dict[str, Any]:
    """Return what tests need, as ``plugin.collect_prompts`` writes it; no test runs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.json"
        process = subprocess.run(  # noqa: S603 - the Python that runs this
            [sys.executable, *COLLECT, "--t2i-prompts-to", str(file), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode not in {0, NOTHING}:
            raise ConfigurationError(f"pytest could not collect: {_reason(process)}")
        if not file.exists():
            return {"prompts": [], "images": {}, "per prompt": 0}
        return dict(json.loads(file.read_text(encoding="utf-8")))


def _reason(process: subprocess.CompletedProcess[str]) -> str:
    return " ".join((process.stderr.strip() or process.stdout.strip()).split("\n")[-12:])


KINDS = (
    *("models", "detectors", "faces", "persons", "encoders", "languages", "executors"),
    *("mitigations", "axes", "metrics", "audits", "tables"),
)
PROMPTS = "prompts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the kind of names, and how prompts are listed."""
    parser.add_argument(
        "kind",
        choices=(*KINDS, PROMPTS),
        help="what to list: registered names of a kind, the words of the built-in axes, metrics, "
        "audits, the tables of a run, or prompts",
    )
    _add_prompt_arguments(parser)
    add_run_options(parser, ("catalogue", "images"))


def run(
    kind: str, *, suites: list[str], expression: str | None, manifest: bool, **run_options: Any
) -> int:
    """Print one line per name, or per prompt; return 0."""
    images, catalogue = run_options.get("t2i_images"), run_settings(run_options).catalogue
    if kind == PROMPTS:
        listed = _prompt_lines(suites, expression, images, manifest=manifest)
    elif suites or expression or manifest or images:
        raise ConfigurationError(
            f"suites, -k, --manifest and --images go with t2i list prompts, not t2i list {kind}"
        )
    else:
        listed = _names_of_kind(kind, catalogue)
    for text in listed:
        print(text)  # noqa: T201 - a command line tool
    return 0


def _names_of_kind(kind: str, own: Path | None = None) -> list[str]:
    """Return one line per registered name of a kind; ``own`` is the project's own catalogue.

    Mitigations are imported; nothing else is.
    """
    registries = Registries()
    of_kind: dict[str, Callable[[], list[str]]] = {
        "axes": _axes,
        "metrics": _metrics,
        "audits": _audits,
        "tables": _tables,
        "mitigations": lambda: _mitigations(registries),
    }
    if kind in of_kind:
        return of_kind[kind]()
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


def _metrics() -> list[str]:
    from pytest_t2i.adapters.metric_discovery import load_registered_metrics
    from pytest_t2i.audits.discovery import installed_audits
    from pytest_t2i.metrics.info import INFO, register
    from pytest_t2i.verdicts.limit import WORSE

    load_registered_metrics()
    for audit in installed_audits():
        for metric in audit.metrics:
            register(metric)
    return [
        f"{name}: {info.low:g} to {info.high:g}, {WORSE[info.worse]} ({info.source})"
        for name, info in sorted(INFO.items())
    ]


def _audits() -> list[str]:
    from pytest_t2i.audits.discovery import installed_audits

    lines = []
    for audit in sorted(installed_audits(), key=attrgetter("name")):
        added = [f"sample.{name}" for name in audit.of_sample]
        added += [f"samples.{name}" for name in audit.of_samples]
        lines.append(f"{audit.name}: {', '.join([*audit.fixtures, *added]) or 'a section alone'}")
    return lines


def _tables() -> list[str]:
    from pytest_t2i.runs.record.frames import tables
    from pytest_t2i.runs.record.record import RunRecord

    empty = RunRecord("", 0.0, "", {}, {}, {})
    return [f"{name}: {', '.join(table.columns)}" for name, table in tables(empty)]


def _mitigations(registries: Registries) -> list[str]:
    registry = registries.mitigations
    if not registry.names():
        return [f"no mitigation is installed. Run: {MITIGATION}"]
    return [_mitigation(load_mitigation(registry, name)) for name in registry.names()]


def _mitigation(entry: NamedMitigation) -> str:
    facts = entry.mitigation
    keys = ",".join(f"{key}={value}" for key, value in entry.keys.items())
    passes = f"{facts.passes:.3g} pass{'' if facts.passes == 1 else 'es'} per picture"
    fits = ", ".join(facts.families) or "any model"
    return (
        f"{entry.asked}: stage {facts.stage}, {passes}, fits {fits}{f' ({keys})' if keys else ''}"
    )


def _part(name: str, catalogue: Catalogue) -> str:
    # Detectors that are built on a CLIP take the aliases of CLIP weights.
    family = "clip" if name.startswith("clip-") else name
    aliases = sorted(catalogue.weights.get(family, {}))
    return f"{name} ({', '.join(f'{name}:{alias}' for alias in aliases)})" if aliases else name


def _model(entry: ModelEntry) -> str:
    defaults = entry.options.defaults
    settings = f"{defaults.steps} steps, guidance {defaults.guidance}, {defaults.width} px"
    detector = f", detector {entry.detector}" if entry.detector else ""
    return f"{entry.alias}: {entry.options.source} ({settings}{detector})"
