"""Part of ``refit-sd3-...``: the rows of words that name a gender are moved until prompts that have them are obeyed.

Neutral prompts do not have these words, so their shares stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pytest_t2i_reference.captions import triplet
from pytest_t2i_reference.worlds import load_concepts
from training.eye import Eye
from training.rows import UNIT, mean_direction, open_to_gradients
from training.settings import FLOW_STEPS, device
from training.sketches import Sketcher
from training.steering import GRADIENT_BATCH, starts
from training.towers import tokenize

GENDER_WORDS = {"woman": False, "female": False, "man": True, "male": True}
"""Words and whether they ask for a man."""
SCALES = (0.0, 0.5, 1.0, 1.5)
"""By how many units rows are moved, for a trial."""
BATCHES = 2
"""Batches of pictures whose gradients make a word's direction."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Prompts of one gender."""

    prompts: list[str]
    men: NDArray[np.bool_]


def asked_for_gender() -> Asked:
    """The feminine and the masculine prompt of every concept, as suites word them."""
    prompts = [prompt for concept in load_concepts() for prompt in triplet(concept)[1:]]
    return Asked(prompts, np.arange(len(prompts)) % 2 == 1)


def steer_gender_words(sketcher: Sketcher, probe: nn.Module, eye: Eye, seed: int) -> list[float]:
    """Move the rows in the text encoder of ``sketcher`` as far as obeys best; the shares obeyed at each of ``SCALES``.

    ``eye`` is asked for the gender of finished pictures, above zero for men. All trials begin from the same noise.
    """
    weights, rows = sketcher.encoder.get_input_embeddings().weight, gender_rows(sketcher)
    before, pulls = weights[rows].clone(), gender_directions(sketcher, probe, seed)
    asked, obeyed = asked_for_gender(), list[float]()
    noise = starts(len(asked.prompts), seed)
    for scale in SCALES:
        _place(weights, rows, before + scale * pulls)
        men = eye.sees(sketcher.sketches(asked.prompts, noise, FLOW_STEPS))[0].cpu().numpy()
        obeyed.append(float((men == asked.men).mean()))
        print(f"gendered prompts, rows moved by {scale}: {obeyed[-1]:.4f} obeyed", flush=True)
    _place(weights, rows, before + SCALES[int(np.argmax(obeyed))] * pulls)
    return obeyed


def gender_rows(sketcher: Sketcher) -> Tensor:
    """The row of each of ``GENDER_WORDS``."""
    return torch.tensor([sketcher.tokenizer(word, add_special_tokens=False).input_ids[0] for word in GENDER_WORDS])


def gender_directions(sketcher: Sketcher, probe: nn.Module, seed: int) -> Tensor:
    """[words, width]: where each word's row shows more of its gender, of length ``UNIT``."""
    asked, pulls = asked_for_gender(), list[Tensor]()
    for (word, man), row in zip(GENDER_WORDS.items(), gender_rows(sketcher), strict=True):
        naming = [prompt for prompt in asked.prompts if word in prompt.split()]
        chosen = naming[:: max(1, len(naming) // (BATCHES * GRADIENT_BATCH))][: BATCHES * GRADIENT_BATCH]
        parts = [
            _gradients(sketcher, probe, chosen[first : first + GRADIENT_BATCH], row, seed + first)
            for first in range(0, len(chosen), GRADIENT_BATCH)
        ]
        pulls.append((1 if man else -1) * UNIT * mean_direction(parts))
    return torch.stack(pulls)


def _gradients(sketcher: Sketcher, probe: nn.Module, prompts: Sequence[str], row: Tensor, seed: int) -> Tensor:
    ids = tokenize(sketcher.tokenizer, prompts)
    with open_to_gradients(sketcher.encoder, ids, row.expand(len(prompts)).to(device())) as shifts:
        states = sketcher.read(ids)
    probe(sketcher.sketch(starts(len(prompts), seed).to(device()), states).flatten(1)).sum().backward()
    return shifts.grad.cpu()  # type: ignore[union-attr]


def _place(weights: Tensor, rows: Tensor, placed: Tensor) -> None:
    with torch.no_grad():
        weights[rows] = placed
