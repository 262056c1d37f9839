"""The pictures of one call: with one weight each, or by a search for a path of weights."""

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
"""A function from features of k pictures to their distances, [k, k]."""
ONE_PICTURE = 1e-9
"""The distance below which pictures count as equal, for rounding."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search for the path of one picture."""

    weights: tuple[float, ...]
    """The weights of all k pictures, rising from 0 to 1."""
    pictures: tuple[Image, ...]
    """The pictures, in the same order."""
    distances: npt.NDArray[np.float64]
    """The distances between any two pictures, [k, k]."""
    beta: Beta
    """The fitted distribution of weights at the end."""
    path: tuple[int, ...]
    """The places of the n pictures that are kept."""
    chosen: int
    """The place of the picture that is the result."""

    @property
    def steps(self) -> tuple[float, ...]:
        """The distances between neighbours on the path."""
        return tuple(float(self.distances[a, b]) for a, b in pairwise(self.path))

    @property
    def consistency(self) -> float:
        """The mean of the steps (eq. 4.28)."""
        return float(metrics.consistency(self.steps))

    @property
    def smoothness(self) -> float:
        """The smoothness: one minus the Gini coefficient of the steps (eq. 4.31)."""
        return float(metrics.smoothness(self.steps))


@dataclass(slots=True)
class Pictures:
    """The maker of pictures between a masculine and a feminine text."""

    denoising: Denoising
    masculine: Text
    feminine: Text
    warm_up: int
    """The number of steps that are interpolated."""
    control: Control | None
    """The control of attention; None where texts alone are interpolated."""
    keep: bool = False
    """Whether keys and values of the endpoints are kept when the endpoints are made."""
    _ends: tuple[Stream, Stream] | None = None
    _kept: list[dict[str, Ends]] = field(default_factory=list)
    """Layer -> keys and values of the endpoints, for each step of the warm-up."""

    def endpoints(self) -> tuple[Stream, Stream]:
        """Make and return the masculine and feminine pictures, which later pictures attend to."""
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
        """Return pictures with these weights, one for each row."""
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
        """Run a step in which pictures attend to the endpoints; make these if they are missing."""
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
        pictures: the maker of pictures.
        prior: the distribution of weights before any picture.
        count: k, the number of pictures of a search, endpoints included.
        length: n, the number of pictures of a path, endpoints included.
        see: a function that returns the features of a picture.
        draws: a number in [0, 1) for each row, which picks an inner picture of its path.
        apart: the distances between features (default: 1 - cosine).

    Returns:
        A search for each row, and the predictions that the pipeline is given at each step.
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
    """Return row k of the k-th prediction, without and with the text."""
    n = len(predicted)
    halves = len(predicted[0]) // n
    return torch.stack([predicted[k][half * n + k] for half in range(halves) for k in range(n)])


@dataclass(slots=True)
class _Row:
    """The search for one picture."""

    beta: Beta
    apart: Apart
    weights: list[float] = field(default_factory=list)
    """The weights in the order of making; the other lists have the same order."""
    images: list[Image] = field(default_factory=list)
    features: list[npt.NDArray[np.float32]] = field(default_factory=list)

    def add(self, weight: float, image: Image, features: npt.NDArray[np.float32]) -> None:
        """Add a picture, and fit the distribution again."""
        self.weights.append(weight)
        self.images.append(image)
        self.features.append(features)
        if len(self.weights) > 2:  # noqa: PLR2004 - endpoints alone allow no fit
            self.beta = fitted(self.beta, *self._gaps())

    def next(self) -> float:
        return next_weight(self.beta, *self._gaps())

    def order(self) -> list[int]:
        """Return places by rising weight; equal weights as made, the feminine endpoint last."""
        return sorted(range(len(self.weights)), key=lambda k: (self.weights[k], k == 1, k))

    def search(self, length: int, draw: float) -> Search:
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
        """Return the weights, and the distances between neighbours."""
        order, apart = self.order(), self._distances()
        steps = [float(apart[k, k + 1]) for k in range(len(order) - 1)]
        return [self.weights[k] for k in order], steps

    def _distances(self) -> npt.NDArray[np.float64]:
        apart = self.apart([self.features[k] for k in self.order()])
        return np.asarray(np.where(apart < ONE_PICTURE, 0.0, apart))


def by_cosine(features: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float64]:
    """Return 1 - cosine between any two features, [k, k].

    >>> by_cosine([np.array([1, 0]), np.array([0, 2]), np.array([3, 0])])[0].tolist()
    [0.0, 1.0, 0.0]
    """
    rows = [np.asarray(vector, dtype=np.float64) for vector in features]
    # Features of length 0 have a cosine of 0 with all others.
    unit = np.stack([row / (np.linalg.norm(row) or 1.0) for row in rows])
    return np.asarray(np.clip(1.0 - unit @ unit.T, 0.0, 2.0))


def by_squares(features: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float64]:
    """Return the squared Euclidean distance between any two features, [k, k].

    >>> by_squares([np.array([1, 0]), np.array([0, 2])])[0].tolist()
    [0.0, 5.0]
    """
    apart = np.zeros((len(features), len(features)))
    for a, b in combinations(range(len(features)), 2):
        between = np.asarray(features[a], dtype=np.float64) - features[b]
        apart[a, b] = apart[b, a] = between @ between
    return apart


def check_memory(denoising: Denoising, warm_up: int) -> None:
    """Raise T2IError where keys and values of both endpoints do not fit into free memory."""
    network: Any = denoising.pipeline.transformer
    config, call = network.config, denoising.call
    patches = call["hidden_states"].shape[-2:].numel() // config.patch_size**2
    joint = patches + call["encoder_hidden_states"].shape[1]
    places = joint * config.num_layers + patches * len(config.dual_attention_layers)
    width = config.num_attention_heads * config.attention_head_dim
    size = call["hidden_states"].element_size()
    # Factor 4: keys and values of two endpoints.
    needed = 4 * denoising.pictures * warm_up * places * width * size
    free = _free(call["hidden_states"].device)
    if free is not None and needed > free:
        raise T2IError(
            f"keep=yes needs {needed / 2**30:.1f} GiB for keys and values, {free / 2**30:.1f} GiB "
            "are free: leave keep out (each picture then costs more passes)"
        )


def _free(device: torch.device) -> int | None:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "cpu" and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
