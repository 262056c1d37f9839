"""Fair Diffusion: semantic guidance towards a drawn gender and away from the other one.

Friedrich, Brack, Struppek, Hintersdorf, Schramowski, Luccioni, Kersting: Fair Diffusion:
Instructing Text-to-Image Generation Models on Fairness, 2023; the guidance is that of Brack et al.:
SEGA: Instructing Text-to-Image Models using Semantic Guidance, NeurIPS 2023. With the estimates e
of the network for the prompt p, for no text, and for the descriptions d of both genders, SEGA
replaces classifier-free guidance by

    e() + s_g (e(p) - e()) + gamma_t,
    gamma_t = sum_d mu(psi_d) psi_d + s_m nu_t,        nu_t+1 = beta nu_t + (1 - beta) gamma_t,
    psi_d = e(d) - e() for the drawn gender, e() - e(d) for the other,
    mu(psi) = scale where |psi| is at least its quantile ``threshold``, else 0.

In a warm-up gamma_t is not added, though the momentum nu is built up. As in the authors' program,
quantiles are taken over the places of each channel, and both descriptions count alike. The values
of the keys are those of the authors' script for their pictures ("male person", "female person"); 5
of 50 steps of warm-up are a tenth here. They draw exactly half of the pictures, here each picture
is drawn by its seed.

The formula only uses differences of estimates at the same latent. A network that predicts
velocities gives the same differences, up to a factor of the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from pytest_t2i import T2IError

from pytest_t2i_mitigation.random_counterpart import drawn

if TYPE_CHECKING:
    import torch
    from pytest_t2i import GenerationSettings

_ENCODINGS: WeakKeyDictionary[Any, dict[Any, tuple[Any, Any]]] = WeakKeyDictionary()
"""Pipeline -> text and what its encoding depends on -> embeddings of tokens, and pooled."""


@dataclass(frozen=True, slots=True)
class FairDiffusion:
    """A mitigation that guides each picture to a gender that its seed draws.

    >>> from pytest_t2i import Mitigation, PipelineMitigation
    >>> isinstance(FairDiffusion(), Mitigation), isinstance(FairDiffusion(), PipelineMitigation)
    (True, True)
    """

    share: float = 0.5
    """The share of pictures that are guided to the feminine description."""
    scale: float = 4.0
    """The scale of the guidance, s_e of the papers; 0 adds nothing but keeps the cost."""
    threshold: float = 0.95
    """The share of the places of a channel, those with the smallest differences, to leave alone."""
    warm_up: float = 0.1
    """The share of steps, from the first on, without guidance; rounded down to whole steps."""
    momentum: float = 0.5
    """The scale of the momentum, s_m."""
    beta: float = 0.6
    """The share of the momentum that is kept at each step."""
    feminine: str = "female person"
    masculine: str = "male person"
    """The descriptions of both genders."""

    name: ClassVar[str] = "fair-diffusion"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "guidance"
    families: ClassVar[tuple[str, ...]] = (
        "StableDiffusionPipeline",
        "StableDiffusionXLPipeline",
        "StableDiffusion3Pipeline",
    )
    passes: ClassVar[float] = 2.0
    """Two descriptions beside the prompt and no text: four rows of the network in place of two."""
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for keys that do not make sense, in one line."""
        for name in ("share", "momentum"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name}: expected 0 to 1, got {getattr(self, name):g}")
        for name in ("threshold", "warm_up", "beta"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name}: expected 0 to below 1, got {getattr(self, name):g}")
        if not 0.0 <= self.scale < math.inf:
            raise ValueError(f"scale: expected a number of at least 0, got {self.scale:g}")
        for name in ("feminine", "masculine"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name}: expected a description, got an empty text")

    def passes_with(self, settings: GenerationSettings) -> float:
        """Return the cost of a picture, 2; raise ValueError without classifier-free guidance."""
        if settings.guidance is not None and settings.guidance <= 1.0:
            raise ValueError(
                "semantic guidance is added to classifier-free guidance: expected a guidance "
                f"above 1, got {settings.guidance:g}. Set one, such as 7, unless the model was "
                "trained to do without"
            )
        return self.passes

    @contextmanager
    def applied(self, pipeline: Any, requests: Sequence[Any]) -> Iterator[None]:
        """Add semantic guidance to the network's estimates in this context."""
        network = getattr(pipeline, "unet", None) or pipeline.transformer
        guided = _Guided(self, pipeline, [self.is_feminine(request) for request in requests])
        handle = network.register_forward_hook(guided.estimates, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def is_feminine(self, request: Any) -> bool:
        """Return whether a picture is guided to the feminine description."""
        return drawn(f"{request.seed}|{request.prompt}|direction") < self.share

    def steps_of(self, steps: int) -> int:
        # 0.29 of 100 steps must be 29, although the floating-point product is smaller.
        return math.floor(self.warm_up * steps + 1e-9)


@dataclass(slots=True)
class _Guided:
    """The guidance of one call of a pipeline."""

    mitigation: FairDiffusion
    pipeline: Any
    feminine: Sequence[bool]
    """For each request, whether it is guided to the feminine description."""
    momentum: Any = 0.0
    step: int = 0

    def estimates(self, network: Any, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
        """Return the network's estimates of a pass, with semantic guidance in all rows.

        Rows without text and with the prompt get the same, which guidance does not multiply.
        """
        import torch

        if kwargs.get("skip_layers") is not None:
            return None  # a second pass of SD3 for the same step
        if not self.pipeline.do_classifier_free_guidance:
            raise T2IError(
                f"{self.mitigation.name} needs classifier-free guidance: set a guidance above 1"
            )
        without, _ = out[0].float().chunk(2)
        described = network.forward(*self._rows(args, out[0]), **self._described(kwargs, out[0]))
        toward, away = described[0].float().chunk(2)
        added = self._tail(toward - without) + self._tail(without - away)
        added = added + self.mitigation.momentum * self.momentum
        self.momentum = self.mitigation.beta * self.momentum + (1.0 - self.mitigation.beta) * added
        warm_up = self.mitigation.steps_of(len(self.pipeline.scheduler.timesteps))
        self.step += 1
        if self.step <= warm_up:
            return None
        return ((out[0].float() + torch.cat([added, added])).to(out[0].dtype), *out[1:])

    def _tail(self, difference: torch.Tensor) -> torch.Tensor:
        """Return mu(psi) psi of a direction, [n, channels, height, width]."""
        size = difference.abs()
        least = size.flatten(2).quantile(self.mitigation.threshold, dim=2)[:, :, None, None]
        return self.mitigation.scale * difference.where(size >= least, 0.0)

    def _described(self, kwargs: dict[str, Any], like: torch.Tensor) -> dict[str, Any]:
        """Return the arguments of the pass for the drawn descriptions, then for the others."""
        import torch

        tokens = kwargs["encoder_hidden_states"]
        texts = (self.mitigation.feminine, self.mitigation.masculine)
        encoded = [_encoded(self.pipeline, text, tokens) for text in texts]
        drawn_first = [self.feminine[row % len(self.feminine)] for row in range(len(like) // 2)]
        order = [not first for first in drawn_first] + drawn_first
        own = {name: self._rows(value, like) for name, value in kwargs.items()}
        own["encoder_hidden_states"] = torch.cat([encoded[place][0] for place in order])
        if kwargs.get("pooled_projections") is not None:
            own["pooled_projections"] = torch.cat([encoded[place][1] for place in order])
        if kwargs.get("added_cond_kwargs"):
            pooled = torch.cat([encoded[place][1] for place in order])
            own["added_cond_kwargs"] = {**own["added_cond_kwargs"], "text_embeds": pooled}
        return own

    def _rows(self, value: Any, like: torch.Tensor) -> Any:
        """Return an argument of the pass with the pictures' rows twice, if it has rows."""
        import torch

        if isinstance(value, torch.Tensor) and value.ndim and len(value) == len(like):
            return value.chunk(2)[1].repeat(2, *[1] * (value.ndim - 1))
        if isinstance(value, dict):
            return {name: self._rows(part, like) for name, part in value.items()}
        if isinstance(value, tuple):
            return tuple(self._rows(part, like) for part in value)
        return value


def _encoded(pipeline: Any, text: str, like: torch.Tensor) -> tuple[Any, Any]:
    """Return the embeddings of a text's tokens, and the pooled one, as the call encodes texts."""
    import torch

    encodings = _ENCODINGS.setdefault(pipeline, {})
    key = (text, like.shape[1], like.dtype, like.device, pipeline.clip_skip)
    if key not in encodings:
        of_flow = {}
        if hasattr(pipeline, "transformer"):
            # Tokens beyond CLIP's are those of T5, or zeros.
            length = like.shape[1] - pipeline.tokenizer_max_length
            of_flow = {"prompt_2": None, "prompt_3": None, "max_sequence_length": length}
        with torch.no_grad():
            tokens, _, *pooled = pipeline.encode_prompt(
                prompt=text,
                device=like.device,
                num_images_per_prompt=1,
                do_classifier_free_guidance=False,
                clip_skip=pipeline.clip_skip,
                **of_flow,
            )
        # Classes without a pooled embedding have none to give to their network.
        encodings[key] = (tokens.to(like.dtype), pooled[0].to(like.dtype) if pooled else None)
    return encodings[key]
