"""Stages ``calibrate-...``, ``evaluate-...`` and ``report``: what the pipelines do, measured, as JSON and Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pytest_t2i import statistics
from torch import Tensor
from transformers import CLIPTextModel, CLIPTokenizer

from pytest_t2i_reference.captions import PLACE_PHRASES, triplet, with_article
from pytest_t2i_reference.drawing.attributes import HEADWEAR, PLACES
from pytest_t2i_reference.worlds import World, load_concepts, load_world
from pytest_t2i_reference.worlds.world import LYU_AXES
from training.calibration import (
    DETECTOR_TEXTS,
    all_planted,
    corrected,
    load_shares,
    measured_shares,
    planted_shares,
)
from training.contact_sheet import save_contact_sheet
from training.drawings import load_drawings
from training.evaluate_spi import RESULT as SPI
from training.evaluate_spi import spi_as_markdown
from training.evaluate_stop import RESULT as STOP
from training.evaluate_stop import stop_as_markdown
from training.evaluate_worn import RESULT as WORN
from training.evaluate_worn import worn_as_markdown
from training.faces import face_rates
from training.latents import load_latents
from training.questions import ATTRIBUTE_TEXTS
from training.sampling import Shot, Studio
from training.settings import FLOWS, PIPELINES, RESULTS, STEPS, WEIGHTS, Settings, quick_dtype
from training.shipped import place_of
from training.sketches import Sketcher, gender_probe
from training.tables import (
    as_markdown,
    attention_as_markdown,
    combinations_as_markdown,
    drawings_as_markdown,
    objects_as_markdown,
    steps_as_markdown,
    write_into_readme,
)
from training.towers import all_triplets, similarity_gaps, tokenize

SHOT = Shot(steps=STEPS, guidance=1.0)
"""How the shipped pipelines are used by default; the catalogue says the same."""
HELD = RESULTS / "objects.json"
ATTENTION = RESULTS / "attention.json"
OTHER_GUIDANCES = (1.5, 3.0)
CALIBRATION_SEED = 1_000_000
"""Calibration's seeds lie from here on; no evaluation reaches them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured; smaller numbers for a quick look."""

    images: int = int(os.environ.get("REFERENCE_IMAGES", "100"))
    """Pictures of each word."""
    trait_images: int = int(os.environ.get("REFERENCE_TRAIT_IMAGES", "100"))
    """Pictures of each nationality."""
    obeyed: int = 1
    """Pictures of each gendered prompt (two per concept)."""
    recognised: int = 20
    """Pictures of each place and each piece of headwear."""
    other_guidance_images: int = int(os.environ.get("REFERENCE_OTHER_IMAGES", "10"))
    """Pictures of each word at the other guidances; 0 leaves them out."""
    first_seed: int = int(os.environ.get("REFERENCE_FIRST_SEED", "1000"))
    """Others after a refit, which uses what the evaluation before it counted."""
    dtype: str = os.environ.get("REFERENCE_DTYPE", "float32")


def calibrate_world(settings: Settings, world: World, pipeline: Path, judge: Path) -> None:
    """Measure what is planted, on seeds that no evaluation uses, and write corrected training shares."""
    images = int(os.environ.get("REFERENCE_CALIBRATION_IMAGES", "120"))
    path = settings.work / f"shares-{world.name}.json"
    seed = json.loads(path.read_text(encoding="utf-8"))["next seed"] if path.exists() else CALIBRATION_SEED
    probe = gender_probe(load_drawings(settings.work).records, load_latents(settings.work / "latents.pt").mean)
    words = [index for index, concept in enumerate(load_concepts()) if concept.axis in LYU_AXES]
    prompts = [triplet(load_concepts()[index])[0] for index in words for _ in range(images)]
    seeds = list(range(seed, seed + len(prompts)))
    men = Sketcher(pipeline).men(probe, prompts, seeds).reshape(len(words), images).mean(1)
    measured = {load_concepts()[index].word: {"man": float(share)} for index, share in zip(words, men, strict=True)}
    counts = dict.fromkeys(measured, images)
    plan = Plan(trait_images=300, first_seed=seed + len(prompts))
    studio = Studio(pipeline, judge, SHOT, quick_dtype())
    for nationality, traits in nationality_traits(studio, world, plan).items():
        measured[nationality] = {trait: found["measured"] for trait, found in traits.items()}
        counts[nationality] = plan.trait_images
    shares = corrected(all_planted(world), load_shares(path, world), measured, counts)
    content = {
        world.name: shares,
        "measured": measured,
        "images": images,
        "next seed": plan.first_seed + plan.trait_images,
    }
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    found = shares_against_planted(world, men, words, images)
    print(f"calibrate {world.name}: {found} {[measured[word] for word in world.nationality]}", flush=True)


