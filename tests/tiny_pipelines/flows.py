"""Models of 2024 to 2026 that follow a flow with a transformer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import diffusers
import tiny
import torch
import transformers
from tiny import clip_tokenizer, t5_tokenizer

from tiny_pipelines.parts import (
    QWEN_TOKENS,
    SMALL_TEXT,
    TOKENS,
    WIDTH,
    autoencoder,
    byte_tokenizer,
    clip,
    flow,
    flux2_autoencoder,
    gemma2,
    livelier,
    qwen2_5_vl,
    qwen2_tokenizer,
    qwen3,
    qwen3_vl,
    qwen_autoencoder,
    sana_autoencoder,
    shifted_autoencoder,
    t5,
)
from tiny_pipelines.registry import tiny_pipeline

LAYERS = (0, 1, 2)
"""Hidden states of the text encoder that FLUX.2 reads, in place of its own of deep layers."""


@tiny_pipeline("QwenImagePipeline")
def write_qwen_image() -> Any:
    transformer = diffusers.QwenImageTransformer2DModel(
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=WIDTH, guidance_embeds=False,
        axes_dims_rope=(8, 4, 4),
    )  # fmt: skip
    return diffusers.QwenImagePipeline(
        scheduler=flow(),
        vae=qwen_autoencoder(),
        text_encoder=qwen2_5_vl(),
        tokenizer=qwen2_tokenizer(),
        transformer=livelier(transformer),
    )


def flux2_transformer(**config: Any) -> Any:
    """The network of FLUX.2."""
    return livelier(
        diffusers.Flux2Transformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=len(LAYERS) * WIDTH,
            timestep_guidance_channels=256,
            axes_dims_rope=(4, 4, 4, 4),
            **config,
        )
    )


def mistral3(kind: Any = transformers.Mistral3ForConditionalGeneration) -> Any:
    """The text encoder of FLUX.2 dev and ERNIE-Image."""
    vision = {
        "model_type": "pixtral", "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16, "image_size": 32, "patch_size": 8,
    }  # fmt: skip
    text = {"model_type": "mistral", "vocab_size": TOKENS, **SMALL_TEXT, "sliding_window": None}
    config = transformers.Mistral3Config(text_config=text, vision_config=vision)
    return kind(config).eval()


@tiny_pipeline("Flux2Pipeline", text_encoder_out_layers=LAYERS)
def write_flux2() -> Any:
    return diffusers.Flux2Pipeline(
        scheduler=flow(),
        vae=flux2_autoencoder(),
        text_encoder=mistral3(),
        tokenizer=byte_tokenizer(),
        transformer=flux2_transformer(),
    )


@tiny_pipeline("Flux2KleinPipeline", text_encoder_out_layers=LAYERS)
def write_flux2_klein() -> Any:
    return diffusers.Flux2KleinPipeline(
        scheduler=flow(),
        vae=flux2_autoencoder(),
        text_encoder=qwen3(causal=True),
        tokenizer=qwen2_tokenizer(),
        transformer=flux2_transformer(guidance_embeds=False),
    )


@tiny_pipeline("Flux2KleinKVPipeline", text_encoder_out_layers=LAYERS)
def write_flux2_klein_kv() -> Any:
    return diffusers.Flux2KleinKVPipeline(
        scheduler=flow(),
        vae=flux2_autoencoder(),
        text_encoder=qwen3(causal=True),
        tokenizer=qwen2_tokenizer(),
        transformer=flux2_transformer(guidance_embeds=False),
    )


def z_image_transformer() -> Any:
    transformer = diffusers.ZImageTransformer2DModel(
        all_patch_size=(2,), all_f_patch_size=(1,), in_channels=4, dim=32, n_layers=2,
        n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=WIDTH, axes_dims=[8, 4, 4],
        axes_lens=[1024, 64, 64],
    )  # fmt: skip
    with torch.no_grad():  # the library leaves them uninitialized
        transformer.x_pad_token.fill_(1.0)
        transformer.cap_pad_token.fill_(1.0)
    return livelier(transformer)


@tiny_pipeline("ZImagePipeline")
def write_z_image() -> Any:
    return diffusers.ZImagePipeline(
        scheduler=flow(),
        vae=shifted_autoencoder(),
        text_encoder=qwen3(),
        tokenizer=qwen2_tokenizer(),
        transformer=z_image_transformer(),
    )


def sana_transformer(**config: Any) -> Any:
    """The network of SANA."""
    return livelier(
        diffusers.SanaTransformer2DModel(
            patch_size=1,
            in_channels=4,
            out_channels=4,
            num_layers=1,
            num_attention_heads=2,
            attention_head_dim=4,
            num_cross_attention_heads=2,
            cross_attention_head_dim=4,
            cross_attention_dim=8,
            caption_channels=WIDTH,
            sample_size=32,
            **config,
        )
    )


@tiny_pipeline("SanaPipeline", use_resolution_binning=False)
def write_sana() -> Any:
    return diffusers.SanaPipeline(
        scheduler=flow(shift=7.0),
        vae=sana_autoencoder(),
        text_encoder=gemma2(),
        tokenizer=byte_tokenizer(model_max_length=4096),
        transformer=sana_transformer(),
    )


@tiny_pipeline("SanaPAGPipeline", use_resolution_binning=False)
def write_sana_pag() -> Any:
    return diffusers.SanaPAGPipeline(
        scheduler=flow(shift=7.0),
        vae=sana_autoencoder(),
        text_encoder=gemma2(),
        tokenizer=byte_tokenizer(model_max_length=4096),
        transformer=sana_transformer(),
        pag_applied_layers="blocks.0",
    )


@tiny_pipeline("SanaSprintPipeline", use_resolution_binning=False)
def write_sana_sprint() -> Any:
    return diffusers.SanaSprintPipeline(
        scheduler=diffusers.SCMScheduler(),
        vae=sana_autoencoder(),
        text_encoder=gemma2(),
        tokenizer=byte_tokenizer(model_max_length=4096),
        transformer=sana_transformer(qk_norm="rms_norm_across_heads", guidance_embeds=True),
    )


@tiny_pipeline("Kandinsky5T2IPipeline", attributes={"resolutions": [(32, 32)]})
def write_kandinsky5() -> Any:
    transformer = diffusers.Kandinsky5Transformer3DModel(
        in_visual_dim=4, out_visual_dim=4, in_text_dim=WIDTH, in_text_dim2=WIDTH, time_dim=16,
        patch_size=(1, 2, 2), model_dim=16, ff_dim=32, num_text_blocks=1, num_visual_blocks=2,
        axes_dims=(1, 1, 2), visual_cond=False, attention_type="regular",
    )  # fmt: skip
    return diffusers.Kandinsky5T2IPipeline(
        scheduler=flow(shift=3.0),
        vae=shifted_autoencoder(levels=4),
        text_encoder=qwen2_5_vl(),
        tokenizer=qwen2_vl_processor(),
        text_encoder_2=clip(),
        tokenizer_2=clip_tokenizer(),
        transformer=livelier(transformer),
    )


def qwen2_vl_processor() -> Any:
    """A processor of texts and pictures around the tokenizer of Qwen."""
    images = transformers.Qwen2VLImageProcessorPil(patch_size=8)
    videos = transformers.Qwen2VLVideoProcessor(patch_size=8)
    return transformers.Qwen2VLProcessor(images, qwen2_tokenizer(), videos, chat_template=CHAT_OF)


def qwen3_vl_processor() -> Any:
    """The same of Qwen 3."""
    images = transformers.Qwen2VLImageProcessorPil(patch_size=8)
    videos = transformers.Qwen3VLVideoProcessor(patch_size=8)
    return transformers.Qwen3VLProcessor(images, qwen2_tokenizer(), videos, chat_template=CHAT_OF)


CHAT_OF = qwen2_tokenizer().chat_template


def ending_early(model: Any, every: int = 2) -> Any:
    """The same model, whose texts end at every second byte, as its random weights never would."""
    ends = [token for token in range(len(QWEN_TOKENS), TOKENS) if token % every]
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = 0
    model.generation_config.do_sample = True
    return model


@tiny_pipeline("ErnieImagePipeline")
def write_ernie() -> Any:
    transformer = diffusers.ErnieImageTransformer2DModel(
        hidden_size=32, num_attention_heads=2, num_layers=1, ffn_hidden_size=32, in_channels=16,
        out_channels=16, text_in_dim=WIDTH, rope_axes_dim=(4, 6, 6),
    )  # fmt: skip
    rewriter = transformers.Ministral3ForCausalLM(
        transformers.Ministral3Config(vocab_size=TOKENS, **SMALL_TEXT)
    )
    return diffusers.ErnieImagePipeline(
        scheduler=flow(),
        vae=flux2_autoencoder(),
        text_encoder=mistral3(transformers.Mistral3Model),
        tokenizer=byte_tokenizer(),
        transformer=livelier(transformer),
        pe=livelier(rewriter.eval()),
        pe_tokenizer=byte_tokenizer(model_max_length=12),
    )


@tiny_pipeline("LongCatImagePipeline")
def write_longcat() -> Any:
    transformer = diffusers.LongCatImageTransformer2DModel(
        patch_size=1, in_channels=64, num_layers=1, num_single_layers=1, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=WIDTH, pooled_projection_dim=WIDTH,
        axes_dims_rope=[4, 6, 6],
    )  # fmt: skip
    return diffusers.LongCatImagePipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=shifted_autoencoder(16),
        text_encoder=ending_early(qwen2_5_vl()),
        tokenizer=qwen2_tokenizer(),
        text_processor=qwen2_vl_processor(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("ChromaPipeline")
def write_chroma() -> Any:
    transformer = diffusers.ChromaTransformer2DModel(
        patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=WIDTH, axes_dims_rope=[4, 4, 8],
        approximator_hidden_dim=32, approximator_layers=1, approximator_num_channels=16,
    )  # fmt: skip
    return diffusers.ChromaPipeline(
        scheduler=flow(),
        vae=shifted_autoencoder(),
        text_encoder=t5(),
        tokenizer=t5_tokenizer(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("Lumina2Pipeline")
def write_lumina2() -> Any:
    transformer = diffusers.Lumina2Transformer2DModel(
        sample_size=4, patch_size=2, in_channels=4, hidden_size=8, num_layers=2,
        num_attention_heads=1, num_kv_heads=1, multiple_of=16, axes_dim_rope=[4, 2, 2],
        axes_lens=[1024, 64, 64], cap_feat_dim=WIDTH,
    )  # fmt: skip
    return diffusers.Lumina2Pipeline(
        scheduler=flow(),
        vae=shifted_autoencoder(levels=4),
        text_encoder=gemma2(),
        tokenizer=byte_tokenizer(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("LuminaPipeline")
def write_lumina() -> Any:
    transformer = diffusers.LuminaNextDiT2DModel(
        sample_size=16, patch_size=2, in_channels=4, hidden_size=8, num_layers=2,
        num_attention_heads=1, num_kv_heads=1, multiple_of=16, learn_sigma=True, qk_norm=True,
        cross_attention_dim=WIDTH,
    )  # fmt: skip
    config = transformers.GemmaConfig(vocab_size=TOKENS, **SMALL_TEXT)
    return diffusers.LuminaPipeline(
        scheduler=flow(),
        vae=autoencoder(levels=4),
        text_encoder=transformers.GemmaForCausalLM(config).eval(),
        tokenizer=byte_tokenizer(),
        transformer=livelier(transformer),
    )


def llama() -> Any:
    """The fourth text encoder of HiDream."""
    small = {**SMALL_TEXT, "bos_token_id": 1, "eos_token_id": 2}
    config = transformers.LlamaConfig(vocab_size=TOKENS, **small)
    config.output_hidden_states = config.output_attentions = True
    return transformers.LlamaForCausalLM(config).eval()


def hidream(**parts: Any) -> Any:
    """A HiDreamImagePipeline with these parts in place of its own."""
    transformer = diffusers.HiDreamImageTransformer2DModel(
        patch_size=2, in_channels=4, out_channels=4, num_layers=1, num_single_layers=1,
        attention_head_dim=8, num_attention_heads=4, caption_channels=[WIDTH, WIDTH],
        text_emb_dim=2 * WIDTH, num_routed_experts=4, num_activated_experts=2,
        axes_dims_rope=(4, 2, 2), max_resolution=(32, 32), llama_layers=(0, 1),
    )  # fmt: skip
    own = {
        "text_encoder": clip(projects=True, positions=128), "tokenizer": clip_tokenizer(),
        "text_encoder_2": clip(projects=True, positions=128), "tokenizer_2": clip_tokenizer(),
        "text_encoder_3": t5(), "tokenizer_3": t5_tokenizer(),
        "text_encoder_4": llama(), "tokenizer_4": byte_tokenizer(),
    }  # fmt: skip
    return diffusers.HiDreamImagePipeline(
        scheduler=flow(),
        vae=shifted_autoencoder(levels=4),
        transformer=livelier(transformer),
        **{**own, **parts},
    )


@tiny_pipeline("HiDreamImagePipeline", attributes={"default_sample_size": 4})
def write_hidream() -> Any:
    return hidream()


def write_hidream_without_llama(folder: Path, seed: int = 0) -> Path:
    """The same as the hub has it: its fourth text encoder is Llama's, in a repository of Meta."""
    torch.manual_seed(seed)
    hidream().save_pretrained(folder)
    index = folder / "model_index.json"
    described = json.loads(index.read_text())
    for part in ("text_encoder_4", "tokenizer_4"):
        shutil.rmtree(folder / part)
        described[part] = [None, None]
    index.write_text(json.dumps(described))
    return folder


