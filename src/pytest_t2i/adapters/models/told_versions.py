"""Which version of a model a server says that it serves: what ``GET /models`` tells of it.

OpenAI's own answer has ``created`` alone. Xinference adds ``model_revision``, vLLM ``root`` (where
the weights lie), SGLang Diffusion the pipeline and its number formats; LocalAI has the name alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

TELLING = (
    "version", "model_version", "revision", "model_revision", "sha", "digest", "hash",
    "system_fingerprint", "root", "parent", "model_path", "quantization", "dtype",
    "dit_precision", "vae_precision", "pipeline_name", "pipeline_class", "updated", "modified_at",
)  # fmt: skip
"""Fields that say which weights, or how they are run."""
LONGEST = 200
"""Characters of a value that count."""
FRESH = 3600.0
"""Seconds: a model that was created so shortly ago was created by the question (vLLM, SGLang)."""


def versions_in(body: Any, model: str, *, is_local: bool) -> dict[str, str]:
    """What an answer to ``GET /models`` tells of a model; {} where it tells nothing.

    ``created`` counts for a public service alone: servers that people start themselves write there
    when they were asked, or started.

    >>> told = {"data": [{"id": "m", "revision": "a1"}, {"id": "n", "revision": "b2"}]}
    >>> versions_in(told, "m", is_local=True)
    {'revision': 'a1'}
    """
    entry = _entry(body, model)
    told = {name: _text(entry.get(name)) for name in TELLING}
    told["created"] = "" if is_local else _created(entry.get("created"))
    return {name: text for name, text in sorted(told.items()) if text and text != model}


def versions_words(versions: Mapping[str, str]) -> str:
    """``revision a1, root /weights``."""
    return ", ".join(f"{name} {text}" for name, text in versions.items())


def _entry(body: Any, model: str) -> Mapping[str, Any]:
    """What is said of this model; of the only one, whatever its name, where there is no other."""
    listed = body.get("data", [body]) if isinstance(body, Mapping) else body
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return {}
    entries = [entry for entry in listed if isinstance(entry, Mapping)]
    named = [entry for entry in entries if entry.get("id", entry.get("model_path")) == model]
    return next(iter(named or (entries if len(entries) == 1 else [])), {})


def _created(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return ""
    return "" if abs(time.time() - value) < FRESH else str(value)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())[:LONGEST]
