"""CLIP through transformers (Radford et al. 2021), the encoder behind most gender detectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_t2i.adapters.devices import (
    loading_weights,
    memory_guard,
    pick_device,
    pick_dtype,
)
from pytest_t2i.adapters.encoders.contrastive import BATCH, ContrastiveEncoder, Seen, read_domain
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.loading import folder_or_hub_id, needs
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.files import stamps
from pytest_t2i.protocols import LoadOptions

with needs("CLIP", "clip"):
    import torch
    import transformers
    from transformers import AutoTokenizer, CLIPModel

    from pytest_t2i.adapters.pretrained import (
        facts_of,
        from_pretrained,
        of_revision,
        processor_digest,
    )

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "openai/clip-vit-large-patch14"
"""Weights of Lyu Appendix A."""

# transformers 5 resizes through torchvision by default, which the papers did not use and which
# need not be installed; its Pillow backend has another name. Remove with support for version 4.
PILLOW = "CLIPImageProcessorPil"
PROCESSOR: Any = getattr(transformers, PILLOW if hasattr(transformers, PILLOW) else PILLOW[:-3])


def load(options: LoadOptions) -> ClipEncoder:
    """Load a CLIP from the hub or a local folder, once per weights, device and dtype in a process.

    The default dtype is full precision, as in Lyu Appendix A ("default settings").

    Raises:
        ModelLoadError: the weights are absent, gated, damaged, not safetensors or not a CLIP.
        ConfigurationError: no such device or dtype.
    """
    source = options.source or DEFAULT
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device, torch.float32)
    files = tuple(stamps(Path(source).expanduser()))
    key = ("clip", source, files, options.revision, device, dtype)
    return shared(key, lambda: ClipEncoder(source, options.revision, device, dtype))


class ClipEncoder(ContrastiveEncoder):
    """A transformers CLIPModel with its tokenizer and image processor."""

    def __init__(
        self, source: str, revision: str | None, device: torch.device, dtype: torch.dtype
    ) -> None:
        place = folder_or_hub_id(source)
        if Path(place).is_dir() and not (Path(place) / "config.json").is_file():
            raise ModelLoadError(
                f"{place}: expected a CLIP written by save_pretrained, and there is no config.json."
            )
        with loading_weights(source, revision):
            model = from_pretrained(CLIPModel, place, dtype, **of_revision(revision))
            tokenizer = AutoTokenizer.from_pretrained(place, **of_revision(revision))
            processor = PROCESSOR.from_pretrained(place, **of_revision(revision))
            self.model, self._tokenizer, self._processor = model, tokenizer, processor
            self.model.to(device).eval()
        self._device, self._dtype = device, dtype
        self._max_tokens = int(self.model.config.text_config.max_position_embeddings)
        facts = facts_of(self.model, source, place, dtype)
        vision = self.model.config.vision_config
        super().__init__(
            {**facts, "processor": processor_digest(self._processor.to_dict())},
            read_domain(Path(place), 2 * vision.num_hidden_layers * vision.hidden_size),
        )

    @property
    def logit_scale(self) -> float:
        """Factor on cosine similarities before the softmax."""
        return float(self.model.logit_scale.detach().exp())

    def _encode_images(self, images: Sequence[Image]) -> np.ndarray:
        with memory_guard("encoding pictures"), torch.no_grad():
            return _features(self.model.get_image_features(pixel_values=self._pixels(images)))

    def summaries(self, images: Sequence[Image]) -> np.ndarray:
        """Statistics of every layer for each picture, from which a domain is learned."""
        pictures = [image.convert("RGB") for image in images]
        parts = (pictures[start : start + BATCH] for start in range(0, len(pictures), BATCH))
        return np.concatenate([self._pass(part)[1] for part in parts])

    def _see(self, images: Sequence[Image]) -> list[Seen]:
        if self.domain is None:
            return super()._see(images)
        features, summaries = self._pass(images)
        return list(map(Seen, features, self.domain.holds(summaries).tolist()))

    def _pass(self, images: Sequence[Image]) -> tuple[np.ndarray, np.ndarray]:
        with memory_guard("encoding pictures"), torch.no_grad():
            pixels = self._pixels(images)
            outputs = self.model.vision_model(pixel_values=pixels, output_hidden_states=True)
            features = self.model.visual_projection(outputs.pooler_output)
            patches = (layer[:, 1:].float() for layer in outputs.hidden_states[1:])
            stats = [stat for layer in patches for stat in (layer.mean(1), layer.std(1))]
            return _features(features), _features(torch.cat(stats, 1))

    def _pixels(self, images: Sequence[Image]) -> torch.Tensor:
        pixels = self._processor(images=list(images), return_tensors="pt")["pixel_values"]
        batch: torch.Tensor = pixels.to(self._device, self._dtype)
        return batch

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


def _features(returned: Any) -> np.ndarray:
    # transformers 5 wraps the projected features in an output object.
    tensor = returned if isinstance(returned, torch.Tensor) else returned.pooler_output
    features: np.ndarray = tensor.float().cpu().numpy()
    return features
