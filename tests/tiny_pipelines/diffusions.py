"""Transformers of 2023 to 2026 with schedulers and text encoders of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import diffusers
import torch
import transformers
from diffusers.guiders import AdaptiveProjectedMixGuidance
from tiny import t5_tokenizer

from tiny_pipelines.flows import qwen3_vl_processor
from tiny_pipelines.parts import (
    SMALL_TEXT,
    TOKENS,
    WIDTH,
    autoencoder,
    byte_tokenizer,
    flow,
    flux2_autoencoder,
    livelier,
    qwen2_5_vl,
    qwen2_tokenizer,
    qwen3,
    qwen3_vl,
    t5,
    wan_autoencoder,
)
from tiny_pipelines.registry import SMALL, tiny_pipeline


def pixart(kind: Any, **config: Any) -> Any:
    """One of PixArt's pipelines."""
    transformer = diffusers.PixArtTransformer2DModel(
        sample_size=16, num_layers=2, patch_size=2, attention_head_dim=8, num_attention_heads=3,
        caption_channels=WIDTH, in_channels=4, cross_attention_dim=24, out_channels=8,
        attention_bias=True, activation_fn="gelu-approximate", num_embeds_ada_norm=1000,
        norm_type="ada_norm_single", norm_elementwise_affine=False, norm_eps=1e-6,
        use_additional_conditions=False,
    )  # fmt: skip
    return kind(
        scheduler=diffusers.DDIMScheduler(),
        vae=autoencoder(),
        text_encoder=t5(),
        tokenizer=t5_tokenizer(),
        transformer=livelier(transformer),
        **config,
    )


@tiny_pipeline("PixArtAlphaPipeline", use_resolution_binning=False)
def write_pixart_alpha() -> Any:
    return pixart(diffusers.PixArtAlphaPipeline)


@tiny_pipeline("PixArtSigmaPipeline", use_resolution_binning=False)
def write_pixart_sigma() -> Any:
    return pixart(diffusers.PixArtSigmaPipeline)


@tiny_pipeline("PixArtSigmaPAGPipeline", use_resolution_binning=False)
def write_pixart_sigma_pag() -> Any:
    return pixart(diffusers.PixArtSigmaPAGPipeline, pag_applied_layers="blocks.1")


