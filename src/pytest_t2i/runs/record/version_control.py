"""What git knows of a project: its commit."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from shutil import which

PATIENCE = 10.0
"""Longest time for a git command in seconds; after that the run is recorded without its answer."""
COMMIT = re.compile(r"[0-9a-f]{40,64}")


def commit_of(folder: Path) -> dict[str, str | bool]:
    """Return ``commit``, and ``changed``: whether tracked files in the folder differ from it.

    The mapping is empty without git or outside of a repository, and lacks ``changed`` if git does
    not answer.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None or not COMMIT.fullmatch(commit):
        return {}
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return {"commit": commit} | ({} if changed is None else {"changed": bool(changed)})


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of a git command; None if git is absent, fails or takes too long."""
    git = which("git")
    if git is None:
        return None
    try:
        # Without locks, so that the run does not block a commit made at the same time.
        answer = subprocess.run(  # noqa: S603 - no shell, and paths stand after a double dash
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
