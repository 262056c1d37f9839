"""Explain a worse run: what changed since its baseline, and which change made it worse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from pytest_t2i import (
    Baseline,
    GenerationSettings,
    Interval,
    RunRecord,
    T2IError,
    Workbench,
    statistics,
)

from pytest_t2i_explain.hybrids import (
    CombinationError,
    Model,
    Workshop,
    not_exchangeable,
)
from pytest_t2i_explain.prompts import WorsenedPrompts, worsened_prompts
from pytest_t2i_explain.search import Effect, Finding, Search, planned_images
from pytest_t2i_explain.sides import (
    DEVICE,
    LIBRARIES,
    Component,
    Side,
    component_table,
    side_of_baseline,
    side_of_run,
)

EXCLUDED = 0.01
"""Largest p-value of the run's own comparison for which the only change is named without a try."""
SHOWN = 4
"""Number of names that a message shows."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chose."""

    settings: Mapping[str, Any]
    """Settings that replace those of the run: store, device, batch ..."""
    old: str | None = None
    """The baseline's model, by name; None takes the name in the baseline."""
    new: str | None = None
    """The run's model, by name; None takes the name in the run."""
    budget: int | None = None
    """Most images of all hybrids."""
    level: float = 0.95
    is_dry: bool = False
    """Whether only the changes and the cost are told."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which change made a run worse than its baseline."""

    found: Finding
    components: tuple[Component, ...]
    """Every component of both sides."""
    reasons: Mapping[str, str]
    """Changed component -> reason why it was not exchanged; "" where it was."""
    grown: WorsenedPrompts
    level: float
    """Largest probability of a wrong name."""
    planned: int = 0
    """Images that were announced before."""
    made: int = 0
    """Images that were made now."""
    remarks: tuple[str, ...] = ()


