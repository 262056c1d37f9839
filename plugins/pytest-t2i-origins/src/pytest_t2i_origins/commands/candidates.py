"""``t2i research candidates``: have a language model propose stereotypes to test."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError, arguments, say, write_whole

from pytest_t2i_origins.languages import ANSWERING, answering
from pytest_t2i_origins.questions.candidates import (
    as_toml,
    ask_for_candidates,
    checked_concept,
    concept_of,
    prompt_of,
)

LIMITS = ("answer-deadline",)
"""The options of commands that may ask a server."""
SHOWN = 80
"""The largest number of characters of a prompt in a message."""
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
        "--count", type=arguments.value(arguments.whole(1)), default=COUNT, metavar="N",
        help=f"smallest number of attributes to ask for (default: {COUNT})",
    )  # fmt: skip
    parser.add_argument(
        "--tries", type=arguments.value(arguments.whole(1)), default=3, metavar="N",
        help="how often to ask at most, until an answer is usable (default: 3)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=arguments.path, default=Path("candidates.toml"), metavar="FILE",
        help="new file to write (default: candidates.toml)",
    )  # fmt: skip


def add_answering_llm(parser: argparse.ArgumentParser) -> None:
    """Add ``--llm`` for a model that answers questions, and the limits of its answers."""
    parser.add_argument("--llm", required=True, metavar="NAME", help=ANSWERING)
    arguments.add_run_options(parser, LIMITS)


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
    limits = arguments.run_settings(run_options).answers
    if out.exists():
        raise T2IError(f"{out} exists already: name a new file with --out FILE")
    if not prompt.isprintable():
        raise T2IError(
            f"expected a prompt without line breaks and control characters, got {prompt[:SHOWN]!r}"
        )
    concept = concept_of(prompt) if concept is None else checked_concept(concept)
    tested = prompt_of(concept, prompt)
    language = answering(llm, limits)
    attributes = ask_for_candidates(language, prompt, fewest=count, tries=tries)
    write_whole(out, as_toml(concept, attributes, prompt).encode())
    say(f"{len(attributes)} candidates in {out}")
    say(f'what will be tested: "{tested}"')
    say("next: fill in expected and source of each, then load the file with read_stereotypes(...)")
    return 0
