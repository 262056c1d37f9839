"""A run while it goes on: what it needs, as it notes in its store, and what the store has of it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pytest_t2i.data import FactKind, Request
from pytest_t2i.errors import StoreError, printable
from pytest_t2i.files import is_relative
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.generation.store.locks import LOCKS, is_locked, living_owner, owner_file
from pytest_t2i.generation.store.repair import check_is_store
from pytest_t2i.generation.store.row_digests import query_rows
from pytest_t2i.generation.store.rows import is_sealed
from pytest_t2i.runs.session import Session


class LiveNote(msgspec.Struct, frozen=True):
    """What a run notes about itself in its store; the latest run that uses a store replaces it."""

    run: str
    model: str
    started: float
    report: str
    """Path of the report's page, relative to the store."""
    owner: str
    """The process that makes images; "" where several do."""
    detectors: tuple[str, ...]
    """Fingerprints of the detectors, that which decides first; () before they are loaded."""
    round: int
    """Number of times that images were asked for; more than one with early stopping."""
    is_over: bool = False


class LivePrompt(msgspec.Struct, frozen=True):
    """The images that a run needs of one prompt."""

    name: str
    """The prompt's id, with the variation of its images if they have one."""
    keys: tuple[str, ...]
    is_open: bool
    """Whether early stopping may ask for more images: the latest round asks for some."""


@dataclass
class Announcing:
    """Notes in the store what a run needs each time that it asks for images."""

    session: Session
    _needs: dict[str, dict[str, None]] = field(default_factory=dict)
    """Prompt -> keys of its images, in the order in which they were asked for."""
    _rounds: int = 0

    def __call__(self, plan: Plan) -> None:
        """Write the note on a plan that has its keys."""
        self._rounds += 1
        session, names = self.session, [_name(request, plan) for request in plan]
        for name, key in zip(names, plan.keys.values(), strict=True):
            self._needs.setdefault(name, {})[key] = None
        is_open = set(names) if session.settings.sequential else ()
        prompts = [
            LivePrompt(name, tuple(needed), name in is_open) for name, needed in self._needs.items()
        ]
        components, store = session.components, session.store
        report = session.settings.report.absolute() / "index.html"
        note = LiveNote(
            run=_run_id(session),
            model=components.model().name,
            started=session.started,
            report=os.path.relpath(report, store.folder),
            owner="" if components.run_id else store.owner.name,
            detectors=tuple(self._fingerprints()),
            round=self._rounds,
        )
        store.remember(FactKind.LIVE_NEEDS, msgspec.to_builtins(prompts))
        store.remember(FactKind.LIVE, msgspec.to_builtins(note))

    def _fingerprints(self) -> Iterator[str]:
        """Yield the fingerprints of the detectors that need not be loaded to know them."""
        for name in self.session.detectors:
            fingerprint = self.session.components.detector(DetectorRef(name)).known_fingerprint
            if fingerprint is not None:
                yield fingerprint


def conclude(session: Session) -> None:
    """Note that a run is over; nothing where another run has replaced its note."""
    note = session.store.fact(FactKind.LIVE)
    if isinstance(note, dict) and note.get("run") == _run_id(session):
        session.store.remember(FactKind.LIVE, note | {"is_over": True})
        session.store.forget(FactKind.LIVE_NEEDS)


def _run_id(session: Session) -> str:
    return session.components.run_id or session.components.own_id


def _name(request: Request, plan: Plan) -> str:
    """Return the id of the prompt, with the variation of its images if they have one."""
    variation, prompt = request.variation, plan.prompts[plan.prompt_text(request)].id
    return f"{prompt} ({variation.name})" if variation and variation.name else prompt


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """The images of one prompt so far."""

    name: str
    needed: int
    made: int
    judged: int
    labels: Mapping[str, int]
    """Label -> number of images."""
    undetected: int
    is_open: bool
    """Whether images are missing or, with early stopping, more may be asked for."""


@dataclass(frozen=True, slots=True)
class LiveView:
    """A run at one moment."""

    note: LiveNote
    prompts: tuple[LiveCounts, ...]
    latest: tuple[tuple[Path, str, str], ...]
    """File, prompt and label of the images that were made last, the last first."""
    is_alive: bool
    """Whether a process of the run lives."""

    @property
    def needed(self) -> int:
        """Number of images that the run needs, as far as it has asked for them."""
        return sum(prompt.needed for prompt in self.prompts)

    @property
    def made(self) -> int:
        """Number of these that are in the store."""
        return sum(prompt.made for prompt in self.prompts)

    @property
    def judged(self) -> int:
        """Number of these that the deciding detector has looked at."""
        return sum(prompt.judged for prompt in self.prompts)

    @property
    def undecided(self) -> int:
        """Number of prompts that are open; none once the run is over."""
        return 0 if self.note.is_over else sum(prompt.is_open for prompt in self.prompts)


