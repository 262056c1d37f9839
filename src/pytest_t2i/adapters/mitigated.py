"""A model wrapped by a mitigation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from pytest_t2i.adapters.mitigations import NamedMitigation
from pytest_t2i.adapters.registry import Factory
from pytest_t2i.data import ATTENTION, Generated, Request, Variation
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import (
    ComparingMitigation,
    Encoder,
    LoadOptions,
    PipelineMitigation,
    TextToImage,
)


class Mitigated:
    """A model (TextToImage, Varying) wrapped by a mitigation.

    >>> from pytest_t2i.adapters.mitigations import load_mitigation
    >>> from pytest_t2i.adapters.registry import Registry
    >>> class Echo:
    ...     fingerprint = "echo"
    ...
    ...     def generate(self, requests):
    ...         return [Generated(None, refusal=request.prompt) for request in requests]
    >>> class Stated:
    ...     name, fingerprint, stage, families, passes = "stated", "1", "prompt", (), 1.0
    ...     needs_counterparts = False
    ...
    ...     def prompt(self, text, seed, counterparts):
    ...         return f"{text}, whoever it is"
    >>> stated = load_mitigation(Registry("mitigation", {"stated": Stated}), "stated")
    >>> asked = Request("a nurse", 0, variation=stated.variation(()))
    >>> next(iter(Mitigated(Echo(), stated).generate([asked]))).refusal
    'a nurse, whoever it is'
    """

    def __init__(
        self,
        model: TextToImage,
        named: NamedMitigation,
        encoder: Callable[[], Encoder] | None = None,
    ) -> None:
        """Raises ConfigurationError for a pipeline that the mitigation does not fit.

        ``encoder`` loads the encoder of mitigations that compare pictures.
        """
        self.model, self.named, self._encoder = model, named, encoder
        self.pipeline = getattr(model, "pipeline", None)
        self._check_family()

    @property
    def fingerprint(self) -> str:
        """The model's own fingerprint: the variation of each request identifies the mitigation."""
        return self.model.fingerprint

    def takes(self, variation: Variation) -> bool:
        """Whether a variation is the one that this mitigation makes."""
        return self.named.makes(variation)

    def generate(self, requests: Sequence[Request]) -> Iterable[Generated]:
        """Make one batch, in order; requests without the variation give plain pictures."""
        if self.named.mitigation.stage == "prompt":
            return self.model.generate([self._inner(request) for request in requests])
        return self._inside(requests)

    def _check_family(self) -> None:
        mitigation = self.named.mitigation
        family = type(self.pipeline).__name__ if self.pipeline is not None else ""
        if mitigation.stage == "prompt" and not mitigation.families:
            return
        if family not in mitigation.families:
            fits = ", ".join(mitigation.families) or "no pipeline"
            given = f"a {family}" if family else "a model without a pipeline"
            raise ConfigurationError(
                f"mitigation {self.named.asked!r} acts at the stage {mitigation.stage!r} of "
                f"{fits}: it does not fit {given}"
            )

    def _inner(self, request: Request) -> Request:
        """The request for the wrapped model."""
        variation = request.variation
        if variation is None or not self.named.makes(variation):
            return request
        observe = request.observe - ({ATTENTION} if self.named.hides_attention else set())
        text = self.named.made_from(request.prompt, request.seed, variation.texts)
        return replace(request, prompt=text, observe=observe, variation=None)

    def _inside(self, requests: Sequence[Request]) -> Iterator[Generated]:
        """Make varied and plain pictures separately: only the former change the pipeline."""
        varied = [request for request in requests if self.named.makes(request.variation)]
        plain = [request for request in requests if not self.named.makes(request.variation)]
        made: dict[Request, Generated] = {}
        for alike in _made_in_one_go(varied):
            with self.inside.applied(self.pipeline, alike):
                inner = [self._inner(request) for request in alike]
                made |= zip(alike, self.model.generate(inner), strict=True)
        if plain:
            made |= zip(plain, self.model.generate(plain), strict=True)
        yield from (made[request] for request in requests)

    @cached_property
    def inside(self) -> PipelineMitigation:
        """The mitigation, with its encoder where it compares pictures."""
        mitigation = self.named.mitigation
        if self.named.compares_by is not None and self._encoder is not None:
            return cast("ComparingMitigation", mitigation).seeing(self._encoder())
        return cast("PipelineMitigation", mitigation)


def _made_in_one_go(requests: Sequence[Request]) -> Iterable[list[Request]]:
    """Groups of requests that a pipeline can make in one call."""
    groups: dict[Any, list[Request]] = {}
    for request in requests:
        key = (request.settings, request.observe, request.attributes)
        groups.setdefault(key, []).append(request)
    return groups.values()


@dataclass(frozen=True, slots=True)
class MitigatedFactory:
    """A factory, which can be pickled, of a model wrapped by a mitigation."""

    factory: Factory
    named: NamedMitigation
    encoder: Callable[[], Encoder] | None = None
    """Loads the encoder of a mitigation that compares pictures."""

    def __call__(self, options: LoadOptions) -> Mitigated:
        """Load the model and wrap it."""
        return Mitigated(self.factory(options), self.named, self.encoder)
