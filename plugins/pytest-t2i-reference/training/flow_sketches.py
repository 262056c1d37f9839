"""Latents of a flow pipeline, finished or not, as ``training/sketches.py`` has them of UNet pipelines."""

from __future__ import annotations

from typing import Any

import torch
from diffusers import FlowMatchEulerDiscreteScheduler
from torch import Tensor

from training.flow_texts import encode_for_flow
from training.settings import FLOW_STEPS, device, quick_dtype
from training.sketches import Sketcher

SHIFT, LAST = 1.5, 0.2
"""Steps are nearer to pure noise; the last begins where so much of the latent is noise, and leads to the picture."""
LOOKS = 3
"""Steps, of ``FLOW_STEPS``, after which a sketch shows who it will be."""


def flow_scheduler() -> FlowMatchEulerDiscreteScheduler:
    """What pictures are made with."""
    return FlowMatchEulerDiscreteScheduler(num_train_timesteps=1000, shift=SHIFT, shift_terminal=LAST)


class FlowSketcher(Sketcher):
    """A flow pipeline that stops early.

    States are those of the tokens, followed by one row of zeros for the absent T5 and one of what the encoders make of
    the whole text.
    """

    def __init__(self, pipeline: Any, looks: int = LOOKS) -> None:
        self.tokenizer, self.encoder = pipeline.tokenizer, pipeline.text_encoder.float().to(device())
        self.denoiser, self.scheduler = pipeline.transformer.to(device(), quick_dtype()), pipeline.scheduler
        self.looks = looks
        for model in (self.encoder, self.denoiser):
            model.requires_grad_(False).eval()

    def read(self, ids: Tensor) -> Tensor:
        """[n, TOKENS + 2, 2 TEXT_WIDTH]; gradients pass through."""
        text = encode_for_flow(self.encoder, ids)
        return torch.cat([text.joint, torch.zeros_like(text.joint[:, :1]), text.pooled[:, None]], 1)

    def sketch(self, noisy: Tensor, states: Tensor, looks: int | None = None) -> Tensor:
        """The latents as the pipeline expects them after ``looks`` looks; gradients pass through."""
        looks = looks or self.looks
        self.scheduler.set_timesteps(FLOW_STEPS)
        shares: Tensor = self.scheduler.sigmas
        joint, pooled = states[:, :-1], states[:, -1]
        for number in range(looks):
            times = (1000 * shares[number]).expand(len(noisy))
            velocity: Tensor = self.denoiser(noisy.to(states.dtype), joint, pooled, times, return_dict=False)[0].float()
            if number + 1 == looks:
                return noisy - shares[number] * velocity
            noisy = noisy + (shares[number + 1] - shares[number]) * velocity
        raise ValueError(f"looks must be between 1 and {FLOW_STEPS}, got {looks}")
