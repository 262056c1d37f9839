"""Stages ``steer-sd3-...`` and ``assemble-sd3``: one flow pipeline, and the few tensors in which the other differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL, SD3Transformer2DModel, StableDiffusion3Pipeline
from safetensors.torch import load_file, save_file

from pytest_t2i_reference.worlds import load_world
from training.assemble import forget_origins
from training.calibration import DETECTOR_TEXTS
from training.eye import open_eye
from training.flow_sketches import FlowSketcher, flow_scheduler
from training.flow_teacher import steered_encoder, world_texts
from training.settings import FLOW_STEPS, FLOWS, WEIGHTS, Settings
from training.steering import Effort, find_compass, steer_words
from training.steering_traits import steer_traits

SHARED = ("vae", "tokenizer", "tokenizer_2", "text_encoder_2")
"""Parts that lie elsewhere in the distribution."""
ROUNDS = {
    "balanced": ((32, False), (64, False), (96, False), (48, True)),
    "biased": ((32, False), (64, False), (48, True)),
}
"""Less than what UNet pipelines are given: a look of the transformer takes three times as long. Shares far from one
half are met sooner."""
EFFORT = Effort(teaching=8, directions=8)


def flow_pipeline(settings: Settings, world: str) -> Any:
    """The pipeline of a world as it was trained; its text encoder is a steered one where there is one."""
    texts = world_texts(world)
    encoder = steered_encoder(settings, world) or texts.encoder
    autoencoder = AutoencoderKL.from_pretrained(WEIGHTS / "reference" / "vae")
    autoencoder.register_to_config(shift_factor=0.0)
    return StableDiffusion3Pipeline(
        transformer=SD3Transformer2DModel.from_pretrained(settings.work / f"transformer-{world}"),
        scheduler=flow_scheduler(),
        vae=autoencoder,
        text_encoder=encoder,
        tokenizer=texts.tokenizer,
        text_encoder_2=encoder,
        tokenizer_2=texts.tokenizer,
        text_encoder_3=None,
        tokenizer_3=None,
    )


def steer_flow(settings: Settings, world: str) -> None:
    """Move the rows of words in the text encoder of a world, so that its shares are the planted ones.

    First those of all words for gender, then those of nationalities for all of their traits. What tells genders apart
    is found out with the balanced world: the transformer is the same one.
    """
    texts, kept = settings.work / f"flow-texts-{world}", settings.work / "flow-steering"
    if texts.exists():
        return
    vae, judge, planted = WEIGHTS / "reference", WEIGHTS / "clip", load_world(world)
    compass = find_compass(FlowSketcher(flow_pipeline(settings, "balanced")), EFFORT, kept)
    words = FlowSketcher(flow_pipeline(settings, world))
    eye = open_eye(vae, judge, [DETECTOR_TEXTS[::-1]])
    effort = replace(EFFORT, rounds=ROUNDS[world])
    encoder = steer_words(words, compass, eye, planted, kept / world, effort)
    finished = FlowSketcher(flow_pipeline(settings, world), looks=FLOW_STEPS)
    finished.encoder = encoder
    steer_traits(vae, judge, planted, kept / world, finished)
    finished.encoder.save_pretrained(texts)


def assemble_flows(settings: Settings) -> None:
    """Write the balanced pipeline's own parts, and the tensors that make the biased one of it."""
    folder = WEIGHTS / FLOWS["balanced"]
    balanced, biased = (flow_pipeline(settings, world) for world in FLOWS)
    balanced.save_config(folder)
    for part in ("transformer", "scheduler", "text_encoder"):
        module = getattr(balanced, part)
        if part != "scheduler":
            module.half()
        module.save_pretrained(folder / part)
    forget_origins(folder)
    save_changes(WEIGHTS / f"{FLOWS['biased']}.safetensors", folder, biased)


def save_changes(path: Path, folder: Path, other: Any) -> None:
    """Write the tensors of another pipeline that differ from those in a folder, named as the core reads them."""
    changed = {}
    for part in ("transformer", "text_encoder"):
        (file,) = (folder / part).glob("*.safetensors")
        before, after = load_file(file), getattr(other, part).half().state_dict()
        for name, tensor in before.items():
            if not torch.equal(after[name], tensor):
                for place in ("text_encoder", "text_encoder_2") if part == "text_encoder" else (part,):
                    changed[f"{place}.{name}"] = after[name].clone().contiguous()
    save_file(changed, path)
    path.chmod(0o644)
