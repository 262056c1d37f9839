"""Where in the making a culprit acts: words, text embeddings, latents, steps, pictures, labels.

The run's model is compared with the hybrid that has the culprit of the old model, on the same
prompts and seeds. Whether embeddings, latents and pictures are equal is a fact that needs no test
and no further picture. Whether they moved towards the label that grew is tested on further ones
(``is_deep``): the similarity gap of a neutral picture is measured to the feminine and masculine
pictures of the hybrid, which are the same for both sides, so that only the neutral pictures move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import (
    FINAL_LATENT,
    PLAIN,
    TEXT_EMBEDDING,
    VELOCITY,
    Attribute,
    Interval,
    Prompt,
    Variant,
    spi_name,
)
from pytest_t2i.errors import T2IError, some
from pytest_t2i.explain.hybrids import JUDGING, Workshop
from pytest_t2i.explain.search import Finding, Names, Values, swap_p_value
from pytest_t2i.generation.plan import Need, Plan
from pytest_t2i.generation.traces import embed_texts
from pytest_t2i.metrics import similarity, similarity_gaps
from pytest_t2i.prompts.added_words import counterparts
from pytest_t2i.runs.explanation.prompts import WorsenedPrompt
from pytest_t2i.runs.explanation.record import Movement, Place, PlaceOfMaking
from pytest_t2i.sections.words import p_words, several
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.means import gap_interval

ALIKE = 1e-3
"""Relative difference up to which two arrays are equal: the kernels of a device may round."""
GRID = 50
"""Largest rank of a difference in a test, which adds whole numbers."""
PARTS = 3
"""Parts of the denoising whose steps are tested together."""
WITH_GUIDANCE, CENTRED = 1, 3
"""Rows of a trace (``data.SPI_ROWS``): the SPI of the velocities that made the picture, and their
place between the descriptions, which has no offset, and no guidance."""
GUIDING = ("guidance", "negative prompt")
"""Components whose effect is that of the guidance."""
WHAT = {
    "words": "the words",
    "prompt": "the text embeddings",
    "denoising": "the latents",
    "image": "the pictures",
    "labels": "the labels",
}
"""Place -> what is there, in words."""
NO_GROUPS = "the labels are not male and female"
NO_COUNTERPARTS = "the prompts have no feminine and masculine variants"
HIDDEN = "the model does not show them"


def images_for_places(effects: int, images: int, *, is_service: bool) -> int:
    """Return the further pictures that the spaces and steps take.

    ``images`` are those of a hybrid. Of each hybrid two variants are made, and of a pipeline the
    neutral pictures once more, as velocities are seen only while a picture is made.

    >>> images_for_places(1, 30, is_service=False)
    120
    """
    return effects * 2 * images + (0 if is_service else (effects + 1) * images)


class Variants(NamedTuple):
    """The feminine and the masculine text of a prompt."""

    feminine: Prompt
    masculine: Prompt


class Traces(NamedTuple):
    """What the store holds of a hybrid's neutral pictures, per prompt."""

    texts: list[str]
    rewritten: Values | None
    """Whether a service drew other words; None where it does not say."""
    embeddings: list[list[np.ndarray]]
    """Of the prompt and of its variants, where it has them; [] where they are not shown."""
    pixels: list[list[str | None]]
    latents: list[list[np.ndarray | None]]


class Deep(NamedTuple):
    """What is observed for the tests, per prompt, in the order of the seeds."""

    latents: list[list[np.ndarray | None]]
    features: list[list[np.ndarray | None]]
    spi: list[list[np.ndarray | None]]


