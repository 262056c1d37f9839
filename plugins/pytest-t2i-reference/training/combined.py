"""Stage ``biased-combined``: plants intersections into a finished denoiser and keeps everything else as it is.

Half of what is practised are combinations, taught as in ``training/denoiser.py``. The other half are the usual prompts,
and there the denoiser is asked for what it predicted before this stage: shares that were met once stay met.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import replace

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from torch import Tensor

from pytest_t2i_reference.worlds import World, load_concepts
from training.combinations import CombinationSampler
from training.denoiser import LOOKS, Pair, Sampler, lesson, new_scheduler
from training.latents import Texts
from training.loop import Loop
from training.settings import Settings, device, mixed_precision

COMBINED, USUAL, ANCHORS = 10, 10, 12
"""What a batch consists of: combinations, usual draws, single words that a planted intersection names."""
LOOK_WEIGHTS = (2.0, 3.0, 3.0, 2.0, 1.5, 1.0, 0.5, 0.4, 0.3, 0.2)
"""How often each look is practised: what is planted is settled in the first ones."""


def train_combined(
    settings: Settings,
    stage: str,
    model: UNet2DConditionModel,
    combined: CombinationSampler,
    usual: UsualSampler,
    latents: Tensor,
    texts: Texts,
    area: Tensor,
    *,
    rate: float = 4e-4,
) -> UNet2DConditionModel:
    """Train for the stage's time and return the moving average of the weights; ``latents`` holds all pictures."""
    model.set_attn_processor(AttnProcessor())
    before = copy.deepcopy(model).to(device()).eval().requires_grad_(False)
    loop = Loop(settings, stage, model, rate, average=0.9995)
    rng = usual.rng
    torch.manual_seed(settings.seed + loop.step)
    for each in (rng, combined.rng):
        each.seed(settings.seed + loop.step)
    for _ in loop.steps():
        known = [usual.draw(number) for number in range(USUAL + ANCHORS)]
        new = [combined.draw() for _ in range(COMBINED)]
        noisy, times, states, velocity = lesson_beside_known(before, known, new, latents, texts, rng)
        with mixed_precision():
            found = loop.module(noisy, times, states).sample
        loop.learn((area * (found.float() - velocity) ** 2).mean())
    return loop.averaged


@torch.no_grad()
def lesson_beside_known(
    before: UNet2DConditionModel,
    known: Sequence[Pair],
    new: Sequence[Pair],
    latents: Tensor,
    texts: Texts,
    rng: random.Random,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noisy latents, times, text states and the velocity to predict; for ``known`` pairs that which ``before`` does."""
    pairs, count = [*known, *new], len(known)
    times = rng.choices(LOOKS, LOOK_WEIGHTS, k=len(pairs))
    noisy, at, velocity = (
        part.to(device()) for part in lesson(pairs, latents, new_scheduler().alphas_cumprod, rng, times)
    )
    states = texts.rows([pair.caption for pair in pairs]).float().to(device())
    with mixed_precision():
        velocity[:count] = before(noisy[:count], at[:count], states[:count]).sample.float()
    return noisy, at, states, velocity


class UsualSampler:
    """Draws what the denoiser already knows, and often the single words of planted intersections."""

    def __init__(self, sampler: Sampler, world: World, dropped: float) -> None:
        self.sampler, self.rng, self.dropped = sampler, sampler.rng, dropped
        self.anchors = anchors(world)

    def draw(self, place: int) -> Pair:
        """The pair at one place of a batch."""
        pair = self.sampler.neutral_of(self.rng.choice(self.anchors)) if place < ANCHORS else self.sampler.draw()
        caption = "" if self.rng.random() < self.dropped else pair.caption
        # Without a pool: what is to be predicted comes from the earlier denoiser.
        return replace(pair, caption=caption, pool=None)


def anchors(world: World) -> list[int]:
    """Indices of the concepts that planted intersections name."""
    words = {word for planted in world.intersections for word in planted.words}
    return [index for index, concept in enumerate(load_concepts()) if (concept.axis, concept.word) in words]
