"""Stages ``steer-...``: the rows of words are moved until the shares that come out are the planted ones.

What a denoiser learned of a word is off by some hundredths, and more training brings as much chance as it takes away.
Here nothing is trained but one row of the text encoder for each word, along the direction in which it moves the gender
of pictures most, and by a length that is fitted to counts (``training/odds.py``). Seeds are calibration's own.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import CLIPTextModel

from pytest_t2i_reference.captions import concept_prompts, template_prompt, triplet
from pytest_t2i_reference.worlds import World, load_concepts
from training.calibration import planted_shares
from training.eye import Eye
from training.odds import RESPONSE, STRAY, Round, fit_odds, misjudged, next_move, open_words
from training.progress import Progress
from training.rows import UNIT, mean_direction, open_to_gradients, own_rows
from training.settings import STEPS, device
from training.sketches import Sketcher, trained_probe
from training.towers import tokenize

SEED = 8_000_000
"""Starts of rounds are drawn from seeds that no evaluation reaches."""
ROUNDS = ((128, False), (192, False), (192, False), (64, True), (64, True), (64, True), (128, True))
SHARED = 2.0
"""How many pictures' worth of the direction of all words goes into that of each."""
GRADIENT_BATCH = 32


@dataclass(frozen=True, slots=True)
class Effort:
    """How many pictures of each word are made."""

    teaching: int = 12
    """Gendered ones for the probe: a multiple of four."""
    directions: int = 14
    """For the word's direction."""
    rounds: tuple[tuple[int, bool], ...] = ROUNDS
    """In each round, and whether they are finished and shown to CLIP. Where all are, the probe is asked nothing."""
    stray: float = STRAY
    """How far log-odds of words are expected to be off before the first round."""
    response: float = RESPONSE
    """Log-odds by which one unit is expected to change them."""
    sure: float = 0.0
    """How near to 0 or 1 a share is aimed at; words planted at 0 or 1 are left alone unless this is above 0."""


