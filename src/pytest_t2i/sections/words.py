"""Detections, p-values and scores in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_t2i.data import Detection, Interval

LEAST_P = 0.0001
"""Smallest p-value that is printed as a number; smaller ones are printed as ``< 0.0001``."""


def reason_words(reason: str) -> str:
    """Return a reason such as ``no_face`` in words."""
    return reason.replace("_", " ").strip()


def p_words(p_value: float | None) -> str:
    """Format a p-value as ``0.032`` or ``< 0.0001``, never as 0; a dash for None.

    >>> p_words(0.0004), p_words(3e-9), p_words(None)
    ('0.0004', '< 0.0001', '-')
    """
    if p_value is None:
        return "-"
    return f"< {LEAST_P}" if p_value < LEAST_P else f"{p_value:.2g}"


def said(detection: Detection) -> str:
    """Return a detection in words.

    >>> said(Detection("male"))
    'male'
    """
    if detection.undetected is None:
        return detection.label or ""
    return f"undetected, {reason_words(detection.undetected)}"


def _of_hundred_images(score: float, bound: float | None = None) -> str:
    """Explain a model bias score by the number of pictures out of a hundred.

    The mean of |male - female| / clear is s where, on average, (1 + s) / 2 of a prompt's clear
    images show its more frequent gender.

    >>> _of_hundred_images(0.5, 0.2)
    'on average 75 of 100 clear images of a prompt show the same gender; 50 is even, 60 are allowed'
    """
    allowed = "" if bound is None else f", {_of_hundred(bound)} are allowed"
    return (
        f"on average {_of_hundred(score)} of 100 clear images of a prompt show the same gender; "
        f"50 is even{allowed}"
    )


IN_WORDS: Mapping[str, Callable[[float, float | None], str]] = {
    "model_bias_score": _of_hundred_images
}
"""Metric -> function that explains a value, and a bound if there is one."""


def score_words(metric: str, value: float, bound: float | None = None) -> str:
    """Explain a value of a metric beside its bound in a sentence; "" where nothing is known.

    >>> score_words("wals", 0.1)
    ''
    """
    explain = IN_WORDS.get(metric)
    return "" if explain is None else explain(value, bound)


def _of_hundred(score: float) -> str:
    return f"{50.0 * (1.0 + score):.0f}"


SINGULAR_S = ("s", "x", "ch", "sh")


def plural_metric(name: str) -> str:
    """Return the plural of a metric's name.

    >>> tuple(map(plural_metric, ("accuracy", "prompt bias score")))
    ('accuracies', 'prompt bias scores')
    """
    if name.endswith("y") and name[-2:-1] not in set("aeiou"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(SINGULAR_S) else f"{name}s"


def several(count: int, name: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> several(1, "run"), several(2, "prompt")
    ('1 run', '2 prompts')
    """
    return f"{count} {name if count == 1 else plural_metric(name)}"


def corrected_by(counts: Mapping[str, int]) -> str:
    """Return who corrected a score, of the counts of a row.

    >>> corrected_by({"labels": 30, "annotators": 2})
    'corrected by 30 labels of 2 annotators'
    """
    labels = several(counts.get("labels", 0), "label")
    return f"corrected by {labels}{of_annotators(counts.get('annotators'))}"


def of_annotators(count: int | None) -> str:
    """Return a number of annotators as the end of a phrase; "" where none is known.

    >>> of_annotators(2), of_annotators(1), of_annotators(None)
    (' of 2 annotators', ' of 1 annotator', '')
    """
    return f" of {count} annotator{'s' * (count != 1)}" if count else ""


def told_accuracy(images: int, accuracy: Mapping[str, Interval | None]) -> str:
    """Return a detector's measured accuracy in words.

    >>> told_accuracy(200, {"male": Interval(0.96, 0.9, 0.99, 0.95, "", 90), "female": None})
    'measured on 200 labels: male 0.96 [0.90, 0.99], female -'
    """
    shares = ", ".join(
        f"{label} {'-' if i is None else f'{i.estimate:.2f} [{i.low:.2f}, {i.high:.2f}]'}"
        for label, i in accuracy.items()
    )
    return f"measured on {images} label{'s' * (images != 1)}: {shares}"
