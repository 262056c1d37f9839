"""Word attention of a pipeline: where in the picture each word of the prompt was looked at.

For UNets as DAAM has it (Tang et al. 2023; Wu section 6.1): cross-attention to the prompt, of the
conditional half, summed over steps, blocks and heads, the coarsest maps left out. For MM-DiT (SD3,
FLUX): from pictures to texts in the joint attention. Processors of our own have the pipeline's
own do the work, so that no pixel changes, and reckon the attention beside it; maps are summed on
the device as they come, and never kept whole.
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
"""Maps whose side is this much smaller than the latent's say too little of places (DAAM)."""
CROSS = "attn2.processor"
"""Ends the names of a UNet's processors of cross-attention."""
MOST_TOKENS = 512
"""Of a prompt; FLUX reads as many."""
JOINT = ("StableDiffusion3Pipeline", "FluxPipeline")


@dataclass(slots=True)
class Sums:
    """Attention of pictures to tokens, summed as it comes."""

    pictures: int
    """Pictures of the batch; guidance adds rows without a prompt, which come first."""
    by_size: dict[int, torch.Tensor] = field(default_factory=dict)
    """Places of a map -> sums, [pictures, tokens, places]."""
    counted: dict[int, int] = field(default_factory=dict)
    """Places of a map -> heads, blocks and steps that were summed."""
    texts: int = 0
    """Tokens that stand before the picture in a joint sequence (FLUX), once they are known."""

    def add(self, query: torch.Tensor, key: torch.Tensor, texts: slice, scale: float) -> None:
        """Softmax over all keys, of which the texts' are kept; [rows, heads, length, d] each."""
        query, key = query[-self.pictures :], key[-self.pictures :]
        places = query.shape[2]
        total = self.by_size.get(places)
        for head in range(query.shape[1]):
            scores = query[:, head].float() @ key[:, head].float().transpose(1, 2) * scale
            kept = scores.softmax(dim=-1)[:, :, texts].transpose(1, 2)
            total = kept if total is None else total + kept
        if total is not None:
            self.by_size[places] = total
            self.counted[places] = self.counted.get(places, 0) + int(query.shape[1])


class Watching:
    """Stands before a processor of the pipeline: gives what that gives, and reckons beside it."""

    def __init__(self, inner: Any, sums: Sums) -> None:
        self.inner, self.sums = inner, sums

    # diffusers hands a processor what its signature names.
    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        *rest: Any,
        **named: Any,
    ) -> Any:
        """What the pipeline's own processor gives; the attention is reckoned beside it."""
        if encoder_hidden_states is not None:
            self.reckon(attn, hidden_states, encoder_hidden_states)
        return self.inner(attn, hidden_states, encoder_hidden_states, *rest, **named)

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        raise NotImplementedError


class Cross(Watching):
    """Stands before a UNet's processor of cross-attention."""

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        if places.ndim != 3:  # noqa: PLR2004 - rows, places, d
            return
        known = attn.norm_encoder_hidden_states(texts) if attn.norm_cross else texts
        query, key = (_heads(x, attn.heads) for x in (attn.to_q(places), attn.to_k(known)))
        query, key = _normed(attn.norm_q, query), _normed(attn.norm_k, key)
        self.sums.add(query, key, slice(None), query.shape[-1] ** -0.5)


class JointOfSD3(Watching):
    """Stands before a processor of joint attention in which the picture comes first."""

    def reckon(self, attn: Any, places: Any, texts: Any) -> None:
        """Add the attention of the picture's places to the texts."""
        query = _normed(attn.norm_q, _heads(attn.to_q(places), attn.heads))
        key = _normed(attn.norm_k, _heads(attn.to_k(places), attn.heads))
        added = _heads(attn.add_k_proj(texts), attn.heads)
        both = torch.cat([_normed(attn.norm_added_k, added), key], dim=2)
        self.sums.add(query, both, slice(0, added.shape[2]), query.shape[-1] ** -0.5)


class JointOfFlux(Watching):
    """Stands before a processor of joint attention in which texts come first, with positions."""

    def __call__(
        self,
        attn: Any,
        hidden_states: Any,
        encoder_hidden_states: Any = None,
        attention_mask: Any = None,
        image_rotary_emb: Any = None,
        **named: Any,
    ) -> Any:
        """What the pipeline's own processor gives; the attention is reckoned beside it."""
        from diffusers.models.embeddings import apply_rotary_emb

        query = attn.norm_q(attn.to_q(hidden_states).unflatten(-1, (attn.heads, -1)))
        key = attn.norm_k(attn.to_k(hidden_states).unflatten(-1, (attn.heads, -1)))
        if encoder_hidden_states is not None:
            self.sums.texts = encoder_hidden_states.shape[1]
            asked, told = (
                norm(of(encoder_hidden_states).unflatten(-1, (attn.heads, -1)))
                for norm, of in (
                    (attn.norm_added_q, attn.add_q_proj),
                    (attn.norm_added_k, attn.add_k_proj),
                )
            )
            query, key = torch.cat([asked, query], dim=1), torch.cat([told, key], dim=1)
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
    """While it lasts, the pipeline's attention to the prompt is summed; None where it has none."""
    network: Any = getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)
    kind = _kind(pipeline)
    before = dict(network.attn_processors) if hasattr(network, "attn_processors") else {}
    mine = [name for name in before if kind is not Cross or name.endswith(CROSS)]
    if kind is None or not mine:
        yield None
        return
    sums = Sums(pictures)
    network.set_attn_processor(
        {name: kind(own, sums) if name in mine else own for name, own in before.items()}
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
    """For each picture [n_words, height, width] float16, of ``attention_words`` of its prompt.

    Args:
        sums: what was summed while the pictures were made.
        pipeline: that made them; its tokenizers say which tokens a word is.
        family: how the pipeline lays its tokens out.
        prompts: of each picture.
        size: width and height of the pictures; maps have their shape.
    """
    maps = _laid_out(sums, size)
    made = []
    for row, prompt in enumerate(prompts):
        places = [token_places(pipeline, family, prompt, word) for word in attention_words(prompt)]
        # A word that was cut off with the end of a long prompt was looked at nowhere.
        words = [
            maps[row][of_word].mean(dim=0) if of_word else torch.zeros_like(maps[row][0])
            for of_word in places
        ]
        empty = maps.new_zeros((0, *maps.shape[2:]))
        made.append((torch.stack(words) if words else empty).half().cpu().numpy())
    return made


def _laid_out(sums: Sums, size: tuple[int, int]) -> torch.Tensor:
    """[pictures, tokens, height, width] of the finest map: the mean over sizes, blocks, heads."""
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
    """Rows and columns of a map with so many places, of a picture with this width / height."""
    rows = min(
        (r for r in range(1, places + 1) if places % r == 0),
        key=lambda r: abs(math.log(places / r / r / aspect)),
    )
    return rows, places // rows


def token_places(pipeline: Any, family: Family, prompt: str, word: str) -> list[int]:
    """Where the tokens of a word stand among those of the prompt, all its repeats included."""
    places: list[int] = []
    start = 0
    for number, name in enumerate(family.sequence):
        tokenizer = getattr(pipeline, name, None)
        is_last = number == len(family.sequence) - 1
        # Only where several stand in a row does the pipeline say how long each is.
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
    """The word's tokens, at the beginning of a text and within it."""
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
