"""Self-contained pages: templates with their style and script inside, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
import sys
from contextlib import suppress

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


def content_policy(style: str, script: str, *allowed: str) -> str:
    """A content security policy: this style, this script, and what else is allowed by name.

    >>> content_policy("", "", "img-src data:").partition("; style-src")[0]
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:"
    """
    rules = ("default-src 'none'", "base-uri 'none'", "form-action 'none'", *allowed)
    return "; ".join((*rules, f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
