"""The pictures of one call: with one weight each, or the search for a path of weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from pytest_t2i import T2IError, metrics

from pytest_t2i_mitigation.interpolation.attention import Control, Ends, Pass
from pytest_t2i_mitigation.interpolation.denoising import Denoising, Stream, Text
from pytest_t2i_mitigation.interpolation.weights import (
    Beta,
    fitted,
    next_weight,
    smoothest_path,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

Apart: TypeAlias = "Callable[[Sequence[npt.NDArray[np.float32]]], npt.NDArray[np.float64]]"
"""Distances between any two of k pictures, [k, k], by their features."""
ONE_PICTURE = 1e-9
"""Below it a distance is rounding."""


@dataclass(frozen=True, slots=True)
class Search:
    """How the path of one picture was found."""

    weights: tuple[float, ...]
    """Weights of all k pictures, rising from 0 to 1."""
    pictures: tuple[Image, ...]
    """In the same order."""
    distances: npt.NDArray[np.float64]
    """Between any two of them, [k, k]."""
    beta: Beta
    """The distribution of weights as it was fitted in the end."""
    path: tuple[int, ...]
    """Places of the n pictures that are kept."""
    chosen: int
    """The place of the one that stands for the prompt."""

    @property
    def steps(self) -> tuple[float, ...]:
        """Distances between neighbours on the path."""
        return tuple(float(self.distances[a, b]) for a, b in pairwise(self.path))

    @property
    def consistency(self) -> float:
        """Mean of them (eq. 4.28)."""
        return float(metrics.consistency(self.steps))

    @property
    def smoothness(self) -> float:
        """One minus their Gini coefficient (eq. 4.31)."""
        return float(metrics.smoothness(self.steps))


@dataclass(slots=True)
class Pictures:
    """Makes pictures between a masculine and a feminine text."""

    denoising: Denoising
    masculine: Text
    feminine: Text
    warm_up: int
    """Steps that are interpolated."""
    control: Control | None
    """Control of attention; None where texts alone are interpolated."""
    keep: bool = False
    """Whether keys and values of the endpoints are kept from their own making."""
    _ends: tuple[Stream, Stream] | None = None
    _kept: list[dict[str, Ends]] = field(default_factory=list)
    """For each step of the warm-up."""

    def endpoints(self) -> tuple[Stream, Stream]:
        """The masculine and the feminine pictures; what is made from now on attends to these."""
        ends = self.denoising.stream(self.masculine), self.denoising.stream(self.feminine)
        for step in range(self.denoising.steps):
            if self.control is None or not self.keep or step >= self.warm_up:
                self.denoising.advance(step, ends)
                continue
            self._kept.append({})
            places = [self.denoising.rows(place, len(ends)) for place in range(2)]
            this = Pass(masculine=places[0], feminine=places[1], kept=self._kept[step])
            with self.control.during(this):
                self.denoising.advance(step, ends)
        self._ends = ends
        return ends

    def between(self, weights: Sequence[float]) -> Stream:
        """Pictures with these weights, one for each row."""
        device = self.masculine.tokens.device
        by_row = torch.tensor(weights, dtype=torch.float64, device=device)
        made = self.denoising.stream(Text.between(self.masculine, self.feminine, by_row))
        along = tuple(self.denoising.stream(text) for text in (self.masculine, self.feminine))
        for step in range(self.denoising.steps):
            if self.control is None:
                if step == self.warm_up:
                    made.text = self.denoising.own
                self.denoising.advance(step, [made])
            elif step >= self.warm_up:
                self.denoising.advance(step, [made])
            else:
                self._interpolate(self.control, step, made, along, by_row)
        return made

    def _interpolate(
        self,
        control: Control,
        step: int,
        made: Stream,
        along: tuple[Stream, ...],
        weights: torch.Tensor,
    ) -> None:
        """A step in which pictures attend to the endpoints, which are made along where need be."""
        moving = [made] if self._ends else [made, *along]
        own, masculine, feminine = (self.denoising.rows(k, len(moving)) for k in range(3))
        kept = self._kept[step] if self._kept else None
        beside = (
            [(one.asked[step], one.text) for one in self._ends] if self._ends and not kept else []
        )
        with control.during(Pass(weights, own, masculine, feminine, kept)):
            self.denoising.advance(step, moving, beside)


def searched(
    pictures: Pictures,
    prior: Beta,
    count: int,
    length: int,
    see: Callable[[Image], npt.NDArray[np.float32]],
    draws: Sequence[float],
    apart: Apart | None = None,
) -> tuple[list[Search], list[torch.Tensor]]:
    """Search the path of each picture, and pick one picture on it (eq. 4.20 to 4.23).

    Args:
        pictures: that makes them.
        prior: distribution of weights before a picture is seen.
        count: k, all pictures of a search, endpoints included.
        length: n, pictures of a path, endpoints included.
        see: features of a picture.
        draws: for each row a number from 0 up to 1 that picks among the inner pictures of its path.
        apart: distances between features; 1 - cosine where nothing else is given.

    Returns:
        A search for each row, and what the pipeline is to be given at each step.
    """
    streams = list(pictures.endpoints())
    rows = [_Row(prior, apart or by_cosine) for _ in draws]
    for weight, stream in zip((0.0, 1.0), streams, strict=True):
        _seen(pictures, rows, [weight] * len(rows), stream, see)
    while len(streams) < count:
        weights = [row.next() for row in rows]
        streams.append(pictures.between(weights))
        _seen(pictures, rows, weights, streams[-1], see)
    found = [row.search(length, draw) for row, draw in zip(rows, draws, strict=True)]
    made = [streams[row.order()[one.chosen]] for row, one in zip(rows, found, strict=True)]
    steps = range(pictures.denoising.steps)
    return found, [_rows_of([stream.predicted[step] for stream in made]) for step in steps]


def _seen(
    pictures: Pictures,
    rows: Sequence[_Row],
    weights: Sequence[float],
    stream: Stream,
    see: Callable[[Image], npt.NDArray[np.float32]],
) -> None:
    images = pictures.denoising.decoded(stream)
    for row, weight, image in zip(rows, weights, images, strict=True):
        row.add(weight, image, see(image))


def _rows_of(predicted: Sequence[torch.Tensor]) -> torch.Tensor:
    """Row k of the k-th, with and without the text."""
    n = len(predicted)
    halves = len(predicted[0]) // n
    return torch.stack([predicted[k][half * n + k] for half in range(halves) for k in range(n)])


@dataclass(slots=True)
class _Row:
    """The search for one picture."""

    beta: Beta
    apart: Apart
    weights: list[float] = field(default_factory=list)
    """In the order of making, as the other lists."""
    images: list[Image] = field(default_factory=list)
    features: list[npt.NDArray[np.float32]] = field(default_factory=list)

    def add(self, weight: float, image: Image, features: npt.NDArray[np.float32]) -> None:
        """Take a picture in, and fit the distribution anew between endpoints."""
        self.weights.append(weight)
        self.images.append(image)
        self.features.append(features)
        if len(self.weights) > 2:  # noqa: PLR2004 - endpoints alone say nothing of the way
            self.beta = fitted(self.beta, *self._gaps())

    def next(self) -> float:
        """The weight of the next picture."""
        return next_weight(self.beta, *self._gaps())

    def order(self) -> list[int]:
        """Pictures by rising weight; equal ones as they were made, the feminine endpoint last."""
        return sorted(range(len(self.weights)), key=lambda k: (self.weights[k], k == 1, k))

    def search(self, length: int, draw: float) -> Search:
        """The smoothest path, and the picture on it that the draw picks."""
        order, apart = self.order(), self._distances()
        path = smoothest_path(apart, length)
        chosen = path[1 + int(draw * (length - 2))]
        return Search(
            tuple(self.weights[k] for k in order),
            tuple(self.images[k] for k in order),
            apart,
            self.beta,
            path,
            chosen,
        )

    def _gaps(self) -> tuple[list[float], list[float]]:
        """Weights and distances between neighbours."""
        order, apart = self.order(), self._distances()
        steps = [float(apart[k, k + 1]) for k in range(len(order) - 1)]
        return [self.weights[k] for k in order], steps

    def _distances(self) -> npt.NDArray[np.float64]:
        apart = self.apart([self.features[k] for k in self.order()])
        return np.asarray(np.where(apart < ONE_PICTURE, 0.0, apart))


def by_cosine(features: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float64]:
    """1 - cosine between any two, [k, k].

    >>> by_cosine([np.array([1, 0]), np.array([0, 2]), np.array([3, 0])])[0].tolist()
    [0.0, 1.0, 0.0]
    """
    rows = [np.asarray(vector, dtype=np.float64) for vector in features]
    # A picture without features is as far from any other as can be: its cosine is 0.
    unit = np.stack([row / (np.linalg.norm(row) or 1.0) for row in rows])
    return np.asarray(np.clip(1.0 - unit @ unit.T, 0.0, 2.0))


def by_squares(features: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float64]:
    """The square of the Euclidean distance between any two, [k, k].

    >>> by_squares([np.array([1, 0]), np.array([0, 2])])[0].tolist()
    [0.0, 5.0]
    """
    apart = np.zeros((len(features), len(features)))
    for a, b in combinations(range(len(features)), 2):
        between = np.asarray(features[a], dtype=np.float64) - features[b]
        apart[a, b] = apart[b, a] = between @ between
    return apart


def check_memory(denoising: Denoising, warm_up: int) -> None:
    """T2IError where keys and values of both endpoints do not fit into what is free."""
    network: Any = denoising.pipeline.transformer
    config, call = network.config, denoising.call
    patches = call["hidden_states"].shape[-2:].numel() // config.patch_size**2
    joint = patches + call["encoder_hidden_states"].shape[1]
    places = joint * config.num_layers + patches * len(config.dual_attention_layers)
    width = config.num_attention_heads * config.attention_head_dim
    size = call["hidden_states"].element_size()
    # Keys and values of two endpoints.
    needed = 4 * denoising.pictures * warm_up * places * width * size
    free = _free(call["hidden_states"].device)
    if free is not None and needed > free:
        raise T2IError(
            f"keep=yes needs {needed / 2**30:.1f} GiB for keys and values, {free / 2**30:.1f} GiB "
            "are free: leave keep out, and each picture costs more passes"
        )


def _free(device: torch.device) -> int | None:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "cpu" and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
