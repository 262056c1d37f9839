"""The hunt: single words first, then combinations, then the confirmation by held-out images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pytest_t2i
from pytest_t2i.prompts import Part

from pytest_t2i_hunt.search.confirming import Confirmed, Suspect, confirm
from pytest_t2i_hunt.search.counts import BOTH, Measure, Parts, without_one
from pytest_t2i_hunt.search.ledger import Ledger
from pytest_t2i_hunt.search.plan import LOOKS, PART_LOOKS, Plan

Examine = Callable[[list[Parts]], float]
"""A function that measures some combinations and returns the largest lean among them."""


class Enough(Exception):  # noqa: N818 - not an error
    """The signal of ``examine`` that the images of a sweep are used up, which ends the drawing."""


def draw(
    examine: Examine,
    pool: Sequence[Part],
    *,
    words: int,
    at_once: int,
    examples: int,
    seed: int,
) -> None:
    """Draw groups of combinations of two words or more, and pass each group to ``examine``.

    The first half of the examples is drawn at random; then Hypothesis' ``target`` varies the best
    ones word by word. The drawing ends early when ``examine`` raises Enough.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, settings, target
    from hypothesis import strategies as st
    from pytest_t2i import strategies

    some = strategies.some_of(pool, min_words=2, max_words=words)

    @hypothesis.seed(seed)
    @settings(
        database=None,
        deadline=None,
        max_examples=examples,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(st.lists(some, min_size=at_once, max_size=at_once))
    def drawn(handful: list[Parts]) -> None:
        target(examine(list(dict.fromkeys(handful))))

    try:
        drawn()
    except Enough:
        return


def explains(finding: Suspect, parts: Parts, sign: int) -> bool:
    """Whether a combination contains a finding's words and leans in the same direction."""
    return finding.sign == sign and set(finding.parts) <= set(parts)


def open_signs(
    parts: Parts, findings: Iterable[Suspect], directions: Sequence[int] = BOTH
) -> tuple[int, ...]:
    """Return the directions in which no finding explains a bias of the combination.

    A finding that leans towards men explains combinations with its words that lean towards men, but
    none that leans towards women.
    """
    closed = {finding.sign for finding in findings if set(finding.parts) <= set(parts)}
    return tuple(sign for sign in directions if sign not in closed)


AS_BIASED = 0.5
"""Least promise of a part that counts as biased, too."""
OPEN_RANGE = (0.1, 0.9)
"""Range of promises for which a part has its next look."""


def shrink(ledger: Ledger, suspect: Suspect, beyond: float) -> Suspect:
    """Return the fewest words of a suspect with the same direction, beyond the same bound.

    Each step measures every combination with one word less and continues with the most promising
    one that counts as biased. Words are dropped, never replaced.
    """
    parts, sign = suspect
    while candidates := without_one(parts):
        promise = _promises(ledger, candidates, sign, beyond)
        best = max(promise, key=lambda candidate: promise[candidate])
        if promise[best] < AS_BIASED:
            break
        parts = best
    return Suspect(parts, sign)


def _promises(
    ledger: Ledger, candidates: list[Parts], sign: int, beyond: float
) -> dict[Parts, float]:
    """Return the promise of each candidate, after as many looks as it needs."""
    low, high = OPEN_RANGE
    waiting = list(candidates)
    for images in PART_LOOKS:
        ledger.look(dict.fromkeys(waiting, images))
        promise = {
            candidate: ledger.of(candidate).promise(sign, beyond) for candidate in candidates
        }
        waiting = [candidate for candidate in candidates if low < promise[candidate] < high]
    return promise


LOOK_AGAIN = 0.5
"""Least promise for which a combination has its next look at once."""
SECOND_CHANCE = 0.3
"""Least promise for which a combination has its next look if images are left: 3 of 4 images
alike."""
SUSPECT = {16: 0.9, 32: 0.7}
"""Number of images -> least promise of a suspect; 15 of 16 and 26 of 32 images alike."""
FIRST_SWEEP = 0.6
"""Share of the images for the first sweep, over words without a finding."""
PAIR = 2
"""Fewest words of a combination."""
PATIENCE = 2
"""Number of rounds without a new combination that ends a sweep."""
EXAMPLES = (10, 50)
"""Fewest and most examples of a round of drawing."""


@dataclass(frozen=True, slots=True)
class HuntResult:
    """The result of a hunt."""

    plan: Plan
    findings: tuple[Confirmed, ...]
    """All findings, the confirmed ones first, combinations before single words."""
    images: int
    """Number of all images."""
    looked_at: int
    """Number of combinations with images, single words included."""
    left_open: int
    """Number of suspects for whose shrinking and confirmation the budget did not suffice."""
    searched: int
    """Number of images of the search; the others were held out."""
    undetected: int
    """Number of images of the search without a label."""


def hunt(measure: Measure, plan: Plan, tell: Callable[[str], None] = lambda _: None) -> HuntResult:
    """Search for the most biased combinations of words, and confirm the findings."""
    if plan.most_words > 1:
        # Raises MissingExtraError before any image is made.
        _ = pytest_t2i.strategies
    search = Search(plan, Ledger(measure, plan.budget, nothing=plan.nothing))
    tell("single words")
    search.single_words()
    if plan.most_words > 1:
        tell("combinations")
        search.combinations()
    tell(f"held-out images of {len(search.findings)} findings")
    ledger = search.ledger
    findings = confirm(ledger, search.findings, plan)
    all_counts = ledger.counts.values()
    return HuntResult(
        plan,
        findings,
        ledger.spent,
        len(ledger.counts),
        len(search.left_open()),
        sum(counts.images for counts in all_counts),
        sum(counts.images - counts.clear for counts in all_counts),
    )


@dataclass(slots=True)
class Search:
    """The state of a search."""

    plan: Plan
    ledger: Ledger
    findings: list[Suspect] = field(default_factory=list)
    _rounds: int = 0

    @property
    def room(self) -> int:
        """The images free for the search.

        The budget reserves the images that shrink one more finding and confirm all.
        """
        confirming = self.plan.confirm * (len(self.findings) + 1)
        return self.ledger.left - self.plan.shrinking - confirming

    def single_words(self) -> None:
        """Make images of every single word, and follow up the promising ones."""
        words = [(part,) for part in self.plan.pool]
        self.ledger.look(dict.fromkeys(words, LOOKS[0]))
        self._look_again(words, SECOND_CHANCE)

    def combinations(self) -> None:
        """Sweep combinations of words without a finding first, then of all words.

        A word that turns the direction of a finding shows best in pairs, because a third word may
        lean in the finding's direction. Less promising combinations have another look when no new
        ones are left.
        """
        every = len(self.plan.directions)
        free = [part for part in self.plan.pool if len(self._open((part,))) == every]
        if self._sweep(free, every_direction=True, allowance=int(self.room * FIRST_SWEEP)):
            self._look_again(list(self.ledger.counts), SECOND_CHANCE)
        if self.findings:
            self._sweep(self.plan.pool, every_direction=False, allowance=self.room, words=PAIR)
        self._sweep(self.plan.pool, every_direction=False, allowance=self.room)
        self._look_again(list(self.ledger.counts), SECOND_CHANCE)

    def left_open(self) -> list[Parts]:
        """Return the combinations that are suspects by their last look and were not followed up."""
        counts = self.ledger.counts
        return [parts for parts in counts if self._is_suspect(parts) is not None]

    def _sweep(
        self,
        pool: Sequence[Part],
        *,
        every_direction: bool,
        allowance: int,
        words: int | None = None,
    ) -> bool:
        """Draw combinations while the allowance lasts; return whether no new ones are left."""
        last = self.ledger.spent + allowance
        idle = 0
        if len({part.axis.name for part in pool}) < PAIR:
            return True
        while idle < PATIENCE and self._affords(LOOKS[0], last):
            total = len(self.ledger.counts)
            self._round(
                pool,
                every_direction=every_direction,
                last=last,
                words=words or self.plan.most_words,
            )
            idle = 0 if len(self.ledger.counts) > total else idle + 1
        return idle >= PATIENCE

    def _round(self, pool: Sequence[Part], *, every_direction: bool, last: int, words: int) -> None:
        plan = self.plan
        few, many = EXAMPLES
        self._rounds += 1

        def examine(handful: list[Parts]) -> float:
            return self._examine(handful, every_direction=every_direction, last=last)

        draw(
            examine,
            pool,
            words=words,
            at_once=plan.at_once,
            examples=min(many, max(few, self.room // (LOOKS[0] * plan.at_once))),
            seed=plan.seed * 1000 + self._rounds,
        )

    def _examine(self, handful: list[Parts], *, every_direction: bool, last: int) -> float:
        # All directions of a combination are open if no finding lies within it.
        needed = len(self.plan.directions) if every_direction else 1
        news = [
            parts
            for parts in handful
            if not self.ledger.images(parts) and len(self._open(parts)) >= needed
        ]
        affordable = max(0, min(self.room, last - self.ledger.spent)) // LOOKS[0]
        if news and not affordable:
            raise Enough
        self.ledger.look(dict.fromkeys(news[:affordable], LOOKS[0]))
        self._look_again(news[:affordable], LOOK_AGAIN)
        return max(self._lean(parts) for parts in handful)

    def _open(self, parts: Parts) -> tuple[int, ...]:
        """Return the directions in which no finding explains a bias of the combination."""
        return open_signs(parts, self.findings, self.plan.directions)

    def _lean(self, parts: Parts) -> float:
        """Return the largest lean of the combination in an open direction."""
        counts = self.ledger.of(parts)
        return max((counts.lean(sign) for sign in self._open(parts)), default=0.0)

    def _look_again(self, many: Iterable[Parts], least: float) -> None:
        """Give combinations of at least this promise their next looks, the most promising first."""
        waiting = list(many)
        while True:
            for parts in sorted(waiting, key=self._promise, reverse=True):
                self._follow_up(parts)
            ready = [
                parts
                for parts in waiting
                if self._next_look(parts) is not None and self._promise(parts) >= least
            ]
            ready = sorted(ready, key=self._promise, reverse=True)[: self.plan.at_once]
            requests = {parts: self._next_look(parts) or 0 for parts in ready}
            while requests and self.ledger.cost(requests) > self.room:
                requests.popitem()
            if not requests:
                return
            self.ledger.look(requests)

    def _next_look(self, parts: Parts) -> int | None:
        total = self.ledger.images(parts)
        return next((images for images in LOOKS if images > total), None) if total else None

    def _promise(self, parts: Parts) -> float:
        counts = self.ledger.of(parts)
        signs = self._open(parts)
        return max((counts.promise(sign, self.plan.beyond) for sign in signs), default=0.0)

    def _is_suspect(self, parts: Parts) -> Suspect | None:
        counts = self.ledger.of(parts)
        least = min((SUSPECT[n] for n in SUSPECT if counts.images >= n), default=1.0)
        for sign in self._open(parts):
            if counts.promise(sign, self.plan.beyond) >= least:
                return Suspect(parts, sign)
        return None

    def _follow_up(self, parts: Parts) -> None:
        """Shrink a suspect and keep the result as a finding."""
        suspect = self._is_suspect(parts)
        # A single word needs no images for shrinking.
        spare = self.plan.shrinking if len(parts) == 1 else 0
        if suspect is None or self.room + spare < 0:
            return
        finding = shrink(self.ledger, suspect, self.plan.beyond)
        # A smaller finding replaces the larger ones that it explains.
        rest = [
            candidate
            for candidate in self.findings
            if not explains(finding, candidate.parts, candidate.sign)
        ]
        self.findings = [*rest, finding]

    def _affords(self, images: int, last: int) -> bool:
        return self.room >= images and self.ledger.spent + images <= last
