"""Pictures for the stages ``ground-...``: a denoiser's own, each look on the way to them, and where their nouns lie."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i.prompts import lemma, nouns
from torch import Tensor
from torch.nn import functional

from pytest_t2i_reference.drawing.attributes import PLACES
from pytest_t2i_reference.worlds import World, load_concepts
from training.finder import object_finder
from training.flow_prompts import draw_prompts, prompts_by_kind
from training.progress import Progress
from training.settings import Settings, device
from training.sketches import Sketcher

PICTURES = 2400
SEED = 9_900_000
"""Their starts are drawn from seeds that no evaluation reaches."""
CHUNK = 32
SIDE = 8
"""Side of the finest maps of cross-attention."""
SIZE = (128, 128)
MIX = {
    "neutral": 0.34,
    "template": 0.12,
    "gendered": 0.10,
    "combined": 0.10,
    "planted": 0.02,
    "trait": 0.06,
    "headwear": 0.10,
    "plain": 0.13,
    "empty": 0.03,
}
"""Shares of the kinds of prompts: more with things that can be seen than flow pipelines need."""
PERSON = "person"
PEOPLE = frozenset({PERSON, "woman", "man"}) | {
    lemma(concept.word.lower().split()[-1]) for concept in load_concepts() if concept.axis == "profession"
}
"""Nouns of people: their place is the person's."""
GROUNDS = frozenset(word for place in PLACES for word in place.split())
"""Nouns of places: theirs is all but the person."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pictures:
    """What the denoiser practises on."""

    prompts: list[str]
    noisy: Tensor
    """[n, STEPS, 4, 16, 16] float16: what is looked at."""
    tokens: Tensor
    """[nouns, TOKENS] float16: for each noun of each picture which share of its map every token's map is."""
    regions: Tensor
    """[nouns, SIDE, SIDE] float16: where it lies, as shares that sum to 1."""
    rows: Tensor
    """[nouns] the picture of each."""


def make_pictures(
    settings: Settings, world: World, sketcher: Sketcher, autoencoder: AutoencoderKL, path: Path
) -> Pictures:
    """Pictures of prompts of every kind; those that lie in ``path`` are not made again."""
    if not path.exists():
        kinds = prompts_by_kind(settings, world)
        prompts = draw_prompts(kinds, PICTURES, random.Random(f"{settings.seed} {world.name} ground"), MIX)
        noise = torch.randn(len(prompts), 4, 16, 16, generator=torch.Generator().manual_seed(SEED))
        finder, progress, parts = object_finder(), Progress("own", PICTURES), []
        for first in range(0, PICTURES, CHUNK):
            chosen = prompts[first : first + CHUNK]
            with torch.no_grad():
                looks = list(sketcher.way(noise[first : first + CHUNK].to(device()), sketcher.states(chosen)))
            seen = finder.objects(as_images(autoencoder, looks[-1][1]))
            of_nouns = [
                (first + row, tokens, region)
                for row, (prompt, objects) in enumerate(zip(chosen, seen, strict=True))
                for tokens, region in nouns_of(sketcher, prompt, {each.name: each.region(SIZE) for each in objects})
            ]
            parts.append((torch.stack([noisy for noisy, _ in looks], 1).half().cpu(), of_nouns))
            progress.at(first + len(chosen))
        rows, tokens, regions = zip(*(noun for _, of_nouns in parts for noun in of_nouns), strict=True)
        made = {
            "prompts": prompts,
            "noisy": torch.cat([noisy for noisy, _ in parts]),
            "tokens": torch.stack(tokens).half(),
            "regions": torch.stack(regions).half(),
            "rows": torch.tensor(rows),
        }
        torch.save(made, path)
    return Pictures(**torch.load(path, weights_only=True))


@torch.no_grad()
def as_images(autoencoder: AutoencoderKL, latents: Tensor) -> list[Image.Image]:
    """Finished latents as pictures."""
    scaled = (latents / autoencoder.config.scaling_factor).to(autoencoder.dtype)
    pixels = autoencoder.decode(scaled, return_dict=False)[0].float().clamp(-1, 1)
    colours = ((pixels.permute(0, 2, 3, 1) + 1) * 127.5).round().byte().cpu().numpy()
    return [Image.fromarray(each) for each in colours]


def nouns_of(sketcher: Sketcher, prompt: str, seen: Mapping[str, Mask]) -> list[tuple[Tensor, Tensor]]:
    """Return the tokens [TOKENS] and the place [SIDE, SIDE] of each noun of a prompt that is seen."""
    found = []
    for noun, word in nouns(prompt):
        region, places = region_of(noun, seen), places_of(sketcher, prompt, word)
        if region is None or not places:
            continue
        tokens = torch.zeros(sketcher.tokenizer.model_max_length)
        tokens[places] = 1 / len(places)
        found.append((tokens, region))
    return found


def region_of(noun: str, seen: Mapping[str, Mask]) -> Tensor | None:
    """[SIDE, SIDE] shares of where a noun lies; None where nothing tells."""
    mask = seen.get(noun)
    if mask is None and noun in PEOPLE | GROUNDS:
        mask = seen.get(PERSON)
        mask = ~mask if mask is not None and noun in GROUNDS else mask
    if mask is None or not mask.any():
        return None
    pixels = torch.from_numpy(np.asarray(mask, np.float32))[None, None]
    region: Tensor = functional.adaptive_avg_pool2d(pixels, SIDE)[0, 0]
    return region / region.sum()


def places_of(sketcher: Sketcher, prompt: str, word: str) -> Sequence[int]:
    """Which of the prompt's tokens a word is, all its repeats included, as an attention trace has it."""
    ids = sketcher.tokenizer(prompt, truncation=True).input_ids
    own = sketcher.tokenizer(word, add_special_tokens=False).input_ids
    starts = [start for start in range(len(ids) - len(own) + 1) if ids[start : start + len(own)] == own]
    return [start + place for start in starts for place in range(len(own))]
