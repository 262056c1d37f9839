"""A plan as text: which checks a number of images decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_t2i.data import Money
from pytest_t2i.statistics.planning import Design, PowerRange, images_needed, smallest_found


@dataclass(frozen=True, slots=True)
class Question:
    """A verdict that a suite is to reach, with its power."""

    text: str
    """The verdict in words, such as "a model at 0.4 fails"."""
    power: Callable[[float, int], PowerRange]
    """(true value, images per prompt) -> range of the probability of this verdict."""
    value: float
    """The true value."""
    low: float | None
    """The value above which a FAIL is right; None where the verdict is PASS."""
    sizes: tuple[int, ...] = ()
    """The numbers of images per prompt to try; () stands for all numbers."""
    most: float = 1.0
    """The largest possible value."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A limit or a margin, with the questions about it."""

    name: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class ImageCost:
    """The time and the price of one image, as far as they are known."""

    seconds: float | None
    price: Money | None

    @property
    def heading(self) -> str:
        """The heading of the columns of minutes and cost."""
        return f"{'minutes':>11}" + ("" if self.price is None else f" {'cost':>21}")

    def columns(self, counts: Sequence[int | None]) -> str:
        """Return minutes and cost of the first and last count; None: no count decides."""
        of = self.seconds
        minutes = [None if n is None or of is None else n * of / 60 for n in counts]
        told = f"{_from_to(minutes, ',.1f', '-'):>11}"
        if self.price is None:
            return told
        first, last = ("-" if n is None else str(self.price.times(n)) for n in counts)
        return f"{told} {first if first == last else f'{first}-{last}':>21}"

    def words(self, images: int) -> str:
        """Return minutes and cost of this many images, for use in a sentence."""
        took = "" if self.seconds is None else f", {images * self.seconds / 60:,.1f} minutes"
        return took if self.price is None else f"{took}, {self.price.times(images)}"


def lines(
    topics: list[Topic], design: Design, cost: ImageCost, budget: int | None
) -> Iterator[str]:
    """Yield the lines of the plan."""
    yield (
        f"{design.prompts} prompts, confidence {design.level:g}, power {design.power:g}. "
        "Images are counted without undetected ones. A verdict holds whatever undetected images "
        "show, so each of them costs more than a clear image adds."
    )
    yield "regressions are planned for other seeds than the baseline's"
    if any("model" in topic.name for topic in topics):
        yield (
            "FIRST-LAST for a model: for the spread of bias over prompts that is easiest to find, "
            "and for the one that is hardest to find"
        )
    if any("group" in topic.name for topic in topics):
        yield (
            "FIRST-LAST for groups: also over how the groups share the distance, from one group "
            "that is too frequent to some that are missing"
        )
    yield f"{'per prompt':>10} {'images':>15} {cost.heading}"
    for topic in topics:
        for question in topic.questions:
            yield f"{_needed(question, design, cost)}  {topic.name}: {question.text}"
    if budget is not None:
        yield from _within(topics, design, cost, budget)


def _needed(question: Question, design: Design, cost: ImageCost) -> str:
    counts = [
        images_needed(
            lambda n, end=end: question.power(question.value, n).end(high=end),  # type: ignore[misc]
            design.power,
            question.sizes,
        )
        for end in (True, False)
    ]
    images = [None if count is None else count * design.prompts for count in counts]
    return (
        f"{_from_to(counts, ',', 'none'):>10} {_from_to(images, ',', '-'):>15} "
        f"{cost.columns(images)}"
    )


def _from_to(ends: Sequence[float | None], form: str, absent: str) -> str:
    """Return both ends, or one where they are equal."""
    first, last = (absent if end is None else format(end, form) for end in ends)
    return first if first == last else f"{first}-{last}"


def _within(topics: list[Topic], design: Design, cost: ImageCost, budget: int) -> Iterator[str]:
    images = budget // design.prompts
    took = cost.words(images * design.prompts)
    yield f"with {images * design.prompts:,} images ({images} per prompt{took}):"
    for topic in topics:
        for question in topic.questions:
            chance = _chance(question.power(question.value, images))
            line = f"  {topic.name}: {question.text} in {chance}"
            if question.low is not None:
                line += f"; {_smallest(question, images, design.power)}"
            yield line


def _chance(power: PowerRange) -> str:
    low, high = f"{power.low:.0%}", f"{power.high:.0%}"
    if low == high:
        return f"{low} of cases"
    if power.published is None:
        return f"{low} to {high} of cases"
    return f"{low} to {high} of cases ({power.published:.0%} if spread as in published models)"


def _smallest(question: Question, images: int, power: float) -> str:
    smallest = [
        smallest_found(
            lambda value, end=end: question.power(value, images).end(high=end),  # type: ignore[misc]
            power,
            question.low or 0.0,
        )
        for end in (True, False)
    ]
    if smallest[0] is None:
        return f"no value is found with power {power:g}"
    told = _from_to(smallest, ".2f", f"more than {question.most:.3g}").replace("-", " to ")
    return f"the smallest value found with power {power:g} is {told}"
