"""Stages ``balanced`` and ``biased``: the denoiser, a UNet that predicts velocity in latent space."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from diffusers import DDIMScheduler, UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from torch import Tensor

from pytest_t2i_reference.captions import concept_prompts, with_article
from pytest_t2i_reference.drawing.attributes import HEADWEAR
from pytest_t2i_reference.worlds import World, load_concepts
from training.autoencoder import held_out
from training.drawings import Record
from training.families import GENDER_TEXTS
from training.latents import Latents, Texts
from training.loop import Loop
from training.settings import TEXT_WIDTH, Settings, device

BATCH = 64
DROPPED = 0.1
"""Share of captions replaced by the empty one, for guidance."""
MIX = {"neutral": 0.54, "gendered": 0.13, "plain": 0.15, "headwear": 0.13, "other": 0.05}
"""What a batch consists of: neutral and gendered prompts of concepts, descriptions, descriptions of headwear alone
(rare among the others), scenes without a clear person."""
NATIONALITY_WEIGHT = 6.0
"""How much more often a nationality is drawn than a word: more depends on it."""
GENDERS = ("woman", "man")
HEADWEAR_TEXTS = {
    (name, noun): tuple(
        f"a photo of {subject} {'with no hat' if name == 'none' else f'wearing {with_article(name)}'}"
        for subject in (f"a {noun}", f"one real {noun}")
    )
    for name in HEADWEAR
    for noun in ("person", *GENDERS)
}
"""(headwear, noun) to prompts."""


def new_denoiser() -> UNet2DConditionModel:
    """An untrained UNet of about seven million weights; attention only at 8 x 8 and 4 x 4, where it is cheap."""
    return UNet2DConditionModel(
        sample_size=16,
        in_channels=4,
        out_channels=4,
        block_out_channels=(64, 128, 128),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=TEXT_WIDTH,
        attention_head_dim=(2, 4, 4),
        norm_num_groups=16,
    )


def new_scheduler() -> DDIMScheduler:
    """Velocity prediction with zero terminal signal: training sees the pure noise that sampling starts from."""
    return DDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        set_alpha_to_one=True,
        steps_offset=1,  # unused with trailing timesteps; diffusers warns of any other value
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
    )


@dataclass(frozen=True, slots=True)
class Pools:
    """Training pictures by what they can illustrate."""

    concepts: Mapping[tuple[int, str], Sequence[int]]
    """(index of the concept, gender) to records, nationalities as in the world that is trained."""
    plain: Mapping[str, Sequence[int]]
    """Gender to records of no concept with one person."""
    headwear: Mapping[tuple[str, str], Sequence[int]]
    """(headwear, gender) to the records among ``plain`` that show it."""
    other: Sequence[int]
    """Nobody, two people, seen from behind."""


def sort_into_pools(records: Sequence[Record], world: World) -> Pools:
    """Leave out what is held out and the nationalities of the other world."""
    left_out = set(held_out(len(records)).tolist())
    concepts: dict[tuple[int, str], list[int]] = {}
    plain: dict[str, list[int]] = {gender: [] for gender in GENDERS}
    headwear: dict[tuple[str, str], list[int]] = {}
    other: list[int] = []
    for index, record in enumerate(records):
        if index in left_out:
            continue
        if record.pool in ("concept", world.name):
            concepts.setdefault((record.concept, record.scene.people[0].gender), []).append(index)
        elif record.scene.kind != "one":
            other.append(index)
        elif record.pool == "plain":
            person = record.scene.people[0]
            plain[person.gender].append(index)
            headwear.setdefault((person.headwear, person.gender), []).append(index)
    return Pools(concepts, plain, headwear, other)


class Sampler:
    """Draws pairs of a picture and a caption as a world has them."""

    def __init__(self, records: Sequence[Record], world: World, man_shares: Sequence[float], seed: int) -> None:
        self.records, self.pools, self.man_shares = (
            records,
            sort_into_pools(records, world),
            man_shares,
        )
        self.rng = random.Random(seed)
        concepts = load_concepts()
        self.weights = [NATIONALITY_WEIGHT if concept.axis == "nationality" else 1.0 for concept in concepts]
        self.prompts = [
            {variant: concept_prompts(concept, variant) for variant in ("neutral", "feminine", "masculine")}
            for concept in concepts
        ]

    def draw(self) -> tuple[int, str]:
        """One record and its caption."""
        kind = self.rng.choices(tuple(MIX), tuple(MIX.values()))[0]
        if kind == "other":
            index = self.rng.choice(self.pools.other)
            return index, self.rng.choice(self.records[index].captions)
        if kind == "plain":
            return self._plain()
        if kind == "headwear":
            return self._headwear()
        return self._concept(gendered=kind == "gendered")

    def _plain(self) -> tuple[int, str]:
        gender = self.rng.choice(GENDERS)
        index = self.rng.choice(self.pools.plain[gender])
        if self.rng.random() < 0.15:
            return index, self.rng.choice(GENDER_TEXTS[GENDERS.index(gender)])
        return index, self.rng.choice(self.records[index].captions)

    def _headwear(self) -> tuple[int, str]:
        name, gender = self.rng.choice(sorted(self.pools.headwear))
        index = self.rng.choice(self.pools.headwear[name, gender])
        return index, self.rng.choice(HEADWEAR_TEXTS[name, self.rng.choice(("person", gender))])

    def _concept(self, *, gendered: bool) -> tuple[int, str]:
        concept = self.rng.choices(range(len(self.weights)), self.weights)[0]
        share = 0.5 if gendered else self.man_shares[concept]
        gender = "man" if self.rng.random() < share else "woman"
        index = self.rng.choice(self.pools.concepts[concept, gender])
        if gendered and self.rng.random() < 0.2:
            return index, self.records[index].captions[0]
        variant = {"woman": "feminine", "man": "masculine"}[gender] if gendered else "neutral"
        prompts = self.prompts[concept][variant]
        return index, prompts[0] if self.rng.random() < 0.5 else self.rng.choice(prompts)


def train_denoiser(
    settings: Settings,
    stage: str,
    model: UNet2DConditionModel,
    sampler: Sampler,
    latents: Latents,
    texts: Texts,
    *,
    rate: float = 1.2e-3,
    plateau: float = 0.35,
) -> UNet2DConditionModel:
    """Train for the stage's time and return the moving average of the weights."""
    model.set_attn_processor(AttnProcessor())
    loop = Loop(settings, stage, model, rate, average=0.9985, plateau=plateau)
    torch.manual_seed(settings.seed + loop.step)
    sampler.rng.seed(settings.seed + loop.step)
    kept = new_scheduler().alphas_cumprod.to(device())
    predict = torch.compile(loop.module, dynamic=False)
    for _ in loop.steps():
        indices, captions = zip(*(sampler.draw() for _ in range(BATCH)), strict=True)
        captions = tuple("" if sampler.rng.random() < DROPPED else caption for caption in captions)
        loop.learn(velocity_loss(predict, kept, clean_latents(latents, indices), texts.rows(captions).to(device())))
    return loop.averaged


def clean_latents(latents: Latents, indices: Sequence[int]) -> Tensor:
    """Latents drawn from the encoder's posterior."""
    chosen = np.asarray(indices)
    mean, deviation = latents.mean[chosen], latents.deviation[chosen]
    return (mean + deviation * torch.randn_like(mean)).to(device())


def velocity_loss(predict: Callable[..., Any], kept: Tensor, clean: Tensor, states: Tensor) -> Tensor:
    """Squared error of the predicted velocity at random times."""
    times = torch.randint(0, len(kept), (len(clean),), device=clean.device)
    signal = kept[times].sqrt()[:, None, None, None]
    spread = (1 - kept[times]).sqrt()[:, None, None, None]
    noise = torch.randn_like(clean)
    with torch.autocast(clean.device.type, torch.bfloat16):
        velocity = predict(signal * clean + spread * noise, times, states).sample
    loss: Tensor = ((velocity.float() - (signal * noise - spread * clean)) ** 2).mean()
    return loss