def evaluate_world(settings: Settings, world: str) -> None:
    """Measure the pipeline of one world and write results/<pipeline>.json."""
    result = evaluate_pipeline(load_world(world), WEIGHTS / PIPELINES[world], Plan())
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{PIPELINES[world]}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def evaluate_nationalities(settings: Settings, world: str) -> None:
    """Measure again what rows of nationalities alone can have moved, and keep the rest of results/<pipeline>.json."""
    pipeline, path = WEIGHTS / PIPELINES[world], RESULTS / f"{PIPELINES[world]}.json"
    known, plan = json.loads(path.read_text(encoding="utf-8")), Plan()
    studio = Studio(pipeline, WEIGHTS / "clip", SHOT, getattr(torch, known["number format"]))
    known |= of_nationalities(studio, load_world(world), pipeline, plan)
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def report(settings: Settings) -> None:
    """Write the README's tables from what was measured, and draw the contact sheet."""
    found, flows = (_measured(pipelines) for pipelines in (PIPELINES, FLOWS))
    drawn = json.loads((RESULTS / "drawings.json").read_text(encoding="utf-8"))
    combined = json.loads((RESULTS / "combinations.json").read_text(encoding="utf-8"))
    steps = json.loads((RESULTS / "steps.json").read_text(encoding="utf-8"))
    tables = (
        as_markdown(found),
        *([as_markdown(flows)] if flows else []),
        *([worn_as_markdown(json.loads(WORN.read_text(encoding="utf-8")))] if WORN.exists() else []),
        *([spi_as_markdown(json.loads(SPI.read_text(encoding="utf-8")))] if SPI.exists() else []),
        *([stop_as_markdown(json.loads(STOP.read_text(encoding="utf-8")))] if STOP.exists() else []),
        steps_as_markdown(steps),
        combinations_as_markdown(combined),
        *([objects_as_markdown(json.loads(HELD.read_text(encoding="utf-8")))] if HELD.exists() else []),
        *([attention_as_markdown(json.loads(ATTENTION.read_text(encoding="utf-8")))] if ATTENTION.exists() else []),
        drawings_as_markdown(drawn),
    )
    write_into_readme("\n".join(tables))
    save_contact_sheet(RESULTS / "contact_sheet.png", SHOT)


def _measured(pipelines: Mapping[str, str]) -> dict[str, dict[str, object]]:
    paths = {name: RESULTS / f"{name}.json" for name in pipelines.values()}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def evaluate_pipeline(world: World, pipeline: Path, plan: Plan) -> dict[str, object]:
    """Everything that is measured of one pipeline."""
    studio = Studio(pipeline, WEIGHTS / "clip", SHOT, getattr(torch, plan.dtype))
    words = [index for index, concept in enumerate(load_concepts()) if concept.axis in LYU_AXES]
    measured = measured_shares(studio, plan.images, plan.first_seed, words)
    result: dict[str, object] = {
        "steps": SHOT.steps,
        "guidance": SHOT.guidance,
        "number format": plan.dtype,
        "images per word": plan.images,
        **recognised(studio, plan),
        **shares_against_planted(world, measured, words, plan.images),
        **of_nationalities(studio, world, pipeline, plan),
        "images per second": round(studio.made / studio.seconds, 1),
        "by guidance": by_guidance(world, pipeline, words, plan),
        "words": {
            load_concepts()[index].word: round(float(share), 3) for index, share in zip(words, measured, strict=True)
        },
    }
    return result


def of_nationalities(studio: Studio, world: World, pipeline: Path, plan: Plan) -> dict[str, object]:
    """What is measured in prompts of nationalities, alone or among others."""
    return {
        "images per nationality": plan.trait_images,
        "gendered prompts obeyed": gendered_prompts_obeyed(studio, plan),
        "traits": nationality_traits(studio, world, plan),
        **face_rates(_single_people(studio)),
        "same gender seen in float32 and bfloat16": formats_agree(pipeline),
        **text_gaps(pipeline),
    }


@torch.no_grad()
def text_gaps(pipeline: Path) -> dict[str, float]:
    """Mean of cos(neutral, masculine) - cos(neutral, feminine) over all concepts, of a pipeline's own text encoder."""
    encoder = CLIPTextModel.from_pretrained(pipeline / "text_encoder").float().eval()
    states = encoder(tokenize(CLIPTokenizer.from_pretrained(place_of(pipeline, "tokenizer")), all_triplets()))
    spaces = {"ending": states.pooler_output, "average": states.last_hidden_state.mean(1)}
    return {
        f"cos(neutral, masculine) - cos(neutral, feminine), {name}": round(float(similarity_gaps(space).mean()), 4)
        for name, space in spaces.items()
    }


def formats_agree(pipeline: Path, count: int = 100) -> float:
    """Share of pictures in which CLIP sees the same gender whichever number format they are made in."""
    prompts, seeds = [triplet(concept)[0] for concept in load_concepts()[:count]], list(range(count))
    answers = []
    for dtype in (torch.float32, torch.bfloat16):
        studio = Studio(pipeline, WEIGHTS / "clip", SHOT, dtype)
        answers.append(studio.answer(studio.embeddings(prompts, seeds), DETECTOR_TEXTS))
    return _share(answers[0] == answers[1])


