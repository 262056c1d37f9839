"""The call of a pipeline: its arguments, guidance, rewriting, and the pictures of its output."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_t2i.adapters.loading import (
    needs,
)
from pytest_t2i.adapters.models.modular import (
    is_switched_off,
    parameters_of,
)
from pytest_t2i.adapters.models.prompt_embeddings import EncoderFamily
from pytest_t2i.data import GenerationSettings
from pytest_t2i.errors import (
    ConfigurationError,
    GenerationError,
)

with needs("the diffusers adapter", "diffusers"):
    import torch
with needs("the diffusers adapter", "diffusers"):
    import torch
with needs("running a neural network", "diffusers"):
    import torch

ARGUMENTS = {"steps": "num_inference_steps", "width": "width", "height": "height"}
"""Field of GenerationSettings -> argument of a pipeline's ``__call__``."""
GUIDANCE = (
    "true_cfg_scale", "guidance_scale", "prior_guidance_scale", "distilled_guidance_scale",
    "cfg_scale", "guidance",
)  # fmt: skip
"""Names of the scale of classifier-free guidance in ``__call__``, the one with an effect first."""
TRUE_CFG = "true_cfg_scale"
"""The scale of classes that guide only where there is a negative prompt."""
BLANK = " "
"""The negative prompt of such classes where none was given, as their authors' examples have it."""


@dataclass(frozen=True, slots=True)
class RewritesPrompts:
    """A stage inside a pipeline that changes the prompt before it is drawn."""

    argument: str
    """Argument of ``__call__`` that switches it."""
    off: Any
    """Value that switches it off."""
    words: str
    needs: str = ""
    """Part of the pipeline without which there is no such stage."""
    draws: bool = True
    """Whether a language model writes the new prompt, by chance, one prompt at a time."""


