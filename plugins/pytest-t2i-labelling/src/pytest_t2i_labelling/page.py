"""The labelling page as one self-contained document: style and script inside, nothing fetched."""

from __future__ import annotations

import secrets
from dataclasses import asdict

from pytest_t2i import SelfContainedPage
from pytest_t2i.labels import OTHERS, Vocabulary

from pytest_t2i_labelling.desk import LONGEST_REASON, Desk

OWN = ("frame-ancestors 'none'", "img-src 'self'", "connect-src 'self'")
"""Pictures and answers come from this server alone."""


class Page:
    """Renders the page for a desk."""

    def __init__(self) -> None:
        self._page = SelfContainedPage("pytest_t2i_labelling", script="label.js", allowed=OWN)
        # Part of every picture's address: another sitting has other pictures under its numbers,
        # and a browser may remember those of this one.
        self._sitting = secrets.token_hex(8)

    def render(self, desk: Desk) -> tuple[str, str]:
        """The page, and the content security policy that goes with it."""
        title = desk.title()
        state = {
            **title,
            "choices": [asdict(choice) for choice in desk.vocabulary.choices],
            "needsReason": OTHERS,
            "entries": desk.entries(),
            "longestReason": LONGEST_REASON,
            "sitting": self._sitting,
        }
        return self._page.render(colours(desk.vocabulary), title=title, state=state)


def colours(vocabulary: Vocabulary) -> str:
    """The labels' colours as rules: the page's policy allows no style on an element."""
    # A place is a number, and a vocabulary has checked its colours.
    return "".join(
        f'\n[data-place="{place}"] {{ --tone: {choice.colour}; }}'
        for place, choice in enumerate(vocabulary.choices)
    )
