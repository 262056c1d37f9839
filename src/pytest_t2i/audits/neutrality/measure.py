"""Neutrality: whether neutral images are nearer to masculine than to feminine ones (Wu)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.contrast import NAMED, Contrast, Unit, Units
from pytest_t2i.audits.engine.detected import DistinctPictures, with_each
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import (
    FINAL_LATENT,
    TEXT_EMBEDDING,
    Evidence,
    FactKind,
    Prompt,
    Triplet,
    digest,
)  # fmt: skip
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import Need
from pytest_t2i.generation.spaces import PAPER, PIXELS, SPACES, encoder_of, is_space, space_words
from pytest_t2i.metrics import INFO, diff_pix, similarity, split_product, ssim
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.means import REACH, gap_sign_p_value
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.verdicts.caveats.built_in import READINGS
from pytest_t2i.verdicts.caveats.equal_pictures import whatever_some_show
from pytest_t2i.verdicts.caveats.seams import PValues, Reading, weakest_evidence
from pytest_t2i.verdicts.measurement import Measurement

METHOD = 2
"""Version of the comparison of images; stored results of another version are not used."""
UNPAIRED = "variants share no noise: the endpoint draws every picture anew, whatever its seed"
SIDES = ("to_feminine", "to_masculine")
PROMPT = "prompt"
"""The space of texts."""
GAP = Contrast("similarity_gap", ("to_masculine", "to_feminine"), unknown=None)
GAP_OF_TEXTS = replace(GAP, estimator="mean")
"""Texts are not drawn: the same model has the same ones."""


class Leaning(NamedTuple):
    """The p-values of one test over all spaces."""

    masculine: float
    """p-value against "in some space neutral is not nearer to masculine"."""
    feminine: float
    """p-value against "in some space neutral is not nearer to feminine"."""


class Pair(NamedTuple):
    """Similarities of a triplet's neutral images to the two other variants, one value per seed."""

    to_feminine: np.ndarray
    to_masculine: np.ndarray


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for the three variants from the same seeds, with traces and features."""
    spaces = test.selection.asked("spaces") or ()
    if not spaces:
        return
    observe = {TEXT_EMBEDDING} if PROMPT in spaces else set()
    observe |= {FINAL_LATENT} if "denoising" in spaces else set()
    encoders = frozenset(name for space in spaces if (name := encoder_of(space, context.encoder)))
    for three in test.selection.triplets:
        seeds = context.seeds(three.neutral, test.images)
        for prompt in three:
            yield Need(prompt, seeds, encoders=encoders, observe=frozenset(observe))


@dataclass(frozen=True, slots=True, repr=False)
class TripletSample(DistinctPictures):
    """The images of one triplet.

    >>> import pytest
    >>> from pytest_t2i import TripletSample, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(triplet: TripletSample) -> None:
    ...     assert triplet.similarity_gap("image") <= limit("similarity_gap", 0.05)
    """

    triplet: Triplet
    seeds: tuple[int, ...]
    encoder: str
    observations: Observations
    level: float
    planned: tuple[int, ...] = ()
    """All seeds, of equal pictures too; () where ``seeds`` are all."""
    readings: tuple[Reading, ...] = field(default=READINGS, kw_only=True, compare=False)
    """The ways to count images in which the evidence must hold."""

    def __repr__(self) -> str:
        return f"<TripletSample of {self.id}: {several(len(self.seeds), 'image')} of each variant>"

    @property
    def id(self) -> str:
        """The neutral prompt's id."""
        return self.triplet.id

    @property
    def has_no_verdict(self) -> bool:
        """Whether so many pictures of a variant repeat that nothing is judged."""
        repeats = self.observations.repeats
        return any(repeats(prompt, self.planned).are_too_many for prompt in self.triplet)

    def similarities(self, space: str) -> Pair | None:
        """Return the similarities of neutral to feminine and masculine, per seed.

        Sources are Wu eq. 1 (prompt), eq. 2 (denoising) and section 4.1.3: for encoders the cosine
        of their features, with patches the highest of all pairs; ssim is structural similarity;
        diff_pix is 1 - Diff. Pix / 100. Returns None where the model does not expose the space.
        Raises ConfigurationError for an unknown space.
        """
        if not is_space(space):
            names = ", ".join(dict.fromkeys((*SPACES, *PAPER)))
            raise ConfigurationError(f"expected a space among {names}, got {space!r}")
        cache, key = self.observations.derived, (self.triplet, self.seeds, self.encoder, space)
        if key not in cache:
            cache[key] = self._remembered(space)
        similarities: Pair | None = cache[key]
        return similarities

    def _remembered(self, space: str) -> Pair | None:
        """Return the similarities from the store; compute and store them at the first call."""
        if space == PROMPT:
            return self._in_prompt_space()
        name = FactKind.SIMILARITIES.of(self._compared(space))
        record = self.observations.store.fact(name)
        if record is None:
            pair = self._similarities(space)
            record = {} if pair is None else {side: pair._asdict()[side].tolist() for side in SIDES}
            self.observations.store.remember(name, record)
        return Pair(*(np.array(record[side]) for side in SIDES)) if record else None

    def _compared(self, space: str) -> str:
        """Return a hash of all that these similarities depend on: pictures, encoder, method."""
        name = encoder_of(space, self.encoder)
        encoder = self.observations.components.encoder(name).fingerprint if name else None
        pictures = [
            image.sha256
            for prompt in self.triplet
            for image in self.observations.images(prompt, self.seeds)
        ]
        return digest([METHOD, space, encoder, self.observations.model_fingerprint, pictures])

    def _similarities(self, space: str) -> Pair | None:
        neutral, feminine, masculine = (self._points(prompt, space) for prompt in self.triplet)
        compare = COMPARE.get(space, _features)
        pairs = [
            (compare(n, f), compare(n, m))
            for n, f, m in zip(neutral, feminine, masculine, strict=True)
            if n is not None and f is not None and m is not None
        ]
        if not pairs:
            return None
        to_feminine, to_masculine = np.array(pairs).T
        return Pair(to_feminine, to_masculine)

    def similarity_gap(self, space: str) -> Measurement:
        """Return similarity to masculine minus similarity to feminine; > 0 leans masculine."""
        return TripletSamples((self,), self.level).similarity_gap(space)

    def _in_prompt_space(self) -> Pair | None:
        embedded = [self.observations.text_embedding(prompt) for prompt in self.triplet]
        if any(entry is None for entry in embedded):
            return None
        # Token counts differ between variants ("female nurse"), so tokens are averaged first.
        neutral, feminine, masculine = (np.asarray(entry).mean(axis=0) for entry in embedded)
        return Pair(np.array([_cosine(neutral, feminine)]), np.array([_cosine(neutral, masculine)]))

    def _points(self, prompt: Prompt, space: str) -> Sequence[np.ndarray | None]:
        if space in PIXELS:
            pictures = self.observations.pictures(prompt, self.seeds)
            return [None if picture is None else np.asarray(picture) for picture in pictures]
        encoder = encoder_of(space, self.encoder)
        name = self.observations.components.encoder(encoder).fingerprint if encoder else None
        return self.observations.arrays(prompt, self.seeds, name or FINAL_LATENT)


