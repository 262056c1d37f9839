"""Detectors with the reference weights against the labels that drawn scenes have by construction.

Scenes of the biased world: one person of a word, nobody, two people, somebody from behind. Clear is
a person facing us whose largest companion has at most half the area (Lyu section 5.1); the label is
the main person's gender. A share of the pictures goes through the autoencoder, as every generated
picture did.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from PIL import Image
from pytest_t2i_reference import catalogue
from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world, plain_scene
from shared_data import heading, table

from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.metrics import (
    classification_scores,
    filter_scores,
    model_bias_score,
    percent_deviation,
)
from pytest_t2i.settings import Settings

DETECTORS = ("clip", "clip-prob", "clip-uncertain", "clip-enhance")
KINDS = {"one": 0.76, "none": 0.08, "two": 0.08, "behind": 0.08}
LOW = "low_quality"


def scene_of(concept, world, rng):
    """One scene for a prompt with this concept."""
    (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
    return draw_scene_of(concept, world, rng) if kind == "one" else plain_scene(kind, rng)


def label(drawing):
    """The main person's gender, or low quality."""
    scene = drawing.scene
    if scene.kind in {"none", "behind"}:
        return LOW
    if scene.kind == "two":
        areas = [box.area for box in drawing.boxes() if box.part == "person"]
        if len(areas) > 1 and min(areas) > 0.5 * max(areas):
            return LOW
    return {"man": "male", "woman": "female"}[scene.people[0].gender]


@torch.no_grad()
def restored(image, autoencoder):
    """What the reference autoencoder makes of a picture."""
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 127.5 - 1
    latent = autoencoder.encode(pixels).latent_dist.mode()
    back = autoencoder.decode(latent).sample[0].clamp(-1, 1).permute(1, 2, 0)
    return Image.fromarray(((back.numpy() + 1) * 127.5).round().astype(np.uint8))


def labelled(chosen):
    """Pictures by prompt with their labels."""
    # Without planted objects: scenes stay those that the table was made of.
    rng, world = random.Random(chosen.seed), replace(load_world("biased"), held={})
    folder = catalogue().parent / "weights" / "reference" / "vae"
    autoencoder = AutoencoderKL.from_pretrained(folder).eval()
    images, truth, prompts = [], [], []
    concepts = [
        load_concept for load_concept in load_concepts() if load_concept.axis != "nationality"
    ][: chosen.prompts]
    for place, concept in enumerate(concepts):
        for _ in range(chosen.images):
            drawing = draw_scene(scene_of(concept, world, rng), rng.randrange(2**31))
            image = Image.fromarray(drawing.image)
            if rng.random() < chosen.restored:
                image = restored(image, autoencoder)
            images.append(image)
            truth.append(label(drawing))
            prompts.append(place)
    return images, np.array(truth), np.array(prompts)


def bias(labels, prompts):
    """Model bias score over the prompts."""
    numbers = range(prompts.max() + 1)
    counts = [[int(((prompts == k) & (labels == g)).sum()) for k in numbers] for g in GENDERS]
    return model_bias_score(*counts)


GENDERS = ("male", "female")


def row(name, found, truth, prompts, seconds):
    """One detector's line."""
    said = np.array([entry.label or LOW for entry in found])
    kept, clear = said != LOW, truth != LOW
    scores = filter_scores(kept, clear)
    right = classification_scores(said[kept & clear], truth[kept & clear])
    score, actual = bias(said, prompts), bias(truth, prompts)
    return (
        name,
        *(100 * float(pair) for pair in (scores.precision, scores.recall, scores.f1)),
        "-" if scores.filter_rate is None else 100 * float(scores.filter_rate),
        100 * right.overall,
        score,
        f"{percent_deviation(score, actual):+.2f} %",
        seconds / len(truth),
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--restored", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", default="reference")
    parser.add_argument("--detectors", nargs="*", default=DETECTORS)
    chosen = parser.parse_args()
    images, truth, prompts = labelled(chosen)
    rows = [("drawn labels", *("",) * 5, bias(truth, prompts), "", "")]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(model="reference", device="cpu")
        components = Components(settings, Store(Path(folder)))
        for name in chosen.detectors:
            detector = components.detector(DetectorRef(f"{name}:{chosen.weights}")).get()
            started = time.perf_counter()
            result = detector.detect(images)
            rows.append(row(name, result, truth, prompts, time.perf_counter() - started))
    low = float((truth == LOW).mean())
    print(heading("dlib-bin", "ultralytics", "torch", "transformers"))
    print(f"{len(truth)} pictures of {chosen.prompts} prompts, {low:.1%} of them low quality\n")
    header = ("detector", "precision", "recall", "F1", "filter rate", "accuracy")
    print(table((*header, "model bias score", "deviation", "seconds per picture"), rows))


if __name__ == "__main__":
    main()
