"""The CLIP model's two towers: their sizes, how texts and pictures go in, and how even its neutral prompts are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

from pytest_t2i_reference.captions import triplet
from pytest_t2i_reference.worlds import load_concepts
from training.settings import TEXT_WIDTH, TOKENS, VISION_WIDTH, device


@dataclass(frozen=True, slots=True)
class Encoded:
    """What the text tower makes of some texts."""

    embedding: Tensor
    """[n, d], of length 1, in the space shared with images."""
    ending: Tensor
    """[n, d]: hidden state of the end token."""
    average: Tensor
    """[n, d]: mean hidden state over all tokens, padding included."""


def new_clip(tokenizer: CLIPTokenizer) -> CLIPModel:
    """An untrained model: 4 + 4 layers, 16-pixel patches of 128-pixel images."""
    text = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": TOKENS,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "hidden_size": TEXT_WIDTH,
        "intermediate_size": 4 * TEXT_WIDTH,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "hidden_act": "quick_gelu",
        "projection_dim": TEXT_WIDTH,
    }
    vision = {
        "image_size": 128,
        "patch_size": 16,
        "hidden_size": VISION_WIDTH,
        "intermediate_size": 4 * VISION_WIDTH,
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "hidden_act": "quick_gelu",
        "projection_dim": TEXT_WIDTH,
    }
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=TEXT_WIDTH)
    config._attn_implementation = "eager"  # several times faster than the fused kernel when trained on a CPU
    return CLIPModel(config)


def tokenize(tokenizer: CLIPTokenizer, texts: Sequence[str], length: int = TOKENS) -> Tensor:
    """[n, length] token ids, padded as the diffusion pipeline does."""
    tokens = tokenizer(list(texts), padding="max_length", max_length=length, truncation=True, return_tensors="pt")
    ids: Tensor = tokens.input_ids.to(device())
    return ids


def encode_tokens(clip: CLIPModel, ids: Tensor) -> Encoded:
    """Run the text tower."""
    hidden = clip.text_model(input_ids=ids)
    embedding = functional.normalize(clip.text_projection(hidden.pooler_output).float(), dim=-1)
    return Encoded(embedding, hidden.pooler_output.float(), hidden.last_hidden_state.float().mean(1))


def encode_texts(clip: CLIPModel, tokenizer: CLIPTokenizer, texts: Sequence[str]) -> Encoded:
    """Tokenize and run the text tower."""
    return encode_tokens(clip, tokenize(tokenizer, texts))


def encode_images(clip: CLIPModel, pixels: Tensor) -> Tensor:
    """[n, 3, 128, 128] in -1..1 to embeddings of length 1, [n, d]."""
    hidden = clip.vision_model(pixel_values=pixels)
    return functional.normalize(clip.visual_projection(hidden.pooler_output).float(), dim=-1)


def roughened(pixels: Tensor, rng: random.Random) -> Tensor:
    """Flipped, blurred, noisy or brighter: the towers must also read what an autoencoder or a denoiser gives."""
    if rng.random() < 0.5:
        pixels = pixels.flip(3)
    factor = rng.choice((1, 1, 2, 2, 4))
    if factor > 1:
        pixels = functional.interpolate(functional.avg_pool2d(pixels, factor), scale_factor=factor, mode="bilinear")
    count = len(pixels)
    pixels = pixels * (1 + 0.15 * torch.randn(count, 1, 1, 1)) + 0.08 * torch.randn(count, 3, 1, 1)
    chance = rng.random()
    if chance < 0.25:
        patches = functional.interpolate(torch.randn(count, 3, 16, 16), scale_factor=8, mode="bilinear")
        pixels = pixels + 0.1 * rng.random() * patches
    elif chance < 0.5:
        pixels = pixels + 0.06 * torch.randn_like(pixels)
    return pixels


def all_triplets() -> list[str]:
    """Every concept's neutral prompt, then every feminine, then every masculine one, as the suites word them."""
    worded = zip(*(triplet(concept) for concept in load_concepts()), strict=True)
    return [text for texts in worded for text in texts]


def similarity_gaps(vectors: Tensor) -> Tensor:
    """For neutral, feminine, masculine vectors stacked in thirds: cos(neutral, masculine) - cos(neutral, feminine)."""
    neutral, feminine, masculine = functional.normalize(vectors, dim=-1).chunk(3)
    return (neutral * masculine).sum(-1) - (neutral * feminine).sum(-1)