@dataclass
class Explaining:
    """An explanation in the making."""

    record: RunRecord
    baseline: Baseline
    choices: Choices
    say: Callable[[str], None]
    remarks: list[str] = field(default_factory=list, init=False)

    def explained(self) -> Explanation | None:
        """Search, and return what was found; None for a dry run."""
        grown = worsened_prompts(self.record, self.baseline)
        if not grown.compared:
            raise T2IError(
                f"the run of {self.record.model!r} and the baseline of {self.baseline.model!r} "
                "have no neutral prompt with labels in common: expected the baseline of this suite"
            )
        if grown.left_out:
            self.remarks.append(
                f"the baseline lacks {len(grown.left_out)} prompts of the run, such as "
                f"{_some(grown.left_out)}: they are left out"
            )
        base, new = self._new()
        old = self._old(base, new)
        sides = component_table(old.side, new.side, grown.texts)
        changed = [component for component in sides if component.changed]
        reasons = {each.name: not_exchangeable(each, old, new) for each in changed}
        while True:
            names = tuple(name for name, reason in reasons.items() if not reason)
            blank = Explanation(
                Finding("open"), tuple(sides), reasons, grown, 1.0 - self.choices.level
            )
            if not names or not grown.prompts:
                return self._excluded(replace(blank, found=_without_hybrids(blank)))
            workshop = Workshop(old, new, base, frozenset(names), grown.prompts)
            search = Search(
                workshop.draw,
                names,
                workshop.in_picture,
                grown.growth,
                len(grown.prompts),
                blank.level,
                self.choices.budget,
                base.settings.seed,
            )
            planned = self._announced(blank, search, base)
            if self.choices.is_dry:
                return None
            try:
                found = search.run()
            except CombinationError as error:
                reasons[error.component] = (
                    f"no model with the old one in its place can be made: {error}"
                )
                self.say(f"{error.component} is not exchanged: {error}")
                continue
            return self._excluded(replace(blank, found=found, planned=planned, made=workshop.made))

    # the two models

    def _new(self) -> tuple[Workbench, Model]:
        recorded = side_of_run(self.record)
        facts = recorded.model or {}
        if not self.record.settings.get("detectors"):
            raise T2IError("the run has no detector: expected a run with labelled pictures")
        chosen = {
            "model": self.choices.new or recorded.address,
            "dtype": facts.get("dtype") or self.record.settings.get("dtype") or "auto",
        }
        name = chosen["model"]
        try:
            base = Workbench.of_run(self.record, {**chosen, **self.choices.settings})
            side = _side_there(recorded, base)
        except T2IError as error:
            raise T2IError(
                f"the run's model {name!r} or its detector cannot be loaded, so that no mixture of "
                "old and new parts can be made. Name the model with --new MODEL, and its "
                "catalogue with --catalogue FILE; a detector of a conftest.py is known to pytest "
                "alone: run the suite, and record the baseline, with --t2i-detector "
                f"module:factory. The reason: {error}"
            ) from None
        if differing := _other_parts(recorded, side):
            raise T2IError(
                f"{name!r} is not the model of the run any more: {_some(differing)} changed since. "
                "Name the run's model with --new MODEL, or run the suite again"
            )
        self._check_taken(recorded, side, "the run")
        settings = {key: getattr(base.settings, key) for key in
                    ("model", "generation", "detectors", "mitigation", "dtype")}  # fmt: skip
        return base, Model(side, settings, base)

    def _old(self, base: Workbench, new: Model) -> Model:
        """The old model, with what the baseline knows of it where it cannot be loaded."""
        recorded = side_of_baseline(self.baseline)
        facts = recorded.model or {}
        generation = msgspec.convert(dict(recorded.generation), GenerationSettings)
        settings = {
            **new.settings,
            "generation": generation if recorded.generation else new.settings["generation"],
            "detectors": (recorded.detector,) if recorded.detector else new.settings["detectors"],
            "mitigation": recorded.mitigation or None,
            "dtype": facts.get("dtype") or new.settings["dtype"],
        }
        if recorded.fingerprint and recorded.fingerprint == side_of_run(self.record).fingerprint:
            side = replace(recorded, model=new.side.model, fingerprint=new.side.fingerprint)
            return Model(side, settings, base)
        name = self.choices.old or recorded.address or self.baseline.model
        settings["model"] = name
        try:
            bench = base.beside(
                model=name, mitigation=settings["mitigation"], dtype=settings["dtype"]
            )
            side = _side_there(recorded, bench)
        except T2IError as error:
            if self.choices.old:
                raise
            self.remarks.append(f"the old model {name!r} cannot be loaded: {error}")
            return Model(recorded, settings, None)
        problem = ""
        if differing := _other_parts(recorded, side):
            problem = f"it has another {_some(differing)} than the baseline recorded"
        elif side.fingerprint == new.side.fingerprint:
            problem = "it is the model of the run"
        if problem and self.choices.old:
            raise T2IError(f"--old {name}: {problem}")
        if problem:
            self.remarks.append(f"the old model {name!r}: {problem}")
            return Model(recorded, settings, None)
        self._check_taken(recorded, side, "the baseline")
        return Model(side, settings, bench)

    def _check_taken(self, recorded: Side, there: Side, whose: str) -> None:
        if not recorded.has_parts and recorded.fingerprint != there.fingerprint:
            self.remarks.append(
                f"{there.address} is taken to be the model of {whose}: its fingerprint is another "
                "one, as other libraries or weights give it"
            )

    # the search

    def _announced(self, blank: Explanation, search: Search, base: Workbench) -> int:
        """Say what changed and what the search costs; return its images."""
        left = [f"{name} (not exchanged)" for name, reason in blank.reasons.items() if reason]
        self.say(f"changed: {', '.join([*search.components, *left])}")
        pictured = len(search.pictured)
        judging = len(search.components) - pictured
        planned = planned_images(search.growth, pictured, judging, search.level, search.prompts)
        price = f" ({base.price.times(planned)})" if base.price else ""
        budget = "" if self.choices.budget is None else f", at most {self.choices.budget}"
        self.say(
            f"about {planned} images{price}{budget}: {search.prompts} prompts that grew most, "
            f"{search.per_prompt} fresh seeds each, for each mixture of old and new parts (hybrid)"
        )
        return planned

    def _excluded(self, explanation: Explanation) -> Explanation:
        """Name the only change that was not exchanged, where the run itself shows a growth."""
        explanation = replace(explanation, remarks=tuple(self.remarks))
        found, reasons = explanation.found, explanation.reasons
        left = [name for name, reason in reasons.items() if reason]
        unknown = [each.name for each in explanation.components if not each.is_known]
        is_settled = found.outcome in ("named", "set") or (found.outcome == "open" and found.images)
        if not left or not explanation.grown.prompts or is_settled:
            return explanation
        p_value = _gate_p_value(self.record, self.baseline)
        is_shown = p_value is not None and p_value <= EXCLUDED
        if found.outcome == "none" and (is_shown or set(left) - {LIBRARIES, DEVICE}):
            # What was exchanged did not make it; what was not exchanged may have.
            words = "what could be exchanged did not make it"
            found = replace(found, outcome="open", words=words)
        if len(left) == 1 and not unknown and p_value is not None and is_shown:
            compared = explanation.grown.compared
            whole = Interval(1.0, 1.0, 1.0, self.choices.level, "by exclusion", compared)
            words = "nothing else changed that could have made it"
            named = (Effect((left[0],), whole, p_value),)
            found = replace(found, outcome="named", named=named, words=words)
        return replace(explanation, found=found)


def _without_hybrids(blank: Explanation) -> Finding:
    if not blank.grown.prompts:
        return Finding("none", words="no prompt became more one-sided than by chance")
    if not blank.reasons and all(component.is_known for component in blank.components):
        return Finding("none", words="nothing changed between the baseline and the run")
    return Finding("open")


def _side_there(recorded: Side, bench: Workbench) -> Side:
    return replace(
        recorded,
        address=bench.settings.model or "",
        fingerprint=bench.model_fingerprint,
        model=bench.model_facts,
    )


def _other_parts(recorded: Side, there: Side) -> list[str]:
    if not (recorded.has_parts and there.has_parts):
        return []
    names = {*recorded.parts, *there.parts}
    differing = sorted(name for name in names if recorded.part(name) != there.part(name))
    extra, own = ((side.model or {}).get("extra", "") for side in (recorded, there))
    return differing if extra == own else [*differing, "extra"]


def _gate_p_value(record: RunRecord, baseline: Baseline) -> float | None:
    counts = [
        (before.male, before.female, now.labels.get("male", 0), now.labels.get("female", 0))
        for prompt in record.prompts
        if (before := baseline.prompts.get(prompt.text)) and (now := prompt.decided)
    ]
    if not any(sum(row[:2]) and sum(row[2:]) for row in counts):
        return None
    return statistics.change_p_value(*zip(*counts, strict=True), seed=0)


def _some(names: Sequence[str]) -> str:
    further = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{further}"
