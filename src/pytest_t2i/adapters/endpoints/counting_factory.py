"""Give a model behind HTTP what the run knows of it, in any process of a run."""

from __future__ import annotations

from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel, takes_none
from pytest_t2i.adapters.endpoints.spending import RunCounts, Spending
from pytest_t2i.adapters.registry import Factory
from pytest_t2i.data import EMPTY
from pytest_t2i.protocols import LoadOptions, TextToImage


def load_counted(
    factory: Factory,
    faults: RunCounts,
    spending: Spending | None,
    name: str,
    options: LoadOptions,
) -> TextToImage:
    """Load a model by the factory of this name, and give it the run's counters.

    A model that is no endpoint stays as it is; ``spending`` is None where no price is known.
    """
    model: TextToImage = factory(options)
    if isinstance(model, EndpointModel):
        model.faults, model.spending = faults, spending
        model.most_seed = options.extra.get("most_seed")
        model.extra = EMPTY  # an object of a script may have those of another run
    if extra := options.extra.get("call"):
        if isinstance(model, EndpointModel):
            model.take_extra(extra)
        elif "extra" not in getattr(model, "provenance", {}):
            raise takes_none(options.source or name, extra)
    return model
