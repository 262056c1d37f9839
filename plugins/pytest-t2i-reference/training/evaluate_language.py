"""Stage ``evaluate-language``: candidates of ``reference-lm`` for concepts that it knows, and for some it never met."""

from __future__ import annotations

import json
import os

from pytest_t2i import LoadOptions, T2IError
from pytest_t2i_origins.questions.candidates import ask_for_candidates

from pytest_t2i_reference.captions import template_prompt, with_article
from pytest_t2i_reference.language import load
from pytest_t2i_reference.worlds import load_concepts
from training.language_answers import attributes_of
from training.progress import Progress
from training.settings import RESULTS, Settings

RESULT = RESULTS / "language.json"
FEWEST = 15
"""Attributes that are asked for, as ``t2i research candidates`` does."""
EVERY = int(os.environ.get("REFERENCE_LANGUAGE_EVERY", "1"))
"""One of so many concepts is asked about; the last are nationalities."""
STRANGERS = (
    "Japanese", "Italian", "Portuguese", "Canadian", "Nigerian", "Peruvian", "Korean", "Bosnian", "Malian", "Laotian",
    "astronaut", "barber", "lifeguard", "plasterer", "sculptor", "witty", "elegant", "jumping", "knitting", "wrestler",
)  # fmt: skip
"""Words that it practised nothing with."""


def evaluate_language(settings: Settings) -> None:
    """Write results/language.json: how many concepts get a whole and the right answer, how many strangers none."""
    model, concepts = load(LoadOptions(device="cpu")), load_concepts()[::-EVERY]
    progress = Progress("language", len(concepts))
    whole, right = 0, 0
    for number, concept in enumerate(concepts, 1):
        told = _names(model, template_prompt(concept))
        whole += told is not None
        right += told == set(attributes_of(concept))
        progress.at(number, whole=whole, right=right)
    strange = [_names(model, f"a photo of {with_article(word)} person") for word in STRANGERS]
    found = {
        "concepts": len(concepts),
        "whole answers": whole,
        "the attributes of the worlds, no more and no fewer": right,
        "strangers": len(STRANGERS),
        "strangers refused": strange.count(None),
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"language: {found}", flush=True)


def _names(model: object, prompt: str) -> set[str] | None:
    """Names of the attributes for a prompt at the first try; None where the answer is no whole one."""
    try:
        return {one.name for one in ask_for_candidates(model, prompt, fewest=FEWEST, tries=1)}
    except T2IError:
        return None
