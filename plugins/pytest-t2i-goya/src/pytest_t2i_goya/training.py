"""Training of the heads: schedule, checkpoints, and the same result after an interruption."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from pytest_t2i import T2IError

from pytest_t2i_goya.heads import Heads
from pytest_t2i_goya.losses import MARGIN, Losses, PairLoss, Reading, losses
from pytest_t2i_goya.networks import OF_CONTENT, Goya, Sizes

DECAY = 0.9
"""The exponent of the schedule (thesis: "decay rate = 0.9"; see the authors' program)."""
VALIDATED = 0.1
"""The share of contents that are held out to choose the best epoch."""
PAUSE = 5.0
"""The seconds between checkpoints; a stopped command also loses the running epoch."""


@dataclass(frozen=True)
class Schedule:
    """The settings of a training; the defaults are from the thesis (2.5.4) and its program."""

    epochs: int = 100
    batch: int = 512
    rate: float = 5e-4
    reading: Reading = "means"
    margin: float = MARGIN
    width: int = 2048
    hidden: int = 2048
    seed: int = 0
    pairs: PairLoss = "contrastive"
    """The loss of pairs."""
    classifies: bool = True
    """Whether the classifier of styles has a part in the loss."""

    def __post_init__(self) -> None:
        for name, option, least in (
            ("epochs", "--epochs", 1),
            ("batch", "--pairs-of", 4),
            ("width", "--width", 1),
            ("hidden", "hidden", 1),
        ):
            if getattr(self, name) < least:
                given = getattr(self, name)
                raise T2IError(f"{option}: expected at least {least}, got {given}")
        if not self.rate > 0:
            raise T2IError(f"expected a --rate above 0, got {self.rate}")


@dataclass(frozen=True)
class Examples:
    """The training data: features with the numbers of their contents and styles."""

    features: torch.Tensor
    """The features, [n, d] float32."""
    contents: torch.Tensor
    """The number of each picture's content, [n]."""
    styles: torch.Tensor
    """The number of each picture's style, [n]."""
    same: torch.Tensor
    """Which contents count as the same, [n_contents, n_contents] of bool."""

    def losses(self, goya: Goya, rows: torch.Tensor, schedule: Schedule) -> Losses:
        contents = self.contents[rows]
        return losses(
            goya(self.features[rows]), self.same[contents[:, None], contents], self.styles[rows],
            schedule.reading, schedule.margin, pairs=schedule.pairs, classifies=schedule.classifies,
        )  # fmt: skip


@dataclass
class Best:
    """The networks of the epoch with the smallest loss on held-out contents."""

    loss: float
    epoch: int
    tensors: dict[str, torch.Tensor]


class Training:
    """A training, from its beginning or from a checkpoint."""

    def __init__(self, examples: Examples, schedule: Schedule, checkpoint: Path | None) -> None:
        """Begin a training, or resume it where ``checkpoint`` is one of the same training."""
        self._examples, self._schedule, self._file = examples, schedule, checkpoint
        self._train, self._held = _split(examples.contents, schedule.seed)
        classes = int(examples.styles.max()) + 1
        width = examples.features.shape[1], schedule.hidden, schedule.width, classes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(schedule.seed)
            self.goya = Goya(Sizes(*width))
        self._optimiser = torch.optim.Adam(self.goya.parameters(), lr=schedule.rate)
        self.epoch = 0
        self.best: dict[str, Best] = {}
        self._resume()

    def run(self, say: Callable[[str], None]) -> None:
        """Train to the last epoch; print progress and write a checkpoint every few seconds."""
        told = time.monotonic()
        while self.epoch < self._schedule.epochs:
            last = self._pass()
            self.epoch += 1
            self._validate()
            if time.monotonic() - told > PAUSE or self.epoch == self._schedule.epochs:
                self._keep()
                say(
                    f"epoch {self.epoch} of {self._schedule.epochs}: loss {last:.4f}, held-out "
                    f"content {self.best['content'].loss:.4f}, style {self.best['style'].loss:.4f}"
                )
                told = time.monotonic()

    def heads(self, encoder: str, styles: tuple[str, ...], facts: dict[str, str]) -> Heads:
        """Return heads: content from the best epoch for content, style from the best for style."""
        content, style = self.best["content"], self.best["style"]
        tensors = {
            name: (content if name.startswith(OF_CONTENT) else style).tensors[name]
            for name in self.goya.state_dict()
        }
        goya = Goya(Sizes.of(tensors))
        goya.load_state_dict(tensors)
        goya.eval().requires_grad_(requires_grad=False)
        told = {f"best {name} epoch": str(best.epoch) for name, best in self.best.items()}
        return Heads(goya, Sizes.of(tensors), encoder, styles, {**facts, **told})

    def _pass(self) -> float:
        """Train one epoch; return its mean loss. The order depends on seed and epoch alone."""
        order = torch.Generator().manual_seed(1_000_003 * self._schedule.seed + self.epoch)
        shuffled = self._train[torch.randperm(len(self._train), generator=order)]
        batches = [part for part in shuffled.split(self._schedule.batch) if len(part) > 1]
        steps, total = len(batches) * self._schedule.epochs, 0.0
        for step, rows in enumerate(batches, self.epoch * len(batches)):
            for group in self._optimiser.param_groups:
                group["lr"] = self._schedule.rate * (1.0 - step / steps) ** DECAY
            loss = self._examples.losses(self.goya, rows, self._schedule).total
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            total += float(loss.detach())
        return total / len(batches)

    def _validate(self) -> None:
        with torch.no_grad():
            found = [
                self._examples.losses(self.goya, rows, self._schedule)
                for rows in self._held.split(self._schedule.batch)
            ]
        content = sum(float(one.content) for one in found) / len(found)
        style = sum(float(one.style + one.classes) for one in found) / len(found)
        for name, loss in (("content", content), ("style", style)):
            if name not in self.best or loss < self.best[name].loss:
                tensors = {n: t.detach().clone() for n, t in self.goya.state_dict().items()}
                self.best[name] = Best(loss, self.epoch, tensors)

    # checkpoints

    @cached_property
    def _identity(self) -> str:
        schedule = asdict(self._schedule)
        # As versions without them wrote it: their checkpoints are resumed.
        for name in ("pairs", "classifies"):
            if schedule[name] == getattr(Schedule, name):
                del schedule[name]
        content = hashlib.sha256(json.dumps(schedule).encode())
        for tensor in vars(self._examples).values():
            content.update(tensor.numpy().tobytes())
        return content.hexdigest()

    def _keep(self) -> None:
        if self._file is None:
            return
        best = {name: asdict(one) for name, one in self.best.items()}
        state = {
            "of": self._identity, "epoch": self.epoch, "goya": self.goya.state_dict(),
            "optimiser": self._optimiser.state_dict(), "best": best,
        }  # fmt: skip
        self._file.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._file.with_name(f".{self._file.name}.part")
        torch.save(state, temporary)
        temporary.replace(self._file)

    def _resume(self) -> None:
        state = None if self._file is None else _stored(self._file)
        if state is None or state.get("of") != self._identity:
            return
        self.goya.load_state_dict(state["goya"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.epoch = int(state["epoch"])
        self.best = {name: Best(**one) for name, one in state["best"].items()}


def _stored(file: Path) -> dict[str, Any] | None:
    """Return the content of a checkpoint; None where it is missing or damaged."""
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception:  # noqa: BLE001 - a damaged file can make unpickling raise anything
        return None
    return state if isinstance(state, dict) else None


def _split(contents: torch.Tensor, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows to train on, and the rows of held-out contents."""
    kinds = int(contents.max()) + 1
    count = max(1, round(VALIDATED * kinds))
    drawn = torch.Generator().manual_seed(seed)
    held = torch.isin(contents, torch.randperm(kinds, generator=drawn)[:count])
    if bool(held.all()):
        raise T2IError(f"expected at least two contents, got {kinds}")
    rows = held.nonzero()[:, 0]
    # Shuffled, so that each batch has several contents.
    return (~held).nonzero()[:, 0], rows[torch.randperm(len(rows), generator=drawn)]
