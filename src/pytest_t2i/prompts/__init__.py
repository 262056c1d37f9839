"""Prompts: axes, templates, triplets, captions, stereotypes, references.

The word lists are TOML files in ``words``.
"""

from pytest_t2i.prompts.axes import Axes, Axis, builtin_axes, read_axes
from pytest_t2i.prompts.captions import CaptionFile, Captions, is_neutral, read_captions, triplet
from pytest_t2i.prompts.intersections import (
    Intersection,
    Part,
    combination,
    intersection,
    templates,
)
from pytest_t2i.prompts.language_model.candidates import ask_for_candidates
from pytest_t2i.prompts.references import Reference, read_reference
from pytest_t2i.prompts.stereotypes import Stereotype, builtin_stereotypes, read_stereotypes
from pytest_t2i.prompts.words_in_prompts import attention_words, lemma, nouns

__all__ = [
    "Axes",
    "Axis",
    "CaptionFile",
    "Captions",
    "Intersection",
    "Part",
    "Reference",
    "Stereotype",
    "ask_for_candidates",
    "attention_words",
    "builtin_axes",
    "builtin_stereotypes",
    "combination",
    "intersection",
    "is_neutral",
    "lemma",
    "nouns",
    "read_axes",
    "read_captions",
    "read_reference",
    "read_stereotypes",
    "templates",
    "triplet",
]
