"""One call of a StableDiffusion3Pipeline: make further pictures from the same noise.

The pipeline asks its transformer for the velocities of one picture. This module makes other
pictures from the same noise with the pipeline's own scheduler, and keeps the predictions that the
pipeline is given at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Text:
    """The embeddings of n prompts for a transformer."""

    tokens: torch.Tensor
    """The embeddings of the tokens, [n, length, d]."""
    pooled: torch.Tensor
    """The pooled embeddings, [n, d], by which SD3 scales and shifts every block."""

    @classmethod
    def between(cls, masculine: Text, feminine: Text, weights: torch.Tensor) -> Text:
        """Return c_r = (1 - w) c_m + w c_f (eq. 4.11), of tokens and pooled; weights are [n]."""
        own = weights.to(masculine.tokens.dtype)
        return cls(
            torch.lerp(masculine.tokens, feminine.tokens, own[:, None, None]),
            torch.lerp(masculine.pooled, feminine.pooled, own[:, None]),
        )

    @classmethod
    def stacked(cls, texts: Sequence[Text]) -> Text:
        """Return the rows of all texts, one text after the other."""
        return cls(
            torch.cat([one.tokens for one in texts]), torch.cat([one.pooled for one in texts])
        )


@dataclass(slots=True)
class Stream:
    """The denoising of n pictures."""

    text: Text
    latents: torch.Tensor
    scheduler: Any
    """A scheduler of its own, as some remember earlier steps."""
    asked: list[torch.Tensor] = field(default_factory=list)
    """The latents of each pass, on the device."""
    predicted: list[torch.Tensor] = field(default_factory=list)
    """The prediction of each pass as the pipeline gets it, on the CPU; rows without text first."""


@dataclass(slots=True)
class Denoising:
    """A call of the pipeline, from its first pass on."""

    pipeline: Any
    network: Callable[..., Any]
    """The original forward of the transformer."""
    call: Mapping[str, Any]
    """The arguments of the pipeline at the first step."""

    @property
    def guided(self) -> bool:
        """Whether half of the rows have the negative prompt."""
        return bool(self.pipeline.do_classifier_free_guidance)

    @property
    def pictures(self) -> int:
        return len(self.call["hidden_states"]) // (2 if self.guided else 1)

    @property
    def steps(self) -> int:
        return len(self.pipeline.scheduler.timesteps)

    @property
    def own(self) -> Text:
        """The embeddings of the pictures' own prompts."""
        return self._text(slice(-self.pictures, None))

    def alone(self, row: int) -> Denoising:
        places = [row, self.pictures + row] if self.guided else [row]
        rows = len(self.call["hidden_states"])
        own = {
            name: value[places]
            for name, value in self.call.items()
            if isinstance(value, torch.Tensor) and len(value) == rows
        }
        return Denoising(self.pipeline, self.network, {**self.call, **own})

    def stream(self, text: Text) -> Stream:
        """Return the pictures of a text from the pipeline's noise."""
        noise = self.call["hidden_states"][-self.pictures :]
        return Stream(text, noise, deepcopy(self.pipeline.scheduler))

    def rows(self, place: int, moving: int) -> slice:
        """Return the conditional rows of a stream in a pass."""
        start = self.pictures * (place + (moving if self.guided else 0))
        return slice(start, start + self.pictures)

    def advance(
        self, step: int, moving: Sequence[Stream], beside: Sequence[tuple[torch.Tensor, Text]] = ()
    ) -> None:
        """Run one pass of the network, and advance ``moving`` by a step.

        ``beside`` are latents and texts that are only attended to; guidance needs no rows of them.
        """
        at = self.pipeline.scheduler.timesteps[step]
        parts = [(one.latents, one.text) for one in moving]
        told = [*parts, *beside]
        without = [(latents, self._text(slice(0, self.pictures))) for latents, _ in parts]
        rows = [*without, *told] if self.guided else told
        given = self._through(
            at, torch.cat([x for x, _ in rows]), Text.stacked([t for _, t in rows])
        )
        for place, one in enumerate(moving):
            mine = given[self.rows(place, len(moving))]
            if self.guided:
                start = place * self.pictures
                mine = torch.cat([given[start : start + self.pictures], mine])
            self._move(one, at, mine)

    def decoded(self, stream: Stream) -> list[Image]:
        """Return the pictures at the end of a stream, decoded as the pipeline does."""
        vae = self.pipeline.vae
        scaled = stream.latents / vae.config.scaling_factor + vae.config.shift_factor
        made = [vae.decode(row, return_dict=False)[0] for row in scaled.split(2)]
        pictures: list[Image] = self.pipeline.image_processor.postprocess(
            torch.cat(made), output_type="pil"
        )
        return pictures

    def _text(self, rows: slice) -> Text:
        return Text(self.call["encoder_hidden_states"][rows], self.call["pooled_projections"][rows])

    def _through(self, at: torch.Tensor, latents: torch.Tensor, text: Text) -> torch.Tensor:
        given: torch.Tensor = self.network(
            **{
                **self.call,
                "hidden_states": latents,
                "timestep": at.expand(len(latents)),
                "encoder_hidden_states": text.tokens,
                "pooled_projections": text.pooled,
            }
        )[0]
        return given

    def _move(self, stream: Stream, at: torch.Tensor, predicted: torch.Tensor) -> None:
        stream.asked.append(stream.latents)
        stream.predicted.append(predicted.cpu())
        velocity = predicted
        if self.guided:
            without, told = predicted.chunk(2)
            velocity = without + self.pipeline.guidance_scale * (told - without)
        stream.latents = stream.scheduler.step(velocity, at, stream.latents, return_dict=False)[0]


def encoded(pipeline: Any, text: str, call: Mapping[str, Any]) -> Text:
    """Return a text as the call would have encoded it alone."""
    length = call["encoder_hidden_states"].shape[1]
    tokens, _, pooled, _ = pipeline.encode_prompt(
        prompt=text,
        prompt_2=None,
        prompt_3=None,
        device=call["encoder_hidden_states"].device,
        do_classifier_free_guidance=False,
        clip_skip=pipeline.clip_skip,
        # Tokens beyond CLIP's are those of T5, or zeros.
        max_sequence_length=length - pipeline.tokenizer_max_length,
    )
    kind = call["encoder_hidden_states"].dtype
    return Text(tokens.to(kind), pooled.to(kind))
