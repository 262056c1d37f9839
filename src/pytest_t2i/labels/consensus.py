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
        if len({one.label for one in labels_of if one.annotator != ADJUDICATED}) > 1
    }


def open_disagreements(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Those disagreements that nobody has settled yet."""
    return {
        file: labels_of
        for file, labels_of in disagreements(labels).items()
        if all(one.annotator != ADJUDICATED for one in labels_of)
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
    settled = [one.label for one in labels if one.annotator == ADJUDICATED]
    if settled:
        return settled[0]
    said = {one.label for one in labels}
    return said.pop() if len(said) == 1 else LOW_QUALITY


def by_file(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """File -> its labels, sorted by file."""
    found: dict[str, list[Label]] = {}
    for one in labels:
        found.setdefault(one.file, []).append(one)
    return dict(sorted(found.items()))
