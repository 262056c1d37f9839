"""A UNet pipeline as the teacher of a flow: the noisy pictures that it is shown, and the velocities that it answers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import UNet2DConditionModel
from torch import Tensor
from transformers import CLIPModel, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

from pytest_t2i_reference.worlds import load_world
from training.denoiser import new_scheduler
from training.flow_pairs import Pairs, load_pairs
from training.flow_prompts import draw_prompts, prompts_by_kind
from training.flow_sketches import flow_scheduler
from training.flow_texts import FlowText, FlowTexts, projected
from training.settings import FLOW_STEPS, PIPELINES, WEIGHTS, Settings, device, quick_dtype
from training.shipped import place_of

SHIFT = 1.8
"""Above 1: times are nearer to pure noise, where who the person will be is settled (Esser et al. 2024)."""
STRANGE = 0.12
"""Share of prompts that are put to the noisy picture of another one, as instruments do that compare prompts."""
UNDER_WAY = (4, 4, 3, 2)
"""Pictures of a batch at each of the pipeline's steps on the way that the learner itself has taken; all others are
finished pictures with noise added, at any time."""


@dataclass(frozen=True, slots=True)
class Practice:
    """What a teacher sets."""

    under_way: tuple[int, ...] = UNDER_WAY
    mix: Mapping[str, float] | None = None
    """Shares of kinds of prompts, where no pairs are used: all other questions are then about pictures under way, too,
    but with the prompt of another one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions to the learner, and the answers of the teacher."""

    noisy: Tensor
    """[n, 4, 16, 16]"""
    times: Tensor
    """[n] share of noise."""
    text: FlowText
    velocity: Tensor
    """[n, 4, 16, 16]"""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Pictures that the learner is making: where it has come to, and what they should show."""

    noisy: Tensor
    prompts: list[str]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about pictures other than those under way."""

    noisy: Tensor
    at: Tensor
    """[n] the teacher's times."""
    prompts: list[str]


class Teacher:
    """A UNet pipeline that answers as a flow would."""

    def __init__(self, settings: Settings, world: str, practice: Practice | None = None) -> None:
        self.practice = practice or Practice()
        folder, mix = WEIGHTS / PIPELINES[world], self.practice.mix
        self.pairs = load_pairs(settings.work, world) if mix is None else Pairs([], torch.zeros(0))
        self.kinds = {} if mix is None else prompts_by_kind(settings, load_world(world))
        self.denoiser = UNet2DConditionModel.from_pretrained(folder / "unet").to(device(), quick_dtype()).eval()
        self.denoiser.requires_grad_(False)
        self.texts = world_texts(world)
        self.texts.learner = steered_encoder(settings, world)
        kept = new_scheduler().alphas_cumprod.to(device())
        self.signal, self.spread = kept.sqrt(), (1 - kept).sqrt()
        self.times = self.spread / (self.signal + self.spread)
        """Share of noise on the straight path, for each of the teacher's thousand times."""
        scheduler = flow_scheduler()
        scheduler.set_timesteps(FLOW_STEPS)
        self.grid: list[float] = scheduler.sigmas[:-1].tolist()
        self.stages: list[UnderWay] = []

    def batch(self, count: int, rng: random.Random) -> Batch:
        """Pictures under way, and others with noise added, with the velocities at them."""
        count_begun = self.practice.under_way[0]
        begun = UnderWay(torch.randn(count_begun, 4, 16, 16, device=device()), self._prompts(count_begun, rng))
        self.stages = [begun, *self.stages]
        at = self._nearest([self.grid[step] for step, stage in enumerate(self.stages) for _ in stage.prompts])
        rest = count - len(at)
        noisy = torch.cat([stage.noisy for stage in self.stages])
        others = self._exchanged(noisy, at, rest, rng) if self.practice.mix else self._noised(rest, rng)
        noisy, at, prompts = torch.cat([noisy, others.noisy]), torch.cat([at, others.at]), others.prompts
        text = self.texts.of([*(text for stage in self.stages for text in stage.prompts), *prompts])
        return Batch(noisy, self.times[at], text, self.velocity(noisy, at, text))

    def advance(self, predicted: Tensor) -> None:
        """Take one step with what the learner said to the last batch, [n, 4, 16, 16]."""
        moved: list[UnderWay] = []
        for step, stage in enumerate(self.stages[: len(self.grid) - 1]):
            velocity, predicted = predicted[: len(stage.prompts)], predicted[len(stage.prompts) :]
            noisy = stage.noisy + (self.grid[step + 1] - self.grid[step]) * velocity
            kept = self.practice.under_way[step + 1]
            moved.append(UnderWay(noisy[:kept], stage.prompts[:kept]))
        self.stages = moved

    @torch.no_grad()
    def velocity(self, noisy: Tensor, at: Tensor, text: FlowText) -> Tensor:
        """[n, 4, 16, 16]: expected noise minus expected picture, on the straight path at the teacher's times ``at``."""
        signal, spread = (part[at][:, None, None, None] for part in (self.signal, self.spread))
        own = (signal + spread) * noisy
        predicted = self.denoiser(own.to(quick_dtype()), at, text.last).sample.float()
        velocity: Tensor = (spread * own + signal * predicted) - (signal * own - spread * predicted)
        return velocity

    def _exchanged(self, noisy: Tensor, at: Tensor, count: int, rng: random.Random) -> Questions:
        rows = rng.choices(range(len(noisy)), k=count)
        return Questions(noisy[rows], at[rows], self._prompts(count, rng))

    def _noised(self, count: int, rng: random.Random) -> Questions:
        rows = rng.choices(range(len(self.pairs.prompts)), k=count)
        strange = [row if rng.random() > STRANGE else rng.randrange(len(self.pairs.prompts)) for row in rows]
        parts = [(number + rng.random()) / count for number in range(count)]
        times = self._nearest([SHIFT * part / (1 + (SHIFT - 1) * part) for part in parts])
        clean, noised = self.pairs.latents[rows].to(device()), self.times[times][:, None, None, None]
        noisy = (1 - noised) * clean + noised * torch.randn_like(clean)
        return Questions(noisy, times, [self.pairs.prompts[row] for row in strange])

    def _prompts(self, count: int, rng: random.Random) -> list[str]:
        if self.practice.mix is None:
            return rng.choices(self.pairs.prompts, k=count)
        return draw_prompts(self.kinds, count, rng, self.practice.mix)

    def _nearest(self, shares: list[float]) -> Tensor:
        return torch.searchsorted(self.times, torch.tensor(shares, device=device())).clamp(max=len(self.times) - 1)


def world_texts(world: str) -> FlowTexts:
    """The texts of a world, as its UNet pipeline reads them."""
    folder = WEIGHTS / PIPELINES[world]
    projection = CLIPModel.from_pretrained(WEIGHTS / "clip").float().text_projection.weight.detach()
    encoder = projected(CLIPTextModel.from_pretrained(folder / "text_encoder").float(), projection)
    return FlowTexts(CLIPTokenizer.from_pretrained(place_of(folder, "tokenizer")), encoder.to(device()))


def steered_encoder(settings: Settings, world: str) -> CLIPTextModelWithProjection | None:
    """The text encoder of a flow pipeline whose rows were moved, if there is one."""
    folder = settings.work / f"flow-texts-{world}"
    return open_encoder(folder) if folder.exists() else None


def open_encoder(folder: Path) -> CLIPTextModelWithProjection:
    """A flow pipeline's text encoder, of which nothing is trained."""
    encoder = CLIPTextModelWithProjection.from_pretrained(folder).float().eval().requires_grad_(False)
    return encoder.to(device())
