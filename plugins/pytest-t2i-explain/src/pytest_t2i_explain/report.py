"""The explanation in words: its section of the report, its lines, and its facts for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pytest_t2i.sections import Block, Note, Paragraph, Section, Table

from pytest_t2i_explain.explain import Explanation
from pytest_t2i_explain.search import Effect

TITLE = "What made it worse"
NOT_KNOWN = "not known"
SHOWN = 8
"""Largest number of prompts and reasons that a line names."""
ESTIMATES = (
    "The shares here are of the growth on these fresh images. The scores before and now of a check "
    "against the baseline are estimated together, from the images of the run and of the baseline; "
    "the score of a check against a limit from the images of the run alone. The three therefore "
    "differ a little."
)
"""Why numbers of one page differ."""


def answer(explanation: Explanation) -> str:
    """Return the result in one or two sentences."""
    found = explanation.found
    further = f" {_sentence(found.words)}" if found.words else ""
    if found.outcome == "named" and len(explanation.found.effects) == 1:
        return (
            f"The {found.named[0].components[0]} made it worse: fresh images show the growth "
            f"(p = {found.named[0].p_value:.2g}), and nothing else changed that can be exchanged."
        )
    if found.outcome == "named":
        sentences = [f"The {e.components[0]} made it worse: {_share(e)}." for e in found.named]
        return " ".join(sentences) + further
    if found.outcome == "set":
        how = "either one suffices" if found.either else "only together"
        names = " and ".join(found.named[0].components)
        return f"{names} made it worse, {how}: {_share(found.named[0])}."
    if found.outcome == "none":
        return f"Nothing to explain: {found.words}."
    left = [(name, reason) for name, reason in explanation.reasons.items() if reason]
    unknown = [each.name for each in explanation.components if not each.is_known]
    parts = [f"it cannot be told with {found.images} images", found.words]
    parts += [f"{name} was not exchanged: {reason}" for name, reason in left[:SHOWN]]
    parts += [f"not known of the baseline: {', '.join(unknown[:SHOWN])}"] if unknown else []
    return " ".join(_sentence(part) for part in parts if part)


def lines(explanation: Explanation) -> Iterator[str]:
    yield answer(explanation)
    for effect in explanation.found.effects:
        names, share = " and ".join(effect.components), effect.restored
        yield (
            f"  {names}: restored {share.estimate:+.0%} [{share.low:+.0%}, {share.high:+.0%}] of "
            f"the growth, p = {effect.p_value:.2g}"
        )
    if words := _grown(explanation):
        yield words
    yield (
        f"images: {explanation.found.images} ({explanation.made} made now; about "
        f"{explanation.planned} were announced)"
    )
    yield from explanation.remarks


def section(explanation: Explanation) -> Section:
    found, reasons = explanation.found, explanation.reasons
    same = [each.name for each in explanation.components if each.is_known and not each.changed]
    tried = [
        (" and ".join(effect.components), effect.restored, f"{effect.p_value:.2g}")
        for effect in found.effects
    ]
    changed = [
        (
            each.name,
            each.kind,
            NOT_KNOWN if each.before is None else each.before,
            NOT_KNOWN if each.now is None else each.now,
            reasons.get(each.name) or ("exchanged" if each.changed else ""),
        )
        for each in explanation.components
        if each.changed or not each.is_known
    ]
    blocks: list[Block] = [Paragraph(answer(explanation), level="summary"), Note(_how(explanation))]
    blocks += [Note(f"{words}.") for words in [_grown(explanation)] if words]
    blocks.append(Note(ESTIMATES))
    if tried:
        columns = ("component", "goes where it is restored", "p, adjusted")
        blocks.append(Table("Share of the growth", columns, tuple(tried), digits=2, whole=True))
    caption, facts_of = "What changed since the baseline", ("component", "what it is")
    blocks.append(Table(caption, (*facts_of, "baseline", "now", ""), tuple(changed), whole=True))
    blocks += [Note(f"The same as before: {', '.join(same)}.")] if same else []
    blocks += [Note(_sentence(remark)) for remark in explanation.remarks]
    return Section(TITLE, tuple(blocks))


def facts(explanation: Explanation) -> dict[str, Any]:
    """Return what scripts read, as plain data."""
    found = explanation.found
    return {
        "answer": answer(explanation),
        **asdict(found),
        "components": [
            asdict(each) | {"not_exchanged": explanation.reasons.get(each.name, "")}
            for each in explanation.components
        ],
        "prompts": [
            {"id": each.prompt.id, "growth": round(each.growth, 6), "labels": _labels(each)}
            for each in explanation.grown.prompts
        ],
        "planned": explanation.planned,
        "made": explanation.made,
        "level": round(explanation.level, 10),
        "remarks": list(explanation.remarks),
    }


def _how(explanation: Explanation) -> str:
    names = ", ".join(each.prompt.id for each in explanation.grown.prompts)
    return (
        f"{explanation.found.images} images{f' of {names}' if names else ''} with fresh seeds, "
        f"{explanation.found.per_hybrid} for each mixture of parts of the old and the new "
        "model (hybrid); these are compared seed by seed, by an exact test. A wrong name has a "
        "probability of at most "
        f"{explanation.level:.0%}."
    )


def _labels(grown: Any) -> list[str]:
    return [label for label, sign in grown.directions.items() if sign > 0]


def _grown(explanation: Explanation) -> str:
    """Return which labels grew on which prompts; "" where none is known."""
    by_labels: dict[str, list[str]] = {}
    for each in explanation.grown.prompts:
        by_labels.setdefault(" and ".join(_labels(each)), []).append(each.prompt.id)
    parts = [f"{labels} of {', '.join(ids[:SHOWN])}" for labels, ids in by_labels.items() if labels]
    return f"Labels that became more frequent: {'; '.join(parts)}" if parts else ""


def _share(effect: Effect) -> str:
    share = effect.restored
    if share.method == "by exclusion":
        return "no other component changed"
    return (
        f"restoring {'it' if len(effect.components) == 1 else 'them'} takes {share.estimate:.0%} "
        f"[{share.low:.0%}, {share.high:.0%}] of the growth away"
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
