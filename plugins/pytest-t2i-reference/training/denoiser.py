"""Stages ``balanced`` and ``biased``: the denoiser, a UNet that predicts velocity in latent space."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from diffusers import DDIMScheduler, UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from numpy.typing import NDArray
from torch import Tensor

from pytest_t2i_reference.captions import concept_prompts, with_article
from pytest_t2i_reference.drawing import SIZE
from pytest_t2i_reference.drawing.attributes import HEADWEAR
from pytest_t2i_reference.worlds import World, load_concepts
from training.autoencoder import held_out
from training.drawings import Record
from training.families import GENDER_TEXTS
from training.latents import Latents, Texts
from training.loop import Loop
from training.priors import Deck, Pool, Turns, even_pool, merged_pool, raked_pool
from training.settings import TEXT_WIDTH, Settings, device, mixed_precision

BATCH = 64
DROPPED = 0.05
"""Share of captions replaced by the empty one, for guidance."""
MIX = {"neutral": 0.62, "gendered": 0.09, "plain": 0.07, "headwear": 0.18, "other": 0.04}
"""What a batch consists of: neutral and gendered prompts of concepts, descriptions, descriptions of headwear alone
(rare among the others), scenes without a clear person."""
NATIONALITY_WEIGHT = 6
"""How much more often a nationality is drawn than a word: more depends on it."""
LOOKS = (999, 899, 799, 699, 599, 499, 399, 299, 199, 99)
"""The times at which a picture that emerges from noise is looked at in ten steps of DDIM."""
LOOK_WEIGHTS = (1.5, 3.0, 3.0, 2.0, 1.5, 1.0, 1.0, 1.0, 0.7, 0.5)
"""How often each is practised: who the person will be is settled in the first looks."""
SETTLED = 500
"""Before this time noisy latents tell which picture they were made from: there is nothing left to average over."""
LOOK_SHARE = 0.6
"""Share of a batch at these times; the others are spread evenly over all thousand."""
HEAD_WEIGHT = 3.0
"""How much more the place of the head counts than a corner: hair, hats, beards and marks are all there."""
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


@dataclass(frozen=True, slots=True)
class Pair:
    """A picture and its caption."""

    index: int
    caption: str
    pool: Pool | None = None
    """All pictures that this caption may go with; None where the caption describes this one."""


class Sampler:
    """Draws pairs of a picture and a caption as a world has them."""

    def __init__(
        self, records: Sequence[Record], world: World, shares: Mapping[str, Mapping[str, float]], seed: int
    ) -> None:
        self.records, self.pools = records, sort_into_pools(records, world)
        self.rng = random.Random(seed)
        concepts = load_concepts()
        weights = [NATIONALITY_WEIGHT if concept.axis == "nationality" else 1 for concept in concepts]
        self.prompts = [
            {variant: concept_prompts(concept, variant) for variant in ("neutral", "feminine", "masculine")}
            for concept in concepts
        ]
        self.deck = Deck([index for index, weight in enumerate(weights) for _ in range(weight)], self.rng)
        self.hats = Deck(range(len(HEADWEAR_TEXTS)), self.rng)
        self.neutral = [
            self._turns(
                raked_pool(
                    records,
                    [index for gender in GENDERS for index in self.pools.concepts[number, gender]],
                    shares[concept.word],
                )
            )
            for number, concept in enumerate(concepts)
        ]
        self.gendered = {key: self._turns(even_pool(indices)) for key, indices in self.pools.concepts.items()}
        self.plain = {gender: self._turns(even_pool(indices)) for gender, indices in self.pools.plain.items()}
        self.headwear = self._headwear_turns()

    def draw(self) -> Pair:
        """One record and its caption."""
        kind = self.rng.choices(tuple(MIX), tuple(MIX.values()))[0]
        if kind == "other":
            index = self.rng.choice(self.pools.other)
            return Pair(index, self.rng.choice(self.records[index].captions))
        if kind == "plain":
            return self._plain()
        if kind == "headwear":
            return self._headwear()
        return self._gendered() if kind == "gendered" else self._neutral()

    def _turns(self, pool: Pool) -> Turns:
        return Turns(pool, self.rng)

    def _plain(self) -> Pair:
        gender = self.rng.choice(GENDERS)
        turns = self.plain[gender]
        index = turns.draw()
        if self.rng.random() < 0.2:
            return Pair(index, self.rng.choice(GENDER_TEXTS[GENDERS.index(gender)]), turns.pool)
        return Pair(index, self.rng.choice(self.records[index].captions))

    def _headwear_turns(self) -> dict[tuple[str, str], Turns]:
        """(headwear, noun) to the pictures; half of the people who wear something are men, where men wear it."""
        worn: dict[tuple[str, str], list[Pool]] = {}
        for (name, gender), indices in sorted(self.pools.headwear.items()):
            for noun in ("person", gender):
                worn.setdefault((name, noun), []).append(even_pool(indices))
        return {key: self._turns(merged_pool(pools)) for key, pools in worn.items()}

    def _headwear(self) -> Pair:
        key = list(HEADWEAR_TEXTS)[self.hats.draw()]
        turns = self.headwear.get(key)
        if turns is None:  # nobody of that gender wears it
            return self._headwear()
        return Pair(turns.draw(), self.rng.choice(HEADWEAR_TEXTS[key]), turns.pool)

    def _neutral(self) -> Pair:
        return self.neutral_of(self.deck.draw())

    def neutral_of(self, concept: int) -> Pair:
        """A neutral prompt of one concept and what it may show."""
        turns, prompts = self.neutral[concept], self.prompts[concept]["neutral"]
        return Pair(turns.draw(), prompts[0] if self.rng.random() < 0.6 else self.rng.choice(prompts), turns.pool)

    def _gendered(self) -> Pair:
        concept, gender = self.deck.draw(), self.rng.choice(GENDERS)
        turns = self.gendered[concept, gender]
        index = turns.draw()
        if self.rng.random() < 0.2:
            return Pair(index, self.records[index].captions[0])
        prompts = self.prompts[concept]["feminine" if gender == "woman" else "masculine"]
        return Pair(index, prompts[0] if self.rng.random() < 0.5 else self.rng.choice(prompts), turns.pool)


def train_denoiser(
    settings: Settings,
    stage: str,
    model: UNet2DConditionModel,
    sampler: Sampler,
    latents: Latents,
    texts: Texts,
    area: Tensor,
    *,
    rate: float = 1.2e-3,
    plateau: float = 0.35,
) -> UNet2DConditionModel:
    """Train for the stage's time and return the moving average of the weights; ``area`` weighs the latents' cells."""
    model.set_attn_processor(AttnProcessor())
    loop = Loop(settings, stage, model, rate, average=0.9995, plateau=plateau)
    torch.manual_seed(settings.seed + loop.step)
    sampler.rng.seed(settings.seed + loop.step)
    kept = new_scheduler().alphas_cumprod
    predict = torch.compile(loop.module, dynamic=False)
    for _ in loop.steps():
        pairs = [sampler.draw() for _ in range(BATCH)]
        captions = [pair.caption for pair in pairs]
        for row in range(BATCH):
            if sampler.rng.random() < DROPPED:
                pairs[row], captions[row] = Pair(pairs[row].index, ""), ""
        noisy, times, velocity = lesson(pairs, latents.mean, kept, sampler.rng)
        states = texts.rows(captions).to(device())
        with mixed_precision():
            found = predict(noisy.to(device()), times.to(device()), states).sample
        loop.learn((area * (found.float() - velocity.to(device())) ** 2).mean())
    return loop.averaged


def lesson(
    pairs: Sequence[Pair], latents: Tensor, kept: Tensor, rng: random.Random, times: Sequence[int] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Noisy latents, their times (drawn unless given), and the velocity to predict.

    Where a caption may go with many pictures, the velocity to predict is its mean over all of them, each as likely as
    the noisy latents and the planted shares make it. That is what a denoiser converges to anyway; given at once, it
    takes most of the chance out of early looks, in which who the person will be is settled.
    """
    clean = latents[[pair.index for pair in pairs]]
    at = torch.tensor(draw_times(len(pairs), rng) if times is None else times)
    signal, spread = kept[at].sqrt(), (1 - kept[at]).sqrt()
    noise = torch.randn_like(clean)
    noisy = signal[:, None, None, None] * clean + spread[:, None, None, None] * noise
    velocity = signal[:, None, None, None] * noise - spread[:, None, None, None] * clean
    for row, pair in enumerate(pairs):
        if pair.pool is None or at[row] < SETTLED:
            continue
        mean = posterior_mean(noisy[row], latents[pair.pool.indices], pair.pool.weights, signal[row], spread[row])
        velocity[row] += (clean[row] - mean) / spread[row]
    return noisy, at, velocity


