"""Word attention of a pipeline: a map over the picture for each word of the prompt.

For UNets the maps are those of DAAM (Tang et al. 2023; Wu section 6.1): cross-attention to the
prompt, of the conditional half, summed over steps, blocks and heads, without the coarsest maps. For
MM-DiT (SD3, FLUX) they are the joint attention from picture tokens to text tokens. The pipeline's
own attention processors are wrapped, so that no pixel changes; the wrappers compute the attention a
second time. Maps are summed on the device at each step, and single maps are not stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.models.prompt_embeddings import Family
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.prompts.words_in_prompts import attention_words

with needs("the diffusers adapter", "diffusers"):
    import torch
    from torch.nn import functional

if TYPE_CHECKING:
    import numpy as np

COARSEST = 8
"""Ratio of the latent's side to a map's side from which on the map is left out, as in DAAM."""
CROSS = "attn2.processor"
"""Suffix of the names of a UNet's cross-attention processors."""
MOST_TOKENS = 512
"""Largest number of tokens of a prompt, which is FLUX's limit."""
JOINT = ("StableDiffusion3Pipeline", "FluxPipeline")


@dataclass(slots=True)
class Sums:
    """Sums of the attention from pictures to tokens."""

    pictures: int
    """Number of pictures in the batch; guidance adds rows without a prompt before them."""
    by_size: dict[int, torch.Tensor] = field(default_factory=dict)
    """Number of positions of a map -> sums, [pictures, tokens, positions]."""
    counted: dict[int, int] = field(default_factory=dict)
    """Number of positions of a map -> number of summed heads, blocks and steps."""
    texts: int = 0
    """Number of text tokens before the picture tokens in a joint sequence (FLUX), once known."""

    def add(self, query: torch.Tensor, key: torch.Tensor, texts: slice, scale: float) -> None:
        """Add softmax(query key), kept for text tokens; shapes are [rows, heads, length, d]."""
        query, key = query[-self.pictures :], key[-self.pictures :]
        places = query.shape[2]
        total = self.by_size.get(places)
        for head in range(query.shape[1]):
            scores = query[:, head].float() @ key[:, head].float().transpose(1, 2) * scale
            attention = scores.softmax(dim=-1)[:, :, texts].transpose(1, 2)
            total = attention if total is None else total + attention
        if total is not None:
            self.by_size[places] = total
            self.counted[places] = self.counted.get(places, 0) + int(query.shape[1])


class Watching:
    """Wraps an attention processor: returns its result, and adds up the attention."""

    def __init__(self, inner: Any, sums: Sums) -> None:
        self.inner, self.sums = inner, sums

    # diffusers passes the arguments that are in a processor's signature.
    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        *rest: Any,
        **named: Any,
    ) -> Any:
        """Return the wrapped processor's result, and add up the attention."""
        if encoder_hidden_states is not None:
            self.reckon(attn, hidden_states, encoder_hidden_states)
        return self.inner(attn, hidden_states, encoder_hidden_states, *rest, **named)

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        raise NotImplementedError


class Cross(Watching):
    """Wraps a UNet's cross-attention processor."""

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        if places.ndim != 3:  # noqa: PLR2004 - rows, places, d
            return
        normed_texts = attn.norm_encoder_hidden_states(texts) if attn.norm_cross else texts
        query, key = (_heads(x, attn.heads) for x in (attn.to_q(places), attn.to_k(normed_texts)))
        query, key = _normed(attn.norm_q, query), _normed(attn.norm_k, key)
        self.sums.add(query, key, slice(None), query.shape[-1] ** -0.5)


class JointOfSD3(Watching):
    """Wraps a joint attention processor in which picture tokens come first."""

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        query = _normed(attn.norm_q, _heads(attn.to_q(places), attn.heads))
        key = _normed(attn.norm_k, _heads(attn.to_k(places), attn.heads))
        added = _heads(attn.add_k_proj(texts), attn.heads)
        joint_key = torch.cat([_normed(attn.norm_added_k, added), key], dim=2)
        self.sums.add(query, joint_key, slice(0, added.shape[2]), query.shape[-1] ** -0.5)


class JointOfFlux(Watching):
    """Wraps a joint attention processor in which text tokens come first, with positions."""

    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        attention_mask: Any = None,
        image_rotary_emb: Any = None,
        **named: Any,
    ) -> Any:
        """Return the wrapped processor's result, and add up the attention."""
        from diffusers.models.embeddings import apply_rotary_emb

        query = attn.norm_q(attn.to_q(hidden_states).unflatten(-1, (attn.heads, -1)))
        key = attn.norm_k(attn.to_k(hidden_states).unflatten(-1, (attn.heads, -1)))
        if encoder_hidden_states is not None:
            self.sums.texts = encoder_hidden_states.shape[1]
            text_query, text_key = (
                norm(projection(encoder_hidden_states).unflatten(-1, (attn.heads, -1)))
                for norm, projection in (
                    (attn.norm_added_q, attn.add_q_proj),
                    (attn.norm_added_k, attn.add_k_proj),
                )
            )
            query, key = torch.cat([text_query, query], dim=1), torch.cat([text_key, key], dim=1)
        if image_rotary_emb is not None:
            query = apply_rotary_emb(query, image_rotary_emb, sequence_dim=1)
            key = apply_rotary_emb(key, image_rotary_emb, sequence_dim=1)
        texts = self.sums.texts
        if texts:
            of_picture = query[:, texts:].transpose(1, 2)
            scale = query.shape[-1] ** -0.5
            self.sums.add(of_picture, key.transpose(1, 2), slice(0, texts), scale)
        return self.inner(
            attn, hidden_states, encoder_hidden_states, attention_mask, image_rotary_emb, **named
        )