REWRITINGS = (
    RewritesPrompts("use_pe", False, "a language model in the pipeline rewrites prompts", "pe"),
    RewritesPrompts(
        "enable_prompt_rewrite", False, "a language model in the pipeline rewrites prompts"
    ),
    RewritesPrompts(
        "complex_human_instruction",
        None,
        "the pipeline puts its instruction before prompts",
        draws=False,
    ),
)
"""The stages of the classes of diffusers that rewrite prompts, on by default."""
ONE_AT_A_TIME = frozenset(
    {
        "AmusedPipeline",
        "DreamLiteMobilePipeline",
        "DreamLitePipeline",
        "Flux3DistilledModularPipeline",
        "Flux3ModularPipeline",
        "GlmImagePipeline",
        "PRXPipeline",
        "PRXPixelPipeline",
        "StableDiffusionPanoramaPipeline",
        "WuerstchenCombinedPipeline",
    }
)
"""Classes that make one picture a call, as a batch would change or break it.

GLM-Image draws the tokens of a whole batch from the seed of its first picture, DreamLite and FLUX.3
take no list of prompts, aMUSEd takes one generator alone, guidance in PRX and Wuerstchen fails with
more than one picture, and the views of a panorama are made from mixed rows.
"""
GUIDERS = ("guider", "ocr_guider")
"""Parts of a pipeline that guide, in place of an argument."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Builds the arguments of one pipeline's ``__call__``."""

    pipeline: Any
    family: EncoderFamily | None
    further: Mapping[str, Any]
    """Arguments of every call besides those of the settings."""
    rewrites: bool = True
    """Whether a pipeline that rewrites prompts may do so."""

    @property
    def name(self) -> str:
        """Name of the pipeline's class, for messages."""
        return type(self.pipeline).__name__

    @property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        return parameters_of(self.pipeline)

    @property
    def guidance(self) -> str | None:
        """The argument of the guidance scale; None where the class takes none."""
        if self.family is not None or self._is_distilled_with_guidance:
            return "guidance_scale"
        names = (name for name in GUIDANCE if name in self.accepted)
        return next(names, None)

    @property
    def takes_guidance(self) -> bool:
        """Whether the class takes a guidance scale, as an argument or by a part of its own."""
        return self.guidance is not None or getattr(self.pipeline, "guider", None) is not None

    @property
    def _is_distilled_with_guidance(self) -> bool:
        """Whether the network takes the scale as an input, as FLUX.1-dev's does."""
        transformer = getattr(self.pipeline, "transformer", None)
        takes = bool(getattr(getattr(transformer, "config", None), "guidance_embeds", False))
        return takes and "guidance_scale" in self.accepted

    @property
    def rewriting(self) -> RewritesPrompts | None:
        """The stage that rewrites prompts; None where there is none."""
        for stage in REWRITINGS:
            has_part = not stage.needs or getattr(self.pipeline, stage.needs, None) is not None
            if stage.argument in self.accepted and has_part:
                return stage
        return None

    @property
    def is_rewriting(self) -> bool:
        stage = self.rewriting
        return stage is not None and self.rewrites and stage.argument not in self.further

    @property
    def makes_one(self) -> bool:
        """Whether a batch has one picture, as another one would change it."""
        stage = self.rewriting
        draws = self.is_rewriting and stage is not None and stage.draws
        return draws or self.name in ONE_AT_A_TIME

    def arguments(self, settings: GenerationSettings) -> dict[str, Any]:
        """Arguments for steps, guidance and size; texts are passed separately."""
        for name in self.further:
            self.require(name, "it cannot be set: leave --t2i-model-option or extra out")
        call = dict(self.further)
        stage = self.rewriting
        if stage is not None and not self.rewrites:
            call[stage.argument] = stage.off
        for name, argument in ARGUMENTS.items():
            value = getattr(settings, name)
            if value is not None:
                self.require(argument, f"{name}={value!r} has no effect: leave it out")
                call[argument] = value
        if settings.negative_prompt is not None:
            words = f"negative_prompt={settings.negative_prompt!r} has no effect: leave it out"
            self.require("negative_prompt", words)
            guider = getattr(self.pipeline, "guider", None)
            if is_switched_off(guider) and settings.guidance is None:
                raise ConfigurationError(
                    f"{self.name} has its guidance switched off, so {words}, or set a guidance."
                )
        self._guide(call, settings.guidance)
        self._refuse_ineffective(call, settings.negative_prompt)
        self._refuse_numbers(settings)
        return call

    def _guide(self, call: dict[str, Any], scale: float | None) -> None:
        if scale is None:
            self._refuse_other_steps(call)
        if scale is None or getattr(self.pipeline, "guider", None) is not None:
            return
        if self.guidance is None:
            raise ConfigurationError(
                f"{self.name} has no argument guidance_scale, so guidance={scale!r} has no effect: "
                "leave it out."
            )
        call[self.guidance] = scale
        if "guidance_schedule" in self.accepted:  # Ideogram 4's, in place of one scale
            call.setdefault("guidance_schedule", None)

    def _refuse_other_steps(self, call: Mapping[str, Any]) -> None:
        """Refuse a number of steps that Ideogram 4's own scales, one a step, do not fit."""
        scales, steps = self._default("guidance_schedule"), call.get("num_inference_steps")
        if scales and "guidance_schedule" not in call and steps not in {None, len(scales)}:
            raise ConfigurationError(
                f"{self.name} has guidance scales for {len(scales)} steps, got steps={steps}. "
                "Leave steps out, or set a guidance for all steps."
            )

    def negative(self, call: Mapping[str, Any], text: str | None) -> str | None:
        """The negative prompt: a blank where the class would otherwise not guide at all."""
        if text is not None or self.guidance != TRUE_CFG:
            return text
        scale = call.get(TRUE_CFG, self._default(TRUE_CFG))
        return BLANK if isinstance(scale, int | float) and scale > 1 else None

    def _default(self, argument: str) -> Any:
        """The default of an argument of ``__call__``; None where there is no such argument."""
        parameter = self.accepted.get(argument)
        return parameter.default if parameter is not None else None

    def require(self, argument: str, consequence: str) -> None:
        """Raise ConfigurationError where the pipeline has no such argument."""
        if argument not in self.accepted:
            raise ConfigurationError(f"{self.name} has no argument {argument}, so {consequence}.")

    def doubles(self, call: Mapping[str, Any]) -> bool:
        """Whether one request is two rows in the convolutions, or there are no convolutions."""
        if self.family is not None and not self.family.doubles:
            return True
        if self.guidance == TRUE_CFG:
            return False
        guidance = call.get(self.guidance or "", self._default(self.guidance or ""))
        return isinstance(guidance, int | float) and guidance > 1

    def _refuse_ineffective(self, call: Mapping[str, Any], negative: str | None) -> None:
        """Refuse arguments that FLUX accepts and ignores: a measurement would be misleading."""
        true_cfg = call.get(TRUE_CFG, self._default(TRUE_CFG))
        guides = true_cfg is None or true_cfg > 1 or self.family is not None
        if negative is not None and not guides:
            is_ours = self.guidance == TRUE_CFG
            name = "guidance" if is_ours else TRUE_CFG
            advice = ", or set a guidance above 1" if is_ours else ""
            raise ConfigurationError(
                f"{self.name} ignores a negative prompt at {name}={true_cfg}, got "
                f"negative_prompt={negative!r}. Leave it out{advice}."
            )
        scale = call.get("guidance_scale")
        config = getattr(self.pipeline, "config", {})
        if scale is not None and scale > 1 and config.get("is_distilled", False):
            raise ConfigurationError(
                f"guidance={scale} has no effect on this distilled {self.name}. Leave it out."
            )
        if self.family is None or self.family.doubles:
            return
        if negative is not None:
            raise ConfigurationError(
                f"{self.name} ignores a negative prompt, got negative_prompt={negative!r}. Leave "
                "it out."
            )
        is_distilled = not self.pipeline.transformer.config.get("guidance_embeds", True)
        if is_distilled and call.get("guidance_scale"):
            raise ConfigurationError(
                f"guidance={call['guidance_scale']} has no effect on this distilled {self.name}. "
                "Leave it out or set 0."
            )

    def _refuse_numbers(self, settings: GenerationSettings) -> None:
        if settings.steps is not None and settings.steps < 1:
            raise ConfigurationError(f"steps={settings.steps}: expected at least 1.")
        processor = getattr(self.pipeline, "image_processor", None)
        multiple = int(getattr(getattr(processor, "config", None), "vae_scale_factor", 1))
        patch = getattr(self.pipeline, "patch_size", 1)
        multiple *= patch if isinstance(patch, int) else 1
        for name in ("width", "height"):
            value = getattr(settings, name)
            if value is not None and (value <= 0 or value % multiple):
                raise ConfigurationError(
                    f"{name}={value}: expected a multiple of {multiple} for {self.name}."
                )


def pictures_of(output: Any) -> list[Any]:
    """The pictures of a pipeline's output: ``.images``, ``.image``, or the first of a tuple.

    They may be a tensor of the four families, or pictures of Pillow.
    """
    for name in ("images", "image"):
        value = getattr(output, name, None)
        if value is not None:
            break
    else:
        value = output[0] if isinstance(output, tuple) else output
    if isinstance(value, torch.Tensor):
        return _pictures_from(value)
    pictures = value if isinstance(value, list) else [value]
    flat = [
        picture for entry in pictures for picture in (entry if isinstance(entry, list) else [entry])
    ]
    wrong = next((picture for picture in flat if not hasattr(picture, "convert")), None)
    if wrong is not None:
        raise GenerationError(
            f"expected pictures in the pipeline's output, got {type(wrong).__name__}"
        )
    return flat


def _pictures_from(shares: torch.Tensor) -> list[Any]:
    """Pictures from [batch, 3, height, width] of 0 to 1, rounded as diffusers rounds them."""
    from PIL import Image

    pixels = (shares.float() * 255).round().to(torch.uint8).permute(0, 2, 3, 1)
    return [Image.fromarray(picture) for picture in pixels.contiguous().cpu().numpy()]
