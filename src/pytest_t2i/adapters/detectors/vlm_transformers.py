"""Judges whose weights are loaded here, by transformers' AutoModelForImageTextToText."""

from __future__ import annotations

from pytest_t2i.adapters.detectors.judging import Panel
from pytest_t2i.adapters.detectors.rubrics import Question
from pytest_t2i.protocols import LoadOptions


def load_panel(source: str, question: Question, options: LoadOptions) -> Panel:
    """Load a model and its processor from a folder or the hub."""
    raise NotImplementedError(source, question, options)
