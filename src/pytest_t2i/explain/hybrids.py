"""Hybrids of the old model and the new one: loaded, made and judged by way of the store.

A hybrid is an ordinary model of a run: an entry of the catalogue in memory, with parts, scheduler
and changed weights from either side. Its pictures have ordinary keys, so nothing is made twice.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pytest_t2i.adapters.catalogue import LORA, PIPELINES, ModelEntry
from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import FINAL_LATENT, GenerationSettings, Prompt
from pytest_t2i.errors import BudgetSpentError, ConfigurationError, T2IError
from pytest_t2i.explain.search import Names, Values
from pytest_t2i.generation.batch_size import device_of
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.progress import Progress
from pytest_t2i.generation.seeds import seeds_for
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.runs.explanation.prompts import WorsenedPrompt
from pytest_t2i.runs.explanation.sides import (
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
from pytest_t2i.settings import Settings

NEW, OLD = "new", "old"
JUDGING = (DETECTOR,)
"""Components that judge pictures and change none."""
SETTINGS = (*ARGUMENTS, MITIGATION, DETECTOR, WORDS, NUMBERS)
"""Components that need no file of the old model."""


class CombinationError(T2IError):
    """A hybrid that cannot be made; ``component`` is what was exchanged."""

    def __init__(self, component: str, reason: str) -> None:
        super().__init__(reason)
        self.component = component


@dataclass(frozen=True, slots=True)
class Model:
    """One side's model: how a run names it, and what is known of it."""

    settings: Settings
    side: Side
    is_there: bool = True
    """Whether it can be loaded."""


@dataclass
class Workshop:
    """Makes and judges hybrids of two models."""

    old: Model
    new: Model
    changed: Names
    """Components that are exchanged; all others are of the new model."""
    prompts: Sequence[WorsenedPrompt]
    store: Store
    progress: Callable[[], Progress]
    made: int = 0
    """Pictures that were made, those of the store left out."""
    _shown: Progress | None = None
    _device: str = ""
    """The device on which the model of the last hybrid computed; "" where it did not say so."""

    def __post_init__(self) -> None:
        # One set of detectors judges all hybrids.
        self._base = Components(self.new.settings, self.store)

    @property
    def in_picture(self) -> Names:
        """The exchanged components that change a picture."""
        return self.changed - set(JUDGING)

    # the parts of a hybrid

    def components(self, new: Names) -> Components:
        """Return the components of a hybrid, whose pipeline is not loaded yet."""
        settings = self._settings(new)
        weights = {n for n in self.in_picture if n not in SETTINGS and n != MODEL}
        old_weights = weights - new
        if MODEL in self.in_picture:
            model = self.new if MODEL in new else self.old
            return self._base.with_settings(replace(settings, model=model.settings.model))
        if not old_weights:
            return self._base.with_settings(settings)
        if old_weights == weights and self.old.is_there and self._is_all(weights):
            return self._base.with_settings(replace(settings, model=self.old.settings.model))
        return self._hybrid(settings, old_weights)

    def _is_all(self, weights: Iterable[str]) -> bool:
        """Whether these are all parts that differ between the models' folders."""
        old, new = self.old.side, self.new.side
        parts = {*old.parts, *new.parts, SCHEDULER}
        differing = {name for name in parts if old.part(name) != new.part(name)}
        return differing <= set(weights)

    def _settings(self, new: Names) -> Settings:
        """The settings of a run with a hybrid: each exchanged one of its side."""
        old, settings = self.old.settings, self.new.settings
        exchanged = self.changed - new
        generation = {
            name: getattr((old if component in exchanged else settings).generation, name)
            for component, names in ARGUMENTS.items()
            for name in names
        }
        return replace(
            settings,
            generation=GenerationSettings(**generation),
            mitigation=(old if MITIGATION in exchanged else settings).mitigation,
            dtype=(old if NUMBERS in exchanged else settings).dtype,
        )

    def _hybrid(self, settings: Settings, old_parts: set[str]) -> Components:
        """A model of the new one's folder with these parts of the old one."""
        components = self._base.with_settings(settings)
        base = components.defaults()
        extra = dict(base.extra)
        parts = dict(extra.get("parts", {}))
        for name in sorted(old_parts):
            if name == SCHEDULER:
                facts = self.old.side.model or {}
                extra["scheduler"] = facts["scheduler"]
                extra["scheduler_config"] = json.loads(facts["scheduler_values"])
            elif name == CHANGES:
                extra["changes"] = self._old_options.extra.get("changes")
            elif name == CALL:
                extra |= {k: self._old_options.extra.get(k) for k in ("call", "variant", LORA)}
            else:
                parts[name] = self._old_part(name)
        extra["parts"] = parts or None
        options = replace(base, extra={k: v for k, v in extra.items() if v is not None})
        name = f"{settings.model} with the old {', '.join(sorted(old_parts))}"
        entry = components.entry or ModelEntry(name, PIPELINES, options, batch=None)
        components.catalogue.models[name] = replace(entry, alias=name, options=options)
        components.settings = replace(settings, model=name)
        return components

    @property
    def _old_options(self) -> LoadOptions:
        return self._base.with_settings(self.old.settings).defaults()

    def _old_part(self, name: str) -> str:
        from pytest_t2i.adapters.models.pipelines import pipeline_folder

        options = self._old_options
        elsewhere = options.extra.get("parts", {}).get(name)
        return str(elsewhere or pipeline_folder(options) / name)

    # pictures

    def seeds(self, grown: WorsenedPrompt, images: int) -> tuple[int, ...]:
        """Seeds that neither side has used, so that no picture tests its own choice."""
        base, text, used = self.new.settings.seed, grown.prompt.text, grown.seeds
        model, most = self._base.model(), self._base.most_seed
        return seeds_for(model, base, text, used + images, most)[used:]

    def draw(self, new: Names, images: int) -> Values:
        """Make and judge the pictures of a hybrid; return their values, [n_prompts, images]."""
        components = self.components(new & self.in_picture)
        detector = self.detector(new)
        prompts = [(self.prompt(grown, new), self.seeds(grown, images)) for grown in self.prompts]
        try:
            self._make(components, prompts)
        except BudgetSpentError:
            raise
        except T2IError as error:
            exchanged = self.changed - new
            alone = exchanged if len(exchanged) == 1 else new & self.changed
            if len(alone) != 1 or len(self.changed) == 1:
                raise
            raise CombinationError(next(iter(alone)), str(error)) from error
        observations = _observations(components)
        ref = DetectorRef(detector)
        return np.array(
            [
                _values(observations, prompt, seeds, ref, grown.directions)
                for grown, (prompt, seeds) in zip(self.prompts, prompts, strict=True)
            ]
        )

    def observations(self, new: Names) -> Observations:
        """What the store holds of a hybrid's pictures."""
        return _observations(self.components(new & self.in_picture))

    def detector(self, new: Names) -> str:
        """The detector that judges a hybrid."""
        model = self.old if DETECTOR in self.changed - new else self.new
        return model.settings.detectors[0]

    def prompt(self, grown: WorsenedPrompt, new: Names) -> Prompt:
        """The prompt of a hybrid, which has the words of either side."""
        if WORDS in self.changed - new:
            return replace(grown.prompt, text=grown.text_before)
        return grown.prompt

    def _make(
        self, components: Components, prompts: Sequence[tuple[Prompt, tuple[int, ...]]]
    ) -> None:
        names = [self.new.settings.detectors[0]]
        if DETECTOR in self.changed:
            names.append(self.old.settings.detectors[0])
        detectors = frozenset(map(DetectorRef, names))

        def needs(*observe: str) -> list[Need]:
            traces = frozenset(observe)
            return [Need(p, seeds, detectors, observe=traces) for p, seeds in prompts]

        if components.counts_requests:
            # A service shows no latents, and none of its pictures is paid twice for them.
            self.carry_out(components, needs())
            return
        try:
            self.carry_out(components, needs(FINAL_LATENT))
        except ConfigurationError:
            # Some pipelines do not show their latents.
            self.carry_out(components, needs())

    def carry_out(self, components: Components, needs: Iterable[Need]) -> None:
        """Make and examine what the store lacks."""
        _free_pipeline(self._device)
        plan = Plan(_request_settings(components))
        plan.add_all(needs)
        # One for all hybrids: it knows the time of an image before the first one of a hybrid.
        self._shown = self._shown or self.progress()
        runner = Runner(components, self.store, self._shown, components.settings.batch)
        try:
            with closing(runner):
                runner.run(plan)
        finally:
            self.made += runner.work.made
            self._device = device_of(components.model().loaded)


