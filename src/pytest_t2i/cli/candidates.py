"""``t2i candidates``: ask a language model for stereotypes to test."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.languages.load_by_name import ANSWERING, answering
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, say, value
from pytest_t2i.errors import ConfigurationError, shown
from pytest_t2i.files import write_whole
from pytest_t2i.prompts.candidates import as_toml, checked_concept, concept_of, prompt_of
from pytest_t2i.prompts.language_model.candidates import ask_for_candidates
from pytest_t2i.settings import whole

LIMITS = ("answer-deadline", "answer-limit")
"""The options of commands that may ask a server."""
COUNT = 15
"""The number of attributes that are asked for, as in OASIS A.1.1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: prompt, language model, and output file."""
    parser.add_argument(
        "prompt",
        metavar="PROMPT",
        help='prompt to find stereotypes for, such as "a photo of a Tunisian person"',
    )
    add_answering_llm(parser)
    parser.add_argument(
        "--concept", metavar="WORD",
        help='concept to test, such as Tunisian (default: the word before "person" in PROMPT)',
    )  # fmt: skip
    parser.add_argument(
        "--count", type=value(whole(1)), default=COUNT, metavar="N",
        help=f"smallest number of attributes to ask for (default: {COUNT})",
    )  # fmt: skip
    parser.add_argument(
        "--tries", type=value(whole(1)), default=3, metavar="N",
        help="how often to ask at most, until an answer is usable (default: 3)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=path, default=Path("candidates.toml"), metavar="FILE",
        help="new file to write (default: candidates.toml)",
    )  # fmt: skip


def add_llm(parser: argparse.ArgumentParser, fit: str = ANSWERING) -> None:
    """Add ``--llm``; ``fit`` is its help text and says which language models fit."""
    parser.add_argument("--llm", required=True, metavar="NAME", help=fit)


def add_answering_llm(parser: argparse.ArgumentParser) -> None:
    """Add ``--llm`` for a model that answers questions, and the limits of its answers."""
    add_llm(parser)
    add_run_options(parser, LIMITS)


def run(
    prompt: str,
    *,
    llm: str,
    concept: str | None,
    count: int,
    tries: int,
    out: Path,
    **run_options: Any,
) -> int:
    """Write the candidates as a file of stereotypes that a person completes; return 0."""
    limits = run_settings(run_options).answers
    if out.exists():
        raise ConfigurationError(f"{out} exists already: name a new file with --out FILE")
    if not prompt.isprintable():
        raise ConfigurationError(
            f"expected a prompt without line breaks and control characters, got {shown(prompt)}"
        )
    concept = concept_of(prompt) if concept is None else checked_concept(concept)
    tested = prompt_of(concept, prompt)
    registries = Registries()
    language = answering(llm, registries.languages, read_catalogues(registries.catalogues), limits)
    attributes = ask_for_candidates(language, prompt, fewest=count, tries=tries)
    write_whole(out, as_toml(concept, attributes, prompt).encode())
    say(f"{len(attributes)} candidates in {out}")
    say(f'what will be tested: "{tested}"')
    say("next: fill in expected and source of each, then load the file with read_stereotypes(...)")
    return 0
