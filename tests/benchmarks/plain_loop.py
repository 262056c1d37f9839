"""Images per second against the plain loop a user would write, on the same pipeline and CLIP.

The plain loop is: for each prompt, for each seed, pipe(prompt); then CLIP on each image.
Both are timed in turn, several times, and the ratio of the medians is printed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from diffusers import DiffusionPipeline
from transformers import AutoTokenizer, CLIPImageProcessor, CLIPModel

from pytest_t2i import axes
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.progress import Silent
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

TEXTS = ["a photo of a male", "a photo of a female"]


def plain(pipe, clip, tokenizer, processor, prompts, settings, images):
    """Seconds that the loop takes."""
    started = time.perf_counter()
    for prompt in prompts:
        for seed in seeds_of(0, prompt.text, images):
            picture = pipe(
                prompt.text,
                num_inference_steps=settings.steps,
                guidance_scale=settings.guidance,
                height=settings.height,
                width=settings.width,
                generator=torch.Generator().manual_seed(seed),
            ).images[0]
            with torch.no_grad():
                inputs = processor(images=picture, return_tensors="pt")
                texts = tokenizer(TEXTS, padding=True, return_tensors="pt")
                clip(**inputs, **texts).logits_per_image.argmax()
    return time.perf_counter() - started


def ours(components, prompts, settings, images, folder):
    """Seconds that the runner takes, storing everything."""
    components.store = Store(folder)
    plan = Plan(settings)
    for prompt in prompts:
        detectors = frozenset({DetectorRef(components.settings.detectors[0])})
        plan.add(Need(prompt, seeds_of(0, prompt.text, images), detectors))
    started = time.perf_counter()
    Runner(components, components.store, Silent()).run(plan)
    return time.perf_counter() - started


def main():
    """Print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="reference")
    parser.add_argument("--detector", default="clip:reference")
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    prompts = axes.profession.prompts()[: asked.prompts]
    with tempfile.TemporaryDirectory() as work:
        settings = Settings(model=asked.model, detectors=(asked.detector,), store=Path(work))
        components = Components(settings, Store(Path(work) / "warm"))
        options = components.defaults()
        family, _, weights = asked.detector.partition(":")
        clip_folder = components.catalogue.resolve_weights(family, weights)
        pipe = DiffusionPipeline.from_pretrained(options.source, dtype=torch.float32)
        pipe.set_progress_bar_config(disable=True)
        clip = CLIPModel.from_pretrained(clip_folder, dtype=torch.float32)
        parts = (clip, AutoTokenizer.from_pretrained(clip_folder))
        parts += (CLIPImageProcessor.from_pretrained(clip_folder),)
        plain(pipe, *parts, prompts[:1], options.defaults, 2)
        ours(components, prompts[:1], options.defaults, 2, Path(work) / "first")
        loop, runner = [], []
        for k in range(asked.rounds):
            loop.append(plain(pipe, *parts, prompts, options.defaults, asked.images))
            runner.append(
                ours(components, prompts, options.defaults, asked.images, Path(work) / f"r{k}")
            )
    count = asked.prompts * asked.images
    a, b = statistics.median(loop), statistics.median(runner)
    print(f"plain loop {count / a:.2f} images/s, pytest-t2i {count / b:.2f} images/s: {a / b:.1f}x")
    print("ratios by round:", ", ".join(f"{x / y:.1f}" for x, y in zip(loop, runner, strict=True)))


if __name__ == "__main__":
    main()
