"""Convert generation settings to arguments of a diffusers pipeline; refuse ineffective ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_t2i.adapters.models.prompt_embeddings import Family
from pytest_t2i.data import GenerationSettings
from pytest_t2i.errors import ConfigurationError

ARGUMENTS = {
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "width": "width",
    "height": "height",
    "negative_prompt": "negative_prompt",
}
"""Field of GenerationSettings -> argument of a pipeline's ``__call__``."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Builds the arguments of one pipeline's ``__call__``."""

    pipeline: Any
    family: Family | None
    further: Mapping[str, Any]
    """Arguments of every call besides those of the settings."""

    @property
    def name(self) -> str:
        """Name of the pipeline's class, for messages."""
        return type(self.pipeline).__name__

    @property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the pipeline's ``__call__``."""
        return inspect.signature(self.pipeline.__call__).parameters

    def arguments(self, settings: GenerationSettings) -> dict[str, Any]:
        """Arguments for steps, guidance and size; texts are passed separately.

        Raises:
            ConfigurationError: the pipeline does not accept a setting, or would ignore it.
        """
        for name in self.further:
            self.require(name, "the catalogue cannot set it: remove it there")
        call = dict(self.further)
        for name, argument in ARGUMENTS.items():
            value = getattr(settings, name)
            if value is not None:
                self.require(argument, f"{name}={value!r} has no effect: leave it out")
                call[argument] = value
        self._refuse_ineffective(call)
        self._refuse_numbers(settings)
        call.pop("negative_prompt", None)
        return call

    def require(self, argument: str, consequence: str) -> None:
        """Raise ConfigurationError where the pipeline has no such argument.

        Raises:
            ConfigurationError: ``__call__`` has no such parameter.
        """
        if argument not in self.accepted:
            raise ConfigurationError(f"{self.name} has no argument {argument}, so {consequence}.")

    def doubles(self, call: Mapping[str, Any]) -> bool:
        """Whether one request is two rows in the convolutions, or there are no convolutions."""
        if self.family is not None and not self.family.doubles:
            return True
        default = self.accepted.get("guidance_scale")
        guidance = call.get("guidance_scale", default.default if default else None)
        return isinstance(guidance, int | float) and guidance > 1

    def _refuse_ineffective(self, call: Mapping[str, Any]) -> None:
        """Refuse arguments that FLUX accepts and ignores: a measurement would be misleading."""
        if self.family is None or self.family.doubles:
            return
        unwanted = call.get("negative_prompt")
        if unwanted is not None:
            raise ConfigurationError(
                f"{self.name} ignores a negative prompt, got negative_prompt={unwanted!r}. Leave "
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
        multiple = int(processor.config.vae_scale_factor if processor else 1)
        multiple *= int(getattr(self.pipeline, "patch_size", 1))
        for name in ("width", "height"):
            value = getattr(settings, name)
            if value is not None and (value <= 0 or value % multiple):
                raise ConfigurationError(
                    f"{name}={value}: expected a multiple of {multiple} for {self.name}."
                )
