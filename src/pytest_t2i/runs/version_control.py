"""Which commit of a project a run was made from, as git says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from shutil import which

PATIENCE = 10.0
"""Seconds that git may take; a run is recorded without its word then."""
COMMIT = re.compile(r"[0-9a-f]{40,64}")


def commit_of(folder: Path) -> dict[str, str | bool]:
    """``commit`` and ``changed``: whether files that git follows differ from it; {} without git.

    Files that git does not follow are not looked at.
    """
    commit = _asked(folder, "rev-parse", "HEAD")
    if commit is None or not COMMIT.fullmatch(commit):
        return {}
    changed = _asked(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return {"commit": commit} | ({} if changed is None else {"changed": bool(changed)})


def _asked(folder: Path, *words: str) -> str | None:
    git = which("git")
    if git is None:
        return None
    try:
        # Without locks: a run that only reports shall not stand in the way of a commit.
        answer = subprocess.run(  # noqa: S603 - words of ours alone
            [git, "--no-optional-locks", *words],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode(errors="replace").strip() if answer.returncode == 0 else None
