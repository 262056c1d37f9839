"""The page of a run that goes on, which the browser reads again every few seconds."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from pytest_t2i.files import write_whole
from pytest_t2i.reporting.formatting import several
from pytest_t2i.reporting.html import PICTURES, rendered
from pytest_t2i.reporting.html_blocks import drawn
from pytest_t2i.runs.live import LiveCounts, LiveView
from pytest_t2i.runs.picture_paths import without_machine
from pytest_t2i.sections import Album, Paragraph, Picture, Section, Table
from pytest_t2i.sections.blocks import Cell

NAME = "live.html"
"""Name of the page in the store, so that its links to pictures stay inside of it."""
MOST_LABELS = 6
"""Number of labels with a column of their own."""


def write_live_page(view: LiveView, folder: Path, every: float, speed: str = "") -> Path:
    """Write the page into the folder of the store, atomically; return its path."""
    page, note = folder / NAME, view.note
    refresh = f"{every:.0f}"
    if (report := report_of(view, folder)) is not None:
        refresh = f"0; url={Path(os.path.relpath(report, folder)).as_posix()}"
    elif not view.is_alive:
        refresh = ""  # nothing more will come
    contents = {
        "title": without_machine(note.model),
        "kicker": "Live",
        "lead": " ".join([state_sentence(view), speed]).strip(),
        "audit_sections": drawn([_pictures(view), _prompts(view)], folder),
        "refresh": refresh,
    }
    write_whole(page, rendered("page.html.j2", contents, PICTURES).encode())
    return page


def report_of(view: LiveView, folder: Path) -> Path | None:
    """Return the page of the report that the run has written; None before, or without one."""
    report = Path(os.path.normpath(folder / view.note.report))
    is_new = report.is_file() and report.stat().st_mtime >= view.note.started
    return report if view.note.is_over and is_new else None


def state_sentence(view: LiveView) -> str:
    """Return where the run stands, in one or two sentences."""
    images = f"{view.made} of {view.needed} images are made, {view.judged} are judged"
    if view.note.is_over:
        return f"The run is over: {images}."
    counts = f"{images}; {view.undecided} of {several(len(view.prompts), 'prompt')} are undecided."
    if not view.is_alive:
        return (
            "The run has ended before its report. What it made is kept: the same command "
            f"goes on. {counts}"
        )
    if view.note.round > 1:
        return f"Round {view.note.round}: {counts}"
    return counts


def _prompts(view: LiveView) -> Section:
    """Return the table of prompts, undecided ones first, those that lean most above."""
    totals: Counter[str] = Counter()
    for prompt in view.prompts:
        totals.update(prompt.labels)
    labels = [label for label, _ in totals.most_common(MOST_LABELS)]
    has_others = len(totals) > MOST_LABELS

    def row(prompt: LiveCounts) -> tuple[Cell, ...]:
        counts = [prompt.labels.get(label, 0) for label in labels]
        rest = [sum(prompt.labels.values()) - sum(counts)] if has_others else []
        images = f"{prompt.made} of {prompt.needed}"
        return (
            prompt.name,
            images,
            prompt.judged,
            *counts,
            *rest,
            prompt.undetected,
            _state(prompt),
        )

    ordered = sorted(view.prompts, key=lambda prompt: (not prompt.is_open, -_lean(prompt)))
    rows = tuple(map(row, ordered))
    others = ["other labels"] if has_others else []
    columns = ("prompt", "images", "judged", *labels, *others, "undetected", "state")
    note = "Counts so far, not a verdict: verdicts are reached at the end of the run."
    return Section("Prompts", (Paragraph(note), Table("prompts", columns, rows)))


def _state(prompt: LiveCounts) -> str:
    if not prompt.is_open:
        return "all judged"
    if not prompt.made:
        return "waiting"
    return "undecided" if prompt.judged == prompt.needed else "being made"


def _lean(prompt: LiveCounts) -> float:
    """Return the share of the most frequent label among the clear images."""
    clear = sum(prompt.labels.values())
    return max(prompt.labels.values()) / clear if clear else 0.0


def _pictures(view: LiveView) -> Section:
    pictures = tuple(
        Picture(str(file), label, title=prompt, others=(prompt,))
        for file, prompt, label in view.latest
    )
    if not pictures:
        return Section("Latest images", (Paragraph("No image is made yet."),))
    return Section("Latest images", (Album("The latest", pictures, level="body"),))
