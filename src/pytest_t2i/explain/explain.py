"""Explain a worse run: what changed since its baseline, and which change made it worse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pytest_t2i.data import GenerationSettings, Interval
from pytest_t2i.errors import ConfigurationError, T2IError, UnknownNameError, some
from pytest_t2i.explain.hybrids import (
    JUDGING,
    CombinationError,
    Model,
    Workshop,
    not_exchangeable,
    with_facts,
)
from pytest_t2i.explain.making import Making, images_for_places, where_words
from pytest_t2i.explain.search import Finding, MeasuredPaths, Search
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.progress import Progress
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.explanation.cost import planned_images
from pytest_t2i.runs.explanation.prompts import WorsenedPrompts, worsened_prompts
from pytest_t2i.runs.explanation.record import (
    ComponentRecord,
    Effect,
    Explanation,
    PromptOfExplanation,
)
from pytest_t2i.runs.explanation.sides import (
    DEVICE,
    LIBRARIES,
    Component,
    Side,
    component_table,
    side_of_baseline,
    side_of_run,
)
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.sections.words import several
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.permutation import change_p_value
from pytest_t2i.verdicts.baseline_file import Baseline

EXCLUDED = 0.01
"""Largest p-value of the run's own comparison for which the only change is named without a try."""
SHOWN = 4


class Sources(NamedTuple):
    """What is compared."""

    record: RunRecord
    baseline: Baseline
    baseline_file: str


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chose."""

    settings: Mapping[str, Any]
    """Fields of Settings that replace those of the run: store, device, batch ..."""
    old: str | None = None
    """The baseline's model, by name; None takes the name in the baseline."""
    new: str | None = None
    """The run's model, by name; None takes the name in the run."""
    budget: int | None = None
    """Most images of all hybrids."""
    level: float = 0.95
    is_dry: bool = False
    """Whether only the changes and the cost are told."""
    is_deep: bool = False
    """Whether further images tell in which spaces and steps the culprits act."""


