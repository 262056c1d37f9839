"""Self-contained HTML pages: templates with style and script inside, without external files."""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from pytest_t2i.sections.escaping import clean

CACHED = "__jinja2_t2i_cleaned_%s.cache"
"""File name of a compiled template, which depends on the settings of the environment."""


class _Compiled(FileSystemBytecodeCache):
    """A cache of compiled templates in a temporary folder of the user."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        # A cache that cannot be written only costs the next page half a second.
        with suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled() -> _Compiled | None:
    """The cache; None where Python writes no bytecode, or no folder belongs to the user alone."""
    if sys.dont_write_bytecode:
        return None
    with suppress(OSError, RuntimeError):
        return _Compiled(pattern=CACHED)
    return None


def environment(package: str) -> Environment:
    """An environment of a package's ``templates``; it escapes values and refuses undefined ones."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=clean,
        bytecode_cache=_compiled(),
    )


def own_source(templates: Environment, name: str) -> Markup:
    """A style or script of the package itself, which is not escaped."""
    assert templates.loader is not None  # noqa: S101 - set above
    return Markup(templates.loader.get_source(templates, name)[0])  # noqa: S704 - our own file


class SelfContainedPage:
    """A page of a companion from its ``templates/page.html.j2``, with style and script inside.

    Values are cleaned and escaped, and the page's content security policy allows nothing else.

    Args:
        package: name of the package; its ``templates`` has page.html.j2, style.css and the script.
        script: file name of the script. The template's variables are ``script`` and ``style``.
        allowed: further rules of the content security policy, such as "img-src 'self'".

    >>> SelfContainedPage("pytest_t2i_without_templates", script="page.js")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: No module named 'pytest_t2i_without_templates'
    """

    def __init__(self, package: str, *, script: str, allowed: Sequence[str] = ()) -> None:
        self._templates = environment(package)
        self._style = own_source(self._templates, "style.css")
        self._script = own_source(self._templates, script)
        self._allowed = tuple(allowed)

    def render(self, more_style: str = "", **values: Any) -> tuple[str, str]:
        """The page and its content security policy.

        ``more_style`` is appended to style.css unescaped: it must not contain text of others.
        """
        style = self._style + Markup(more_style)  # noqa: S704 - the caller's own
        html = self._templates.get_template("page.html.j2").render(
            style=style, script=self._script, **values
        )
        return html, content_policy(style, self._script, *self._allowed)


def content_policy(style: str, script: str, *allowed: str) -> str:
    """A content security policy that allows this style, this script and the rules given.

    >>> content_policy("", "", "img-src data:").partition("; style-src")[0]
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:"
    """
    rules = ("default-src 'none'", "base-uri 'none'", "form-action 'none'", *allowed)
    return "; ".join((*rules, f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
