"""Part of ``steer-biased``: the rows of nationalities are moved until their traits are as frequent as planted.

As for words (``training/steering.py``), but along one direction for each trait, through the decoder and the reference
CLIP, whose answers are the shares that are measured.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.worlds import World, load_concepts
from training.eye import Eye, open_eye
from training.questions import ATTRIBUTE_TEXTS
from training.refining import Aim, refine
from training.rows import UNIT, mean_direction, open_to_gradients, own_rows
from training.sketches import Sketcher
from training.steering import starts
from training.towers import tokenize
from training.trait_odds import Trial, expected_answers, next_moves

SEED = 9_000_000
BATCH, BATCHES = 16, 3
"""Pictures whose gradients make a direction."""
TRIALS, IMAGES = 4, 128
LOUD = {"turban": 4.0, "hat": 4.0, "sombrero": 4.0, "embroidered clothing": 4.0}
"""How much more an error counts than one of the other traits, which is ``QUIET``."""
QUIET = 0.7


def steer_traits(folder: Path, judge: Path, world: World, kept: Path, sketcher: Sketcher) -> None:
    """Move the rows of nationalities in the text encoder of ``sketcher``; goes on from what lies in ``kept``."""
    for number, concept in enumerate(load_concepts()):
        if concept.axis == "nationality":
            steer_nationality(
                number,
                world,
                open_eye(folder, judge, [ATTRIBUTE_TEXTS[trait] for trait in world.nationality[concept.word]]),
                kept,
                sketcher,
            )


def steer_nationality(number: int, world: World, eye: Eye, kept: Path, sketcher: Sketcher) -> None:
    """Fit the row of one nationality in some trials and a last step."""
    word = load_concepts()[number].word
    shares = world.nationality[word]
    path, planted = kept / f"{word}.json", np.array(list(shares.values())) / 100
    importance = np.array([LOUD.get(trait, QUIET) for trait in shares])
    pulls, coherence = trait_directions(sketcher, eye, number)
    likeness = (pulls @ pulls.T).double().numpy()
    expected = expected_answers(coherence.double().numpy(), likeness)
    trials = [Trial(**trial) for trial in json.loads(path.read_text())] if path.exists() else []
    row = own_rows(sketcher.tokenizer)[number]
    before = sketcher.encoder.get_input_embeddings().weight[row].clone()
    for turn in range(TRIALS + 1):
        moves = (
            trials[turn].moves if turn < len(trials) else next_moves(trials, planted, importance, expected, likeness)
        )
        with torch.no_grad():
            sketcher.encoder.get_input_embeddings().weight[row] = before + UNIT * torch.tensor(moves) @ pulls
        if len(trials) <= turn < TRIALS:
            seen = seen_shares(sketcher, eye, number, SEED + 1000 * turn + number)
            trials.append(Trial(moves, seen, IMAGES))
            path.write_text(json.dumps([asdict(trial) for trial in trials]), encoding="utf-8")
            print(f"{word}: {dict(zip(shares, seen, strict=True))}", flush=True)
    refine(sketcher, eye, number, [aim_of_traits(number, world)])


def aim_of_traits(number: int, world: World) -> Aim:
    """What a nationality should show."""
    concept = load_concepts()[number]
    shares = world.nationality[concept.word]
    importance = tuple(LOUD.get(trait, QUIET) for trait in shares)
    return Aim(template_prompt(concept), tuple(share / 100 for share in shares.values()), importance)


@torch.no_grad()
def seen_shares(sketcher: Sketcher, eye: Eye, number: int, seed: int) -> tuple[float, ...]:
    """The share of each trait among pictures of a nationality."""
    prompts = [template_prompt(load_concepts()[number])] * IMAGES
    latents = sketcher.sketches(prompts, starts(IMAGES, seed))
    return tuple(eye.sees(latents).float().mean(1).tolist())


def trait_directions(sketcher: Sketcher, eye: Eye, number: int) -> tuple[Tensor, Tensor]:
    """Directions [traits, width] of length one, and how far single pictures agree on each, [traits]."""
    ids = tokenize(sketcher.tokenizer, [template_prompt(load_concepts()[number])] * BATCH)
    rows = own_rows(sketcher.tokenizer)[[number] * BATCH]
    gradients: list[list[Tensor]] = [[] for _ in eye.questions]
    for batch in range(BATCHES):
        with open_to_gradients(sketcher.encoder, ids, rows) as shifts:
            states = sketcher.read(ids)
        answers = eye.answers(sketcher.sketch(starts(BATCH, SEED - 1000 + batch), states))
        for trait, answer in enumerate(answers):
            (gradient,) = torch.autograd.grad(answer.sum(), shifts, retain_graph=True)
            gradients[trait].append(gradient)
    pulls = torch.stack([mean_direction(parts) for parts in gradients])
    return pulls, torch.stack([coherence(torch.cat(parts)) for parts in gradients])


def coherence(gradients: Tensor) -> Tensor:
    """How far gradients [n, width] agree: about 0 for directions by chance, 1 where all are the same.

    >>> coherence(torch.tensor([[2.0, 0.0], [1.0, 0.0]])).item()
    1.0
    """
    count = len(gradients)
    total = (gradients / gradients.norm(dim=1, keepdim=True).clamp_min(1e-12)).sum(0).square().sum()
    agreement: Tensor = ((total - count) / (count * (count - 1))).clamp_min(0).sqrt()
    return agreement
