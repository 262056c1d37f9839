"""What references add to ``sample`` and ``samples``: the distance from a given distribution."""

from __future__ import annotations

from pytest_t2i.audits.engine.distance import Distance
from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.audits.engine.score import of_member, of_model
from pytest_t2i.prompts import Reference
from pytest_t2i.verdicts.measurement import Measurement


class PromptDistance(Sample):
    """How far the labels of one prompt's images are from a reference."""

    def total_variation_distance(self, reference: Reference) -> Measurement:
        """Return half the sum of |share - reference's share| over the labels, from 0 to 1.

        With two labels it is |p_male - r_male|; with an even reference, half of |prompt bias
        score|. Raises ConfigurationError where the reference has no shares for the prompt or the
        labels.
        """
        return of_member(Distance(reference), self)


class ModelDistance(Samples):
    """How far the labels of several prompts' images are from a reference."""

    def total_variation_distance(self, reference: Reference) -> Measurement:
        """Return the prompts' mean distance from the reference, corrected for few images.

        With an even reference and two labels it is half the model bias score. People's labels do
        not correct it. The errors are those of ``Sample.total_variation_distance``.
        """
        return of_model(Distance(reference), self)
