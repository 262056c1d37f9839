"""What flow pipelines learn to draw: prompts alone, since their teachers, the UNet pipelines, bring the pictures."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from pytest_t2i_reference.captions import TRAITS, VARIANTS, concept_prompts
from pytest_t2i_reference.combinations import (
    all_combinations,
    combined_prompt,
    combined_triplet,
    planted_combinations,
)
from pytest_t2i_reference.worlds import World, load_concepts
from training.denoiser import HEADWEAR_TEXTS, NATIONALITY_WEIGHT
from training.drawings import plan
from training.families import GENDER_TEXTS, SCENE_TEXTS
from training.settings import Settings

MIX = {
    "neutral": 0.42,
    "template": 0.14,
    "gendered": 0.14,
    "combined": 0.06,
    "planted": 0.04,
    "trait": 0.06,
    "headwear": 0.04,
    "plain": 0.08,
    "empty": 0.02,
}
"""Shares of the kinds of prompts: of concepts in any wording, as the papers word them, of one gender, of several
concepts, of planted intersections, of traits, of headwear, descriptions of any scene, and the empty one."""
MIX_AGAIN = {
    "neutral": 0.24,
    "template": 0.24,
    "gendered": 0.28,
    "combined": 0.03,
    "planted": 0.03,
    "trait": 0.05,
    "headwear": 0.03,
    "plain": 0.08,
    "empty": 0.02,
}
"""More of what flow pipelines are worst at: prompts of one gender, and nationalities as the papers word them."""
PLAIN = 2500
"""Descriptions of scenes that are chosen from all those that drawings have."""


def prompts_by_kind(settings: Settings, world: World) -> Mapping[str, Sequence[str]]:
    """Every prompt of each kind of ``MIX``; what is to be drawn more often stands there more than once."""
    concepts = [
        concept
        for concept in load_concepts()
        for _ in range(NATIONALITY_WEIGHT if concept.axis == "nationality" else 1)
    ]
    described = sorted({text for record in plan(settings) if record.pool == "plain" for text in record.captions})
    planted = [combined_prompt(chosen) for chosen in planted_combinations(world)]
    return {
        "neutral": [text for concept in concepts for text in concept_prompts(concept, "neutral")],
        "template": [concept_prompts(concept, "neutral")[0] for concept in concepts],
        "gendered": [
            text for concept in concepts for variant in VARIANTS[1:] for text in concept_prompts(concept, variant)
        ],
        "combined": [text for chosen in all_combinations() for text in combined_triplet(chosen)],
        "planted": planted or [combined_prompt(chosen) for chosen in all_combinations()],
        "trait": _trait_prompts(),
        "headwear": [text for texts in HEADWEAR_TEXTS.values() for text in texts],
        "plain": random.Random(settings.seed).sample(described, min(PLAIN, len(described))),
        "empty": [""],
    }


def draw_prompts(
    kinds: Mapping[str, Sequence[str]], count: int, rng: random.Random, mix: Mapping[str, float] = MIX
) -> list[str]:
    """Prompts as ``mix`` has them."""
    return [rng.choice(kinds[kind]) for kind in rng.choices(tuple(mix), tuple(mix.values()), k=count)]


def _trait_prompts() -> list[str]:
    said = [text for trait in TRAITS.values() for text in (*trait.present, *trait.absent)]
    about = [
        text.replace("person", noun) if text.startswith("a photo") else f"{start} {noun} {text}"
        for text in said
        for start in ("a photo of a", "a photo of one real")
        for noun in ("person", "woman", "man")
    ]
    return [*about, *(text for texts in (*GENDER_TEXTS, *SCENE_TEXTS) for text in texts)]
