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
"""The largest shorter side in pixels; larger pictures are reduced, to save memory."""
FETCH = (
    'python -c "from torchvision.models import alexnet, AlexNet_Weights as W; '
    'alexnet(weights=W.DEFAULT)"'
)


def load(options: LoadOptions) -> Lpips:
    """Return LPIPS with the weights of AlexNet that torchvision keeps on this machine.

    Args:
        options: ``source`` must be empty; the encoder runs on the CPU.

    Raises:
        T2IError: the library lpips or the weights of AlexNet are missing, or there is a source.
    """
    if options.source:
        raise T2IError(f"encoder lpips: expected no name after lpips, got {options.source!r}")
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
            f"{file}: download them with {FETCH}, or compare pictures by another encoder"
        )
    # lpips would download missing weights without a message, so they are loaded here.
    with warnings.catch_warnings():
        # lpips uses deprecated arguments of torchvision.
        warnings.simplefilter("ignore", UserWarning)
        network = lpips.LPIPS(net="alex", pnet_rand=True, verbose=False)
    state = torch.load(file, map_location="cpu", weights_only=True)
    layers = {key.removeprefix("features."): value for key, value in state.items()}
    for part in network.net.children():
        part.load_state_dict({key: layers[key] for key in part.state_dict()})
    return Lpips(network)


class Lpips:
    """An encoder whose squared Euclidean distance of features is LPIPS; obeys Encoder."""

    squared: ClassVar[bool] = True
    """Whether pictures are compared by squared distance of features, not by 1 - cosine."""

    def __init__(self, network: Any) -> None:
        """Take an ``lpips.LPIPS`` in evaluation mode."""
        self._network = network
        digest = hashlib.sha256(str(LARGEST).encode())
        for key, value in sorted(network.state_dict().items()):
            digest.update(key.encode() + value.numpy().tobytes())
        self.fingerprint = digest.hexdigest()

    @property
    def provenance(self) -> Mapping[str, str]:
        """The readable facts behind the fingerprint."""
        weights = f"sha256:{self.fingerprint}"
        return {"perceptual distance": "LPIPS 0.1, AlexNet", "weights": weights}

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """Return features, [n_images, d] float32; d depends on the size, which must be one for all.

        Features of each of the five layers are normalised at every place (h, w), and multiplied by
        the square root of their weight / (H W), so that the squared distance is eq. 1.
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
    """Return the pixels, [1, 3, h, w], from -1 to 1."""
    import torch

    shorter = min(image.size)
    if shorter > LARGEST:
        width, height = (round(side * LARGEST / shorter) for side in image.size)
        image = image.resize((width, height))
    values = np.asarray(image.convert("RGB"), np.float32) / 127.5 - 1.0
    return torch.from_numpy(values).permute(2, 0, 1)[None]
