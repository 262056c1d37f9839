"""The labelling page: one self-contained document with its style and script."""

from __future__ import annotations

import secrets
from dataclasses import asdict

from pytest_t2i import SelfContainedPage
from pytest_t2i.labels import OTHERS, Vocabulary

from pytest_t2i_labelling.desk import LONGEST_REASON, Desk

OWN = ("frame-ancestors 'none'", "img-src 'self'", "connect-src 'self'")
"""Content security rules: pictures and answers come from this server alone."""


class Page:
    """The renderer of the page for a desk."""

    def __init__(self) -> None:
        self._page = SelfContainedPage("pytest_t2i_labelling", script="label.js", allowed=OWN)
        # Part of every picture's address, as a browser may cache pictures of another sitting, whose
        # numbers stand for other files.
        self._sitting = secrets.token_hex(8)

    def render(self, desk: Desk) -> tuple[str, str]:
        """Return the page, and its content security policy."""
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
    """Return CSS rules of the labels' colours, as the policy allows no style on an element."""
    # Nothing needs escaping: a place is a number, and the vocabulary has checked its colours.
    return "".join(
        f'\n[data-place="{place}"] {{ --tone: {choice.colour}; }}'
        for place, choice in enumerate(vocabulary.choices)
    )
