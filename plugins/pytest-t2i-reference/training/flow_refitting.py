"""Stages ``refit-sd3-...``: the rows of a flow pipeline are fitted again, from where they are.

First those of words that name a gender, then those of all other words by rounds that are counted by CLIP alone, last
those of nationalities by steps that have all of their traits in view.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from pytest_t2i_reference.worlds import World, load_concepts, load_world
from training.calibration import DETECTOR_TEXTS
from training.eye import open_eye
from training.flow_shipping import flow_pipeline
from training.flow_sketches import FlowSketcher
from training.flow_teacher import open_encoder
from training.obeying import gender_rows, steer_gender_words
from training.questions import ATTRIBUTE_TEXTS
from training.refining import refine
from training.settings import FLOW_STEPS, WEIGHTS, Settings
from training.steering import Compass, Effort, find_compass, steer_words
from training.steering_traits import aim_of_traits

SEED = 8_700_000
"""Starts are drawn from seeds that neither the first fit nor an evaluation reaches."""
ROUNDS = {"balanced": ((32, True), (32, True), (16, True)), "biased": ((10, True),)}
EFFORT = Effort(teaching=8, directions=4, stray=0.4, response=3.0)
TURNS, IMAGES, NEAR = 1, 96, 0.06
"""How often a nationality's row is moved, pictures by which that is judged, and how far off shares may stay."""
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
    parts = {"gender": _fit_gender, "words": _fit_words} | {
        f"{load_concepts()[number].word}-{turn}": partial(_fit_nationality, number=number, turn=turn)
        for turn in range(TURNS)
        for number in nationalities()
    }
    for part, fit in parts.items():
        made = kept / f"{world}-{part}"
        if not made.exists():
            fit(words, compass, planted, kept / world)
            words.encoder.save_pretrained(made)
        words.encoder = open_encoder(made)
        words.encoder.save_pretrained(now)


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


def _fit_words(words: FlowSketcher, compass: Compass, planted: World, kept: Path) -> None:
    eye, effort = open_eye(VAE, JUDGE, [DETECTOR_TEXTS[::-1]]), replace(EFFORT, rounds=ROUNDS[planted.name])
    steer_words(words, compass, eye, planted, kept, effort, SEED, nationalities())


def _fit_nationality(
    words: FlowSketcher, compass: Compass, planted: World, kept: Path, *, number: int, turn: int
) -> None:
    asked = [ATTRIBUTE_TEXTS[trait] for trait in planted.nationality[load_concepts()[number].word]]
    eye, seed = open_eye(VAE, JUDGE, asked), SEED + 10_000 * turn
    looks, words.looks = words.looks, FLOW_STEPS
    refine(words, eye, number, [aim_of_traits(number, planted)], images=IMAGES, seed=seed, near=NEAR)
    words.looks = looks


def nationalities() -> list[int]:
    """Which concepts are nationalities."""
    return [number for number, concept in enumerate(load_concepts()) if concept.axis == "nationality"]
