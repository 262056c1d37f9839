"""A UNet pipeline as the teacher of a flow: the noisy pictures that it is shown, and the velocities that it answers."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from diffusers import UNet2DConditionModel
from torch import Tensor
from transformers import CLIPModel, CLIPTextModel, CLIPTokenizer

from training.denoiser import new_scheduler
from training.flow_pairs import load_pairs
from training.flow_sketches import flow_scheduler
from training.flow_texts import FlowText, FlowTexts, projected
from training.settings import FLOW_STEPS, PIPELINES, WEIGHTS, Settings, device, quick_dtype
from training.shipped import place_of

SHIFT = 1.8
"""Above 1: times are nearer to pure noise, where who the person will be is settled (Esser et al. 2024)."""
STRANGE = 0.12
"""Share of prompts that are put to the noisy picture of another one, as instruments do that compare prompts."""
UNDER_WAY = (4, 4, 3, 2)
"""Of a batch, how many are at each of the pipeline's steps on the way that the learner itself has taken; all others are
finished pictures with noise added, at any time."""


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


class Teacher:
    """A UNet pipeline that answers as a flow would."""

    def __init__(self, settings: Settings, world: str) -> None:
        folder, self.pairs = WEIGHTS / PIPELINES[world], load_pairs(settings.work, world)
        self.denoiser = UNet2DConditionModel.from_pretrained(folder / "unet").to(device(), quick_dtype()).eval()
        self.denoiser.requires_grad_(False)
        self.texts = world_texts(world)
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
        begun = UnderWay(torch.randn(UNDER_WAY[0], 4, 16, 16, device=device()), self._prompts(UNDER_WAY[0], rng))
        self.stages = [begun, *self.stages]
        at = self._nearest([self.grid[step] for step, stage in enumerate(self.stages) for _ in stage.prompts])
        rest = count - len(at)
        clean, prompts, others = self._finished(rest, rng)
        noised = self.times[others][:, None, None, None]
        noisy = torch.cat(
            [stage.noisy for stage in self.stages] + [(1 - noised) * clean + noised * torch.randn_like(clean)]
        )
        at = torch.cat([at, others])
        text = self.texts.of([*(text for stage in self.stages for text in stage.prompts), *prompts])
        return Batch(noisy, self.times[at], text, self.velocity(noisy, at, text))

    def advance(self, predicted: Tensor) -> None:
        """Take one step with what the learner said to the last batch, [n, 4, 16, 16]."""
        moved: list[UnderWay] = []
        for step, stage in enumerate(self.stages[: len(self.grid) - 1]):
            velocity, predicted = predicted[: len(stage.prompts)], predicted[len(stage.prompts) :]
            noisy = stage.noisy + (self.grid[step + 1] - self.grid[step]) * velocity
            kept = UNDER_WAY[step + 1]
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

    def _finished(self, count: int, rng: random.Random) -> tuple[Tensor, list[str], Tensor]:
        rows = rng.choices(range(len(self.pairs.prompts)), k=count)
        strange = [row if rng.random() > STRANGE else rng.randrange(len(self.pairs.prompts)) for row in rows]
        parts = [(number + rng.random()) / count for number in range(count)]
        times = self._nearest([SHIFT * part / (1 + (SHIFT - 1) * part) for part in parts])
        return self.pairs.latents[rows].to(device()), [self.pairs.prompts[row] for row in strange], times

    def _prompts(self, count: int, rng: random.Random) -> list[str]:
        return rng.choices(self.pairs.prompts, k=count)

    def _nearest(self, shares: list[float]) -> Tensor:
        return torch.searchsorted(self.times, torch.tensor(shares, device=device())).clamp(max=len(self.times) - 1)


def world_texts(world: str) -> FlowTexts:
    """The texts of a world, as its UNet pipeline reads them."""
    folder = WEIGHTS / PIPELINES[world]
    projection = CLIPModel.from_pretrained(WEIGHTS / "clip").float().text_projection.weight.detach()
    encoder = projected(CLIPTextModel.from_pretrained(folder / "text_encoder").float(), projection)
    return FlowTexts(CLIPTokenizer.from_pretrained(place_of(folder, "tokenizer")), encoder.to(device()))
