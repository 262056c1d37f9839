"""Load a model of transformers for a part of a companion: one call, and one clear message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_t2i.adapters.devices import loading_weights, pick_device, pick_dtype
from pytest_t2i.adapters.loading import folder_or_hub_id, needs
from pytest_t2i.errors import ModelLoadError, T2IError
from pytest_t2i.protocols import LoadOptions

with needs("a model of transformers", "clip"):
    import torch

    from pytest_t2i.adapters.pretrained import facts_of, from_pretrained, of_revision


def load_pretrained(
    kind: Any, options: LoadOptions, beside: Callable[..., Any]
) -> tuple[Any, Any, Mapping[str, str]]:
    """Load a model of transformers, and its tokenizer or processor, onto the device of a run.

    Args:
        kind: the class of the model, such as ``transformers.AutoModelForCausalLM``.
        options: ``source`` is a hub id or a folder written by ``save_pretrained``; device, number
            format and revision are obeyed.
        beside: loads what belongs to the model, such as ``AutoTokenizer.from_pretrained``. It is
            called with the place, and with ``revision`` where there is one.

    Returns:
        The model, what belongs to it, and the facts that change its results (weights, number
        format, libraries), for a fingerprint.

    Raises:
        ModelLoadError: the weights are absent, gated, damaged or not safetensors, or ``beside``
            raises an error.
        ConfigurationError: there is no such device or number format.

    >>> from transformers import AutoModelForCausalLM, AutoTokenizer
    >>> folder = LoadOptions("weights/of/nobody")
    >>> load_pretrained(AutoModelForCausalLM, folder, AutoTokenizer.from_pretrained)
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.ModelLoadError: weights/of/nobody: expected a folder written by ...
    """
    device = pick_device(options.device)
    dtype = pick_dtype(options.dtype, device, torch.float32)
    place = folder_or_hub_id(options.source)
    if Path(place).is_dir() and not (Path(place) / "config.json").is_file():
        raise ModelLoadError(
            f"{place}: expected a model written by save_pretrained, and there is no config.json."
        )
    revision = of_revision(options.revision)
    with loading_weights(options.source, options.revision):
        model = from_pretrained(kind, place, dtype, **revision)
        further = _loaded(beside, place, revision)
        model.to(device).eval()
    return model, further, facts_of(model, options.source, place, dtype)


def _loaded(beside: Callable[..., Any], place: str, named: Mapping[str, str]) -> Any:
    """What belongs to the model; a message of the companion is kept as it is."""
    try:
        return beside(place, **named)
    except T2IError as error:
        raise ModelLoadError(str(error)) from error
