"""Self-contained pages: templates with their style and script inside, nothing fetched."""

from __future__ import annotations

import base64
import hashlib

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment(package: str) -> Environment:
    """A package's folder ``templates``; values are escaped, absent ones refused."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def own_source(templates: Environment, name: str) -> Markup:
    """Our own style or script, which is not to be escaped."""
    assert templates.loader is not None  # noqa: S101 - set above
    return Markup(templates.loader.get_source(templates, name)[0])  # noqa: S704 - our own file


def content_policy(style: str, script: str, *allowed: str) -> str:
    """A content security policy: this style, this script, and what else is allowed by name.

    >>> content_policy("", "", "img-src data:").partition("; style-src")[0]
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:"
    """
    rules = ("default-src 'none'", "base-uri 'none'", "form-action 'none'", *allowed)
    return "; ".join((*rules, f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
