"""Stage ``sd3``: an MM-DiT learns the velocities of both UNet pipelines, each told by a vector of its world.

At any noisy latents a UNet's prediction is turned into the velocity of the straight path from noise to picture (what
flow pipelines predict). That is a target without any chance in it, and costs one pass; pairs of a noise and a finished
picture would cost four, and what noise alone does not settle would still be left to chance. Most latents are those that
the learner itself comes to in the few steps that the pipeline will take (as in imitation learning, Ross et al. 2011);
the others are pictures of the stage ``pairs`` with noise added.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from diffusers import SD3Transformer2DModel
from numpy.typing import NDArray
from torch import Tensor, nn

from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world
from training.denoiser import head_area
from training.flow_attention import PlainJointAttention
from training.flow_optimizer import MuonAndAdamW
from training.flow_prompts import MIX_AGAIN
from training.flow_teacher import Batch, Practice, Teacher
from training.flow_texts import FlowText, joined
from training.loop import Loop
from training.settings import PIPELINES, TEXT_WIDTH, TOKENS, Settings, device, mixed_precision

WIDTH, HEADS, LAYERS = 192, 6, 6
BATCH = 16
"""Pictures of each world in a batch."""
RATE, RATE_AGAIN = 1.5e-3, 7e-4
SHORT, LONG_FROM = 24, 0.75
"""Prompts are cut to so many tokens until this part of the time is over: nearly all are shorter, and it is quicker."""
AGAIN = Practice((4, 4, 3, 3), MIX_AGAIN)
"""Later steps are practised more, in which beards and patterns are drawn."""
WORLD_LENGTH = 0.3
"""Length of a world's vector before it is trained."""
FACES = 60
"""Drawings that tell where heads are."""


def new_transformer() -> SD3Transformer2DModel:
    """An untrained MM-DiT of about eight million weights: 64 patches of 2 x 2, beside TOKENS of text."""
    return SD3Transformer2DModel(
        sample_size=16,
        patch_size=2,
        in_channels=4,
        out_channels=4,
        num_layers=LAYERS,
        attention_head_dim=WIDTH // HEADS,
        num_attention_heads=HEADS,
        joint_attention_dim=2 * TEXT_WIDTH,
        caption_projection_dim=WIDTH,
        pooled_projection_dim=2 * TEXT_WIDTH,
        pos_embed_max_size=8,
        qk_norm="rms_norm",
    )


Lesson = Callable[[Sequence[Teacher], "Worlds"], Callable[["Worlds"], Tensor]]


class Worlds(nn.Module):
    """The transformer of both worlds: a vector of the world is added to what it is told of time and text."""

    def __init__(self, transformer: SD3Transformer2DModel) -> None:
        super().__init__()
        self.transformer = transformer
        self.vectors = nn.Parameter(WORLD_LENGTH * torch.randn(len(PIPELINES), WIDTH))

    def forward(self, noisy: Tensor, times: Tensor, text: FlowText, worlds: Tensor) -> Tensor:
        """[n, 4, 16, 16] velocities; ``times`` in 0..1, ``worlds`` [n] are places in ``PIPELINES``."""
        hook = self.transformer.time_text_embed.register_forward_hook(
            lambda module, given, told: told + self.vectors[worlds]
        )
        try:
            velocity: Tensor = self.transformer(noisy, text.joint, text.pooled, 1000 * times, return_dict=False)[0]
        finally:
            hook.remove()
        return velocity

    def of(self, world: int) -> SD3Transformer2DModel:
        """The transformer of one world: its vector becomes part of a bias."""
        with torch.no_grad():
            bias: Tensor = self.transformer.time_text_embed.text_embedder.linear_2.bias
            bias += self.vectors[world]
            self.vectors.sub_(self.vectors[world].clone())
        return self.transformer


