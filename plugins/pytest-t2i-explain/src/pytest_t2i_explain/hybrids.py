"""Hybrids of the old model and the new one: loaded, made and judged by way of the store.

A hybrid is an ordinary model of a run, with parts, scheduler and changed weights from either side.
Its pictures have ordinary keys, so nothing is made twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pytest_t2i import DetectorRef, GenerationSettings, Need, Prompt, T2IError, Workbench

from pytest_t2i_explain.prompts import WorsenedPrompt
from pytest_t2i_explain.search import Names, Values
from pytest_t2i_explain.sides import (
    ARGUMENTS,
    CALL,
    CHANGES,
    DETECTOR,
    DEVICE,
    LIBRARIES,
    MITIGATION,
    MODEL,
    NONE,
    NUMBERS,
    SCHEDULER,
    WORDS,
    Component,
    Side,
)

JUDGING = (DETECTOR,)
"""Components that judge pictures and change none."""
SETTINGS = (*ARGUMENTS, MITIGATION, DETECTOR, WORDS, NUMBERS)
"""Components that need no file of the old model."""
CALLED_BY = ("call", "variant", "lora")
"""Options of the call that an entry of the catalogue holds."""


class CombinationError(T2IError):
    """A hybrid that cannot be made; ``component`` is what was exchanged."""

    def __init__(self, component: str, reason: str) -> None:
        super().__init__(reason)
        self.component = component


@dataclass(frozen=True, slots=True)
class Model:
    """One side's model: what is known of it, and the workbench that makes its pictures."""

    side: Side
    settings: Mapping[str, Any]
    """Settings of its run: model, generation, detectors, mitigation, dtype."""
    bench: Workbench | None
    """None where it cannot be loaded."""


@dataclass
class Workshop:
    """Makes and judges hybrids of two models."""

    old: Model
    new: Model
    base: Workbench
    """The workbench of the run."""
    changed: Names
    """Components that are exchanged; all others are of the new model."""
    prompts: Sequence[WorsenedPrompt]
    made: int = field(default=0, init=False)
    """Pictures that were made, those of the store left out."""

    @property
    def in_picture(self) -> Names:
        """The exchanged components that change a picture."""
        return self.changed - set(JUDGING)

    def draw(self, new: Names, images: int) -> Values:
        """Make and judge the pictures of a hybrid; return their values, [n_prompts, images]."""
        judges = [DetectorRef(self._side_of(DETECTOR, names)["detectors"][0])
                  for names in (new, self.changed, frozenset[str]())]  # fmt: skip
        prompts = [(self._prompt(grown, new), self._seeds(grown, images)) for grown in self.prompts]
        try:
            bench = self._bench(new & self.in_picture)
            with closing(bench):
                bench.make(Need(prompt, seeds, frozenset(judges)) for prompt, seeds in prompts)
        except T2IError as error:
            raise self._blamed(error, new) from error
        self.made += bench.made
        seen = bench.observations()
        values = []
        for grown, (prompt, seeds) in zip(self.prompts, prompts, strict=True):
            # A picture that repeats an earlier one of its prompt counts 0.
            distinct = set(seen.distinct([prompt], seeds))
            said = [detection.said for detection in seen.detections(prompt, seeds, judges[0])]
            values.append([
                float(grown.directions.get(str(word), 0)) if seed in distinct else 0.0
                for seed, word in zip(seeds, said, strict=True)
            ])  # fmt: skip
        return np.array(values)

    def _blamed(self, error: T2IError, new: Names) -> T2IError:
        exchanged = self.changed - new
        alone = exchanged if len(exchanged) == 1 else new & self.changed
        if len(alone) != 1 or len(self.changed) == 1 or "budget" in str(error):
            return error
        return CombinationError(next(iter(alone)), str(error))

    def _prompt(self, grown: WorsenedPrompt, new: Names) -> Prompt:
        """The prompt of a hybrid, which has the words of either side."""
        is_old = WORDS in self.changed - new
        return replace(grown.prompt, text=grown.text_before) if is_old else grown.prompt

    def _seeds(self, grown: WorsenedPrompt, images: int) -> tuple[int, ...]:
        """Seeds that neither side has used, so that no picture tests its own choice."""
        return self.base.seeds(grown.prompt, grown.seeds + images)[grown.seeds :]

    # the parts of a hybrid

    def _side_of(self, component: str, new: Names) -> Mapping[str, Any]:
        return (self.old if component in self.changed - new else self.new).settings

    def _bench(self, new: Names) -> Workbench:
        """Return the workbench of a hybrid, whose pipeline is not loaded yet."""
        generation = {
            name: getattr(self._side_of(component, new)["generation"], name)
            for component, names in ARGUMENTS.items()
            for name in names
        }
        changed: dict[str, Any] = {
            "generation": GenerationSettings(**generation),
            "mitigation": self._side_of(MITIGATION, new)["mitigation"],
            "dtype": self._side_of(NUMBERS, new)["dtype"],
        }
        weights = {name for name in self.in_picture if name not in SETTINGS}
        old_weights = weights - new
        if not old_weights:
            return self.base.beside(**changed)
        if MODEL in old_weights or (old_weights == weights and self._is_all(weights)):
            return self.base.beside(model=self.old.settings["model"], **changed)
        plain = self.base.beside(**changed)
        extra = self._extra(plain, old_weights)
        name = f"{self.new.settings['model']} with the old {', '.join(sorted(old_weights))}"
        return self.base.beside(replace(plain.load_options, extra=extra), name, **changed)

    def _is_all(self, weights: set[str]) -> bool:
        old, new = self.old.side, self.new.side
        parts = {*old.parts, *new.parts, SCHEDULER}
        differing = {name for name in parts if old.part(name) != new.part(name)}
        return self.old.bench is not None and differing <= weights

    def _extra(self, plain: Workbench, old_parts: set[str]) -> dict[str, Any]:
        """The keys of an entry of the catalogue: the new model's, with these parts of the old."""
        extra = dict(plain.load_options.extra)
        parts = dict(extra.get("parts", {}))
        for name in old_parts:
            if name == SCHEDULER:
                facts = self.old.side.model or {}
                extra["scheduler"] = facts["scheduler"]
                extra["scheduler_config"] = json.loads(facts["scheduler_values"])
                continue
            if self.old.bench is None:
                raise CombinationError(name, "the old model is not there")
            options = self.old.bench.load_options.extra
            if name == CHANGES:
                extra["changes"] = options.get("changes")
            elif name == CALL:
                extra |= {key: options.get(key) for key in CALLED_BY}
            else:
                parts[name] = self.old.bench.part_folder(name)
        extra["parts"] = parts or None
        return {key: value for key, value in extra.items() if value is not None}


def not_exchangeable(component: Component, old: Model, new: Model) -> str:
    """Return the reason why a changed component cannot be exchanged; "" where it can."""
    name = component.name
    renewed = old.settings["detectors"][0] == new.settings["detectors"][0]
    only_one = NONE in (component.before, component.now) and name not in (CHANGES, CALL)
    has_scheduler = name == SCHEDULER and "scheduler_values" in (old.side.model or {})
    needs_old = name not in SETTINGS and not has_scheduler
    reason = ""
    if name in (LIBRARIES, DEVICE):
        reason = "only a run in the old environment can tell"
    elif name == DETECTOR and renewed:
        reason = "it has the same name, and other weights or code than before"
    elif needs_old and old.bench is None:
        reason = "the old model is needed: name it with --old MODEL"
    elif needs_old and name != MODEL and only_one:
        reason = "only one of the two models has it"
    return reason