@dataclass
class Explaining:
    """An explanation in the making."""

    sources: Sources
    choices: Choices
    progress: Callable[[], Progress]
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        record, baseline = self.sources.record, self.sources.baseline
        self.remarks: list[str] = []
        self.new = Model(_settings(record, self.choices), side_of_run(record))
        self.store = Store(self.new.settings.store)
        self.grown: WorsenedPrompts = worsened_prompts(record, baseline)
        if not self.grown.compared:
            raise ConfigurationError(
                f"the run of {record.model!r} and the baseline of {baseline.model!r} have no "
                "neutral prompt with labels in common: expected the baseline of this suite"
            )
        self.new = self._load_new()
        self.old = self._load_old()

    # the two models

    def _load_new(self) -> Model:
        recorded = self.new.side
        try:
            is_folder = is_ready_made(Components(self.new.settings, self.store).model())
            model = with_facts(self.new, self.store)
        except T2IError as error:
            raise ConfigurationError(
                f"the run's model {self.new.settings.model!r} cannot be loaded, so that no hybrid "
                f"can be made. Name it with --new MODEL, and its catalogue with --catalogue FILE. "
                f"The reason: {error}"
            ) from None
        self._check_detectors()
        if is_folder:
            raise ConfigurationError(
                f"{self.new.settings.model} is a folder of pictures made elsewhere: no hybrid of "
                "it can be made. Expected a run of a model that makes pictures"
            )
        if differing := _other_parts(recorded, model.side):
            raise ConfigurationError(
                f"{self.new.settings.model!r} is not the model of the run any more: "
                f"{some(differing)} changed since. Name the run's model with --new MODEL, or run "
                "the suite again"
            )
        if not recorded.has_parts and recorded.fingerprint != model.side.fingerprint:
            self.remarks.append(
                f"{self.new.settings.model} is taken to be the model of the run: its fingerprint "
                "is another one, as other libraries or weights give it"
            )
        return replace(model, side=replace(model.side, environment=recorded.environment))

    def _check_detectors(self) -> None:
        """Find the run's detectors before anything is announced."""
        components = Components(self.new.settings, self.store)
        for name in self.new.settings.detectors:
            try:
                components.detector(DetectorRef(name))
            except UnknownNameError as error:
                raise ConfigurationError(
                    f"the run's detector {name!r} is not known here, so that no picture can be "
                    "judged. Run the command in the folder of its module; a detector of a "
                    "conftest.py is known to pytest alone: run the suite, and record the "
                    f"baseline, with --t2i-detector module:factory. The reason: {error}"
                ) from None

    def _load_old(self) -> Model:
        """The old model, with what the baseline knows of it where it cannot be loaded."""
        baseline, recorded = self.sources.baseline, side_of_baseline(self.sources.baseline)
        settings = _settings_before(self.new, recorded)
        if recorded.fingerprint and recorded.fingerprint == self.sources_fingerprint:
            return Model(
                replace(settings, model=self.new.settings.model),
                replace(recorded, model=self.new.side.model, fingerprint=self.new.side.fingerprint),
            )
        name = self.choices.old or recorded.address or baseline.model
        model = Model(replace(settings, model=name), recorded, is_there=False)
        try:
            loaded = with_facts(model, self.store)
        except T2IError as error:
            if self.choices.old:
                raise
            self.remarks.append(f"the old model {name!r} cannot be loaded: {error}")
            return model
        problem = self._is_another(loaded.side, recorded)
        if problem and self.choices.old:
            raise ConfigurationError(f"--old {name}: {problem}")
        if problem:
            self.remarks.append(f"the old model {name!r}: {problem}")
            return model
        return replace(
            loaded,
            side=replace(loaded.side, environment=recorded.environment),
            is_there=True,
        )

    @property
    def sources_fingerprint(self) -> str:
        """The fingerprint of the run's model, as recorded."""
        return side_of_run(self.sources.record).fingerprint

    def _is_another(self, loaded: Side, recorded: Side) -> str:
        """Return why a loaded model is not that of the baseline; "" where it may be."""
        if differing := _other_parts(recorded, loaded):
            return f"it has another {some(differing)} than the baseline recorded"
        if loaded.fingerprint == self.new.side.fingerprint:
            return "it is the model of the run"
        if not recorded.has_parts and loaded.fingerprint != recorded.fingerprint:
            self.remarks.append(
                f"{loaded.address} is taken to be the baseline's model: its fingerprint is another "
                "one, as other libraries or weights give it"
            )
        return ""

    # what changed

    def explained(self) -> Explanation | None:
        """Search, and return what was found; None for a dry run."""
        sides = component_table(self.old.side, self.new.side, self.grown.texts)
        reasons = {
            component.name: not_exchangeable(component, self.old, self.new)
            for component in sides
            if component.changed
        }
        if self.grown.left_out:
            self.remarks.append(
                f"the baseline lacks {several(len(self.grown.left_out), 'prompt')} of the run, "
                f"such as {some(list(self.grown.left_out), SHOWN)}: they are left out"
            )
        return self._searched(sides, reasons)

    def _searched(self, sides: Sequence[Component], reasons: dict[str, str]) -> Explanation | None:
        while True:
            names = tuple(name for name, reason in reasons.items() if not reason)
            if not names or not self.grown.prompts:
                return self._without_hybrids(sides, reasons)
            workshop = Workshop(
                self.old, self.new, frozenset(names), self.grown.prompts, self.store, self.progress
            )
            memory = MeasuredPaths(workshop.draw, len(self.grown.prompts), workshop.in_picture)
            search = Search(
                memory,
                names,
                self.grown.growth,
                len(self.grown.prompts),
                1.0 - self.choices.level,
                self.choices.budget,
                self.new.settings.seed,
            )
            planned = planned_images(search.growth, names, search.level, search.prompts)
            self._announce(names, reasons, planned, search)
            if self.choices.is_dry:
                return None
            try:
                found = search.run()
            except CombinationError as error:
                reasons[error.component] = f"no hybrid with it can be made: {error}"
                self.say(f"{error.component} is not exchanged: {error}")
                continue
            return self._with_places(
                self._record(sides, reasons, found, planned, workshop.made),
                Making(
                    workshop,
                    found,
                    search.level,
                    min(search.per_prompt, found.per_hybrid // search.prompts),
                    self.choices.is_deep,
                    None if self.choices.budget is None else self.choices.budget - found.images,
                ),
                self._images_for_places(names, search),
            )

    def _with_places(self, explanation: Explanation, making: Making, cost: int) -> Explanation:
        """Add where in the making the culprits act."""
        try:
            places = making.places()
        except T2IError as error:
            # The culprit is known: it is told in any case.
            remark = f"where in the making it acts cannot be told: {error}"
            return replace(
                explanation,
                where_made=making.workshop.made - explanation.made,
                remarks=(*explanation.remarks, remark),
            )
        return replace(
            explanation,
            where_made=making.workshop.made - explanation.made,
            where=where_words(places, explanation.labels, is_deep=making.is_deep, cost=cost),
            places=places,
            where_planned=cost if making.is_deep else 0,
            where_images=making.requested,
        )

    def _images_for_places(self, names: Sequence[str], search: Search) -> int:
        """Return the images for the spaces and steps of one culprit; a detector takes none."""
        if all(name in JUDGING for name in names):
            return 0
        is_service = Components(self.new.settings, self.store).counts_requests
        images = search.per_prompt * search.prompts
        return images_for_places(1, images, is_service=is_service)

    def _announce(
        self, names: Sequence[str], reasons: Mapping[str, str], planned: int, search: Search
    ) -> None:
        changed = [*names, *(f"{name} (not exchanged)" for name, why in reasons.items() if why)]
        self.say(f"changed: {', '.join(changed)}")
        price = Components(self.new.settings, self.store).price
        cost = f"about {several(planned, 'image')}" + (
            f" ({price.times(planned)})" if price else ""
        )
        if self.choices.budget is not None:
            cost += f", at most {self.choices.budget}"
        self.say(
            f"{cost}: {several(len(self.grown.prompts), 'prompt')} that grew most, "
            f"{several(search.per_prompt, 'fresh seed')} each, for each hybrid of old and new"
        )
        if self.choices.is_deep and (further := self._images_for_places(names, search)):
            dear = f" ({price.times(further)})" if price else ""
            self.say(
                f"about {further} further images{dear} for the spaces and steps in which one "
                "culprit acts"
            )

    # what was found

    def _without_hybrids(
        self, sides: Sequence[Component], reasons: Mapping[str, str]
    ) -> Explanation:
        """Explain where nothing can be exchanged, or no prompt grew."""
        empty = Finding("none", (), None, None, (), 0, 0, 0, "")
        if not self.grown.prompts:
            words = "no prompt became more one-sided than by chance"
            return self._record(sides, reasons, replace(empty, words=words), 0, 0)
        if not reasons and all(component.is_known for component in sides):
            words = "nothing changed between the baseline and the run"
            return self._record(sides, reasons, replace(empty, words=words), 0, 0)
        return self._record(sides, reasons, replace(empty, outcome="open"), 0, 0)

    def _record(
        self,
        sides: Sequence[Component],
        reasons: Mapping[str, str],
        found: Finding,
        planned: int,
        made: int,
    ) -> Explanation:
        left = [name for name, reason in reasons.items() if reason]
        unknown = [component.name for component in sides if not component.is_known]
        if found.outcome in ("none", "open"):
            found = self._by_exclusion(found, left, unknown)
        record, baseline = self.sources.record, self.sources.baseline
        return Explanation(
            datetime.now(UTC).isoformat(timespec="seconds"),
            record.model,
            record.created,
            baseline.model,
            baseline.created,
            self.sources.baseline_file,
            found.outcome,
            answer_words(found, left, unknown, reasons),
            tuple(_component_record(component, reasons) for component in sides),
            found.named,
            found.effects,
            found.growth,
            found.growth_p_value,
            tuple(
                PromptOfExplanation(
                    grown.prompt.id,
                    grown.prompt.text,
                    round(grown.growth, 6),
                    tuple(label for label, sign in grown.directions.items() if sign > 0),
                )
                for grown in self.grown.prompts
            ),
            planned,
            found.images,
            made,
            found.per_hybrid,
            found.stages,
            round(1.0 - self.choices.level, 10),
            self.new.settings.seed,
            remarks=tuple(self.remarks),
        )

    def _by_exclusion(self, found: Finding, left: Sequence[str], unknown: Sequence[str]) -> Finding:
        """Name the only change that was not exchanged, where the run itself shows a growth."""
        if not left or not self.grown.prompts or (found.outcome == "open" and found.images):
            return found
        p_value = _gate_p_value(self.sources.record, self.sources.baseline)
        is_shown = p_value is not None and p_value <= EXCLUDED
        if found.outcome == "none" and (is_shown or set(left) - {LIBRARIES, DEVICE}):
            # What was exchanged did not make it; what was not exchanged may have.
            words = "what could be exchanged did not make it"
            found = replace(found, outcome="open", words=words)
        if len(left) > 1 or unknown or p_value is None or not is_shown:
            return found
        whole = Interval(1.0, 1.0, 1.0, self.choices.level, "by exclusion", self.grown.compared)
        words = "nothing else changed that could have made it"
        return replace(
            found, outcome="named", named=(Effect((left[0],), whole, p_value),), words=words
        )


def answer_words(
    found: Finding, left: Sequence[str], unknown: Sequence[str], reasons: Mapping[str, str]
) -> str:
    """Return the result in one or two sentences."""
    further = f" {found.words[:1].upper()}{found.words[1:]}." if found.words else ""
    if found.outcome == "named" and len(found.effects) == 1:
        return (
            f"The {found.named[0].components[0]} made it worse: fresh images show the growth "
            f"(p = {found.named[0].p_value:.2g}), and nothing else changed that can be exchanged."
        )
    if found.outcome == "named":
        sentences = [
            f"The {effect.components[0]} made it worse: {_share_words(effect)}."
            for effect in found.named
        ]
        return " ".join(sentences) + further
    if found.outcome == "set":
        names = " and ".join(found.named[0].components)
        how = "either one suffices" if found.either else "only together"
        return f"{names} made it worse, {how}: {_share_words(found.named[0])}."
    if found.outcome == "none":
        return f"Nothing to explain: {found.words}."
    parts = [f"It cannot be told with {several(found.images, 'image')}"]
    if found.words:
        parts.append(found.words)
    parts += [f"{name} was not exchanged: {reasons[name]}" for name in left[:SHOWN]]
    if unknown:
        parts.append(f"not known of the baseline: {some(list(unknown), SHOWN)}")
    return ". ".join(f"{part[:1].upper()}{part[1:]}" for part in parts) + "."


def _share_words(effect: Effect) -> str:
    share = effect.restored
    if share.method == "by exclusion":
        return "no other component changed"
    restored = (
        f"restoring {'it' if len(effect.components) == 1 else 'them'} takes {share.estimate:.0%} "
        f"[{share.low:.0%}, {share.high:.0%}] of the growth away"
    )
    if effect.alone is None:
        return restored
    alone = effect.alone
    return f"{restored}, alone it brings {alone.estimate:.0%} [{alone.low:.0%}, {alone.high:.0%}]"


def _gate_p_value(record: RunRecord, baseline: Baseline) -> float | None:
    """Return the exact p-value against "no prompt changed", by the run's and baseline's labels."""
    counts = [
        (before.male, before.female, now.labels.get("male", 0), now.labels.get("female", 0))
        for prompt in record.prompts
        if (before := baseline.prompts.get(prompt.text)) and (now := prompt.decided)
    ]
    if not any(sum(row[:2]) and sum(row[2:]) for row in counts):
        return None
    return change_p_value(*zip(*counts, strict=True), seed=0)


def _component_record(component: Component, reasons: Mapping[str, str]) -> ComponentRecord:
    state = "changed" if component.changed else "same" if component.is_known else "not known"
    return ComponentRecord(
        component.name,
        component.kind,
        component.before,
        component.now,
        state,  # type: ignore[arg-type]
        reasons.get(component.name, ""),
    )


def _other_parts(recorded: Side, loaded: Side) -> list[str]:
    """Names of the parts whose recorded version is not that of a loaded model, and its extra."""
    if not (recorded.has_parts and loaded.has_parts):
        return []
    names = {*recorded.parts, *loaded.parts}
    differing = sorted(name for name in names if recorded.part(name) != loaded.part(name))
    extra, own = ((side.model or {}).get("extra", "") for side in (recorded, loaded))
    return differing if extra == own else [*differing, "extra"]


def _settings(record: RunRecord, choices: Choices) -> Settings:
    """The settings of the run, with what the user chose now."""
    kept = ("seed", "images", "trust_remote_code", "batch", "executor", "model_option")
    own = {name: record.settings[name] for name in kept if record.settings.get(name) is not None}
    files = ((name, record.settings.get(name)) for name in ("store", "catalogue"))
    own |= {name: Path(file) for name, file in files if file and Path(file).exists()}
    generation = record.provenance.get("generation")
    side = side_of_run(record)
    detectors = record.settings.get("detectors") or ()
    if not detectors:
        raise ConfigurationError("the run has no detector: expected a run with labelled pictures")
    facts = side.model or {}
    return Settings(
        **(
            own
            | {
                "model": choices.new or side.address,
                "detectors": tuple(detectors),
                "mitigation": side.mitigation or None,
                "dtype": facts.get("dtype") or record.settings.get("dtype") or "auto",
                "generation": msgspec.convert(generation or {}, GenerationSettings),
                "probe": "never",
            }
            | dict(choices.settings)
        )
    )


def _settings_before(new: Model, before: Side) -> Settings:
    """The settings of the baseline's run; what it does not know is that of the new run."""
    facts = before.model or {}
    generation = msgspec.convert(dict(before.generation), GenerationSettings)
    return replace(
        new.settings,
        generation=generation if before.generation else new.settings.generation,
        detectors=(before.detector,) if before.detector else new.settings.detectors,
        mitigation=before.mitigation or None,
        dtype=facts.get("dtype") or new.settings.dtype,
    )


def explain(
    sources: Sources,
    choices: Choices,
    progress: Callable[[], Progress],
    say: Callable[[str], None],
) -> Explanation | None:
    """Return which change made a run worse than its baseline; None for a dry run."""
    return Explaining(sources, choices, progress, say).explained()
