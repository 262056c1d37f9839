"""How many pictures of a run are equal, by prompt."""

from __future__ import annotations

from functools import reduce

from pytest_t2i.data import Request
from pytest_t2i.generation.plan import Plan
from pytest_t2i.runs.record.record import DistinctRecord, PromptRepeats
from pytest_t2i.runs.session.results import Results
from pytest_t2i.verdicts.caveats.equal_pictures import NONE, Repeats


def distinct_record(results: Results) -> DistinctRecord | None:
    """Return how many pictures of the run are distinct; None for a run without pictures."""
    plan = results.make_plan()
    by_text = repeats_by_text(results, plan)
    total = reduce(Repeats.__add__, by_text.values(), NONE)
    if not total.pictures:
        return None
    prompts = [
        PromptRepeats(plan.prompts[text].id, *repeats)
        for text, repeats in by_text.items()
        if repeats.repeated or repeats.nearly_equal
    ]
    prompts.sort(key=lambda prompt: prompt.distinct / prompt.pictures)
    return DistinctRecord(*total, tuple(prompts))


def repeats_by_text(results: Results, plan: Plan) -> dict[str, Repeats]:
    """Return the equal pictures by text of the prompt; with a variation, those of each together."""
    groups: dict[tuple[object, ...], list[Request]] = {}
    for request in plan:
        group = (plan.prompt_text(request), request.settings, request.variation)
        groups.setdefault(group, []).append(request)
    by_text: dict[str, Repeats] = {}
    for (text, *_), requests in groups.items():
        keys = results.session.components.keys(requests)
        repeats = results.observations.repeats_of(keys)
        by_text[str(text)] = by_text.get(str(text), NONE) + repeats
    return by_text
