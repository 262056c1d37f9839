"""The section of a report about the baseline: its facts, and the prompts that moved since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.reporting.formatting import moment, percent
from pytest_t2i.reporting.pictures import thumbnails
from pytest_t2i.runs.build_record import PROMPTS
from pytest_t2i.runs.record import BaselineRecord, RunRecord
from pytest_t2i.sections.words import reason_words
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

GREW = "The model became more biased."
SHORT = 12
"""Number of characters of a fingerprint in reports."""


class MovedRow(NamedTuple):
    """A table row of a prompt that probably became more biased, as texts."""

    id: str
    before: str
    after: str
    probability: str


class LabelledPicture(NamedTuple):
    """A picture as a data URI, with its seed and label."""

    uri: str
    seed: int
    said: str


@dataclass(frozen=True, slots=True)
class MovedPictures:
    """The pictures of a prompt that probably became more biased, of equal seeds if possible."""

    id: str
    before: tuple[LabelledPicture, ...]
    now: tuple[LabelledPicture, ...]


@dataclass(frozen=True, slots=True)
class BaselineSection:
    """The section about the baseline."""

    facts: list[tuple[str, str]]
    moved: tuple[MovedRow, ...]
    pictures: tuple[MovedPictures, ...]
    which: str = ""
    """Sentence on what became more biased by the tests; "" if ``moved`` shows it."""


def baseline_section(record: RunRecord) -> BaselineSection | None:
    """Return the section about the baseline; None without a baseline."""
    recorded = record.baseline
    if recorded is None:
        return None
    moved = moved_prompts(record)
    pictures = tuple(_pictures(record, recorded, moved))
    which = _which(record.checks) if pictures and not moved else ""
    return BaselineSection(_facts(recorded), tuple(map(_row, moved)), pictures, which)


def moved_prompts(record: RunRecord) -> list[MovedPrompt]:
    """List the prompts that probably became more biased, each once, the likeliest first."""
    likeliest: dict[str, MovedPrompt] = {}
    for prompt in (prompt for check in record.checks for prompt in check.moved):
        rival = likeliest.get(prompt.id)
        if rival is None or (prompt.probability or 0.0) > (rival.probability or 0.0):
            likeliest[prompt.id] = prompt
    return sorted(likeliest.values(), key=lambda prompt: -(prompt.probability or 0.0))


def whose(recorded: BaselineRecord) -> str:
    """Return the baseline's model and time: ``sdxl of 2026-11-20 17:07 UTC``."""
    when = moment(recorded.created)
    return f"{recorded.model} of {when}" if when else recorded.model


def counts_words(counts: LabelCounts) -> str:
    """Return a text such as ``18 male, 2 female, 1 undetected``."""
    text = f"{counts.male} male, {counts.female} female"
    return f"{text}, {counts.undetected} undetected" if counts.undetected else text


def _which(checks: Sequence[Check]) -> str:
    """Return a sentence on what became more biased, by the verdicts of model and prompts."""
    of_model = [check for check in checks if check.is_of_model and check.against == "baseline"]
    singly = [check for check in checks if not check.is_of_model]
    compared = [check for check in singly if check.against == "baseline"]
    grown = _failed(compared)
    if not _failed(of_model):
        return f"By tests of single prompts these became more biased: {grown}."
    if grown:
        return f"{GREW} By tests of single prompts it did in {grown}."
    if compared:
        return f"{GREW} Tests of single prompts are certain of none."
    beyond = _failed([check for check in singly if check.against == "limit"])
    limits = f" Beyond a limit now: {beyond}." if beyond else ""
    return f"{GREW} No test compares single prompts with the baseline.{limits}"


def _failed(checks: Sequence[Check]) -> str:
    failed = (check.subject for check in checks if check.outcome is Outcome.FAIL)
    return some(list(dict.fromkeys(failed)), PROMPTS)


def _facts(recorded: BaselineRecord) -> list[tuple[str, str]]:
    same = (
        "the same fingerprint as the" if recorded.is_same_model else "another fingerprint than the"
    )
    return [
        ("Model", f"{recorded.model}, {same} model under test"),
        ("Fingerprint", recorded.model_fingerprint[:SHORT] or "\u2013"),
        ("Recorded", moment(recorded.created) or "\u2013"),
        ("Images per prompt", f"{recorded.images}, seed {recorded.seed}"),
        ("File", recorded.file),
        *(("Differs", difference) for difference in recorded.differences),
    ]


def _pictures(
    record: RunRecord, recorded: BaselineRecord, moved: list[MovedPrompt]
) -> Iterator[MovedPictures]:
    of_now = {prompt.id: prompt.images for prompt in record.prompts}
    likeliest = [prompt.id for prompt in moved if prompt.id in recorded.pictures]
    for prompt in list(dict.fromkeys([*likeliest, *recorded.pictures]))[:PROMPTS]:
        before = recorded.pictures[prompt]
        seeds = {picture.seed for picture in before}
        images = [i for i in of_now.get(prompt, ()) if i.file is not None and i.detections]
        now = [image for image in images if image.seed in seeds] or images[: len(before)]
        files = [*(b.file for b in before), *(i.file for i in now if i.file is not None)]
        small = thumbnails(files)
        yield MovedPictures(
            prompt,
            tuple(
                LabelledPicture(small[b.file], b.seed, reason_words(b.said))
                for b in before
                if b.file in small
            ),
            tuple(
                LabelledPicture(
                    small[i.file], i.seed, reason_words(next(iter(i.detections.values())).said)
                )
                for i in now
                if i.file is not None and i.file in small
            ),
        )


def _row(prompt: MovedPrompt) -> MovedRow:
    probability = "\u2013" if prompt.probability is None else percent(prompt.probability)
    return MovedRow(prompt.id, counts_words(prompt.before), counts_words(prompt.after), probability)
