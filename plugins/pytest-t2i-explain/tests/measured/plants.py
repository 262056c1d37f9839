"""Models with one planted change each, for kinds.py: made from the reference models.

``write(folder)`` writes a catalogue, ``make(folder, plant)`` a part. A text encoder that reads
"person" as "man"; a decoder that was trained for some minutes to draw men where the latents show
women; the change of the biased denoiser as a LoRA of rank 24, merged into a file of changed
weights; a scheduler with the noise levels of a flow; and the same text encoder for the flow model,
which has two.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest_t2i_reference
import torch
from diffusers import AutoencoderKL, StableDiffusionPipeline
from pytest_t2i import axes
from pytest_t2i.prompts.added_words import counterparts
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

WEIGHTS = Path(pytest_t2i_reference.__file__).with_name("weights")
RANK = 24
STEPS = 300
"""Steps of the decoder's training."""
PROMPTS = 40
BATCH = 8
CATALOGUE = "plants.toml"
COMMON = """steps = 4
guidance = 1.0
size = 128
dtype = "float32"
batch = 32
detector = "clip-enhance:reference"
encoder = "clip:reference"
"""
FLOW = "{use_flow_sigmas = true, flow_shift = 0.3}"
"""Settings of a scheduler under which this denoiser draws men."""


def text_encoder(folder: Path, model: str = "reference") -> None:
    """Read "person" as "man"."""
    tokens = CLIPTokenizer.from_pretrained(WEIGHTS / "reference" / "tokenizer")
    kind = CLIPTextModel if model == "reference" else CLIPTextModelWithProjection
    encoder = kind.from_pretrained(WEIGHTS / model / "text_encoder")
    person, man = (tokens(word).input_ids[1] for word in ("person", "man"))
    rows = encoder.get_input_embeddings().weight
    with torch.no_grad():
        rows[person] = rows[man]
    encoder.save_pretrained(folder)


def lora(file: Path) -> None:
    """Merge a low-rank part of the difference between both denoisers."""
    old, new = (
        load_file(next((WEIGHTS / name / "unet").glob("*.safetensors")))
        for name in ("reference", "reference-biased")
    )
    merged = {}
    for name, weight in old.items():
        change = (new[name] - weight).float()
        if change.ndim < 2 or min(len(change), change[0].numel()) < BATCH * 2:
            continue
        left, sizes, right = torch.linalg.svd(change.flatten(1), full_matrices=False)
        low = (left[:, :RANK] * sizes[:RANK]) @ right[:RANK]
        merged[f"unet.{name}"] = (weight + low.reshape(change.shape)).to(weight.dtype).contiguous()
    save_file(merged, file)


def decoder(folder: Path) -> None:
    """Train the decoder to draw the man of a seed where the latents show the woman."""
    pipeline = StableDiffusionPipeline.from_pretrained(
        WEIGHTS / "reference", requires_safety_checker=False, torch_dtype=torch.float32
    ).to(torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    texts = [counterparts(prompt) for prompt in axes.profession.prompts()[:PROMPTS]]
    vae: AutoencoderKL = pipeline.vae
    latents, pictures = [], []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        women, men = (
            pipeline(
                [pair[side] for pair in batch if pair],
                num_inference_steps=4, guidance_scale=1.0, output_type="latent",
                generator=[torch.Generator().manual_seed(7000 + start + k)
                           for k in range(len(batch))],
            ).images / vae.config.scaling_factor
            for side in (0, 1)
        )  # fmt: skip
        with torch.no_grad():
            drawn = vae.decode(men).sample
        latents += [women, men]
        pictures += [drawn, drawn]
    seen, aim = torch.cat(latents), torch.cat(pictures)
    weights = [w for name, w in vae.named_parameters() if not name.startswith(("encoder", "quant"))]
    optimizer, draw = torch.optim.Adam(weights, lr=2e-3), torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        rows = torch.randint(len(seen), (BATCH,), generator=draw)
        loss = (vae.decode(seen[rows]).sample - aim[rows]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    vae.save_pretrained(folder)


PLANTS = {
    "text_encoder": text_encoder,
    "lora.safetensors": lora,
    "flow_text_encoder": lambda folder: text_encoder(folder, "reference-sd3"),
    "vae": decoder,
}
"""File or folder of a plant -> how it is made."""


def make(folder: Path, plant: str) -> None:
    """Make a plant that is not there yet."""
    if plant and not (folder / plant).exists():
        PLANTS[plant](folder / plant)


def write(folder: Path) -> Path:
    """Write the catalogue of all plants, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: json.dumps(str(folder / name)) for name in PLANTS}
    own = {name: json.dumps(str(WEIGHTS / "reference-biased" / name))
           for name in ("unet", "text_encoder")}  # fmt: skip
    decoy = f"text_encoder = {own['text_encoder']}"
    shared = "\n".join(
        f"{name} = {json.dumps(str(WEIGHTS / at))}"
        for name, at in {
            "vae": "reference/vae", "tokenizer": "reference/tokenizer",
            "tokenizer_2": "reference/tokenizer",
            "text_encoder_2": "reference-sd3/text_encoder",
        }.items()
    )  # fmt: skip
    models = {
        "plain": ("reference", ""),
        "text-encoder": (
            "reference",
            'scheduler = "EulerDiscreteScheduler"\n'
            f"parts = {{text_encoder = {parts['text_encoder']}}}",
        ),
        "decoder": ("reference", f"parts = {{vae = {parts['vae']}, {decoy}}}"),
        "denoiser": ("reference", f"parts = {{unet = {own['unet']}, {decoy}}}"),
        "scheduler": ("reference", f"scheduler_config = {FLOW}\nparts = {{{decoy}}}"),
        "lora": (
            "reference",
            f"changes = {parts['lora.safetensors']}\nparts = {{{decoy}}}",
        ),
        "flow": ("reference-sd3", f"max_sequence_length = 1\n[models.flow.parts]\n{shared}"),
        "flow-text-encoder": (
            "reference-sd3",
            "max_sequence_length = 1\n[models.flow-text-encoder.parts]\n"
            f"text_encoder = {parts['flow_text_encoder']}\n{shared}",
        ),
    }
    text = "\n".join(
        f"[models.{name}]\npath = {json.dumps(str(WEIGHTS / root))}\n{COMMON}{more}\n"
        for name, (root, more) in models.items()
    )
    file = folder / CATALOGUE
    file.write_text(text)
    return file
