"""The list of tiny pipelines, which their modules fill."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import torch

from pytest_t2i.data import GenerationSettings

SMALL = GenerationSettings(steps=2, width=32, height=32)


@dataclass(frozen=True, slots=True)
class TinyPipeline:
    """One pipeline class with tiny weights."""

    name: str
    """Name of the class in diffusers."""
    write: Callable[[Path, int], Path]
    """Function (folder, seed) -> folder."""
    settings: GenerationSettings = SMALL
    call: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of ``__call__`` that tiny weights need."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes to set on the pipeline, where the class makes large pictures alone."""


PIPELINES: dict[str, TinyPipeline] = {}


def tiny_pipeline(
    name: str,
    settings: GenerationSettings = SMALL,
    attributes: Mapping[str, Any] | None = None,
    finish: Callable[[Path], None] | None = None,
    **call: Any,
) -> Callable[[Callable[[], Any]], Callable[..., Path]]:
    """Register the function, which returns a pipeline, as one that writes it to a folder.

    ``finish`` changes the folder to what the hub has, where save_pretrained writes another one.
    """

    def register(build: Callable[[], Any]) -> Callable[..., Path]:
        @wraps(build)
        def write(folder: Path, seed: int = 0) -> Path:
            torch.manual_seed(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # classes of diffusers warn of their own parts
                build().save_pretrained(str(folder))
            if finish is not None:
                finish(folder)
            return folder

        PIPELINES[name] = TinyPipeline(name, write, settings, call, attributes or {})
        return write

    return register


def module_of(library: str, *parts: str) -> Callable[[Path], None]:
    """A function that names the module of parts as the hub does, from which they have moved."""

    def finish(folder: Path) -> None:
        index = folder / "model_index.json"
        described = json.loads(index.read_text())
        for part in parts:
            described[part][0] = library
        index.write_text(json.dumps(described))

    return finish
