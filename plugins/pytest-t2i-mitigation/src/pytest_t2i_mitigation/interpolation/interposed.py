"""A layer between a pipeline and its transformer while one batch is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from pytest_t2i import T2IError

from pytest_t2i_mitigation.interpolation.attention import Control, interpolating
from pytest_t2i_mitigation.interpolation.denoising import Denoising, Text, encoded
from pytest_t2i_mitigation.interpolation.pictures import (
    Pictures,
    Search,
    by_cosine,
    by_squares,
    check_memory,
    searched,
)
from pytest_t2i_mitigation.interpolation.weights import Beta
from pytest_t2i_mitigation.random_counterpart import drawn

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image
    from pytest_t2i import Encoder, Request

    from pytest_t2i_mitigation.interpolation.mitigations import Interpolation

TEXTS = 256
"""The largest number of texts per pipeline whose embeddings are cached."""
_KNOWN: WeakKeyDictionary[Any, dict[Any, Text]] = WeakKeyDictionary()


@dataclass(slots=True)
class Interposed:
    """A replacement of the transformer's forward, which makes all pictures at the first step."""

    mitigation: Interpolation
    pipeline: Any
    requests: Sequence[Request]
    """Row k of the call is request k modulo the number of requests."""
    encoder: Encoder | None
    searches: list[Search] = field(default_factory=list)
    control: Control | None = None
    _told: Any = None
    """The texts of the call; calls with other texts go to the transformer unchanged."""
    _answers: list[torch.Tensor] = field(default_factory=list)
    _step: int = 0

    @contextmanager
    def applied(self) -> Iterator[list[Search]]:
        """Replace the transformer's forward in this context, and restore it at the end."""
        network = self.pipeline.transformer
        with ExitStack() as taken_back:
            if self.mitigation.where is not None:
                self.control = Control(self.mitigation.where)
                taken_back.enter_context(interpolating(network, self.control))
            own = network.forward
            # Hooks of accelerate may have set a forward on the instance.
            was = network.__dict__.get("forward")

            def answer(*args: Any, **kwargs: Any) -> Any:
                return self._answer(own, args, kwargs)

            network.forward = answer
            taken_back.callback(_put_back, network, was)
            yield self.searches

    def _answer(self, own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args or kwargs.get("skip_layers") is not None:
            raise T2IError(f"{self.mitigation.name} cannot be used with skip-layer guidance")
        if self._told is None:
            self._told = kwargs["encoder_hidden_states"]
            self._answers = self._made(Denoising(self.pipeline, own, kwargs))
        if kwargs["encoder_hidden_states"] is not self._told:
            return own(**kwargs)
        answer, self._step = self._answers[self._step], self._step + 1
        return (answer.to(self._told.device),)

    def _made(self, denoising: Denoising) -> list[torch.Tensor]:
        if self.mitigation.mode == "single":
            asked = [self._request(row) for row in range(denoising.pictures)]
            weights = [self.mitigation.weight_of(one) for one in asked]
            return self._pictures(denoising, asked).between(weights).predicted
        if self.mitigation.keep == "no":
            return self._search(denoising, [*range(denoising.pictures)])
        alone = [self._search(denoising.alone(row), [row]) for row in range(len(self.requests))]
        return [_twice_over(rows, denoising) for rows in zip(*alone, strict=True)]

    def _search(self, denoising: Denoising, rows: Sequence[int]) -> list[torch.Tensor]:
        of, asked = self.mitigation, [self._request(row) for row in rows]
        pictures = self._pictures(denoising, asked)
        if pictures.keep:
            check_memory(denoising, pictures.warm_up)
        draws = [drawn(f"{one.seed}|{one.prompt}|picture") for one in asked]
        apart = by_squares if getattr(self.encoder, "squared", False) else by_cosine
        found, answers = searched(
            pictures, Beta(of.alpha, of.beta), of.k, of.n, self._see, draws, apart
        )
        self.searches += found[: len(self.requests)]
        return answers

    def _pictures(self, denoising: Denoising, asked: Sequence[Request]) -> Pictures:
        pairs = [one.variation.texts for one in asked if one.variation is not None]
        feminine, masculine = (
            Text.stacked([self._encoded(denoising, texts[side]) for texts in pairs])
            for side in range(2)
        )
        warm_up = self.mitigation.steps_of(denoising.steps)
        keep = self.mitigation.keep == "yes"
        return Pictures(denoising, masculine, feminine, warm_up, self.control, keep)

    def _encoded(self, denoising: Denoising, text: str) -> Text:
        known = _KNOWN.setdefault(self.pipeline, {})
        like = denoising.call["encoder_hidden_states"]
        key = (text, like.shape[1], like.dtype, self.pipeline.clip_skip)
        if key not in known:
            while len(known) >= TEXTS:
                known.pop(next(iter(known)))
            known[key] = encoded(self.pipeline, text, denoising.call)
        return known[key]

    def _request(self, row: int) -> Request:
        return self.requests[row % len(self.requests)]

    def _see(self, image: Image) -> npt.NDArray[np.float32]:
        """Return the features of one picture, as a batch would change their last digits."""
        if self.encoder is None:
            raise T2IError(
                f"{self.mitigation.name} with mode=path compares pictures, and was given no encoder"
            )
        (features,) = np.asarray(self.encoder.encode([image]), np.float32)
        return np.asarray(features)


def _twice_over(rows: Sequence[torch.Tensor], denoising: Denoising) -> torch.Tensor:
    halves = zip(*rows, strict=True)
    return torch.stack([half[k % len(half)] for half in halves for k in range(denoising.pictures)])


def _put_back(network: Any, was: Any) -> None:
    del network.forward
    if was is not None:
        network.forward = was