def bert() -> Any:
    """The text encoder of Hunyuan-DiT, whose tokens are letters, with its tokenizer."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    own = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [*own, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {token: at for at, token in enumerate(tokens)}
    config = transformers.BertConfig(
        vocab_size=len(tokens), hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    return transformers.BertModel(config).eval(), transformers.BertTokenizer(vocab=vocabulary)


def hunyuan_dit(kind: Any, **config: Any) -> Any:
    """One of the pipelines of Hunyuan-DiT."""
    transformer = diffusers.HunyuanDiT2DModel(
        sample_size=16, num_layers=2, patch_size=2, attention_head_dim=8, num_attention_heads=3,
        in_channels=4, cross_attention_dim=WIDTH, cross_attention_dim_t5=WIDTH,
        pooled_projection_dim=16, hidden_size=24, activation_fn="gelu-approximate",
    )  # fmt: skip
    encoder, tokenizer = bert()
    return kind(
        scheduler=diffusers.DDPMScheduler(),
        vae=autoencoder(levels=4),
        text_encoder=encoder,
        tokenizer=tokenizer,
        text_encoder_2=t5(),
        tokenizer_2=t5_tokenizer(),
        transformer=livelier(transformer),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
        **config,
    )


@tiny_pipeline("HunyuanDiTPipeline", use_resolution_binning=False)
def write_hunyuan_dit() -> Any:
    return hunyuan_dit(diffusers.HunyuanDiTPipeline)


@tiny_pipeline("HunyuanDiTPAGPipeline", use_resolution_binning=False)
def write_hunyuan_dit_pag() -> Any:
    return hunyuan_dit(diffusers.HunyuanDiTPAGPipeline, pag_applied_layers="blocks.1")


def hunyuan_image(guider: Any, *, distilled: bool) -> Any:
    """A HunyuanImagePipeline."""
    transformer = diffusers.HunyuanImageTransformer2DModel(
        in_channels=4, out_channels=4, num_attention_heads=4, attention_head_dim=8, num_layers=1,
        num_single_layers=1, num_refiner_layers=1, patch_size=(1, 1), guidance_embeds=distilled,
        text_embed_dim=WIDTH, text_embed_2_dim=WIDTH, rope_axes_dim=(4, 4),
    )  # fmt: skip
    vae = diffusers.AutoencoderKLHunyuanImage(
        in_channels=3, out_channels=3, latent_channels=4, block_out_channels=(32, 32, 32, 32),
        layers_per_block=1, scaling_factor=0.476986, spatial_compression_ratio=8, sample_size=128,
    )  # fmt: skip
    tokenizer_2 = transformers.ByT5Tokenizer()
    return diffusers.HunyuanImagePipeline(
        scheduler=flow(shift=7.0),
        vae=vae.eval(),
        text_encoder=qwen2_5_vl(),
        tokenizer=qwen2_tokenizer(),
        text_encoder_2=t5(vocab_size=len(tokenizer_2)),
        tokenizer_2=tokenizer_2,
        transformer=livelier(transformer),
        guider=guider,
        ocr_guider=guider,
    )


@tiny_pipeline("HunyuanImagePipeline")
def write_hunyuan_image() -> Any:
    return hunyuan_image(
        AdaptiveProjectedMixGuidance(adaptive_projected_guidance_start_step=0), distilled=False
    )


def write_hunyuan_image_distilled(folder: Any, seed: int = 0) -> Any:
    """The distilled HunyuanImage, which has no guider and takes the guidance as an input."""
    torch.manual_seed(seed)
    hunyuan_image(None, distilled=True).save_pretrained(folder)
    return folder


@tiny_pipeline("CogView3PlusPipeline")
def write_cogview3() -> Any:
    transformer = diffusers.CogView3PlusTransformer2DModel(
        patch_size=2, in_channels=4, num_layers=1, attention_head_dim=4, num_attention_heads=2,
        out_channels=4, text_embed_dim=WIDTH, time_embed_dim=8, condition_dim=2,
        pos_embed_max_size=8, sample_size=8,
    )  # fmt: skip
    return diffusers.CogView3PlusPipeline(
        scheduler=diffusers.CogVideoXDDIMScheduler(),
        vae=autoencoder(levels=4),
        text_encoder=t5(),
        tokenizer=t5_tokenizer(),
        transformer=livelier(transformer),
    )


def glm() -> Any:
    """The text encoder of CogView 4."""
    config = transformers.GlmConfig(vocab_size=TOKENS, pad_token_id=0, **SMALL_TEXT)
    return transformers.GlmModel(config).eval()


@tiny_pipeline("CogView4Pipeline")
def write_cogview4() -> Any:
    transformer = diffusers.CogView4Transformer2DModel(
        patch_size=2, in_channels=4, num_layers=2, attention_head_dim=4, num_attention_heads=4,
        out_channels=4, text_embed_dim=WIDTH, time_embed_dim=8, condition_dim=4,
    )  # fmt: skip
    return diffusers.CogView4Pipeline(
        scheduler=flow(use_dynamic_shifting=True, time_shift_type="linear"),
        vae=autoencoder(levels=4),
        text_encoder=glm(),
        tokenizer=byte_tokenizer(padding_side="left"),
        transformer=livelier(transformer),
    )


@tiny_pipeline("BriaPipeline")
def write_bria() -> Any:
    transformer = diffusers.BriaTransformer2DModel(
        patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=8,
        num_attention_heads=2, joint_attention_dim=WIDTH, pooled_projection_dim=None,
        axes_dims_rope=[0, 4, 4],
    )  # fmt: skip
    return diffusers.BriaPipeline(
        scheduler=flow(),
        vae=autoencoder(levels=3, shift_factor=0),
        text_encoder=t5(),
        tokenizer=t5_tokenizer(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("BriaFiboPipeline")
def write_bria_fibo() -> Any:
    transformer = diffusers.BriaFiboTransformer2DModel(
        patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=8,
        num_attention_heads=2, joint_attention_dim=2 * WIDTH, text_encoder_dim=WIDTH,
        pooled_projection_dim=None, axes_dims_rope=[0, 4, 4],
    )  # fmt: skip
    config = transformers.SmolLM3Config(pad_token_id=0, **SMALL_TEXT)
    vae = wan_autoencoder(patch_size=2, in_channels=12, out_channels=12, scale_factor_spatial=16)
    return diffusers.BriaFiboPipeline(
        scheduler=flow(),
        vae=vae,
        text_encoder=transformers.SmolLM3ForCausalLM(config).eval(),
        tokenizer=byte_tokenizer(),
        transformer=livelier(transformer),
    )


def t5_gemma_config() -> Any:
    """The configuration of PRX's text encoder, of which its class takes a half."""
    module = transformers.T5GemmaModuleConfig(vocab_size=TOKENS, **SMALL_TEXT)
    return transformers.T5GemmaConfig(encoder=module, is_encoder_decoder=False)


@tiny_pipeline(
    "PRXPipeline",
    finish=lambda folder: t5_gemma_config().save_pretrained(folder / "text_encoder"),
    use_resolution_binning=False,
)
def write_prx() -> Any:
    from transformers.models.t5gemma.modeling_t5gemma import T5GemmaEncoder

    transformer = diffusers.PRXTransformer2DModel(
        patch_size=2, in_channels=4, context_in_dim=WIDTH, hidden_size=8, mlp_ratio=2.0,
        num_heads=2, depth=1, axes_dim=[2, 2],
    )  # fmt: skip
    return diffusers.PRXPipeline(
        scheduler=flow(),
        vae=autoencoder(levels=4, shift_factor=0.0),
        text_encoder=T5GemmaEncoder(t5_gemma_config().encoder).eval(),
        tokenizer=byte_tokenizer(model_max_length=64),
        transformer=livelier(transformer),
    )


