"""The three mitigations of the thesis, with their keys; what they do is loaded with a pipeline."""

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
"""Number of steps of the thesis, for which ``passes`` is given."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Pictures between the masculine and the feminine counterpart of their prompt.

    ``mode=single`` makes each picture with one weight, drawn from the Beta distribution by its seed
    and prompt. ``mode=path`` makes k pictures with weights from 0 (masculine) to 1 (feminine),
    keeps the n of them whose widest step is least, and picks one between the endpoints.

    >>> from pytest_t2i import Mitigation, PipelineMitigation
    >>> isinstance(PostAttentionInterpolation(), Mitigation)
    True
    >>> isinstance(PostAttentionInterpolation(), PipelineMitigation)
    True
    """

    mode: str = "single"
    """"single" or "path"."""
    k: int = 7
    """Pictures of a search, both endpoints included."""
    n: int = 5
    """Those that are kept, both endpoints included."""
    alpha: float = 3.0
    """Alpha of the Beta distribution of weights; larger than beta favours feminine pictures."""
    beta: float = 3.0
    warm_up: float = 0.2
    """Share of the steps, from the first on, that are interpolated; rounded down to whole steps."""
    weight: str = DRAWN
    """With mode=single: "drawn", or one weight for all pictures, 0 masculine to 1 feminine."""
    encoder: str = ""
    """With mode=path: whose features tell how far pictures are apart (1 - cosine, or LPIPS with
    ``lpips``); "" for the run's own."""
    keep: str = "no"
    """With mode=path: "yes" keeps keys and values of the endpoints, for one picture at a time."""
    _sees: Any = field(default=None, init=False, repr=False, compare=False)

    name: ClassVar[str]
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "attention"
    families: ClassVar[tuple[str, ...]] = ("StableDiffusion3Pipeline",)
    needs_counterparts: ClassVar[bool] = True
    where: ClassVar[Any] = None
    """"pre" or "post"; None where texts alone are interpolated."""

    def __post_init__(self) -> None:
        """Refuse keys that make no sense, one line each."""
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
        """Cost of a picture in passes of the plain model, at the 28 steps of the thesis."""
        return self._passes(STEPS, guided=True)

    @property
    def compares_by(self) -> str | None:
        """Whose features are compared; None where no picture is."""
        return self.encoder if self.mode == "path" else None

    def passes_with(self, settings: GenerationSettings) -> float:
        """What a picture costs with these settings, in passes of the plain model.

        With w steps of warm-up of s: 1 for one weight of texts and k for a path of them; of
        attention 1 + 2 w/s for one weight, as both endpoints are made along, and k for a path
        whose keys and values are kept. Else k + (k - 2) 2 w/s, half of the latter with guidance:
        endpoints that are only attended to need no rows without the text.

        Raises ValueError where the warm-up comes to no step.
        """
        guided = settings.guidance is None or settings.guidance > 1.0
        return self._passes(settings.steps or STEPS, guided=guided)

    def seeing(self, encoder: Encoder) -> Self:
        """The same, with what it compares pictures by."""
        copy = replace(self)
        object.__setattr__(copy, "_sees", encoder)
        return copy

    @contextmanager
    def applied(self, pipeline: Any, requests: Sequence[Request]) -> Iterator[Any]:
        """While one batch is made, the transformer's answers are those for pictures between.

        Gives a list that holds the search of each request once the batch is made with mode=path.
        """
        from pytest_t2i_mitigation.interpolation.interposed import Interposed

        with Interposed(self, pipeline, requests, self._sees).applied() as searches:
            yield searches

    def steps_of(self, steps: int) -> int:
        """Steps of the warm-up; ValueError where these are none."""
        # 0.29 of 100 steps are 29, whatever their product in floating point.
        whole = math.floor(self.warm_up * steps + 1e-9)
        if whole < 1:
            raise ValueError(
                f"warm_up: {self.warm_up:g} of {steps} steps comes to 0 steps, so nothing would be "
                f"interpolated: take at least {math.ceil(1 / self.warm_up)} steps, or a larger "
                "warm_up"
            )
        return whole

    def weight_of(self, request: Request) -> float:
        """The weight of a picture with mode=single, the same on every machine."""
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
    """Texts are interpolated (eq. 4.11 to 4.13), at every step unless told otherwise.

    >>> TextInterpolation().passes, TextInterpolation(mode="path").passes
    (1.0, 7.0)
    """

    warm_up: float = 1.0

    name: ClassVar[str] = "text-interpolation"
    stage: ClassVar[str] = "text embeddings"


@dataclass(frozen=True, slots=True)
class PreAttentionInterpolation(Interpolation):
    """Keys and values are interpolated before attention (eq. 4.14 to 4.18), and the texts.

    >>> round(PreAttentionInterpolation().passes, 2)
    1.36
    """

    name: ClassVar[str] = "pre-attention-interpolation"
    where: ClassVar[Any] = "pre"


@dataclass(frozen=True, slots=True)
class PostAttentionInterpolation(Interpolation):
    """What attention gives is interpolated (eq. 4.19), and the texts.

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
