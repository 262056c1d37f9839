"""``t2i stop``: find prompts that explain a model's images of a concept (StOP, OASIS 3.3)."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.languages.load_by_name import CONTINUING, continuing
from pytest_t2i.audits.origins.optimised_prompts import BEAM, TOP, WIDTH, chosen_search
from pytest_t2i.audits.origins.origins_of_images import OriginParts, face_part, text_encoder
from pytest_t2i.cli.candidates import add_llm
from pytest_t2i.cli.hunt import check_model
from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, say, value
from pytest_t2i.cli.support.costs import COST_OPTIONS, paid, validate
from pytest_t2i.data import Prompt, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import write_whole
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Plan
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import Stereotype, builtin_axes, builtin_stereotypes, read_stereotypes
from pytest_t2i.prompts.grammar import named_in
from pytest_t2i.reporting.origins import as_json, lines, page
from pytest_t2i.runs.session import Session
from pytest_t2i.search.origins import OriginsSearch
from pytest_t2i.settings import number, whole

KEPT = "Finished images are kept: the same command resumes from there."
"""The note after an interruption."""
OPTIONS = ("model", "detector", "seed", "steps", "guidance", "size", "other-size", "device",
           "dtype", "batch", "store", "catalogue", "confidence", "answer-deadline", "answer-limit",
           "concurrency", *COST_OPTIONS)  # fmt: skip
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
    add_run_options(parser, OPTIONS, required=("model",))
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
    add_llm(parser, CONTINUING)
    for name, (default, words) in NUMBERS.items():
        parser.add_argument(
            f"--{name}", type=value(whole(1)), default=default, metavar="N",
            help=f"{words} (default: {default})",
        )  # fmt: skip
    parser.add_argument(
        "--sentences", action="store_true",
        help="search for sentences that the language model finds likely, not for any strings of "
        "words",
    )  # fmt: skip
    parser.add_argument(
        "--tokens", type=value(whole(1)), metavar="N",
        help="number of tokens added to the beginning (default: 2; with --sentences, up to 12)",
    )  # fmt: skip
    parser.add_argument(
        "--likely", type=value(number), metavar="P",
        help="smallest probability of a token that is tried (default: 0; with --sentences, 0.05)",
    )  # fmt: skip
    parser.add_argument(
        "--clusters", type=value(whole(1)), metavar="N",
        help="number of clusters of the faces (default: found from the faces)",
    )  # fmt: skip
    parser.add_argument(
        "--faces", metavar="NAME", help="face detector (default: the detector's, else dlib-hog)"
    )
    parser.add_argument(
        "--stereotypes",
        type=path,
        metavar="FILE",
        help="TOML file of stereotypes with real-world shares (default: OASIS Table 1)",
    )
    parser.add_argument(
        "--out", type=path, default=Path("reports/origins"), metavar="DIR",
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
        raise ConfigurationError(f"--out: expected a folder, {out} is a file")
    search = chosen_search(**{name: run_options.pop(name) for name in SEARCH})
    settings = run_settings(run_options)
    components = Components(settings, Store(settings.store))
    session = Session(settings, components)
    validate(session)
    check_model(components)
    registry = components.registries.languages
    language = continuing(llm, registry, components.catalogue, settings.device)
    parts = OriginParts(
        text_encoder(components, session.encoder),
        face_part(components, faces, session.detectors[0]),
        language,
        search,
        clusters,
        settings.seed,
        settings.confidence,
    )
    runner = Runner(components, session.store, batch=settings.batch)
    looking = OriginsSearch(runner, Plan(session.generation), session.encoder, parts)
    further = "" if clusters else f", and {made} more for each cluster beyond the first"
    with closing(runner), paid(runner, images + made * (clusters or 1), say, further):
        origins = looking(subject, images, expected, made)
    facts = {
        "model": settings.model or "",
        "model_fingerprint": components.model().fingerprint,
        "encoder": session.encoder,
        "language": llm,
        "seed": settings.seed,
    }
    write_whole(out / "origins.json", as_json(origins, facts).encode())
    write_whole(out / "index.html", page(origins, facts).encode())
    for line in lines(origins):
        say(line)
    print(f"report: {out / 'index.html'}")  # noqa: T201 - a command line tool
    return 0


def _prompt(concept: str, text: str | None) -> Prompt:
    """Return the prompt, on the axis nationality, where stereotypes of the concept are found."""
    word = concept.strip().removesuffix(" person")
    if not word:
        raise ConfigurationError(
            f"--concept: expected words such as 'Iranian person', got {concept!r}"
        )
    usual = builtin_axes().nationality
    if text is not None and named_in(word).search(text) is None:
        raise ConfigurationError(
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
