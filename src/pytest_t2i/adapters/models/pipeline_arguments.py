"""Generation settings as arguments of a diffusers pipeline; what it would ignore is refused."""

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
    """Makes the arguments of one pipeline's ``__call__``."""

    pipeline: Any
    family: Family | None
    further: Mapping[str, Any]
    """Arguments that every call gets besides those of the settings."""

    @property
    def name(self) -> str:
        """Class of the pipeline, for messages."""
        return type(self.pipeline).__name__

    @property
    def accepted(self) -> Mapping[str, inspect.Parameter]:
        """What the pipeline's ``__call__`` takes."""
        return inspect.signature(self.pipeline.__call__).parameters

    def arguments(self, settings: GenerationSettings) -> dict[str, Any]:
        """Steps, guidance and size as the pipeline names them; texts are handed over apart.

        Raises:
            ConfigurationError: the pipeline does not take or would ignore a setting.
        """
        for name in self.further:
            self.require(name, "the catalogue cannot set it")
        call = dict(self.further)
        for name, argument in ARGUMENTS.items():
            value = getattr(settings, name)
            if value is not None:
                self.require(argument, f"{name}={value!r} cannot be asked of it")
                call[argument] = value
        self._refuse_ineffective(call)
        self._refuse_numbers(settings)
        call.pop("negative_prompt", None)
        return call

    def require(self, argument: str, consequence: str) -> None:
        """Refuse what the pipeline has no argument for.

        Raises:
            ConfigurationError: its ``__call__`` takes no such argument.
        """
        if argument not in self.accepted:
            raise ConfigurationError(f"{self.name} takes no {argument}, so {consequence}.")

    def doubles(self, call: Mapping[str, Any]) -> bool:
        """Whether one request passes through the convolutions as two rows or through none."""
        if self.family is not None and not self.family.doubles:
            return True
        default = self.accepted.get("guidance_scale")
        guidance = call.get("guidance_scale", default.default if default else None)
        return isinstance(guidance, int | float) and guidance > 1

    def _refuse_ineffective(self, call: Mapping[str, Any]) -> None:
        """FLUX takes these arguments and ignores them, which would pass for a measurement."""
        if self.family is None or self.family.doubles:
            return
        unwanted = call.get("negative_prompt")
        if unwanted is not None:
            raise ConfigurationError(
                f"{self.name} does not follow a negative prompt (negative_prompt={unwanted!r}). "
                "Leave it out."
            )
        is_distilled = not self.pipeline.transformer.config.get("guidance_embeds", True)
        if is_distilled and call.get("guidance_scale"):
            raise ConfigurationError(
                f"guidance={call['guidance_scale']} has no effect on this distilled {self.name}. "
                "Leave it out or set 0."
            )

    def _refuse_numbers(self, settings: GenerationSettings) -> None:
        if settings.steps is not None and settings.steps < 1:
            raise ConfigurationError(f"steps={settings.steps}: at least 1 is needed.")
        processor = getattr(self.pipeline, "image_processor", None)
        multiple = int(processor.config.vae_scale_factor if processor else 1)
        multiple *= int(getattr(self.pipeline, "patch_size", 1))
        for name in ("width", "height"):
            value = getattr(settings, name)
            if value is not None and (value <= 0 or value % multiple):
                raise ConfigurationError(
                    f"{name}={value} does not suit {self.name}: give a multiple of {multiple}."
                )
