"""Classes of 2021 to 2024 with a UNet, or with a prior and a decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import diffusers
import tiny
import torch
import transformers
from tiny import CHARACTERS, clip_tokenizer, t5_tokenizer

from pytest_t2i.data import GenerationSettings
from tiny_pipelines.parts import WIDTH, autoencoder, clip, livelier, t5
from tiny_pipelines.registry import module_of, tiny_pipeline

NO_CHECKER = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
PRIOR = {"prior_num_inference_steps": 2}
"""Steps of a prior, which is no setting of ours."""
OWN_SIZE = GenerationSettings(steps=2)
STEP_64 = replace(OWN_SIZE, width=64, height=64)
"""The smallest size of classes that round sizes up to a multiple of 64."""


def stable_diffusion(kind: Any, *, unet: Any = None, scheduler: Any = None, **config: Any) -> Any:
    """A pipeline with the parts of Stable Diffusion 1."""
    return kind(
        unet=unet or tiny.unet(WIDTH),
        scheduler=scheduler or diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
        vae=autoencoder(),
        text_encoder=clip(),
        tokenizer=clip_tokenizer(),
        **{**NO_CHECKER, **config},
    )


@tiny_pipeline("LatentConsistencyModelPipeline")
def write_latent_consistency() -> Any:
    return stable_diffusion(
        diffusers.LatentConsistencyModelPipeline,
        unet=livelier(tiny.unet(WIDTH, time_cond_proj_dim=16), 2.0),
        scheduler=diffusers.LCMScheduler(clip_sample=False, set_alpha_to_one=False),
    )


@tiny_pipeline("StableDiffusionPAGPipeline")
def write_stable_diffusion_pag() -> Any:
    return stable_diffusion(diffusers.StableDiffusionPAGPipeline)


@tiny_pipeline("StableDiffusionSAGPipeline")
def write_stable_diffusion_sag() -> Any:
    return stable_diffusion(diffusers.StableDiffusionSAGPipeline, unet=tiny.unet(WIDTH))


@tiny_pipeline("StableDiffusionPanoramaPipeline", replace(OWN_SIZE, width=64, height=32))
def write_panorama() -> Any:
    return stable_diffusion(diffusers.StableDiffusionPanoramaPipeline)


@tiny_pipeline("StableDiffusionXLPAGPipeline")
def write_stable_diffusion_xl_pag() -> Any:
    parts = stable_diffusion_xl_parts()
    return diffusers.StableDiffusionXLPAGPipeline(**parts)


def stable_diffusion_xl_parts() -> dict[str, Any]:
    """Parts of SDXL."""
    return {
        "unet": tiny.unet(
            2 * WIDTH, addition_embed_type="text_time", addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + WIDTH, use_linear_projection=True,
        ),
        "scheduler": diffusers.EulerDiscreteScheduler(beta_schedule="scaled_linear"),
        "vae": autoencoder(),
        "text_encoder": clip(),
        "tokenizer": clip_tokenizer(),
        "text_encoder_2": clip(projects=True),
        "tokenizer_2": clip_tokenizer(),
    }  # fmt: skip


@tiny_pipeline("StableDiffusion3PAGPipeline")
def write_stable_diffusion_3_pag() -> Any:
    pipeline = diffusers.StableDiffusion3Pipeline.from_pretrained(
        str(tiny.written(tiny.write_stable_diffusion_3, layers=3)), local_files_only=True
    )
    parts = {name: part for name, part in pipeline.components.items() if part is not None}
    return diffusers.StableDiffusion3PAGPipeline(**parts)


@tiny_pipeline("IFPipeline")
def write_if() -> Any:
    unet = diffusers.UNet2DConditionModel(
        sample_size=32, layers_per_block=1, block_out_channels=[32, 32],
        down_block_types=["ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"],
        mid_block_type="UNetMidBlock2DSimpleCrossAttn",
        up_block_types=["SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"], in_channels=3,
        out_channels=6, cross_attention_dim=32, encoder_hid_dim=WIDTH, attention_head_dim=8,
        addition_embed_type="text", addition_embed_type_num_heads=2,
        cross_attention_norm="group_norm", resnet_time_scale_shift="scale_shift", act_fn="gelu",
    )  # fmt: skip
    return diffusers.IFPipeline(
        text_encoder=t5(),
        tokenizer=t5_tokenizer(),
        unet=livelier(unet, 2.0),
        scheduler=diffusers.DDPMScheduler(
            beta_schedule="squaredcos_cap_v2", thresholding=True, variance_type="learned_range"
        ),
        watermarker=None,
        **NO_CHECKER,
    )


def movq() -> Any:
    """The autoencoder of Kandinsky 2 and 3."""
    return diffusers.VQModel(
        block_out_channels=[32] * 4, norm_num_groups=8, norm_type="spatial", num_vq_embeddings=12,
        down_block_types=["DownEncoderBlock2D"] * 3 + ["AttnDownEncoderBlock2D"],
        up_block_types=["AttnUpDecoderBlock2D"] + ["UpDecoderBlock2D"] * 3, latent_channels=4,
        vq_embed_dim=4,
    ).eval()  # fmt: skip


def kandinsky_unet(embedding: str, projection: str) -> Any:
    """The UNet of Kandinsky 2."""
    return livelier(
        diffusers.UNet2DConditionModel(
            in_channels=4, out_channels=8, addition_embed_type=embedding, sample_size=16,
            down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
            up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
            mid_block_type="UNetMidBlock2DSimpleCrossAttn", block_out_channels=(32, 32),
            layers_per_block=1, encoder_hid_dim=WIDTH, encoder_hid_dim_type=projection,
            cross_attention_dim=WIDTH, attention_head_dim=4,
            resnet_time_scale_shift="scale_shift",
        ),
        2.0,
    )  # fmt: skip


def prior_transformer(**config: Any) -> Any:
    """The prior of unCLIP and Kandinsky 2."""
    prior = diffusers.PriorTransformer(
        num_attention_heads=2, attention_head_dim=8, embedding_dim=WIDTH, num_layers=1, **config
    )
    with torch.no_grad():  # the library begins with 0, which makes every picture equal
        prior.clip_std.fill_(1.0)
    return livelier(prior)


def kandinsky_prior() -> dict[str, Any]:
    """Parts of the prior of Kandinsky 2."""
    vision = transformers.CLIPVisionConfig(
        hidden_size=WIDTH, image_size=32, projection_dim=WIDTH, intermediate_size=16,
        num_attention_heads=2, num_hidden_layers=1, patch_size=16,
    )  # fmt: skip
    return {
        "prior_prior": prior_transformer(),
        "prior_image_encoder": transformers.CLIPVisionModelWithProjection(vision).eval(),
        "prior_text_encoder": clip(projects=True),
        "prior_tokenizer": clip_tokenizer(),
        "prior_scheduler": diffusers.UnCLIPScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=10.0
        ),
        "prior_image_processor": transformers.CLIPImageProcessorPil(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ),
    }


def kandinsky_scheduler() -> Any:
    """The scheduler of Kandinsky 2's decoder."""
    return diffusers.DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, clip_sample=False, set_alpha_to_one=False,
        steps_offset=1,
    )  # fmt: skip


