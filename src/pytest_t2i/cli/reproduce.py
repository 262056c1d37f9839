"""``t2i reproduce``: list every table and figure of the papers, or make those that can be made.

The list names for each the command, what it needs, and what of it was run here. Without ``--list``
the commands run whose weights, files and packages are there, and the published numbers follow.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.run import as_if_here, suites_folder
from pytest_t2i.cli.support.arguments import say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.check_weights import is_in_hub_cache
from pytest_t2i.read_files import convert, read_toml

TELLS_PROGRESS = True
PAPERS = ("lyu", "oasis", "wu", "thesis")
CONFERENCE = "wu-aies"
"""The conference version of Wu, which is listed with it."""
TITLES = {
    "lyu": "Lyu: accuracy of detectors, and bias by prompt",
    "oasis": "OASIS: stereotypes, where they come from, when they enter",
    "wu": "Wu: from prompt to image",
    CONFERENCE: "Wu, conference version",
    "thesis": "Thesis: GOYA, Wu and mitigation",
}
NOTHING_RUN = 3
"""Exit status where no command was run."""
HEAD = "| table or figure | what it shows | way | needs | what of it was run |"
RULE = "|---|---|---|---|---|"
NOTHING = "none"
"""Cell of a table or figure without a command, or without a need."""
WAYS = "| way | command |\n|---|---|"


@dataclass(frozen=True, slots=True)
class Way:
    """How tables and figures are made; without a command nothing is measured."""

    here: str
    """What of it was run for this project."""
    command: str = ""
    models: tuple[str, ...] = ()
    """Aliases of models, whose weights are on the hub."""
    hub: tuple[str, ...] = ()
    """Further repositories of weights."""
    files: tuple[str, ...] = ()
    """Files and folders of the working directory."""
    pictures: int = 0
    """Pictures that are made, about."""
    gb: float = 0.0
    """Gigabytes of weights, about."""
    gpu_hours: float = 0.0
    """Hours of one H100, about."""
    needs: str = ""
    """What else it needs, in words."""
    published: str = ""
    """Published numbers to compare with."""

    @property
    def is_measured(self) -> bool:
        return bool(self.command)

    @property
    def needed(self) -> str:
        """What the command needs, in words."""
        weights = f" of weights ({', '.join((*self.models, *self.hub))})"
        parts = [
            f"{self.pictures:,} pictures" if self.pictures else "",
            f"{self.gb:g} GB{weights}" if self.gb else "",
            _gpu_time(self.gpu_hours) if self.gpu_hours else "",
            self.needs,
        ]
        return "; ".join(filter(None, parts)) or ("nothing" if self.is_measured else NOTHING)

    def missing(self, folder: Path) -> list[str]:
        repositories = [*self.hub, *(_repository(alias) for alias in self.models)]
        weights = [name for name in repositories if not is_in_hub_cache(name)]
        return [*weights, *(name for name in self.files if not _place(folder, name).exists())]

    def words(self, folder: Path) -> list[str]:
        """Return the words of the command, with the shipped suites where the folder has none."""
        words = shlex.split(self.command)
        return [str(_place(folder, word)) if word in self.files else word for word in words]


def _place(folder: Path, name: str) -> Path:
    kind, _, suite = name.partition("/")
    is_shipped = kind == "suites" and not (folder / name).exists()
    return suites_folder() / suite if is_shipped else folder / name


def _gpu_time(hours: float) -> str:
    return f"{hours:g} GPU hours" if hours >= 1 else f"{60 * hours:.0f} GPU minutes"


class ReproducedTable(NamedTuple):
    """One table or figure."""

    label: str
    """As the document prints it, such as ``Table 5``."""
    way: str
    shows: str
    """What it shows, in our words."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Everything of ``reproduce.toml``."""

    way: dict[str, Way]
    document: dict[str, dict[str, tuple[ReproducedTable, ...]]]
    """Name of a document -> its tables and figures, in its order."""


