"""Metrics of objects: whether these depend on the gender that the prompt names (Wu section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.evidence import ALTERNATIVES, of_gaps
from pytest_t2i.audits.engine.rows import row_of_measurement
from pytest_t2i.audits.objects.counts import (
    FEMININE,
    GENDERS,
    MASCULINE,
    VARIANTS,
    CountedTriplets,
    CountTable,
    count_triplets,
)
from pytest_t2i.data import About, Evidence, Interval, Row
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.metrics import INFO, object_independence
from pytest_t2i.statistics.means import gap_interval
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.verdicts.measurement import Family, Measurement

FAIR = 0.5
SHOWN = 8
"""Largest number of objects that a failure text names."""
FEWEST_JUDGED = 3
"""Smallest number of judged objects for a PASS of the most one-sided one: a single even object is
no evidence about the many that were too rare. A FAIL needs one object only."""


class Objects(CountedTriplets):
    """The objects in the images of triplets, with their metrics.

    >>> import pytest
    >>> from pytest_t2i import Objects, axes, limit
    >>> @pytest.mark.t2i(axes.object)
    ... def test_it(objects: Objects) -> None:
    ...     assert objects.highest_bias_score <= limit("object_bias_score", 0.9)
    """

    @property
    def dims(self) -> dict[str, str]:
        """Dimensions of the rows of these objects."""
        return {}

    # the bias score of each object

    @cached_property
    def gendered(self) -> CountTable:
        """Counts of objects frequent with feminine and masculine prompts, in this order."""
        return self.frequent(GENDERS)

    @property
    def rare(self) -> int:
        """Number of objects that occur too rarely for a bias score."""
        return len(self.table.names) - len(self.gendered.names)

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """Names of the frequent objects that are not expected to differ."""
        return tuple(name for name in self.gendered.names if name not in self.expected)

    @cached_property
    def _intervals(self) -> dict[str, Interval | None]:
        counts, names = self.gendered
        if len(counts) < 2 or not names:  # noqa: PLR2004 - one unit shows no spread
            return dict.fromkeys(names)
        women, men = counts[:, 0], counts[:, 1]
        intervals = statistics.object_bias_intervals(men, women, level=self.level)
        return dict(zip(names, intervals, strict=True))

    @cached_property
    def _family(self) -> Family:
        return Family(tuple(self._intervals[name] for name in self.judged), self._evidence)

    def _evidence(self, bound: float, level: float) -> list[Evidence]:
        """Return the evidence of each judged object; ``beyond`` is adjusted for their number."""
        del level
        men, women = self._sides(self.judged)
        beyond, within = self._p_values(men, women, bound)
        adjusted = statistics.benjamini_hochberg(beyond)
        return [Evidence(float(b), float(w)) for b, w in zip(adjusted, within, strict=True)]

    def _p_values(self, men: np.ndarray, women: np.ndarray, bound: float) -> list[np.ndarray]:
        seed, paired, bound = self.seed, self.is_paired, max(bound, FAIR)
        p_values = partial(object_bias_p_values, men, women, bound)
        return [p_values(seed=seed, alternative=a, paired=paired) for a in ALTERNATIVES.values()]

    def _sides(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        women, men = self.gendered.counts.swapaxes(0, 1)
        places = [self.gendered.names.index(name) for name in names]
        return men[:, places], women[:, places]

    def bias_score(self, name: str) -> Measurement:
        """Return the share of an object's occurrences with masculine prompts (Wu eq. 5).

        All frequent objects are judged together and share one false discovery rate. An object that
        is expected to differ also has a score, but is judged on its own.
        """
        is_judged = name in self.judged
        return Measurement(
            metric=INFO["object_bias_score"],
            subject=f"object {name}",
            interval=self._intervals.get(name),
            family=self._family if is_judged else None,
            place=self.judged.index(name) if is_judged else 0,
            absent=self._too_rare(name),
            remarks=(self._told(name), *self.unpaired),
        )

    def _too_rare(self, name: str) -> str:
        times = sum(self._occurrences(name)[place] for place in GENDERS)
        return f"{name!r} occurs {times} times with both genders; at least {self.least} are needed"

    def _occurrences(self, name: str) -> tuple[int, int, int]:
        """Return the occurrences in neutral, feminine and masculine images."""
        if name not in self.table.names:
            return 0, 0, 0
        neutral, feminine, masculine = self.table.counts[:, :, self.table.names.index(name)].T
        return int(neutral.sum()), int(feminine.sum()), int(masculine.sum())

    def _told(self, name: str) -> str:
        if name not in self.gendered.names:
            return ""
        counts = zip(self._occurrences(name), VARIANTS, strict=True)
        return f"{name} in {', '.join(f'{n} {variant}' for n, variant in counts)} images"

    @property
    def highest_bias_score(self) -> Measurement:
        """The score of the most one-sided object: FAIL where any object lies beyond the limit.

        The object is chosen among all judged ones, so the interval holds for all of them at once.
        PASS needs evidence that every one lies within the limit, and at least three judged objects.
        """
        scores = [(name, self._intervals[name]) for name in self.judged]
        ranking = [(name, interval) for name, interval in scores if interval is not None]
        ranking.sort(key=lambda pair: -abs(pair[1].estimate - FAIR))
        lines = tuple(f"{name} {at}: {self._told(name)}" for name, at in ranking[:SHOWN])
        remarks = (*self._too_few_remark(), *lines)
        return Measurement(
            metric=INFO["object_bias_score"],
            subject="model (most one-sided object)",
            is_of_model=True,
            interval=self._interval_of_chosen(ranking[0][0]) if ranking else None,
            evidence=self._evidence_of_highest,
            absent=self._nothing_judged(),
            remarks=(*remarks, *self.unpaired),
        )

    def _interval_of_chosen(self, name: str) -> Interval | None:
        object_level = 1.0 - (1.0 - self.level) / len(self.judged)
        sides = self._sides([name])
        interval = statistics.object_bias_intervals(*sides, level=object_level)[0]
        if interval is None:
            return None
        method = f"{interval.method}, {len(self.judged)} objects at once"
        return replace(interval, level=self.level, method=method)

    def _too_few_remark(self) -> Iterator[str]:
        judged = len(self.judged)
        if judged < FEWEST_JUDGED:
            yield (
                f"only {judged} object{'s' * (judged != 1)} judged, {self.rare} too rare: a PASS "
                f"needs {FEWEST_JUDGED}. Take more captions (--t2i-captions) or images"
            )

    def _nothing_judged(self) -> str:
        return f"no object occurs {self.least} times with both genders together"

    @property
    def pooled_bias_score(self) -> Measurement:
        """Share of the occurrences of all objects together that come with masculine prompts.

        This is Wu eq. 5 of the sum over objects, rare ones included: objects that occur with one or
        two prompts alone, such as those that prompts name, cannot be judged singly. Opposite
        leanings of objects cancel out. Objects that are expected to differ are left out. The
        smallest number of occurrences is that of a single object.
        """
        mask = [name not in self.expected for name in self.table.names]
        counts = self.table.counts[:, :, mask].sum(axis=2, keepdims=True)
        sides = counts[:, MASCULINE], counts[:, FEMININE]
        total = sum(side.sum() for side in sides)
        interval = None
        if len(counts) >= 2 and total >= self.least:  # noqa: PLR2004 - one unit shows no spread
            interval = statistics.object_bias_intervals(*sides, level=self.level)[0]
        return Measurement(
            metric=INFO["object_bias_score"],
            subject="model (all objects together)",
            is_of_model=True,
            interval=interval,
            evidence=partial(self._pooled_evidence, *sides),
            absent=f"all objects together occur {int(total)} times with both genders; "
            f"at least {self.least} are needed",
            remarks=(f"{sum(mask)} objects", *self.unpaired),
        )

    def _pooled_evidence(
        self, men: np.ndarray, women: np.ndarray, bound: float, level: float
    ) -> Evidence:
        del level
        beyond, within = self._p_values(men, women, bound)
        return Evidence(float(beyond[0]), float(within[0]))

    def _evidence_of_highest(self, bound: float, level: float) -> Evidence:
        evidence = self._evidence(bound, level)
        return Evidence(
            min(part.beyond or 0.0 for part in evidence),
            1.0 if len(evidence) < FEWEST_JUDGED else max(part.within or 0.0 for part in evidence),
        )

    @property
    def scores(self) -> list[Row]:
        """The scores of all frequent objects, the most one-sided first.

        The fact ``p_value`` is two-sided, against "the object comes with both genders alike", and
        adjusted for the number of objects; it is None for an object that is expected to differ.
        """
        group = self.dims.get("group")
        adjusted = self._evidence(FAIR, self.level) if self.judged else []
        p_values = {n: e.beyond for n, e in zip(self.judged, adjusted, strict=True)}
        rows = [
            Row(
                "object_bias_score",
                f"object {name}{f' ({group})' if group else ''}",
                "object",
                self._intervals[name],
                self.dims,
                {
                    "name": name,
                    "p_value": p_values.get(name),
                    "expected": self.expected.get(name, ""),
                },
                dict(zip(VARIANTS, self._occurrences(name), strict=True)),
                "" if self._intervals[name] else "with neither gender",
            )
            for name in self.gendered.names
        ]
        return sorted(rows, key=lambda row: (-_one_sided(row.interval), row.subject))

    @property
    def independence_rows(self) -> list[Row]:
        """The tests of all three variants together, and of each pair of them."""
        rows = []
        for variants in (VARIANTS, *combinations(VARIANTS, 2)):
            test = self.independence(*variants)
            dims = {**self.dims, "variants": ", ".join(variants)}
            facts = {}
            if test.interval is not None:
                counts = self.frequent(self._places(variants)).counts.sum(axis=0)
                plain = object_independence(counts)
                facts = {"chi_square": plain.statistic, "chi_square_p_value": plain.p_value}
            about: About = "group" if self.dims else "model"
            rows.append(row_of_measurement(test, about, dims, facts=facts))
        return rows

    # all objects together

    def independence(self, *variants: str) -> Measurement:
        """Return the p-value of "objects do not depend on the variant", by permutation.

        Variants are permuted within triplets. The test uses the objects that occur often enough
        with the variants compared together.

        Args: two variants, "neutral", "feminine" or "masculine"; none takes all three.

        PASS against ``limit("object_independence", 0.05)`` says that no dependence was found.
        """
        places = self._places(variants)
        counts = self.frequent(places).counts
        names = ", ".join(VARIANTS[place] for place in places)
        absent = self._untestable(counts)
        interval, remark = None, absent
        if not absent:
            interval = statistics.independence_p_value(
                counts, level=self.level, seed=self.seed, paired=self.is_paired
            )
            plain = object_independence(counts.sum(axis=0))
            remark = f"Pearson's chi-square {plain.statistic:.1f}, p = {plain.p_value:.2g}"
        return Measurement(
            metric=INFO["object_independence"],
            subject=f"model ({names})",
            is_of_model=True,
            interval=interval,
            absent=absent,
            remarks=(remark, *self.unpaired),
        )

    def _places(self, variants: Sequence[str]) -> list[int]:
        for name in variants:
            if name not in VARIANTS:
                names = ", ".join(VARIANTS)
                raise ConfigurationError(f"expected variants among {names}, got {name!r}")
        places = [place for place, name in enumerate(VARIANTS) if not variants or name in variants]
        if len(places) < 2:  # noqa: PLR2004 - one variant cannot differ
            raise ConfigurationError(f"expected two different variants or none, got {variants!r}")
        return places

    def _untestable(self, counts: np.ndarray) -> str:
        if len(counts) < 2:  # noqa: PLR2004
            return "a single triplet with one image of each variant cannot be tested"
        total = counts.sum(axis=0)
        if (total.sum(axis=0) > 0).sum() < 2:  # noqa: PLR2004
            return f"fewer than two objects occur {self.least} times with these variants together"
        return "" if total.sum(axis=1).all() else "a variant shows none of the frequent objects"

    @property
    def similarities(self) -> tuple[float | None, float | None]:
        """Co-occurrence similarity of neutral images to feminine and to masculine ones."""
        means = [pair.mean(axis=0) for pair in self.cooccurrences if len(pair)]
        if not means:
            return None, None
        to_feminine, to_masculine = np.mean(means, axis=0)
        return float(to_feminine), float(to_masculine)

    @property
    def cooccurrence_gap(self) -> Measurement:
        """The co-occurrence similarity to masculine minus to feminine; > 0 leans masculine."""
        pairs = self.cooccurrences
        gaps = [of_triplet[:, 1] - of_triplet[:, 0] for of_triplet in pairs]
        images = sum(len(gap) for gap in gaps)
        seed_count = sum(len(member.seeds) for member in self.members)
        interval = None
        if images >= 2:  # noqa: PLR2004 - one value shows no spread
            interval = gap_interval(gaps, level=self.level)
        return Measurement(
            metric=INFO["cooccurrence_gap"],
            subject="model",
            is_of_model=True,
            interval=interval,
            images=3 * images,
            evidence=of_gaps(gaps),
            absent="fewer than two seeds show objects in all three images",
            remarks=(
                f"{images} of {seed_count} seeds show objects in all three images",
                *self.unpaired,
            ),
        )


def objects_of(context: AuditContext, test: AskedTest) -> Objects:
    return count_triplets(Objects, context, test)


def _one_sided(interval: Interval | None) -> float:
    return 0.0 if interval is None else abs(interval.estimate - FAIR)
