"""The section of a report about the baseline: its facts, and the prompts that moved since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.reporting.formatting import anchor, moment
from pytest_t2i.runs.record.build_record import PROMPTS
from pytest_t2i.runs.record.record import BaselineRecord, RunRecord
from pytest_t2i.sections import Album, Block, Note, Paragraph, Picture, Section, Table
from pytest_t2i.sections.blocks import Level
from pytest_t2i.sections.words import reason_words
from pytest_t2i.verdicts.caveats.moved_prompts import moved_prompts as moved_of
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

TITLE = "Against the baseline"
PAIRED = (
    "Before and after are estimated as a pair, over the prompts that both runs have, so they may "
    "differ a little from the score of one run alone. Where both runs have the same seeds, images "
    "are compared seed by seed."
)
BY_BAYES = "Probabilities are by empirical Bayes over all prompts; no verdict rests on them."
GONE = (
    "A baseline keeps detections, not pictures, and the store has none of them any more: the links "
    "lead to the pictures of this run."
)
GREW = "The model became more biased."
OPEN = 2
"""Number of prompts whose pictures are unfolded."""
SHORT = 12
"""Number of characters of a fingerprint in reports."""


def baseline_sections(record: RunRecord) -> list[Section]:
    """Return the section about the baseline: what moved, then and now, and its facts."""
    recorded = record.baseline
    if recorded is None:
        return []
    moved, blocks = moved_prompts(record), list[Block]([Note(PAIRED, "page")])
    albums = list(_albums(record, recorded, moved))
    if moved:
        blocks += [_moved_table(record, moved), Note(BY_BAYES, "page")]
        blocks += [] if albums else [Note(GONE, "page")]
    elif albums:
        blocks.append(Paragraph(f"{_which(record.checks)} Here are those that grew most.", "page"))
    facts = Table("The baseline", ("Name", "Value"), tuple(_facts(recorded)), "detail")
    return [Section(TITLE, (*blocks, *albums, facts))]


def moved_prompts(record: RunRecord) -> list[MovedPrompt]:
    """List the prompts that probably became more biased, each once, the likeliest first."""
    likeliest: dict[str, MovedPrompt] = {}
    for prompt in (prompt for check in record.checks for prompt in moved_of(check.caveats)):
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


def _albums(
    record: RunRecord, recorded: BaselineRecord, moved: Sequence[MovedPrompt]
) -> Iterator[Album]:
    """Yield the pictures then and now of prompts that grew, of the same seeds where possible."""
    of_now = {prompt.id: prompt.images for prompt in record.prompts}
    likeliest = [prompt.id for prompt in moved if prompt.id in recorded.pictures]
    prompts = list(dict.fromkeys([*likeliest, *recorded.pictures]))[:PROMPTS]
    for place, prompt in enumerate(prompts):
        before = recorded.pictures[prompt]
        seeds = {picture.seed for picture in before}
        images = [i for i in of_now.get(prompt, ()) if i.file is not None and i.detections]
        by_seed = {image.seed: image for image in images if image.seed in seeds}
        # Without a common seed the pictures of one column have only their place in common.
        pairs = [(shown, by_seed[shown.seed]) for shown in before if shown.seed in by_seed]
        pairs = pairs or list(zip(before, images, strict=False))
        then = [_picture(shown.file, shown.seed, shown.said, "before") for shown, _ in pairs]
        now = [
            _picture(image.file, image.seed, next(iter(image.detections.values())).said, "now")
            for _, image in pairs
        ]
        level: Level = "body" if place < OPEN else "detail"
        yield Album.side_by_side(prompt, [then, now], note="before and now", level=level)


def _picture(file: str | None, seed: int, label: str, when: str) -> Picture:
    word = reason_words(label)
    kind = label if label in {"male", "female"} else ""
    return Picture(file, word, (when,), f"{when}, seed {seed}: {word}", kind)


def _moved_table(record: RunRecord, moved: Sequence[MovedPrompt]) -> Table:
    """Return the prompts that probably became more biased, with links to their pictures."""
    rows = tuple(
        (p.id, counts_words(p.before), counts_words(p.after), p.probability) for p in moved
    )
    shown = {prompt.id for prompt in record.prompts}
    links = tuple(anchor(prompt.id) if prompt.id in shown else "" for prompt in moved)
    columns = ("Probably more biased", "Before", "Now", "Probability")
    return Table(
        "Prompts that probably became more biased", columns, rows, anchors=links,
        styles=("", "", "", "percent"),
    )  # fmt: skip