@dataclass
class Making:
    """Compares the making of the run's model with that of its hybrids."""

    workshop: Workshop
    found: Finding
    level: float
    images: int
    """Pictures per prompt of the tests."""
    is_deep: bool = False
    """Whether variants and velocities are made, too."""
    budget: int | None = None
    """Most further pictures."""
    requested: int = 0
    """Further pictures that were used."""
    _reasons: dict[str, str] = field(default_factory=dict)
    """Place -> why it cannot be tested."""

    def places(self) -> tuple[PlaceOfMaking, ...]:
        """Return what changes at each place; () where nothing was named by pictures."""
        if not self.found.named or not self.found.images:
            return ()
        now = self._traces(self.workshop.changed)
        places = [
            place
            for effect in self.found.named
            for place in self._of_culprit(effect.components, effect.p_value, now)
        ]
        # The search has tested the labels already.
        claims = [p.p_value for p in places if p.p_value is not None and p.place != "labels"]
        adjusted = iter(holm(claims).tolist())
        return tuple(
            place
            if place.p_value is None or place.place == "labels"
            else self._decided(place, next(adjusted))
            for place in places
        )

    def _decided(self, place: PlaceOfMaking, p_value: float) -> PlaceOfMaking:
        state: Movement = "moved" if p_value <= self.level else "not shown"
        return replace(place, state=state, p_value=p_value)

    def _of_culprit(
        self, culprit: tuple[str, ...], p_value: float, now: Traces
    ) -> Iterator[PlaceOfMaking]:
        judges = [name for name in culprit if name in JUDGING]
        if len(judges) < len(culprit):
            old = self.workshop.changed - set(culprit)
            before = self._traces(old)
            deep = self._tested(culprit, old) if self.is_deep else {}
            yield from self._words(culprit, before, now)
            yield from self._texts(culprit, before, now)
            yield from self._compared(culprit, "denoising", before.latents, now.latents, deep)
            yield from deep.get("steps", ())
            yield from self._compared(culprit, "image", before.pixels, now.pixels, deep)
        else:
            yield PlaceOfMaking(culprit, "image", "same", differing=0.0)
        if judges:
            yield PlaceOfMaking(culprit, "labels", "moved", p_value=p_value)

    # facts

    @property
    def _hybrid_images(self) -> int:
        return self.found.per_hybrid // len(self.workshop.prompts)

    def _traces(self, new: Names) -> Traces:
        """Read what the search has left of a hybrid; texts are encoded where they are not yet."""
        workshop, observations = self.workshop, self.workshop.observations(new)
        prompts = [workshop.prompt(grown, new) for grown in workshop.prompts]
        seeds = [workshop.seeds(grown, self._hybrid_images) for grown in workshop.prompts]
        pairs = list(zip(prompts, seeds, strict=True))
        revised = [observations.revised_prompts(prompt, own) for prompt, own in pairs]
        is_told = all(any(text is not None for text in texts) for texts in revised)
        return Traces(
            [prompt.text for prompt in prompts],
            np.array(
                [
                    [float(text not in (None, prompt.text)) for text in texts]
                    for prompt, texts in zip(prompts, revised, strict=True)
                ]
            )
            if is_told
            else None,
            self._embeddings(observations, prompts),
            [
                [None if each is None else each.digest for each in observations.pixels(*pair)]
                for pair in pairs
            ],
            [observations.arrays(*pair, FINAL_LATENT) for pair in pairs],
        )

    def _embeddings(
        self, observations: Observations, prompts: Sequence[Prompt]
    ) -> list[list[np.ndarray]]:
        """The mean over the tokens of each prompt and of its variants."""
        if observations.components.counts_requests:
            return []
        plan = Plan(observations.settings)
        texts = [(prompt, *(_variants(prompt) or ())) for prompt in prompts]
        observe = frozenset({TEXT_EMBEDDING})
        plan.add_all(
            Need(each, (0,), observe=observe, variation=PLAIN) for group in texts for each in group
        )
        try:
            embed_texts(plan, observations.components, self.workshop.store)
        except T2IError as error:
            self._reasons["prompt"] = str(error)
            return []
        arrays = [[observations.text_embedding(each) for each in group] for group in texts]
        if any(array is None for group in arrays for array in group):
            return []
        return [[np.asarray(array).mean(axis=0) for array in group] for group in arrays]

    def _words(
        self, culprit: tuple[str, ...], before: Traces, now: Traces
    ) -> Iterator[PlaceOfMaking]:
        other = np.mean([a != b for a, b in zip(before.texts, now.texts, strict=True)])
        if other:
            yield PlaceOfMaking(culprit, "words", "differs", differing=float(other))
        elif now.rewritten is not None:
            # Without the old service's word, every one of its pictures counts as drawn as asked.
            old = np.zeros_like(now.rewritten) if before.rewritten is None else before.rewritten
            change = now.rewritten - old
            yield PlaceOfMaking(
                culprit,
                "words",
                "moved",
                differing=float(now.rewritten.mean()),
                change=gap_interval(list(change), level=1.0 - self.level),
                p_value=swap_p_value(change),
            )

    def _texts(
        self, culprit: tuple[str, ...], before: Traces, now: Traces
    ) -> Iterator[PlaceOfMaking]:
        if not (before.embeddings and now.embeddings):
            reason = self._reasons.get("prompt", HIDDEN)
            yield PlaceOfMaking(culprit, "prompt", "not measured", reason=reason)
            return
        pairs = list(zip(before.embeddings, now.embeddings, strict=True))
        differs = [not _equal(old[0], new[0]) for old, new in pairs]
        if not any(differs):
            yield PlaceOfMaking(culprit, "prompt", "same", differing=0.0)
            return
        changes = [
            _sign(grown) * (_gap(*new) - _gap(*old))
            for grown, (old, new) in zip(self.workshop.prompts, pairs, strict=True)
            if len(old) == len(new) == len(Variant) and _sign(grown)
        ]
        change = None
        if changes:
            mean = float(np.mean(changes))
            change = Interval(mean, mean, mean, 1.0 - self.level, "texts", len(changes))
        yield PlaceOfMaking(
            culprit, "prompt", "differs", differing=float(np.mean(differs)), change=change
        )

    def _compared(
        self,
        culprit: tuple[str, ...],
        place: Place,
        before: Sequence[Sequence[Any]],
        now: Sequence[Sequence[Any]],
        deep: dict[str, list[PlaceOfMaking]],
    ) -> Iterator[PlaceOfMaking]:
        """Say whether latents or pictures are equal, and where they are not, whether they moved."""
        pairs = [
            (old, new)
            for rows in zip(before, now, strict=True)
            for old, new in zip(*rows, strict=True)
            if old is not None and new is not None
        ]
        if not pairs:
            yield PlaceOfMaking(culprit, place, "not measured", reason=HIDDEN)
            return
        share = float(np.mean([not _equal(old, new) for old, new in pairs]))
        if not share:
            yield PlaceOfMaking(culprit, place, "same", differing=0.0)
        elif place in deep:
            yield from (replace(each, differing=share) for each in deep[place])
        else:
            reason = self._reasons.get(place, "")
            yield PlaceOfMaking(culprit, place, "differs", differing=share, reason=reason)

    # tests

    def _tested(self, culprit: tuple[str, ...], old: Names) -> dict[str, list[PlaceOfMaking]]:
        """Test the spaces and the steps for one culprit, on further pictures."""
        anchors = [
            (grown, variants)
            for grown in self.workshop.prompts
            if _sign(grown) and (variants := _variants(self.workshop.prompt(grown, old)))
        ]
        if not anchors:
            has_groups = any(map(_sign, self.workshop.prompts))
            return self._untested(culprit, NO_COUNTERPARTS if has_groups else NO_GROUPS)
        base = self.workshop.observations(self.workshop.changed).components
        images = len(anchors) * self.images
        is_service = base.counts_requests
        cost = images_for_places(1, images, is_service=is_service)
        if self.requested and not is_service:
            # The run's own pictures are made once more for the first culprit.
            cost -= images
        if self.budget is not None and self.requested + cost > self.budget:
            return self._untested(
                culprit, f"they take {several(cost, 'image')}, and the budget leaves {self.budget}"
            )
        self.requested += cost
        try:
            before = self._deep(old, anchors)
            now = self._deep(self.workshop.changed, anchors)
            sides = [self._variant_traces(old, anchors, at) for at in range(len(Variants._fields))]
        except T2IError as error:
            return self._untested(culprit, str(error))
        signs = [_sign(grown) for grown, _ in anchors]
        tested: dict[str, list[PlaceOfMaking]] = {}
        for place, at in (("denoising", 0), ("image", 1)):
            groups = [
                sign * _gap_changes(*(side[at][row] for side in (before, now, *sides)))
                for row, sign in enumerate(signs)
            ]
            if any(map(np.size, groups)):
                tested[place] = [self._claim(culprit, place, groups)]  # type: ignore[arg-type]
        tested["steps"] = self._steps(culprit, before.spi, now.spi)
        return tested

    def _untested(self, culprit: tuple[str, ...], reason: str) -> dict[str, list[PlaceOfMaking]]:
        return {"steps": [PlaceOfMaking(culprit, "steps", "not measured", reason=reason)]}

    @cached_property
    def _encoder(self) -> str | None:
        """Name of the encoder of image space; None where it cannot be loaded, which takes time."""
        base = self.workshop.observations(self.workshop.changed).components
        try:
            base.encoder(base.encoder_name).get()
        except T2IError as error:
            self._reasons["image"] = str(error)
            return None
        return base.encoder_name

    def _deep(self, new: Names, anchors: Sequence[tuple[WorsenedPrompt, Variants]]) -> Deep:
        """Observe the neutral pictures of a hybrid, with velocities where the model shows them."""
        workshop = self.workshop
        pairs = [
            (workshop.prompt(grown, new), workshop.seeds(grown, self.images))
            for grown, _ in anchors
        ]
        attributes = [_attribute(grown, variants) for grown, variants in anchors]
        latents, features = self._observed(new, pairs, attributes)
        observations = workshop.observations(new)
        spi = [
            observations.arrays(*pair, spi_name(attribute))
            for pair, attribute in zip(pairs, attributes, strict=True)
        ]
        return Deep(latents, features, spi)

    def _variant_traces(
        self, new: Names, anchors: Sequence[tuple[WorsenedPrompt, Variants]], at: int
    ) -> tuple[list[list[np.ndarray | None]], list[list[np.ndarray | None]]]:
        """The latents and features of one variant of each prompt."""
        pairs = [
            (variants[at], self.workshop.seeds(grown, self.images)) for grown, variants in anchors
        ]
        return self._observed(new, pairs, None)

    def _observed(
        self,
        new: Names,
        pairs: Sequence[tuple[Prompt, tuple[int, ...]]],
        attributes: Sequence[Attribute] | None,
    ) -> tuple[list[list[np.ndarray | None]], list[list[np.ndarray | None]]]:
        """Make pictures with what is observed on them; return their latents and features."""
        observations, encoder = self.workshop.observations(new), self._encoder
        components = observations.components
        encoders = frozenset({encoder} if encoder else ())
        observe = set() if components.counts_requests else {FINAL_LATENT}

        def needs(*, velocities: bool) -> list[Need]:
            return [
                Need(
                    prompt,
                    seeds,
                    encoders=encoders,
                    observe=frozenset(observe | ({VELOCITY} if velocities else set())),
                    attributes=frozenset({attributes[row]} if velocities and attributes else ()),
                )
                for row, (prompt, seeds) in enumerate(pairs)
            ]

        try:
            self.workshop.carry_out(components, needs(velocities=bool(attributes and observe)))
        except T2IError as error:
            if not attributes:
                raise
            self._reasons["steps"] = str(error)
            self.workshop.carry_out(components, needs(velocities=False))
        fingerprint = components.encoder(encoder).fingerprint if encoder else ""
        return (
            [observations.arrays(*pair, FINAL_LATENT) for pair in pairs],
            [observations.arrays(*pair, fingerprint) if encoder else [] for pair in pairs],
        )

    def _steps(
        self,
        culprit: tuple[str, ...],
        before: list[list[np.ndarray | None]],
        now: list[list[np.ndarray | None]],
    ) -> list[PlaceOfMaking]:
        """Test parts of the denoising, by the SPI of their steps."""
        at = WITH_GUIDANCE if set(culprit) & set(GUIDING) else CENTRED
        pairs = [
            [
                (old[at], new[at])
                for old, new in zip(*rows, strict=True)
                if old is not None and new is not None
                # To a model that reads both descriptions alike the index is 0/0.
                and len(old) > at < len(new) and np.isfinite([*old[at], *new[at]]).all()
            ]
            for rows in zip(before, now, strict=True)
        ]  # fmt: skip
        lengths = [len(curve) for rows in pairs for pair in rows for curve in pair]
        if not lengths:
            reason = self._reasons.get("steps", HIDDEN)
            return [PlaceOfMaking(culprit, "steps", "not measured", reason=reason)]
        whole = max(lengths)
        parts = np.array_split(np.arange(whole), min(PARTS, *lengths))
        places = []
        for number, part in enumerate(parts):
            groups = [
                np.array([_part(new, number, len(parts)) - _part(old, number, len(parts))
                          for old, new in rows])
                for rows in pairs
            ]  # fmt: skip
            first, last = int(part[0]) + 1, int(part[-1]) + 1
            words = f"{first} of {whole}" if first == last else f"{first}-{last} of {whole}"
            if all(np.abs(group).max(initial=0.0) <= ALIKE for group in groups):
                places.append(PlaceOfMaking(culprit, "steps", "same", words))
            else:
                places.append(replace(self._claim(culprit, "steps", groups), steps=words))
        return places

    def _claim(
        self, culprit: tuple[str, ...], place: Place, groups: Sequence[np.ndarray]
    ) -> PlaceOfMaking:
        """One test; whether it shows a move is decided with all others."""
        values = np.concatenate([group for group in groups if group.size])
        change = None
        if values.size > 1:
            change = gap_interval(groups, level=1.0 - self.level)
        return PlaceOfMaking(culprit, place, "moved", change=change, p_value=real_p_value(values))


