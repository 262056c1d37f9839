"""Modular pipelines, which are made of blocks, and classes that take one prompt at a time."""

from __future__ import annotations

from typing import Any

import diffusers
import transformers

from tiny_pipelines.flows import CHAT_OF, z_image_transformer
from tiny_pipelines.parts import (
    WIDTH,
    flow,
    flux2_autoencoder,
    livelier,
    qwen2_tokenizer,
    qwen3,
    qwen3_vl,
    shifted_autoencoder,
)
from tiny_pipelines.registry import SMALL, tiny_pipeline


def llava_processor() -> Any:
    tokenizer = qwen2_tokenizer()
    tokenizer.image_token = "<|image_pad|>"
    images = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
    )
    return transformers.LlavaProcessor(
        image_processor=images, tokenizer=tokenizer, chat_template=CHAT_OF, patch_size=4
    )


@tiny_pipeline("ZImageModularPipeline")
def write_modular_z_image() -> Any:
    pipeline = diffusers.ZImageAutoBlocks().init_pipeline()
    pipeline.update_components(
        transformer=z_image_transformer(),
        vae=shifted_autoencoder(),
        text_encoder=qwen3(),
        tokenizer=qwen2_tokenizer(),
        scheduler=flow(),
    )
    return pipeline


# Its own are the states of the 32 layers of a large text encoder.
@tiny_pipeline("Flux3ModularPipeline", text_encoder_out_layers=(1, 2))
def write_modular_flux3() -> Any:
    pipeline = diffusers.Flux3AutoBlocks().init_pipeline()
    transformer = diffusers.Flux3Transformer2DModel(
        in_channels=16, cond_in_channels=16, num_layers=1, num_single_layers=1,
        attention_head_dim=16, num_attention_heads=2, joint_attention_dim=2 * WIDTH,
        timestep_channels=16, axes_dims_rope=(4, 4, 4, 4),
    )  # fmt: skip
    pipeline.update_components(
        transformer=livelier(transformer),
        vae=flux2_autoencoder(),
        text_encoder=qwen3_vl(),
        tokenizer=llava_processor(),
    )
    return pipeline


@tiny_pipeline("DreamLitePipeline", settings=SMALL)
def write_dreamlite() -> Any:
    unet = diffusers.DreamLiteUNetModel(
        sample_size=8, in_channels=4, out_channels=4,
        down_block_types=("DreamLiteCrossAttnDownBlock2D", "DreamLiteCrossAttnDownBlock2D"),
        up_block_types=("DreamLiteCrossAttnUpBlock2D", "DreamLiteUpBlock2D"),
        block_out_channels=(16, 16), layers_per_block=1, norm_num_groups=4,
        cross_attention_dim=WIDTH, attention_head_dim=8,
    )  # fmt: skip
    autoencoder = diffusers.AutoencoderTiny(
        encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8),
        num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1), latent_channels=4,
    )  # fmt: skip
    return diffusers.DreamLitePipeline(
        text_encoder=qwen3_vl(),
        tokenizer=qwen2_tokenizer(),
        processor=llava_processor(),
        vae=autoencoder,
        unet=livelier(unet),
        scheduler=flow(),
    )