@tiny_pipeline("KandinskyV22CombinedPipeline", STEP_64, **PRIOR)
def write_kandinsky_22() -> Any:
    return diffusers.KandinskyV22CombinedPipeline(
        unet=kandinsky_unet("image", "image_proj"),
        scheduler=kandinsky_scheduler(),
        movq=movq(),
        **kandinsky_prior(),
    )


@tiny_pipeline("KandinskyCombinedPipeline", STEP_64, **PRIOR)
def write_kandinsky() -> Any:
    from diffusers.pipelines.kandinsky.text_encoder import MCLIPConfig, MultilingualCLIP

    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    tokenizer = transformers.XLMRobertaTokenizer(
        vocab=[*pieces, *((sign, -3.0) for sign in CHARACTERS), ("<mask>", 0.0)]
    )
    config = MCLIPConfig(
        imageDimSize=WIDTH, transformerDimSize=WIDTH, hidden_size=WIDTH, intermediate_size=16,
        num_attention_heads=2, num_hidden_layers=1, vocab_size=len(tokenizer) + 8,
    )  # fmt: skip
    return diffusers.KandinskyCombinedPipeline(
        text_encoder=MultilingualCLIP(config).eval(),
        tokenizer=tokenizer,
        unet=kandinsky_unet("text_image", "text_image_proj"),
        scheduler=kandinsky_scheduler(),
        movq=movq(),
        **kandinsky_prior(),
    )


