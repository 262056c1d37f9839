"""Tags by RAM, as in Wu, with its authors' files in one folder.

This project has never run the published weights. It tests a tiny random network in their layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_t2i.adapters.devices import dtype_name, loading_weights
from pytest_t2i.adapters.finders.tags import LIMITS, NAMES, RAM_FILES
from pytest_t2i.adapters.identity import folder_digest
from pytest_t2i.adapters.loading import needs
from pytest_t2i.errors import ConfigurationError, FileFormatError, ModelLoadError
from pytest_t2i.read_files import read_text

with needs("tags by RAM", "timm"):
    import torch

    from pytest_t2i.adapters.finders.ram_network import Ram

if TYPE_CHECKING:
    from PIL.Image import Image

LIMIT = 0.68
"""Least probability of a tag where no file gives one."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's colours."""


class RamTags:
    """Tags whose probability by RAM exceeds their limit."""

    def __init__(self, folder: Path, device: torch.device) -> None:
        """Load the files in a folder."""
        self._device = device
        files = sorted(folder.glob("*.pth"))
        if len(files) != 1 or not (folder / NAMES).is_file():
            contents = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
            raise ConfigurationError(
                f"grounded-sam:{folder}: expected {RAM_FILES}, found {contents}."
            )
        self._network = _read(files[0]).to(device).eval()
        self._names = read_text(folder / NAMES, kind="list of tags").split("\n")
        while self._names and not self._names[-1].strip():
            self._names.pop()
        self._limits = _limits(folder, len(self._names)).to(device)
        count = len(self._network.labels)
        if count != len(self._names):
            raise FileFormatError(
                folder / NAMES,
                f"expected {count} tags, as the weights have, got {len(self._names)}.",
            )
        self._facts = {
            "tags": f"ram {LIMIT if not (folder / LIMITS).is_file() else LIMITS}",
            "tags: weights": f"sha256:{folder_digest(folder)}",
            "tags: dtype": dtype_name(torch.float32),
            "tags: device": device.type,
            "tags: torch": torch.__version__.partition("+")[0],
        }

    @property
    def facts(self) -> Mapping[str, str]:
        """Weights, tags and limits."""
        return self._facts

    def tags(self, image: Image) -> list[str]:
        """Names for one RGB picture, each once, in lower case."""
        with torch.no_grad():
            (logits,) = self._network(self._pixels(image))
        sure = torch.sigmoid(logits) > self._limits
        names = (
            " ".join(self._names[k].lower().split()) for k in sure.nonzero().flatten().tolist()
        )
        return list(dict.fromkeys(name for name in names if name))

    def _pixels(self, image: Image) -> torch.Tensor:
        side = self._network.side
        # 2 is bilinear, the default of torchvision.
        small = np.asarray(image.convert("RGB").resize((side, side), 2), np.float32) / 255
        scaled = (small - np.array(MEAN, np.float32)) / np.array(DEVIATION, np.float32)
        return torch.from_numpy(scaled).permute(2, 0, 1)[None].to(self._device)


def _read(path: Path) -> Ram:
    with loading_weights(str(path)):
        saved: Any = torch.load(path, map_location="cpu", weights_only=True)
    weights = saved.get("model", saved) if isinstance(saved, dict) else {}
    if "reweight_scale" in weights:
        raise ModelLoadError(f"{path}: expected weights of RAM, got RAM++: give those of RAM.")
    try:
        return Ram(weights)
    except (KeyError, RuntimeError) as error:
        message = str(error).splitlines()[0]
        raise ModelLoadError(
            f"{path}: expected weights of RAM, got others ({message}): give those of RAM."
        ) from None


def _limits(folder: Path, count: int) -> torch.Tensor:
    """[tags]: least probability of each tag."""
    path = folder / LIMITS
    if not path.is_file():
        return torch.full((count,), LIMIT)
    lines = read_text(path, kind="list of limits").split()
    try:
        limits = torch.tensor([float(line) for line in lines])
    except ValueError:
        raise FileFormatError(path, "expected a number from 0 to 1 in each line.") from None
    if len(limits) != count:
        raise FileFormatError(
            path, f"expected a limit for each of {count} tags, got {len(limits)}."
        )
    return limits
