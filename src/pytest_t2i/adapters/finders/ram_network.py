"""The network of RAM (Zhang et al. 2024), built from library parts, with its authors' weights.

The authors' code is on no package index, and does not run with transformers 5. Only a part of the
network gives the tags: a Swin transformer encodes the picture, two layers of cross-attention
combine each tag with the picture's tokens, and a linear layer gives a logit per tag. The other
weights in the file served training and are not loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import torch
from timm.models.swin_transformer import SwinTransformer, checkpoint_filter_fn
from torch import Tensor, nn
from torch.nn import functional

HEADS = 4
"""Number of heads of the cross-attention, which the file does not contain."""
EPSILON = 1e-12
"""Epsilon of layer normalisation, as in BERT."""
SIDE_OF_WINDOW = 32
"""Side of a picture in pixels, divided by the side of a window in tokens: 384 / 12, 224 / 7."""
ENCODER = "visual_encoder."
LAYER = "tagging_head.encoder.layer.{}."
POSITIONS = re.compile(r"layers\.(\d+)\.blocks\.(\d+)\.attn\.relative_position_bias_table")
"""Name of a block's table; its size gives the window, its columns are heads."""
OLD_NAME = "vision_multi."
"""Name of the tagging head in older files."""


class Ram(nn.Module):  # type: ignore[misc]
    """Network that gives a logit for each tag of a picture; sizes follow from the weights."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        weights = {
            name.replace(OLD_NAME, "tagging_head."): value for name, value in weights.items()
        }
        self.encoder = _swin(_below(weights, ENCODER))
        self.project = _linear(weights, "image_proj")
        self.labels = nn.Parameter(_label_embeddings(weights))
        self.layers = nn.ModuleList(
            _Asking(_below(weights, LAYER.format(number))) for number in range(_count(weights))
        )
        self.answer = _linear(weights, "fc")

    @property
    def side(self) -> int:
        return int(self.encoder.patch_embed.img_size[0])

    def forward(self, pixels: Tensor) -> Tensor:
        """Logits [pictures, tags] of normalised pixels [pictures, 3, side, side]."""
        tokens = self.encoder.forward_features(pixels).flatten(1, 2)
        # The first token is the mean of all others.
        tokens = self.project(torch.cat([tokens.mean(dim=1, keepdim=True), tokens], dim=1))
        states = self.labels.expand(len(pixels), -1, -1)
        for layer in self.layers:
            states = layer(states, tokens)
        logits: Tensor = self.answer(states).squeeze(-1)
        return logits


class _Asking(nn.Module):  # type: ignore[misc]
    """A layer of BERT with cross-attention from tags to the picture's tokens only."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        names = [f"crossattention.self.{part}" for part in ("query", "key", "value")]
        query, key, value = (weights[f"{name}.weight"] for name in names)
        self.attention = nn.MultiheadAttention(
            len(query), HEADS, kdim=key.shape[1], vdim=value.shape[1], batch_first=True
        )
        out = "crossattention.output"
        self.attention.load_state_dict(
            {
                "q_proj_weight": query,
                "k_proj_weight": key,
                "v_proj_weight": value,
                "in_proj_bias": torch.cat([weights[f"{name}.bias"] for name in names]),
                "out_proj.weight": weights[f"{out}.dense.weight"],
                "out_proj.bias": weights[f"{out}.dense.bias"],
            }
        )
        self.after_attention = _norm(weights, f"{out}.LayerNorm")
        self.widen = _linear(weights, "intermediate.dense")
        self.narrow = _linear(weights, "output.dense")
        self.after_all = _norm(weights, "output.LayerNorm")

    def forward(self, states: Tensor, tokens: Tensor) -> Tensor:
        """The state of each tag after this layer, [pictures, tags, width]."""
        context, _ = self.attention(states, tokens, tokens, need_weights=False)
        states = self.after_attention(states + context)
        further: Tensor = self.after_all(states + self.narrow(functional.gelu(self.widen(states))))
        return further


def _swin(weights: Mapping[str, Tensor]) -> SwinTransformer:
    depths: dict[int, int] = {}
    heads: dict[int, int] = {}
    window = 0
    for name, value in weights.items():
        place = POSITIONS.fullmatch(name)
        if place:
            stage, block = map(int, place.groups())
            depths[stage] = max(depths.get(stage, 0), block + 1)
            heads[stage] = value.shape[1]
            window = (math.isqrt(value.shape[0]) + 1) // 2
    patches = weights["patch_embed.proj.weight"]
    encoder = SwinTransformer(
        img_size=window * SIDE_OF_WINDOW,
        patch_size=patches.shape[-1],
        embed_dim=len(patches),
        depths=tuple(depths[stage] for stage in sorted(depths)),
        num_heads=tuple(heads[stage] for stage in sorted(heads)),
        window_size=window,
        num_classes=0,
        always_partition=False,
    )
    encoder.load_state_dict(checkpoint_filter_fn(dict(weights), encoder))
    return encoder


def _label_embeddings(weights: Mapping[str, Tensor]) -> Tensor:
    """[tags, width]: a fixed embedding of each tag, projected to the width of the layers."""
    labels = weights["label_embed"].float()
    if "wordvec_proj.weight" in weights:
        labels = functional.linear(
            labels, weights["wordvec_proj.weight"], weights["wordvec_proj.bias"]
        )
    return functional.relu(labels)


def _count(weights: Mapping[str, Tensor]) -> int:
    pattern = re.compile(re.escape(LAYER).replace(r"\{\}", r"(\d+)"))
    numbers = [int(place[1]) for place in map(pattern.match, weights) if place]
    if not numbers:
        raise KeyError(LAYER.format(0))
    return max(numbers) + 1


def _below(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }


def _linear(weights: Mapping[str, Tensor], name: str) -> nn.Linear:
    weight = weights[f"{name}.weight"]
    return _filled(nn.Linear(weight.shape[1], weight.shape[0]), weights, name)


def _norm(weights: Mapping[str, Tensor], name: str) -> nn.LayerNorm:
    return _filled(nn.LayerNorm(len(weights[f"{name}.weight"]), eps=EPSILON), weights, name)


def _filled(module: Any, weights: Mapping[str, Tensor], name: str) -> Any:
    module.load_state_dict({part: weights[f"{name}.{part}"] for part in ("weight", "bias")})
    return module
