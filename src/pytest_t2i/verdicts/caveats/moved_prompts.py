"""Prompts that probably became more biased than recorded; no verdict rests on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_t2i.data import Scalar
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

NAME = "moved prompt"
LABELS = ("male", "female", "undetected")


def caveat_of(prompt: MovedPrompt) -> Caveat:
    """Return the caveat of a prompt; a report shows all of them in one table.

    >>> prompt = MovedPrompt("nurse", 0.9, LabelCounts(9, 10, 1), LabelCounts(20, 0, 0))
    >>> moved_prompts([caveat_of(prompt)]) == [prompt]
    True
    """
    facts: dict[str, Scalar] = {"id": prompt.id, "probability": prompt.probability}
    for when, counts in (("before", prompt.before), ("after", prompt.after)):
        facts |= {f"{label} {when}": getattr(counts, label) for label in LABELS}
    return Caveat(NAME, "", facts)


def moved_prompts(caveats: Iterable[Caveat]) -> list[MovedPrompt]:
    """Return the prompts that probably moved, as the caveats of a check name them."""
    return [_prompt_of(caveat.facts) for caveat in caveats if caveat.name == NAME]


def _prompt_of(facts: Mapping[str, Scalar]) -> MovedPrompt:
    probability = facts.get("probability")
    before, after = (
        LabelCounts(*(_count(facts.get(f"{label} {when}")) for label in LABELS))
        for when in ("before", "after")
    )
    share = float(probability) if isinstance(probability, int | float) else None
    return MovedPrompt(str(facts.get("id")), share, before, after)


def _count(value: Scalar) -> int:
    return value if isinstance(value, int) else 0