@tiny_pipeline("AuraFlowPipeline")
def write_auraflow() -> Any:
    transformer = diffusers.AuraFlowTransformer2DModel(
        sample_size=16, patch_size=2, in_channels=4, num_mmdit_layers=1, num_single_dit_layers=1,
        attention_head_dim=8, num_attention_heads=4, caption_projection_dim=32,
        joint_attention_dim=WIDTH, out_channels=4, pos_embed_max_size=256,
    )  # fmt: skip
    config = {"d_model": WIDTH, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    encoder = transformers.UMT5EncoderModel(
        transformers.UMT5Config(vocab_size=len(t5_tokenizer()), **config)
    )
    return diffusers.AuraFlowPipeline(
        scheduler=flow(),
        vae=autoencoder(),
        text_encoder=encoder.eval(),
        tokenizer=t5_tokenizer(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("Krea2Pipeline")
def write_krea2() -> Any:
    transformer = diffusers.Krea2Transformer2DModel(
        in_channels=16, num_layers=2, attention_head_dim=8, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=32, timestep_embed_dim=8, text_hidden_dim=WIDTH,
        num_text_layers=3, text_num_attention_heads=2, text_num_key_value_heads=1,
        text_intermediate_size=16, num_layerwise_text_blocks=1, num_refiner_text_blocks=1,
        axes_dims_rope=(4, 2, 2),
    )  # fmt: skip
    return diffusers.Krea2Pipeline(
        scheduler=flow(use_dynamic_shifting=True),
        vae=qwen_autoencoder(),
        text_encoder=qwen3_vl(transformers.Qwen3VLModel),
        tokenizer=qwen2_tokenizer(),
        transformer=livelier(transformer),
        text_encoder_select_layers=LAYERS,
    )


@tiny_pipeline("NucleusMoEImagePipeline")
def write_nucleus() -> Any:
    transformer = diffusers.NucleusMoEImageTransformer2DModel(
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=WIDTH, axes_dims_rope=(8, 4, 4),
        moe_enabled=False, capacity_factors=[8.0, 8.0],
    )  # fmt: skip
    return diffusers.NucleusMoEImagePipeline(
        scheduler=flow(),
        vae=qwen_autoencoder(),
        text_encoder=qwen3_vl(layers=8),
        processor=qwen3_vl_processor(),
        transformer=livelier(transformer),
    )


@tiny_pipeline("OvisImagePipeline")
def write_ovis() -> Any:
    transformer = diffusers.OvisImageTransformer2DModel(
        patch_size=1, in_channels=16, out_channels=16, num_layers=1, num_single_layers=1,
        attention_head_dim=16, num_attention_heads=2, joint_attention_dim=WIDTH,
        axes_dims_rope=(4, 4, 8),
    )  # fmt: skip
    return diffusers.OvisImagePipeline(
        scheduler=flow(),
        vae=shifted_autoencoder(),
        text_encoder=qwen3(),
        tokenizer=qwen2_tokenizer(),
        transformer=livelier(transformer),
    )


def write_flux_dev(folder: Path, seed: int = 0) -> Path:
    """FLUX.1-dev, whose network takes the guidance as an input."""
    return tiny.write_flux(folder, seed, guidance_embeds=True)


@tiny_pipeline("FluxKontextPipeline", max_area=32 * 32)
def write_flux_kontext() -> Any:
    pipeline = diffusers.FluxPipeline.from_pretrained(
        str(tiny.written(write_flux_dev)), local_files_only=True
    )
    return diffusers.FluxKontextPipeline(**pipeline.components)


FAMILIES = {
    "StableDiffusionPipeline": tiny.write_stable_diffusion,
    "StableDiffusionXLPipeline": tiny.write_stable_diffusion_xl,
    "StableDiffusion3Pipeline": tiny.write_stable_diffusion_3,
    "FluxPipeline": write_flux_dev,
}
"""The four families of tiny.py."""
