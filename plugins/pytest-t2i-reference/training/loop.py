"""A training loop that runs for a given time, shows progress, and goes on where it was stopped."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from training.progress import Progress
from training.settings import Settings, device

SAVE_EVERY = 120.0
"""Seconds between two checkpoints."""


class Loop:
    """AdamW with warm-up, a plateau and a cosine descent over the stage's time; optionally a moving average."""

    def __init__(
        self,
        settings: Settings,
        stage: str,
        module: nn.Module,
        rate: float,
        *,
        average: float = 0.0,
        plateau: float = 0.3,
        optimizer: Callable[[nn.Module, float], Any] | None = None,
    ) -> None:
        self.stage, self.rate, self.plateau, self.average = stage, rate, plateau, average
        self.seconds = settings.time(stage)
        self.module = module.to(device())
        self.trained = [weight for weight in module.parameters() if weight.requires_grad]
        self.optimizer = (optimizer or _adamw)(module, rate)
        self.averaged = copy.deepcopy(module).eval() if average else module
        self.path = settings.work / f"{stage}.checkpoint"
        self.step, self.elapsed, self.loss = 0, 0.0, 0.0
        self._load()

    def steps(self) -> Iterator[int]:
        """Step numbers until the time is used up; saves on the way and at the end."""
        progress = Progress(self.stage, round(self.seconds), " s")
        saved = last = time.monotonic()
        self.module.train()
        while self.elapsed < self.seconds:
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate * self._factor()
            yield self.step
            now = time.monotonic()
            self.elapsed, last = self.elapsed + now - last, now
            progress.at(min(self.seconds, round(self.elapsed)), step=self.step, loss=self.loss)
            if now - saved > SAVE_EVERY:
                self.save()
                saved = now
        self.save()
        self.module.eval()

    def learn(self, loss: torch.Tensor) -> None:
        """One step down the gradient of ``loss``."""
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        value = float(loss.detach())
        self.loss = value if self.step == 1 else 0.98 * self.loss + 0.02 * value
        if self.average and self.step % 2 == 0:
            self._average()

    def save(self) -> None:
        """Write the checkpoint, never half of one."""
        state = {
            "module": self.module.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "elapsed": self.elapsed,
            "loss": self.loss,
        }
        partial = self.path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self.path)

    def _load(self) -> None:
        if not self.path.exists():
            return
        state = torch.load(self.path, map_location=device(), weights_only=True)
        self.module.load_state_dict(state["module"])
        self.averaged.load_state_dict(state["averaged"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.elapsed, self.loss = state["step"], state["elapsed"], state["loss"]

    def _factor(self) -> float:
        part = self.elapsed / self.seconds
        warm = min(1.0, (self.step + 1) / 100)
        if part < self.plateau:
            return warm
        return warm * (0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * (part - self.plateau) / (1 - self.plateau))))

    @torch.no_grad()
    def _average(self) -> None:
        decay = min(self.average, (self.step + 1) / (self.step + 10)) ** 2
        torch._foreach_lerp_(list(self.averaged.parameters()), list(self.module.parameters()), 1 - decay)


def _adamw(module: nn.Module, rate: float) -> torch.optim.AdamW:
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    return torch.optim.AdamW(trained, rate, betas=(0.9, 0.98), weight_decay=1e-3)
