"""What a diffusers pipeline would do at each step: velocities for its prompt and for descriptions.

A flow model (SD3, FLUX) gives velocities itself. A UNet gives the noise, the clean latent or the
v of Salimans and Ho (2022); in the variance-preserving space that its input lies in, that v is the
velocity of the probability-flow ODE by the angle whose cosine and sine are the shares of picture
and noise:

    x = a x0 + s e,  v = a e - s x0,  so  a v = e - s x  from the noise e, s v = a x - x0 from x0

Only its direction is needed, so no division by a small share takes place. All are turned towards
the picture. Guidance adds the same to both descriptions, so it cancels in their difference and
only changes the prompt's velocity, which comes with and without it at no further pass. Where that
velocity lies between both descriptions is told of the one without guidance, as theirs are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.models.prompt_embeddings import TextBank
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.data import (
    ALL_VELOCITIES,
    FORESEEN,
    VELOCITY,
    Attribute,
    GenerationSettings,
    Request,
)
from pytest_t2i.errors import ConfigurationError

with needs("the diffusers adapter", "diffusers"):
    import torch

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

ALIKE = 1e-6
"""A batch's rows may differ by so much of their length although they are told the same."""
ROWS = 32
"""Rows that the extra passes send through the network at once, at least one image's."""


WATCHED = frozenset({VELOCITY, ALL_VELOCITIES, FORESEEN})
"""Traces for which the network is looked at while it runs."""
Alike = tuple[GenerationSettings, frozenset[str], tuple[Attribute, ...]]
"""What requests that are made in one go have in common."""


def alike(requests: Sequence[Request]) -> dict[Alike, list[int]]:
    """Places of requests by settings, and by what is asked of their velocities."""
    groups: dict[Alike, list[int]] = {}
    for place, request in enumerate(requests):
        watched = request.observe & WATCHED
        attributes = request.attributes if VELOCITY in watched else ()
        groups.setdefault((request.settings, watched, attributes), []).append(place)
    return groups


@dataclass(slots=True)
class Step:
    """What is kept of one pass of the network."""

    noise: float
    """Share of noise in the latent, from 1 to 0."""
    spi: dict[Attribute, torch.Tensor]
    """[3, n]: cosine with guidance, without, and centred."""
    foreseen: torch.Tensor | None
    """x0 as it is foreseen here, [n, ...] on the CPU."""
    velocities: torch.Tensor | None
    """Towards the picture, up to a factor above 0: [n, ...] on the CPU."""


