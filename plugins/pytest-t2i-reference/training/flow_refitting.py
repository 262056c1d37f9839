"""Stages ``refit-sd3-...``: the rows of a flow pipeline are fitted again, from where they are.

First those of words that name a gender, then the one bias that all neutral prompts share, then the rows of
nationalities by steps that have all of their traits in view, last those of all other words by rounds that are counted
by CLIP alone. For another round add one, and remove what the last part made. ``refit-sd3-...-little`` leaves genders
and the bias alone and takes fewer rounds: what a transformer learns of something else moves words a little.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from diffusers import SD3Transformer2DModel

from pytest_t2i_reference.worlds import World, load_concepts, load_world
from training.calibration import DETECTOR_TEXTS, planted_shares
from training.eye import open_eye
from training.flow_shipping import flow_pipeline
from training.flow_sketches import FlowSketcher
from training.flow_teacher import open_encoder
from training.leaning import fit_lean, lean_direction
from training.obeying import gender_rows, steer_gender_words
from training.questions import ATTRIBUTE_TEXTS
from training.refining import SCALES, refine
from training.settings import FLOW_STEPS, WEIGHTS, Settings
from training.steering import Compass, Effort, find_compass, steer_words
from training.steering_traits import aim_of_traits

SEED = 8_700_000
"""Starts are drawn from seeds that neither the first fit nor an evaluation reaches."""
WORDS_SEED = SEED + 60_000
ROUNDS = {
    "balanced": ((32, True), (48, True), (96, True), (64, True)),
    "biased": ((16, True), (32, True), (48, True), (48, True), (32, True)),
}
LEAN_IMAGES = 4
"""Images of each neutral prompt, for each trial of the bias."""
EFFORT = Effort(teaching=8, directions=4, stray=0.75, response=3.0, sure=0.01)
LITTLE = {
    world: replace(EFFORT, rounds=rounds, stray=0.25)
    for world, rounds in {
        "balanced": ((64, True), (96, True), (96, True)),
        "biased": ((48, True), (64, True), (64, True)),
    }.items()
}
"""Where rows were fitted before the transformer learned something else, words stray by little."""
TURNS, IMAGES, NEAR = 2, 128, 0.04
"""How often a nationality's row is moved, pictures by which that is judged, and how far off shares may stay."""
FAR = (0.5, 1.0, 2.0, 4.0)
"""Multiples of a proposed step that are tried: shares near 1 answer less than their slopes say."""
SURE_TURNS, SURE_IMAGES = 2, 384
"""The same of ``refit-sd3-...-little``."""
VAE, JUDGE = WEIGHTS / "reference", WEIGHTS / "clip"


def refit_flow(settings: Settings, world: str) -> None:
    """Fit the rows in ``flow-texts-<world>`` again; what each part made lies beside them, and is not made again."""
    work, planted, kept = settings.work, load_world(world), settings.work / "flow-refitting"
    now, before = work / f"flow-texts-{world}", kept / f"{world}-before"
    if not before.exists():
        shutil.copytree(now, before)
    compass = find_compass(FlowSketcher(flow_pipeline(settings, "balanced")), EFFORT, kept, SEED)
    words = FlowSketcher(flow_pipeline(settings, world))
    words.encoder = open_encoder(before)
    lean = partial(_fit_lean, folder=work / f"transformer-{world}")
    parts: dict[str, Callable[[FlowSketcher, Compass, World, Path], None]] = {
        "gender": _fit_gender,
        "lean": lean,
    }
    parts |= {
        f"{load_concepts()[number].word}-{turn}": partial(_fit_nationality, number=number, turn=turn)
        for turn in range(TURNS)
        for number in nationalities()
    }
    parts["words"] = _fit_words
    for part, fit in parts.items():
        made = kept / f"{world}-{part}"
        if not made.exists():
            fit(words, compass, planted, kept / world)
            words.encoder.save_pretrained(made)
        words.encoder = open_encoder(made)
        words.encoder.save_pretrained(now)


