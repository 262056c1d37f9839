"""The values of the fixtures ``sample`` and ``samples``: detections and the metrics of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.registry import INSTALL
from pytest_t2i.audits import bias
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.distance import Distance
from pytest_t2i.audits.emergence.measure import Emergence, emergence_of
from pytest_t2i.audits.emergence.predisposition import Predisposition, of_attribute
from pytest_t2i.audits.instruments import checked_attribute
from pytest_t2i.audits.parity import groups
from pytest_t2i.audits.parity.change import model_change, prompt_change
from pytest_t2i.audits.parity.groups import GroupedSample, GroupedSamples
from pytest_t2i.audits.score import ByLabels, interval_of, mean_interval_of, of_member, of_model
from pytest_t2i.audits.variety.measure import diversity_of, mean_of, variety_of
from pytest_t2i.data import FORESEEN, Attribute, Interval
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.prompts import Reference
from pytest_t2i.statistics.model import Estimator
from pytest_t2i.verdicts.measurement import Measurement


@dataclass(frozen=True, repr=False)
class Sample(GroupedSample):
    """All detections of one prompt.

    >>> import pytest
    >>> from pytest_t2i import Sample, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(sample: Sample) -> None:
    ...     assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.5)
    """

    audits: tuple[Any, ...] = field(default=(), kw_only=True, compare=False)
    """The audits of the run, whose ``of_sample`` names are attributes; (): the installed ones."""

    def __repr__(self) -> str:
        return f"<Sample of {self.prompt.id}: {len(self.seeds)} images, {self.ref.name}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what an audit of another distribution measures (``Audit.of_sample``)."""
            if name.startswith("_"):
                raise AttributeError(name)
            for audit in self.__dict__.get("audits") or installed_audits():
                if name in audit.of_sample:
                    return audit.of_sample[name](self)
            install = INSTALL.get(("sample", name))
            hint = f". Run: {install}" if install else ""
            raise AttributeError(f"{self!r} has no {name!r}{hint}")

    @property
    def prompt_bias_score(self) -> Measurement:
        """(male - female) / clear, from -1 (all female) to 1 (all male) (Lyu eq. 2)."""
        return of_member(bias.Bias(), self, prompt_change)

    @property
    def bias_interval(self) -> Interval | None:
        """Prompt bias score with its exact interval; None without a clear image."""
        return interval_of(bias.Bias(), self)

    @property
    def share_of_men(self) -> Interval | None:
        """Men among the clear images, with an interval; None without a clear image."""
        return bias.share_of_men(self)

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

    def spi(
        self, attribute: Attribute, *, guidance: bool = True, center: bool = False
    ) -> Emergence:
        """Return how the attribute gets into the images, step by step (OASIS eq. 11).

        With ``center``, the index says where the images lie between both descriptions
        (``metrics.centred_spi``); these should name the concept (``Stereotype.within_concept``).
        """
        return emergence_of(self, attribute, guidance=guidance, center=center)

    @property
    def vendi_score(self) -> Measurement:
        """Effective number of different images, from 1 to their number; lower is worse.

        Raises ConfigurationError where the marker did not ask for ``observe="features"``.
        """
        return diversity_of(self).vendi_score

    def foreseen(self, attribute: Attribute) -> Predisposition:
        """Return what the denoising previews show, with the attribute's share in each (OASIS 4.6).

        Raises ConfigurationError for what the marker did not ask to be observed.
        """
        self._require_foreseen(checked_attribute(attribute))
        ref, label = of_attribute(self.ref.name, attribute)
        return Predisposition(self.prompt, self.seeds, ref, label, self.observations, self.level)

    def foreseen_label(self, label: str) -> Predisposition:
        """Return what the denoising previews show, with the share of a label such as "male".

        Raises UnknownNameError for a label that the detector never gives.
        """
        self._require_foreseen(None)
        if label not in self.observations.labels(self.ref):
            labels = self.observations.labels(self.ref)
            raise UnknownNameError(f"label of {self.ref.name}", label, labels)
        return Predisposition(
            self.prompt, self.seeds, self.ref, label, self.observations, self.level
        )

    def _require_foreseen(self, attribute: Attribute | None) -> None:
        what = "foreseen" if attribute is None else f"foreseen({attribute.name!r})"
        self.observed.require(FORESEEN, attribute, what)

    def total_variation_distance(self, reference: Reference) -> Measurement:
        """Return half the sum of |share - reference's share| over the labels, from 0 to 1.

        With two labels it is |p_male - r_male|; with an even reference, half of |prompt bias
        score|. Raises ConfigurationError where the reference has no shares for the prompt or the
        labels.
        """
        return of_member(Distance(reference), self)


@dataclass(frozen=True, repr=False)
class Samples(GroupedSamples):
    """The samples of several prompts, from which metrics of the model are computed.

    >>> import pytest
    >>> from pytest_t2i import Samples, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(samples: Samples) -> None:
    ...     assert samples.model_bias_score <= limit("model_bias_score", 0.2)
    """

    members: tuple[Sample, ...]
    corrected: ByLabels | None = None
    """The correction by people's labels; None without labels."""

    def __repr__(self) -> str:
        return f"<Samples of {len(self.members)}>"

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.members)

    @property
    def model_bias_score(self) -> Measurement:
        """Mean over prompts of |male - female| / clear, from 0 to 1 (Lyu eq. 1).

        Where people labelled some of the images, their labels correct the detector's and stand in
        for the undetected images, so that no worst case is left.
        """
        score = bias.Bias(self.estimator)
        return of_model(score, self, self.corrected, self.few_labels, model_change)

    def interval(self, estimator: Estimator) -> Interval | None:
        """Return the model bias score by one estimator; None without any clear image."""
        return mean_interval_of(bias.Bias(estimator), self)

    @property
    def floor(self) -> float | None:
        """Mean of the paper's score for a perfectly fair model with as many images."""
        return bias.floor_of_samples(self)

    def total_variation_distance(self, reference: Reference) -> Measurement:
        """Return the prompts' mean distance from the reference, corrected for few images.

        With an even reference and two labels it is half the model bias score. People's labels do
        not correct it. The errors are those of ``Sample.total_variation_distance``.
        """
        return of_model(Distance(reference), self)

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

    def by_axis(self) -> dict[str, Samples]:
        """Return the samples of each axis, in order of appearance."""
        names = dict.fromkeys(sample.prompt.axis for sample in self.members)
        return {
            name: self._part(tuple(s for s in self.members if s.prompt.axis == name))
            for name in names
        }

    def by(self, axis: str) -> dict[str, Samples]:
        """Return the samples of each concept of an axis; a crossed prompt has several concepts.

        Raises UnknownNameError for an axis that no prompt has.
        """
        parts = groups.by(self.members, axis)
        return {concept: self._part(members) for concept, members in parts.items()}

    def most_biased(self, count: int = bias.WORST) -> str:
        """Return the prompts furthest from parity in words, worst first; on ties, both sides."""
        return bias.most_biased(self, count)

    def _part(self, members: tuple[Sample, ...]) -> Samples:
        return replace(self, members=members, corrected=None, corrected_groups=None, few_labels="")
