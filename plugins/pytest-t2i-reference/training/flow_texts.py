"""What the text encoders of both kinds of pipelines make of a prompt, each text encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

from training.settings import quick_dtype
from training.towers import tokenize

CHUNK = 64


@dataclass(frozen=True, slots=True)
class FlowText:
    """Texts as the networks are given them."""

    last: Tensor
    """[n, TOKENS, TEXT_WIDTH]: what a UNet reads."""
    joint: Tensor
    """[n, TOKENS, 2 TEXT_WIDTH]: the last but one hidden states of both encoders side by side."""
    pooled: Tensor
    """[n, 2 TEXT_WIDTH]: what both encoders make of the whole text."""


@dataclass(slots=True)
class FlowTexts:
    """The encoder of a world and the texts it has encoded."""

    tokenizer: CLIPTokenizer
    encoder: CLIPTextModelWithProjection
    learner: CLIPTextModelWithProjection | None = None
    """What the flow reads with, where that is another encoder than the UNet's."""
    rows: dict[str, int] = field(default_factory=dict)
    known: list[FlowText] = field(default_factory=list)

    def of(self, texts: Sequence[str]) -> FlowText:
        """These texts, in their order."""
        self._learn([text for text in dict.fromkeys(texts) if text not in self.rows])
        chosen = [self.known[self.rows[text]] for text in texts]
        return FlowText(*(torch.stack([getattr(one, part) for one in chosen]) for part in ("last", "joint", "pooled")))

    @torch.no_grad()
    def _learn(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), CHUNK):
            part = texts[start : start + CHUNK]
            ids = tokenize(self.tokenizer, part)
            encoded = encode_for_flow(self.encoder, ids)
            own = encoded if self.learner is None else encode_for_flow(self.learner, ids)
            for row, text in enumerate(part):
                self.rows[text] = len(self.known)
                self.known.append(FlowText(encoded.last[row], own.joint[row], own.pooled[row]))


def encode_for_flow(encoder: CLIPTextModelWithProjection, ids: Tensor) -> FlowText:
    """Run the encoder, which stands for both of an SD3 pipeline; gradients pass through."""
    made = encoder(ids, output_hidden_states=True)
    last, before = encoder.text_model.final_layer_norm(made.hidden_states[-1]), made.hidden_states[-2]
    parts = (last, torch.cat([before, before], -1), torch.cat([made.text_embeds, made.text_embeds], -1))
    return FlowText(*(part.to(quick_dtype()) for part in parts))


def projected(encoder: CLIPTextModel, projection: Tensor) -> CLIPTextModelWithProjection:
    """A text encoder with the projection [d, TEXT_WIDTH] of the CLIP model that it was a part of."""
    whole = CLIPTextModelWithProjection(encoder.config)
    weights = {f"text_model.{name.removeprefix('text_model.')}": value for name, value in encoder.state_dict().items()}
    whole.load_state_dict({**weights, "text_projection.weight": projection})
    return whole.float().eval().requires_grad_(False)


def joined(texts: Sequence[FlowText], length: int) -> FlowText:
    """Texts of several worlds as one, cut to ``length`` and followed by the zeros that stand for an absent T5."""
    joint = torch.cat([text.joint[:, :length] for text in texts])
    joint = torch.cat([joint, torch.zeros_like(joint[:, :1])], 1)
    return FlowText(torch.cat([text.last for text in texts]), joint, torch.cat([text.pooled for text in texts]))
