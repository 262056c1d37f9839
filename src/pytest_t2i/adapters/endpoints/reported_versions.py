"""The version of a model that a server reports in its answer to ``GET /models``.

OpenAI's own answer has ``created`` only. Xinference adds ``model_revision``, vLLM ``root`` (the
path of the weights), SGLang Diffusion the pipeline and its number formats; LocalAI has the name
only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

TELLING = (
    "version", "model_version", "revision", "model_revision", "sha", "digest", "hash",
    "system_fingerprint", "root", "parent", "model_path", "quantization", "dtype",
    "dit_precision", "vae_precision", "pipeline_name", "pipeline_class", "updated", "modified_at",
)  # fmt: skip
"""Fields that identify the weights or how they are run."""
LONGEST = 200
"""Largest number of characters of a value."""
FRESH = 3600.0
"""Age in seconds below which ``created`` is ignored: vLLM and SGLang write the present time."""

CHECKPOINT = re.compile(r"\s*\[(\w*)\]$")
"""The hash behind the name of a checkpoint."""
DATED = re.compile(r"(?:[-@](?:preview|latest|exp|v?\d[\d.]*)|:[\w.]+)*")
"""What a service adds to a model's name: its version."""


def other_model(asked: str, used: str | None, *, has_dates: bool = True) -> str:
    """Why a picture is of another model than was asked for; "" where it is of that one.

    Folders, file types, hashes and, with ``has_dates``, dates and versions make no other model.

    >>> other_model("models/m-image-preview", "m-image"), bool(other_model("m-1", "m-1-mini"))
    ('', True)
    """
    if not asked or not used or (has_dates and re.search(r"\b(?:auto|latest)$", asked)):
        return ""
    code = CHECKPOINT.search(used)
    one, other = sorted((_bare_name(asked), _bare_name(used)), key=len)
    added = other[len(one) :] if other.startswith(one) else None
    is_dated = has_dates and added is not None and DATED.fullmatch(added)
    if added == "" or is_dated or (code and asked == code[1]):
        return ""
    return (
        f"the model {asked} was asked for, and the service made the picture with {used}: name that "
        "one if it is meant, or make the other one known to the service"
    )


def _bare_name(model: str) -> str:
    name = re.split(r"[/\\]", CHECKPOINT.sub("", model.strip()))[-1].lower()
    return re.sub(r"\.(?:safetensors|ckpt|gguf)$", "", name)


def versions_in(body: Any, model: str, *, is_local: bool) -> dict[str, str]:
    """A model's version fields in an answer to ``GET /models``; {} where there are none.

    ``created`` counts for public services only: local servers write the time of the request or of
    their start.

    >>> told = {"data": [{"id": "m", "revision": "a1"}, {"id": "n", "revision": "b2"}]}
    >>> versions_in(told, "m", is_local=True)
    {'revision': 'a1'}
    """
    entry = _entry(body, model)
    fields = {name: _text(entry.get(name)) for name in TELLING}
    fields["created"] = "" if is_local else _created(entry.get("created"))
    return {name: text for name, text in sorted(fields.items()) if text and text != model}


def versions_words(versions: Mapping[str, str]) -> str:
    """Version fields in words, such as ``revision a1, root /weights``."""
    return ", ".join(f"{name} {text}" for name, text in versions.items())


def _entry(body: Any, model: str) -> Mapping[str, Any]:
    listed = body.get("data", [body]) if isinstance(body, Mapping) else body
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return {}
    entries = [entry for entry in listed if isinstance(entry, Mapping)]
    matches = [entry for entry in entries if entry.get("id", entry.get("model_path")) == model]
    return next(iter(matches or (entries if len(entries) == 1 else [])), {})


def _created(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        return ""
    return "" if abs(time.time() - value) < FRESH else str(value)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())[:LONGEST]
