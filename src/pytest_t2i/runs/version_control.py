"""What git knows of a project: its commit, and who changed which limit when."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import NamedTuple

from pytest_t2i.errors import T2IError
from pytest_t2i.verdicts.limits_file import limits_in_table

PATIENCE = 10.0
"""Longest time for a git command in seconds; after that the run is recorded without its answer."""
COMMIT = re.compile(r"[0-9a-f]{40,64}")
MOST_COMMITS = 50
"""Number of commits of a limits file that are read, the latest first."""
MOST_CHANGES = 20
"""Number of changes of limits that a record holds, the latest first."""
UNCOMMITTED = "not committed"
SHALLOW = "not known: git has only a part of the history here (in CI, fetch-depth: 0 brings it all)"


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


class LimitChange(NamedTuple):
    """A limit that somebody changed.

    >>> print(LimitChange("model_bias_score", 0.2, 0.3, "Ann", "2026-11-20T10:00:00+01:00"))
    model_bias_score 0.2 -> 0.3 by Ann, 2026-11-20
    """

    name: str
    before: float | None
    """Bound before; None for a new limit."""
    after: float | None
    """Bound after; None for a limit that was removed."""
    author: str
    """Author of the commit; UNCOMMITTED for a change of the working tree."""
    moment: str
    """Time of the commit, ISO 8601; "" for a change of the working tree."""

    def __str__(self) -> str:
        before, after = (
            word if bound is None else f"{bound:g}"
            for bound, word in ((self.before, "new"), (self.after, "removed"))
        )
        who = f"by {self.author}, {self.moment[:10]}" if self.moment else self.author
        return f"{self.name} {before} -> {after} {who}"


def limit_changes(files: Iterable[Path]) -> list[str]:
    """Return the changes of the limits in these files, the latest first; [] without git."""
    changes: list[LimitChange] = []
    is_shallow = False
    for file in files:
        found, is_cut = _changes_of(file.resolve())
        changes += found
        is_shallow = is_shallow or is_cut
    changes.sort(key=lambda change: (not change.moment, change.moment), reverse=True)
    lines = [str(change) for change in changes[:MOST_CHANGES]]
    if more := len(changes) - len(lines):
        lines.append(f"and {more} earlier ones")
    return [*lines, SHALLOW] if is_shallow else lines


class _Version(NamedTuple):
    """The bounds of a limits file at one time."""

    bounds: Mapping[str, float]
    author: str
    moment: str


def _changes_of(file: Path) -> tuple[list[LimitChange], bool]:
    """Return the changes of one file, and whether git lacks a part of its history."""
    log = _git(
        file.parent, "log", f"--max-count={MOST_COMMITS}", "--format=%H%x00%an%x00%aI", "--",
        file.name,
    )  # fmt: skip
    if not log:
        return [], False
    versions = list(_versions(file, log.splitlines()))
    is_shallow = _git(file.parent, "rev-parse", "--is-shallow-repository") == "true"
    changes = [change for pair in pairwise(versions) for change in _between(*pair)]
    return changes, is_shallow


def _versions(file: Path, commits: Iterable[str]) -> Iterator[_Version]:
    """Yield what can be read of the file, the latest version first."""
    for text, author, moment in _texts(file, commits):
        try:
            limits = limits_in_table(file, tomllib.loads(text))
        except (T2IError, tomllib.TOMLDecodeError):
            continue  # somebody's version that no run could read, or of another version of this
        yield _Version({name: limit.bound for name, limit in limits.items()}, author, moment)


def _texts(file: Path, commits: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    yield file.read_text("utf-8", "replace"), UNCOMMITTED, ""
    for line in commits:
        commit, author, moment = line.split("\0")
        text = _git(file.parent, "show", f"{commit}:./{file.name}")
        if text is not None:
            yield text, author, moment


def _between(after: _Version, before: _Version) -> Iterator[LimitChange]:
    """Yield the limits of which two neighbouring versions differ."""
    for name in dict.fromkeys([*before.bounds, *after.bounds]):
        old, new = before.bounds.get(name), after.bounds.get(name)
        if old != new:
            yield LimitChange(name, old, new, after.author, after.moment)


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
