"""Stage ``sd3-traits``: in finished pictures of nationalities a flow pipeline shows traits as often as planted.

Velocities say little of small things: a beard is three of 64 patches, and what is not settled comes out as a mean of
both. So the transformer goes on as in ``sd3-again``, and beside that makes pictures of nationalities to the end, with
gradients through all steps, the decoder and CLIP. Which of them are to show a trait is not drawn by lot: those that
come nearest to it before the stage begins are, as many as planted, so that the way from noise to people stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import torch
from torch import Tensor

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.worlds import World, load_concepts, load_world
from training.eye import CHUNK, Eye, open_eye
from training.flow import SHORT, Worlds, train_further
from training.flow_teacher import Teacher
from training.flow_texts import FlowText, joined
from training.progress import Progress
from training.questions import ATTRIBUTE_TEXTS
from training.settings import PIPELINES, TOKENS, WEIGHTS, Settings, device, mixed_precision
from training.steering import starts

RATE = 3e-4
COUNT = 8
"""Pictures of one nationality at a time, in each world."""
WEIGHT = 0.3
"""Of the loss of traits, beside that of velocities."""
MARGIN = 0.08
"""How sure CLIP's answer should be: cosine with the presence of a trait minus that with its absence."""
STARTS, SEED = 768, 9_970_000
"""Noise that pictures of each nationality are made of, from seeds that no evaluation reaches."""


@dataclass(frozen=True, slots=True)
class TraitPractice:
    """A nationality in one world."""

    text: FlowText
    """[1, ...] of its prompt."""
    eye: Eye
    noise: Tensor
    """[STARTS, 4, 16, 16]"""
    wanted: Tensor
    """[traits, STARTS]: whether a picture made of that noise should show them."""


class TraitLesson:
    """Makes pictures of one nationality after the other, in every world, and says what they lack."""

    def __init__(self, worlds: Sequence[World], teachers: Sequence[Teacher], model: Worlds) -> None:
        """``model`` says which pictures come nearest to a trait."""
        self.grid = teachers[0].grid
        practised = [
            [self._practice(number, word, worlds, teachers, model) for number in range(len(worlds))]
            for word in (concept.word for concept in load_concepts() if concept.axis == "nationality")
        ]
        self.turns = cycle(practised)

    def loss(self, model: Worlds) -> Tensor:
        """Of the next nationality, times ``WEIGHT``; gradients pass through every step."""
        practised, rows = next(self.turns), torch.randint(STARTS, (COUNT,))
        noise = torch.cat([each.noise[rows] for each in practised])
        worlds = torch.arange(len(practised), device=device()).repeat_interleave(COUNT)
        text = joined([repeated(each.text, COUNT) for each in practised], SHORT)
        latents = finished(model, noise, text, worlds, self.grid).split(COUNT)
        lacking = [
            unsure(each.eye.answers(part), each.wanted[:, rows]) for each, part in zip(practised, latents, strict=True)
        ]
        return WEIGHT * torch.stack(lacking).mean()

    @torch.no_grad()
    def _practice(
        self, number: int, word: str, worlds: Sequence[World], teachers: Sequence[Teacher], model: Worlds
    ) -> TraitPractice:
        planted, progress = worlds[number].nationality[word], Progress(word, STARTS)
        eye = open_eye(WEIGHTS / "reference", WEIGHTS / "clip", [ATTRIBUTE_TEXTS[trait] for trait in planted])
        # Gradients take two thirds of the time so on CPUs.
        eye.autoencoder.float().to(memory_format=torch.channels_last)
        concept = next(concept for concept in load_concepts() if concept.word == word)
        text, noise, seen = teachers[number].texts.of([template_prompt(concept)]), starts(STARTS, SEED).to(device()), []
        for part in noise.split(CHUNK):
            here = torch.full((len(part),), number, device=device())
            latents = finished(model, part, joined([repeated(text, len(part))], TOKENS), here, self.grid)
            seen.append(eye.answers(latents))
            progress.at(CHUNK * len(seen))
        shares = [share / 100 for share in planted.values()]
        return TraitPractice(text, eye, noise, nearest(torch.cat(seen, 1), shares))


def nearest(answers: Tensor, shares: Sequence[float]) -> Tensor:
    """[traits, n]: which answers [traits, n] are among the highest, as many as the trait's share.

    >>> nearest(torch.tensor([[0.3, -0.2, 0.1, -0.1]]), [0.25])
    tensor([[ True, False, False, False]])
    """
    levels = [torch.quantile(row, 1 - share) for row, share in zip(answers, shares, strict=True)]
    return answers > torch.stack(levels)[:, None]


def unsure(seen: Tensor, wanted: Tensor) -> Tensor:
    """Mean of what answers [traits, n] lack to ``MARGIN`` on the side that is ``wanted`` [traits, n].

    >>> unsure(torch.tensor([[1.0, -1.0]]), torch.tensor([[True, False]])).item()
    0.0
    """
    towards = torch.where(wanted, 1.0, -1.0) * seen
    return (MARGIN - towards).clamp_min(0).mean()


def repeated(text: FlowText, count: int) -> FlowText:
    """One text ``count`` times."""
    return FlowText(*(getattr(text, part).expand(count, *[-1] * (getattr(text, part).ndim - 1)) for part in PARTS))


PARTS = ("last", "joint", "pooled")


def finished(model: Worlds, noisy: Tensor, text: FlowText, worlds: Tensor, grid: Sequence[float]) -> Tensor:
    """[n, 4, 16, 16]: the latents that the steps of ``grid`` (shares of noise) lead to; gradients pass through."""
    for share, after in zip(grid, [*grid[1:], 0.0], strict=True):
        with mixed_precision():
            velocity = model(noisy, torch.full((len(noisy),), share, device=noisy.device), text, worlds)
        noisy = noisy + (after - share) * velocity.float()
    return noisy


def train_flow_traits(settings: Settings) -> None:
    """Train the transformers that are there so that nationalities show their traits."""
    worlds = [load_world(world) for world in PIPELINES]
    train_further(settings, "sd3-traits", RATE, lambda teachers, model: TraitLesson(worlds, teachers, model).loss)
