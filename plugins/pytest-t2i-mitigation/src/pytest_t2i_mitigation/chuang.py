"""Projection of text embeddings that shrinks differences of gender (Chuang et al.).

Chuang, Jampani, Li, Torralba, Jegelka: Debiasing Vision-Language Models via Biased Prompts, 2023.
This is the calibration matrix, as the authors use it for pictures. For n pairs of texts that differ
in gender alone, with unit embeddings z at the end of the text, P = (I + strength/n sum (z_i -
z_j)(z_i - z_j)^T)^-1; each token c of a prompt becomes P c. The projection P0 that the paper puts
before P is left out, as in the authors' program for pictures. The pairs here are the 40 professions
of Lyu et al. in pytest-t2i's template; the authors use others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from pytest_t2i import axes

_KNOWN: WeakKeyDictionary[Any, dict[float, Any]] = WeakKeyDictionary()
"""Text encoder -> strength -> matrix, kept as encoding the pairs takes long."""


@dataclass(frozen=True, slots=True)
class Chuang:
    """A mitigation that shrinks differences of gender in embeddings of neutral prompts.

    Embeddings of the empty or negative prompt stay as they are, and so do those of prompts that
    name a gender.

    >>> from pytest_t2i import Mitigation, PipelineMitigation
    >>> isinstance(Chuang(), Mitigation), isinstance(Chuang(), PipelineMitigation)
    (True, True)
    """

    strength: float = 500.0
    """The strength, lambda of the paper; 0 changes nothing."""

    name: ClassVar[str] = "chuang"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "text embeddings"
    families: ClassVar[tuple[str, ...]] = ("StableDiffusionPipeline",)
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for a negative or infinite strength."""
        if not 0.0 <= self.strength < math.inf:
            raise ValueError(f"strength: expected a number of at least 0, got {self.strength:g}")

    @contextmanager
    def applied(self, pipeline: Any, requests: Sequence[Any]) -> Iterator[None]:
        """Give the network projected embeddings in this context.

        The text encoder is not changed, as models cache embeddings of texts.
        """
        del requests
        matrix = self._matrix(pipeline)

        def project(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            del module
            rows = kwargs["encoder_hidden_states"]
            first = len(rows) // 2 if pipeline.do_classifier_free_guidance else 0
            return args, {**kwargs, "encoder_hidden_states": projected(rows, matrix, first)}

        handle = pipeline.unet.register_forward_pre_hook(project, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def _matrix(self, pipeline: Any) -> Any:
        known = _KNOWN.setdefault(pipeline.text_encoder, {})
        if self.strength not in known:
            known[self.strength] = calibrated(*embedded_pairs(pipeline), self.strength)
        return known[self.strength]


def projected(rows: Any, matrix: Any, first: int) -> Any:
    """Return embeddings [n, tokens, d] with the rows from ``first`` on projected.

    Rows are multiplied one by one, as a product of several rows may round differently.
    """
    import torch

    of_rows = matrix.to(rows.device, torch.float32)
    changed = [(row.float() @ of_rows.T).to(rows.dtype) for row in rows[first:]]
    return torch.stack([*rows[:first], *changed])


def calibrated(feminine: Any, masculine: Any, strength: float) -> Any:
    """Return P of pairs of embeddings [n, d], float64; the identity where the strength is 0."""
    import torch

    unit = torch.nn.functional.normalize
    apart = unit(feminine.double(), dim=-1) - unit(masculine.double(), dim=-1)
    spread = apart.T @ apart / len(apart)
    return torch.linalg.inv(torch.eye(len(spread), dtype=torch.float64) + strength * spread)


def embedded_pairs(pipeline: Any) -> tuple[Any, Any]:
    """Return embeddings of the feminine and masculine texts, [n, d] each, at the texts' ends."""
    import torch

    _, feminine, masculine = zip(*axes.profession.triplets(), strict=True)
    return (
        torch.stack([_embedding(pipeline, prompt.text) for prompt in feminine]),
        torch.stack([_embedding(pipeline, prompt.text) for prompt in masculine]),
    )


def _embedding(pipeline: Any, text: str) -> Any:
    import torch

    tokenizer, encoder = pipeline.tokenizer, pipeline.text_encoder
    ids = tokenizer(
        text,
        padding="max_length",
        max_length=tokenizer.model_max_length,
        truncation=True,
        return_tensors="pt",
    ).input_ids
    end = ids[0].tolist().index(tokenizer.eos_token_id)
    with torch.no_grad():
        return encoder(ids.to(encoder.device))[0][0, end].float().cpu()
