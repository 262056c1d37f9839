"""Stage ``assemble-sd3``: one flow pipeline, and the few tensors in which the other differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from diffusers import AutoencoderKL, SD3Transformer2DModel, StableDiffusion3Pipeline
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModelWithProjection

from pytest_t2i_reference.worlds import load_world
from training.assemble import forget_origins
from training.calibration import DETECTOR_TEXTS
from training.eye import open_eye
from training.flow_sketches import FlowSketcher, flow_scheduler
from training.flow_teacher import world_texts
from training.settings import FLOWS, WEIGHTS, Settings
from training.steering import QUICK, find_compass, steer_words

SHARED = ("vae", "tokenizer", "tokenizer_2", "text_encoder_2")
"""Parts that lie elsewhere in the distribution."""


def flow_pipeline(settings: Settings, world: str) -> Any:
    """The pipeline of a world as it was trained; its text encoder is a steered one where there is one."""
    texts, steered = world_texts(world), settings.work / f"flow-texts-{world}"
    encoder = CLIPTextModelWithProjection.from_pretrained(steered) if steered.exists() else texts.encoder
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


def steer_flows(settings: Settings) -> None:
    """Move the rows of words in the text encoder of each world, so that its shares are the planted ones.

    What tells genders apart, and where rows move them, is found out once: the transformer is the same one.
    """
    kept = settings.work / "flow-steering"
    first = FlowSketcher(flow_pipeline(settings, "balanced"))
    compass, eye = None, open_eye(WEIGHTS / "reference", WEIGHTS / "clip", [DETECTOR_TEXTS[::-1]])
    for world in FLOWS:
        texts = settings.work / f"flow-texts-{world}"
        if texts.exists():
            continue
        compass = compass or find_compass(first, QUICK, kept)
        sketcher = FlowSketcher(flow_pipeline(settings, world))
        steer_words(sketcher, compass, eye, load_world(world), kept / world, QUICK).save_pretrained(texts)


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