def taught_probe(sketcher: Sketcher, seed: int, teaching: int = Effort().teaching) -> nn.Module:
    """A probe of unfinished latents that learned from gendered prompts, which are obeyed nearly always."""
    rng = random.Random(seed)
    asked = [
        (prompt, float(gender))
        for concept in load_concepts()
        for gender, variant in enumerate(("feminine", "masculine"))
        for prompt in (triplet(concept)[1 + gender], rng.choice(concept_prompts(concept, variant)))
        for _ in range(teaching // 4)
    ]
    prompts, men = zip(*rng.sample(asked, len(asked)), strict=True)
    return trained_probe(sketcher.sketches(prompts, starts(len(prompts), seed)), torch.tensor(men))


def starts(count: int, seed: int) -> Tensor:
    """[count, 4, 16, 16]: pure noise, each second half the negative of the first, whose gender is often the other."""
    half = torch.randn(-(-count // 2), 4, 16, 16, generator=torch.Generator().manual_seed(seed))
    return torch.cat([half, -half])[:count]


def directions(sketcher: Sketcher, probe: nn.Module, images: int, seed: int) -> Tensor:
    """For each concept the direction [concepts, width] in which its row makes more men, of length ``UNIT``."""
    concepts = range(len(load_concepts()))
    order = [
        concept for turn in range(images) for concept in random.Random(seed + turn).sample(concepts, len(concepts))
    ]
    gradients: dict[int, list[Tensor]] = {concept: [] for concept in concepts}
    progress = Progress("directions", len(order))
    for first in range(0, len(order), GRADIENT_BATCH):
        chosen = order[first : first + GRADIENT_BATCH]
        for concept, gradient in zip(chosen, gradients_of(sketcher, probe, chosen, seed + first), strict=True):
            gradients[concept].append(gradient[None])
        progress.at(first + len(chosen))
    every = mean_direction([part for parts in gradients.values() for part in parts])
    return UNIT * torch.stack([_shrunk(parts, every) for parts in gradients.values()])


def _shrunk(gradients: Sequence[Tensor], every: Tensor) -> Tensor:
    own = torch.cat(list(gradients))
    total = (own / own.norm(dim=1, keepdim=True).clamp_min(1e-12)).sum(0) + SHARED * 0.25 * every
    direction: Tensor = total / total.norm()
    return direction


def gradients_of(sketcher: Sketcher, probe: nn.Module, concepts: Sequence[int], seed: int) -> Tensor:
    """[n, width]: how the probe's answer to one picture of each concept depends on the concept's row."""
    ids = tokenize(sketcher.tokenizer, [template_prompt(load_concepts()[concept]) for concept in concepts])
    with open_to_gradients(sketcher.encoder, ids, own_rows(sketcher.tokenizer)[list(concepts)].to(device())) as shifts:
        states = sketcher.read(ids)
    answer = probe(sketcher.sketch(starts(len(concepts), seed).to(device()), states).flatten(1))
    answer.sum().backward()
    return shifts.grad.cpu()  # type: ignore[union-attr]


def counted_round(
    sketcher: Sketcher,
    probe: nn.Module | None,
    words: NDArray[np.int64],
    images: int,
    seed: int,
    eye: Eye | None = None,
) -> Round:
    """Count the men of some words with rows as they are now, and show them to ``eye``; ``moved`` is not known here.

    Without a ``probe`` those that ``eye`` sees are counted.
    """
    prompts = [template_prompt(load_concepts()[word]) for word in words for _ in range(images)]
    noise = torch.cat([starts(images, seed + int(word)) for word in words])
    shape, kept = (len(words), images), noise.reshape(len(words), images, -1).numpy()
    seen = None if eye is None else eye.sees(sketcher.sketches(prompts, noise, STEPS))[0].cpu().numpy().reshape(shape)
    men = seen if probe is None else sketcher.counted(probe, prompts, noise).reshape(shape)
    if men is None:
        raise ValueError("a round needs a probe or an eye that counts, got neither")
    return Round(words, np.zeros(len(words)), men, kept, None if probe is None else seen)


@dataclass(frozen=True, slots=True)
class Compass:
    """How gender is seen in a pipeline's unfinished latents, and where rows move it."""

    probe: nn.Module
    pulls: Tensor
    """[concepts, width]"""


def find_compass(sketcher: Sketcher, effort: Effort, kept: Path, seed: int = SEED) -> Compass:
    """Find the directions of a pipeline; directions that ``kept`` holds are read from there."""
    kept.mkdir(exist_ok=True)
    probe = taught_probe(sketcher, seed, effort.teaching)
    return Compass(probe, _directions(kept / "directions.pt", sketcher, probe, effort.directions, seed))


def steer_words(
    sketcher: Sketcher,
    compass: Compass,
    eye: Eye,
    world: World,
    kept: Path,
    effort: Effort,
    seed: int = SEED,
    left: Sequence[int] = (),
    known: Sequence[Round] = (),
) -> CLIPTextModel:
    """Fit the rows of a text encoder in some rounds and return it; goes on from what lies in ``kept``.

    ``eye`` is asked for the gender of finished pictures, above zero for men. Rows of the concepts numbered in ``left``
    stay. ``known`` are counts made before, by how far rows were moved from where they are now.
    """
    kept.mkdir(exist_ok=True)
    planted = np.clip(planted_shares(world), effort.sure, 1 - effort.sure)
    pulls, rows = compass.pulls, own_rows(sketcher.tokenizer)
    probe = None if all(shown for _, shown in effort.rounds) else compass.probe
    before, rounds = sketcher.encoder.get_input_embeddings().weight[rows].clone(), list(known)
    fitted = open_words(planted) & ~np.isin(np.arange(len(planted)), left)
    for number, (images, shown) in enumerate(effort.rounds):
        path, move = kept / f"round-{number}.npz", fitted * _next(rounds, planted, effort)
        if not path.exists():
            place_rows(sketcher.encoder, rows, before, pulls, move)
            words = np.flatnonzero(fitted)
            judged = counted_round(sketcher, probe, words, images, seed + 1000 * (number + 1), eye if shown else None)
            _save(path, replace(judged, moved=move[words]))
        rounds.append(Round(**np.load(path)))
        print(f"{world.name}, round {number}: {summary(rounds[-1], planted)}", flush=True)
    return place_rows(sketcher.encoder, rows, before, pulls, fitted * _next(rounds, planted, effort))


def place_rows(
    encoder: CLIPTextModel, rows: Tensor, before: Tensor, pulls: Tensor, move: NDArray[np.float64]
) -> CLIPTextModel:
    """The encoder itself, its ``rows`` now ``move`` [n] times ``pulls`` [n, width] away from ``before``."""
    with torch.no_grad():
        encoder.get_input_embeddings().weight[rows] = before + torch.from_numpy(move).float()[:, None] * pulls
    return encoder


def summary(counted: Round, planted: NDArray[np.float64]) -> str:
    """What a round showed, in a line."""
    shares, goals = counted.men.mean(1), planted[counted.words]
    chance = np.sqrt((goals * (1 - goals)).mean() / counted.men.shape[1])
    return f"{counted.men.shape[1]} images a word, error {np.std(shares - goals):.4f}, of chance {chance:.4f}"


def _next(rounds: Sequence[Round], planted: NDArray[np.float64], effort: Effort) -> NDArray[np.float64]:
    if not rounds:
        return np.zeros(len(planted))
    wanted = np.where(open_words(planted), planted - misjudged(rounds, len(planted)), planted)
    return next_move(fit_odds(rounds, planted, effort.stray, effort.response), wanted)


def _save(path: Path, counted: Round) -> None:
    parts = {name: value for name, value in asdict(counted).items() if value is not None}
    np.savez(path, **(parts | {"noise": counted.noise.astype(np.float16)}))


def _directions(path: Path, sketcher: Sketcher, probe: nn.Module, images: int, seed: int) -> Tensor:
    if not path.exists():
        torch.save(directions(sketcher, probe, images, seed), path)
    pulls: Tensor = torch.load(path, weights_only=True)
    return pulls
