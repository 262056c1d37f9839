"""The search for the change that made a model worse: which hybrids, how many images, what they say.

A hybrid has some components of the new model, and the others of the old one. A picture's value is
+1 where its label is one that became more frequent, -1 where it is one that became rarer, else 0.
Hybrids are compared on the same prompts and seeds, by an exact test that swaps within the seed.
Nothing is tested on the pictures that chose the prompts: prompts that grew by chance would fall
back by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy
from pytest_t2i import Interval, statistics

Values = npt.NDArray[np.float64]
Names = frozenset[str]
Draw = Callable[[Names, int], Values]
"""A function (components of the new model, images per prompt) -> values, [n_prompts, images]. More
images begin with the same ones."""
Outcome = Literal["named", "set", "none", "open"]
"""What was found: components of which each makes a part, components that only act together or
instead of each other, no growth, or nothing that can be told."""

SPENT = (0.6, 0.25, 0.15)
"""Share of the error level that each look spends; the sum is 1 (alpha spending)."""
STAGES = (1, 2, 3)
"""Images per prompt at each look, as a multiple of those of the first."""
REPEATS = (0.1, 0.25, 0.25)
"""Share of the expected growth below which the fresh pictures of a look are taken not to show it.
Stopping there makes no error of the first kind."""
POWER = 0.97
"""Power for the whole growth that the images of the first look have."""
FEWEST, MOST = 20, 240
"""Fewest and most images of a hybrid at the first look."""
SPREAD = 1.2
"""Standard deviation of the difference of two pictures of one seed that the plan assumes."""
SMALL = 0.3
"""Share of the growth below which a component is none of its causes."""
PART_OF = 0.5
"""Share of a growth from which a change is taken to make the most of it."""
REDRAWS = 2000


@dataclass(frozen=True, slots=True)
class Effect:
    """What exchanging components does to the growth."""

    components: tuple[str, ...]
    restored: Interval
    """Share of the growth that goes where they alone are of the old model."""
    p_value: float
    """Exact p-value against "restoring them changes nothing", adjusted (Holm)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a search."""

    outcome: Outcome
    named: tuple[Effect, ...] = ()
    """The culprits, or one effect for the set that acts together."""
    growth: Interval | None = None
    """Growth of the mean value on fresh pictures, new minus old; from -2 to 2."""
    growth_p_value: float | None = None
    effects: tuple[Effect, ...] = ()
    """Everything that was tried."""
    images: int = 0
    """Pictures that were requested."""
    per_hybrid: int = 0
    words: str = ""
    """The reason for an outcome that names nothing, and further remarks."""
    either: bool = False
    """Whether each component of the set brings the growth by itself."""


def images_of_prompt(growth: float, components: int, level: float, prompts: int) -> int:
    """Return the images per prompt of the first look.

    >>> images_of_prompt(1.0, 2, 0.05, 6)
    4
    """
    tail = level * SPENT[0] / max(components, 1)
    reach = float(scipy.stats.norm.isf(tail)) + float(scipy.stats.norm.ppf(POWER))
    images = min(MOST, max(FEWEST, np.ceil((reach * SPREAD / max(growth, 1e-3)) ** 2)))
    return max(2, -(-int(images) // prompts))


def planned_images(growth: float, pictured: int, judging: int, level: float, prompts: int) -> int:
    """Return the images of a search in which one component is the culprit.

    They are those of the old model, of the new one and, where several components changed, of the
    new one with each restored in turn. A component that only judges takes no picture.
    """
    components = pictured + judging
    hybrids = (2 if pictured else 1) + (pictured if components > 1 else 0)
    return hybrids * images_of_prompt(growth, components, level, prompts) * prompts


def swap_p_value(differences: npt.ArrayLike) -> float:
    """Return the exact one-sided p-value against "both sides are alike", for a positive sum.

    Under the null hypothesis the two pictures of a seed are exchangeable, so each difference has
    either sign with equal probability (Fisher 1935).

    >>> swap_p_value([2, 2, 2, 2, 0]), swap_p_value([2, -2])
    (0.0625, 0.75)
    """
    whole = np.abs(np.asarray(differences)).astype(int).ravel()
    total = int(np.asarray(differences).sum())
    chances = np.ones(1)
    for size in whole[whole > 0].tolist():
        step = np.zeros(2 * size + 1)
        step[[0, -1]] = 0.5
        chances = np.convolve(chances, step)
    reach = int(whole.sum())
    return float(min(1.0, chances[total + reach :].sum()))


class _BudgetError(Exception):
    """The budget does not pay for the next hybrids."""


@dataclass
class Search:
    """A search among components that changed and can be exchanged."""

    draw: Draw
    components: tuple[str, ...]
    pictured: Names
    """Components that change a picture: the others judge the same pictures once more."""
    growth: float
    """Growth of the mean value that the run and its baseline show on these prompts."""
    prompts: int
    level: float = 0.05
    """Largest probability of a wrong name."""
    budget: int | None = None
    """Most pictures."""
    seed: int = 0
    _images: int = 0
    _values: dict[Names, Values] = field(default_factory=dict)
    _made: dict[Names, int] = field(default_factory=dict)
    _effects: list[Effect] = field(default_factory=list)

    @property
    def per_prompt(self) -> int:
        return images_of_prompt(self.growth, len(self.components), self.level, self.prompts)

    @property
    def images(self) -> int:
        """The different pictures that were requested."""
        return self.prompts * sum(self._made.values())

    def run(self) -> Finding:
        """Search, with more images at each look, until something is decided."""
        last = Finding("open", words=self._too_dear)
        for stage, times in enumerate(STAGES):
            self._images, self._effects = self.per_prompt * times, []
            try:
                last = self._look(stage)
            except _BudgetError:
                return self._found("open", (), self._too_dear)
            if last.outcome != "open":
                break
        return last

    @property
    def _too_dear(self) -> str:
        return f"the budget of {self.budget} images does not pay for the next step"

    # the values of hybrids

    def _afford(self, hybrids: Iterable[Names]) -> None:
        """Raise where the budget does not pay for these hybrids."""
        pictures = {new & self.pictured for new in hybrids}
        cost = sum(max(0, self._images - self._made.get(each, 0)) for each in pictures)
        if self.budget is not None and self.images + self.prompts * cost > self.budget:
            raise _BudgetError

    def _of(self, new: Names) -> Values:
        known = self._values.get(new)
        if known is None or known.shape[1] < self._images:
            known = self._values[new] = self.draw(new, self._images)
        picture = new & self.pictured
        self._made[picture] = max(self._made.get(picture, 0), self._images)
        return known[:, : self._images]

    def _restored(self, sets: Collection[Names]) -> list[Values]:
        everything = frozenset(self.components)
        self._afford([everything - names for names in sets])
        new = self._of(everything)
        return [new - self._of(everything - names) for names in sets]

    # one look

    def _look(self, stage: int) -> Finding:
        level, is_last = self.level * SPENT[stage], stage == len(STAGES) - 1
        everything = frozenset(self.components)
        self._afford([everything, frozenset()])
        grown = self._of(everything) - self._of(frozenset())
        if float(grown.mean()) < REPEATS[stage] * self.growth:
            return self._found("none", (), "fresh images do not show the growth")
        if swap_p_value(grown) > level:
            words = "fresh images do not show the growth with enough evidence"
            return self._found("none" if is_last else "open", (), words)
        if len(self.components) == 1:
            self._note([everything], [grown])
            return self._found("named", self._effects)
        return self._leave_one_out(level, is_last=is_last)

    def _leave_one_out(self, level: float, *, is_last: bool) -> Finding:
        single = [frozenset({name}) for name in self.components]
        effects = self._note(single, self._restored(single))
        shares = [effect.restored.estimate for effect in effects]
        needed = [e for e in effects if e.p_value <= level and e.restored.estimate >= SMALL]
        doubtful = [e for e in effects if e not in needed and e.restored.estimate >= PART_OF]
        if needed and (is_last or not doubtful):
            return self._needed(needed, level)
        if needed or sum(shares) > PART_OF or max(shares) > SMALL:
            return self._found("open", (), "several components may have made a part of it each")
        return self._pairs(level)

    def _needed(self, needed: list[Effect], level: float) -> Finding:
        """Name what each makes a part, or what acts only together: both then take all away."""
        total = sum(effect.restored.estimate for effect in needed)
        names = frozenset(name for effect in needed for name in effect.components)
        if total > 1.0 + PART_OF and len(needed) > 1:
            return self._found("set", self._note([names], self._restored([names])))
        others = [name for name in self.components if name not in names]
        if total >= 1.0 - SMALL or not others:
            return self._found("named", needed)
        # Each of two may bring a part of what the other one brings.
        sets = [names | {name} for name in others]
        (alone, *restored) = self._restored([names, *sets])
        further = statistics.holm([swap_p_value(values - alone) for values in restored])
        effects = self._note(sets, restored)
        more = [e for e, p in zip(effects, further, strict=True) if p <= level]
        if len(more) == 1 and more[0].restored.estimate > total + SMALL:
            return self._found("set", more, either=True)
        return self._found("named", needed, "a part of the growth has another cause")

    def _pairs(self, level: float) -> Finding:
        """Look for the pair of which each brings the growth by itself."""
        pairs = [frozenset(pair) for pair in combinations(self.components, 2)]
        effects = self._note(pairs, self._restored(pairs))
        found = [e for e in effects if e.p_value <= level and e.restored.estimate > PART_OF]
        if len(found) == 1:
            return self._found("set", found, either=True)
        return self._found("open", (), "no component and no pair takes the growth away by itself")

    # what was found

    def _note(self, sets: Sequence[Names], lost: Sequence[Values]) -> list[Effect]:
        adjusted = statistics.holm([swap_p_value(values) for values in lost]).tolist()
        effects = [
            Effect(tuple(n for n in self.components if n in names), self._share(values), p_value)
            for names, values, p_value in zip(sets, lost, adjusted, strict=True)
        ]
        self._effects += effects
        return effects

    def _found(
        self, outcome: Outcome, named: Sequence[Effect], words: str = "", *, either: bool = False
    ) -> Finding:
        growth = p_value = None
        everything = frozenset(self.components)
        if {everything, frozenset()} <= self._values.keys():
            new, old = self._values[everything], self._values[frozenset()]
            grown = new[:, : old.shape[1]] - old[:, : new.shape[1]]
            growth, p_value = self._mean(grown), swap_p_value(grown)
        return Finding(
            outcome,
            tuple(named),
            growth,
            p_value,
            tuple(self._effects),
            self.images,
            self._images * self.prompts,
            words,
            either,
        )

    def _share(self, differences: Values) -> Interval:
        """Return a difference as a share of the growth, by a bootstrap over seeds per prompt."""
        whole = self._of(frozenset(self.components)) - self._of(frozenset())
        rng = np.random.default_rng([self.seed, self._images])
        rows, images = whole.shape
        draws = rng.integers(images, size=(REDRAWS, rows, images))
        place = np.arange(rows)[None, :, None]
        tops = differences[place, draws].mean(axis=(1, 2))
        growths = np.maximum(whole[place, draws].mean(axis=(1, 2)), 1e-9)
        low, high = np.quantile(tops / growths, [self.level / 2, 1 - self.level / 2]).tolist()
        share = float(differences.mean()) / max(float(whole.mean()), 1e-9)
        # A bootstrap's quantiles can leave out the estimate where most redraws are equal.
        low, high = min(low, share), max(high, share)
        return Interval(share, low, high, 1 - self.level, "bootstrap over seeds", whole.size)

    def _mean(self, differences: Values) -> Interval:
        return statistics.mean_interval([differences.ravel()], level=1 - self.level)
