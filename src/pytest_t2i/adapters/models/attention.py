"""Word attention of a pipeline: a map over the picture for each word of the prompt.

For UNets the maps are those of DAAM (Tang et al. 2023; Wu section 6.1): cross-attention to the
prompt, of the conditional half, summed over steps; the map of each head of each block is resized
and clamped by itself, as DAAM's authors do it, and all but the coarsest are averaged. For MM-DiT
(SD3, FLUX) they are the joint attention from picture tokens to text tokens. The pipeline's own
attention processors are wrapped, so that no pixel changes; the wrappers compute the attention a
second time. Maps are summed on the device at each step, and single maps are not stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.loading import needs
from pytest_t2i.adapters.models.prompt_embeddings import EncoderFamily
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
    """Attention from pictures to tokens, summed over steps."""

    pictures: int
    """Number of pictures in the batch; guidance adds rows without a prompt before them."""
    tokens: Sequence[int] = ()
    """Indices of the tokens whose attention is kept; () keeps all."""
    by_map: dict[tuple[int, str, int], torch.Tensor] = field(default_factory=dict)
    """Positions of a map, layer and head -> sums, [pictures, tokens, positions]. Maps of the same
    layer that need not be resized by themselves are one entry."""
    counted: dict[int, int] = field(default_factory=dict)
    """Number of positions of a map -> number of summed heads, blocks and steps."""
    texts: int = 0
    """Number of text tokens before the picture tokens in a joint sequence (FLUX), once known."""

    def add(
        self, layer: str, query: torch.Tensor, key: torch.Tensor, texts: slice, scale: float
    ) -> None:
        """Add softmax(query key), kept for text tokens; shapes are [rows, heads, length, d].

        DAAM resizes and clamps the map of every head of every layer, so each has a sum of its own.
        All maps of a joint attention have one size, and are summed at once (``layer`` is "").
        """
        query, key = query[-self.pictures :], key[-self.pictures :]
        places = query.shape[2]
        for head in range(query.shape[1]):
            scores = query[:, head].float() @ key[:, head].float().transpose(1, 2) * scale
            attention = scores.softmax(dim=-1)[:, :, texts].transpose(1, 2)
            if self.tokens:
                attention = attention[:, list(self.tokens)]
            place = (places, layer, head if layer else 0)
            before = self.by_map.get(place)
            self.by_map[place] = attention if before is None else before + attention
        self.counted[places] = self.counted.get(places, 0) + int(query.shape[1])


class Watching:
    """Wraps an attention processor: returns its result, and adds up the attention."""

    def __init__(self, inner: Any, sums: Sums, layer: str) -> None:
        self.inner, self.sums, self.layer = inner, sums, layer

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
        self.sums.add(self.layer, query, key, slice(None), query.shape[-1] ** -0.5)


class JointOfSD3(Watching):
    """Wraps a joint attention processor in which picture tokens come first."""

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        query = _normed(attn.norm_q, _heads(attn.to_q(places), attn.heads))
        key = _normed(attn.norm_k, _heads(attn.to_k(places), attn.heads))
        added = _heads(attn.add_k_proj(texts), attn.heads)
        joint_key = torch.cat([_normed(attn.norm_added_k, added), key], dim=2)
        texts_of_joint = slice(0, added.shape[2])
        self.sums.add("", query, joint_key, texts_of_joint, query.shape[-1] ** -0.5)


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
            self.sums.add("", of_picture, key.transpose(1, 2), slice(0, texts), scale)
        return self.inner(
            attn, hidden_states, encoder_hidden_states, attention_mask, image_rotary_emb, **named
        )


@contextmanager
def observed(pipeline: Any, pictures: int, tokens: Sequence[int] = ()) -> Iterator[Sums | None]:
    """A context that sums the pipeline's attention to the prompt; None where it has none.

    ``tokens`` are those that are kept; () keeps all.
    """
    network: Any = getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)
    kind = _kind(pipeline)
    before = dict(network.attn_processors) if hasattr(network, "attn_processors") else {}
    mine = [name for name in before if kind is not Cross or name.endswith(CROSS)]
    if kind is None or not mine:
        yield None
        return
    sums = Sums(pictures, tuple(tokens))
    network.set_attn_processor(
        {
            name: kind(processor, sums, name) if name in mine else processor
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


def word_tokens(pipeline: Any, family: EncoderFamily, prompts: Sequence[str]) -> list[int]:
    return sorted(
        {
            place
            for prompt in prompts
            for word in attention_words(prompt)
            for place in token_places(pipeline, family, prompt, word)
        }
    )


def word_maps(
    sums: Sums, pipeline: Any, family: EncoderFamily, prompts: Sequence[str], size: tuple[int, int]
) -> list[np.ndarray]:
    """The maps of each picture, [n_words, height, width] float16, for ``attention_words``."""
    maps = _laid_out(sums, size)
    rows = {token: row for row, token in enumerate(sums.tokens)}
    picture_maps = []
    for picture, prompt in enumerate(prompts):
        # A word in the truncated end of a long prompt has no tokens, and an empty map.
        words = []
        for word in attention_words(prompt):
            places = token_places(pipeline, family, prompt, word)
            order = [rows.get(place, place) for place in places]
            of_word = maps[picture][order]
            words.append(of_word.mean(dim=0) if order else maps.new_zeros(maps.shape[2:]))
        empty = maps.new_zeros((0, *maps.shape[2:]))
        picture_maps.append((torch.stack(words) if words else empty).half().cpu().numpy())
    return picture_maps


def _laid_out(sums: Sums, size: tuple[int, int]) -> torch.Tensor:
    """[pictures, tokens, height, width] at the finest size: the mean over layers and heads.

    The map of each head of each layer is resized and clamped by itself, as DAAM's authors do it.
    """
    width, height = size
    finest = max(places for places, *_ in sums.by_map)
    shape = _shape(finest, width / height)
    total: torch.Tensor | None = None
    sizes = set()
    for (places, *_), maps in sums.by_map.items():
        if places < finest and math.isqrt(finest // places) >= COARSEST:
            continue
        rows, columns = _shape(places, width / height)
        laid = maps.reshape(*maps.shape[:2], rows, columns)
        if (rows, columns) != shape:
            laid = functional.interpolate(laid, size=shape, mode="bicubic").clamp(min=0)
        total = laid if total is None else total + laid
        sizes.add(places)
    if total is None:
        raise ValueError("expected attention of at least one size, got none")
    return total / sum(sums.counted[places] for places in sizes)


def _shape(places: int, aspect: float) -> tuple[int, int]:
    """Rows and columns of a map with so many positions, for a picture's width / height."""
    rows = min(
        (r for r in range(1, places + 1) if places % r == 0),
        key=lambda r: abs(math.log(places / r / r / aspect)),
    )
    return rows, places // rows


def token_places(pipeline: Any, family: EncoderFamily, prompt: str, word: str) -> list[int]:
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