def real_p_value(differences: np.ndarray) -> float:
    """Return the p-value of ``swap_p_value`` for differences that are no whole numbers.

    Their ranks are added (Wilcoxon's signed ranks, rounded), so that a single large one does not
    decide. A difference whose sides are swapped has the same rank and the other sign: the test is
    exact.

    >>> real_p_value(np.array([0.2, 0.21, 0.19, 0.2]))
    0.0625
    """
    different = differences[differences != 0.0]
    if not different.size:
        return 1.0
    ranks = scipy.stats.rankdata(np.abs(different))
    return swap_p_value(np.sign(different) * np.ceil(GRID * ranks / different.size))


def _part(curve: np.ndarray, number: int, parts: int) -> float:
    """The mean of a part of a curve; curves of different numbers of steps have equal parts."""
    return float(np.array_split(curve, parts)[number].mean())


def _sign(grown: WorsenedPrompt) -> int:
    """1 where the images of men became more frequent, -1 where those of women did, else 0."""
    male = grown.directions.get("male", 0)
    return male if male and male == -grown.directions.get("female", -male) else 0


def _variants(prompt: Prompt) -> Variants | None:
    texts = counterparts(prompt)
    if not texts:
        return None
    sides = zip(texts, (Variant.FEMININE, Variant.MASCULINE), strict=True)
    return Variants(*(replace(prompt, text=text, variant=side) for text, side in sides))


