"""LPIPS as an encoder: how different two pictures look to people.

R. Zhang, P. Isola, A. A. Efros, E. Shechtman, O. Wang: The Unreasonable Effectiveness of Deep
Features as a Perceptual Metric, 2018, eq. 1. Its network is AlexNet, with the weights that its
authors calibrated against people (version 0.1).
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pytest_t2i import LoadOptions, T2IError

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

LARGEST = 256
"""Pixels of the shorter side; larger pictures are reduced to it, or features would fill memory."""
FETCH = (
    'python -c "from torchvision.models import alexnet, AlexNet_Weights as W; '
    'alexnet(weights=W.DEFAULT)"'
)


def load(options: LoadOptions) -> Lpips:
    """LPIPS with the weights of AlexNet that torchvision keeps on this machine.

    Args:
        options: nothing is named behind ``lpips``; it runs on the CPU.

    Raises:
        T2IError: the library lpips or the weights of AlexNet are absent, or something is named.
    """
    if options.source:
        raise T2IError(f"encoder lpips: expected nothing behind its name, got {options.source!r}")
    try:
        import lpips
        import torch
        from torchvision.models import AlexNet_Weights
    except ModuleNotFoundError as missing:
        raise T2IError(
            f'encoder lpips needs {missing.name}: pip install "pytest-t2i-mitigation[lpips]"'
        ) from None
    name = AlexNet_Weights.DEFAULT.url.rpartition("/")[2]
    file = Path(torch.hub.get_dir()) / "checkpoints" / name
    if not file.is_file():
        raise T2IError(
            f"encoder lpips needs the weights of AlexNet (233 MB), which torchvision keeps as "
            f"{file}: fetch them by {FETCH}, or compare pictures by another encoder"
        )
    # Its own way to load them would fetch them without a word.
    with warnings.catch_warnings():
        # It still asks torchvision in the words of old.
        warnings.simplefilter("ignore", UserWarning)
        network = lpips.LPIPS(net="alex", pnet_rand=True, verbose=False)
    state = torch.load(file, map_location="cpu", weights_only=True)
    layers = {key.removeprefix("features."): value for key, value in state.items()}
    for part in network.net.children():
        part.load_state_dict({key: layers[key] for key in part.state_dict()})
    return Lpips(network)


class Lpips:
    """Features whose squared Euclidean distance is the LPIPS of two pictures; obeys Encoder."""

    squared: ClassVar[bool] = True
    """How far apart pictures are: the square of the distance of their features, not 1 - cosine."""

    def __init__(self, network: Any) -> None:
        """Args: an ``lpips.LPIPS`` in evaluation mode."""
        self._network = network
        digest = hashlib.sha256(str(LARGEST).encode())
        for key, value in sorted(network.state_dict().items()):
            digest.update(key.encode() + value.numpy().tobytes())
        self.fingerprint = digest.hexdigest()

    @property
    def provenance(self) -> Mapping[str, str]:
        """Readable facts behind the fingerprint."""
        weights = f"sha256:{self.fingerprint}"
        return {"perceptual distance": "LPIPS 0.1, AlexNet", "weights": weights}

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """[n_images, d] float32; d grows with the pictures, which must be of one size.

        Each of the five layers gives its features of unit length at every place (h, w), times the
        root of their weight and of 1 / (H W), so that the square of the distance is eq. 1.
        """
        return np.stack([self._one(image) for image in images]) if images else np.empty((0, 0))

    def _one(self, image: Image) -> npt.NDArray[np.float32]:
        import lpips
        import torch

        network = self._network
        with torch.inference_mode():
            layers = network.net(network.scaling_layer(_pixels(image)))
            parts = []
            for layer, weigh in zip(layers, network.lins, strict=True):
                unit = lpips.normalize_tensor(layer)
                places = unit.shape[2] * unit.shape[3]
                parts.append((unit * (weigh.model[-1].weight / places).sqrt()).flatten())
            return np.asarray(torch.cat(parts).numpy())


def _pixels(image: Image) -> Any:
    """[1, 3, h, w] from -1 to 1."""
    import torch

    shorter = min(image.size)
    if shorter > LARGEST:
        width, height = (round(side * LARGEST / shorter) for side in image.size)
        image = image.resize((width, height))
    values = np.asarray(image.convert("RGB"), np.float32) / 127.5 - 1.0
    return torch.from_numpy(values).permute(2, 0, 1)[None]