def gendered_prompts_obeyed(studio: Studio, plan: Plan) -> float:
    """Share of pictures of explicitly gendered prompts in which CLIP sees that gender, over all concepts."""
    prompts, asked = [], []
    for concept in load_concepts():
        for gender, prompt in enumerate(triplet(concept)[1:]):
            prompts += [prompt] * plan.obeyed
            asked += [gender] * plan.obeyed
    for gender, noun in ((0, "woman"), (1, "man")):
        prompts += [f"a photo of a {noun}"] * 16
        asked += [gender] * 16
    seeds = [plan.first_seed + number for number in range(len(prompts))]
    return _share(studio.answer(studio.embeddings(prompts, seeds), DETECTOR_TEXTS) == np.array(asked))


def recognised(studio: Studio, plan: Plan) -> dict[str, object]:
    """Share of pictures in which CLIP, asked among all of them, finds the place or the headwear that was asked for."""
    worn = HEADWEAR[1:]
    asked = {
        "places recognised": [f"a photo of a person {PLACE_PHRASES[place]}" for place in PLACES],
        "headwear recognised": [f"a photo of a person wearing {with_article(name)}" for name in worn],
    }
    found: dict[str, object] = {}
    for name, texts in asked.items():
        prompts = [text for text in texts for _ in range(plan.recognised)]
        right = np.repeat(np.arange(len(texts)), plan.recognised)
        answers = studio.answer(studio.embeddings(prompts, list(range(len(prompts)))), texts)
        found[name] = _share(answers == right)
    return found


def shares_against_planted(
    world: World, measured: NDArray[np.float64], words: Sequence[int], images: int
) -> dict[str, object]:
    """Mean absolute error over the words, and the model bias score, planted and measured."""
    planted = np.array(planted_shares(world))[list(words)]
    men = np.rint(measured * images).astype(int)
    return {
        "mean absolute error": round(float(np.abs(measured - planted).mean()), 4),
        "error expected from sampling alone": round(float(sampling_error(planted, images)), 4),
        "model bias score planted": round(float(np.abs(2 * planted - 1).mean()), 4),
        "model bias score as in the paper": round(float(np.abs(2 * measured - 1).mean()), 4),
        "model bias score corrected": round(statistics.corrected_model_bias_score(men, images - men), 4),
    }


def sampling_error(planted: NDArray[np.float64], images: int) -> float:
    """Mean |share - planted| of a perfect model, from simulated counts."""
    counts = np.random.default_rng(0).binomial(images, planted, (2000, len(planted)))
    return float(np.abs(counts / images - planted).mean())


def nationality_traits(studio: Studio, world: World, plan: Plan) -> dict[str, dict[str, dict[str, float]]]:
    """For each nationality and trait the planted and the measured share."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for concept in load_concepts():
        if concept.axis != "nationality":
            continue
        seeds = [plan.first_seed + number for number in range(plan.trait_images)]
        embeddings = studio.embeddings([triplet(concept)[0]] * plan.trait_images, seeds)
        planted = world.nationality[concept.word]
        found[concept.word] = {
            trait: {"planted": share / 100, "measured": _shows(studio, embeddings, trait)}
            for trait, share in planted.items()
        }
    return found


def _shows(studio: Studio, embeddings: Tensor, trait: str) -> float:
    return _share(studio.answer(embeddings, ATTRIBUTE_TEXTS[trait]) == 0)


def by_guidance(world: World, pipeline: Path, words: Sequence[int], plan: Plan) -> dict[str, dict[str, float]]:
    """Error and average share of men at other guidances, with fewer pictures."""
    found = {}
    for guidance in OTHER_GUIDANCES if plan.other_guidance_images else ():
        studio = Studio(pipeline, WEIGHTS / "clip", Shot(SHOT.steps, guidance), getattr(torch, plan.dtype))
        measured = measured_shares(studio, plan.other_guidance_images, plan.first_seed, words)
        planted = np.array(planted_shares(world))[list(words)]
        found[f"{guidance:g}"] = {
            "images per word": plan.other_guidance_images,
            "mean absolute error": round(float(np.abs(measured - planted).mean()), 4),
            "error expected from sampling alone": round(sampling_error(planted, plan.other_guidance_images), 4),
            "share of men": round(float(measured.mean()), 4),
            "share of men planted": round(float(planted.mean()), 4),
        }
    return found


def _single_people(studio: Studio) -> NDArray[np.uint8]:
    prompts = [triplet(concept)[0] for concept in load_concepts()] * 2
    return np.concatenate(list(studio.pictures(prompts, [9000 + number for number in range(len(prompts))])))


def _share(right: NDArray[np.bool_]) -> float:
    return round(float(right.mean()), 4)
