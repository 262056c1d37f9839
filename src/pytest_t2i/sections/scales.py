"""Round ends for the scales of charts."""

from __future__ import annotations

HALF_WIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def half_width(reach: float) -> float:
    """Return the smallest round number that is at least ``reach``, else ``reach`` itself.

    >>> half_width(0.03), half_width(3.0)
    (0.05, 3.0)
    """
    return next((width for width in HALF_WIDTHS if width >= reach), reach)
