"""Velocities of a diffusers pipeline at each step, for its prompt and for descriptions.

A flow model (SD3, FLUX) predicts velocities. A UNet predicts the noise, the clean latent or the v
of Salimans and Ho (2022). In the variance-preserving space of its input, v is the velocity of the
probability-flow ODE with respect to the angle whose cosine and sine are the shares of picture and
noise:

    x = a x0 + s e,  v = a e - s x0,  so  a v = e - s x  from the noise e, s v = a x - x0 from x0

Only the direction of v is needed, so that there is no division by a small share. All velocities
point towards the picture. Guidance adds the same term to both descriptions, which cancels in their
difference; it only changes the prompt's velocity, which is known with and without guidance from the
same pass. The centred SPI uses the prompt's velocity without guidance, like those of the
descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.loading import needs
from pytest_t2i.adapters.models.prompt_embeddings import TextBank
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
"""Relative difference below which the velocities of two descriptions count as equal."""
ROWS = 32
"""Number of rows in one extra pass, at least those of one text."""


WATCHED = frozenset({VELOCITY, ALL_VELOCITIES, FORESEEN})
"""Traces that need a hook on the network."""
Alike = tuple[GenerationSettings, frozenset[str], tuple[Attribute, ...]]
"""Settings and observations that requests of one batch share."""


def alike(requests: Sequence[Request]) -> dict[Alike, list[int]]:
    """Indices of requests, grouped by settings and by observations on velocities."""
    groups: dict[Alike, list[int]] = {}
    for place, request in enumerate(requests):
        watched = request.observe & WATCHED
        attributes = request.attributes if VELOCITY in watched else ()
        groups.setdefault((request.settings, watched, attributes), []).append(place)
    return groups


@dataclass(slots=True)
class LatentStep:
    """The observations on one pass of the network."""

    noise: float
    """Share of noise in the latent, from 1 to 0."""
    spi: dict[Attribute, torch.Tensor]
    """SPI, [3, n]: cosine with guidance, cosine without, and centred."""
    foreseen: torch.Tensor | None
    """Predicted x0 (the denoising preview), [n, ...] on the CPU; None where not requested."""
    velocities: torch.Tensor | None
    """Velocity towards the picture, up to a positive factor, [n, ...] on the CPU."""


@dataclass(slots=True)
class VelocityWatch:
    """Records velocities while a pipeline makes one batch."""

    pipeline: Any
    texts: TextBank
    images: int
    attributes: Sequence[Attribute]
    keeps_previews: bool = False
    """Whether denoising previews are recorded."""
    keeps_all: bool = False
    """Whether whole velocities are recorded."""
    steps: list[LatentStep] = field(default_factory=list)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """A context in which to call the pipeline."""
        handle = network(self.pipeline).register_forward_hook(self._look, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def spi(self, attribute: Attribute, place: int) -> np.ndarray:
        """SPI of an image, [4, n_steps]: share of noise, with guidance, without, and centred."""
        rows = torch.tensor([[step.noise for step in self.steps]], dtype=torch.float64)
        index = torch.stack([step.spi[attribute][:, place] for step in self.steps], dim=1)
        array: np.ndarray = torch.cat([rows, index.double().cpu()]).numpy()
        return array

    def stacked(self, name: str, place: int) -> torch.Tensor:
        """The field "foreseen" or "velocities" of all steps for one image, [n_steps, ...]."""
        return torch.stack([getattr(step, name)[place] for step in self.steps])

    def _look(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        if kwargs.get("skip_layers") is not None:
            return  # a second pass of SD3 for the same step
        call = dict(zip(POSITIONS, args, strict=False)) | kwargs
        latents, predicted = _input(call), out[0]
        n = self.images
        latent, plain = latents[-n:], predicted[-n:]
        guided = plain
        if len(latents) == 2 * n:
            scale = self.pipeline.guidance_scale
            guided = predicted[:n] + scale * (plain - predicted[:n])
        time = Time.of(self.pipeline, call["timestep"])
        moved = torch.stack([time.toward(latent, velocity.float()) for velocity in (guided, plain)])
        self.steps.append(
            LatentStep(
                time.noise,
                self._spi_of(module, call, latent, time, moved),
                time.clean(latent, guided.float()).cpu() if self.keeps_previews else None,
                moved[0].cpu() if self.keeps_all else None,
            )
        )

    def _spi_of(
        self, module: Any, call: dict[str, Any], latent: torch.Tensor, time: Time, moved: Any
    ) -> dict[Attribute, torch.Tensor]:
        """SPI of each attribute, computed here so that no array of a latent's size is stored."""
        texts = [text for a in self.attributes for text in (a.positive, a.negative)]
        distinct = list(dict.fromkeys(texts))
        at_once = max(1, ROWS // self.images)
        toward: dict[str, torch.Tensor] = {}
        for start in range(0, len(distinct), at_once):
            part = distinct[start : start + at_once]
            predicted = module.forward(**self._asked(call, part))[0].float()
            for text, rows in zip(part, predicted.split(self.images), strict=True):
                toward[text] = time.toward(latent, rows)
        return {a: _spi(moved, toward[a.positive], toward[a.negative]) for a in self.attributes}

    def _asked(self, call: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
        """The arguments of the same call for several texts, image by image."""
        n, times = self.images, len(texts)
        embeds = self.texts.arguments([text for text in texts for _ in range(n)], None)
        arguments = {name: _again(value, n, times) for name, value in call.items()}
        arguments["encoder_hidden_states"] = embeds["prompt_embeds"].to(_input(call).dtype)
        if "pooled_projections" in arguments:
            arguments["pooled_projections"] = embeds["pooled_prompt_embeds"].to(_input(call).dtype)
        if added := call.get("added_cond_kwargs"):
            arguments["added_cond_kwargs"] = {
                name: _again(value, n, times) for name, value in added.items()
            } | {"text_embeds": embeds["pooled_prompt_embeds"].to(_input(call).dtype)}
        # These arguments of FLUX are positions of tokens, which are the same for all images.
        return arguments | {name: call[name] for name in ("txt_ids", "img_ids") if name in call}


POSITIONS = ("sample", "timestep")
"""Positional arguments of a UNet."""


@dataclass(frozen=True, slots=True)
class Time:
    """The shares of picture and noise at a pass of the network."""

    kind: str
    """"flow", or the prediction type of a variance-preserving scheduler."""
    picture: float
    """Share a of the picture in the latent."""
    noise: float
    """Share s of the noise in the latent."""

    @classmethod
    def of(cls, pipeline: Any, timestep: Any) -> Time:
        at = float(timestep.reshape(-1)[0]) if isinstance(timestep, torch.Tensor) else timestep
        kind = kind_of(pipeline)
        if kind == "flow":
            # FLUX gets the share itself, SD3 a thousand times the share.
            of_flux = type(network(pipeline)).__name__.startswith("Flux")
            noise = at if of_flux else at / pipeline.scheduler.config.num_train_timesteps
            return cls(kind, 1.0 - noise, noise)
        alphas = pipeline.scheduler.alphas_cumprod
        low = min(int(at), len(alphas) - 1)
        high = min(low + 1, len(alphas) - 1)
        squared = float(alphas[low] + (at - low) * (alphas[high] - alphas[low]))
        return cls(kind, squared**0.5, (1.0 - squared) ** 0.5)

    def toward(self, latent: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
        """Direction of the latent's velocity, towards the picture."""
        if self.kind == "epsilon":
            return self.noise * latent - predicted
        if self.kind == "sample":
            return predicted - self.picture * latent
        return -predicted

    def clean(self, latent: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
        """The predicted x0, to which the present velocity leads."""
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
    """The network's prediction type: "flow", "epsilon", "v_prediction" or "sample".

    Raises ConfigurationError for a scheduler whose velocities are not known.
    """
    scheduler = pipeline.scheduler
    kind = scheduler.config.get("prediction_type")
    if type(scheduler).__name__.startswith("FlowMatch") or kind == "flow_prediction":
        return "flow"
    if hasattr(scheduler, "alphas_cumprod") and kind in ("epsilon", "v_prediction", "sample"):
        return str(kind)
    raise ConfigurationError(
        f"velocities of a {type(pipeline).__name__} with a {type(scheduler).__name__} "
        f"(prediction_type={kind!r}) cannot be computed: expected a flow scheduler or one with a "
        "noise schedule. Choose another scheduler or model."
    )


def decoded(pipeline: Any, latents: Any) -> list[Image]:
    """Decode latents to pictures as the pipeline does, two at a time."""
    vae = pipeline.vae
    scaled = latents / vae.config.scaling_factor + (getattr(vae.config, "shift_factor", None) or 0)
    pictures: list[Image] = []
    with torch.no_grad(), _upcast(vae):
        for row in scaled.to(vae.device, vae.dtype).split(2):
            batch = vae.decode(row, return_dict=False)[0]
            pictures += pipeline.image_processor.postprocess(batch, output_type="pil")
    return pictures


@contextmanager
def _upcast(vae: Any) -> Iterator[None]:
    """Run a VAE in float32 where its config declares that float16 overflows (SDXL's VAE)."""
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
    """The conditional rows of a batched argument, repeated; other values unchanged."""
    if not isinstance(value, torch.Tensor) or value.ndim == 0 or len(value) < images:
        return value
    return value[-images:].repeat(times, *([1] * (value.ndim - 1)))


def _spi(moved: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    """SPI, [3, n]: cosines of ``moved`` [2, n, ...] with positive - negative, and centred SPI.

    NaN where both descriptions give the same velocity.
    """
    moved, toward, away = moved.double(), positive.double().flatten(1), negative.double().flatten(1)
    moved, direction = moved.flatten(2), toward - away
    cosines = torch.nn.functional.cosine_similarity(moved, direction[None], dim=2)
    # Without guidance, as guidance adds a term away from the empty text, not from the midpoint.
    halves = (direction**2).sum(1) / 2
    between = ((moved[1] - (toward + away) / 2) * direction).sum(1) / halves
    alike = direction.norm(dim=1) <= ALIKE * toward.norm(dim=1)
    return torch.cat([cosines, between[None]]).masked_fill(alike, torch.nan)
