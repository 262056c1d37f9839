"""Detectors against an earlier version, and label by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_t2i import statistics
from pytest_t2i.data import Limit, Undetected
from pytest_t2i.errors import BaselineMismatchError
from pytest_t2i.labels import LabelledSet
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.detectors import paired_share_change
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline, as_text, word_of
from pytest_t2i.verdicts.measurement import Change, unchanged

MARGINS = {"accuracy": 0.02, "filter_recall": 0.02, "filter_rate": 0.05, "filter_precision": 0.02}
"""Losses that are tolerated without a margin in the limits file."""
SAME = "identical: the same detector says the same of the same images as recorded"
NAMED = 8
"""Largest number of images that a text names as worse than in the baseline."""


@dataclass(frozen=True, slots=True)
class RecordedTrial:
    """What one detector of a baseline said of labelled images."""

    labelled: str
    """Fingerprint of the labelled set."""
    detector_fingerprint: str
    words: Mapping[str, str]
    """File -> label, or "undetected:" and the reason."""

    def __post_init__(self) -> None:
        _ = self.said

    @property
    def said(self) -> dict[str, str | Undetected]:
        """File -> label, or the reason why the image is undetected."""
        return {file: word_of(text) for file, text in self.words.items()}

    @classmethod
    def of(
        cls, labelled: LabelledSet, fingerprint: str, said: Iterable[str | Undetected]
    ) -> RecordedTrial:
        """Return what a detector said of each image, as a baseline keeps it."""
        pairs = zip(labelled, said, strict=True)
        words = {image.file: as_text(word) for image, word in pairs}
        return cls(labelled.fingerprint, fingerprint, words)


def recorded_trial(baseline: Baseline, detector: str, labelled: str) -> RecordedTrial:
    trials = baseline.part("detector_validation", dict[str, RecordedTrial])
    recorded = (trials or {}).get(detector)
    if recorded is None or recorded.labelled != labelled:
        what = "has no trial of" if recorded is None else "tried other labelled images with"
        raise BaselineMismatchError(
            f"the baseline {what} detector {detector!r}. Record a new one with --t2i-save-baseline."
        )
    return recorded


def share_change(
    metric: str,
    before: Mapping[str, bool],
    now: Mapping[str, bool],
    margin: float | None,
    level: float,
    *,
    is_same: bool,
) -> Change:
    """Compare a share on the same images: a loss beyond the margin is a regression."""
    files = sorted(before.keys() & now.keys())
    lost = [file for file in files if before[file] and not now[file]]
    gained = sum(now[file] and not before[file] for file in files)
    tolerated = MARGINS[metric] if margin is None else margin
    limit = Limit(metric, tolerated, "largest worsening tolerated against the baseline")
    if is_same:
        return unchanged(limit, len(files), SAME)
    change = None
    if files:
        at = statistics.one_sided(level)
        change = paired_share_change(gained, len(lost), len(files), at)
    return Change(
        judge.judge(change, limit, "higher"),
        change,
        "no image counts both in the baseline and now",
        (f"worse on {several(len(lost), 'image')}, better on {gained}: {', '.join(lost[:NAMED])}",),
    )
