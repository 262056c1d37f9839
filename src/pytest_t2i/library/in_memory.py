"""Models in memory: a pipeline, an object with ``generate``, or a function."""

from __future__ import annotations

import hashlib
import inspect
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from typing import Any

from PIL.Image import Image, fromarray

from pytest_t2i.adapters.registry import Factory
from pytest_t2i.data import Generated, Request, digest
from pytest_t2i.errors import ConfigurationError, GenerationError, shown
from pytest_t2i.protocols import LoadOptions, TextToImage
from pytest_t2i.sections.words import several

Function = Callable[[list[str], list[int]], Sequence[Image]]
"""A function (prompts, seeds) -> pictures, one for each prompt, in order."""
DIMENSIONS, RGB = 3, 3
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
"""Allowed names of a model in memory."""


class FunctionModel:
    """A model that calls a function; picture k depends on prompt k and seed k alone.

    >>> from PIL import Image as Images
    >>> grey = lambda prompts, seeds: [Images.new("RGB", (8, 8), "grey") for _ in prompts]
    >>> model = FunctionModel(grey, "grey-1")
    >>> len(list(model.generate([Request("a nurse", 0)])))
    1
    """

    def __init__(self, function: Function, fingerprint: str) -> None:
        self._function = function
        self.fingerprint = fingerprint

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """Make one batch; raise GenerationError for anything but one picture for each prompt."""
        answer = self._function(
            [request.prompt for request in requests], [request.seed for request in requests]
        )
        pictures = list(answer)
        if len(pictures) != len(requests):
            raise GenerationError(
                f"the function was given {several(len(requests), 'prompt')} with seeds, and gave "
                f"{several(len(pictures), 'picture')}: return one for each, in order"
            )
        return [Generated(_picture(picture)) for picture in pictures]


def _picture(value: Any) -> Image:
    """Return a picture; an array of height x width x 3 whole numbers from 0 to 255 is one, too."""
    if isinstance(value, Image):
        return value.convert("RGB")
    shape, dtype = getattr(value, "shape", None), str(getattr(value, "dtype", ""))
    if dtype == "uint8" and shape is not None and len(shape) == DIMENSIONS and shape[2] == RGB:
        return fromarray(value)
    what = shown(value) if shape is None else f"{type(value).__name__} of {dtype} {tuple(shape)}"
    raise GenerationError(
        "the function has to return pictures: PIL.Image.Image, or numpy arrays of uint8 "
        f"(height, width, 3), got {what}"
    )


def factory_of(model: Any, fingerprint: str | None) -> Factory:
    if isinstance(model, type):
        raise ConfigurationError(
            f"model: expected an object, got the class: write {model.__name__}()"
        )
    if isinstance(model, TextToImage):
        return lambda _: model
    if _is_pipeline(model):
        return lambda options: _pipeline(model, options, fingerprint)
    if callable(model):
        _check_arguments(model)
        function_model = FunctionModel(model, fingerprint or f"function-{secrets.token_hex(8)}")
        return lambda _: function_model
    raise ConfigurationError(
        "expected a diffusers pipeline, an object with fingerprint and generate(requests), a "
        f"function of prompts and seeds, or what --t2i-model takes, got {model!r}"
    )


def _check_arguments(function: Callable[..., Any]) -> None:
    """Raise ConfigurationError for a function that does not take two lists."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of a compiled module may not say what it takes
        return
    try:
        signature.bind([], [])
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        raise ConfigurationError(
            "model: a function takes (prompts, seeds), two lists of equal length, and returns a "
            f"picture for each, got {name}{signature}"
        ) from None


def is_nameless(model: Any, fingerprint: str | None) -> bool:
    """Whether a model has no fingerprint, so that its pictures cannot be kept for later calls."""
    has_identity = isinstance(model, str | TextToImage) or _is_pipeline(model)
    return not has_identity and fingerprint is None


def name_of_model(model: Any, given: str | None = None) -> str:
    """Return the model's name in reports.

    >>> name_of_model(FunctionModel(lambda prompts, seeds: [], "none"))
    'FunctionModel in memory'
    >>> name_of_model(FunctionModel(lambda prompts, seeds: [], "none"), "tuned")
    'tuned in memory'
    """
    if isinstance(model, str):
        if given is not None:
            raise ConfigurationError(
                f"name={given!r}: only a model in memory takes a name; {model!r} has its own"
            )
        return model
    if given is None and (report_name := getattr(model, "name_in_reports", None)) is not None:
        return str(report_name)
    if given is None:
        given = getattr(model, "__name__", type(model).__name__).strip("<>")
    elif not NAME.fullmatch(given):
        raise ConfigurationError(
            "name: expected 1 to 60 letters, digits, spaces and . _ - in one line, beginning with "
            f"a letter or digit, got {given[:80]!r}"
        )
    return f"{given} in memory"


def _is_pipeline(model: Any) -> bool:
    # A pipeline can exist only if diffusers was imported.
    diffusers = sys.modules.get("diffusers")
    names = ("DiffusionPipeline", "ModularPipeline")
    kinds = tuple(kind for name in names if (kind := getattr(diffusers, name, None)) is not None)
    return isinstance(model, kinds)


def _pipeline(pipeline: Any, options: LoadOptions, fingerprint: str | None) -> TextToImage:
    from pytest_t2i.adapters.models.diffusers import model_in_memory

    return model_in_memory(pipeline, options, fingerprint or _weights(pipeline))


def _weights(pipeline: Any) -> str:
    """Return a hash of the weights and the configuration of every part of a pipeline."""
    parts: dict[str, Any] = {}
    for name, part in pipeline.components.items():
        config: Any = getattr(part, "config", None) or {}
        values = config.to_dict() if hasattr(config, "to_dict") else dict(config)
        plain = {key: repr(value) for key, value in values.items() if not key.startswith("_")}
        parts[name] = [type(part).__name__, plain, _tensors(part)]
    return digest(parts)


def _tensors(part: Any) -> str:
    if not hasattr(part, "state_dict"):
        return ""
    import torch

    content = hashlib.sha256()
    for name, tensor in part.state_dict().items():
        plain = tensor.detach().cpu().contiguous().reshape(-1)
        content.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        content.update(plain.view(torch.uint8).numpy().tobytes())
    return content.hexdigest()
