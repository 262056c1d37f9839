"""The labelling page as one self-contained document: style and script inside, nothing fetched."""

from __future__ import annotations

import secrets
from dataclasses import asdict

from markupsafe import Markup

from pytest_t2i.adapters.support.html import content_policy, environment, own_source
from pytest_t2i.labels import Vocabulary
from pytest_t2i.labels.app.desk import LONGEST_REASON, Desk
from pytest_t2i.labels.label import OTHERS


class Page:
    """Renders the page for a desk."""

    def __init__(self) -> None:
        self._templates = environment("pytest_t2i.labels.app")
        # Part of every picture's address: another sitting has other pictures under its numbers,
        # and a browser may remember those of this one.
        self._sitting = secrets.token_hex(8)
        self._style = own_source(self._templates, "style.css")
        self._script = own_source(self._templates, "label.js")

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
        style = self._style + colours(desk.vocabulary)
        html = self._templates.get_template("page.html.j2").render(
            title=title, state=state, style=style, script=self._script
        )
        # Pictures and answers come from this server alone.
        own = ("frame-ancestors 'none'", "img-src 'self'", "connect-src 'self'")
        return html, content_policy(style, self._script, *own)


def colours(vocabulary: Vocabulary) -> Markup:
    """The labels' colours as rules: the page's policy allows no style on an element."""
    rules = "".join(
        f'\n[data-place="{place}"] {{ --tone: {choice.colour}; }}'
        for place, choice in enumerate(vocabulary.choices)
    )
    # A place is a number, and a vocabulary has checked its colours.
    return Markup(rules)  # noqa: S704
