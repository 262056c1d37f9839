"""CLIP through transformers (Radford et al. 2021), the encoder behind most gender detectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.support.devices import (
    dtype_name,
    is_out_of_memory,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.support.digests import folder_digest
from pytest_t2i.adapters.support.loading import load_failure, looks_like_path, needs
from pytest_t2i.data import digest
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import LoadOptions

with needs("CLIP", "clip"):
    import torch
    import transformers
    from transformers import AutoTokenizer, CLIPModel

    from pytest_t2i.adapters.support.pretrained import from_pretrained, of_revision

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

DEFAULT = "openai/clip-vit-large-patch14"
"""Weights of Lyu Appendix A."""

# transformers 5 resizes through torchvision by default, which the papers did not have and which
# need not be installed; its Pillow backend has a name of its own. Goes with support for version 4.
PILLOW = "CLIPImageProcessorPil"
PROCESSOR: Any = getattr(transformers, PILLOW if hasattr(transformers, PILLOW) else PILLOW[:-3])

_loaded: dict[tuple[str, str | None, str, str], ClipEncoder] = {}
_lock = Lock()


def load(options: LoadOptions) -> ClipEncoder:
    """A CLIP from the hub or a local folder; one per weights, device and dtype in a process.

    Full precision unless a dtype is asked for, as in Lyu Appendix A ("default settings").

    Raises:
        ModelLoadError: the weights are absent, gated, damaged, not safetensors or not a CLIP.
        ConfigurationError: no such device or dtype.
    """
    source = options.source or DEFAULT
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device, torch.float32)
    key = (source, options.revision, str(device), dtype_name(dtype))
    with _lock:
        if key not in _loaded:
            _loaded[key] = ClipEncoder(source, options.revision, device, dtype)
        return _loaded[key]


class ClipEncoder(ContrastiveEncoder):
    """A transformers CLIPModel with its tokenizer and image processor."""

    def __init__(
        self, source: str, revision: str | None, device: torch.device, dtype: torch.dtype
    ) -> None:
        _check(source)
        place = str(Path(source).expanduser()) if Path(source).expanduser().is_dir() else source
        with memory_guard(f"loading {source!r}"):
            try:
                self.model, self._tokenizer, self._processor = _parts(place, revision, dtype)
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                raise load_failure(error, source, revision) from error
            self.model.to(device).eval()
        self._device, self._dtype = device, dtype
        self._max_tokens = int(self.model.config.text_config.max_position_embeddings)
        super().__init__(self._described(source, place))

    @property
    def logit_scale(self) -> float:
        """Factor on cosine similarities before a softmax makes them probabilities."""
        return float(self.model.logit_scale.detach().exp())

    def _described(self, source: str, place: str) -> dict[str, str]:
        commit = getattr(self.model.config, "_commit_hash", None)
        is_local = Path(place).is_dir()
        weights = f"sha256:{folder_digest(Path(place))}" if is_local else f"{source}@{commit}"
        return {
            "weights": weights,
            "model": type(self.model).__name__,
            "processor": digest(repr(sorted(self._processor.to_dict().items(), key=str))),
            "dtype": dtype_name(self._dtype),
            "device": self._device.type,
            "torch": torch.__version__.partition("+")[0],
            "transformers": transformers.__version__,
        }

    def _encode_images(self, images: Sequence[Image]) -> np.ndarray:
        pixels = self._processor(images=list(images), return_tensors="pt")["pixel_values"]
        with memory_guard("encoding pictures"), torch.no_grad():
            given = pixels.to(self._device, self._dtype)
            return _features(self.model.get_image_features(pixel_values=given))

    def _encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        tokens = self._tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self._max_tokens,
            return_tensors="pt",
        ).to(self._device)
        with memory_guard("encoding texts"), torch.no_grad():
            return _features(
                self.model.get_text_features(
                    input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
                )
            )


def _check(source: str) -> None:
    folder = Path(source).expanduser()
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise ModelLoadError(
            f"{folder} has no config.json, so it is not a CLIP written by save_pretrained."
        )
    if not folder.is_dir() and (looks_like_path(source) or folder.exists()):
        raise ModelLoadError(
            f"{folder} is no folder. Give a folder written by save_pretrained, or a hub id "
            "such as 'owner/name'."
        )


def _parts(place: str, revision: str | None, dtype: torch.dtype) -> tuple[Any, Any, Any]:
    model = from_pretrained(CLIPModel, place, dtype, **of_revision(revision))
    tokenizer = AutoTokenizer.from_pretrained(place, **of_revision(revision))
    processor = PROCESSOR.from_pretrained(place, **of_revision(revision))
    return model, tokenizer, processor


def _features(returned: Any) -> np.ndarray:
    # transformers 5 wraps the projected features in an output object.
    tensor = returned if isinstance(returned, torch.Tensor) else returned.pooler_output
    features: np.ndarray = tensor.float().cpu().numpy()
    return features
