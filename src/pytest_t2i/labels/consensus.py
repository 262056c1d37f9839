"""From several people's labels to one per image (Lyu section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_t2i.labels.records import ADJUDICATED, LOW_QUALITY, Label


def disagreements(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """File -> its labels, for files that people label differently; adjudicated ones included.

    >>> two = [Label("a.png", "male", "ada"), Label("a.png", "female", "bo")]
    >>> list(disagreements(two))
    ['a.png']
    """
    return {
        file: labels_of
        for file, labels_of in by_file(labels).items()
        if len({label.label for label in labels_of if label.annotator != ADJUDICATED}) > 1
    }


def open_disagreements(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Those disagreements that nobody has settled yet."""
    return {
        file: labels_of
        for file, labels_of in disagreements(labels).items()
        if all(label.annotator != ADJUDICATED for label in labels_of)
    }


def agreed(labels: Iterable[Label]) -> dict[str, str]:
    """File -> final label: the adjudicated one, else the one all agree on, else low_quality.

    An unresolved disagreement counts as low quality, as in the paper.

    >>> two = [Label("a.png", "male", "ada"), Label("a.png", "female", "bo")]
    >>> agreed(two), agreed([*two, Label("a.png", "female", "adjudicated")])
    ({'a.png': 'low_quality'}, {'a.png': 'female'})
    """
    return {file: _final(labels_of) for file, labels_of in by_file(labels).items()}


def _final(labels: list[Label]) -> str:
    settled = [label.label for label in labels if label.annotator == ADJUDICATED]
    if settled:
        return settled[0]
    said = {label.label for label in labels}
    return said.pop() if len(said) == 1 else LOW_QUALITY


def by_file(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """File -> its labels, sorted by file."""
    grouped: dict[str, list[Label]] = {}
    for label in labels:
        grouped.setdefault(label.file, []).append(label)
    return dict(sorted(grouped.items()))
