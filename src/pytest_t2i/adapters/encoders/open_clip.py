"""CLIP through open_clip: ``ViT-B-32/laion2b_s34b_b79k``, ``hf-hub:owner/name`` or a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.devices import (
    dtype_name,
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.loading import looks_like_path, needs
from pytest_t2i.errors import ModelLoadError, UnknownNameError
from pytest_t2i.files import stamps
from pytest_t2i.protocols import LoadOptions

with needs("open_clip models", "open-clip"):
    import open_clip
    import torch

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

DEFAULT = "ViT-L-14/openai"
"""The weights of Lyu Appendix A under their open_clip name."""
PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


def load(options: LoadOptions) -> OpenClipEncoder:
    """Load an open_clip model by its name, once per weights, device and dtype in a process.

    Raises:
        ModelLoadError: the weights are absent, gated or damaged.
        UnknownNameError: open_clip has no such architecture or weights.
        ConfigurationError: no such device or dtype.
    """
    source = options.source or DEFAULT
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device, torch.float32)
    files = tuple(stamps(_folder(source)))
    key = ("open-clip", source, files, device, dtype)
    return shared(key, lambda: OpenClipEncoder(source, device, dtype))


class OpenClipEncoder(ContrastiveEncoder):
    """An open_clip model with its tokenizer and preprocessing."""

    def __init__(self, source: str, device: torch.device, dtype: torch.dtype) -> None:
        name, tag = _named(source)
        with loading_weights(source):
            self.model, self._preprocess = _read(name, tag, device, dtype)
            self._tokenizer = open_clip.get_tokenizer(name)
        self.model.eval()
        self._device, self._dtype = device, dtype
        facts = {
            "weights": f"sha256:{_weights_digest(self.model)}",
            "model": name,
            "processor": repr(sorted(self.model.visual.preprocess_cfg.items(), key=str)),
            "dtype": dtype_name(dtype),
            "device": device.type,
            "torch": torch.__version__.partition("+")[0],
            "open_clip": open_clip.__version__,
        }
        super().__init__(facts)

    @property
    def logit_scale(self) -> float:
        """Factor on cosine similarities before the softmax."""
        return float(self.model.logit_scale.detach().exp())

    def _encode_images(self, images: Sequence[Image]) -> np.ndarray:
        pixels = torch.stack([self._preprocess(image) for image in images])
        with memory_guard("encoding pictures"), torch.no_grad():
            return _features(self.model.encode_image(pixels.to(self._device, self._dtype)))

    def _encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        with memory_guard("encoding texts"), torch.no_grad():
            return _features(self.model.encode_text(self._tokenizer(list(texts)).to(self._device)))


def _folder(source: str) -> Path:
    return Path(source.removeprefix("local-dir:")).expanduser()


def _named(source: str) -> tuple[str, str | None]:
    """Name and weights tag for open_clip."""
    folder = _folder(source)
    if folder.is_dir():
        if not (folder / "open_clip_config.json").is_file():
            raise ModelLoadError(
                f"{folder}: expected a folder with open_clip_config.json, and there is no such "
                "file. Give the folder of an open_clip model."
            )
        return f"local-dir:{folder}", None
    if source.startswith("local-dir:") or looks_like_path(source):
        raise ModelLoadError(
            f"{folder}: expected the folder of an open_clip model, and there is no such folder."
        )
    if source.startswith("hf-hub:"):
        return source, None
    name, _, tag = source.partition("/")
    if name not in open_clip.list_models():
        raise UnknownNameError("open_clip architecture", name, open_clip.list_models())
    tags = open_clip.list_pretrained_tags_by_model(name)
    if tag not in tags:
        raise UnknownNameError(f"weights of {name}", tag, tags, f"Write {name}/TAG.")
    return name, tag


def _read(name: str, tag: str | None, device: torch.device, dtype: torch.dtype) -> tuple[Any, Any]:
    # open_clip only warns where weights were trained with QuickGELU and the architecture has GELU;
    # the features would then be wrong.
    trained = open_clip.get_pretrained_cfg(name, tag) if tag else {}
    model, preprocess = open_clip.create_model_from_pretrained(
        name,
        pretrained=tag,
        precision=PRECISIONS[dtype_name(dtype)],
        device=device,
        force_quick_gelu=bool(trained.get("quick_gelu", False)),
    )
    return model, preprocess


def _weights_digest(model: Any) -> str:
    hasher = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        hasher.update(name.encode())
        hasher.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return hasher.hexdigest()


def _features(tensor: torch.Tensor) -> np.ndarray:
    features: np.ndarray = tensor.float().cpu().numpy()
    return features
