"""Detections, p-values and scores in words."""

from __future__ import annotations

from pytest_t2i.data import Detection

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


def of_hundred_images(score: float, bound: float | None = None) -> str:
    """Explain a model bias score by the number of pictures out of a hundred.

    The mean of |male - female| / clear is s where, on average, (1 + s) / 2 of a prompt's clear
    images show its more frequent gender.

    >>> of_hundred_images(0.5, 0.2)
    'on average 75 of 100 clear images of a prompt show the same gender; 50 is even, 60 are allowed'
    """
    allowed = "" if bound is None else f", {_of_hundred(bound)} are allowed"
    return (
        f"on average {_of_hundred(score)} of 100 clear images of a prompt show the same gender; "
        f"50 is even{allowed}"
    )


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
