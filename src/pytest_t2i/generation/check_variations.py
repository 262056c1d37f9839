"""Check that a model can make the variations in a plan."""

from __future__ import annotations

from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import Plan
from pytest_t2i.protocols import Varying


def check_variations(plan: Plan, components: Components) -> None:
    """Raise ConfigurationError for a variation that the model cannot make.

    Otherwise the model's plain images would be stored as varied ones.
    """
    asked = {request.variation for request in plan if request.variation is not None}
    mitigating = components.mitigating()
    if mitigating is not None:
        # The run's own mitigation wraps the model when the model is loaded.
        asked = {one for one in asked if not mitigating.named.makes(one)}
    model = components.model() if any(one.name for one in asked) else None
    for variation in asked:
        if model is None or not variation.name:
            continue
        loaded = model.get()
        if not (isinstance(loaded, Varying) and loaded.takes(variation)):
            raise ConfigurationError(
                f"model {model.name!r} makes no images of the variation {variation.name!r}: "
                "expected a model whose takes(variation) returns True for it. Choose another "
                "model, or deselect these tests with -k"
            )
