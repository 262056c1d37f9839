"""Self-contained pages: templates with their style and script inside, nothing fetched."""

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

from pytest_t2i.adapters.support.escaping import clean

CACHED = "__jinja2_t2i_cleaned_%s.cache"
"""Name of a compiled template: what is compiled hangs on the environment, which its name tells."""


class _Compiled(FileSystemBytecodeCache):
    """Templates that another process compiled, in a folder of the user's among temporary files."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        # A page is worth more than the half second that the next one takes longer.
        with suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled() -> _Compiled | None:
    """None where nothing compiled is to be kept, or no folder is the user's alone."""
    if sys.dont_write_bytecode:
        return None
    with suppress(OSError, RuntimeError):
        return _Compiled(pattern=CACHED)
    return None


def environment(package: str) -> Environment:
    """A package's folder ``templates``; values are cleaned and escaped, absent ones refused."""
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
    """Our own style or script, which is not to be escaped."""
    assert templates.loader is not None  # noqa: S101 - set above
    return Markup(templates.loader.get_source(templates, name)[0])  # noqa: S704 - our own file


class SelfContainedPage:
    """A page of a companion: ``templates/page.html.j2`` of its package, style and script inside.

    Values are cleaned and escaped, and the page's policy lets nothing else in.

    Args:
        package: whose folder ``templates`` has page.html.j2, style.css and the script.
        script: file name of the script; it is "script" in the template, the style "style".
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
        """The page, and the content security policy that goes with it.

        ``more_style`` is appended to style.css as it is: it must hold nothing from outside.
        """
        style = self._style + Markup(more_style)  # noqa: S704 - the caller's own
        html = self._templates.get_template("page.html.j2").render(
            style=style, script=self._script, **values
        )
        return html, content_policy(style, self._script, *self._allowed)


def content_policy(style: str, script: str, *allowed: str) -> str:
    """A content security policy: this style, this script, and what else is allowed by name.

    >>> content_policy("", "", "img-src data:").partition("; style-src")[0]
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:"
    """
    rules = ("default-src 'none'", "base-uri 'none'", "form-action 'none'", *allowed)
    return "; ".join((*rules, f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