@tiny_pipeline("PRXPixelPipeline", use_resolution_binning=False)
def write_prx_pixel() -> Any:
    transformer = diffusers.PRXTransformer2DModel(
        patch_size=8, in_channels=3, context_in_dim=WIDTH, hidden_size=8, mlp_ratio=2.0,
        num_heads=2, depth=1, axes_dim=[2, 2], bottleneck_size=8, resolution_embeds=True,
    )  # fmt: skip
    return diffusers.PRXPixelPipeline(
        scheduler=flow(),
        text_encoder=qwen3(),
        tokenizer=qwen2_tokenizer(),
        transformer=livelier(transformer),
        prompt_max_tokens=64,
    )


@tiny_pipeline("QwenImage21Pipeline")
def write_qwen_image_21() -> Any:
    transformer = diffusers.QwenImage21Transformer2DModel(
        patch_size=1, in_channels=4, out_channels=4, num_layers=2, attention_head_dim=16,
        num_attention_heads=2, context_in_dim=WIDTH, axes_dims_rope=(4, 6, 6),
    )  # fmt: skip
    vae = diffusers.AutoencoderKLQwenImage21(
        base_dim=8, decoder_base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1, 1], num_res_blocks=1,
        latents_mean=[0.0] * 4, latents_std=[1.0] * 4,
    )  # fmt: skip
    return diffusers.QwenImage21Pipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=vae.eval(),
        text_encoder=qwen3_vl(),
        processor=qwen3_vl_processor(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("Ideogram4Pipeline", replace(SMALL, guidance=4.0), max_sequence_length=96)
def write_ideogram4() -> Any:
    from diffusers.pipelines.ideogram4 import pipeline_ideogram4

    taps = pipeline_ideogram4.QWEN3_VL_ACTIVATION_LAYERS
    config = {
        "in_channels": 16, "num_layers": 1, "attention_head_dim": 16, "num_attention_heads": 2,
        "intermediate_size": 32, "adaln_dim": 16, "llm_features_dim": WIDTH * len(taps),
        "mrope_section": (4, 2, 2),
    }  # fmt: skip
    encoder = qwen3_vl(transformers.Qwen3VLModel, layers=max(taps) + 1)
    return diffusers.Ideogram4Pipeline(
        scheduler=flow(),
        vae=flux2_autoencoder(),
        text_encoder=encoder,
        tokenizer=qwen2_tokenizer(),
        transformer=livelier(diffusers.Ideogram4Transformer2DModel(**config)),
        unconditional_transformer=livelier(diffusers.Ideogram4Transformer2DModel(**config)),
    )


@tiny_pipeline("OmniGenPipeline")
def write_omnigen() -> Any:
    transformer = diffusers.OmniGenTransformer2DModel(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=32,
        num_layers=1, in_channels=4, time_step_dim=4, vocab_size=TOKENS, pad_token_id=0,
        rope_scaling={"long_factor": [1, 2], "short_factor": [1, 2]},
    )  # fmt: skip
    return diffusers.OmniGenPipeline(
        scheduler=flow(invert_sigmas=True, num_train_timesteps=1),
        vae=autoencoder(levels=4),
        tokenizer=byte_tokenizer(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("GlmImagePipeline")
def write_glm_image() -> Any:
    tokenizer = transformers.ByT5Tokenizer()
    text = {
        **SMALL_TEXT,
        "vision_vocab_size": 128,
        "vocab_size": TOKENS + 128 + 5,
        "pad_token_id": 0,
    }
    text["rope_parameters"] = {"mrope_section": (1, 1, 2), "rope_type": "default"}
    vision = {
        "depth": 1, "hidden_size": 16, "num_heads": 2, "image_size": 32, "patch_size": 8,
        "intermediate_size": 16,
    }  # fmt: skip
    config = transformers.GlmImageConfig(
        text_config=text,
        vision_config=vision,
        vq_config={"embed_dim": 16, "num_embeddings": 128, "latent_channels": 16},
    )
    transformer = diffusers.GlmImageTransformer2DModel(
        patch_size=2, in_channels=4, out_channels=4, num_layers=2, attention_head_dim=8,
        num_attention_heads=2, text_embed_dim=WIDTH, time_embed_dim=16, condition_dim=8,
        prior_vq_quantizer_codebook_size=128,
    )  # fmt: skip
    vae = autoencoder(levels=4, latents_mean=[0.0] * 4, latents_std=[1.0] * 4)
    processor = transformers.GlmImageProcessor(
        transformers.GlmImageImageProcessorPil(patch_size=8), byte_tokenizer()
    )
    return diffusers.GlmImagePipeline(
        tokenizer=tokenizer,
        processor=processor,
        text_encoder=t5(vocab_size=len(tokenizer)),
        vision_language_encoder=transformers.GlmImageForConditionalGeneration(config).eval(),
        vae=vae,
        transformer=livelier(transformer),
        scheduler=flow(),
    )
