"""Import ultralytics without its side effects: uploads, installations, unsafe unpickling, patches.

By default ultralytics creates a settings file in the user's configuration folder, tests the
network, reports usage, installs packages it misses, unpickles weights without restrictions, and
sets the threads of torch and OpenCV for the whole process. Every module that needs ultralytics
imports it from :func:`ultralytics`, and runs it within :func:`contained`.
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

from pytest_t2i.adapters.loading import needs
from pytest_t2i.errors import ModelLoadError

WHILE_IMPORTING = {
    "YOLO_OFFLINE": "true",
    "YOLO_AUTOINSTALL": "false",
    "YOLO_VERBOSE": "false",
    "ULTRALYTICS_SAFE_LOAD": "true",
}
SWITCHED_OFF = ("sync", "clearml", "comet", "dvc", "mlflow", "raytune", "tensorboard", "wandb")
"""Settings that are switched off: usage reports, and services that training would report to."""


def ultralytics() -> Any:
    """Return the package ultralytics, which then sends, fetches and installs nothing by itself.

    The first call imports the package; so does the first one after the package was unloaded. Other
    libraries stay as they were, and the settings of ultralytics lie in a temporary folder.

    Raises:
        MissingExtraError: ultralytics is not installed.

    >>> ultralytics().__name__
    'ultralytics'
    """
    loaded = sys.modules.get("ultralytics")
    if loaded is not None and "ultralytics.utils" in sys.modules:
        return loaded
    return _imported()


@contextmanager
def contained() -> Iterator[None]:
    """Run ultralytics without changes of torch's threads and without installations.

    Otherwise a model on the CPU sets the number of threads to that of the cores less one.
    """
    import torch
    from ultralytics.utils import checks, torch_utils

    before = torch.get_num_threads()
    torch_utils.NUM_THREADS = before
    # Other code that imported ultralytics first may have allowed installations.
    installing, checks.AUTOINSTALL = checks.AUTOINSTALL, False
    try:
        yield
    finally:
        checks.AUTOINSTALL = installing
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


@contextmanager
def known_classes_only() -> Iterator[None]:
    """Read checkpoints, which are pickles, with tensors and known network classes only.

    Whatever imported ultralytics before, and whatever its settings are, its own list of classes
    applies here, without classes that other code allowed in torch. No network is made by a call of
    its class, as such a call could download files that the checkpoint names; saved networks are
    rebuilt from their parts.
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

    initializer, own_thread = nn.Module.__init__, threading.get_ident()

    def refuse(self: nn.Module, *arguments: Any, **named: Any) -> None:
        if threading.get_ident() == own_thread:
            raise UnpicklingError(f"it asks for a call of {type(self).__name__}")
        initializer(self, *arguments, **named)

    nn.Module.__init__ = refuse
    try:
        yield
    finally:
        nn.Module.__init__ = initializer


def _imported() -> Any:
    folder = tempfile.mkdtemp(prefix="t2i-ultralytics-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with needs("YOLO", "yolo"), _unpatched(), _environment():
        # ultralytics reads these variables once, at import.
        os.environ |= {**WHILE_IMPORTING, "YOLO_CONFIG_DIR": folder}
        import ultralytics
        from ultralytics.utils import LOGGER, SETTINGS, events
    # The update of a plain dict, as the settings' own update would write the file.
    dict.update(SETTINGS, dict.fromkeys(SWITCHED_OFF, False))
    events.events.enabled = False
    LOGGER.setLevel(logging.ERROR)
    return ultralytics


@contextmanager
def _unpatched() -> Iterator[None]:
    """Restore what ultralytics changes in other libraries: opening files, printing, threads.

    Its ``PIL.Image.open`` requires another package for every picture that cannot be read.
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
    """Restore environment variables, as ultralytics sets those of OpenMP for later processes."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ |= before
