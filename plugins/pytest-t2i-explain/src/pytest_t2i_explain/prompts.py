"""The prompts on which a run is worse than its baseline, and how much worse they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i import Baseline, Prompt, RunRecord, Undetected, Variant

MOST_PROMPTS = 8
"""Most prompts of which hybrids are made."""
NEAR = 0.6
"""Share of the largest growth that a prompt needs to be taken beside it."""
FEWEST_CLEAR = 2
"""Fewest labelled images, on each side, of a prompt whose growth is estimated."""


@dataclass(frozen=True, slots=True)
class WorsenedPrompt:
    """A prompt whose pictures became more one-sided."""

    prompt: Prompt
    text_before: str
    """Its text in the baseline."""
    directions: Mapping[str, int]
    """Label -> +1 where it became more frequent, -1 where it became rarer."""
    growth: float
    """Growth of the mean direction of an image, shrunk by what chance makes of it."""
    seeds: int
    """Images that the run or the baseline has of it, whichever has more."""


@dataclass(frozen=True, slots=True)
class WorsenedPrompts:
    """The prompts that grew most, and what was left out."""

    prompts: tuple[WorsenedPrompt, ...]
    """The prompts of the hybrids, those that grew most first; () where none grew."""
    compared: int
    """Prompts that both sides have."""
    texts: Mapping[str, tuple[str, str]]
    """Id -> text before and now, of prompts of one id whose text changed."""
    left_out: tuple[str, ...]
    """Ids of the run's prompts that the baseline lacks."""

    @property
    def growth(self) -> float:
        """Mean growth over the prompts of the hybrids."""
        if not self.prompts:
            return 0.0
        return sum(prompt.growth for prompt in self.prompts) / len(self.prompts)


def worsened_prompts(record: RunRecord, baseline: Baseline) -> WorsenedPrompts:
    by_id = {prompt.id: (text, prompt) for text, prompt in baseline.prompts.items()}
    grown, texts, left_out, compared = [], {}, [], 0
    for prompt in record.prompts:
        if prompt.variant != Variant.NEUTRAL.value or not prompt.counts:
            continue
        if prompt.text in baseline.prompts:
            text, before = prompt.text, baseline.prompts[prompt.text]
        elif prompt.id in by_id:
            text, before = by_id[prompt.id]
            texts[prompt.id] = (text, prompt.text)
        else:
            left_out.append(prompt.id)
            continue
        compared += 1
        if (found := _grown(prompt, text, before, _labels(record))) is not None:
            grown.append(found)
    grown.sort(key=lambda found: found.growth, reverse=True)
    most = grown[0].growth if grown else 0.0
    near = [found for found in grown if found.growth >= NEAR * most and found.growth > 0.0]
    return WorsenedPrompts(tuple(near[:MOST_PROMPTS]), compared, texts, tuple(left_out))


def _labels(record: RunRecord) -> Sequence[str]:
    """All labels of the deciding detector; () where the run does not say."""
    of_detectors = record.provenance.get("labels")
    detectors = record.settings.get("detectors") or ()
    labels = of_detectors.get(detectors[0]) if isinstance(of_detectors, dict) and detectors else ()
    return labels if isinstance(labels, list) else ()


def _grown(prompt: Any, text: str, before: Any, labels: Sequence[str]) -> WorsenedPrompt | None:
    """Return a prompt that moved away from even shares; None where it did not, or is too small."""
    now = Counter(prompt.decided.labels)
    then = Counter(said for said in before.said if not isinstance(said, Undetected))
    groups = sorted({*labels, *now, *then})
    images, images_before = now.total(), then.total()
    if min(images, images_before) < FEWEST_CLEAR or len(groups) < 2:  # noqa: PLR2004 - a contrast
        return None
    moved = {group: now[group] / images - then[group] / images_before for group in groups}
    apart = [sum(abs(c[g] / c.total() - 1 / len(groups)) for g in groups) for c in (then, now)]
    distance = sum(map(abs, moved.values()))
    if apart[1] <= apart[0] or not distance:
        return None
    directions = {group: 1 if by > 0 else -1 for group, by in moved.items() if by}
    noise = _variance(then, directions) + _variance(now, directions)
    growth = distance * max(0.0, 1.0 - noise / distance**2)
    neutral = Prompt(prompt.text, prompt.axis, prompt.concept)
    return WorsenedPrompt(
        neutral, text, directions, growth, max(len(prompt.images), len(before.seeds))
    )


def _variance(counts: Counter[str], directions: Mapping[str, int]) -> float:
    """Return the variance of the mean direction of the images, a little smoothed."""
    n = counts.total()
    mean = sum(directions.get(group, 0) * count for group, count in counts.items()) / n
    return max(1.0 - mean**2, 1.0 / n) / n
