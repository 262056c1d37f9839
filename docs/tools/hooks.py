"""Hooks of MkDocs: the README is the first page, and links out of docs/ lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
REPOSITORY = DOCS.parent
FENCE = re.compile(r"(^ *```.*?^ *```[^\S\n]*$)", re.MULTILINE | re.DOTALL)
DECISIONS = DOCS / "decisions"
FIRST_PAGE = "index.md"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s:]+)(#[^)\s]*)?(\))")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links as they are on the site; those in code blocks stay."""
    del files
    here = Path(page.file.abs_src_path).parent
    if page.file.src_uri == FIRST_PAGE:
        markdown = readme()
    parts = FENCE.split(markdown)
    base = f"{config.repo_url.rstrip('/')}/blob/main"
    return "".join(
        part if number % 2 else LINK.sub(lambda m: _outside(m, here, base), part)
        for number, part in enumerate(parts)
    )


def readme() -> str:
    """The README, its links written from docs/, without what only those who change the code run."""
    text, _, _ = (REPOSITORY / "README.md").read_text(encoding="utf-8").partition("## Develop")
    return re.sub(r"\]\((?!\w+:|docs/)", "](../", text).replace("](docs/", "](")


def _outside(match: re.Match[str], here: Path, base: str) -> str:
    """A link, rewritten where it leads out of the site; MkDocs checks the others."""
    before, target, anchor, after = match.groups()
    path = (here / target).resolve()
    if path.is_relative_to(DOCS) and not path.is_relative_to(DECISIONS):
        return match.group()
    if not path.exists():
        raise FileNotFoundError(f"{here}: a link leads to {target}, which is not there")
    return f"{before}{base}/{path.relative_to(REPOSITORY).as_posix()}{anchor or ''}{after}"
