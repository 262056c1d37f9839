"""Planted changes, and whether ``t2i explain`` names them; the table is cases.md.

``python tests/measured/cases.py`` takes a minute. A real case uses each picture of the bank
(bank.py) once: ten seeds of a prompt are the baseline and
the run, the others are fresh, and after these come those of the longer bank. A drawn case draws
seeds of the bank with replacement. The search, its prompts and its numbers are those of the
command. The detector is planted: it says male of a fixed part of the pictures that show a woman, or
of those by the new text encoder alone. A twin is the same model with other pictures: those of other
seeds.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from bank import FEWER, LABELS, MORE_LABELS, SEEDS, WORDS
from pytest_t2i import axes
from pytest_t2i.audits.engine.counts import Counts
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt

from pytest_t2i_explain.prompts import worsened_prompts
from pytest_t2i_explain.search import Finding, Search, planned_images

TABLE = Path(__file__).with_name("cases.md")
USED = 10
"""Seeds of a prompt that the baseline and the run have."""
FLIPPED = 0.7
"""Share of the pictures of women of which the planted detector says male."""
LEVEL = 0.05
DECOYS = (
    (),
    ("text_encoder",),
    ("text_encoder", "number format"),
)
SOURCE = 20_263
"""First seed of the cases. The rule for a pair beside a component that makes a part was added after
a look at this table."""


@dataclass(frozen=True)
class Kind:
    """Cases of one kind of change."""

    name: str
    culprits: tuple[str, ...]
    decoys: tuple[tuple[str, ...], ...]
    real: int
    drawn: int
    answer: str = "named"
    """Outcome that is right."""
    base: tuple[str, ...] = ()
    """What is new on both sides."""


KINDS = (
    Kind("unet", ("unet",), DECOYS, 12, 24),
    Kind("steps", ("steps",), DECOYS[:2], 9, 16),
    Kind("words", ("words",), DECOYS[:2], 9, 16),
    Kind("mitigation left out", ("mitigation",), DECOYS[:1], 6, 12, base=("unet",)),
    Kind("negative prompt", ("negative prompt",), DECOYS[:2], 6, 14, base=("guidance",)),
    Kind("detector", ("detector",), DECOYS, 9, 24),
    Kind("unet without its mitigation", ("unet", "mitigation"), DECOYS[:1], 8, 14, "set"),
    Kind("detector misled by the text encoder", ("detector", "text_encoder"),
         ((), ("number format",)), 8, 14, "set"),
    Kind("words or detector", ("words", "detector"), DECOYS[:2], 8, 14, "set"),
    Kind("unchanged", (), (("number format",), ("twin",)), 20, 20, "none"),
)  # fmt: skip


@dataclass
class World:
    """Labels of the hybrids of one case."""

    bank: dict[str, np.ndarray]
    kind: Kind
    decoys: tuple[str, ...]
    rng: np.random.Generator
    is_real: bool
    longer: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Labels beyond the bank's seeds: hybrid -> word -> labels."""
    order: np.ndarray = field(init=False)
    twin_order: np.ndarray = field(init=False)
    flips: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        seeds = self.seeds
        draw = self.rng.permutation if self.is_real else self._redrawn
        self.order = np.array([draw(seeds) for _ in WORDS])
        self.twin_order = np.array([draw(seeds) for _ in WORDS])
        if self.is_real and "twin" in self.decoys:
            # The twin has the other half of the seeds.
            self.order = self.order[:, : seeds // 2]
            self.twin_order = np.array([np.setdiff1d(range(seeds), row) for row in self.order])
        self.flips = self.rng.random(self.order.shape) < FLIPPED

    @property
    def seeds(self) -> int:
        """Seeds of a prompt that every hybrid of the case has in the first bank."""
        return FEWER if "mitigation" in self.kind.culprits else SEEDS

    def _redrawn(self, seeds: int) -> np.ndarray:
        return self.rng.integers(seeds, size=USED + 400)

    @property
    def changed(self) -> tuple[str, ...]:
        """Components that changed, culprits and others mixed."""
        return tuple(sorted((*self.kind.culprits, *self.decoys)))

    def labels(self, new: frozenset[str]) -> np.ndarray:
        """Return the labels of a hybrid, in the case's order of seeds, [prompts, seeds]."""
        order = self.twin_order if "twin" in new else self.order
        signs = np.take_along_axis(self.bank[self._hybrid(new)], order, axis=1)
        return self._judged(new, signs, self.flips)

    def more(self, new: frozenset[str], row: int, images: int) -> np.ndarray:
        """Return further labels of a prompt, of the longer bank; a real case alone has them."""
        name = self._hybrid(new)
        signs = [*self.bank[name][row], *self.longer.get(name, {}).get(WORDS[row], ())]
        # Seeds that no case has shuffled: the same ones of each hybrid.
        signs = signs[self.seeds :]
        if "twin" in self.decoys:
            # Of these, too, the twin has one half.
            signs = signs["twin" in new :: 2]
        if not self.is_real or len(signs) < images:
            raise Exhausted
        signs = signs[:images]
        flips = np.random.default_rng([SOURCE, row, *self.order[row]]).random(images) < FLIPPED
        return self._judged(new, np.array(signs), flips)

    def _hybrid(self, new: frozenset[str]) -> str:
        """Name of a hybrid in the bank."""
        names = {*new, *self.kind.base} - {"detector", "mitigation", "twin"}
        if "mitigation" in self.kind.culprits and "mitigation" not in new:
            names.add("mitigated")
        if "guidance" not in names:
            # Without guidance a negative prompt changes nothing: the pictures are equal.
            names.discard("negative prompt")
        return "+".join(sorted(names))

    def _judged(self, new: frozenset[str], signs: np.ndarray, flips: np.ndarray) -> np.ndarray:
        """The labels that the hybrid's detector gives."""
        is_misled = "text_encoder" not in self.kind.culprits or "text_encoder" in new
        return np.where(flips & (signs < 0), 1, signs) if "detector" in new and is_misled else signs


def said(sign: int) -> str | Undetected:
    """The label that a sign stands for."""
    return {1: "male", -1: "female"}.get(sign, Undetected.NO_FACE)


def run_and_baseline(world: World) -> tuple[RunRecord, Baseline, float]:
    """Return the records of the first seeds, and the p-value of the gate."""
    old, new = world.labels(frozenset())[:, :USED], world.labels(frozenset(world.changed))[:, :USED]
    prompts, recorded = [], {}
    for prompt, before, now in zip(axes.profession.only(*WORDS).prompts(), old, new, strict=True):
        counts = Counts(
            {"male": int((now > 0).sum()), "female": int((now < 0).sum())},
            {Undetected.NO_FACE: int((now == 0).sum())},
        )
        images = tuple(ImageRecord(k, None, {"d": Detection("male")}) for k in range(USED))
        prompts.append(
            PromptRecord(
                prompt.id, prompt.text, prompt.axis, prompt.concept, "neutral",
                {"d": counts}, None, images,
            )
        )  # fmt: skip
        recorded[prompt.text] = RecordedPrompt(
            prompt.id, tuple(range(USED)), tuple(map(said, before.tolist()))
        )
    settings, provenance = {"detectors": ["d"]}, {"labels": {"d": ["male", "female"]}}
    record = RunRecord("2026-01-01", 1.0, "m", settings, provenance, {}, prompts=tuple(prompts))
    p_value = paired_change_p_value([*old], [*new], seed=0)
    return record, Baseline("m", "f", {}, {}, recorded), p_value


class Exhausted(Exception):  # noqa: N818 - no error
    """The bank has no more seeds."""


@dataclass(frozen=True)
class Tried:
    """One case."""

    kind: Kind
    is_real: bool
    is_red: bool
    found: Finding | None
    planned: int

    @property
    def names(self) -> set[str]:
        """The components that were named."""
        named = self.found.named if self.found else ()
        return {name for effect in named for name in effect.components}

    @property
    def is_right(self) -> bool:
        """Whether the answer is the right one."""
        outcome = self.found.outcome if self.found else "none"
        if self.is_short:
            return False
        return outcome == self.kind.answer and self.names == set(self.kind.culprits)

    @property
    def is_short(self) -> bool:
        """Whether the bank has too few pictures for the first look, whatever they show."""
        return self.found is not None and self.found.outcome == "open" and not self.found.images

    @property
    def is_wrong(self) -> bool:
        """Whether a component is named that did nothing."""
        return bool(self.names - set(self.kind.culprits))

    @property
    def result(self) -> str:
        """What the table counts."""
        if self.is_short:
            return "bank short"
        if self.is_right:
            return "right"
        if self.is_wrong:
            return "wrong"
        if self.names:
            return "in part"
        return self.found.outcome if self.found else "none"


def tried(
    bank: dict[str, np.ndarray],
    kind: Kind,
    number: int,
    longer: dict[str, dict[str, list[int]]],
    *,
    is_real: bool,
) -> Tried:
    """Run one case."""
    place = next(k for k, each in enumerate(KINDS) if each.name == kind.name)
    rng = np.random.default_rng([SOURCE, place, number, is_real])
    world = World(bank, kind, kind.decoys[number % len(kind.decoys)], rng, is_real, longer)
    record, baseline, p_value = run_and_baseline(world)
    is_red = p_value <= LEVEL
    grown = worsened_prompts(record, baseline)
    if not grown.prompts:
        return Tried(kind, is_real, is_red, None, 0)
    rows = [WORDS.index(each.prompt.concept) for each in grown.prompts]
    signs = np.array([each.directions.get("male", 0) for each in grown.prompts])[:, None]

    def draw(new: frozenset[str], images: int) -> np.ndarray:
        fresh = world.labels(new)[rows, USED:]
        if (lacking := images - fresh.shape[1]) > 0:
            fresh = np.hstack([fresh, [world.more(new, row, lacking) for row in rows]])
        return (signs * fresh[:, :images]).astype(float)

    pictured = set(world.changed) - {"detector"}
    search = Search(draw, world.changed, frozenset(pictured), grown.growth, len(rows), LEVEL)
    judging = len(world.changed) - len(pictured)
    planned = planned_images(grown.growth, len(pictured), judging, LEVEL, len(rows))
    try:
        found = search.run()
    except Exhausted:
        found = Finding("open", images=search.images, words="the bank has no more")
    return Tried(kind, is_real, is_red, found, planned)


def all_tried() -> list[Tried]:
    """Run every case."""
    bank = {name: np.array(rows) for name, rows in json.loads(LABELS.read_text()).items()}
    longer = json.loads(MORE_LABELS.read_text()) if MORE_LABELS.exists() else {}
    return [
        tried(bank, kind, number, longer, is_real=is_real)
        for kind in KINDS
        for is_real, count in ((True, kind.real), (False, kind.drawn))
        for number in range(count)
    ]


RESULTS = ("right", "in part", "open", "none", "wrong", "bank short")


def rows(cases: list[Tried]) -> list[str]:
    """Return the table."""
    lines = [
        f"| change | source | cases | red | {' | '.join(RESULTS)} | median images | told / cost |",
        "|---|---|---|---|" + "---|" * (len(RESULTS) + 2),
    ]
    for kind in KINDS:
        for is_real in (True, False):
            these = [c for c in cases if c.kind is kind and c.is_real == is_real]
            judged = these if kind.answer == "none" else [c for c in these if c.is_red]
            results = Counter(case.result for case in judged)
            lines.append(
                f"| {kind.name} | {'real' if is_real else 'drawn'} | {len(these)} | "
                f"{sum(c.is_red for c in these)} | "
                + " | ".join(str(results[name]) for name in RESULTS)
                + f" | {cost(judged)} |"
            )
    return lines


def cost(cases: list[Tried]) -> str:
    """Return the median cost, and the median ratio of the cost told before to it."""
    found = [case for case in cases if case.found and case.found.images]
    if not found:
        return "0 | "
    told = median(case.planned / case.found.images for case in found if case.found)
    return f"{median(c.found.images for c in found if c.found):g} | {told:.2f}"


def sums(cases: list[Tried]) -> list[str]:
    """Return the sums that are promised."""
    lines = []
    for title, answer in (("acts alone", "named"), ("acts together", "set")):
        for sources in ((True, False), (True,)):
            red = [
                c for c in cases if c.is_red and c.kind.answer == answer and c.is_real in sources
            ]
            judged = [case for case in red if not case.is_short]
            right = sum(case.is_right for case in judged)
            name = "real cases only" if sources == (True,) else "all"
            lines.append(
                f"- {title}, gate red ({name}): {right} of {len(judged)} named rightly "
                f"({right / len(judged):.1%}); the bank was short for {len(red) - len(judged)} more"
            )
    unchanged = [case for case in cases if case.kind.answer == "none" and not case.is_short]
    none = sum(not case.names for case in unchanged)
    lines.append(f"- unchanged: {none} of {len(unchanged)} named nothing")
    judged = [c for c in cases if (c.is_red or c.kind.answer == "none") and not c.is_short]
    wrong = sum(case.is_wrong for case in judged)
    lines.append(f"- wrong names: {wrong} of {len(judged)} ({wrong / len(judged):.1%})")
    red = [case for case in judged if case.is_red]
    images, told = cost(red).split(" | ")
    lines.append(f"- cost of a red gate: {images} images in the median; told before / cost: {told}")
    return lines


HEAD = """# Planted changes and what t2i explain says of them

Made by `python tests/measured/cases.py` from the labels of the pictures of `bank.py`
(`labels.json`): hybrids of `reference` and
`reference-biased`, 6 professions, 34 seeds (24 with a
mitigation). *Real*: every picture is used once in a case, ten seeds
are baseline and run, the others are fresh; cases share the pictures. *Drawn*: seeds of the bank are
drawn with replacement. Beside the culprit, up to two components changed that do next to nothing
(the text encoder of the other model, bfloat16). The planted detector says male of 70 % of the
pictures of women; that of the pair only of those by the new text encoder. Unchanged: bfloat16, or a
twin, which is the same model with the pictures of other seeds. Results are counted where the gate
is red (p <= .05), and for all of the unchanged. *Open*: it was not told, or the bank had no more
for a further look. *Bank short*: the bank has too few for the first look; these are not counted.
Where one prompt grew far more than the others, all images are of that one, so that a small growth
takes more fresh seeds than 24: real cases have these from a longer bank of the worsened prompts
alone (`more_labels.json`), after the 34 seeds that all cases share.
"""


def page() -> str:
    """Return the page with the table."""
    cases = all_tried()
    return "\n".join([HEAD, *sums(cases), "", *rows(cases)]) + "\n"


def main() -> None:
    """Write the table."""
    text = page()
    TABLE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
