"""The level of comparisons with an anchor, of which those of many releases share one error."""

from __future__ import annotations

from pytest_t2i.verdicts.caveats.seams import Levels, Question

RELEASES = 20
"""Number of comparisons with an anchor that share the error of one: each is at a twentieth."""


class AnchorLevel:
    """A comparison with an anchor has a twentieth of the error of one with a baseline."""

    def level(self, question: Question, levels: Levels) -> Levels:
        if question.against != "anchor":
            return levels
        return levels._replace(own=1.0 - (1.0 - levels.own) / RELEASES)
