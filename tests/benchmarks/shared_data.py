"""The test data beside the project, and tables as the documentation shows them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared" / "data"


def data(*parts: str) -> Path:
    """A folder or file of the test data; ends the script where there is none."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        sys.exit(f"skipped: there is no ../shared/data/{'/'.join(parts)} beside the project")
    return path


def heading(*distributions: str) -> str:
    """Date and versions."""
    named = ", ".join(f"{name} {_version(name)}" for name in distributions)
    return f"{datetime.now(UTC):%Y-%m-%d}; {named}\n"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown, numbers with three places."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|---" + "|---:" * (len(header) - 1) + "|")
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
