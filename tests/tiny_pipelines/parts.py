"""Tokenizers, text encoders and autoencoders that several tiny pipelines share."""

from __future__ import annotations

from typing import Any

import torch
from diffusers import (
    AutoencoderDC,
    AutoencoderKL,
    AutoencoderKLFlux2,
    AutoencoderKLQwenImage,
    AutoencoderKLWan,
    FlowMatchEulerDiscreteScheduler,
)
from tiny import clip_text_config, clip_tokenizer, t5_tokenizer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    CLIPTextModel,
    CLIPTextModelWithProjection,
    Gemma2Config,
    Gemma2Model,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2Tokenizer,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3Model,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    T5Config,
    T5EncoderModel,
)

WIDTH = 16
"""Width of the text encoders."""
SMALL_TEXT = {
    "hidden_size": WIDTH,
    "intermediate_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 4096,
}
"""Configuration of a decoder of two layers."""
MROPE = {"mrope_section": [1, 1, 2], "rope_type": "default", "type": "default"}
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}"
    "{% else %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A chat template as Qwen has it."""
QWEN_TOKENS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>",
    "<|image_pad|>", "<|video_pad|>",
)  # fmt: skip


def livelier(module: Any, scale: float = 4.0) -> Any:
    """The same module with larger weights, so that texts and guidance change pixels."""
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim > 1 and weight.any():
                weight.mul_(scale)
            elif weight.ndim > 1:  # gates that begin closed
                weight.normal_(std=0.2)
    return module


