"""What a process of ``processes:N`` does: it loads the model once, and makes what it is given."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.generation.batch_size import BatchSize, Found, Told
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.protocols import LoadOptions


class Made(NamedTuple):
    """What a process hands back."""

    images: list[tuple[Request, Generated]]
    notes: list[str]
    problem: str = ""
    """Why the rest of the batch was not made."""
    told: Told | None = None
    """What it found of images per batch."""


class _Own:
    """What a process that makes images knows."""

    executor: InProcess
    notes: list[str]


def begin(
    name: str,
    recipe: bytes,
    batch: int,
    known: dict[str, Found] | None,
    threads: int,
    device: str,
) -> None:
    """Called once in a new process; the model is loaded when its first image is asked for.

    Args:
        name: of the model, for messages.
        recipe: pickled factory and LoadOptions.
        batch: images per batch.
        known: of images per batch on some devices; None where their number was given.
        threads: of this process, on a processor.
        device: where the model is loaded.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Own.notes = []
    models: list[Any] = []

    def model() -> Any:
        if not models:
            factory, options = _unpacked(name, recipe)
            models.append(factory(replace(options, device=device)))
            _use_threads(threads)
        return models[0]

    _Own.executor = InProcess(name, model, BatchSize(batch, known), _Own.notes.append)


def _unpacked(name: str, recipe: bytes) -> tuple[Callable[[LoadOptions], Any], LoadOptions]:
    try:
        factory, options = pickle.loads(recipe)  # noqa: S301 - our own parent's
    except Exception as error:
        raise ConfigurationError(not_elsewhere(name, error)) from error
    return factory, options


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _use_threads(count: int) -> None:
    try:
        import torch
    except ModuleNotFoundError:
        return
    torch.set_num_threads(count)


def make(part: list[Request]) -> Made:
    """The images of a part, and what came before an error."""
    images: list[tuple[Request, Generated]] = []
    problem = ""
    try:
        images.extend(_Own.executor.run(part))
    except T2IError as error:
        problem = str(error)
    notes, _Own.notes[:] = list(_Own.notes), []
    return Made(images, notes, problem, _Own.executor.size.told)


def not_elsewhere(name: str, error: Exception) -> str:
    """Why a model cannot be used by this executor, and what to do."""
    return (
        f"--t2i-executor: model {name!r} cannot be loaded in another process: {error}. "
        "Name it as module:factory, or leave --t2i-executor out."
    )
