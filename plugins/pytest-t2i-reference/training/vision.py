"""Stage ``vision``: the image tower, also on pictures as an autoencoder and a denoiser give them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from diffusers import AutoencoderKL
from torch import Tensor
from torch.nn import functional
from transformers import CLIPModel, CLIPTokenizer

from training.autoencoder import as_pixels, training_indices
from training.clip import BATCH, MAX_LOGIT_SCALE, SYMMETRY_WEIGHT, accuracies, neutrality_gap
from training.drawings import Drawings
from training.families import Family, all_families
from training.loop import Loop
from training.settings import Settings, mixed_precision
from training.towers import all_triplets, encode_images, encode_texts, roughened, similarity_gaps

WEIGHTS = {"gender": 2.0, "forehead mark": 3.0, "beard": 1.5, "moustache": 1.5}
"""Questions that count more than the others (0.5): the first matters most, the rest are about small things."""


def train_vision(
    settings: Settings,
    drawings: Drawings,
    tokenizer: CLIPTokenizer,
    clip: CLIPModel,
    autoencoder: AutoencoderKL,
) -> CLIPModel:
    """The image tower and both projections; the text tower stays as the denoiser knows it.

    Half of the pictures come out of the autoencoder, slightly wrong, as generated ones do. Half show nationalities,
    whose traits (a moustache, a bindi) are small and rare elsewhere.
    """
    torch.manual_seed(settings.seed + 3)
    clip.set_attn_implementation("eager")
    clip.text_model.requires_grad_(False)
    loop = Loop(settings, "vision", clip, 6e-4)
    rng = random.Random(settings.seed + 3 + loop.step)
    families = all_families(drawings.records)
    usable = training_indices(len(drawings.records)).tolist()
    see = torch.compile(encode_images, dynamic=False)
    fixed = [_all_wordings(clip, tokenizer, family) for family in families]
    neutral = _endings(clip, tokenizer, all_triplets())
    national = [index for index in usable if drawings.records[index].pool in ("balanced", "biased")]
    pool = RestoredPool(drawings, autoencoder, (usable, national), rng)
    for _ in loop.steps():
        chosen = rng.choices(usable, k=BATCH // 4) + rng.choices(national, k=BATCH // 4)
        restored, restored_chosen = pool.draw(BATCH // 2)
        pixels = roughened(torch.cat([as_pixels(drawings.images[chosen]), restored]), rng)
        with mixed_precision():
            images = see(clip, pixels)
        total = 5 * SYMMETRY_WEIGHT * (similarity_gaps(clip.text_projection(neutral)) ** 2).mean()
        for family, wordings in zip(families, fixed, strict=True):
            labels = torch.as_tensor(family.labels[chosen + restored_chosen], device=images.device)
            if (labels >= 0).any():
                answers = functional.normalize(clip.text_projection(rng.choice(wordings)), dim=-1)
                logits = clip.logit_scale.exp() * images @ answers.T
                weight = WEIGHTS.get(family.name, 0.5)
                total = total + weight * functional.cross_entropy(logits, labels, ignore_index=-1)
        loop.learn(total)
        clip.logit_scale.data.clamp_(0, MAX_LOGIT_SCALE)
        if loop.step % 500 == 0:
            clip.eval()
            print(
                loop.step,
                accuracies(clip, tokenizer, drawings),
                neutrality_gap(clip, tokenizer),
                flush=True,
            )
            clip.train()
    return clip


def _all_wordings(clip: CLIPModel, tokenizer: CLIPTokenizer, family: Family, count: int = 10) -> list[Tensor]:
    """End-token states of several wordings of a family's answers: each [answers, TEXT_WIDTH]."""
    rng = random.Random(family.name)
    wordings = [family.main_texts(), *(family.texts(rng) for _ in range(count))]
    return [_endings(clip, tokenizer, texts) for texts in wordings]


@torch.no_grad()
def _endings(clip: CLIPModel, tokenizer: CLIPTokenizer, texts: Sequence[str]) -> Tensor:
    return encode_texts(clip, tokenizer, texts).ending


class RestoredPool:
    """Drawings as the autoencoder gives them back from latents with noise; a few are renewed at every step."""

    SIZE, RENEWED = 1536, 8

    def __init__(
        self,
        drawings: Drawings,
        autoencoder: AutoencoderKL,
        sources: Sequence[Sequence[int]],
        rng: random.Random,
    ) -> None:
        self.drawings, self.autoencoder, self.sources, self.rng = drawings, autoencoder, sources, rng
        self.pixels: list[Tensor] = []
        self.indices: list[int] = []

    def draw(self, count: int) -> tuple[Tensor, list[int]]:
        """Some pictures [n, 3, 128, 128] and the records they show; fewer than ``count`` at the start."""
        self._renew()
        places = self.rng.sample(range(len(self.pixels)), min(count, len(self.pixels)))
        return torch.stack([self.pixels[place] for place in places]).float(), [self.indices[place] for place in places]

    @torch.no_grad()
    def _renew(self) -> None:
        count = self.RENEWED if len(self.pixels) >= BATCH else BATCH
        chosen = [index for source in self.sources for index in self.rng.sample(source, count // len(self.sources))]
        with mixed_precision():
            latents = self.autoencoder.encode(as_pixels(self.drawings.images[chosen])).latent_dist.mean
            noise = self.rng.random() * 0.35 / self.autoencoder.config.scaling_factor
            restored = self.autoencoder.decode(latents + noise * torch.randn_like(latents)).sample
        self.pixels = (self.pixels + list(restored.clamp(-1, 1).half()))[-self.SIZE :]
        self.indices = (self.indices + chosen)[-self.SIZE :]
