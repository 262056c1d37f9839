"""Stages ``ground-...``: a word is looked at where its object is, and nothing that is drawn changes.

What a denoiser learned needs no attention that anybody could read: the end of the text knows all of it. So a finished
denoiser is taught where to look, as Wang et al. 2023 (TokenCompose) do while they train: the attention to a noun, over
heads, blocks and sizes as the trace of the core has it, should lie where the finder of objects sees what it names. At
the same time everything is asked to stay as it is: at each look on the way to the denoiser's own pictures it has to
predict what it predicted before. Only cross-attention is trained.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention_processor import Attention, AttnProcessor
from torch import Tensor
from torch.nn import functional

from training.grounding_pictures import SIDE, Pictures
from training.loop import Loop
from training.settings import STEPS, Settings, device, mixed_precision
from training.sketches import Sketcher

BATCH = 32
GROUND_WEIGHT = 0.02
"""How much the place of attention counts beside what is predicted."""
TRAINED = "attn2"
LEAST = 1e-8


def train_grounding(
    settings: Settings,
    stage: str,
    model: UNet2DConditionModel,
    sketcher: Sketcher,
    pictures: Pictures,
    rate: float = 1e-3,
) -> UNet2DConditionModel:
    """Train for the stage's time and return the moving average of the weights.

    ``sketcher`` has the denoiser of before.
    """
    model.set_attn_processor(AttnProcessor())
    for name, weight in model.named_parameters():
        weight.requires_grad_(TRAINED in name)
    loop, rng = Loop(settings, stage, model, rate, average=0.995), random.Random(settings.seed)
    rng.seed(settings.seed + loop.step)
    states = {text: sketcher.states([text])[0] for text in dict.fromkeys(pictures.prompts)}
    sketcher.scheduler.set_timesteps(STEPS)
    times = sketcher.scheduler.timesteps
    nouns: list[list[int]] = [[] for _ in pictures.prompts]
    for number, row in enumerate(pictures.rows.tolist()):
        nouns[row].append(number)
    for _ in loop.steps():
        rows = rng.sample(range(len(pictures.prompts)), BATCH)
        looks = torch.tensor([rng.randrange(STEPS) for _ in rows])
        noisy, at = pictures.noisy[rows, looks].float().to(device()), times[looks].to(device())
        text = torch.stack([states[pictures.prompts[row]] for row in rows])
        with torch.no_grad():
            before = sketcher.denoiser(noisy.to(sketcher.denoiser.dtype), at, text).sample.float()
        with mixed_precision(), watched(loop.module) as sums:
            now = loop.module(noisy, at, text.float()).sample.float()
        kept = functional.mse_loss(now, before)
        own = [(place, noun) for place, row in enumerate(rows) for noun in nouns[row]]
        ground = astray(sums, own, pictures)
        loop.learn(kept + GROUND_WEIGHT * ground)
    return loop.averaged


Sums = dict[int, Tensor]
"""Places of a map to attention, summed over heads and blocks: [pictures, tokens, places]."""


class Watching(AttnProcessor):  # type: ignore[misc]
    """Does what diffusers' own processor does, and adds the attention to texts to ``sums``."""

    def __init__(self, sums: Sums) -> None:
        super().__init__()
        self.sums = sums

    def __call__(
        self,
        attn: Attention,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        *rest: Any,
        **named: Any,
    ) -> Tensor:
        """What the block gives."""
        if encoder_hidden_states is not None:
            query, key = (
                given.float().unflatten(-1, (attn.heads, -1)).transpose(1, 2)
                for given in (attn.to_q(hidden_states), attn.to_k(encoder_hidden_states))
            )
            looked = (query @ key.transpose(2, 3) * attn.scale).softmax(-1).sum(1).transpose(1, 2)
            self.sums[looked.shape[2]] = self.sums.get(looked.shape[2], 0) + looked
        given: Tensor = super().__call__(attn, hidden_states, encoder_hidden_states, *rest, **named)
        return given


@contextmanager
def watched(model: UNet2DConditionModel) -> Iterator[Sums]:
    """While it lasts, attention to texts is summed."""
    sums: Sums = {}
    model.set_attn_processor(Watching(sums))
    try:
        yield sums
    finally:
        model.set_attn_processor(AttnProcessor())


def astray(sums: Sums, own: list[tuple[int, int]], pictures: Pictures) -> Tensor:
    """How far attention to nouns is from where they lie: the mean Kullback-Leibler divergence.

    ``own`` has for each noun its picture's place in the batch and its number among the nouns of ``pictures``.
    """
    places, numbers = (list(part) for part in zip(*own, strict=True))
    maps = laid_out(sums)[places]
    tokens, regions = pictures.tokens[numbers].to(maps), pictures.regions[numbers].to(maps)
    looked = torch.einsum("nt,nthw->nhw", tokens, maps).clamp_min(LEAST)
    shares = looked / looked.sum((1, 2), keepdim=True)
    apart = regions * (regions.clamp_min(LEAST).log() - shares.log())
    return apart.sum((1, 2)).mean()


def laid_out(sums: Sums) -> Tensor:
    """[pictures, tokens, SIDE, SIDE]: the sum over maps of every size, as the trace lays them out."""
    total = torch.zeros(())
    for places, maps in sums.items():
        side = round(places**0.5)
        laid = maps.reshape(*maps.shape[:2], side, side).float()
        total = total + (laid if places == SIDE**2 else functional.interpolate(laid, (SIDE, SIDE), mode="bilinear"))
    return total
