"""The three mitigations of the thesis, with their keys; their code is loaded when they run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pytest_t2i_mitigation.random_counterpart import drawn

if TYPE_CHECKING:
    from pytest_t2i import Encoder, GenerationSettings, Request

MODES = ("single", "path")
KEEP = ("no", "yes")
DRAWN = "drawn"
STEPS = 28
"""The number of steps of the thesis, for which ``passes`` is given."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """A mitigation with pictures between the masculine and feminine counterparts of a prompt.

    ``mode=single`` makes each picture with one weight, which seed and prompt draw from the Beta
    distribution. ``mode=path`` makes k pictures with weights from 0 (masculine) to 1 (feminine),
    keeps the n pictures whose widest step is smallest, and picks one between the endpoints.

    >>> from pytest_t2i import Mitigation, PipelineMitigation
    >>> isinstance(PostAttentionInterpolation(), Mitigation)
    True
    >>> isinstance(PostAttentionInterpolation(), PipelineMitigation)
    True
    """

    mode: str = "single"
    """The mode: "single" or "path"."""
    k: int = 7
    """The number of pictures of a search, both endpoints included."""
    n: int = 5
    """The number of pictures that are kept, both endpoints included."""
    alpha: float = 3.0
    """The alpha of the Beta distribution of weights; above beta, it favours feminine pictures."""
    beta: float = 3.0
    warm_up: float = 0.2
    """The share of steps that are interpolated, from the first on; rounded down to whole steps."""
    weight: str = DRAWN
    """With mode=single: "drawn", or one weight for all pictures, 0 masculine to 1 feminine."""
    encoder: str = ""
    """With mode=path: the encoder whose features give distances of pictures (1 - cosine, or LPIPS
    with ``lpips``); "" for the run's own."""
    keep: str = "no"
    """With mode=path: "yes" keeps keys and values of the endpoints, for one picture at a time."""
    _sees: Any = field(default=None, init=False, repr=False, compare=False)

    name: ClassVar[str]
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "attention"
    families: ClassVar[tuple[str, ...]] = ("StableDiffusion3Pipeline",)
    needs_counterparts: ClassVar[bool] = True
    where: ClassVar[Any] = None
    """Where attention is interpolated, "pre" or "post"; None where only texts are."""

    def __post_init__(self) -> None:
        """Raise ValueError for keys that do not make sense, in one line."""
        _one_of("mode", self.mode, MODES)
        _one_of("keep", self.keep, KEEP)
        _above_zero("alpha", self.alpha)
        _above_zero("beta", self.beta)
        if not 3 <= self.n <= self.k:  # noqa: PLR2004 - the endpoints and one between
            raise ValueError(f"n: expected 3 to k={self.k}, got {self.n}")
        if not 0.0 < self.warm_up <= 1.0:
            raise ValueError(f"warm_up: expected a share above 0, up to 1, got {self.warm_up:g}")
        if self.keep == "yes" and (self.mode != "path" or self.where is None):
            raise ValueError("keep: goes with mode=path and the attention of pictures alone")
        self._fixed_weight()

    @property
    def passes(self) -> float:
        """The cost of a picture in passes of the plain model, at the 28 steps of the thesis."""
        return self._passes(STEPS, guided=True)

    @property
    def compares_by(self) -> str | None:
        """The encoder that compares pictures; None where none are compared."""
        return self.encoder if self.mode == "path" else None

    def passes_with(self, settings: GenerationSettings) -> float:
        """Return the cost of a picture with these settings, in passes of the plain model.

        w of s steps are warm-up. Interpolation of texts costs 1 for one weight and k for a path.
        Interpolation of attention costs 1 + 2 w/s for one weight, as both endpoints are made, too.
        A path costs k where keys and values are kept, else k + (k - 2) 2 w/s. With guidance, the
        second term halves, as endpoints that are only attended to need no rows without text.

        Raises ValueError where the warm-up has no step.
        """
        guided = settings.guidance is None or settings.guidance > 1.0
        return self._passes(settings.steps or STEPS, guided=guided)

    def seeing(self, encoder: Encoder) -> Self:
        """Return the mitigation with the encoder that compares pictures."""
        copy = replace(self)
        object.__setattr__(copy, "_sees", encoder)
        return copy

    @contextmanager
    def applied(self, pipeline: Any, requests: Sequence[Request]) -> Iterator[Any]:
        """Give the pipeline predictions of interpolated pictures in this context.

        Yields a list, which with mode=path holds the search of each request after the batch.
        """
        from pytest_t2i_mitigation.interpolation.interposed import Interposed

        with Interposed(self, pipeline, requests, self._sees).applied() as searches:
            yield searches

    def steps_of(self, steps: int) -> int:
        """Return the number of steps of the warm-up; raise ValueError where it is 0."""
        # 0.29 of 100 steps must be 29, although the floating-point product is smaller.
        whole = math.floor(self.warm_up * steps + 1e-9)
        if whole < 1:
            raise ValueError(
                f"warm_up: {self.warm_up:g} of {steps} steps comes to 0 steps, so nothing would be "
                f"interpolated: take at least {math.ceil(1 / self.warm_up)} steps, or a larger "
                "warm_up"
            )
        return whole

    def weight_of(self, request: Request) -> float:
        """Return the weight of a picture with mode=single, the same on every machine."""
        if (fixed := self._fixed_weight()) is not None:
            return fixed
        from pytest_t2i_mitigation.interpolation.weights import Beta

        return Beta(self.alpha, self.beta).quantile(
            drawn(f"{request.seed}|{request.prompt}|weight")
        )

    def _fixed_weight(self) -> float | None:
        if self.weight == DRAWN:
            return None
        try:
            number = float(self.weight)
        except ValueError:
            number = math.nan
        if not 0.0 <= number <= 1.0:
            raise ValueError(f"weight: expected {DRAWN} or a number from 0 to 1, got {self.weight}")
        return number

    def _passes(self, steps: int, *, guided: bool) -> float:
        share = self.steps_of(steps) / steps
        if self.mode == "single":
            return 1.0 if self.where is None else 1.0 + 2.0 * share
        if self.where is None or self.keep == "yes":
            return float(self.k)
        return self.k + (self.k - 2) * share * (1.0 if guided else 2.0)


@dataclass(frozen=True, slots=True)
class TextInterpolation(Interpolation):
    """A mitigation that interpolates texts (eq. 4.11 to 4.13), by default at every step.

    >>> TextInterpolation().passes, TextInterpolation(mode="path").passes
    (1.0, 7.0)
    """

    warm_up: float = 1.0

    name: ClassVar[str] = "text-interpolation"
    stage: ClassVar[str] = "text embeddings"


@dataclass(frozen=True, slots=True)
class PreAttentionInterpolation(Interpolation):
    """A mitigation that interpolates texts, and keys and values of attention (eq. 4.14 to 4.18).

    >>> round(PreAttentionInterpolation().passes, 2)
    1.36
    """

    name: ClassVar[str] = "pre-attention-interpolation"
    where: ClassVar[Any] = "pre"


@dataclass(frozen=True, slots=True)
class PostAttentionInterpolation(Interpolation):
    """A mitigation that interpolates texts, and the result of attention (eq. 4.19).

    >>> PostAttentionInterpolation(mode="path", keep="yes").passes
    7.0
    """

    name: ClassVar[str] = "post-attention-interpolation"
    where: ClassVar[Any] = "post"


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name}: expected {' or '.join(known)}, got {value}")


def _above_zero(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name}: expected a number above 0, got {value:g}")
