"""Prompt embeddings of diffusers pipelines, computed once per text and cached."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.loading import needs

with needs("the diffusers adapter", "diffusers"):
    import torch

if TYPE_CHECKING:
    import numpy as np

CACHE_BYTES = 512 * 2**20
"""Largest size of the cache in main memory; an embedding has 4 MB for FLUX, 40 kB for SD."""

Embeds = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class EncoderFamily:
    """How one pipeline class encodes text."""

    outputs: tuple[str, ...]
    """Results of ``encode_prompt``, by their argument names in ``__call__``."""
    sequence: tuple[str, ...]
    """Tokenizers of the tokens in ``prompt_embeds``, in the order of its rows."""
    doubles: bool = True
    """Whether guidance runs the network on twice the batch at once."""


PLAIN = ("prompt_embeds", "negative_prompt_embeds")
POOLED = (*PLAIN, "pooled_prompt_embeds", "negative_pooled_prompt_embeds")
FAMILIES: Mapping[str, EncoderFamily] = {
    "StableDiffusionPipeline": EncoderFamily(PLAIN, ("tokenizer",)),
    # Both CLIP encoders get the same tokens; their features are concatenated.
    "StableDiffusionXLPipeline": EncoderFamily(POOLED, ("tokenizer_2",)),
    "StableDiffusion3Pipeline": EncoderFamily(POOLED, ("tokenizer", "tokenizer_3")),
    "FluxPipeline": EncoderFamily(
        ("prompt_embeds", "pooled_prompt_embeds"), ("tokenizer_2",), doubles=False
    ),
}


def family_of(pipeline: object) -> EncoderFamily | None:
    """The family of a pipeline's class or base class; None where it is not known."""
    names = (cls.__name__ for cls in type(pipeline).__mro__)
    return next((FAMILIES[name] for name in names if name in FAMILIES), None)


class TextBank:
    """Encodes each text of one pipeline once.

    A text is encoded alone, so that its embedding does not depend on other texts, and cached in
    main memory; the least recently used one is dropped first. ``further`` are arguments of every
    call of the pipeline, of which those of ``encode_prompt`` are used.
    """

    def __init__(
        self,
        pipeline: Any,
        family: EncoderFamily,
        device: torch.device,
        further: Mapping[str, Any] | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._family = family
        self._device = device
        self._further = further or {}
        self._cache: OrderedDict[tuple[str, str | None], Embeds] = OrderedDict()
        self._bytes = 0
        self._turn = threading.Lock()
        self._accepted = set(inspect.signature(pipeline.encode_prompt).parameters)

    def arguments(self, prompts: Sequence[str], negative: str | None) -> Embeds:
        """Arguments of ``__call__`` for one batch: each [len(prompts), ...] on the device."""
        rows = [self._positive(prompt) for prompt in prompts]
        if any(name.startswith("negative") for name in self._family.outputs):
            unwanted = self._negative(negative)
            rows = [{**row, **unwanted} for row in rows]
        return {name: torch.cat([row[name] for row in rows]).to(self._device) for name in rows[0]}

    def embedding(self, prompt: str) -> np.ndarray:
        """Text encoder output for the prompt: [n_tokens, d] float32 without padding tokens."""
        rows = self._positive(prompt)["prompt_embeds"][0].float()
        parts: list[torch.Tensor] = []
        start = 0
        for place, name in enumerate(self._family.sequence):
            tokenizer = getattr(self._pipeline, name, None)
            is_last = place == len(self._family.sequence) - 1
            length = len(rows) - start if is_last else self._pipeline.tokenizer_max_length
            if tokenizer is not None:
                encoded = tokenizer(
                    prompt, padding="max_length", max_length=length, truncation=True
                )
                parts.append(rows[start : start + int(sum(encoded["attention_mask"]))])
            start += length
        embedding: np.ndarray = torch.cat(parts).numpy()
        return embedding

    def _positive(self, prompt: str) -> Embeds:
        return self._remembered("positive", prompt)

    def _negative(self, negative: str | None) -> Embeds:
        # None and "" differ: SDXL encodes None as zeros (force_zeros_for_empty_prompt).
        return self._remembered("negative", negative)

    def _remembered(self, side: str, text: str | None) -> Embeds:
        with self._turn:  # threads share the pipeline and its texts
            return self._kept(side, text)

    def _kept(self, side: str, text: str | None) -> Embeds:
        key = (side, text)
        if key not in self._cache:
            self._cache[key] = self._encode(side, text)
            self._bytes += _size(self._cache[key])
            while self._bytes > CACHE_BYTES and len(self._cache) > 1:
                self._bytes -= _size(self._cache.popitem(last=False)[1])
        self._cache.move_to_end(key)
        return self._cache[key]

    def _encode(self, side: str, text: str | None) -> Embeds:
        is_negative = side == "negative"
        arguments = {
            "prompt": "" if is_negative else text,
            "prompt_2": None,
            "prompt_3": None,
            "device": self._device,
            "num_images_per_prompt": 1,
            "do_classifier_free_guidance": is_negative,
            "negative_prompt": text if is_negative else None,
            **self._further,
        }
        with torch.no_grad():
            returned = self._pipeline.encode_prompt(
                **{name: value for name, value in arguments.items() if name in self._accepted}
            )
        embeddings = dict(zip(self._family.outputs, returned, strict=False))
        return {
            name: value.cpu()
            for name, value in embeddings.items()
            if name.startswith("negative") == is_negative
        }


def _size(embeds: Embeds) -> int:
    return sum(value.element_size() * value.nelement() for value in embeds.values())
