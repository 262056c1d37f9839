"""Fair principal components of text embeddings, with the noise of a group drawn by seed.

Fu, Brown, Shao, Rawal, Delaney, Russell: FairImagen: Post-Processing for Bias Mitigation in
Text-to-Image Models, NeurIPS 2025; FairPCA is by Kleindessner et al., AISTATS 2023. For texts x_i
with group z_i, the direction n = sum (z_i - mean z) x_i / |...| separates the groups on average.
U holds the first principal components among directions orthogonal to n. Each token c of a prompt,
and its pooled embedding, becomes U U^T c + noise (n . x_j) n, where x_j is a text of a group drawn
with equal probability ("empirical noise" of the authors' program).

The texts are the feminine and masculine ones of the 40 professions of Lyu et al.; the authors
extract thousands. So few texts do not span all that a prompt says. By default, U therefore holds
all directions but n, the limit of the authors' 600.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

from pytest_t2i import axes

from pytest_t2i_mitigation.chuang import embedded_pairs
from pytest_t2i_mitigation.random_counterpart import drawn

_KNOWN: WeakKeyDictionary[Any, dict[int, Projection]] = WeakKeyDictionary()
"""Pipeline -> dimension -> projection, kept as encoding the texts takes long."""


class Projection(NamedTuple):
    """The projection of fair principal components, and the direction that it removes."""

    kept: Any
    """The projection U U^T, [d, d]."""
    direction: Any
    """The direction n of unit length, [d]."""
    feminine: Any
    """The components n . x of the feminine texts, [texts]."""
    masculine: Any
    """The components n . x of the masculine texts, [texts]."""


@dataclass(frozen=True, slots=True)
class FairPCA:
    """A mitigation that replaces the component of gender in embeddings by that of a drawn text.

    Embeddings of the empty or negative prompt stay as they are, and so do those of prompts that
    name a gender.

    >>> from pytest_t2i import Mitigation, PipelineMitigation
    >>> isinstance(FairPCA(), Mitigation), isinstance(FairPCA(), PipelineMitigation)
    (True, True)
    """

    noise: float = 0.6
    """The share of the drawn text's component that is added; 0 adds nothing."""
    dimension: int = 0
    """The number of principal components to keep; 0 for all but the direction of gender."""

    name: ClassVar[str] = "fair-pca"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "text embeddings"
    families: ClassVar[tuple[str, ...]] = ("StableDiffusionPipeline", "StableDiffusion3Pipeline")
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for negative or infinite values."""
        if not 0.0 <= self.noise < math.inf:
            raise ValueError(f"noise: expected a number of at least 0, got {self.noise:g}")
        if self.dimension < 0:
            raise ValueError(f"dimension: expected a number of at least 0, got {self.dimension}")

    @contextmanager
    def applied(self, pipeline: Any, requests: Sequence[Any]) -> Iterator[None]:
        """Give the network changed embeddings in this context.

        Raises ValueError where ``dimension`` exceeds the number of components beside the direction.
        """
        projection = self._projection(pipeline)
        offsets = [self.noise * component(projection, one.seed, one.prompt) for one in requests]

        def change(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            del module
            guided = bool(pipeline.do_classifier_free_guidance)
            changed = {
                name: _changed(kwargs[name], projection, offsets, guided=guided)
                for name in ("encoder_hidden_states", "pooled_projections")
                if kwargs.get(name) is not None
            }
            return args, {**kwargs, **changed}

        network = pipeline.transformer if _is_flow(pipeline) else pipeline.unet
        handle = network.register_forward_pre_hook(change, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()

    def _projection(self, pipeline: Any) -> Projection:
        known = _KNOWN.setdefault(pipeline, {})
        if self.dimension not in known:
            pairs = _pooled_pairs(pipeline) if _is_flow(pipeline) else embedded_pairs(pipeline)
            known[self.dimension] = fitted(*pairs, self.dimension)
        return known[self.dimension]


def fitted(feminine: Any, masculine: Any, dimension: int) -> Projection:
    """Return the projection for embeddings of both groups, [texts, d] each, in float64.

    Raises ValueError where ``dimension`` exceeds d - 1.
    """
    import torch

    women, men = feminine.double(), masculine.double()
    width = women.shape[1]
    if dimension >= width:
        raise ValueError(
            f"dimension: expected at most {width - 1} for these texts, got {dimension}"
        )
    apart = torch.nn.functional.normalize(women.mean(0) - men.mean(0), dim=0)
    kept = torch.eye(width, dtype=torch.float64) - torch.outer(apart, apart)
    if dimension:
        texts = torch.cat([women, men]) @ kept
        _, components = torch.linalg.eigh(texts.T @ texts)
        first = components[:, -dimension:]
        kept = first @ first.T
    return Projection(kept, apart, women @ apart, men @ apart)


def component(projection: Projection, seed: int, prompt: str) -> float:
    """Return the component of a text that the seed draws, each group with equal probability."""
    group = projection.feminine if drawn(f"{seed}|{prompt}|group") < 0.5 else projection.masculine  # noqa: PLR2004 - equal probability
    return float(group[int(drawn(f"{seed}|{prompt}|text") * len(group))])


def _changed(rows: Any, projection: Projection, offsets: Sequence[float], *, guided: bool) -> Any:
    """Return embeddings [n, ..., width] with the rows of the prompts changed.

    Channels beyond those of the pooled embedding are T5's, and stay as they are. Rows are
    multiplied one by one, as a product of several rows may round differently.
    """
    import torch

    first = len(rows) // 2 if guided else 0
    width = len(projection.direction)
    kept, direction = (
        one.to(rows.device, torch.float32) for one in (projection.kept, projection.direction)
    )
    changed = []
    for place, row in enumerate(rows[first:]):
        offset = offsets[place % len(offsets)]
        own = row[..., :width].float() @ kept + offset * direction
        changed.append(torch.cat([own.to(rows.dtype), row[..., width:]], dim=-1))
    return torch.stack([*rows[:first], *changed])


def _pooled_pairs(pipeline: Any) -> tuple[Any, Any]:
    """Return pooled embeddings of the feminine and masculine texts, [texts, d] each."""
    import torch

    _, feminine, masculine = zip(*axes.profession.triplets(), strict=True)
    return (
        torch.cat([_pooled(pipeline, prompt.text) for prompt in feminine]),
        torch.cat([_pooled(pipeline, prompt.text) for prompt in masculine]),
    )


def _pooled(pipeline: Any, text: str) -> Any:
    import torch

    with torch.no_grad():
        _, _, pooled, _ = pipeline.encode_prompt(
            prompt=text, prompt_2=None, prompt_3=None, do_classifier_free_guidance=False
        )
    return pooled.float().cpu()


def _is_flow(pipeline: Any) -> bool:
    return getattr(pipeline, "transformer", None) is not None