def _attribute(grown: WorsenedPrompt, variants: Variants) -> Attribute:
    """The label that grew, with the prompt's variants as its descriptions."""
    feminine, masculine = (each.text for each in variants)
    if _sign(grown) > 0:
        return Attribute("male", masculine, feminine)
    return Attribute("female", feminine, masculine)


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, str):
        return bool(old == new)
    if np.shape(old) != np.shape(new):
        return False
    a, b = (np.asarray(array, dtype=np.float64) for array in (old, new))
    return float(np.linalg.norm(a - b)) <= ALIKE * max(float(np.linalg.norm(a)), 1e-12)


def _gap(neutral: np.ndarray, feminine: np.ndarray, masculine: np.ndarray) -> float:
    rows = [array[None, :] for array in (neutral, feminine, masculine)]
    return similarity(rows[0], rows[2]) - similarity(rows[0], rows[1])


def _gap_changes(*sides: Sequence[np.ndarray | None]) -> np.ndarray:
    """The change of the similarity gap of each seed; sides are old, new, feminine, masculine."""
    rows = [row for row in zip(*sides, strict=True) if all(each is not None for each in row)]
    if not rows or len({np.shape(each) for row in rows for each in row}) != 1:
        return np.empty(0)
    old, new, feminine, masculine = (
        np.array([np.ravel(row[side]) for row in rows]) for side in range(len(sides))
    )
    return similarity_gaps(new, feminine, masculine) - similarity_gaps(old, feminine, masculine)


