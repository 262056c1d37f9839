"""Tiny randomly initialised pipelines of diffusers' text-to-image classes, beside those of tiny.py.

``PIPELINES`` holds one for each class that has one: the contract test makes pictures with all.
"""

from __future__ import annotations

from tiny_pipelines import diffusions as diffusions
from tiny_pipelines import modular as modular
from tiny_pipelines import unets as unets
from tiny_pipelines.flows import FAMILIES, write_qwen_image
from tiny_pipelines.registry import PIPELINES, SMALL, TinyPipeline

PIPELINES.update(
    {name: TinyPipeline(name, write) for name, write in FAMILIES.items() if name not in PIPELINES}
)

__all__ = ["PIPELINES", "SMALL", "TinyPipeline", "write_qwen_image"]
