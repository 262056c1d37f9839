"""ultralytics, imported so that it sends nothing, installs nothing and changes no other library.

Left alone it creates a settings file in the user's configuration folder, looks whether the network
is there, reports usage, installs packages it misses and unpickles weights without restrictions.
Whoever needs ultralytics takes it from :func:`quiet_ultralytics`.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_t2i.adapters.support.loading import needs

WHILE_IMPORTING = {
    "YOLO_OFFLINE": "true",
    "YOLO_AUTOINSTALL": "false",
    "YOLO_VERBOSE": "false",
    # Checkpoints are pickles: only the classes of ultralytics and torch are rebuilt from them.
    "ULTRALYTICS_SAFE_LOAD": "true",
}
SWITCHED_OFF = ("sync", "clearml", "comet", "dvc", "mlflow", "raytune", "tensorboard", "wandb")
"""Settings: usage reports, and every service that training would report to."""


def quiet_ultralytics() -> Any:
    """The package ultralytics; the first call imports it, and every one after it was unloaded.

    Raises:
        MissingExtraError: it is not installed.
    """
    loaded = sys.modules.get("ultralytics")
    if loaded is not None and "ultralytics.utils" in sys.modules:
        return loaded
    return _imported()


def _imported() -> Any:
    folder = tempfile.mkdtemp(prefix="t2i-ultralytics-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with (
        needs("YOLO", "yolo"),
        _unpatched(),
        _environment({**WHILE_IMPORTING, "YOLO_CONFIG_DIR": folder}),
    ):
        # Its options are read once, at import; what the user's own process set before stays.
        import ultralytics
        from ultralytics.utils import LOGGER, SETTINGS, events
    # A plain dict underneath: its own update would write the file.
    dict.update(SETTINGS, dict.fromkeys(SWITCHED_OFF, False))
    events.events.enabled = False
    LOGGER.setLevel(logging.ERROR)
    return ultralytics


@contextmanager
def _unpatched() -> Iterator[None]:
    """What ultralytics replaces in other libraries is put back: opening of pictures, printing.

    Its ``PIL.Image.open`` wants a further package for every picture that cannot be read.
    """
    import numpy as np
    import torch
    from PIL import Image

    opening, saving, printing = Image.open, torch.save, np.get_printoptions()
    try:
        yield
    finally:
        Image.open, torch.save = opening, saving
        np.set_printoptions(**printing)
        torch.set_printoptions(profile="default")


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