def byte_vocabulary(*own: str) -> dict[str, int]:
    """A vocabulary of these tokens, then of bytes."""
    return {
        token: at for at, token in enumerate([*own, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }


def qwen2_tokenizer() -> Qwen2Tokenizer:
    """A Qwen tokenizer whose tokens are bytes."""
    return Qwen2Tokenizer(
        vocab=byte_vocabulary(*QWEN_TOKENS),
        merges=[],
        unk_token=QWEN_TOKENS[0],
        eos_token="<|im_end|>",
        pad_token=QWEN_TOKENS[0],
        additional_special_tokens=list(QWEN_TOKENS[1:]),
        chat_template=CHAT,
        model_max_length=4096,
    )


def byte_tokenizer(**config: Any) -> PreTrainedTokenizerFast:
    """A tokenizer of bytes as those of Llama, Gemma, Mistral and GLM are loaded."""
    own = ("<pad>", "<s>", "</s>", "<unk>", "<image>", "<grid>", "</grid>")
    core = Tokenizer(models.BPE(byte_vocabulary(*own), [], unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", own.index("<s>"))]
    )
    special = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    further = {
        "extra_special_tokens": {
            "image_token": "<image>", "grid_bos_token": "<grid>", "grid_eos_token": "</grid>",
            "boi_token": "<grid>", "eoi_token": "</grid>",
        },
        "chat_template": CHAT,
    }  # fmt: skip
    return PreTrainedTokenizerFast(
        tokenizer_object=core, **special, **further, **{"model_max_length": 512, **config}
    )


TOKENS = 7 + 256
"""Tokens of both tokenizers of bytes."""


def qwen2_5_vl(**config: Any) -> Qwen2_5_VLForConditionalGeneration:
    """The text encoder of Qwen-Image, Kandinsky 5 and LongCat-Image."""
    text = {
        **SMALL_TEXT, "vocab_size": TOKENS, "rope_scaling": MROPE, "rope_theta": 1000000.0,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2,
        "out_hidden_size": WIDTH,
    }  # fmt: skip
    return Qwen2_5_VLForConditionalGeneration(
        Qwen2_5_VLConfig(
            text_config=text,
            vision_config=vision,
            vision_start_token_id=3,
            vision_end_token_id=4,
            image_token_id=5,
            video_token_id=6,
            **config,
        )
    ).eval()


def qwen3(*, causal: bool = False, layers: int = 2) -> Any:
    """The text encoder of Z-Image and FLUX.2 klein."""
    kind = Qwen3ForCausalLM if causal else Qwen3Model
    small = {**SMALL_TEXT, "num_hidden_layers": layers}
    return kind(Qwen3Config(vocab_size=TOKENS, **small)).eval()


def qwen3_vl(kind: Any = Qwen3VLForConditionalGeneration, layers: int = 2) -> Any:
    """The text encoder of Krea 2, NucleusMoE, Ideogram 4 and Qwen-Image 2.1."""
    text = {
        **SMALL_TEXT, "num_hidden_layers": layers, "vocab_size": TOKENS,
        "rope_scaling": MROPE, "rope_theta": 1000000.0,
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2,
        "out_hidden_size": WIDTH, "deepstack_visual_indexes": [0],
    }  # fmt: skip
    return kind(
        Qwen3VLConfig(
            text_config=text,
            vision_config=vision,
            image_token_id=5,
            video_token_id=6,
            vision_start_token_id=3,
            vision_end_token_id=4,
        )
    ).eval()


def gemma2() -> Gemma2Model:
    """The text encoder of SANA and Lumina 2."""
    return Gemma2Model(Gemma2Config(vocab_size=TOKENS, **SMALL_TEXT)).eval()


def t5(**config: Any) -> T5EncoderModel:
    """A T5 encoder for the tokenizer of tiny.py."""
    small = {
        "vocab_size": len(t5_tokenizer()), "d_model": WIDTH, "d_kv": 8, "d_ff": 32,
        "num_layers": 2, "num_heads": 2,
    }  # fmt: skip
    return T5EncoderModel(T5Config(**{**small, **config})).eval()


def clip(*, projects: bool = False, width: int = WIDTH, positions: int = 77) -> Any:
    """A text tower of CLIP for the tokenizer of tiny.py."""
    config = clip_text_config(clip_tokenizer())
    config.hidden_size = config.projection_dim = width
    config.max_position_embeddings = positions
    return (CLIPTextModelWithProjection if projects else CLIPTextModel)(config).eval()


def autoencoder(channels: int = 4, levels: int = 2, **config: Any) -> AutoencoderKL:
    """A variational autoencoder that halves each side ``levels - 1`` times."""
    return AutoencoderKL(
        block_out_channels=(8,) * levels,
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * levels,
        up_block_types=("UpDecoderBlock2D",) * levels,
        latent_channels=channels,
        **config,
    ).eval()


def shifted_autoencoder(channels: int = 4, levels: int = 2, **config: Any) -> AutoencoderKL:
    """The same with a shift, as FLUX has it."""
    flags = {"use_quant_conv": False, "use_post_quant_conv": False, "shift_factor": 0.1}
    return autoencoder(channels, levels, **flags, **config)


def flux2_autoencoder(channels: int = 4) -> AutoencoderKLFlux2:
    """The autoencoder of FLUX.2, ERNIE-Image and Ideogram 4."""
    return AutoencoderKLFlux2(
        block_out_channels=(8, 8),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=channels,
        layers_per_block=1,
    ).eval()


def qwen_autoencoder() -> AutoencoderKLQwenImage:
    """The autoencoder of Qwen-Image, Krea 2 and NucleusMoE, which has convolutions of videos."""
    return AutoencoderKLQwenImage(
        base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
        temperal_downsample=[False, True, True], latents_mean=[0.0] * 4, latents_std=[1.0] * 4,
    ).eval()  # fmt: skip


def wan_autoencoder(channels: int = 4, **config: Any) -> AutoencoderKLWan:
    """The autoencoder of Wan, which Cosmos 2 and FIBO have, too."""
    return AutoencoderKLWan(
        base_dim=8, z_dim=channels, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
        temperal_downsample=[False, True, True], latents_mean=[0.0] * channels,
        latents_std=[1.0] * channels, **config,
    ).eval()  # fmt: skip


def sana_autoencoder() -> AutoencoderDC:
    """The deep-compression autoencoder of SANA."""
    return AutoencoderDC(
        latent_channels=4, attention_head_dim=2,
        encoder_block_types=("ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "EfficientViTBlock"),
        encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8),
        encoder_qkv_multiscales=((), (5,)), decoder_qkv_multiscales=((), (5,)),
        encoder_layers_per_block=(1, 1), decoder_layers_per_block=[1, 1],
        downsample_block_type="conv", upsample_block_type="interpolate",
    ).eval()  # fmt: skip


def flow(**config: Any) -> FlowMatchEulerDiscreteScheduler:
    """The scheduler of most models that follow a flow."""
    return FlowMatchEulerDiscreteScheduler(**config)
