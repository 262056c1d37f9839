"""Whether two golden records are equal, but for what depends on the machine."""

from __future__ import annotations

import difflib
import math
import re

NUMBER, CLOSE = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"), 1e-8
BLANKS = re.compile(r"[\s,]*([\[\]{}])[\s,]*|[\s,]+")
MOST = 40
"""Lines of a difference that are shown."""


def difference(before: str, now: str) -> str:
    """The first lines that differ; "" where the records are equal."""
    if is_same(before, now):
        return ""
    found = difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", n=1)
    return "\n".join(list(found)[:MOST])


def is_same(before: str, now: str) -> bool:
    """Whether two texts are equal, but for blanks and for what depends on the machine."""
    if before == now:
        return True
    before, now = (BLANKS.sub(r"\1 ", text) for text in (before, now))
    pairs = zip(map(float, NUMBER.findall(before)), map(float, NUMBER.findall(now)), strict=False)
    return NUMBER.split(before) == NUMBER.split(now) and all(
        math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE) for old, new in pairs
    )
