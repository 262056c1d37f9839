"""Hooks of MkDocs: links from docs/ to other files of the repository go to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
REPOSITORY = DOCS.parent
FENCE = re.compile(r"(^ *```.*?^ *```[^\S\n]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s:]+)(#[^)\s]*)?(\))")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links as they are on the site; those in code blocks stay."""
    del files
    here = Path(page.file.abs_src_path).parent
    parts = FENCE.split(markdown)
    base = f"{config.repo_url.rstrip('/')}/blob/main"
    return "".join(
        part if number % 2 else LINK.sub(lambda m: _outside(m, here, base), part)
        for number, part in enumerate(parts)
    )


def _outside(match: re.Match[str], here: Path, base: str) -> str:
    """A link, rewritten where it leads out of docs/; MkDocs checks the others."""
    before, target, anchor, after = match.groups()
    path = (here / target).resolve()
    if path.is_relative_to(DOCS):
        return match.group()
    if not path.exists():
        raise FileNotFoundError(f"{here}: a link leads to {target}, which is not there")
    return f"{before}{base}/{path.relative_to(REPOSITORY).as_posix()}{anchor or ''}{after}"