@tiny_pipeline("Kandinsky3Pipeline", STEP_64)
def write_kandinsky_3() -> Any:
    unet = diffusers.Kandinsky3UNet(
        in_channels=4, time_embedding_dim=4, groups=2, attention_head_dim=4, layers_per_block=3,
        block_out_channels=(16, 16), cross_attention_dim=4, encoder_hid_dim=WIDTH,
    )  # fmt: skip
    return diffusers.Kandinsky3Pipeline(
        tokenizer=t5_tokenizer(),
        text_encoder=t5(),
        unet=livelier(unet, 2.0),
        scheduler=diffusers.DDPMScheduler(beta_schedule="squaredcos_cap_v2"),
        movq=movq(),
    )


def paella() -> Any:
    """The autoencoder of Wuerstchen and Stable Cascade."""
    from diffusers.pipelines.deprecated.wuerstchen import PaellaVQModel

    return PaellaVQModel(bottleneck_blocks=1, num_vq_embeddings=2, embed_dim=16).eval()


@tiny_pipeline(
    "StableCascadeCombinedPipeline",
    replace(OWN_SIZE, width=128, height=128),
    finish=module_of("wuerstchen", "vqgan"),
    **PRIOR,
)
def write_stable_cascade() -> Any:
    prior = diffusers.models.StableCascadeUNet(
        conditioning_dim=32, block_out_channels=(32, 32), num_attention_heads=(2, 2),
        down_num_layers_per_block=(1, 1), up_num_layers_per_block=(1, 1),
        clip_image_in_channels=768, switch_level=(False,), clip_text_in_channels=WIDTH,
        clip_text_pooled_in_channels=WIDTH,
    )  # fmt: skip
    rows = ("SDCascadeResBlock", "SDCascadeTimestepBlock")
    decoder = diffusers.models.StableCascadeUNet(
        in_channels=4, out_channels=4, conditioning_dim=32, block_out_channels=(16, 32),
        num_attention_heads=(-1, 2), down_num_layers_per_block=(1, 1),
        up_num_layers_per_block=(1, 1), down_blocks_repeat_mappers=(1, 1),
        up_blocks_repeat_mappers=(1, 1),
        block_types_per_layer=(rows, (*rows, "SDCascadeAttnBlock")),
        switch_level=None, clip_text_pooled_in_channels=WIDTH, dropout=(0.1, 0.1),
        effnet_in_channels=16,
    )  # fmt: skip
    return diffusers.StableCascadeCombinedPipeline(
        tokenizer=clip_tokenizer(),
        text_encoder=clip(projects=True),
        decoder=livelier(decoder.eval(), 2.0),
        scheduler=diffusers.DDPMWuerstchenScheduler(),
        vqgan=paella(),
        prior_prior=livelier(prior.eval(), 2.0),
        prior_text_encoder=clip(projects=True),
        prior_tokenizer=clip_tokenizer(),
        prior_scheduler=diffusers.DDPMWuerstchenScheduler(),
        prior_feature_extractor=None,
        prior_image_encoder=None,
    )


@tiny_pipeline(
    "WuerstchenCombinedPipeline",
    replace(OWN_SIZE, width=128, height=128),
    finish=module_of("wuerstchen", "vqgan", "decoder", "prior_prior"),
    **PRIOR,
)
def write_wuerstchen() -> Any:
    from diffusers.pipelines.deprecated.wuerstchen import WuerstchenDiffNeXt, WuerstchenPrior

    decoder = WuerstchenDiffNeXt(
        c_cond=WIDTH, c_hidden=[16, 32], nhead=[-1, 2], blocks=[1, 1], level_config=["CT", "CTA"],
        inject_effnet=[False, True], clip_embd=WIDTH,
    )  # fmt: skip
    prior = WuerstchenPrior(c_in=16, c=16, c_cond=WIDTH, c_r=16, depth=1, nhead=2)
    return diffusers.WuerstchenCombinedPipeline(
        tokenizer=clip_tokenizer(),
        text_encoder=clip(),
        decoder=livelier(decoder.eval(), 2.0),
        scheduler=diffusers.DDPMWuerstchenScheduler(),
        vqgan=paella(),
        prior_tokenizer=clip_tokenizer(),
        prior_text_encoder=clip(),
        prior_prior=livelier(prior.eval(), 2.0),
        prior_scheduler=diffusers.DDPMWuerstchenScheduler(),
    )


