"""Stages ``evaluate-sd3-...``: what the flow pipelines do, measured as the UNet pipelines are, with fewer pictures."""

from __future__ import annotations

import json
import os

import torch

from pytest_t2i_reference.worlds import load_concepts, load_world
from pytest_t2i_reference.worlds.world import LYU_AXES
from training.calibration import measured_shares
from training.evaluate import (
    SHOT,
    Plan,
    gendered_prompts_obeyed,
    nationality_traits,
    recognised,
    shares_against_planted,
)
from training.sampling import Studio
from training.settings import FLOWS, RESULTS, WEIGHTS, Settings, quick_dtype

PLAN = Plan(
    images=int(os.environ.get("REFERENCE_FLOW_IMAGES", "5")),
    trait_images=int(os.environ.get("REFERENCE_FLOW_TRAIT_IMAGES", "20")),
    recognised=3,
    dtype=str(quick_dtype()).removeprefix("torch."),
)


def evaluate_flow(settings: Settings, world: str) -> None:
    """Measure the flow pipeline of one world and write results/<pipeline>.json."""
    studio = Studio(WEIGHTS / FLOWS[world], WEIGHTS / "clip", SHOT, getattr(torch, PLAN.dtype))
    words = [index for index, concept in enumerate(load_concepts()) if concept.axis in LYU_AXES]
    result: dict[str, object] = {
        "steps": SHOT.steps,
        "guidance": SHOT.guidance,
        "number format": PLAN.dtype,
        "images per word": PLAN.images,
        "images per nationality": PLAN.trait_images,
        "images per place": PLAN.recognised,
        "gendered prompts obeyed": gendered_prompts_obeyed(studio, PLAN),
        **recognised(studio, PLAN),
        "traits": nationality_traits(studio, load_world(world), PLAN),
        "by guidance": {},
    }
    measured = measured_shares(studio, PLAN.images, PLAN.first_seed, words)
    result |= shares_against_planted(load_world(world), measured, words, PLAN.images)
    shares = zip(words, measured, strict=True)
    result["words"] = {load_concepts()[index].word: round(float(share), 3) for index, share in shares}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{FLOWS[world]}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