@contextmanager
def observed(pipeline: Any, pictures: int) -> Iterator[Sums | None]:
    """A context that sums the pipeline's attention to the prompt; None where it has none."""
    network: Any = getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)
    kind = _kind(pipeline)
    before = dict(network.attn_processors) if hasattr(network, "attn_processors") else {}
    mine = [name for name in before if kind is not Cross or name.endswith(CROSS)]
    if kind is None or not mine:
        yield None
        return
    sums = Sums(pictures)
    network.set_attn_processor(
        {
            name: kind(processor, sums) if name in mine else processor
            for name, processor in before.items()
        }
    )
    try:
        yield sums
    finally:
        network.set_attn_processor(before)


def _kind(pipeline: Any) -> type[Any] | None:
    names = [cls.__name__ for cls in type(pipeline).__mro__]
    if getattr(pipeline, "unet", None) is not None:
        return Cross
    return next(
        (
            kind
            for name, kind in zip(JOINT, (JointOfSD3, JointOfFlux), strict=True)
            if name in names
        ),
        None,
    )


def word_maps(
    sums: Sums, pipeline: Any, family: Family, prompts: Sequence[str], size: tuple[int, int]
) -> list[np.ndarray]:
    """The maps of each picture, [n_words, height, width] float16, for ``attention_words``."""
    maps = _laid_out(sums, size)
    picture_maps = []
    for row, prompt in enumerate(prompts):
        places = [token_places(pipeline, family, prompt, word) for word in attention_words(prompt)]
        # A word in the truncated end of a long prompt has no tokens, and an empty map.
        words = [
            maps[row][of_word].mean(dim=0) if of_word else torch.zeros_like(maps[row][0])
            for of_word in places
        ]
        empty = maps.new_zeros((0, *maps.shape[2:]))
        picture_maps.append((torch.stack(words) if words else empty).half().cpu().numpy())
    return picture_maps


def _laid_out(sums: Sums, size: tuple[int, int]) -> torch.Tensor:
    """[pictures, tokens, height, width] at the finest size: the mean over sizes, blocks, heads."""
    width, height = size
    finest = max(sums.by_size)
    shape = _shape(finest, width / height)
    total: torch.Tensor | None = None
    weight = 0
    for places, maps in sums.by_size.items():
        if places < finest and math.isqrt(finest // places) >= COARSEST:
            continue
        rows, columns = _shape(places, width / height)
        laid = maps.reshape(*maps.shape[:2], rows, columns)
        if (rows, columns) != shape:
            laid = functional.interpolate(laid, size=shape, mode="bicubic").clamp(min=0)
        total = laid if total is None else total + laid
        weight += sums.counted[places]
    if total is None:
        raise ValueError("expected attention of at least one size, got none")
    return total / weight


def _shape(places: int, aspect: float) -> tuple[int, int]:
    """Rows and columns of a map with so many positions, for a picture's width / height."""
    rows = min(
        (r for r in range(1, places + 1) if places % r == 0),
        key=lambda r: abs(math.log(places / r / r / aspect)),
    )
    return rows, places // rows


def token_places(pipeline: Any, family: Family, prompt: str, word: str) -> list[int]:
    """Indices of a word's tokens among those of the prompt, repetitions included."""
    places: list[int] = []
    start = 0
    for number, name in enumerate(family.sequence):
        tokenizer = getattr(pipeline, name, None)
        is_last = number == len(family.sequence) - 1
        # Only pipelines with several tokenizers have this attribute.
        length = int(getattr(pipeline, "tokenizer_max_length", MOST_TOKENS))
        if tokenizer is not None:
            most = int(tokenizer.model_max_length) if is_last else length
            ids = list(
                tokenizer(prompt, truncation=True, max_length=min(most, MOST_TOKENS))["input_ids"]
            )
            places += [start + place for place in _spots(ids, _ids_of(tokenizer, word))]
        start += length
    return places


def _ids_of(tokenizer: Any, word: str) -> list[list[int]]:
    """The word's tokens at the beginning of a text and within a text."""
    spelled = (word, f" {word}", word.capitalize())
    ids = [list(tokenizer(spelling, add_special_tokens=False)["input_ids"]) for spelling in spelled]
    return [spelling for k, spelling in enumerate(ids) if spelling and spelling not in ids[:k]]


def _spots(ids: Sequence[int], words: Sequence[Sequence[int]]) -> list[int]:
    spots: set[int] = set()
    for word in words:
        for start in range(len(ids) - len(word) + 1):
            if list(ids[start : start + len(word)]) == list(word):
                spots |= set(range(start, start + len(word)))
    return sorted(spots)


def _heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _normed(norm: Any, x: torch.Tensor) -> torch.Tensor:
    return x if norm is None else norm(x)
