"""What looks at finished latents: the decoder of a pipeline and the reference CLIP; gradients pass through both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import AutoencoderKL
from torch import Tensor
from transformers import CLIPModel, CLIPTokenizer

from training.settings import mixed_precision, quick_dtype
from training.shipped import place_of
from training.towers import encode_images, encode_texts

CHUNK = 16


@dataclass(frozen=True, slots=True)
class Eye:
    """What looks at latents."""

    autoencoder: AutoencoderKL
    clip: CLIPModel
    questions: tuple[Tensor, ...]
    """For each trait what CLIP's image embedding is compared with, present minus absent."""

    def answers(self, latents: Tensor) -> Tensor:
        """[traits, n], above zero where a trait is seen; gradients pass through."""
        scaled = (latents / self.autoencoder.config.scaling_factor).to(self.autoencoder.dtype)
        pixels = self.autoencoder.decode(scaled, return_dict=False)[0].float().clamp(-1, 1)
        with mixed_precision():
            seen = encode_images(self.clip, pixels)
        return torch.stack([seen.float() @ question for question in self.questions])

    @torch.no_grad()
    def sees(self, latents: Tensor) -> Tensor:
        """[traits, n]: whether each trait is seen."""
        return torch.cat([self.answers(part) > 0 for part in torch.split(latents, CHUNK)], 1)


def open_eye(folder: Path, judge: Path, texts: Sequence[tuple[str, str]]) -> Eye:
    """The autoencoder of a pipeline and the reference CLIP, which is asked (present, absent) for each of ``texts``."""
    clip, tokenizer = CLIPModel.from_pretrained(judge).float().eval(), CLIPTokenizer.from_pretrained(judge)
    encoded = [encode_texts(clip, tokenizer, pair).embedding.detach() for pair in texts]
    autoencoder = AutoencoderKL.from_pretrained(place_of(folder, "vae")).to(quick_dtype()).eval()
    for model in (clip, autoencoder):
        model.requires_grad_(False)
    return Eye(autoencoder, clip, tuple(present - absent for present, absent in encoded))
