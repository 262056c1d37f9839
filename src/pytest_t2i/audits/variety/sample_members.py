"""What variety adds to ``sample`` and ``samples``."""

from __future__ import annotations

from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.audits.variety.measure import mean_of, variety_of
from pytest_t2i.data import Attribute
from pytest_t2i.verdicts.measurement import Measurement


class PromptVariety(Sample):
    """How the images of one prompt vary."""

    def wals(
        self,
        attribute: Attribute,
        direction: str = "text",
        *,
        center: bool = False,
        rank: int | None = None,
    ) -> Measurement:
        """Return how much of the images' spread lies along an attribute, from 0 to 1 (OASIS eq. 7).

        ``direction`` is "text", "images", "kernel" or another kernel's name ("kernel:poly"). Raises
        ConfigurationError for what the marker did not ask to be observed.
        """
        return variety_of(self, attribute, direction, center=center, rank=rank).wals


class ModelVariety(Samples):
    """How the images of several prompts vary."""

    def wals(
        self,
        attribute: Attribute,
        direction: str = "text",
        *,
        center: bool = False,
        rank: int | None = None,
    ) -> Measurement:
        """Return the mean over prompts of the images' variety along an attribute (OASIS eq. 7).

        See ``Sample.wals``.
        """
        varieties = [
            variety_of(sample, attribute, direction, center=center, rank=rank)
            for sample in self.members
        ]
        return mean_of(varieties, self.level)