@tiny_pipeline("AmusedPipeline")
def write_amused() -> Any:
    transformer = diffusers.UVit2DModel(
        hidden_size=16, cond_embed_dim=WIDTH, micro_cond_encode_dim=2, micro_cond_embed_dim=10,
        encoder_hidden_size=WIDTH, vocab_size=33, codebook_size=32, in_channels=16,
        block_out_channels=16, num_res_blocks=1, block_num_heads=2, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16, sample_size=16,
    )  # fmt: skip
    vqvae = diffusers.VQModel(
        block_out_channels=[16, 16], norm_num_groups=8, num_vq_embeddings=32, latent_channels=4,
        down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2,
        layers_per_block=1, mid_block_add_attention=False, lookup_from_codebook=True,
    )  # fmt: skip
    return diffusers.AmusedPipeline(
        vqvae=vqvae.eval(),
        tokenizer=clip_tokenizer(),
        text_encoder=clip(projects=True),
        transformer=livelier(transformer),
        scheduler=diffusers.AmusedScheduler(mask_token_id=32),
    )


UNCLIP = {
    "prior_num_inference_steps": 2,
    "decoder_num_inference_steps": 2,
    "super_res_num_inference_steps": 2,
}


@tiny_pipeline(
    "UnCLIPPipeline", GenerationSettings(), finish=module_of("unclip", "text_proj"), **UNCLIP
)
def write_unclip() -> Any:
    from diffusers.pipelines.deprecated.unclip.text_proj import UnCLIPTextProjModel

    decoder = diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=3, out_channels=6, layers_per_block=1,
        down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
        up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        mid_block_type="UNetMidBlock2DSimpleCrossAttn", block_out_channels=(32, 32),
        cross_attention_dim=WIDTH, attention_head_dim=4, resnet_time_scale_shift="scale_shift",
        class_embed_type="identity",
    )  # fmt: skip
    sharper = {
        "sample_size": 32, "layers_per_block": 1, "block_out_channels": (32, 32),
        "down_block_types": ("ResnetDownsampleBlock2D",) * 2, "in_channels": 6,
        "up_block_types": ("ResnetUpsampleBlock2D",) * 2, "out_channels": 3,
        "add_attention": False,
    }  # fmt: skip
    text = UnCLIPTextProjModel(
        clip_embeddings_dim=WIDTH, time_embed_dim=128, cross_attention_dim=WIDTH
    )
    return diffusers.UnCLIPPipeline(
        prior=prior_transformer(),
        decoder=livelier(decoder, 2.0),
        text_encoder=clip(projects=True),
        tokenizer=clip_tokenizer(),
        text_proj=text,
        super_res_first=diffusers.UNet2DModel(**sharper),
        super_res_last=diffusers.UNet2DModel(**sharper),
        prior_scheduler=diffusers.UnCLIPScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=5.0
        ),
        decoder_scheduler=diffusers.UnCLIPScheduler(variance_type="learned_range"),
        super_res_scheduler=diffusers.UnCLIPScheduler(variance_type="fixed_small_log"),
    )


@tiny_pipeline("StableUnCLIPPipeline", **PRIOR)
def write_stable_unclip() -> Any:
    from diffusers.pipelines.stable_diffusion import StableUnCLIPImageNormalizer

    unet = tiny.unet(
        WIDTH, class_embed_type="projection", projection_class_embeddings_input_dim=2 * WIDTH
    )
    return diffusers.StableUnCLIPPipeline(
        prior_tokenizer=clip_tokenizer(),
        prior_text_encoder=clip(projects=True),
        prior=prior_transformer(),
        prior_scheduler=diffusers.DDPMScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=5.0,
            beta_schedule="squaredcos_cap_v2",
        ),
        image_normalizer=StableUnCLIPImageNormalizer(embedding_dim=WIDTH),
        image_noising_scheduler=diffusers.DDPMScheduler(beta_schedule="squaredcos_cap_v2"),
        tokenizer=clip_tokenizer(),
        text_encoder=clip(),
        unet=livelier(unet, 2.0),
        scheduler=diffusers.DDIMScheduler(set_alpha_to_one=False, steps_offset=1),
        vae=autoencoder(),
    )  # fmt: skip
