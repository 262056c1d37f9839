"""``t2i sentences``: have a language model write the neutral sentences of professions (Wu 3.1)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.languages.load_by_name import answering
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.candidates import add_answering_llm
from pytest_t2i.cli.support.arguments import path, run_settings, say, value
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.files import read_toml, write_whole
from pytest_t2i.prompts import Axis, builtin_axes
from pytest_t2i.prompts.language_model.sentences import ask_for_sentences
from pytest_t2i.prompts.sentences import as_toml, problem, sentences_in
from pytest_t2i.settings import names, whole

KEPT = "Finished sentences are kept: the same command resumes from there."
"""The note after an interruption."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: professions, language model, and output file."""
    add_answering_llm(parser)
    parser.add_argument(
        "--axis", type=value(names), default=("wu",), metavar="NAMES",
        help="axes of professions, such as wu.science,wu.art (default: wu, all 16 topics)",
    )  # fmt: skip
    parser.add_argument(
        "--tries", type=value(whole(1)), default=3, metavar="N",
        help="how often to ask at most for each sentence (default: 3)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=path, default=Path("sentences.toml"), metavar="FILE",
        help="file of axes to write; sentences that are there are kept (default: sentences.toml)",
    )  # fmt: skip


def run(*, llm: str, axis: Sequence[str], tries: int, out: Path, **run_options: Any) -> int:
    """Write a file of axes whose prompts are sentences, or complete one; return 0."""
    limits = run_settings(run_options).answers
    axes = _axes(axis)
    sentences = _known(out, axes) if out.exists() else {}
    registries = Registries()
    language = answering(llm, registries.languages, read_catalogues(registries.catalogues), limits)
    sources = _sources(out, axes, llm)

    def keep(new_axes: list[Axis]) -> None:
        sourced = (
            replace(axis_of_file, source=sources[axis_of_file.name]) for axis_of_file in new_axes
        )
        write_whole(out, as_toml(sourced).encode())

    new_count = ask_for_sentences(language, axes, sentences, tries=tries, keep=keep)
    count = sum(len(axis_of_file.concepts) for axis_of_file in axes)
    say(f"{count} sentences in {out}, {new_count} of them new")
    say("next: read the sentences, then mark tests with axes.load(FILE)")
    return 0


def _axes(names: Sequence[str]) -> list[Axis]:
    """Return the axes of these names.

    Raises ConfigurationError for an axis that does not vary professions.
    """
    groups = (list(builtin_axes().wu) if name == "wu" else [builtin_axes()[name]] for name in names)
    axes = list(dict.fromkeys(axis for group in groups for axis in group))
    for axis in axes:
        if axis.indicator != "word":
            raise ConfigurationError(
                f"--axis {axis.name}: its prompts name a person, not a profession to put female or "
                "male before. Take wu, or topics of it such as wu.science (t2i list axes)."
            )
    return axes


def _known(out: Path, axes: Sequence[Axis]) -> dict[str, dict[str, str]]:
    """Return the sentences of a file that is to be completed."""
    stored = sentences_in(out)
    extra = [name for name in stored if name not in {axis.name for axis in axes}]
    if extra:
        raise ConfigurationError(
            f"{out} has sentences of {', '.join(extra)}: name these with --axis, too, or name a "
            "new file with --out FILE"
        )
    for name, sentences in stored.items():
        for word, sentence in sentences.items():
            if wrong := problem(sentence, word):
                raise FileFormatError(out, f"{wrong}: {sentence!r}.", where=f"[{name}] {word!r}")
    return stored


def _sources(out: Path, axes: Sequence[Axis], llm: str) -> dict[str, str]:
    """Return the source of each axis, with every language model that wrote sentences of it."""
    tables = read_toml(out) if out.exists() else {}
    sources = {
        axis.name: str(tables.get(axis.name, {}).get("source", axis.source)) for axis in axes
    }
    note = f"; sentences by {llm}"
    return {name: old.removesuffix(note) + note for name, old in sources.items()}
