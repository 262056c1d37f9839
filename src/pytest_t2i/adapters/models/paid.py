"""A model behind HTTP that counts what it spends, in whatever process it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.adapters.models.endpoints import EndpointModel
from pytest_t2i.adapters.registry import Factory
from pytest_t2i.adapters.support.spending import Spending
from pytest_t2i.protocols import LoadOptions, TextToImage


@dataclass(frozen=True, slots=True)
class PaidFactory:
    """Loads a model and tells it what the run may spend."""

    factory: Factory
    spending: Spending

    def __call__(self, options: LoadOptions) -> TextToImage:
        """The model of these options; one that is no endpoint counts nothing by itself."""
        model: TextToImage = self.factory(options)
        if isinstance(model, EndpointModel):
            model.spending = self.spending
        return model
