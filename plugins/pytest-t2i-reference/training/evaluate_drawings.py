"""Stage ``evaluate-drawings``: what the pipelines were made from, measured."""

from __future__ import annotations

import json
import random

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from transformers import CLIPModel, CLIPTokenizer

from pytest_t2i_reference.drawing import draw_scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world
from training.autoencoder import as_pixels, held_out, psnr
from training.clip import accuracies, neutrality_gap
from training.drawings import load_drawings
from training.faces import face_rates
from training.settings import RESULTS, WEIGHTS, Settings, device


def evaluate_drawings(settings: Settings) -> None:
    """Measure what the pipelines were made from: faces found in drawings, the autoencoder, the reference CLIP."""
    drawings = load_drawings(settings.work)
    clip = CLIPModel.from_pretrained(WEIGHTS / "clip", dtype=torch.float32).to(device()).eval()
    tokenizer = CLIPTokenizer.from_pretrained(WEIGHTS / "clip")
    model = AutoencoderKL.from_pretrained(WEIGHTS / "reference" / "vae", dtype=torch.float32).to(device()).eval()
    indices = held_out(len(drawings.records))
    with torch.no_grad():
        pixels = as_pixels(drawings.images[indices])
        restored = torch.cat([model(part).sample.clamp(-1, 1) for part in torch.split(pixels, 32)])
    found = {
        "held-out drawings": len(indices),
        **face_rates(_fresh_drawings(300)),
        "autoencoder PSNR in dB": round(psnr(drawings, model), 1),
        "neutrality gap of texts": neutrality_gap(clip, tokenizer),
        "CLIP accuracy on drawings": accuracies(clip, tokenizer, drawings),
        "CLIP accuracy on restored drawings": accuracies(clip, tokenizer, drawings, restored),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "drawings.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _fresh_drawings(count: int) -> NDArray[np.uint8]:
    rng, world = random.Random(99), load_world("balanced")
    scenes = [draw_scene_of(rng.choice(load_concepts()), world, rng) for _ in range(count)]
    return np.stack([draw_scene(scene, seed).image for seed, scene in enumerate(scenes)])
