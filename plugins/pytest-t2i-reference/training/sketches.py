"""Counts men and women in unfinished latents: what a pipeline's shares are, at half of the cost of pictures.

Who a person will be is settled in the first looks; three of four, and no decoding, are enough to tell. That allows to
measure a hundred words with so many people that their shares can be corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.autoencoder import training_indices
from training.drawings import Record
from training.progress import Progress
from training.settings import STEPS, device, quick_dtype
from training.shipped import open_pipeline
from training.towers import tokenize

BATCH = 64
LOOKS = 3
"""Number of steps of a sketch, of the ``STEPS`` of a pipeline."""


def gender_probe(records: Sequence[Record], latents: Tensor) -> nn.Module:
    """A classifier of latents, above zero for men, trained on drawings of one person."""
    usable = [index for index in training_indices(len(records)) if records[index].scene.kind == "one"]
    men = torch.tensor([float(records[index].scene.people[0].gender == "man") for index in usable])
    return trained_probe(latents[usable], men)


def trained_probe(latents: Tensor, men: Tensor) -> nn.Module:
    """A classifier of latents [n, ...], above zero where ``men`` [n] is 1, trained with some noise added."""
    clean, men = latents.flatten(1).to(device()), men.to(device())
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

    def __init__(self, folder: Path, looks: int = LOOKS) -> None:
        # bfloat16 moves no share noticeably.
        pipeline = open_pipeline(folder)
        self.tokenizer, self.encoder = pipeline.tokenizer, pipeline.text_encoder.float().to(device())
        self.denoiser, self.scheduler = pipeline.unet.to(device(), quick_dtype()), pipeline.scheduler
        self.looks = looks
        for model in (self.encoder, self.denoiser):
            model.requires_grad_(False)

    @torch.no_grad()
    def men(self, probe: nn.Module, prompts: Sequence[str], seeds: Sequence[int]) -> NDArray[np.bool_]:
        """For each prompt and seed whether the picture would show a man."""
        return self.counted(probe, prompts, torch.cat([_noise(seed) for seed in seeds]))

    @torch.no_grad()
    def counted(self, probe: nn.Module, prompts: Sequence[str], noise: Tensor) -> NDArray[np.bool_]:
        """For each prompt and start [n, 4, 16, 16] whether the picture would show a man."""
        men: NDArray[np.bool_] = (probe(self.sketches(prompts, noise).flatten(1))[:, 0] > 0).cpu().numpy()
        return men

    @torch.no_grad()
    def sketches(self, prompts: Sequence[str], noise: Tensor, looks: int | None = None) -> Tensor:
        """The latents that are expected after ``looks`` looks (the sketcher's own unless given), [n, 4, 16, 16]."""
        progress, made = Progress("sketches", len(prompts)), []
        states = {text: self.states([text]) for text in dict.fromkeys(prompts)}
        for start in range(0, len(prompts), BATCH):
            texts = torch.cat([states[text] for text in prompts[start : start + BATCH]])
            made.append(self.sketch(noise[start : start + BATCH].to(device()), texts, looks))
            progress.at(start + len(made[-1]))
        return torch.cat(made)

    def states(self, texts: Sequence[str]) -> Tensor:
        """[n, TOKENS, TEXT_WIDTH] as the denoiser is given them."""
        return self.read(tokenize(self.tokenizer, texts))

    def read(self, ids: Tensor) -> Tensor:
        """The states of tokens [n, TOKENS]; gradients pass through."""
        states: Tensor = self.encoder(ids).last_hidden_state
        return states.to(quick_dtype())

    def sketch(self, noisy: Tensor, states: Tensor, looks: int | None = None) -> Tensor:
        """The latents as the pipeline expects them after ``looks`` looks; gradients pass through."""
        looks = looks or self.looks
        if not 1 <= looks <= STEPS:
            raise ValueError(f"looks must be between 1 and {STEPS}, got {looks}")
        return next(islice(self.way(noisy, states), looks - 1, None))[1]

    def way(self, noisy: Tensor, states: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """For each look the noisy latents that are looked at, and those that are expected of them."""
        self.scheduler.set_timesteps(STEPS)
        for time in self.scheduler.timesteps:
            velocity = self.denoiser(noisy.to(states.dtype), time, states).sample.float()
            kept = self.scheduler.alphas_cumprod[time]
            yield noisy, kept.sqrt() * noisy - (1 - kept).sqrt() * velocity
            noisy = self.scheduler.step(velocity, time, noisy).prev_sample


def _noise(seed: int) -> Tensor:
    return torch.randn(1, 4, 16, 16, generator=torch.Generator().manual_seed(seed), dtype=torch.bfloat16).float()
