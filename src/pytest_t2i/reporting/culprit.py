"""The explanation of a worse run: its section of the report, and its lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.files import from_here
from pytest_t2i.runs.explanation.cost import images_to_explain
from pytest_t2i.runs.explanation.record import Effect, Explanation
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.sections import Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.sections.words import p_words, several

TITLE = "What made it worse"
NOT_KNOWN = "not known"
MOST_NAMED = 8
"""Largest number of prompts that a line names."""


def explanation_section(explanation: Explanation) -> Section:
    """Return the section of a run's report."""
    changed = [c for c in explanation.components if c.state != "same"]
    same = [c.name for c in explanation.components if c.state == "same"]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            component.name,
            component.kind,
            NOT_KNOWN if component.before is None else component.before,
            NOT_KNOWN if component.now is None else component.now,
            component.not_exchanged or ("exchanged" if component.state == "changed" else ""),
        )
        for component in changed
    )
    blocks: list[Block] = [
        Paragraph(explanation.answer, level="summary"),
        *([Paragraph(explanation.where, level="summary")] if explanation.where else []),
        Note(_how(explanation)),
        *([Note(f"{words}.")] if (words := _grown_words(explanation)) else []),
        Note(ESTIMATES),
        *_effects(explanation),
        *_places(explanation),
        Table(
            "What changed since the baseline",
            ("component", "what it is", "baseline", "now", ""),
            rows,
            whole=True,
        ),
        *([Note(f"The same as before: {', '.join(same)}.")] if same else []),
        *(Note(f"{remark[:1].upper()}{remark[1:]}.") for remark in explanation.remarks),
    ]
    return Section(TITLE, tuple(blocks))


def _effects(explanation: Explanation) -> Iterator[Table]:
    if not explanation.effects:
        return
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (" and ".join(effect.components), effect.restored, effect.alone, p_words(effect.p_value))
        for effect in explanation.effects
    )
    yield Table(
        "Share of the growth",
        ("component", "goes where it is restored", "comes where it alone is new", "p, adjusted"),
        rows,
        digits=2,
        whole=True,
    )


def _places(explanation: Explanation) -> Iterator[Table]:
    if not explanation.places:
        return
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            " and ".join(place.components),
            f"{place.place} {place.steps}".strip(),
            place.state,
            None if place.differing is None else f"{place.differing:.0%}",
            place.change,
            p_words(place.p_value),
            place.reason,
        )
        for place in explanation.places
    )
    yield Table(
        "Where in the making",
        ("culprit", "place", "", "differ", "towards the label that grew", "p, adjusted", "why not"),
        rows,
        digits=3,
        whole=True,
    )


ESTIMATES = (
    "The shares here are of the growth on these fresh images. The scores before and now of a check "
    "against the baseline are estimated together, from the images of the run and of the baseline; "
    "the score of a check against a limit from the images of the run alone. The three therefore "
    "differ a little."
)
"""Why numbers of one page differ."""


def _grown_words(explanation: Explanation) -> str:
    """Return which labels grew on which prompts; "" where it is not known."""
    by_labels: dict[tuple[str, ...], list[str]] = {}
    for prompt in explanation.prompts:
        by_labels.setdefault(prompt.labels, []).append(prompt.id)
    by_labels.pop((), None)
    parts = [
        f"{' and '.join(labels)} of {some(prompts, MOST_NAMED)}"
        for labels, prompts in by_labels.items()
    ]
    return f"Labels that became more frequent: {'; '.join(parts)}" if parts else ""


def _how(explanation: Explanation) -> str:
    names = ", ".join(prompt.id for prompt in explanation.prompts)
    of_prompts = f" of {names}" if names else ""
    return (
        f"{several(explanation.images, 'image')}{of_prompts} with fresh seeds, "
        f"{explanation.per_hybrid} for each hybrid of the old and the new model; hybrids are "
        f"compared seed by seed, by an exact test. A wrong name has a "
        f"probability of at most {explanation.level:.0%}."
    )


def hint(record: RunRecord) -> str:
    """Return the advice to explain a run that failed beside a baseline; "" for another run."""
    failed = record.outcome is Outcome.FAIL and record.tally()[Outcome.FAIL]
    if record.baseline is None or not (failed and record.model):
        return ""
    report = from_here(Path(str(record.settings.get("report") or "reports/t2i")))
    command = f"t2i explain {report}/run.json --baseline {record.baseline.file}"
    images = images_to_explain(record)
    cost = f" costs about {several(images, 'image')}, and" if images else ""
    return f"`{command}`{cost} names the change that made it worse"


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the lines for the terminal."""
    yield explanation.answer
    if explanation.where:
        yield explanation.where
    for effect in explanation.effects:
        yield f"  {' and '.join(effect.components)}: {_effect_words(effect)}"
    if words := _grown_words(explanation):
        yield f"{words[:1].lower()}{words[1:]}"
    yield (
        f"images: {explanation.images} ({explanation.made} made now; about {explanation.planned} "
        "were announced)"
    )
    if explanation.where_planned:
        yield (
            f"further images for the spaces and steps: {explanation.where_images} "
            f"({explanation.where_made} made now; about {explanation.where_planned} were announced)"
        )
    yield from explanation.remarks


def _effect_words(effect: Effect) -> str:
    share = effect.restored
    words = f"restored {share.estimate:+.0%} [{share.low:+.0%}, {share.high:+.0%}] of the growth"
    words += f", p = {effect.p_value:.2g}"
    if effect.alone is not None:
        alone = effect.alone
        words += f"; alone {alone.estimate:+.0%} [{alone.low:+.0%}, {alone.high:+.0%}]"
    return words
