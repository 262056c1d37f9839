"""Tiny randomly initialised models of the true classes, written as their makers write them.

Each function fills a folder with ``save_pretrained`` and returns it, so that a test reads it back
through the same loading code as weights from the hub. Nothing is downloaded.
"""

from __future__ import annotations

import atexit
import json
import shutil
import string
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from transformers import (
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)

CHARACTERS = string.ascii_lowercase + string.digits + ",.'-"
TEXT_WIDTH = 16
IMAGE_SIZE = 32
"""Side in pixels of every picture that the tiny pipelines make by default."""


@dataclass(frozen=True, slots=True)
class Family:
    """One pipeline class that the adapter treats in its own way."""

    name: str
    write: Callable[..., Path]
    """Function (folder, seed) -> folder."""
    latent_channels: int


def clip_tokenizer() -> CLIPTokenizer:
    """A CLIP tokenizer whose tokens are characters; the end token has the highest id."""
    tokens = list(CHARACTERS) + [f"{c}</w>" for c in CHARACTERS]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def t5_tokenizer() -> T5TokenizerFast:
    """A T5 tokenizer whose tokens are characters."""
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    vocabulary += [(c, -3.0) for c in CHARACTERS]
    return T5TokenizerFast(vocab=vocabulary, extra_ids=0, model_max_length=64)


def clip_text_config(tokenizer: CLIPTokenizer) -> CLIPTextConfig:
    """Configuration of a two-layer text tower for this tokenizer."""
    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=TEXT_WIDTH,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        projection_dim=TEXT_WIDTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def autoencoder(latent_channels: int, **config: Any) -> AutoencoderKL:
    """A variational autoencoder that halves each side."""
    return AutoencoderKL(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        in_channels=3,
        out_channels=3,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=latent_channels,
        **config,
    )


def unet(cross_attention_dim: int, **config: Any) -> UNet2DConditionModel:
    """A two-level UNet with 4 latent channels of 16 x 16."""
    return UNet2DConditionModel(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        layers_per_block=1,
        sample_size=IMAGE_SIZE // 2,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=cross_attention_dim,
        attention_head_dim=(2, 4),
        **config,
    )


