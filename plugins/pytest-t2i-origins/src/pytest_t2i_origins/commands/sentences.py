"""``t2i research sentences``: have a language model write neutral sentences of professions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_t2i import Axis, FileFormatError, T2IError, arguments, read_toml, say, write_whole
from pytest_t2i import axes as builtin

from pytest_t2i_origins.commands.candidates import add_answering_llm
from pytest_t2i_origins.languages import answering
from pytest_t2i_origins.questions.sentences import as_toml, ask_for_sentences, problem, sentences_in

KEPT = "Finished sentences are kept: the same command resumes from there."
"""The note after an interruption."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: professions, language model, and output file."""
    add_answering_llm(parser)
    parser.add_argument(
        "--axis", type=arguments.value(arguments.names), default=("wu",), metavar="NAMES",
        help="axes of professions, such as wu.science,wu.art (default: wu, all 16 topics)",
    )  # fmt: skip
    parser.add_argument(
        "--tries", type=arguments.value(arguments.whole(1)), default=3, metavar="N",
        help="how often to ask at most for each sentence (default: 3)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=arguments.path, default=Path("sentences.toml"), metavar="FILE",
        help="file of axes to write; sentences that are there are kept (default: sentences.toml)",
    )  # fmt: skip


def run(*, llm: str, axis: Sequence[str], tries: int, out: Path, **run_options: Any) -> int:
    """Write a file of axes whose prompts are sentences, or complete one; return 0."""
    limits = arguments.run_settings(run_options).answers
    axes = _axes(axis)
    sentences = _known(out, axes) if out.exists() else {}
    language = answering(llm, limits)
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

    Raises T2IError for an axis that does not vary professions.
    """
    groups = (list(builtin.wu) if name == "wu" else [builtin[name]] for name in names)
    axes = list(dict.fromkeys(axis for group in groups for axis in group))
    for axis in axes:
        if axis.indicator != "word":
            raise T2IError(
                f"--axis {axis.name}: its prompts name a person, not a profession to put female or "
                "male before. Take wu, or topics of it such as wu.science (t2i list axes)."
            )
    return axes


def _known(out: Path, axes: Sequence[Axis]) -> dict[str, dict[str, str]]:
    stored = sentences_in(out)
    extra = [name for name in stored if name not in {axis.name for axis in axes}]
    if extra:
        raise T2IError(
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
