"""Prompts: axes, templates, triplets, captions, stereotypes, references.

The word lists are TOML files in ``words``.
"""

from __future__ import annotations

from pytest_t2i.prompts.axes import Axes, Axis, builtin_axes, read_axes
from pytest_t2i.prompts.captions import (
    CaptionFile,
    Captions,
    human_words_in,
    is_neutral,
    plural,
    read_captions,
    triplet,
)
from pytest_t2i.prompts.grammar import named_in, with_article
from pytest_t2i.prompts.intersections import (
    Intersection,
    Part,
    combination,
    intersection,
    templates,
)
from pytest_t2i.prompts.languages import Grammar, Word
from pytest_t2i.prompts.references import Reference, read_reference
from pytest_t2i.prompts.stereotypes import (
    Stereotype,
    builtin_stereotypes,
    read_stereotypes,
    said_alike,
)
from pytest_t2i.prompts.words_in_prompts import attention_words, lemma, nouns

__all__ = [
    "Axes",
    "Axis",
    "CaptionFile",
    "Captions",
    "Grammar",
    "Intersection",
    "Part",
    "Reference",
    "Stereotype",
    "Word",
    "attention_words",
    "builtin_axes",
    "builtin_stereotypes",
    "combination",
    "human_words_in",
    "intersection",
    "is_neutral",
    "lemma",
    "named_in",
    "nouns",
    "plural",
    "read_axes",
    "read_captions",
    "read_reference",
    "read_stereotypes",
    "said_alike",
    "templates",
    "triplet",
    "with_article",
]
