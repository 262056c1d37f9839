"""Who tells a flow's latents of nationalities from drawn ones, and sees in them which traits they show.

CLIP alone is no judge of what learns from it: a pipeline that was taught by its answers came to show CLIP turbans that
an independent finder did not see. A critic goes on learning beside the pipeline (as in adversarial distillation, Sauer
et al. 2024), and is told what a picture is to show (a projection discriminator, Miyato and Koyama 2018).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

from training.nationalities import Nationality
from training.progress import Progress

WIDTH, BATCH, RATE = 192, 32, 4e-4
LEARNED_BEFORE = 2500
"""Steps in which it learns traits of drawings, before it meets a flow's latents."""
BLUR = 0.35
"""At most so much noise is added to what it sees, so that no single cell tells."""


class Critic(nn.Module):
    """Small convolutions on [n, 4, 16, 16]; ``count`` nationalities of ``traits`` each."""

    def __init__(self, count: int, traits: int) -> None:
        super().__init__()
        sizes = ((4, 64, 1), (64, 128, 2), (128, 128, 1), (128, WIDTH, 2))
        layers: list[nn.Module] = []
        for before, after, stride in sizes:
            layers += [spectral_norm(nn.Conv2d(before, after, 3, stride, 1)), nn.LeakyReLU(0.2)]
        self.body = nn.Sequential(*layers, nn.Flatten(), spectral_norm(nn.Linear(16 * WIDTH, WIDTH)), nn.LeakyReLU(0.2))
        self.eyes = nn.Sequential(
            nn.Conv2d(4, 64, 3, 1, 1), nn.GELU(), nn.Conv2d(64, 96, 3, 2, 1), nn.GELU(), nn.Conv2d(96, 96, 3, 1, 1),
            nn.GELU(), nn.Conv2d(96, 128, 3, 2, 1), nn.GELU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * 128, 256),
            nn.GELU(), nn.Linear(256, count * traits),
        )  # fmt: skip
        self.drawn = spectral_norm(nn.Linear(WIDTH, 1))
        self.told = spectral_norm(nn.Linear(count * (traits + 1), WIDTH, bias=False))
        self.count, self.traits = count, traits

    def answers(self, latents: Tensor, number: Tensor) -> Tensor:
        """[n, traits], above zero where a trait is seen; ``number`` [n] says which nationality it is."""
        every: Tensor = self.eyes(blurred(latents)).unflatten(1, (self.count, self.traits))
        return every[torch.arange(len(latents)), number]

    def drawn_like(self, latents: Tensor, number: Tensor, shown: Tensor) -> Tensor:
        """[n]: how much they look drawn, given which of its traits [n, traits] each should show."""
        told = latents.new_zeros(len(latents), self.count, self.traits + 1)
        told[torch.arange(len(latents)), number] = torch.cat([2.0 * shown - 1, torch.ones_like(told[:, 0, :1])], 1)
        body: Tensor = self.body(blurred(latents))
        score: Tensor = self.drawn(body)[:, 0] + (self.told(told.flatten(1)) * body).sum(1)
        return score


def blurred(latents: Tensor) -> Tensor:
    """With noise added, more to some."""
    return latents + BLUR * torch.rand(len(latents), 1, 1, 1, device=latents.device) * torch.randn_like(latents)


class Judge:
    """A critic and what it learns from: drawings of each world and nationality."""

    def __init__(self, worlds: Sequence[Sequence[Nationality]], seed: int) -> None:
        self.worlds, self.rng = worlds, random.Random(seed)
        self.critic = Critic(len(worlds[0]), len(worlds[0][0].traits))
        self.sight = torch.optim.AdamW(self.critic.eyes.parameters(), 1e-3, weight_decay=1e-2)
        others = [weight for name, weight in self.critic.named_parameters() if not name.startswith("eyes")]
        self.taste = torch.optim.AdamW(others, RATE, betas=(0.0, 0.9), weight_decay=0.0)

    def learn_traits(self, steps: int = LEARNED_BEFORE) -> float:
        """Learn to see traits; returns the share of right answers about drawings it has not learned from."""
        progress = Progress("critic", steps)
        self.critic.train()
        for step in range(steps):
            latents, number, shown = self._drawn(BATCH, held=False)
            answers = self.critic.answers(latents, number)
            loss = functional.binary_cross_entropy_with_logits(answers, shown.float())
            loss.backward()  # type: ignore[no-untyped-call]
            self.sight.step()
            self.sight.zero_grad()
            progress.at(step + 1)
        self.critic.eval()
        self.critic.eyes.requires_grad_(False)
        latents, number, shown = self._drawn(512, held=True)
        with torch.no_grad():
            return float(((self.critic.answers(latents, number) > 0) == shown).float().mean())

    def learn_taste(self, latents: Tensor, number: Tensor, wanted: Tensor, world: Tensor) -> float:
        """One step of telling finished latents of a flow from drawings of the same nationalities and worlds."""
        parts = [self._some(self.worlds[w][n]) for w, n in zip(world.tolist(), number.tolist(), strict=True)]
        drawn, shown = torch.stack([part[0] for part in parts]), torch.stack([part[1] for part in parts])
        real = self.critic.drawn_like(drawn, number, shown)
        made = self.critic.drawn_like(latents.detach(), number, wanted)
        # Drawings with the traits of others are as wrong as made ones: what is told has to be looked for.
        wrong = self.critic.drawn_like(drawn, number, shown.roll(1, 0))
        differs = (shown != shown.roll(1, 0)).any(1).float()
        loss = (1 - real).clamp_min(0).mean() + (1 + made).clamp_min(0).mean()
        loss = loss + 0.5 * ((1 + wrong).clamp_min(0) * differs).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self.taste.step()
        self.taste.zero_grad()
        return float(loss.detach())

    def _drawn(self, count: int, *, held: bool) -> tuple[Tensor, Tensor, Tensor]:
        chosen = [(self.rng.choice(self.worlds), self.rng.randrange(self.critic.count)) for _ in range(count)]
        parts = [self._some(world[number], held=held) for world, number in chosen]
        numbers = torch.tensor([number for _, number in chosen])
        return torch.stack([part[0] for part in parts]), numbers, torch.stack([part[1] for part in parts])

    def _some(self, nationality: Nationality, *, held: bool = False) -> tuple[Tensor, Tensor]:
        count = len(nationality.latents)
        row = self.rng.randrange(count // 10) if held else self.rng.randrange(count // 10, count)
        return nationality.latents[row], nationality.shown[row]
