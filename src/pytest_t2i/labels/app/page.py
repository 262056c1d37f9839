"""The labelling page as one self-contained document: style and script inside, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
import secrets

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_t2i.labels.app.desk import LONGEST_REASON, Desk


class Page:
    """Renders the page for a desk."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("pytest_t2i.labels.app"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        # Part of every picture's address: another sitting has other pictures under its numbers,
        # and a browser may remember those of this one.
        self._sitting = secrets.token_hex(8)
        self._style, self._script = self._source("style.css"), self._source("label.js")

    def render(self, desk: Desk) -> tuple[str, str]:
        """The page, and the content security policy that goes with it."""
        title = desk.title()
        state = {
            **title,
            "entries": desk.entries(),
            "longestReason": LONGEST_REASON,
            "sitting": self._sitting,
        }
        html = self._environment.get_template("page.html.j2").render(
            title=title,
            state=state,
            style=Markup(self._style),  # noqa: S704 - our own file
            script=Markup(self._script),  # noqa: S704 - our own file
        )
        return html, self._policy()

    def _source(self, name: str) -> str:
        assert self._environment.loader is not None  # noqa: S101 - set above
        return self._environment.loader.get_source(self._environment, name)[0]

    def _policy(self) -> str:
        """Only our own style and script, pictures and answers of this server alone."""
        return (
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "img-src 'self'; connect-src 'self'; "
            f"style-src '{_hash(self._style)}'; script-src '{_hash(self._script)}'"
        )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