def write_stable_diffusion(folder: Path, seed: int = 0) -> Path:
    """A StableDiffusionPipeline without a safety checker."""
    torch.manual_seed(seed)
    tokenizer = clip_tokenizer()
    pipeline = StableDiffusionPipeline(
        unet=unet(TEXT_WIDTH),
        scheduler=DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1),
        vae=autoencoder(4),
        text_encoder=CLIPTextModel(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(folder)
    return folder


def write_stable_diffusion_xl(folder: Path, seed: int = 0) -> Path:
    """A StableDiffusionXLPipeline with both text encoders."""
    torch.manual_seed(seed)
    tokenizer = clip_tokenizer()
    pipeline = StableDiffusionXLPipeline(
        unet=unet(
            2 * TEXT_WIDTH,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + TEXT_WIDTH,
            use_linear_projection=True,
        ),
        scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear"),
        vae=autoencoder(4),
        text_encoder=CLIPTextModel(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(clip_text_config(tokenizer)),
        tokenizer_2=clip_tokenizer(),
    )
    pipeline.save_pretrained(folder)
    return folder


def t5_encoder(tokenizer: T5TokenizerFast) -> T5EncoderModel:
    """A two-layer T5 encoder for this tokenizer."""
    return T5EncoderModel(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=2 * TEXT_WIDTH,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
        )
    )


def write_stable_diffusion_3(folder: Path, seed: int = 0, *, t5: bool = True) -> Path:
    """A StableDiffusion3Pipeline; ``t5=False`` leaves its third text encoder out."""
    torch.manual_seed(seed)
    tokenizer, tokenizer_3 = clip_tokenizer(), t5_tokenizer()
    pipeline = StableDiffusion3Pipeline(
        transformer=SD3Transformer2DModel(
            sample_size=IMAGE_SIZE // 2,
            patch_size=2,
            in_channels=4,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            caption_projection_dim=16,
            joint_attention_dim=2 * TEXT_WIDTH,
            pooled_projection_dim=2 * TEXT_WIDTH,
            out_channels=4,
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(4, shift_factor=0.06, use_quant_conv=False, use_post_quant_conv=False),
        text_encoder=CLIPTextModelWithProjection(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        text_encoder_2=CLIPTextModelWithProjection(clip_text_config(tokenizer)),
        tokenizer_2=clip_tokenizer(),
        text_encoder_3=t5_encoder(tokenizer_3) if t5 else None,
        tokenizer_3=tokenizer_3 if t5 else None,
    )
    pipeline.save_pretrained(folder)
    return folder


def write_flux(folder: Path, seed: int = 0, *, guidance_embeds: bool = False) -> Path:
    """A FluxPipeline: as schnell without, as dev with ``guidance_embeds``."""
    torch.manual_seed(seed)
    tokenizer, tokenizer_2 = clip_tokenizer(), t5_tokenizer()
    pipeline = FluxPipeline(
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=2 * TEXT_WIDTH,
            pooled_projection_dim=TEXT_WIDTH,
            guidance_embeds=guidance_embeds,
            axes_dims_rope=(4, 4, 8),
        ),
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=autoencoder(4, shift_factor=0.06, use_quant_conv=False, use_post_quant_conv=False),
        text_encoder=CLIPTextModel(clip_text_config(tokenizer)),
        tokenizer=tokenizer,
        text_encoder_2=t5_encoder(tokenizer_2),
        tokenizer_2=tokenizer_2,
    )
    pipeline.save_pretrained(folder)
    return folder


FAMILIES = (
    Family("stable-diffusion", write_stable_diffusion, 4),
    Family("stable-diffusion-xl", write_stable_diffusion_xl, 4),
    Family("stable-diffusion-3", write_stable_diffusion_3, 4),
    Family("flux", write_flux, 4),
)


def write_clip(folder: Path, seed: int = 0) -> Path:
    """A CLIPModel with tokenizer and preprocessor for 32 x 32 pictures."""
    torch.manual_seed(seed)
    tokenizer = clip_tokenizer()
    text = clip_text_config(tokenizer)
    vision = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": IMAGE_SIZE,
        "patch_size": 8,
        "projection_dim": TEXT_WIDTH,
    }
    config = CLIPConfig(text_config=text.to_dict(), vision_config=vision, projection_dim=TEXT_WIDTH)
    CLIPModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    preprocessor = {
        "image_processor_type": "CLIPImageProcessor",
        "do_resize": True,
        "size": {"shortest_edge": IMAGE_SIZE},
        "do_center_crop": True,
        "crop_size": {"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "resample": 3,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor))
    return folder


def write_open_clip(folder: Path, seed: int = 0) -> Path:
    """An open_clip CLIP in the layout that its hub repositories have."""
    import open_clip
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    model_config = {
        "embed_dim": TEXT_WIDTH,
        "vision_cfg": {
            "image_size": 32,
            "layers": 2,
            "width": 16,
            "patch_size": 8,
            "head_width": 8,
        },
        "text_cfg": {
            "context_length": 77,
            "vocab_size": 49408,
            "width": 16,
            "heads": 2,
            "layers": 2,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    model = open_clip.CLIP(**model_config)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    described = {"model_cfg": model_config, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3}}
    (folder / "open_clip_config.json").write_text(json.dumps(described))
    return folder


@cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="t2i-tiny-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@cache
def written(write: Callable[..., Path], seed: int = 0, **config: Any) -> Path:
    """The folder that one of the functions above fills; filled once in a process."""
    named = "-".join(f"{key}={value}" for key, value in config.items())
    return write(_root() / f"{write.__name__}-{seed}-{named}", seed, **config)
