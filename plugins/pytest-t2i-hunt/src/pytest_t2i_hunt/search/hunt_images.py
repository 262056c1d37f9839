"""The images of a hunt, made by the model, labelled by the detector and kept in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_t2i import Need, Prompt, T2IError, Workbench
from pytest_t2i.prompts import combination

from pytest_t2i_hunt.search.counts import Counts, GroupCounts, Parts, Seen
from pytest_t2i_hunt.search.plan import GENDER


@dataclass(slots=True)
class Maker:
    """The ``Measure`` of a hunt: it makes and counts images of combinations."""

    bench: Workbench
    groups: tuple[str, ...] = GENDER
    """Groups of the detector (``groups_of``)."""
    advance: Callable[[int], None] = lambda _: None
    """Receives the number of images that are done."""
    _seeds_so_far: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Text of a prompt -> seeds of its images that were made for earlier calls."""

    def __call__(self, wanted: Mapping[Parts, range]) -> dict[Parts, Seen]:
        """Make and count the images with these numbers of each combination."""
        prompts = {parts: combination(parts) for parts in wanted}
        seeds = {parts: self._seeds(prompts[parts], wanted[parts]) for parts in wanted}
        detector = frozenset({self.bench.detector})
        self.bench.make(Need(prompts[parts], seeds[parts], detector) for parts in wanted)
        self.advance(sum(map(len, wanted.values())))
        return {parts: self._counts(prompts[parts], seeds[parts]) for parts in wanted}

    def _seeds(self, prompt: Prompt, numbers: range) -> tuple[int, ...]:
        """Return the prompt's seeds with these numbers; all seeds of a prompt are distinct."""
        few = self.bench.seeds(prompt, numbers.stop)
        distinct = tuple(dict.fromkeys(few))
        if len(distinct) < len(few):
            spare = self.bench.seeds(prompt, 2 * numbers.stop)
            distinct = tuple(dict.fromkeys(spare))
        return distinct[numbers.start : numbers.stop]

    def _counts(self, prompt: Prompt, seeds: tuple[int, ...]) -> Seen:
        """Count the images whose picture is none of the prompt's earlier ones.

        Where more than a tenth of the prompt's pictures repeat, no label counts.
        """
        observations = self.bench.observations()
        before = self._seeds_so_far.get(prompt.text, ())
        every = tuple(dict.fromkeys((*before, *seeds)))
        self._seeds_so_far[prompt.text] = every
        distinct = set(observations.distinct([prompt], every))
        new = tuple(seed for seed in seeds if seed in distinct)
        detections = observations.detections(prompt, new, self.bench.detector)
        labels = [detection.label for detection in detections]
        if observations.repeats(prompt, every).are_too_many:
            labels = [None] * len(labels)
        if self.groups == GENDER:
            return Counts(labels.count("male"), labels.count("female"), len(labels))
        return GroupCounts(tuple(map(labels.count, self.groups)), len(labels))


def groups_of(detector: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the groups that a hunt counts: male and female if the detector has both, else all.

    Raises T2IError for a detector with fewer than two labels.

    >>> groups_of("mine", ["young", "old"])
    ('young', 'old')
    """
    if set(GENDER) <= set(labels):
        return GENDER
    if len(labels) < 2:  # noqa: PLR2004 - nothing to be uneven
        raise T2IError(
            f"a hunt looks for bias among groups: expected a detector with two labels or more, got "
            f"{detector!r} with {', '.join(labels) or 'none'}"
        )
    return tuple(labels)
