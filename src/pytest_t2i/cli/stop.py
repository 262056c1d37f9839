"""``t2i stop``: prompts that lead to what a model makes of a concept (StOP, OASIS 3.3)."""

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
from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, value
from pytest_t2i.cli.support.costs import COST_OPTIONS, paid, validate
from pytest_t2i.cli.support.say import say
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

KEPT = "Images that were finished are kept: the same command goes on from there."
"""What an interrupted command leaves."""
OPTIONS = ("model", "detector", "seed", "steps", "guidance", "size", "device", "dtype", "batch",
           "store", "catalogue", "confidence", "answer-deadline", "answer-limit", "concurrency",
           *COST_OPTIONS)  # fmt: skip
"""Options that pytest has, too."""
NUMBERS = {
    "images": (100, "images of the concept"),
    "made": (20, "images of each cluster's best prompt"),
    "beam": (BEAM, "prompts that are kept at each token"),
    "width": (WIDTH, "tokens that are tried after each"),
    "top": (TOP, "prompts that are shown of a cluster"),
}

SEARCH = ("tokens", "beam", "width", "top", "likely", "sentences")
"""Options of the search for prompts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add model, concept, effort and output."""
    add_run_options(parser, OPTIONS, required=("model",))
    parser.add_argument(
        "--concept", required=True, metavar="WORDS", help='such as "Iranian person"'
    )
    parser.add_argument("--prompt", metavar="TEXT", help="whole prompt, instead of the usual one")
    add_llm(parser, CONTINUING)
    for name, (default, words) in NUMBERS.items():
        parser.add_argument(
            f"--{name}", type=value(whole(1)), default=default, metavar="N",
            help=f"{words} ({default})",
        )  # fmt: skip
    parser.add_argument(
        "--sentences", action="store_true",
        help="whole sentences that the language model finds likely, instead of strings of words",
    )  # fmt: skip
    parser.add_argument(
        "--tokens", type=value(whole(1)), metavar="N",
        help="tokens that are added to the beginning (2; of --sentences up to 12)",
    )  # fmt: skip
    parser.add_argument(
        "--likely", type=value(number), metavar="P",
        help="least probability of a token that is tried (0; of --sentences 0.05)",
    )  # fmt: skip
    parser.add_argument(
        "--clusters", type=value(whole(1)), metavar="N",
        help="clusters to sort the faces into (as many as the faces show)",
    )  # fmt: skip
    parser.add_argument("--faces", metavar="NAME", help="face part (the detector's, else dlib-hog)")
    parser.add_argument(
        "--stereotypes", type=path, metavar="FILE", help="real-world shares (OASIS Table 1)"
    )
    parser.add_argument(
        "--out", type=path, default=Path("reports/origins"), metavar="DIR",
        help="folder of the page (reports/origins)",
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
    **more: Any,
) -> int:
    """Look for origins, print them and write the page."""
    asked = _prompt(concept, prompt)
    known = _stereotypes(asked, stereotypes)
    if out.exists() and not out.is_dir():
        raise ConfigurationError(f"--out: expected a folder, {out} is a file")
    search = chosen_search(**{name: more.pop(name) for name in SEARCH})
    settings = run_settings(more)
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
    further = "" if clusters else f", and {made} more of each cluster beyond the first"
    with closing(runner), paid(runner, images + made * (clusters or 1), say, further):
        origins = looking(asked, images, known, made)
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
    """The concept in the usual sentence, so that its stereotypes are known by it."""
    word = concept.strip().removesuffix(" person")
    if not word:
        raise ConfigurationError(f"--concept: expected words such as 'Iranian person': {concept!r}")
    usual = builtin_axes().nationality
    if text is not None and named_in(word).search(text) is None:
        raise ConfigurationError(
            f"--prompt {text!r} does not name {word!r}, whose real-world shares its images are "
            "held beside: name with --concept what it shows"
        )
    return Prompt(text or usual.variant(word, Variant.NEUTRAL).text, usual.name, word)


def _stereotypes(prompt: Prompt, file: Path | None) -> list[Stereotype]:
    known = read_stereotypes(file) if file else builtin_stereotypes()
    return [
        stereotype
        for stereotype in known
        if stereotype.prompt.concept.casefold() == prompt.concept.casefold()
    ]
