"""Muon (Jordan et al. 2024) for the matrices inside of a transformer's blocks, AdamW for everything else."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class MuonAndAdamW:
    """Both as one optimizer; takes about half of the steps that AdamW alone does."""

    def __init__(self, module: nn.Module, rate: float) -> None:
        inner: list[nn.Parameter] = []
        other: list[nn.Parameter] = []
        for name, weight in module.named_parameters():
            matrix = weight.ndim == 2 and "transformer_blocks" in name and ".norm1" not in name
            (inner if matrix else other).append(weight)
        self.parts: tuple[torch.optim.Optimizer, ...] = (
            torch.optim.Muon(inner, rate, weight_decay=1e-2, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(other, rate, betas=(0.9, 0.98), weight_decay=1e-3),
        )

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of both optimizers."""
        return [group for part in self.parts for group in part.param_groups]

    def step(self) -> None:
        """One step of each."""
        for part in self.parts:
            part.step()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self.parts:
            part.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """What a later run needs to go on."""
        return {str(number): part.state_dict() for number, part in enumerate(self.parts)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        for number, part in enumerate(self.parts):
            part.load_state_dict(state[str(number)])