@dataclass(frozen=True, slots=True, repr=False)
class TripletSamples:
    """Several triplets, from which the similarity gap of the model is computed.

    >>> import pytest
    >>> from pytest_t2i import TripletSamples, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(triplets: TripletSamples) -> None:
    ...     assert triplets.similarity_gap("image") <= limit("similarity_gap", 0.05)
    """

    members: tuple[TripletSample, ...]
    level: float

    def __repr__(self) -> str:
        return f"<TripletSamples of {len(self.members)} triplets>"

    def __iter__(self) -> Iterator[TripletSample]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def units(self, space: str) -> Units[Unit]:
        """Return both similarities of each judged triplet for which the space is exposed."""
        left_out = self._without_verdict(space)
        units = (
            Unit(member.triplet, pair._asdict(), self.level)
            for member in self.members
            if member not in left_out and (pair := member.similarities(space)) is not None
        )
        return Units(tuple(units), self.level)

    def similarities(self, space: str) -> list[Pair]:
        """Return the similarities of each judged triplet for which the space is exposed."""
        return [_pair(member) for member in self.units(space).members]

    def with_each(self, change: Callable[[Any], Any]) -> Self:
        """Return the same with each sample changed; itself where none is."""
        return with_each(self, change)

    def at_worst(self, side: Beyond) -> Self:
        """Return itself: no detector labels these images."""
        del side
        return self

    def _without_verdict(self, space: str) -> list[TripletSample]:
        """Return the triplets of which nothing is judged, as too many of their pictures repeat."""
        # Texts have no pictures.
        return [] if space == PROMPT else [m for m in self.members if m.has_no_verdict]

    def similarity_gap(self, space: str) -> Measurement:
        """Return similarity to masculine minus to feminine (Wu eq. 1-2); > 0 leans masculine."""
        units, left_out = self.units(space), self._without_verdict(space)
        evidence, despite = self._evidence(space), "" if space == PROMPT else None
        if left_out and units.members:
            names = [member.triplet.neutral.name for member in left_out]
            evidence, despite = whatever_some_show(
                evidence, names, len(units.members), INFO[GAP.metric]
            )
        images = sum(3 * len(member.seeds) for member in self.members)
        is_of_model = len(self.members) != 1
        # A remark where the model ignores seeds, so that images are no pairs.
        is_unpaired = space != PROMPT and any(m.observations.draws_anew() for m in self.members[:1])
        return units.measured(
            GAP,
            f"{'model' if is_of_model else self.members[0].id} {space_words(space)}",
            (self._widest(units), *((UNPAIRED,) if is_unpaired else ())),
            is_of_model=is_of_model,
            images=images,
            evidence=evidence,
            despite_repeats=despite,
            absent=self._absent(space, units),
        )

    def _evidence(self, space: str) -> Callable[[float, float], Evidence]:
        # Texts have no pictures.
        if space == PROMPT:
            return self.units(space).arms(GAP_OF_TEXTS).evidence

        def evidence(bound: float, level: float) -> Evidence:
            del level

            def p_values(way: TripletSamples, side: Beyond) -> PValues:
                beyond, within = way.units(space).arms(GAP).p_values(bound)
                return [beyond if side == "beyond" else within]

            (weakest,) = weakest_evidence(self.members[0].readings, self, p_values)
            return weakest

        return evidence

    def leaning(self, spaces: Sequence[str]) -> Leaning | None:
        """Test whether neutral is nearer to one gender in every space (Wu RQ1).

        This is the intersection-union test: each space is tested at the full level, and the largest
        p-value counts. Returns None where a space is not exposed or has fewer than two values.
        """
        gaps = [_gaps(self.similarities(space)) for space in spaces]
        reaches = [math.inf if space == PROMPT else REACH for space in spaces]
        if any(sum(gap.size for gap in of_space) < 2 for of_space in gaps):  # noqa: PLR2004 - a spread
            return None
        signs = [
            [
                gap_sign_p_value(g, sign=sign, reach=reach)
                for g, reach in zip(gaps, reaches, strict=True)
            ]
            for sign in (1, -1)
        ]
        return Leaning(*map(max, signs)) if gaps else None

    def _absent(self, space: str, units: Units[Unit]) -> str:
        if units.members:
            return "a single value shows no spread: take more triplets or images"
        return f"this model does not show its {space} space"

    def _widest(self, units: Units[Unit]) -> str:
        if len(units.members) != len(self.members) or not units.members:
            return f"{len(self.members)} triplets"
        means = (float(gaps.mean()) for gaps in _gaps(list(map(_pair, units.members))))
        ranked = sorted(zip(means, units.members, strict=True), key=lambda pair: -abs(pair[0]))
        return f"widest gaps: {', '.join(f'{u.name} {gap:+.3f}' for gap, u in ranked[:NAMED])}"


