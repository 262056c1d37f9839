"""Encode pictures with a timm network: ``resnet50.tv_in1k``, or a folder written by save_for_hf.

Wu compares pictures by the last fully connected layer of a ResNet-50, by DINO ViT-S/16, and patch
by patch by DINO ViT-B/8. The features are the network's output: class scores where it has a
classifier, else pooled features. ``NAME+patches`` gives the features of every patch instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_t2i.adapters.devices import (
    dtype_name,
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.finders.locating import Described, shared
from pytest_t2i.adapters.loading import looks_like_path, needs
from pytest_t2i.adapters.picture_files import PictureMemory, in_batches
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.files import stamps
from pytest_t2i.protocols import LoadOptions

with needs("encoders of timm", "timm"):
    import huggingface_hub  # noqa: F401 - timm asks for it only when it fetches weights
    import timm
    import torch
    from timm.data import create_transform, resolve_data_config

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "resnet50.tv_in1k"
"""torchvision's ResNet-50; Wu does not name the weights."""
PATCHES = "+patches"
BATCH = 16


def load(options: LoadOptions) -> TimmEncoder:
    """Load a timm network by its name, once per weights, device and dtype in a process.

    Args:
        options: ``source`` is a name of timm, or a folder written by ``timm.models.save_for_hf``;
            the suffix ``+patches`` selects patch features.

    Raises:
        ModelLoadError: the weights are absent or damaged.
        UnknownNameError: timm has no such network.
        ConfigurationError: no such device or dtype, or a network without patches.
    """
    source = options.source or DEFAULT
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device, torch.float32)
    files = tuple(stamps(Path(source.removesuffix(PATCHES)).expanduser()))
    key = ("timm", source, files, device, dtype)
    return shared(key, lambda: TimmEncoder(source, device, dtype))


class TimmEncoder(Described):
    """An Encoder: a timm network with its preprocessing."""

    def __init__(self, source: str, device: torch.device, dtype: torch.dtype) -> None:
        """Args: source, device and dtype, see ``load``."""
        name = source.removesuffix(PATCHES)
        self._of_patches = source != name
        self._model = _read(name).to(device, dtype).eval()
        if self._of_patches and not hasattr(self._model, "num_prefix_tokens"):
            raise ConfigurationError(
                f"{name!r}: {PATCHES!r} expects a vision transformer of timm, such as "
                "vit_base_patch8_224.dino, got a network without patches."
            )
        self._device, self._dtype = device, dtype
        config = resolve_data_config({}, model=self._model)
        self._preprocess = create_transform(**config)
        self._memory: PictureMemory[np.ndarray] = PictureMemory(512)
        facts = {
            "weights": f"sha256:{_weights_digest(self._model)}",
            "model": Path(name).name,
            "features": "patches" if self._of_patches else "output",
            "processor": repr(sorted(config.items(), key=str)),
            "dtype": dtype_name(dtype),
            "device": device.type,
            "torch": torch.__version__.partition("+")[0],
            "timm": timm.__version__,
        }
        super().__init__(facts)

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """Features, not normalised: [n_images, d] or [n_images, n_patches, d] float32."""
        rows = self._memory.of(images, lambda new: in_batches(new, BATCH, self._encode))
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)

    def _encode(self, images: Sequence[Image]) -> np.ndarray:
        pixels = torch.stack([self._preprocess(image.convert("RGB")) for image in images])
        with memory_guard("encoding pictures"), torch.no_grad():
            batch = pixels.to(self._device, self._dtype)
            if self._of_patches:
                prefix: Any = self._model.num_prefix_tokens
                features = self._model.forward_features(batch)[:, int(prefix) :]
            else:
                features = self._model(batch)
        result: np.ndarray = features.float().cpu().numpy()
        return result


def _read(name: str) -> Any:
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelLoadError(
                f"{folder}: expected a network written by timm.models.save_for_hf, and there is no "
                "config.json."
            )
        name, source = f"local-dir:{folder}", str(folder)
    elif looks_like_path(name):
        raise ModelLoadError(
            f"{folder}: expected a folder with a timm network, and there is no such folder."
        )
    else:
        source = f"timm/{name}"
        if name.partition(".")[0] not in timm.list_models():
            raise UnknownNameError("network of timm", name, timm.list_models(pretrained=True))
    with loading_weights(source):
        return timm.create_model(name, pretrained=True)


def _weights_digest(model: Any) -> str:
    hasher = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        hasher.update(name.encode())
        hasher.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return hasher.hexdigest()
