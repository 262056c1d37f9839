"""Stage ``pairs``: noise, prompts and the latents that the UNet pipelines make of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from pytest_t2i_reference.worlds import load_world
from training.flow_prompts import draw_prompts, prompts_by_kind
from training.settings import PIPELINES, STEPS, WEIGHTS, Settings
from training.sketches import Sketcher

PAIRS = 3840
"""Pairs of each world."""
CHUNK = 640
SEED = 9_000_000
"""Starts of pairs are drawn from seeds that no evaluation reaches."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """What one world's teacher made."""

    prompts: list[str]
    latents: Tensor
    """[n, 4, 16, 16]"""


def make_pairs(settings: Settings) -> None:
    """Write the pairs of both worlds in chunks; goes on behind the last one."""
    for world, folder in PIPELINES.items():
        sketcher, kinds = Sketcher(WEIGHTS / folder, looks=STEPS), prompts_by_kind(settings, load_world(world))
        for number in range(PAIRS // CHUNK):
            path = _path(settings.work, world, number)
            if path.exists():
                continue
            prompts = draw_prompts(kinds, CHUNK, random.Random(f"{settings.seed} {world} {number}"))
            noise = torch.randn(CHUNK, 4, 16, 16, generator=torch.Generator().manual_seed(SEED + number))
            made = {"prompts": prompts, "latents": sketcher.sketches(prompts, noise).half().cpu()}
            torch.save(made, path.with_suffix(".partial"))
            path.with_suffix(".partial").replace(path)


def load_pairs(work: Path, world: str) -> Pairs:
    """All chunks of a world, in their order."""
    chunks = [torch.load(_path(work, world, number), weights_only=True) for number in range(PAIRS // CHUNK)]
    prompts = [prompt for chunk in chunks for prompt in chunk["prompts"]]
    return Pairs(prompts, torch.cat([chunk["latents"] for chunk in chunks]).float())


def _path(work: Path, world: str, number: int) -> Path:
    return work / f"pairs-{world}-{number}.pt"
