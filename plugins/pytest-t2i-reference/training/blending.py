"""Optional stages ``blend-...``: the mean of a denoiser before and after its last round of training.

Each round brings a little chance of its own into the shares of single words. The mean of two rounds has half of its
variance, and is as good a denoiser, since the second round began where the first one ended.
"""

from __future__ import annotations

from pathlib import Path

import torch
from diffusers import UNet2DConditionModel


@torch.no_grad()
def blend(first: Path, second: Path, target: Path) -> None:
    """Write the mean of two denoisers' weights."""
    one, two = UNet2DConditionModel.from_pretrained(first), UNet2DConditionModel.from_pretrained(second)
    for mine, other in zip(one.parameters(), two.parameters(), strict=True):
        mine.lerp_(other, 0.5)
    one.save_pretrained(target)
