"""The search for the change that made a model worse: which hybrids, how many images, what they say.

A hybrid has some components of the new model, and the others of the old one. A picture's value is
+1 where its label is one that became more frequent, -1 where it is one that became rarer, else 0.
Hybrids are compared on the same prompts and seeds, by an exact test that swaps within the seed.
Nothing is tested on the pictures that chose the prompts: prompts that grew by chance would fall
back by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.runs.explanation.cost import SPENT, images_of_prompt
from pytest_t2i.runs.explanation.record import Effect
from pytest_t2i.statistics.families import holm

Values = npt.NDArray[np.float64]
Names = frozenset[str]

STAGES = (1, 2, 3)
"""Images per prompt at each stage, as a multiple of those of the first."""
REPEATS = (0.1, 0.25, 0.25)
"""Share of the expected growth below which the fresh pictures of a stage are taken not to show it.
Stopping there makes no error of the first kind."""
SMALL = 0.3
"""Share of the growth below which a component is none of its causes, and below which a rest that
nobody explains is left."""
PART_OF = 0.5
"""Share of a growth from which a change is taken to make the most of it."""
REDRAWS = 2000
Outcome = Literal["named", "set", "none", "open"]
"""What the search found: components that act alone, a set that only acts together, no growth, or
nothing that can be told."""


class Hybrids(Protocol):
    """Pictures of hybrids, judged."""

    def values(self, new: Names, images: int) -> Values:
        """Return the value of each picture, [n_prompts, images], of a hybrid.

        ``new`` are the components that are of the new model. More images begin with the same ones.
        """

    def made(self) -> int:
        """Return the number of different pictures that were requested so far."""

    def cost(self, new: Names, images: int) -> int:
        """Return the number of further pictures that ``values`` would request."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a search."""

    outcome: Outcome
    named: tuple[Effect, ...]
    """The culprits: each acts alone, or one effect for the set that acts together."""
    growth: Interval | None
    """Growth of the mean value on fresh pictures, new minus old; from -2 to 2."""
    growth_p_value: float | None
    effects: tuple[Effect, ...]
    """Every component that was tried."""
    stages: int
    images: int
    """Pictures that were requested."""
    per_hybrid: int
    """Pictures of each hybrid."""
    words: str
    """The reason for an outcome that names nothing, and further remarks."""
    either: bool = False
    """Whether each component of the set brings the growth by itself."""


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

    hybrids: Hybrids
    components: tuple[str, ...]
    growth: float
    """Growth of the mean value that the run and its baseline show on these prompts."""
    prompts: int
    level: float = 0.05
    """Largest probability of a wrong name."""
    budget: int | None = None
    """Most pictures."""
    seed: int = 0
    _images: int = 0
    _effects: dict[tuple[str, ...], Effect] = field(default_factory=dict)

    @property
    def per_prompt(self) -> int:
        """Images per prompt of the first stage."""
        return images_of_prompt(self.growth, len(self.components), self.level, self.prompts)

    # the values of hybrids

    @property
    def _all(self) -> Names:
        return frozenset(self.components)

    def _of(self, new: Iterable[str]) -> Values:
        return self.hybrids.values(frozenset(new), self._images)

    def _without(self, *old: str) -> Values:
        return self._of(self._all - set(old))

    def _pays(self, hybrids: Collection[Iterable[str]], images: int) -> bool:
        """Whether the budget pays for hybrids with so many images per prompt each."""
        if self.budget is None:
            return True
        different = {frozenset(new) for new in hybrids}
        cost = sum(self.hybrids.cost(new, images) for new in different)
        return self.hybrids.made() + cost <= self.budget

    def _afford(self, hybrids: Collection[Iterable[str]]) -> None:
        """Raise where the budget does not pay for hybrids of this stage."""
        if not self._pays(hybrids, self._images):
            raise _BudgetError

    # stages

    def run(self) -> Finding:
        """Search, with more images at each stage, until something is decided."""
        last: Finding | None = None
        for stage, times in enumerate(STAGES):
            images = self.per_prompt * times
            if not self._pays([self._all, ()], images):
                break
            self._images, self._effects = images, {}
            try:
                last = self._stage(stage)
            except _BudgetError:
                return self._found("open", (), stage, self._too_dear)
            if last.outcome != "open":
                return last
        return self._found("open", (), 0, self._too_dear) if last is None else last

    @property
    def _too_dear(self) -> str:
        return f"the budget of {self.budget} images does not pay for the next step"

    def _found(
        self, outcome: Outcome, named: Sequence[Effect], stage: int, words: str = "", **more: Any
    ) -> Finding:
        growth = p_value = None
        if self._images:
            differences = self._of(self._all) - self._of(())
            growth = self._interval(differences)
            p_value = swap_p_value(differences)
        return Finding(
            outcome,
            tuple(named),
            growth,
            p_value,
            tuple(self._effects.values()),
            stage + 1 if self._images else 0,
            self.hybrids.made(),
            self._images * self.prompts,
            words,
            **more,
        )

    def _stage(self, stage: int) -> Finding:
        level = self.level * SPENT[stage]
        new, old = self._of(self._all), self._of(())
        growth = float((new - old).mean())
        if growth < REPEATS[stage] * self.growth:
            return self._found("none", (), stage, "fresh images do not show the growth")
        if swap_p_value(new - old) > level:
            is_last = stage == len(STAGES) - 1
            words = "fresh images do not show the growth with enough evidence"
            return self._found("none" if is_last else "open", (), stage, words)
        if len(self.components) == 1:
            self._note(self.components, 0.0, alone=(new - old))
            words = "nothing else changed that can be exchanged"
            return self._found("named", [*self._effects.values()], stage, words)
        back = [self._all - {name} for name in self.components]
        self._afford(back)
        return self._among(stage, level, new, old)

    def _among(self, stage: int, level: float, new: Values, old: Values) -> Finding:
        """Decide among several components, by those whose restoring takes growth away."""
        lost = {name: new - self._without(name) for name in self.components}
        adjusted = holm([swap_p_value(lost[name]) for name in self.components])
        for name, p_value in zip(self.components, adjusted.tolist(), strict=True):
            self._note((name,), p_value, restored=lost[name])
        growth = float((new - old).mean())
        needed = [
            name
            for name, p_value in zip(self.components, adjusted, strict=True)
            if p_value <= level and lost[name].mean() >= SMALL * growth
        ]
        if not needed:
            total = sum(float(lost[name].mean()) for name in self.components)
            if total > PART_OF * growth:
                words = "several components may have made a part of it each"
                return self._found("open", (), stage, words)
            return self._interacting(stage, level, new, old)
        return self._needed(needed, stage, level, old)

    def _needed(self, needed: list[str], stage: int, level: float, old: Values) -> Finding:
        """Tell whether components, whose restoring takes growth away, act alone or together."""
        single = [{name} for name in needed]
        self._afford(single)
        brought = {name: self._of({name}) - old for name in needed}
        adjusted = holm([swap_p_value(brought[name]) for name in needed])
        for name, p_value in zip(needed, adjusted.tolist(), strict=True):
            self._note((name,), None, alone=brought[name], alone_p_value=p_value)
        alone = [n for n, p in zip(needed, adjusted, strict=True) if p <= level]
        doubtful = [name for name in needed if name not in alone]
        if alone and doubtful:
            # What those that act alone bring together may leave nothing to the others.
            self._afford([alone])
            if swap_p_value(self._of(self._all) - self._of(alone)) > level:
                doubtful = []
        if not doubtful:
            return self._alone(alone, stage, old)
        is_last = stage == len(STAGES) - 1
        if not is_last and not all(self._is_weak(name) for name in doubtful):
            words = f"whether {_listed(doubtful)} acts alone cannot be told yet"
            return self._found("open", (), stage, words)
        return self._together((*alone, *doubtful), stage, level, old)

    def _together(
        self, together: tuple[str, ...], stage: int, level: float, old: Values
    ) -> Finding:
        """Tell whether components bring the growth together."""
        if len(together) == 1:
            words = f"{together[0]} acts only together with something that was not found"
            return self._found("open", (), stage, words)
        self._afford([together])
        both = self._of(together) - old
        if swap_p_value(both) > level:
            words = f"{_listed(together)} act together with something that was not found"
            return self._found("open", (), stage, words)
        restored = self._of(self._all) - self._without(*together)
        self._note(
            together,
            swap_p_value(restored),
            restored=restored,
            alone=both,
            alone_p_value=swap_p_value(both),
        )
        return self._found("set", [self._effects[together]], stage)

    def _alone(self, names: list[str], stage: int, old: Values) -> Finding:
        """Name components that act alone, unless more images may find the cause of a large rest."""
        self._afford([self._all - set(names)])
        rest = self._without(*names) - old
        share = self._share(rest).estimate
        others = [name for name in self.components if name not in names]
        if share <= SMALL or not others:
            return self._found("named", [self._effects[name,] for name in names], stage)
        return self._rest(names, others, stage, old)

    def _rest(self, names: list[str], others: list[str], stage: int, old: Values) -> Finding:
        """Look among the others for what brings a growth that stays where some are restored."""
        level = self.level * SPENT[stage]
        self._afford([{name} for name in others])
        brought = {name: self._of({name}) - old for name in others}
        adjusted = holm([swap_p_value(brought[name]) for name in others])
        for name, p_value in zip(others, adjusted.tolist(), strict=True):
            self._note((name,), None, alone=brought[name], alone_p_value=p_value)
        too = [n for n, p in zip(others, adjusted, strict=True) if p <= level]
        together = tuple(name for name in self.components if name in {*names, *too})
        shares = [effect.alone.estimate for n in together if (effect := self._effects[n,]).alone]
        if too and sum(shares) > 1.0 + PART_OF:
            self._afford([self._all - set(together)])
            restored = self._of(self._all) - self._without(*together)
            self._note(together, swap_p_value(restored), restored=restored)
            words = "each of them brings the growth by itself"
            return self._found("set", [self._effects[together]], stage, words, either=True)
        words = "" if too else "a part of the growth has another cause"
        more = [self._all, (), *({n} for n in names), *(self._all - {n} for n in self.components)]
        is_last = stage == len(STAGES) - 1
        if not (too or is_last) and self._pays(more, self.per_prompt * STAGES[stage + 1]):
            return self._found("open", (), stage, words)
        return self._found("named", [self._effects[name,] for name in together], stage, words)

    def _is_weak(self, name: str) -> bool:
        """Whether a component alone brings less than half of what restoring it takes away."""
        effect = self._effects[name,]
        return effect.alone is not None and effect.alone.high < PART_OF * max(
            effect.restored.estimate, PART_OF
        )

    def _interacting(self, stage: int, level: float, new: Values, old: Values) -> Finding:
        """Look for a set of which each member, or each part, brings the growth by itself."""
        single = [{name} for name in self.components]
        self._afford(single)
        brought = {name: self._of({name}) - old for name in self.components}
        adjusted = holm([swap_p_value(brought[name]) for name in self.components])
        for name, p_value in zip(self.components, adjusted.tolist(), strict=True):
            self._note((name,), None, alone=brought[name], alone_p_value=p_value)
        either = tuple(n for n, p in zip(self.components, adjusted, strict=True) if p <= level)
        if len(either) > 1 and self._pays([self._all - set(either)], self._images):
            restored = new - self._without(*either)
            if self._takes_most(restored, level):
                self._note(either, swap_p_value(restored), restored=restored)
                words = "each of them brings the growth by itself"
                return self._found("set", [self._effects[either]], stage, words, either=True)
        shares = [self._effects[name,].restored.estimate for name in self.components]
        if len(either) == 1 or max(shares) > SMALL:
            words = (
                f"{_listed(either) or 'one component'} may have made it, with too little evidence"
            )
            return self._found("open", (), stage, words)
        smallest = self._halve(level, new)
        if len(smallest) == len(self.components):
            words = "the components act together in a way that was not found"
            return self._found("open", (), stage, words)
        restored = new - self._without(*smallest)
        self._note(smallest, swap_p_value(restored), restored=restored)
        return self._found("set", [self._effects[smallest]], stage)

    def _halve(self, level: float, new: Values) -> tuple[str, ...]:
        """Return a smallest set whose restoring takes the growth away (delta debugging, ddmin)."""
        test = level / (4 * len(self.components))
        left, parts = list(self.components), 2
        while len(left) > 1:
            size = -(-len(left) // parts)
            chunks = [left[at : at + size] for at in range(0, len(left), size)]
            rests = [[n for n in left if n not in chunk] for chunk in chunks]
            for kept, next_parts in [(c, 2) for c in chunks] + [(r, parts - 1) for r in rests]:
                if not kept or len(kept) == len(left):
                    continue
                self._afford([self._all - set(kept)])
                if self._takes_most(new - self._without(*kept), test):
                    left, parts = kept, max(next_parts, 2)
                    break
            else:
                if size == 1:
                    break
                parts = min(2 * parts, len(left))
        return tuple(left)

    def _takes_most(self, restored: Values, level: float) -> bool:
        growth = float((self._of(self._all) - self._of(())).mean())
        return float(restored.mean()) > PART_OF * growth and swap_p_value(restored) <= level

    # shares

    def _note(
        self,
        names: tuple[str, ...],
        p_value: float | None,
        *,
        restored: Values | None = None,
        alone: Values | None = None,
        alone_p_value: float | None = None,
    ) -> None:
        """Keep what is known of components, beside what was known before."""
        before = self._effects.get(names)
        if restored is None and before is None:
            restored = alone
        back = before.restored if restored is None and before else self._share(restored)
        first = before.p_value if p_value is None and before else (p_value or 0.0)
        if len(self.components) == 1 and alone is not None:
            first = alone_p_value = swap_p_value(alone)
        self._effects[names] = Effect(
            names, back, first, None if alone is None else self._share(alone), alone_p_value
        )

    def _share(self, differences: Values | None) -> Interval:
        """Return a difference as a share of the growth, by a bootstrap over seeds per prompt."""
        if differences is None:
            raise ValueError("expected the differences of a hybrid, got None")
        whole = self._of(self._all) - self._of(())
        rng = np.random.default_rng([self.seed, self._images])
        rows, images = whole.shape
        draws = rng.integers(images, size=(REDRAWS, rows, images))
        place = np.arange(rows)[None, :, None]
        tops = differences[place, draws].mean(axis=(1, 2))
        growths = np.maximum(whole[place, draws].mean(axis=(1, 2)), 1e-9)
        low, high = np.quantile(tops / growths, [self.level / 2, 1 - self.level / 2])
        estimate = float(differences.mean()) / max(float(whole.mean()), 1e-9)
        return _interval(
            estimate, float(low), float(high), 1 - self.level, "bootstrap over seeds", whole.size
        )

    def _interval(self, differences: Values) -> Interval:
        """Return the mean of paired differences with a normal interval over seeds per prompt."""
        mean, n = float(differences.mean()), differences.size
        within = differences - differences.mean(axis=1, keepdims=True)
        error = float(np.sqrt((within**2).sum() / max(n - len(differences), 1) / n))
        reach = float(scipy.stats.norm.isf(self.level / 2)) * error
        return _interval(mean, mean - reach, mean + reach, 1 - self.level, "paired by seed", n)


def _interval(
    estimate: float, low: float, high: float, level: float, method: str, n: int
) -> Interval:
    # A bootstrap's quantiles can leave out the estimate where most redraws are equal.
    return Interval(estimate, min(low, estimate), max(high, estimate), level, method, n)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(names)


Table = Mapping[Names, Sequence[float]]
Draw = Callable[[Names, int], Values]
"""A function (components of the new model, images per prompt) -> values."""


class MeasuredPaths:
    """Hybrids that keep their values, and count what was requested.

    ``pictured`` are the components that change a picture: the others, such as a detector, judge
    the same pictures once more.
    """

    def __init__(self, draw: Draw, prompts: int, pictured: Collection[str]) -> None:
        self._draw, self._prompts, self._pictured = draw, prompts, frozenset(pictured)
        self._values: dict[Names, Values] = {}
        self._images: dict[Names, int] = {}

    def values(self, new: Names, images: int) -> Values:
        """Return the values of a hybrid, drawn where they are not known."""
        known = self._values.get(new)
        if known is None or known.shape[1] < images:
            self._values[new] = self._draw(new, images)
        picture = new & self._pictured
        self._images[picture] = max(self._images.get(picture, 0), images)
        return self._values[new][:, :images]

    def made(self) -> int:
        """Return the number of different pictures that were requested."""
        return self._prompts * sum(self._images.values())

    def cost(self, new: Names, images: int) -> int:
        """Return the number of further pictures of a hybrid."""
        return self._prompts * max(0, images - self._images.get(new & self._pictured, 0))
