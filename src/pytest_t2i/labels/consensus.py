"""The rules that turn several people's labels into one per image (Lyu section 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pytest_t2i.labels.label import ADJUDICATED, UNSETTLED, Label


def disagreements(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Return the labels of each file that people label differently, adjudicated ones included.

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
    """Return the disagreements that nobody has settled yet, by file."""
    return {
        file: labels_of
        for file, labels_of in disagreements(labels).items()
        if all(label.annotator != ADJUDICATED for label in labels_of)
    }


def agreed(labels: Iterable[Label], rule: str = "majority") -> dict[str, str]:
    """Return the final label of each file: the adjudicated one, else that of the rule.

    Args:
        labels: labels of all annotators.
        rule: "unanimous" takes the label that all annotators of the image gave. "majority" takes
            the label that more than half of them gave, so both of two, as in the paper. "plurality"
            takes the most frequent label. If there is no such label, ties included, the final label
            is "unsettled" until somebody adjudicates.

    >>> two = [Label("a.png", "male", "ada"), Label("a.png", "female", "bo")]
    >>> agreed(two), agreed([*two, Label("a.png", "female", "adjudicated")])
    ({'a.png': 'unsettled'}, {'a.png': 'female'})
    >>> three = [*two, Label("a.png", "male", "cy")]
    >>> agreed(three), agreed(three, "unanimous")
    ({'a.png': 'male'}, {'a.png': 'unsettled'})
    """
    return {file: _final(labels_of, rule) for file, labels_of in by_file(labels).items()}


def _final(labels: list[Label], rule: str) -> str:
    settled = [label.label for label in labels if label.annotator == ADJUDICATED]
    if settled:
        return settled[0]
    (first, most), *runners_up = Counter(label.label for label in labels).most_common()
    second = runners_up[0][1] if runners_up else 0
    enough = {
        "unanimous": second == 0,
        "majority": 2 * most > len(labels),
        "plurality": most > second,
    }
    return first if enough[rule] else UNSETTLED


def by_file(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Return the labels of each file, sorted by file."""
    grouped: dict[str, list[Label]] = {}
    for label in labels:
        grouped.setdefault(label.file, []).append(label)
    return dict(sorted(grouped.items()))
