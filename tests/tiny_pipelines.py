"""Tiny randomly initialised pipelines of diffusers' text-to-image classes, beside those of tiny.py.

``PIPELINES`` holds one for each class that has one: the contract test makes pictures with all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from pytest_t2i.data import GenerationSettings

SMALL = GenerationSettings(steps=2, width=32, height=32)


@dataclass(frozen=True, slots=True)
class TinyPipeline:
    """One pipeline class with tiny weights."""

    name: str
    """Name of the class in diffusers."""
    write: Callable[[Path, int], Path]
    """Function (folder, seed) -> folder."""
    settings: GenerationSettings = SMALL


def qwen2_tokenizer():
    """A Qwen tokenizer whose tokens are bytes."""
    from tokenizers import pre_tokenizers
    from transformers import Qwen2Tokenizer

    vocabulary = {sign: at for at, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    own = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    vocabulary |= {token: len(vocabulary) + at for at, token in enumerate(own)}
    return Qwen2Tokenizer(
        vocab=vocabulary,
        merges=[],
        unk_token=own[0],
        eos_token=own[0],
        pad_token=own[0],
        additional_special_tokens=list(own[1:]),
    )


def qwen2_5_vl(tokens: int):
    """The text encoder of Qwen-Image and Kandinsky 5."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    last = tokens - 1
    text = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": tokens,
        "rope_scaling": {"mrope_section": [1, 1, 2], "rope_type": "default", "type": "default"},
        "rope_theta": 1000000.0, "bos_token_id": last, "eos_token_id": last,
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2,
        "out_hidden_size": 16,
    }  # fmt: skip
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        vision_end_token_id=last,
        vision_start_token_id=last,
        vision_token_id=last,
    )
    return Qwen2_5_VLForConditionalGeneration(config).eval()


def livelier(module: torch.nn.Module, scale: float = 4.0) -> torch.nn.Module:
    """The same module with larger weights, so that texts and guidance change pixels."""
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim > 1:
                weight.mul_(scale)
    return module


def write_qwen_image(folder: Path, seed: int = 0) -> Path:
    from diffusers import (
        AutoencoderKLQwenImage,
        FlowMatchEulerDiscreteScheduler,
        QwenImagePipeline,
        QwenImageTransformer2DModel,
    )

    torch.manual_seed(seed)
    tokenizer = qwen2_tokenizer()
    vae = AutoencoderKLQwenImage(
        base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
        temperal_downsample=[False, True, True], latents_mean=[0.0] * 4, latents_std=[1.0] * 4,
    )  # fmt: skip
    transformer = QwenImageTransformer2DModel(
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=16, guidance_embeds=False,
        axes_dims_rope=(8, 4, 4),
    )  # fmt: skip
    QwenImagePipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=vae,
        text_encoder=qwen2_5_vl(len(tokenizer)),
        tokenizer=tokenizer,
        transformer=livelier(transformer),
    ).save_pretrained(folder)
    return folder


PIPELINES = {
    pipeline.name: pipeline for pipeline in (TinyPipeline("QwenImagePipeline", write_qwen_image),)
}
