"""Dependent pictures: how many are equal, and which checks have no verdict because of them.

A model that ignores the seed, a cache, and copies in a folder give one picture several times. Equal
pictures are one observation (``Observations.distinct``). Where more than a tenth of a prompt's
pictures repeat, the distinct ones are no independent draws either, and the prompt has no verdict.
The model has none where more than a tenth of all its pictures repeat, or where a measurement's
evidence does not hold whatever such prompts show. It has none either where prompts share seeds
(``shared_seeds``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial, reduce

from pytest_t2i.data import Request
from pytest_t2i.errors import some
from pytest_t2i.generation.plan import Plan
from pytest_t2i.generation.store.pixels import MOST_REPEATED, Repeats
from pytest_t2i.runs.record.record import DistinctRecord, PromptRepeats
from pytest_t2i.runs.session import calibration, certified
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.runs.session.shared_seeds import why_seeds_prevent_verdict
from pytest_t2i.verdicts.measurement import Measurement

SHOWN = 5
"""Number of prompts that a message names."""
NONE = Repeats(0, 0, 0)


def distinct_record(results: Results) -> DistinctRecord | None:
    """Return how many pictures of the run are distinct; None for a run without pictures."""
    plan = results.make_plan()
    by_text = _repeats(results, plan)
    total = _total(by_text.values())
    if not total.pictures:
        return None
    prompts = [
        PromptRepeats(plan.prompts[text].id, *repeats)
        for text, repeats in by_text.items()
        if repeats.repeated or repeats.nearly_equal
    ]
    prompts.sort(key=lambda prompt: prompt.distinct / prompt.pictures)
    return DistinctRecord(*total, tuple(prompts))


@dataclass(frozen=True)
class TestedPictures:
    """The equal pictures, and the shared seeds, of the prompts that a test needs."""

    results: Results
    test: SelectedTest

    @cached_property
    def _by_text(self) -> dict[str, Repeats]:
        return _repeats(self.results, self.results.make_plan([self.test]))

    @cached_property
    def _members(self) -> dict[str, set[str]]:
        """Id of a prompt, triplet or stereotype -> the texts of its pictures."""
        selection = self.test.selection
        members = {prompt.id: {prompt.text} for prompt in selection.prompts}
        members |= {stereotype.id: {stereotype.prompt.text} for stereotype in selection.stereotypes}
        return members | {three.id: {p.text for p in three} for three in selection.triplets}

    @cached_property
    def _shared_seeds(self) -> str:
        return why_seeds_prevent_verdict(self.results, [self.test])

    def open_because(self, measurement: Measurement) -> str:
        """Return why a measurement has no verdict; "" where its pictures do not prevent one."""
        if measurement.despite_repeats == "":
            return ""
        if measurement.is_of_model and self._shared_seeds:
            return self._shared_seeds
        if not measurement.is_of_model:
            texts = next(
                (
                    texts
                    for name, texts in self._members.items()
                    if f"{measurement.subject} ".startswith(f"{name} ")
                ),
                None,
            )
            if texts is not None:
                repeats = (self._by_text.get(text, NONE) for text in texts)
                return max(repeats, key=lambda of_text: of_text.share).words
        total = _total(self._by_text.values())
        if total.are_too_many:
            return total.words
        doubtful = [text for text, repeats in self._by_text.items() if repeats.are_too_many]
        if not doubtful or measurement.despite_repeats:
            return ""
        names = self.results.make_plan([self.test]).prompts
        return (
            f"more than {MOST_REPEATED:.0%} of the pictures of {len(doubtful)} of "
            f"{len(self._by_text)} prompts repeat an earlier one "
            f"({some([names[text].name for text in doubtful], SHOWN)}), and whatever these show "
            "could turn the verdict"
        )


def open_because(results: Results, test: SelectedTest, measurement: Measurement) -> str:
    """Return why a measurement of a test cannot be decided; "" where it can."""
    key = ("why open", test.node_id)
    of_all, of_model, repeats = results.once(key, partial(_why_open, results, test))
    return (
        of_all or (of_model if measurement.is_of_model else "") or repeats.open_because(measurement)
    )


def _why_open(results: Results, test: SelectedTest) -> tuple[str, str, TestedPictures]:
    """Return why nothing, and why nothing of the model, is decided, and the equal pictures."""
    of_all = calibration.uncalibrated_because(results.session, test.selection)
    if not of_all and not test.selection.detectors:
        of_all = certified.certificate_mismatch(results.session)
    of_model = "" if of_all else certified.abstention_mismatch(results, test)
    return of_all, of_model, TestedPictures(results, test)


def _repeats(results: Results, plan: Plan) -> dict[str, Repeats]:
    """Return the equal pictures by text of the prompt; with a variation, those of each together."""
    groups: dict[tuple[object, ...], list[Request]] = {}
    for request in plan:
        group = (plan.prompt_text(request), request.settings, request.variation)
        groups.setdefault(group, []).append(request)
    components, store = results.session.components, results.session.store
    by_text: dict[str, Repeats] = {}
    for (text, *_), requests in groups.items():
        pictures = store.pixels(store.images(components.keys(requests)).values())
        repeats = Repeats.among(pictures.values())
        by_text[str(text)] = by_text.get(str(text), NONE) + repeats
    return by_text


def _total(repeats: Iterable[Repeats]) -> Repeats:
    return reduce(Repeats.__add__, repeats, NONE)
