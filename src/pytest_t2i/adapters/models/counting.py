"""A model behind HTTP that counts its faults and what it spends, in any process of a run."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.adapters.models.endpoints import EndpointModel
from pytest_t2i.adapters.registry import Factory
from pytest_t2i.adapters.support.fault_counts import FaultCounts
from pytest_t2i.adapters.support.spending import Spending
from pytest_t2i.protocols import LoadOptions, TextToImage


@dataclass(frozen=True, slots=True)
class CountingFactory:
    """Loads a model and tells it what the run may spend, and where it counts."""

    factory: Factory
    faults: FaultCounts
    spending: Spending | None
    """None where no price is known."""

    def __call__(self, options: LoadOptions) -> TextToImage:
        """The model of these options; one that is no endpoint counts nothing by itself."""
        model: TextToImage = self.factory(options)
        if isinstance(model, EndpointModel):
            model.faults, model.spending = self.faults, self.spending
        return model
