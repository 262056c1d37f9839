"""Prompts: axes, templates, triplets, captions, stereotypes, references.

The word lists are TOML files in ``words``.
"""

from __future__ import annotations

import warnings
from importlib.metadata import entry_points
from typing import Any

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
    "Intersection",
    "Part",
    "Reference",
    "Stereotype",
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


def __getattr__(name: str) -> Any:
    """Forward ``ask_for_candidates`` to the command that asks, for one more release."""
    if name != "ask_for_candidates":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    commands = entry_points(group="pytest_t2i.commands", name="research.candidates")
    if not commands:
        raise ImportError(
            f"{__name__}.{name} is no longer part of pytest-t2i. Run: pip install "
            "pytest-t2i-hunt (in a clone: pip install ./plugins/pytest-t2i-hunt)"
        )
    command = next(iter(commands)).load()
    warnings.warn(
        f"{__name__}.{name} is no longer part of pytest-t2i: {command.__name__} has it",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(command, name)
