"""The work of one process of ``processes:N``: it loads the model once, and makes batches."""

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
    """Result of one batch."""

    images: list[tuple[Request, Generated]]
    notes: list[str]
    problem: str = ""
    """Error message where the rest of the batch was not made; else ""."""
    told: Told | None = None
    """Batch size that the process found."""


class _Own:
    """State of a process that makes images."""

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
    """Initialise a new process; the model is loaded when its first image is requested.

    Args:
        name: name of the model, for messages.
        recipe: pickled factory and LoadOptions.
        batch: batch size to begin with.
        known: batch sizes found for devices; None where the user gave one.
        threads: number of threads of this process, on a processor.
        device: device of the model.
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
    """End this process with its parent: a parent that was killed cannot end it."""
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
    """Make the images of a part, or those before an error."""
    images: list[tuple[Request, Generated]] = []
    problem = ""
    try:
        images.extend(_Own.executor.run(part))
    except T2IError as error:
        problem = str(error)
    notes, _Own.notes[:] = list(_Own.notes), []
    return Made(images, notes, problem, _Own.executor.size.told)


def not_elsewhere(name: str, error: Exception) -> str:
    """Message for a model that cannot be loaded in another process."""
    return (
        f"--t2i-executor: model {name!r} cannot be loaded in another process: {error}. "
        "Name it as module:factory, or leave --t2i-executor out."
    )