@cache
def reproduction() -> Reproduction:
    """Return all documents with their tables and figures."""
    path = Path(str(files("pytest_t2i.cli") / "shipped" / "reproduce.toml"))
    return convert(path, read_toml(path), Reproduction)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the paper, and whether its tables are listed only."""
    parser.add_argument(
        "paper", nargs="?", choices=PAPERS,
        help="document (default: all); wu covers the conference version, too",
    )  # fmt: skip
    parser.add_argument(
        "--list", action="store_true", dest="is_list",
        help="print each table and figure with its command, needs and state, as Markdown",
    )  # fmt: skip
    parser.add_argument(
        "--row", metavar="LABEL", help="one table or figure alone, such as 'Table 6'"
    )


def run(paper: str | None, *, is_list: bool, row: str | None) -> int:
    """List, or run what is there; return 1 where a command failed, 3 where none was run."""
    everything = reproduction().document
    names = {None: tuple(everything), "wu": ("wu", CONFERENCE)}.get(paper, (str(paper),))
    documents: dict[str, Sequence[ReproducedTable]] = {
        name: everything[name]["rows"] for name in names
    }
    if row is not None:
        documents = _only(documents, row)
    if is_list:
        for line in _list_lines(documents):
            print(line)  # noqa: T201 - Markdown is not wrapped
        return 0
    return _run_all(documents)


def _only(
    documents: dict[str, Sequence[ReproducedTable]], label: str
) -> dict[str, Sequence[ReproducedTable]]:
    rows_by_document = {
        name: [row for row in rows if row.label.casefold() == label.strip().casefold()]
        for name, rows in documents.items()
    }
    if not any(rows_by_document.values()):
        labels = ", ".join(row.label for rows in documents.values() for row in rows)
        raise ConfigurationError(f"--row: expected one of {labels}, got {label!r}")
    return {name: rows for name, rows in rows_by_document.items() if rows}


def _list_lines(documents: dict[str, Sequence[ReproducedTable]]) -> Iterator[str]:
    """Yield the lines of the list as Markdown."""
    ways = reproduction().way
    for name, rows in documents.items():
        yield from (f"### {TITLES[name]}", "", HEAD, RULE)
        for row in rows:
            way = ways[row.way]
            link = f"`{row.way}`" if way.is_measured else NOTHING
            yield f"| {row.label} | {row.shows} | {link} | {way.needed} | {way.here} |"
        yield ""
    used = dict.fromkeys(row.way for rows in documents.values() for row in rows)
    measured = [name for name in used if ways[name].is_measured]
    if measured:
        yield from ("### Commands", "", WAYS)
        yield from (f"| `{name}` | `{ways[name].command}` |" for name in measured)
        yield ""


def _run_all(documents: dict[str, Sequence[ReproducedTable]]) -> int:
    """Run each command once whose parts are there; say what the others lack."""
    ways, statuses = reproduction().way, []
    labels: dict[str, list[str]] = {}
    for name, rows in documents.items():
        for row in rows:
            labels.setdefault(row.way, []).append(f"{name} {row.label}")
    for name, of_way in labels.items():
        way, places = ways[name], ", ".join(of_way)
        if not way.is_measured:
            say(f"{places}: not run, {way.here}")
            continue
        program, *arguments = way.words(Path())
        command = shlex.join([program, *arguments])
        if missing := way.missing(Path()):
            say(f"{places}: not run, for want of {', '.join(missing)}. Command: {command}")
            continue
        say(f"{places}: {command}")
        # Output of this process comes before that of the command.
        sys.stdout.flush()
        here = as_if_here() if program == "pytest" else []
        words = [sys.executable, *_STARTED[program], *here, *arguments]
        count = subprocess.run(words, check=False)  # noqa: S603 - a command of reproduce.toml
        statuses.append(int(count.returncode not in _FINISHED[program]))
        if way.published:
            say(f"published: {way.published}")
    if not statuses:
        say("nothing was run: no table or figure asked for has its command and all that it needs")
    return max(statuses, default=NOTHING_RUN)


_STARTED = {
    "pytest": ("-m", "pytest"),
    "t2i": ("-c", "import sys; from pytest_t2i.cli.main import main; sys.exit(main())"),
}
"""How a program is started by this interpreter."""
_FINISHED = {"pytest": (0, 1, 6), "t2i": (0,)}
"""Exit statuses after which a command has its tables: a verdict FAIL is a result, too."""


@cache
def _repository(alias: str) -> str:
    entry = read_catalogues(Registries().catalogues).models[alias]
    return entry.options.source