IMAGES = "SELECT key, file, refusal, created FROM images WHERE key IN ({keys})"
DETECTIONS = "SELECT key, detector, label FROM detections WHERE key IN ({keys})"
FACT = "SELECT name, value, seal FROM facts WHERE name IN ({keys})"
LATEST = 24
"""Number of images shown."""


class Watching:
    """Looks at the run that uses a store; images that are made and judged are read once."""

    def __init__(self, folder: Path) -> None:
        check_is_store(folder)
        self._folder = folder
        self._needs: tuple[tuple[str, int], tuple[LivePrompt, ...]] = (("", 0), ())
        self._files: dict[str, tuple[str | None, str]] = {}
        """Key of a made image -> its file, None for a refused one, and when it was made."""
        self._labels: dict[str, dict[str, str | None]] = {}
        """Key -> detector -> label."""

    def look(self) -> LiveView | None:
        """Return what the store has; None where no run of this version has used it."""
        note = self._note()
        if note is None:
            return None
        now = (note.run, note.round)
        if not note.is_over and self._needs[0] != now:
            self._needs = (now, self._fact(FactKind.LIVE_NEEDS, tuple[LivePrompt, ...]) or ())
        prompts = self._needs[1]
        self._read([key for prompt in prompts for key in prompt.keys], note.detectors)
        by = self._deciding(note.detectors)
        return LiveView(
            note,
            tuple(self._counts(prompt, by) for prompt in prompts),
            tuple(self._latest(prompts, by)),
            not note.is_over and self._is_alive(note),
        )

    def _note(self) -> LiveNote | None:
        note: LiveNote | None = self._fact(FactKind.LIVE, LiveNote)
        return note

    def _fact(self, name: str, kind: Any) -> Any:
        rows = query_rows(self._folder, FACT, [name])
        if not rows or not is_sealed(rows[0]):
            return None
        try:
            return msgspec.convert(json.loads(rows[0][1]), kind)
        except (ValueError, msgspec.ValidationError) as error:
            raise StoreError(
                f"{self._folder}: the note on the run that uses this store cannot be read "
                f"({error}): another version of pytest-t2i wrote it. Watch with that version"
            ) from None

    def _is_alive(self, note: LiveNote) -> bool:
        if note.owner:
            return is_locked(owner_file(self._folder / LOCKS, note.owner))
        return bool(living_owner(self._folder))

    def _read(self, keys: Sequence[str], detectors: Sequence[str]) -> None:
        """Read what is new since the last look."""
        absent = [key for key in keys if key not in self._files]
        for key, file, _, created in query_rows(self._folder, IMAGES, absent):
            self._files[key] = (file, created)
        by = set(detectors)
        unjudged = [
            key
            for key, (file, _) in self._files.items()
            if file is not None and (not by or not by <= self._labels.get(key, {}).keys())
        ]
        for key, detector, label in query_rows(self._folder, DETECTIONS, unjudged):
            self._labels.setdefault(key, {})[detector] = label

    def _deciding(self, detectors: Sequence[str]) -> str:
        """Return the fingerprint of the deciding detector; before it is known the most frequent."""
        if detectors:
            return detectors[0]
        counts = Counter(name for labels in self._labels.values() for name in sorted(labels))
        return counts.most_common(1)[0][0] if counts else ""

    def _counts(self, prompt: LivePrompt, by: str) -> LiveCounts:
        there = [key for key in prompt.keys if key in self._files]
        refused = sum(self._files[key][0] is None for key in there)
        labels = [self._labels[key][by] for key in there if by in self._labels.get(key, {})]
        judged = len(labels) + refused
        return LiveCounts(
            prompt.name,
            len(prompt.keys),
            len(there),
            judged,
            Counter(printable(label) for label in labels if label is not None),
            refused + labels.count(None),
            prompt.is_open if judged == len(prompt.keys) else True,
        )

    def _latest(self, prompts: Sequence[LivePrompt], by: str) -> Iterator[tuple[Path, str, str]]:
        names = {key: prompt.name for prompt in prompts for key in prompt.keys}
        shown = [
            (created, key, file)
            for key, (file, created) in self._files.items()
            if key in names and file is not None and is_relative(file)
        ]
        for _, key, file in sorted(shown, reverse=True)[:LATEST]:
            labels = self._labels.get(key, {})
            label = (labels[by] or "undetected") if by in labels else "not judged yet"
            yield self._folder / file, names[key], label
