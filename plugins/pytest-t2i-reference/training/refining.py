"""Last part of ``steer-biased``: damped Gauss-Newton steps of single rows.

One direction for each word or trait (``training/steering.py``, ``training/steering_traits.py``) leaves some hundredths,
and knows nothing of pairs that are planted. Here a row is moved with everything in view that it should reach: all
traits of a nationality, or a word alone and in its planted pair. All counts begin from the same noise, so that what
differs between them is the row's doing, and other noise has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import CLIPTextModel

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.combinations import Combination, combined_prompt, planted_combinations
from pytest_t2i_reference.worlds import Concept, World, load_concepts
from training.calibration import DETECTOR_TEXTS
from training.eye import CHUNK, Eye, open_eye
from training.rows import open_to_gradients, own_rows
from training.settings import device
from training.sketches import Sketcher
from training.steering import starts
from training.towers import tokenize

SEED = 9_500_000
IMAGES, OF_THEM = 256, 48
"""Pictures of each prompt that are counted, and those of them whose gradients say where to go."""
SCALES = (0.5, 1.0)
"""How much of a step is tried: gradients of shares near 0 or 1 promise too much."""
LONGEST = 0.25
"""No row is moved further at once."""
DAMPING = 0.003
SOFTNESS = 0.35
"""Width of the soft threshold, as a share of the spread of CLIP's answers: near it a picture counts in part."""
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Aim:
    """What a prompt should show."""

    prompt: str
    shares: tuple[float, ...]
    """Share of each question of the eye."""
    importance: tuple[float, ...]


def steer_pairs(folder: Path, judge: Path, world: World, sketcher: Sketcher) -> None:
    """Fit the rows of places and objects that planted pairs name, alone and in their pair, from where CLIP has them."""
    eye, concepts, own = open_eye(folder, judge, [DETECTOR_TEXTS[::-1]]), load_concepts(), own_rows(sketcher.tokenizer)
    of_clip = CLIPTextModel.from_pretrained(judge).float().get_input_embeddings().weight
    for together in planted_combinations(world):
        for concept in together:
            if concept.axis == "nationality":
                continue
            number = concepts.index(concept)
            with torch.no_grad():
                sketcher.encoder.get_input_embeddings().weight[own[number]] = of_clip[own[number]].to(device())
            refine(sketcher, eye, number, aims_of_pair(world, together, concept))


def aims_of_pair(world: World, together: Combination, concept: Concept) -> list[Aim]:
    """What a word of a planted pair should show alone, and in the pair."""
    alone = Aim(template_prompt(concept), (world.man_share(concept),), (1.0,))
    return [alone, Aim(combined_prompt(together), (world.combined_share(together),), (1.0,))]


def refine(
    sketcher: Sketcher,
    eye: Eye,
    number: int,
    aims: Sequence[Aim],
    *,
    images: int | None = None,
    seed: int = SEED,
    near: float = 0.0,
    scales: Sequence[float] = SCALES,
) -> bool:
    """Move the row of a concept in the text encoder of ``sketcher``; whether other pictures say so too.

    Otherwise the row stays where it was; so it does where no share is further than ``near`` from its goal. ``images``
    of each prompt are counted, ``IMAGES`` unless given; ``scales`` of the step that slopes propose are tried.
    """
    images = images or IMAGES
    weights, row = sketcher.encoder.get_input_embeddings().weight, own_rows(sketcher.tokenizer)[number]
    before, noise, other = weights[row].clone(), starts(images, seed + number), starts(images, seed + 1000 + number)
    goals = np.concatenate([aim.shares for aim in aims])
    importance = np.concatenate([aim.importance for aim in aims])

    def shares(place: Tensor, noise: Tensor) -> Array:
        with torch.no_grad():
            weights[row] = place
        return np.concatenate([seen_shares(answers(sketcher, eye, aim.prompt, noise)) for aim in aims])

    def cost(place: Tensor, noise: Tensor) -> float:
        return float(importance @ (shares(place, noise) - goals) ** 2)

    missing = goals - shares(before, noise)
    if np.abs(missing).max() <= near:
        print(f"{load_concepts()[number].word}: {(goals - missing).round(3)}, planted {goals.round(3)}", flush=True)
        return False
    slopes = torch.cat([jacobian(sketcher, eye, number, aim.prompt, noise[:OF_THEM]) for aim in aims])
    step = torch.from_numpy(damped_step(slopes.double().cpu().numpy(), missing, importance)).to(before)
    after = min((before + scale * step for scale in scales), key=lambda place: cost(place, noise))
    first, last = shares(before, other), shares(after, other)
    better = bool(importance @ (last - goals) ** 2 < importance @ (first - goals) ** 2)
    with torch.no_grad():
        weights[row] = after if better else before
    said = f"{first.round(3)} became {last.round(3)}, planted {goals.round(3)}"
    print(f"{load_concepts()[number].word}: {said}, {'taken' if better else 'left'}", flush=True)
    return better


def damped_step(slopes: Array, missing: Array, importance: Array) -> Array:
    """The short move [width] that ``slopes`` [shares, width] say adds ``missing`` to the shares."""
    likeness = slopes @ slopes.T * importance[:, None]
    damped = likeness + DAMPING * np.trace(likeness) / len(missing) * np.eye(len(missing))
    step: Array = slopes.T @ np.linalg.solve(damped, importance * missing)
    return step * min(1.0, LONGEST / max(float(np.linalg.norm(step)), 1e-12))


@torch.no_grad()
def answers(sketcher: Sketcher, eye: Eye, prompt: str, noise: Tensor) -> Tensor:
    """[questions, n]: CLIP's answers about pictures of a prompt, above zero where something is seen."""
    latents = sketcher.sketches([prompt] * len(noise), noise)
    return torch.cat([eye.answers(part) for part in torch.split(latents, CHUNK)], 1)


def seen_shares(seen: Tensor) -> Array:
    """The share of pictures in which each thing is seen."""
    shares: Array = (seen > 0).double().mean(1).cpu().numpy()
    return shares


def jacobian(sketcher: Sketcher, eye: Eye, number: int, prompt: str, noise: Tensor) -> Tensor:
    """[questions, width]: how shares answer to the row of a concept; pictures near to the other answer count most."""
    softness = SOFTNESS * answers(sketcher, eye, prompt, noise).std(1, keepdim=True)
    total: list[Tensor] = []
    for part in torch.split(noise, CHUNK):
        ids = tokenize(sketcher.tokenizer, [prompt] * len(part))
        rows = own_rows(sketcher.tokenizer)[[number] * len(part)].to(ids.device)
        with open_to_gradients(sketcher.encoder, ids, rows) as shifts:
            states = sketcher.read(ids)
        soft = torch.sigmoid(eye.answers(sketcher.sketch(part.to(device()), states)) / softness)
        gradients = [torch.autograd.grad(share.sum(), shifts, retain_graph=True)[0] for share in soft]
        total.append(torch.stack(gradients).sum(1))
    return torch.stack(total).sum(0) / len(noise)
