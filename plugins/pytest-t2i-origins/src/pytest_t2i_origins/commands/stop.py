"""``t2i research stop``: find prompts that explain a model's images of a concept (StOP)."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_t2i import (
    Prompt,
    Stereotype,
    T2IError,
    Variant,
    Workbench,
    arguments,
    axes,
    read_stereotypes,
    say,
    write_whole,
)
from pytest_t2i.prompts import builtin_stereotypes, named_in

from pytest_t2i_origins.languages import CONTINUING, continuing
from pytest_t2i_origins.origins.optimised_prompts import BEAM, TOP, WIDTH, chosen_search
from pytest_t2i_origins.origins.origins_of_images import OriginParts, face_part, text_encoder
from pytest_t2i_origins.origins.report import as_json, lines, write_report
from pytest_t2i_origins.origins.search import OriginsSearch

KEPT = "Finished images are kept: the same command resumes from there."
"""The note after an interruption."""
OPTIONS = ("model", "detector", "seed", "steps", "guidance", "size", "device",
           "dtype", "batch", "store", "catalogue", "confidence", "answer-deadline",
           "concurrency", *arguments.COST_OPTIONS)  # fmt: skip
"""The options that the command shares with a run of pytest."""
NUMBERS = {
    "images": (100, "number of images of the concept"),
    "made": (20, "number of images made from each cluster's best prompt"),
    "beam": (BEAM, "number of prompts that the beam search keeps at each token"),
    "width": (WIDTH, "number of next tokens tried for each prompt"),
    "top": (TOP, "number of prompts shown for each cluster"),
}

SEARCH = ("tokens", "beam", "width", "top", "likely", "sentences")
"""The options of the search for prompts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model, the concept, the effort, and the output."""
    arguments.add_run_options(parser, OPTIONS, required=("model",))
    parser.add_argument(
        "--concept",
        required=True,
        metavar="WORDS",
        help='concept to explain, such as "Iranian person"',
    )
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        help="prompt of the images (default: the usual sentence with the concept)",
    )
    parser.add_argument("--llm", required=True, metavar="NAME", help=CONTINUING)
    for name, (default, words) in NUMBERS.items():
        parser.add_argument(
            f"--{name}", type=arguments.value(arguments.whole(1)), default=default, metavar="N",
            help=f"{words} (default: {default})",
        )  # fmt: skip
    parser.add_argument(
        "--sentences", action="store_true",
        help="search for sentences that the language model finds likely, not for any strings of "
        "words",
    )  # fmt: skip
    parser.add_argument(
        "--tokens", type=arguments.value(arguments.whole(1)), metavar="N",
        help="number of tokens added to the beginning (default: 2; with --sentences, up to 12)",
    )  # fmt: skip
    parser.add_argument(
        "--likely", type=arguments.value(arguments.number), metavar="P",
        help="smallest probability of a token that is tried (default: 0; with --sentences, 0.05)",
    )  # fmt: skip
    parser.add_argument(
        "--clusters", type=arguments.value(arguments.whole(1)), metavar="N",
        help="number of clusters of the faces (default: found from the faces)",
    )  # fmt: skip
    parser.add_argument(
        "--faces", metavar="NAME", help="face detector (default: the detector's, else dlib-hog)"
    )
    parser.add_argument(
        "--stereotypes",
        type=arguments.path,
        metavar="FILE",
        help="TOML file of stereotypes with real-world shares (default: OASIS Table 1)",
    )
    parser.add_argument(
        "--out", type=arguments.path, default=Path("reports/origins"), metavar="DIR",
        help="folder to write the page to (default: reports/origins)",
    )  # fmt: skip


def run(
    concept: str,
    prompt: str | None,
    llm: str,
    images: int,
    made: int,
    clusters: int | None,
    faces: str | None,
    stereotypes: Path | None,
    out: Path,
    **run_options: Any,
) -> int:
    """Search for prompts, print them and write the page; return 0."""
    subject = _prompt(concept, prompt)
    expected = _stereotypes(subject, stereotypes)
    if out.exists() and not out.is_dir():
        raise T2IError(f"--out: expected a folder, {out} is a file")
    search = chosen_search(**{name: run_options.pop(name) for name in SEARCH})
    settings = arguments.run_settings(run_options)
    bench = Workbench(settings)
    observations = bench.observations()
    language = continuing(llm, observations)
    parts = OriginParts(
        text_encoder(observations, bench.encoder),
        face_part(observations, faces, bench.detector.name),
        language,
        search,
        clusters,
        settings.seed,
        settings.confidence,
    )
    looking = OriginsSearch(bench, parts)
    further = "" if clusters else f", and {made} more for each cluster beyond the first"
    with closing(bench), bench.paying(images + made * (clusters or 1), say, further):
        origins = looking(subject, images, expected, made)
    facts = {
        "model": settings.model or "",
        "model_fingerprint": bench.model_fingerprint,
        "encoder": bench.encoder,
        "language": llm,
        "seed": settings.seed,
    }
    write_whole(out / "origins.json", as_json(origins, facts).encode())
    page = write_report(origins, facts, out)
    for line in lines(origins):
        say(line)
    print(f"report: {page}")  # noqa: T201 - a command line tool
    return 0


def _prompt(concept: str, text: str | None) -> Prompt:
    """Return the prompt, on the axis nationality, where stereotypes of the concept are found."""
    word = concept.strip().removesuffix(" person")
    if not word:
        raise T2IError(f"--concept: expected words such as 'Iranian person', got {concept!r}")
    usual = axes.nationality
    if text is not None and named_in(word).search(text) is None:
        raise T2IError(
            f"--prompt {text!r} does not name {word!r}, but its images are compared with the "
            f"real-world shares of {word!r}: give the prompt's own concept as --concept"
        )
    return Prompt(text or usual.variant(word, Variant.NEUTRAL).text, usual.name, word)


def _stereotypes(prompt: Prompt, file: Path | None) -> list[Stereotype]:
    stereotypes = read_stereotypes(file) if file else builtin_stereotypes()
    return [
        stereotype
        for stereotype in stereotypes
        if stereotype.prompt.concept.casefold() == prompt.concept.casefold()
    ]
