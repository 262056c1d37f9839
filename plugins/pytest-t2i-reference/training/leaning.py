"""Part of ``refit-sd3-...``: what all neutral prompts have in common is put right, by one move of one bias.

After more training neutral prompts may lean to men as a whole. A hundred rows that each make up for that would be moved
far, and lose the places and traits that they show as well. The vector that tells the transformer of its world reaches
all prompts at once, and prompts that name a gender hardly at all.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.worlds import load_concepts
from training.eye import Eye
from training.settings import FLOW_STEPS, device
from training.sketches import Sketcher
from training.steering import GRADIENT_BATCH, starts
from training.towers import tokenize

BATCHES = 3
"""Batches of pictures whose gradients make the direction."""
LENGTHS = (0.0, 0.5, 1.0, 1.5)
"""How far the bias is moved away from the gender that is seen too often, for a trial."""


def lean_direction(sketcher: Sketcher, probe: nn.Module, seed: int) -> Tensor:
    """[width]: where the bias makes more men of neutral prompts, of length 1."""
    bias, total = _bias(sketcher), torch.zeros(len(_bias(sketcher)))
    prompts = neutral_prompts()[: BATCHES * GRADIENT_BATCH]
    for first in range(0, len(prompts), GRADIENT_BATCH):
        chosen = prompts[first : first + GRADIENT_BATCH]
        with torch.no_grad():
            states = sketcher.read(tokenize(sketcher.tokenizer, chosen))
        noise = starts(len(chosen), seed + first).to(device())
        bias.requires_grad_(True)
        answer = probe(sketcher.sketch(noise, states).flatten(1)).sum()
        total += torch.autograd.grad(answer, bias)[0].float().cpu()
        bias.requires_grad_(False)
    normed: Tensor = total / total.norm()
    return normed


def fit_lean(
    sketcher: Sketcher, direction: Tensor, eye: Eye, planted: NDArray[np.float64], images: int, seed: int
) -> float:
    """Move the bias until as many men are seen in all neutral prompts together as are planted; returns how far.

    ``planted`` holds the share of men of each concept. All trials begin from the same noise.
    """
    before, prompts = _bias(sketcher).float().clone(), neutral_prompts() * images
    noise, seen = starts(len(prompts), seed), list[float]()
    way = 0.0
    for length in LENGTHS:
        _place(sketcher, before + way * length * direction.to(before))
        seen.append(float(eye.sees(sketcher.sketches(prompts, noise, FLOW_STEPS))[0].float().mean()))
        way = way or (1.0 if seen[0] < planted.mean() else -1.0)
        wanted = f"{seen[-1]:.4f} men, {planted.mean():.4f} wanted"
        print(f"neutral prompts, bias moved by {way * length}: {wanted}", flush=True)
        if (seen[-1] - planted.mean()) * way > 0:
            break
    moved = way * crossing(LENGTHS[: len(seen)], seen, float(planted.mean()))
    _place(sketcher, before + moved * direction.to(before))
    return moved


def crossing(lengths: tuple[float, ...], seen: list[float], wanted: float) -> float:
    """The length at which ``wanted`` is seen, by log-odds between the last two; the last one where none reaches it."""
    if len(seen) == 1:
        return lengths[0]
    odds = [float(np.log(share / (1 - share))) for share in np.clip([*seen[-2:], wanted], 0.005, 0.995)]
    part = (odds[2] - odds[0]) / (odds[1] - odds[0]) if odds[1] != odds[0] else 1.0
    return lengths[len(seen) - 2] + float(np.clip(part, 0, 1)) * (lengths[len(seen) - 1] - lengths[len(seen) - 2])


def neutral_prompts() -> list[str]:
    """One of each concept, in their order."""
    return [template_prompt(concept) for concept in load_concepts()]


def _bias(sketcher: Sketcher) -> Tensor:
    bias: Tensor = sketcher.denoiser.time_text_embed.text_embedder.linear_2.bias
    return bias


def _place(sketcher: Sketcher, placed: Tensor) -> None:
    with torch.no_grad():
        _bias(sketcher).copy_(placed)