# words


GREW = "the label that grew"
UNITS = {"steps": "SPI"}
"""Place -> what its change is measured by, if not by the similarity gap."""


def where_words(
    places: Iterable[PlaceOfMaking], labels: Sequence[str] = (), *, is_deep: bool, cost: int
) -> str:
    """Return the paragraph of all places; "" where there are none."""
    by_culprit: dict[tuple[str, ...], list[PlaceOfMaking]] = {}
    for place in places:
        by_culprit.setdefault(place.components, []).append(place)
    sentences = [
        f"Where the {' and the '.join(culprit)} act{'s' if len(culprit) == 1 else ''}: "
        f"{'; '.join(map(_place_words, _shortened(own)))}."
        for culprit, own in by_culprit.items()
    ]
    untested = any(p.state == "differs" and p.place in ("denoising", "image") for p in places)
    if untested and not is_deep:
        sentences.append(
            f"--where tests in which spaces and steps they moved (about {cost} further images)."
        )
    named = f"{GREW} ({some(labels)})" if labels else GREW
    return " ".join(sentences).replace(GREW, named, 1)


def _shortened(places: Sequence[PlaceOfMaking]) -> list[PlaceOfMaking]:
    """The places, with one for all steps where all are the same."""
    steps = [place for place in places if place.place == "steps"]
    if len(steps) < 2 or any(place.state != "same" for place in steps):  # noqa: PLR2004 - several
        return [*places]
    shortened = [place for place in places if place not in steps[1:]]
    return [replace(place, steps="") if place == steps[0] else place for place in shortened]