@dataclass(slots=True)
class VelocityWatch:
    """Looks on while a pipeline makes one batch."""

    pipeline: Any
    texts: TextBank
    images: int
    attributes: Sequence[Attribute]
    foresees: bool = False
    """Whether the picture that each step foresees is kept."""
    keeps_all: bool = False
    """Whether velocities are kept whole."""
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """While the pipeline is called."""
        handle = network(self.pipeline).register_forward_hook(self._look, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def spi(self, attribute: Attribute, place: int) -> np.ndarray:
        """[4, n_steps]: share of noise, SPI with guidance, SPI without, centred SPI."""
        rows = torch.tensor([[step.noise for step in self.steps]], dtype=torch.float64)
        index = torch.stack([step.spi[attribute][:, place] for step in self.steps], dim=1)
        array: np.ndarray = torch.cat([rows, index.double().cpu()]).numpy()
        return array

    def stacked(self, name: str, place: int) -> torch.Tensor:
        """[n_steps, ...] of one image: "foreseen" or "velocities"."""
        return torch.stack([getattr(step, name)[place] for step in self.steps])

    def _look(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        if kwargs.get("skip_layers") is not None:
            return  # a second pass of SD3 for the same step
        call = dict(zip(POSITIONS, args, strict=False)) | kwargs
        given, predicted = _input(call), out[0]
        n = self.images
        latent, plain = given[-n:], predicted[-n:]
        guided = plain
        if len(given) == 2 * n:
            scale = self.pipeline.guidance_scale
            guided = predicted[:n] + scale * (plain - predicted[:n])
        time = Time.of(self.pipeline, call["timestep"])
        moved = torch.stack([time.toward(latent, velocity.float()) for velocity in (guided, plain)])
        self.steps.append(
            Step(
                time.noise,
                self._leans(module, call, latent, time, moved),
                time.clean(latent, guided.float()).cpu() if self.foresees else None,
                moved[0].cpu() if self.keeps_all else None,
            )
        )

    def _leans(
        self, module: Any, call: dict[str, Any], latent: torch.Tensor, time: Time, moved: Any
    ) -> dict[Attribute, torch.Tensor]:
        """SPI of each attribute; reduced here, so that nothing of a latent's size is kept."""
        texts = [text for a in self.attributes for text in (a.positive, a.negative)]
        distinct = list(dict.fromkeys(texts))
        at_once = max(1, ROWS // self.images)
        toward: dict[str, torch.Tensor] = {}
        for start in range(0, len(distinct), at_once):
            part = distinct[start : start + at_once]
            predicted = module.forward(**self._asked(call, part))[0].float()
            for text, rows in zip(part, predicted.split(self.images), strict=True):
                toward[text] = time.toward(latent, rows)
        return {a: _leaning(moved, toward[a.positive], toward[a.negative]) for a in self.attributes}

    def _asked(self, call: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
        """The same call for each of several texts, image by image."""
        n, times = self.images, len(texts)
        embeds = self.texts.arguments([text for text in texts for _ in range(n)], None)
        asked = {name: _again(value, n, times) for name, value in call.items()}
        asked["encoder_hidden_states"] = embeds["prompt_embeds"].to(_input(call).dtype)
        if "pooled_projections" in asked:
            asked["pooled_projections"] = embeds["pooled_prompt_embeds"].to(_input(call).dtype)
        if added := call.get("added_cond_kwargs"):
            asked["added_cond_kwargs"] = {
                name: _again(value, n, times) for name, value in added.items()
            } | {"text_embeds": embeds["pooled_prompt_embeds"].to(_input(call).dtype)}
        # Of FLUX these say where tokens stand, not which image they belong to.
        return asked | {name: call[name] for name in ("txt_ids", "img_ids") if name in call}


POSITIONS = ("sample", "timestep")
"""Arguments that a UNet is given by place."""


@dataclass(frozen=True, slots=True)
class Time:
    """Where in the making a pass of the network stands."""

    kind: str
    """"flow", or what the network of a variance-preserving scheduler predicts."""
    picture: float
    """Share a of the picture in the latent."""
    noise: float
    """Share s of the noise."""

    @classmethod
    def of(cls, pipeline: Any, timestep: Any) -> Time:
        """Of a pass at this timestep."""
        at = float(timestep.reshape(-1)[0]) if isinstance(timestep, torch.Tensor) else timestep
        kind = kind_of(pipeline)
        if kind == "flow":
            # FLUX is told the share itself, SD3 a thousand times it.
            of_flux = type(network(pipeline)).__name__.startswith("Flux")
            noise = at if of_flux else at / pipeline.scheduler.config.num_train_timesteps
            return cls(kind, 1.0 - noise, noise)
        kept = pipeline.scheduler.alphas_cumprod
        low = min(int(at), len(kept) - 1)
        high = min(low + 1, len(kept) - 1)
        squared = float(kept[low] + (at - low) * (kept[high] - kept[low]))
        return cls(kind, squared**0.5, (1.0 - squared) ** 0.5)

    def toward(self, latent: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
        """Direction in which the latent moves, towards the picture."""
        if self.kind == "epsilon":
            return self.noise * latent - predicted
        if self.kind == "sample":
            return predicted - self.picture * latent
        return -predicted

    def clean(self, latent: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
        """x0 as it is foreseen: where the velocity of now would lead."""
        if self.kind == "flow":
            return latent - self.noise * predicted
        if self.kind == "epsilon":
            return (latent - self.noise * predicted) / max(self.picture, 1e-4)
        if self.kind == "v_prediction":
            return self.picture * latent - self.noise * predicted
        return predicted


def network(pipeline: Any) -> Any:
    """The denoiser: a UNet or a transformer."""
    return getattr(pipeline, "unet", None) or pipeline.transformer


def kind_of(pipeline: Any) -> str:
    """What the network gives: "flow", "epsilon", "v_prediction" or "sample".

    Raises ConfigurationError for a scheduler whose velocities are not known.
    """
    scheduler = pipeline.scheduler
    told = scheduler.config.get("prediction_type")
    if type(scheduler).__name__.startswith("FlowMatch") or told == "flow_prediction":
        return "flow"
    if hasattr(scheduler, "alphas_cumprod") and told in ("epsilon", "v_prediction", "sample"):
        return str(told)
    raise ConfigurationError(
        f"velocities of a {type(pipeline).__name__} with a {type(scheduler).__name__} "
        f"(prediction_type={told!r}) cannot be had: a flow or a noise schedule is needed."
    )


def decoded(pipeline: Any, latents: Any) -> list[Image]:
    """Pictures of latents, as the pipeline makes them of its last one; two at a time."""
    vae = pipeline.vae
    scaled = latents / vae.config.scaling_factor + (getattr(vae.config, "shift_factor", None) or 0)
    pictures: list[Image] = []
    with torch.no_grad(), _upcast(vae):
        for row in scaled.to(vae.device, vae.dtype).split(2):
            made = vae.decode(row, return_dict=False)[0]
            pictures += pipeline.image_processor.postprocess(made, output_type="pil")
    return pictures


@contextmanager
def _upcast(vae: Any) -> Iterator[None]:
    """In float32 what says of itself that it overflows in float16: SDXL's own VAE."""
    if vae.dtype != torch.float16 or not getattr(vae.config, "force_upcast", False):
        yield
        return
    vae.to(dtype=torch.float32)
    try:
        yield
    finally:
        vae.to(dtype=torch.float16)


def _input(call: Mapping[str, Any]) -> torch.Tensor:
    latents: torch.Tensor = call["sample"] if "sample" in call else call["hidden_states"]
    return latents


def _again(value: Any, images: int, times: int) -> Any:
    """The conditional rows of a batched argument, repeated; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.ndim == 0 or len(value) < images:
        return value
    return value[-images:].repeat(times, *([1] * (value.ndim - 1)))


def _leaning(moved: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    """[3, n]: cosines of [2, n, ...] with a difference of [n, ...], and the place between.

    NaN where the network is told the same by both descriptions.
    """
    moved, toward, away = moved.double(), positive.double().flatten(1), negative.double().flatten(1)
    moved, lean = moved.flatten(2), toward - away
    cosines = torch.nn.functional.cosine_similarity(moved, lean[None], dim=2)
    # Guidance adds a multiple of what leads away from the empty text, not from the midpoint.
    between = ((moved[1] - (toward + away) / 2) * lean).sum(1) / ((lean**2).sum(1) / 2)
    alike = lean.norm(dim=1) <= ALIKE * toward.norm(dim=1)
    return torch.cat([cosines, between[None]]).masked_fill(alike, torch.nan)
