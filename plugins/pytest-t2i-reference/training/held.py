"""Stage ``biased-objects``: plants what people hold, and where they are, into a finished denoiser, and nothing else.

Half of what is practised are people with an object in their hand or none, or at one place or another. There the
denoiser is taught the hand alone, or all that is around the person: elsewhere, and in all other pictures, it is asked
for what it predicted before this stage. Who a person will be is seen in the person, so shares that were met once stay
met.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention_processor import AttnProcessor
from torch import Tensor

from pytest_t2i_reference.worlds import World
from training.denoiser import LOOKS, Pair, lesson, new_scheduler
from training.flow_prompts import draw_prompts, prompts_by_kind
from training.held_pictures import HeldSampler
from training.latents import Texts
from training.loop import Loop
from training.settings import Settings, device, mixed_precision, quick_dtype
from training.sketches import Sketcher
from training.towers import tokenize

KNOWN, HELD = 16, 16
"""What a batch consists of: pictures of the denoiser's own, and hands or places."""
OWN_PICTURES = 1920
OWN_SEED = 9_700_000
"""Their starts are drawn from seeds that no evaluation reaches."""
AREA_WEIGHT = 0.6
"""How much all cells that a picture teaches count more than others, together: as much as 0.6 of the picture."""
LOOK_WEIGHTS = (2.0, 3.0, 3.0, 2.0, 2.0, 1.5, 1.0, 0.8, 0.6, 0.4)
"""How often each look is practised: whether a hand holds something is settled in the first ones."""
CHUNK = 64
LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class OwnPictures:
    """What the denoiser made before this stage, of prompts that say nothing of hands or say it all."""

    prompts: list[str]
    latents: Tensor
    """[n, 4, 16, 16]"""


def make_own(settings: Settings, world: World, sketcher: Sketcher, taught: Sequence[str], path: Path) -> OwnPictures:
    """Pictures of prompts of every other kind; those that lie in ``path`` are not made again."""
    if not path.exists():
        others = {
            kind: [text for text in texts if text not in set(taught)]
            for kind, texts in prompts_by_kind(settings, world).items()
        }
        prompts = draw_prompts(others, OWN_PICTURES, random.Random(f"{settings.seed} {world.name} own"))
        noise = torch.randn(len(prompts), 4, 16, 16, generator=torch.Generator().manual_seed(OWN_SEED))
        torch.save({"prompts": prompts, "latents": sketcher.sketches(prompts, noise).cpu()}, path)
    return OwnPictures(**torch.load(path, weights_only=True))


@torch.no_grad()
def read_texts(sketcher: Sketcher, captions: Sequence[str]) -> Texts:
    """Captions as the pipeline's own text encoder reads them, whose rows of words were moved."""
    texts = list(dict.fromkeys(captions))
    parts = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
    states = [sketcher.read(tokenize(sketcher.tokenizer, part)).cpu() for part in parts]
    return Texts(torch.cat(states), {text: row for row, text in enumerate(texts)})


def train_held(
    settings: Settings,
    stage: str,
    model: UNet2DConditionModel,
    held: HeldSampler,
    known: Sequence[Pair],
    latents: Tensor,
    texts: Texts,
    areas: Tensor,
    *,
    rate: float = 4e-4,
) -> UNet2DConditionModel:
    """Train for the stage's time and return the moving average of the weights.

    ``latents`` holds all pictures, ``known`` those that the denoiser made itself; ``areas`` [pictures, 16, 16] is 1
    where a picture teaches and 0 elsewhere.
    """
    model.set_attn_processor(AttnProcessor())
    before = copy.deepcopy(model).to(device(), quick_dtype()).eval().requires_grad_(False)
    loop = Loop(settings, stage, model, rate, average=0.9995)
    torch.manual_seed(settings.seed + loop.step)
    held.rng.seed(settings.seed + loop.step)
    for _ in loop.steps():
        pairs = [*held.rng.choices(known, k=KNOWN), *(held.draw() for _ in range(HELD))]
        noisy, times, states, velocity = lesson_of_areas(before, pairs, latents, texts, areas, held.rng)
        taught = areas[[pair.index for pair in pairs]].to(device())[:, None]
        weights = 1 + AREA_WEIGHT * taught / taught.mean((2, 3), keepdim=True).clamp_min(LEAST)
        with mixed_precision():
            predicted = loop.module(noisy, times, states).sample
        loop.learn((weights * (predicted.float() - velocity) ** 2).mean())
    return loop.averaged


@torch.no_grad()
def lesson_of_areas(
    before: UNet2DConditionModel,
    pairs: Sequence[Pair],
    latents: Tensor,
    texts: Texts,
    areas: Tensor,
    rng: random.Random,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noisy latents, times, text states and the velocity to predict.

    It is what ``before`` predicts, but for the areas of those pairs that have a pool: there it is the lesson.
    """
    times = rng.choices(LOOKS, LOOK_WEIGHTS, k=len(pairs))
    noisy, at, taught = (
        part.to(device()) for part in lesson(pairs, latents, new_scheduler().alphas_cumprod, rng, times)
    )
    states = texts.rows([pair.caption for pair in pairs]).to(device())
    kind = before.dtype
    velocity = before(noisy.to(kind), at, states.to(kind)).sample.float()
    open_rows = torch.tensor([pair.pool is not None for pair in pairs], device=device())
    where = open_rows[:, None, None, None] * areas[[pair.index for pair in pairs]].to(device())[:, None]
    return noisy, at, states.float(), torch.where(where > 0, taught, velocity)
