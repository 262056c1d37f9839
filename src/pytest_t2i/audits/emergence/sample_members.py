"""What emergence adds to ``sample``."""

from __future__ import annotations

from pytest_t2i.audits.emergence.measure import Emergence, emergence_of
from pytest_t2i.audits.emergence.predisposition import Predisposition, of_attribute
from pytest_t2i.audits.engine.instruments import checked_attribute
from pytest_t2i.audits.engine.samples import Sample
from pytest_t2i.data import FORESEEN, Attribute
from pytest_t2i.errors import UnknownNameError


class PromptEmergence(Sample):
    """How an attribute gets into the images of one prompt, step by step."""

    def spi(
        self, attribute: Attribute, *, guidance: bool = True, center: bool = False
    ) -> Emergence:
        """Return how the attribute gets into the images, step by step (OASIS eq. 11).

        With ``center``, the index says where the images lie between both descriptions
        (``metrics.centred_spi``); these should name the concept (``Stereotype.within_concept``).
        """
        return emergence_of(self, attribute, guidance=guidance, center=center)

    def foreseen(self, attribute: Attribute) -> Predisposition:
        """Return what the denoising previews show, with the attribute's share in each (OASIS 4.6).

        Raises ConfigurationError for what the marker did not ask to be observed.
        """
        name = f"foreseen({checked_attribute(attribute).name!r})"
        self.observed.require(FORESEEN, attribute, name)
        ref, label = of_attribute(self.ref.name, attribute)
        return Predisposition(self.prompt, self.seeds, ref, label, self.observations, self.level)

    def foreseen_label(self, label: str) -> Predisposition:
        """Return what the denoising previews show, with the share of a label such as "male".

        Raises UnknownNameError for a label that the detector never gives.
        """
        self.observed.require(FORESEEN, None, "foreseen")
        if label not in self.observations.labels(self.ref):
            labels = self.observations.labels(self.ref)
            raise UnknownNameError(f"label of {self.ref.name}", label, labels)
        return Predisposition(
            self.prompt, self.seeds, self.ref, label, self.observations, self.level
        )
