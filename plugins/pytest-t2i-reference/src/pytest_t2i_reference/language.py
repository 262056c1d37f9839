"""``reference-lm``: the language model of the drawn world, for the entry point of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_t2i import LoadOptions, T2IError, load_language

FOLDER = Path(__file__).parent / "weights" / "lm"


def load(options: LoadOptions) -> Any:
    """The shipped weights through the adapter that is registered as ``transformers``; obeys Language and NextTokens.

    Raises T2IError where a source is named, as there are no others, and where no such adapter is registered.
    """
    if options.source:
        raise T2IError(f"reference-lm has weights of its own: write reference-lm without {options.source!r}")
    return load_language(f"transformers:{FOLDER}", options)
