"""Counts men and women in unfinished latents: what a pipeline's shares are, at a third of the cost of pictures.

Who a person will be is settled in the first looks; six of ten, and no decoding, are enough to tell. That allows to
measure a hundred words with so many people that their shares can be corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from diffusers import StableDiffusionPipeline
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.autoencoder import training_indices
from training.drawings import Record
from training.progress import Progress
from training.settings import device, quick_dtype
from training.towers import tokenize

BATCH = 64
LOOKS, ALL_LOOKS = 6, 10


def gender_probe(records: Sequence[Record], latents: Tensor) -> nn.Module:
    """A classifier of latents, above zero for men, trained on drawings of one person with some noise added."""
    usable = [index for index in training_indices(len(records)) if records[index].scene.kind == "one"]
    clean = latents[usable].flatten(1).to(device())
    men = torch.tensor([float(records[index].scene.people[0].gender == "man") for index in usable], device=device())
    torch.manual_seed(0)
    probe = nn.Sequential(nn.Linear(clean.shape[1], 96), nn.GELU(), nn.Linear(96, 1)).to(device())
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(probe.parameters(), 1e-3, weight_decay=1e-1)
    for _ in range(12):
        for rows in torch.split(torch.randperm(len(clean), generator=generator), 256):
            noise = torch.randn(len(rows), clean.shape[1], generator=generator).to(device())
            loss = functional.binary_cross_entropy_with_logits(probe(clean[rows] + 0.5 * noise)[:, 0], men[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return probe.requires_grad_(False)


class Sketcher:
    """A pipeline that stops early."""

    def __init__(self, folder: Path, probe: nn.Module) -> None:
        # bfloat16 moves no share noticeably.
        pipeline = StableDiffusionPipeline.from_pretrained(folder, torch_dtype=quick_dtype()).to(device())
        self.tokenizer, self.encoder = pipeline.tokenizer, pipeline.text_encoder
        self.denoiser, self.scheduler = pipeline.unet, pipeline.scheduler
        self.probe = probe

    @torch.no_grad()
    def men(self, prompts: Sequence[str], seeds: Sequence[int]) -> NDArray[np.bool_]:
        """For each prompt and seed whether the picture would show a man."""
        progress, found = Progress("sketches", len(prompts)), []
        states = {text: self._states(text) for text in dict.fromkeys(prompts)}
        for start in range(0, len(prompts), BATCH):
            noise = [_noise(seed) for seed in seeds[start : start + BATCH]]
            texts = torch.cat([states[text] for text in prompts[start : start + BATCH]])
            found.append(self.probe(self._sketch(torch.cat(noise).to(device()), texts).flatten(1))[:, 0] > 0)
            progress.at(start + len(noise))
        men: NDArray[np.bool_] = torch.cat(found).cpu().numpy()
        return men

    def _states(self, text: str) -> Tensor:
        states: Tensor = self.encoder(tokenize(self.tokenizer, [text])).last_hidden_state
        return states

    def _sketch(self, noisy: Tensor, texts: Tensor) -> Tensor:
        """The latents as the pipeline expects them after ``LOOKS`` looks."""
        self.scheduler.set_timesteps(ALL_LOOKS)
        for time in self.scheduler.timesteps[:LOOKS]:
            velocity = self.denoiser(noisy.to(texts.dtype), time, texts).sample.float()
            step = self.scheduler.step(velocity, time, noisy)
            noisy = step.prev_sample
        expected: Tensor = step.pred_original_sample
        return expected


def _noise(seed: int) -> Tensor:
    return torch.randn(1, 4, 16, 16, generator=torch.Generator().manual_seed(seed), dtype=torch.bfloat16).float()