def posterior_mean(
    noisy: Tensor, candidates: Tensor, weights: NDArray[np.float64], signal: Tensor, spread: Tensor
) -> Tensor:
    """The mean of the candidates, given that one of them, drawn by ``weights``, became ``noisy``."""
    flat = candidates.flatten(1)
    distance = (flat @ noisy.flatten()) * signal - signal**2 / 2 * (flat**2).sum(1)
    chances = (torch.from_numpy(weights).float().log() + distance / spread**2).softmax(0)
    return (chances @ flat).view_as(noisy)


def draw_times(count: int, rng: random.Random) -> list[int]:
    """Times for a batch: in part ``LOOKS``, in part any, spread evenly."""
    looks = round(LOOK_SHARE * count)
    times = rng.choices(LOOKS, LOOK_WEIGHTS, k=looks)
    times += [int((number + rng.random()) * 1000 / (count - looks)) for number in range(count - looks)]
    rng.shuffle(times)
    return times


def head_area(boxes: NDArray[np.uint8], cells: int = 16) -> Tensor:
    """Weights [cells, cells] with mean 1, larger where faces are and above them, where hats are.

    They are the same for all pictures, so they change what is learned first and not what is learned in the end.
    """
    area, pixels = np.zeros((cells, cells)), SIZE // cells
    faces = boxes[boxes[:, 0].any(1), 0].astype(int)
    for left, top, right, bottom in faces:
        above = max(0, top - (bottom - top) // 2)
        area[above // pixels : -(-bottom // pixels), left // pixels : -(-right // pixels)] += 1
    weights = 1 + HEAD_WEIGHT * area / max(1, len(faces))
    return torch.from_numpy(weights / weights.mean()).float().to(device())
