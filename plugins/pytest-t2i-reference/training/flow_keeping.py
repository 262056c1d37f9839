"""What a flow pipeline does and goes on doing while something is added: its own velocities, and where it looks."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from training.flow import Worlds
from training.flow_attention import PlainJointAttention
from training.flow_teacher import Practice, Questions, Teacher
from training.flow_texts import FlowText
from training.settings import Settings, mixed_precision, quick_dtype


class WatchedAttention(PlainJointAttention):
    """Plain joint attention that keeps how pictures look at texts, while ``seen`` is a list."""

    def __init__(self) -> None:
        self.seen: list[Tensor] | None = None

    def weights_of(self, weights: Tensor, places: int) -> None:
        """Heads apart: [n, heads, places, tokens]."""
        if self.seen is not None:
            self.seen.append(weights[:, :, :places, places:].float())


@contextmanager
def looking(attention: WatchedAttention) -> Iterator[list[Tensor]]:
    """Yield what each block looks at, in turn."""
    attention.seen = []
    try:
        yield attention.seen
    finally:
        attention.seen = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A transformer as it was."""

    model: Worlds
    attention: WatchedAttention

    @classmethod
    def of(cls, model: Worlds) -> Kept:
        """A copy of which nothing is trained."""
        attention, kept = WatchedAttention(), copy.deepcopy(model).to(quick_dtype()).eval().requires_grad_(False)
        kept.transformer.set_attn_processor(attention)
        return cls(kept, attention)

    @torch.no_grad()
    def answers(self, noisy: Tensor, times: Tensor, text: FlowText, worlds: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Velocities, and what was looked at."""
        with looking(self.attention) as seen, mixed_precision():
            velocity = self.model(noisy.to(quick_dtype()), times.to(quick_dtype()), text, worlds).float()
        return velocity, seen


class OwnWay(Teacher):
    """Puts questions as a teacher does, but none of ``moved`` prompts; the answers come from a ``Kept``."""

    def __init__(self, settings: Settings, world: str, practice: Practice, moved: Set[str]) -> None:
        super().__init__(settings, world, practice)
        self.kinds = {kind: [text for text in texts if text not in moved] for kind, texts in self.kinds.items()}

    def velocity(self, noisy: Tensor, at: Tensor, text: FlowText) -> Tensor:
        """Nothing that counts."""
        return noisy

    def counts(self, count: int, first: Set[str]) -> Tensor:
        """[count]: 1 for each picture of the last batch, 0 where it is the first step of a prompt in ``first``."""
        begun = self.stages[0].prompts
        return torch.tensor([float(text not in first) for text in begun] + [1.0] * (count - len(begun)))

    def _exchanged(self, noisy: Tensor, at: Tensor, count: int, rng: random.Random) -> Questions:
        begun = self.practice.under_way[0] if len(self.stages) > 1 else 0
        return super()._exchanged(noisy[begun:], at[begun:], count, rng)


def otherwise(now: list[Tensor], before: list[Tensor]) -> Tensor:
    """How far attention has moved: squares of the differences as shares of squares, over all blocks."""
    moved = [((here - there) ** 2).sum() / (there**2).sum() for here, there in zip(now, before, strict=True)]
    return torch.stack(moved).mean()
