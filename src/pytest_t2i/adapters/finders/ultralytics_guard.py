"""ultralytics, kept from sending, installing, running code of files and changing other libraries.

Left alone it creates a settings file in the user's configuration folder, looks whether the network
is there, reports usage, installs packages it misses, unpickles weights without restrictions, and
sets the threads of torch and OpenCV, which others run on, too. Whoever needs ultralytics takes it
from :func:`ultralytics`, and runs it within :func:`contained`.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pickle import UnpicklingError
from typing import Any

from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.errors import ModelLoadError

WHILE_IMPORTING = {
    "YOLO_OFFLINE": "true",
    "YOLO_AUTOINSTALL": "false",
    "YOLO_VERBOSE": "false",
    "ULTRALYTICS_SAFE_LOAD": "true",
}
SWITCHED_OFF = ("sync", "clearml", "comet", "dvc", "mlflow", "raytune", "tensorboard", "wandb")
"""Settings: usage reports, and every service that training would report to."""


def ultralytics() -> Any:
    """The package ultralytics, which then sends, fetches and installs nothing by itself.

    The first call imports it, and every one after it was unloaded. Other libraries stay as they
    were, and its settings lie in a temporary folder.

    Raises:
        MissingExtraError: it is not installed.

    >>> ultralytics().__name__
    'ultralytics'
    """
    loaded = sys.modules.get("ultralytics")
    if loaded is not None and "ultralytics.utils" in sys.modules:
        return loaded
    return _imported()


@contextmanager
def contained() -> Iterator[None]:
    """Runs ultralytics: torch keeps its number of threads, and nothing is installed.

    When a model is put on the CPU it would set the number to that of the cores less one.
    """
    import torch
    from ultralytics.utils import checks, torch_utils

    before = torch.get_num_threads()
    torch_utils.NUM_THREADS = before
    # Whoever imported it first may have let it install what a file asks for.
    installing, checks.AUTOINSTALL = checks.AUTOINSTALL, False
    try:
        yield
    finally:
        checks.AUTOINSTALL = installing
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


@contextmanager
def known_classes_only() -> Iterator[None]:
    """Reads checkpoints, which are pickles: only tensors and classes of networks are rebuilt.

    Whatever imported ultralytics before, and however it is set: its own list of classes is made to
    hold for what is read here, without what others let torch rebuild, and no network is made by
    calling its class, which could fetch files on the checkpoint's word; a saved one is filled from
    its parts.

    Raises:
        ModelLoadError: this version of ultralytics or torch cannot do so.
    """
    from torch import serialization
    from ultralytics.nn import tasks

    restricted = getattr(tasks, "_SafeLoad", None)
    if not getattr(restricted, "SUPPORTED", False) or not hasattr(tasks, "SAFE_LOAD"):
        raise ModelLoadError(
            "this version of ultralytics or of torch reads .pt weights, which are pickles, without "
            "restrictions, so they could run code. Run: pip install --upgrade ultralytics torch, "
            "or give the weights as .onnx."
        )
    before, unpickle = tasks.SAFE_LOAD, tasks.torch_load

    def read(*arguments: Any, **named: Any) -> Any:
        with _no_network_made():
            return unpickle(*arguments, **{**named, "weights_only": True})

    allowed = list(serialization.get_safe_globals())
    tasks.SAFE_LOAD, tasks.torch_load = True, read
    serialization.clear_safe_globals()
    try:
        yield
    finally:
        tasks.SAFE_LOAD, tasks.torch_load = before, unpickle
        serialization.add_safe_globals(allowed)


@contextmanager
def _no_network_made() -> Iterator[None]:
    from torch import nn

    made, own_thread = nn.Module.__init__, threading.get_ident()

    def refuse(self: nn.Module, *arguments: Any, **named: Any) -> None:
        if threading.get_ident() == own_thread:
            raise UnpicklingError(f"it asks for a call of {type(self).__name__}")
        made(self, *arguments, **named)

    nn.Module.__init__ = refuse
    try:
        yield
    finally:
        nn.Module.__init__ = made


def _imported() -> Any:
    folder = tempfile.mkdtemp(prefix="t2i-ultralytics-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with needs("YOLO", "yolo"), _unpatched(), _environment():
        # Its options are read once, at import; what the user's own process set before stays.
        os.environ |= {**WHILE_IMPORTING, "YOLO_CONFIG_DIR": folder}
        import ultralytics
        from ultralytics.utils import LOGGER, SETTINGS, events
    # A plain dict underneath: its own update would write the file.
    dict.update(SETTINGS, dict.fromkeys(SWITCHED_OFF, False))
    events.events.enabled = False
    LOGGER.setLevel(logging.ERROR)
    return ultralytics


@contextmanager
def _unpatched() -> Iterator[None]:
    """What ultralytics changes in other libraries is put back: opening, printing, threads.

    Its ``PIL.Image.open`` wants a further package for every picture that cannot be read.
    """
    import cv2
    import numpy as np
    import torch
    from PIL import Image

    opening, saving, printing = Image.open, torch.save, np.get_printoptions()
    threads = cv2.getNumThreads()
    try:
        yield
    finally:
        Image.open, torch.save = opening, saving
        np.set_printoptions(**printing)
        torch.set_printoptions(profile="default")
        cv2.setNumThreads(threads)


@contextmanager
def _environment() -> Iterator[None]:
    """Environment variables are put back: it sets those of OpenMP for all that starts later."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ |= before
