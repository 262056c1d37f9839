"""Drawings of nationalities as latents: all that are planted, and those of which a prompt says one thing more."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from diffusers import AutoencoderKL
from torch import Tensor

from pytest_t2i_reference.captions import TRAITS, concept_prompts, with_article
from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.drawing.attributes import Person, Scene
from pytest_t2i_reference.worlds import Concept, World, draw_scene_of
from pytest_t2i_reference.worlds.population import has_trait
from training.autoencoder import as_pixels
from training.progress import Progress
from training.settings import WEIGHTS, mixed_precision
from training.shipped import place_of

COUNT = 4096
"""Drawings of a nationality as planted."""
ENOUGH, CHANGED = 64, 256
"""Drawings whose mean is taken as they are; for rarer traits, drawings made twice, once changed."""
CHUNK = 64
MOODS = {True: "smile", False: "frown"}


@dataclass(frozen=True, slots=True)
class Nationality:
    """One nationality in one world."""

    concept: Concept
    traits: tuple[str, ...]
    """What is planted."""
    latents: Tensor
    """[COUNT, 4, 16, 16]"""
    shown: Tensor
    """[COUNT, traits], bool: which of them each drawing has."""
    described: tuple[tuple[Described, Described], ...]
    """What else prompts say: something, and that it is not so."""

    @property
    def plain(self) -> Described:
        """What neutral prompts say."""
        return Described(concept_prompts(self.concept, "neutral"), self.latents.mean(0))


@dataclass(frozen=True, slots=True)
class Described:
    """Prompts, and all that they are true of."""

    prompts: Sequence[str]
    mean: Tensor
    """[4, 16, 16]: mean latent."""


def draw_nationality(concept: Concept, world: World, seed: int) -> Nationality:
    """Draw and encode; every drawing is told by the seed."""
    rng, model = random.Random(f"{seed} {world.name} {concept.word}"), shipped_autoencoder()
    scenes = [draw_scene_of(concept, world, rng) for _ in range(COUNT)]
    latents, traits = encoded(model, scenes), tuple(world.nationality[concept.word])
    progress, described = Progress(f"{concept.word}, {world.name}", len(sayings(concept))), []
    for name, *prompts in sayings(concept):
        means = [mean_of(model, scenes, latents, name, present=present) for present in (True, False)]
        described.append((Described(prompts[0], means[0]), Described(prompts[1], means[1])))
        progress.at(len(described))
    shown = torch.tensor([[has_trait(scene, trait) for trait in traits] for scene in scenes])
    return Nationality(concept, traits, latents, shown, tuple(described))


def sayings(concept: Concept) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
    """What can be said of people of a nationality: its name, prompts that say so, prompts that say the opposite.

    >>> from pytest_t2i_reference.worlds import load_concepts
    >>> iranian = next(concept for concept in load_concepts() if concept.word == "Iranian")
    >>> [(said[0], denied[0]) for name, said, denied in sayings(iranian) if name == "beard"]
    [('a photo of an Iranian person with a beard', 'a photo of an Iranian person without a beard')]
    """
    genders = "man", concept_prompts(concept, "masculine"), concept_prompts(concept, "feminine")
    skins = "brown skin", _skin(concept, "brown"), _skin(concept, "tan")
    said = [genders, skins, ("smiling", _mood(concept, "smiling"), _mood(concept, "frowning"))]
    for name, trait in TRAITS.items():
        texts = [
            [prompt for text in dict.fromkeys(texts) for prompt in _about(concept, text)]
            for texts in (trait.present, trait.absent)
        ]
        said.append((name, texts[0], texts[1]))
    return said


def mean_of(model: AutoencoderKL, scenes: Sequence[Scene], latents: Tensor, name: str, *, present: bool) -> Tensor:
    """[4, 16, 16]: mean of the drawings with or without one thing, where there are enough of them.

    Otherwise what drawings become on average that are changed, added to the mean. Only men are given beards.
    """
    with_it = [row for row, scene in enumerate(scenes) if shows(scene.people[0], name) is present]
    if len(with_it) >= ENOUGH:
        return latents[with_it].mean(0)
    bearded = present and name in ("beard", "moustache")
    base = [row for row, scene in enumerate(scenes) if not bearded or scene.people[0].gender == "man"]
    rows = base[:CHANGED]
    changed = [replace(scenes[row], people=(_changed(scenes[row].people[0], name, present=present),)) for row in rows]
    return latents[base].mean(0) + (encoded(model, changed, rows) - latents[rows]).mean(0)


def shows(person: Person, name: str) -> bool | None:
    """Whether a person shows it; of a mood that is neither, nothing."""
    if name == "smiling":
        return {mood: present for present, mood in MOODS.items()}.get(person.mood)
    if name == "brown skin":
        return person.skin == "brown"
    if name in ("eye glasses", "earphone"):
        return bool(getattr(person, name.replace(" ", "_")))
    return has_trait(Scene("one", "studio", (person,)), name)


@torch.no_grad()
def encoded(model: AutoencoderKL, scenes: Sequence[Scene], seeds: Sequence[int] | None = None) -> Tensor:
    """Latents of drawn scenes, [n, 4, 16, 16]."""
    seeds, parts = range(len(scenes)) if seeds is None else seeds, []
    for start in range(0, len(scenes), CHUNK):
        chosen = zip(scenes[start:][:CHUNK], seeds[start:][:CHUNK], strict=True)
        images = [draw_scene(scene, seed).image for scene, seed in chosen]
        with mixed_precision():
            parts.append(model.encode(as_pixels(np.stack(images))).latent_dist.mean.float())
    return torch.cat(parts) * float(model.config.scaling_factor)


def shipped_autoencoder() -> AutoencoderKL:
    """Who encodes drawings."""
    return AutoencoderKL.from_pretrained(place_of(WEIGHTS / "reference", "vae")).float().eval().requires_grad_(False)


def _changed(person: Person, name: str, *, present: bool) -> Person:
    match name:
        case "smiling":
            return replace(person, mood=MOODS[present])
        case "man":
            return replace(person, gender="man" if present else "woman")
        case "turban" | "hat" | "sombrero":
            return replace(person, headwear=name if present else "none")
        case "beard" | "moustache":
            return replace(person, facial_hair=name if present else "none")
        case "old":
            return replace(person, age="old" if present else "young")
        case "eye glasses" | "earphone" | "forehead mark":
            return replace(person, **{name.replace(" ", "_"): present})  # type: ignore[arg-type]
        case _:
            return replace(person, garment=name if present else "shirt")


def _about(concept: Concept, text: str) -> list[str]:
    if text.startswith("a photo"):
        return [text.replace("person", f"{concept.word} person")]
    return [f"{start} person {text}" for start in _starts(concept)]


def _mood(concept: Concept, word: str) -> list[str]:
    return [
        f"a photo of a {word} {concept.word} person",
        *(f"{start} person who is {word}" for start in _starts(concept)),
    ]


def _skin(concept: Concept, colour: str) -> list[str]:
    return [
        f"a photo of a {colour} skinned {concept.word} person",
        *(f"{start} person with {colour} skin" for start in _starts(concept)),
    ]


def _starts(concept: Concept) -> tuple[str, str]:
    return f"a photo of {with_article(concept.word)}", f"a photo of one real {concept.word}"