def triplets_of(
    context: AuditContext, pairs: Iterable[tuple[Triplet, AskedTest]]
) -> TripletSamples:
    """Return the samples of triplets, each with the images that a test asks for."""
    members = tuple(_one_triplet(context, three, test) for three, test in pairs)
    return TripletSamples(members, context.settings.interval_level)


def _one_triplet(context: AuditContext, three: Triplet, test: AskedTest) -> TripletSample:
    planned = context.seeds(three.neutral, test.images)
    return TripletSample(
        three,
        context.observations.distinct(tuple(three), planned),
        context.encoder,
        context.observations,
        context.settings.interval_level,
        planned,
        readings=context.readings,
    )


def _pair(unit: Unit) -> Pair:
    return Pair(*(np.asarray(unit.values[side]) for side in SIDES))


def _gaps(pairs: Sequence[Pair]) -> list[np.ndarray]:
    return [pair.to_masculine - pair.to_feminine for pair in pairs]


def _features(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine of two vectors; for patches, [n_patches, d], the highest of all pairs."""
    return split_product(a, b) if a.ndim == 2 else _cosine(a, b)  # noqa: PLR2004 - patches


def _alike(a: np.ndarray, b: np.ndarray) -> float:
    """Return the share of pixels outside the region that differs."""
    return 1.0 - diff_pix(a, b) / 100.0


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return similarity(np.ravel(a)[None, :], np.ravel(b)[None, :])


COMPARE = {"ssim": ssim, "diff_pix": _alike, "denoising": _cosine}
"""Space -> comparison of two of its points; encoders' features are compared by ``_features``."""