def _observations(components: Components) -> Observations:
    return Observations(components, _request_settings(components))


def _request_settings(components: Components) -> RequestSettings:
    """The settings of both sides as they were recorded, without defaults of the catalogue."""
    return RequestSettings(components.settings.generation, components.mitigating())


def _values(
    observations: Observations,
    prompt: Prompt,
    seeds: tuple[int, ...],
    ref: DetectorRef,
    directions: Mapping[str, int],
) -> list[float]:
    """Return the value of each picture; one that repeats an earlier one of the prompt counts 0."""
    distinct = set(observations.distinct([prompt], seeds))
    detections = observations.detections(prompt, seeds, ref)
    return [
        float(directions.get(str(detection.said), 0)) if seed in distinct else 0.0
        for seed, detection in zip(seeds, detections, strict=True)
    ]


def _free_pipeline(device: str) -> None:
    """Free what the pipeline of an earlier hybrid held; they are made one after the other.

    Without a GPU that is only done where the model said that it computes on this machine (by its
    ``provenance["device_name"]``), as looking for garbage takes longer than small pictures do.
    """
    torch = sys.modules.get("torch")
    if torch is None or not (device or torch.cuda.is_available()):
        return
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def not_exchangeable(component: Component, old: Model, new: Model) -> str:
    """Return the reason why a changed component cannot be exchanged; "" where it can."""
    name = component.name
    renewed = old.settings.detectors[0] == new.settings.detectors[0]
    only_one = NONE in (component.before, component.now) and name not in (CHANGES, CALL)
    has_scheduler = name == SCHEDULER and "scheduler_values" in (old.side.model or {})
    needs_old = name not in SETTINGS and not has_scheduler
    reason = ""
    if name in (LIBRARIES, DEVICE):
        reason = "only a run in the old environment can tell"
    elif name == DETECTOR and renewed:
        reason = "it has the same name, and other weights or code than before"
    elif needs_old and not old.is_there:
        reason = "the old model is needed: name it with --old MODEL"
    elif needs_old and name != MODEL and only_one:
        reason = "only one of the two models has it"
    return reason


def with_facts(model: Model, store: Store) -> Model:
    """Return a model with the facts of what lies under its name now."""
    components = Components(model.settings, store)
    handle = components.model()
    if not model.settings.model:
        raise ConfigurationError("expected the name of a model, got none")
    facts: Mapping[str, Any] = handle.provenance
    side = replace(
        model.side,
        address=model.settings.model,
        fingerprint=handle.fingerprint,
        model={key: str(value) for key, value in facts.items()},
    )
    return replace(model, side=side)
