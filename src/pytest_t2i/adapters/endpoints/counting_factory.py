"""Give a model behind HTTP what the run knows of it, in any process of a run."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel, takes_none
from pytest_t2i.adapters.endpoints.spending import RunCounts, Spending
from pytest_t2i.adapters.registry import Factory
from pytest_t2i.data import EMPTY
from pytest_t2i.protocols import LoadOptions, TextToImage


@dataclass(frozen=True, slots=True)
class CountingFactory:
    """A factory that gives a model the run's counters."""

    factory: Factory
    faults: RunCounts
    spending: Spending | None
    """None where no price is known."""
    name: str
    """Name of the factory."""

    def __call__(self, options: LoadOptions) -> TextToImage:
        """Load the model; a model that is no endpoint stays as it is."""
        model: TextToImage = self.factory(options)
        if isinstance(model, EndpointModel):
            model.faults, model.spending = self.faults, self.spending
            model.most_seed = options.extra.get("most_seed")
            model.extra = EMPTY  # an object of a script may have those of another run
        if extra := options.extra.get("call"):
            if isinstance(model, EndpointModel):
                model.take_extra(extra)
            elif "extra" not in getattr(model, "provenance", {}):
                raise takes_none(options.source or self.name, extra)
        return model
