"""One run: gathers what the collected tests ask for, has it made, hands results to tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_t2i.asking import Ask
from pytest_t2i.audits import neutrality, parity
from pytest_t2i.audits import stereotypes as stereotyping
from pytest_t2i.audits.neutrality import TripletSample, TripletSamples
from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.parity import Sample, Samples
from pytest_t2i.audits.stereotypes import Association
from pytest_t2i.components import Components
from pytest_t2i.config import Settings
from pytest_t2i.data import GenerationSettings, Limit, Prompt
from pytest_t2i.limits import Bench, nearest_limits_file, read_limits
from pytest_t2i.planning import DetectorRef, Plan
from pytest_t2i.progress import Progress, Silent
from pytest_t2i.prompts import Stereotype
from pytest_t2i.record import Check
from pytest_t2i.runner import Runner, Work
from pytest_t2i.seeds import check_supply, seeds_for
from pytest_t2i.store import Store


@dataclass(slots=True)
class Session:
    """The state of one run in one process."""

    settings: Settings
    root: Path
    components: Components
    started: float = field(default_factory=time.time)
    plan: Plan | None = None
    work: Work = field(default_factory=Work)
    checks: list[Check] = field(default_factory=list)
    failed_otherwise: list[str] = field(default_factory=list)
    """Node ids of tests that failed without a FAIL among their checks."""
    asked: dict[str, Ask] = field(default_factory=dict)
    """Node id -> what the test asks for."""
    families: dict[str, str] = field(default_factory=dict)
    """Node id -> name of the test function, whose cases share one error level."""
    _limits: dict[Path, dict[str, Limit]] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """Where everything is kept."""
        return self.components.store

    @property
    def progress_file(self) -> Path:
        """Where the worker that makes images tells how far it is."""
        return self.store.folder / "locks" / f"{self.components.run_id}.progress"

    @property
    def detectors(self) -> tuple[str, ...]:
        """Detectors by name; the first one's word decides."""
        if self.settings.detectors:
            return self.settings.detectors
        entry = self.components.catalogue.models.get(self.settings.model or "")
        return (entry.detector if entry and entry.detector else "clip",)

    @property
    def encoder(self) -> str:
        """The encoder of image space: the detector's, where it has one, so that one is loaded."""
        entry = self.components.catalogue.models.get(self.settings.model or "")
        if entry and entry.encoder:
            return entry.encoder
        base = self.detectors[0].partition(":")[0]
        return self.detectors[0] if base in self.components.registries.encoders else "clip"

    @property
    def generation(self) -> GenerationSettings:
        """The settings in force: the options', else the catalogue's."""
        asked, default = self.settings.generation, self.components.defaults().defaults
        return GenerationSettings(
            *(
                getattr(asked, name) if getattr(asked, name) is not None else getattr(default, name)
                for name in GenerationSettings.__slots__
            )
        )

    def validate(self) -> None:
        """Resolve every name, so that a mistyped one is told before anything is made."""
        self.components.model()
        for name in self.detectors:
            self.components.detector(DetectorRef(name))

    # planning

    def ask(self, node_id: str, function: str, ask: Ask) -> None:
        """A collected test asks for something."""
        self.asked[node_id] = ask
        self.families[node_id] = function

    def make_plan(self) -> Plan:
        """Everything the collected tests ask for."""
        plan = Plan(self.generation)
        refs = [DetectorRef(name) for name in self.detectors]
        for ask in self.asked.values():
            seeds = [self.seeds(one, ask) for one in ask.prompts]
            plan.add_all(parity.needs(ask.prompts, seeds, refs))
            seeds = [self.seeds(one.prompt, ask) for one in ask.stereotypes]
            plan.add_all(stereotyping.needs(ask.stereotypes, seeds, refs))
            seeds = [self.seeds(one.neutral, ask) for one in ask.triplets]
            plan.add_all(neutrality.needs(ask.triplets, seeds, ask.spaces, self.encoder))
        return plan

    def seeds(self, neutral: Prompt, ask: Ask) -> tuple[int, ...]:
        """The seeds of a prompt; a model of ready-made images has its own."""
        count = min(self.settings.images, ask.images or self.settings.images)
        return seeds_for(self.components.model(), self.settings.seed, neutral.text, count)

    def make(self, progress: Progress | None = None) -> Work:
        """Have everything made and looked at that is not there yet."""
        self.plan = self.make_plan()
        notes = check_supply(self.components.model(), self._wanted())
        runner = Runner(self.components, self.store, progress or Silent(), self.settings.batch)
        self.work = runner.run(self.plan)
        self.work.notes += notes
        return self.work

    def _wanted(self) -> dict[str, int]:
        """Images asked for, per prompt text."""
        wanted: dict[str, int] = {}
        for ask in self.asked.values():
            count = min(self.settings.images, ask.images or self.settings.images)
            prompts = [*ask.prompts, *(one.prompt for one in ask.stereotypes)]
            for prompt in [*prompts, *(one for three in ask.triplets for one in three)]:
                wanted[prompt.text] = max(count, wanted.get(prompt.text, 0))
        return wanted

    # results

    def sample(self, prompt: Prompt, ask: Ask, family: Iterable[Ask] = ()) -> Sample:
        """The detections of one prompt."""
        others = tuple(self._sample(one, a) for a in family for one in a.prompts)
        return self._sample(prompt, ask, others)

    def samples(self, ask: Ask, detector: str | None = None) -> Samples:
        """The samples of several prompts."""
        return Samples(
            tuple(self._sample(one, ask, (), detector) for one in ask.prompts),
            self.settings.estimator,
            self.settings.confidence,
            self.settings.seed,
        )

    def association(
        self, stereotype: Stereotype, ask: Ask, family: Iterable[Ask] = ()
    ) -> Association:
        """One stereotype as measured."""
        others = tuple(self._association(one, a) for a in family for one in a.stereotypes)
        return self._association(stereotype, ask, others)

    def triplets(self, ask: Ask) -> TripletSamples:
        """Several triplets."""
        members = tuple(
            TripletSample(
                one,
                self.seeds(one.neutral, ask),
                self.encoder,
                self.observations,
                self.settings.confidence,
                self.settings.seed,
            )
            for one in ask.triplets
        )
        return TripletSamples(members, self.settings.confidence, self.settings.seed)

    def family(self, node_id: str) -> list[Ask]:
        """What the cases of the same test function ask for, this one's included."""
        function = self.families[node_id]
        return [self.asked[other] for other, name in self.families.items() if name == function]

    @property
    def observations(self) -> Observations:
        """Reads the store."""
        if self._observations is None:
            self._observations = Observations(self.components, self.store, self.generation)
        return self._observations

    _observations: Observations | None = None

    def bench(self, node_id: str, file: Path, record: Callable[[Check], None]) -> Bench:
        """What a running test is judged by."""
        limits_file = self.settings.limits or nearest_limits_file(file, self.root)
        limits = {}
        if limits_file is not None:
            if limits_file not in self._limits:
                self._limits[limits_file] = read_limits(limits_file)
            limits = self._limits[limits_file]
        return Bench(
            node_id,
            limits,
            limits_file,
            self.settings.inconclusive,
            self.settings.confidence,
            record,
        )

    def _sample(
        self,
        prompt: Prompt,
        ask: Ask,
        family: tuple[Sample, ...] = (),
        detector: str | None = None,
    ) -> Sample:
        return Sample(
            prompt,
            self.seeds(prompt, ask),
            DetectorRef(detector or self.detectors[0]),
            self.observations,
            self.settings.confidence,
            family,
        )

    def _association(
        self, stereotype: Stereotype, ask: Ask, family: tuple[Association, ...] = ()
    ) -> Association:
        return Association(
            stereotype,
            self.seeds(stereotype.prompt, ask),
            self.detectors[0],
            self.observations,
            self.settings.confidence,
            family,
        )


def merged(asks: Sequence[Ask]) -> list[Ask]:
    """Asks grouped by the images and spaces they want, each member once."""
    groups: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for ask in asks:
        group = groups.setdefault((ask.images, ask.spaces), {})
        for kind in ("prompts", "triplets", "stereotypes"):
            group.setdefault(kind, {}).update({one.id: one for one in getattr(ask, kind)})
    return [
        Ask(images=images, spaces=spaces, **{kind: tuple(m.values()) for kind, m in group.items()})
        for (images, spaces), group in groups.items()
    ]


def work_from_json(parts: Iterable[str]) -> Work:
    """What several workers did, added up."""
    total = Work()
    for part in parts:
        one = json.loads(part)
        total.planned = max(total.planned, one["planned"])
        total.seconds = max(total.seconds, one["seconds"])
        for name in ("made", "detected", "refused"):
            setattr(total, name, getattr(total, name) + one[name])
        total.notes += one["notes"]
    return total
