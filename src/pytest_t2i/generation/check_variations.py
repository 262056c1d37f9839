"""Whether a model makes the variations that a plan asks for."""

from __future__ import annotations

from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import Plan
from pytest_t2i.protocols import Varying


def check_variations(plan: Plan, components: Components) -> None:
    """Refuse what the model would not do: its plain images would be kept as varied ones."""
    asked = {request.variation for request in plan if request.variation is not None}
    mitigating = components.mitigating()
    if mitigating is not None:
        # The run's own is put around the model when that is loaded.
        asked = {one for one in asked if not mitigating.named.makes(one)}
    model = components.model() if any(one.name for one in asked) else None
    for variation in asked:
        if model is None or not variation.name:
            continue
        loaded = model.get()
        if not (isinstance(loaded, Varying) and loaded.takes(variation)):
            raise ConfigurationError(
                f"model {model.name!r} makes no images of the variation {variation.name!r}: "
                "expected a model whose takes(variation) says that it does"
            )