def refit_flow_little(settings: Settings, world: str) -> None:
    """Fit the rows of words in ``flow-texts-<world>`` again and those of nationalities, all but those of genders."""
    now, kept = settings.work / f"flow-texts-{world}", settings.work / f"flow-words-{world}"
    before, planted = settings.work / f"flow-texts-{world}-before", load_world(world)
    if not before.exists():
        shutil.copytree(now, before)
    words = FlowSketcher(flow_pipeline(settings, world))
    words.encoder = open_encoder(before)
    kept.mkdir(exist_ok=True)
    for turn in range(SURE_TURNS):
        made = kept / f"nationalities-{turn}"
        if not made.exists():
            for number in nationalities():
                _refine_nationality(words, planted, number, SURE_IMAGES, WORDS_SEED + 10_000 * turn, FAR)
            words.encoder.save_pretrained(made)
        words.encoder = open_encoder(made)
    compass, eye = find_compass(words, EFFORT, kept, WORDS_SEED), open_eye(VAE, JUDGE, [DETECTOR_TEXTS[::-1]])
    fitted = steer_words(words, compass, eye, planted, kept, LITTLE[world], WORDS_SEED, nationalities())
    fitted.save_pretrained(now)


def _fit_gender(words: FlowSketcher, compass: Compass, planted: World, kept: Path) -> None:
    """How far is found with the balanced pipeline, where that was fitted before: the transformer is the same."""
    before, after = kept.with_name("balanced-before"), kept.with_name("balanced-gender")
    if not after.exists():
        steer_gender_words(words, compass.probe, open_eye(VAE, JUDGE, [DETECTOR_TEXTS[::-1]]), SEED)
        return
    weights, rows = words.encoder.get_input_embeddings().weight, gender_rows(words)
    there, here = (open_encoder(folder).get_input_embeddings().weight[rows] for folder in (after, before))
    with torch.no_grad():
        weights[rows] += there - here


def _fit_lean(words: FlowSketcher, compass: Compass, planted: World, kept: Path, *, folder: Path) -> None:
    """Where to is found with the balanced pipeline; the transformer in ``folder`` is written anew."""
    way, before = kept.with_name("lean.pt"), kept.with_name(f"{kept.name}-transformer-before")
    if not way.exists():
        torch.save(lean_direction(words, compass.probe, SEED), way)
    if not before.exists():
        shutil.copytree(folder, before)
    direction: torch.Tensor = torch.load(way, weights_only=True)
    eye, wanted = open_eye(VAE, JUDGE, [DETECTOR_TEXTS[::-1]]), np.array(planted_shares(planted))
    moved = fit_lean(words, direction, eye, wanted, LEAN_IMAGES, SEED + 500)
    transformer = SD3Transformer2DModel.from_pretrained(before)
    with torch.no_grad():
        transformer.time_text_embed.text_embedder.linear_2.bias += moved * direction
    transformer.save_pretrained(folder)


def _fit_words(words: FlowSketcher, compass: Compass, planted: World, kept: Path) -> None:
    eye, effort = open_eye(VAE, JUDGE, [DETECTOR_TEXTS[::-1]]), replace(EFFORT, rounds=ROUNDS[planted.name])
    steer_words(words, compass, eye, planted, kept, effort, SEED, nationalities())


def _fit_nationality(
    words: FlowSketcher, compass: Compass, planted: World, kept: Path, *, number: int, turn: int
) -> None:
    _refine_nationality(words, planted, number, IMAGES, SEED + 10_000 * turn)


def _refine_nationality(
    words: FlowSketcher, planted: World, number: int, images: int, seed: int, scales: Sequence[float] = SCALES
) -> None:
    asked = [ATTRIBUTE_TEXTS[trait] for trait in planted.nationality[load_concepts()[number].word]]
    eye, looks = open_eye(VAE, JUDGE, asked), words.looks
    words.looks = FLOW_STEPS
    refine(words, eye, number, [aim_of_traits(number, planted)], images=images, seed=seed, near=NEAR, scales=scales)
    words.looks = looks


def nationalities() -> list[int]:
    """Which concepts are nationalities."""
    return [number for number, concept in enumerate(load_concepts()) if concept.axis == "nationality"]