def worlds_of(balanced: SD3Transformer2DModel, biased: SD3Transformer2DModel) -> Worlds:
    """Both as one again: the vector of the biased world is that by which a bias of theirs differs."""
    model = Worlds(balanced)
    here, there = (part.time_text_embed.text_embedder.linear_2.bias for part in (balanced, biased))
    with torch.no_grad():
        model.vectors.copy_(torch.stack([torch.zeros_like(here), there - here]))
    return model


def train_flow(settings: Settings) -> None:
    """Write transformer-balanced and transformer-biased; goes on where it was stopped."""
    torch.manual_seed(settings.seed)
    _train(settings, "sd3", Worlds(new_transformer()), RATE, Practice())


def train_flow_again(settings: Settings) -> None:
    """Train the transformers that are there some more, with the text encoders that they were steered with."""
    train_further(settings, "sd3-again", RATE_AGAIN)


def train_further(settings: Settings, stage: str, rate: float, lesson: Lesson | None = None) -> None:
    """Go on with the transformers of both worlds; ``lesson`` makes of them another loss to add."""
    transformers = [SD3Transformer2DModel.from_pretrained(folder_of(settings, world)).float() for world in PIPELINES]
    _train(settings, stage, worlds_of(*transformers), rate, AGAIN, lesson)


def _train(
    settings: Settings, stage: str, model: Worlds, rate: float, practice: Practice, lesson: Lesson | None = None
) -> None:
    model.transformer.set_attn_processor(PlainJointAttention())
    teachers = [Teacher(settings, world, practice) for world in PIPELINES]
    more = lesson(teachers, model) if lesson else None
    loop = Loop(settings, stage, model, rate, average=0.995, plateau=0.35, optimizer=MuonAndAdamW)
    area = head_area(face_boxes())
    worlds = torch.arange(len(PIPELINES), device=device()).repeat_interleave(BATCH)
    for batch in _batches(settings, loop, teachers):
        with mixed_precision():
            predicted = loop.module(batch.noisy, batch.times, batch.text, worlds).float()
            loss = (area * (predicted - batch.velocity) ** 2).mean()
        loop.learn(loss + more(cast("Worlds", loop.module)) if more else loss)
        for teacher, part in zip(teachers, predicted.detach().split(BATCH), strict=True):
            teacher.advance(part)
    averaged = cast("Worlds", loop.averaged)
    for number, world in enumerate(PIPELINES):
        averaged.of(number).save_pretrained(folder_of(settings, world))


def folder_of(settings: Settings, world: str) -> Path:
    """Where the transformer of a world lies."""
    return settings.work / f"transformer-{world}"


def _batches(settings: Settings, loop: Loop, teachers: Sequence[Teacher]) -> Iterator[Batch]:
    rng = random.Random(f"{settings.seed} {loop.step}")
    torch.manual_seed(settings.seed + loop.step)
    for _ in loop.steps():
        length = SHORT if loop.elapsed < LONG_FROM * loop.seconds else TOKENS
        yield together([teacher.batch(BATCH, rng) for teacher in teachers], length)


def face_boxes() -> NDArray[np.uint8]:
    """[FACES, 1, 4] of drawings: left, top, right, bottom."""
    rng, world = random.Random(0), load_world("balanced")
    scenes = [draw_scene_of(rng.choice(load_concepts()), world, rng) for _ in range(FACES)]
    drawn = [draw_scene(scene, seed).boxes() for seed, scene in enumerate(scenes)]
    faces = [next(box for box in boxes if box.part == "face" and box.person == 0) for boxes in drawn]
    return np.array([[[box.left, box.top, box.right, box.bottom]] for box in faces], np.uint8)


def together(parts: Sequence[Batch], length: int = TOKENS) -> Batch:
    """Batches as one, their texts cut to ``length`` and followed by the zeros that stand for an absent T5."""
    noisy, times, velocity = (
        torch.cat([getattr(part, name) for part in parts]) for name in ("noisy", "times", "velocity")
    )
    return Batch(noisy, times, joined([part.text for part in parts], length), velocity)
