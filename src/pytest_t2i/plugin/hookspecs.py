"""Hooks for a project's conftest.py; installed packages use entry points of the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_t2i.adapters.registry import Factory


@pytest.hookspec
def pytest_t2i_models() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Models by name, for --t2i-model; a factory takes LoadOptions, returns a TextToImage."""


@pytest.hookspec
def pytest_t2i_audits() -> Mapping[str, Callable[[], Any]]:  # type: ignore[empty-body]
    """Audits by name; each factory, such as the class, gives a pytest_t2i.Audit.

    The conftest.py must be one that pytest loads before it collects tests, because the audits
    bring fixtures.
    """


@pytest.hookspec
def pytest_t2i_detectors() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Detectors by name, for --t2i-detector; a factory takes LoadOptions, returns a Detector."""


@pytest.hookspec
def pytest_t2i_faces() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Face detectors by name; a factory takes LoadOptions, returns a FaceDetector."""


@pytest.hookspec
def pytest_t2i_persons() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Person detectors by name; a factory takes LoadOptions, returns a PersonDetector."""


@pytest.hookspec
def pytest_t2i_objects() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Object detectors by name; a factory takes LoadOptions, returns an ObjectFinder."""


@pytest.hookspec
def pytest_t2i_executors() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Executors by name, for --t2i-executor; a factory takes ExecutorOptions."""


@pytest.hookspec
def pytest_t2i_mitigations() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Mitigations by name, for --t2i-mitigation; a factory takes keys, returns a Mitigation."""


@pytest.hookspec
def pytest_t2i_caveats() -> Mapping[str, Callable[[], object]]:  # type: ignore[empty-body]
    """Caveats by name; each factory, such as the class, gives an object with a seam's method."""


@pytest.hookspec
def pytest_t2i_encoders() -> Mapping[str, Factory]:  # type: ignore[empty-body]
    """Encoders by name; a factory takes LoadOptions, returns an Encoder."""