def _steps_words(steps: str) -> str:
    """The steps, as ``1-2 of 4`` says which.

    >>> _steps_words("1-2 of 4"), _steps_words("3 of 4"), _steps_words("")
    ('steps 1-2 of 4', 'step 3 of 4', 'all steps')
    """
    return f"step{'s' if '-' in steps else ''} {steps}" if steps else "all steps"


def _number(value: float) -> str:
    """A change with its sign: gaps of texts are small.

    >>> _number(0.1234), _number(0.000123)
    ('+0.123', '+0.00012')
    """
    return f"{value:+.3f}" if abs(value) >= 0.01 or not value else f"{value:+.2g}"  # noqa: PLR2004


def _place_words(place: PlaceOfMaking) -> str:
    what = WHAT.get(place.place) or _steps_words(place.steps)
    evidence = f"p = {p_words(place.p_value)}".replace("= <", "<")
    how = _number(place.change.estimate) if place.change else ""
    if place.change and place.change.low < place.change.high:
        how += f" [{_number(place.change.low)}, {_number(place.change.high)}]"
    if place.state == "same":
        return f"{what} are the same"
    if place.state == "not measured":
        what = "the steps" if place.place == "steps" else what
        return f"{what} are not measured ({place.reason})"
    if place.place == "labels":
        return f"{what} changed ({evidence})"
    if place.place == "words" and place.p_value is not None:
        moved = "changed" if place.state == "moved" else "did not change, the pictures did"
        share = f"the service drew other words than the prompt for {place.differing or 0:.0%} now"
        return f"{what} {moved} ({share}, {how} since, {evidence})"
    if place.state == "differs":
        gap = f", similarity gap {how} towards {GREW}" if how else ""
        untested = f", not tested: {place.reason}" if place.reason else ""
        return f"{what} differ ({place.differing or 0:.0%} of them{gap}{untested})"
    moved = "moved" if place.state == "moved" else "differ, and no move is shown"
    unit = UNITS.get(place.place, "similarity gap")
    return f"{what} {moved} towards {GREW} ({unit} {how}, {evidence})"
