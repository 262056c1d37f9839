"""One call of a StableDiffusion3Pipeline, gone through by itself: all pictures that it takes.

The pipeline asks its transformer for the velocities of one picture. What stands here makes others
beside it, from the same noise, by the pipeline's own scheduler, and tells what the pipeline is to
be given at each step.
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
    """What a transformer is told of n prompts."""

    tokens: torch.Tensor
    """[n, length, d]."""
    pooled: torch.Tensor
    """[n, d], by which SD3 scales and shifts every block."""

    @classmethod
    def between(cls, masculine: Text, feminine: Text, weights: torch.Tensor) -> Text:
        """c_r = (1 - w) c_m + w c_f (eq. 4.11), of tokens and pooled; weights are [n]."""
        own = weights.to(masculine.tokens.dtype)
        return cls(
            torch.lerp(masculine.tokens, feminine.tokens, own[:, None, None]),
            torch.lerp(masculine.pooled, feminine.pooled, own[:, None]),
        )

    @classmethod
    def stacked(cls, texts: Sequence[Text]) -> Text:
        """One below the other."""
        return cls(
            torch.cat([one.tokens for one in texts]), torch.cat([one.pooled for one in texts])
        )


@dataclass(slots=True)
class Stream:
    """n pictures on their way from noise."""

    text: Text
    latents: torch.Tensor
    scheduler: Any
    """Its own, as some remember the steps before."""
    asked: list[torch.Tensor] = field(default_factory=list)
    """Latents that each pass was given, on the device."""
    predicted: list[torch.Tensor] = field(default_factory=list)
    """What each pass gave, as the pipeline gets it, on the CPU: without the text first."""


@dataclass(slots=True)
class Denoising:
    """One call of the pipeline from its first pass on."""

    pipeline: Any
    network: Callable[..., Any]
    """The transformer's own forward."""
    call: Mapping[str, Any]
    """What the pipeline gave it at the first step."""

    @property
    def guided(self) -> bool:
        """Whether half of the rows are told the negative prompt."""
        return bool(self.pipeline.do_classifier_free_guidance)

    @property
    def pictures(self) -> int:
        """Number of pictures of the call."""
        return len(self.call["hidden_states"]) // (2 if self.guided else 1)

    @property
    def steps(self) -> int:
        """Passes that the pipeline makes."""
        return len(self.pipeline.scheduler.timesteps)

    @property
    def own(self) -> Text:
        """The prompts of the pictures themselves."""
        return self._text(slice(-self.pictures, None))

    def alone(self, row: int) -> Denoising:
        """The same call for one of its pictures."""
        places = [row, self.pictures + row] if self.guided else [row]
        rows = len(self.call["hidden_states"])
        own = {
            name: value[places]
            for name, value in self.call.items()
            if isinstance(value, torch.Tensor) and len(value) == rows
        }
        return Denoising(self.pipeline, self.network, {**self.call, **own})

    def stream(self, text: Text) -> Stream:
        """Pictures of a text from the pipeline's noise."""
        noise = self.call["hidden_states"][-self.pictures :]
        return Stream(text, noise, deepcopy(self.pipeline.scheduler))

    def rows(self, place: int, moving: int) -> slice:
        """Where the conditional rows of the stream at a place stand in a pass."""
        start = self.pictures * (place + (moving if self.guided else 0))
        return slice(start, start + self.pictures)

    def advance(
        self, step: int, moving: Sequence[Stream], beside: Sequence[tuple[torch.Tensor, Text]] = ()
    ) -> None:
        """One pass of the network, by which ``moving`` go on a step.

        ``beside`` are latents and texts that are only there to be attended to; guidance needs none
        of their rows.
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
        """The pictures at the end of a stream, as the pipeline makes them of its last latents."""
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
    """A text as the call at hand would have encoded it, alone."""
    length = call["encoder_hidden_states"].shape[1]
    tokens, _, pooled, _ = pipeline.encode_prompt(
        prompt=text,
        prompt_2=None,
        prompt_3=None,
        device=call["encoder_hidden_states"].device,
        do_classifier_free_guidance=False,
        clip_skip=pipeline.clip_skip,
        # What is no CLIP token is T5's, or a zero in its place.
        max_sequence_length=length - pipeline.tokenizer_max_length,
    )
    kind = call["encoder_hidden_states"].dtype
    return Text(tokens.to(kind), pooled.to(kind))
