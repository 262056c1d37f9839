"""One run: gathers what the collected tests ask for, has it made, hands results to tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock

from pytest_t2i.audits import detector_validation, neutrality, parity
from pytest_t2i.audits import stereotypes as stereotyping
from pytest_t2i.audits.correction import Correction, correct, recognised
from pytest_t2i.audits.detector_validation import Trials
from pytest_t2i.audits.neutrality import TripletSample, TripletSamples
from pytest_t2i.audits.observations import Observations
from pytest_t2i.audits.parity import Sample, Samples
from pytest_t2i.audits.stereotypes import Association
from pytest_t2i.data import GenerationSettings, Limit, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect_labelled import Examiner
from pytest_t2i.generation.generate import Runner, Work
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.generation.progress import Progress, Silent
from pytest_t2i.generation.seeds import check_supply, seeds_for
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import FILE_NAME, LabelledSet, load_labelled_set
from pytest_t2i.plugin.options import Settings
from pytest_t2i.plugin.static_checks import Comparison
from pytest_t2i.prompts import Reference, Stereotype, read_reference
from pytest_t2i.runs.early_stopping import make_in_rounds
from pytest_t2i.runs.record import Check
from pytest_t2i.runs.selection import Ask, images_wanted
from pytest_t2i.statistics import look_level
from pytest_t2i.verdicts.limits import Bench, checked, look_up, nearest_limits_file, read_limits

DEFAULT_DETECTOR = "clip-enhance"
"""Unless the catalogue names one for the model: nearest to human labels in Lyu Tables 1 to 3."""
NO_LABELS = "t2i: no labelled images given; run with --t2i-labels FOLDER"


@dataclass
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
    comparisons: dict[str, tuple[Comparison, ...]] = field(default_factory=dict)
    """Node id -> all that the test compares, where that is known before it runs."""
    files: dict[str, Path] = field(default_factory=dict)
    """Node id -> where the test stands."""
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
        return (entry.detector if entry and entry.detector else DEFAULT_DETECTOR,)

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
        if not self.has_model:
            return self.settings.generation
        asked, default = self.settings.generation, self.components.defaults().defaults
        return GenerationSettings(
            *(
                getattr(asked, name) if getattr(asked, name) is not None else getattr(default, name)
                for name in GenerationSettings.__slots__
            )
        )

    @property
    def has_model(self) -> bool:
        """Whether a model is under test; else detectors alone are, on labelled images."""
        return self.settings.model is not None

    @property
    def labels(self) -> str | None:
        """Where labelled images come from: the option's, else what suits the model."""
        entry = self.components.catalogue.models.get(self.settings.model or "")
        return self.settings.labels or (entry.labels if entry else None)

    @cached_property
    def labelled(self) -> LabelledSet | None:
        """The labelled images; None when none are given.

        A registered set is written into the store when it is asked for first.
        """
        if self.labels is None:
            return None
        sets = self.components.registries.labelled_sets
        if self.labels not in sets:
            return load_labelled_set(Path(self.labels).expanduser())
        folder = self.store.folder / "labelled" / f"{self.labels}-{sets.version(self.labels)}"
        with FileLock(folder.parent.parent / "locks" / f"{folder.name}.lock"):
            if not (folder / FILE_NAME).is_file():
                sets.get(self.labels)(folder)
        return load_labelled_set(folder)

    def validate(self) -> None:
        """Resolve every name, so that a mistyped one is told before anything is made."""
        if self.has_model:
            self.components.model()
        if self.settings.labels is not None:
            _ = self.labelled
        for name in self.detectors:
            self.components.detector(DetectorRef(name))

    @cached_property
    def reference(self) -> Reference | None:
        """What shares of labels are compared with; None when nothing is given."""
        given = self.settings.reference
        return None if given is None else read_reference(given)

    def check_reference(self, ask: Ask) -> None:
        """Refuse a reference that knows nothing of a prompt, or of other labels."""
        if self.reference is None:
            return
        labels = self.components.detector(DetectorRef(self.detectors[0])).labels
        for prompt in ask.prompts:
            self.reference.of(prompt, labels)

    # planning

    def ask(self, node_id: str, function: str, ask: Ask) -> None:
        """A collected test asks for something."""
        self.asked[node_id] = ask
        self.families[node_id] = function

    def count(self, ask: Ask) -> int:
        """Images per prompt that a test asks for."""
        return ask.count(self.settings.images)

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
        return seeds_for(self.components.model(), self.settings.seed, neutral.text, self.count(ask))

    def make(self, progress: Progress | None = None) -> Work:
        """Have everything made and looked at that is not there yet."""
        self.plan = self.make_plan()
        shown = progress or Silent()
        wanted = images_wanted(self.asked.values(), self.settings.images)
        notes = check_supply(self.components.model(), wanted) if self.plan.wants else []
        runner = Runner(self.components, self.store, shown, self.settings.batch)
        if self.settings.sequential:
            self.plan = make_in_rounds(self, runner)
        else:
            runner.run(self.plan)
        self.work = runner.work
        self.work.notes += notes
        if self.tries_detectors and self.labelled is not None:
            examiner = self._examiner(shown)
            examiner.examine(self.labelled, self.detectors)
            self.work.detected += examiner.detected
        self.work.notes += self._labels_of_other_images()
        return self.work

    def _labels_of_other_images(self) -> list[str]:
        """A note when labels were given that say nothing of this run."""
        prompts = [(one, ask) for ask in self.asked.values() for one in ask.prompts]
        if self.settings.labels is None or self.labelled is None or not prompts:
            return []
        samples = [self._sample(prompt, ask) for prompt, ask in prompts]
        if recognised(samples, self.labelled):
            return []
        return ["none of the labelled images is of this run: its scores are not corrected"]

    @property
    def tries_detectors(self) -> bool:
        """Whether a collected test puts detectors on trial."""
        return any(ask.labelled for ask in self.asked.values())

    def _examiner(self, progress: Progress) -> Examiner:
        return Examiner(self.components, self.store, progress, self.settings.batch)

    # results

    def sample(self, prompt: Prompt, ask: Ask, family: Iterable[Ask] = ()) -> Sample:
        """The detections of one prompt."""
        others = tuple(self._sample(one, a) for a in family for one in a.prompts)
        return self._sample(prompt, ask, others)

    def samples(self, ask: Ask, detector: str | None = None) -> Samples:
        """The samples of several prompts, corrected by labels where there are any of them."""
        found = Samples(
            tuple(self._sample(one, ask, (), detector) for one in ask.prompts),
            self.settings.estimator,
            self.level(ask),
            self.settings.seed,
            sequential=ask.most is not None,
        )
        return replace(found, corrected=self.correction(found))

    def level(self, ask: Ask) -> float:
        """Level of model-level intervals; a test that was stopped early has spent a part of it."""
        if ask.most is None:
            return self.settings.confidence
        return look_level(self.count(ask), ask.most, self.settings.confidence)

    def correction(self, samples: Samples) -> Correction | None:
        """What --t2i-labels says of these samples; None without labels of their images."""
        if self.settings.labels is None or self.labelled is None or not samples.members:
            return None
        return correct(samples, self.labelled)

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

    def trials(self) -> Trials:
        """Every detector on the labelled set."""
        if self.labelled is None:
            raise ConfigurationError(NO_LABELS)
        names = [
            (one, self.components.detector(DetectorRef(one)).fingerprint) for one in self.detectors
        ]
        return detector_validation.hold(
            self.labelled,
            names,
            self._examiner(Silent()).detections,
            level=self.settings.confidence,
            seed=self.settings.seed,
        )

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
        limits, limits_file = self._limits_of(file)
        return Bench(
            node_id,
            limits,
            limits_file,
            self.settings.inconclusive,
            self.settings.confidence,
            record,
        )

    def limit(self, node_id: str, comparison: Comparison) -> Limit:
        """What a comparison of a test will be judged by."""
        if comparison.bound is not None:
            return checked(comparison.name, comparison.bound, "given in the test")
        return look_up(comparison.name, *self._limits_of(self.files[node_id]))

    def check_limits(self, file: Path, names: Iterable[str]) -> None:
        """Refuse a limit that a test names and its limits file does not have."""
        for name in names:
            look_up(name, *self._limits_of(file))

    def _limits_of(self, file: Path) -> tuple[dict[str, Limit], Path | None]:
        found = self.settings.limits or nearest_limits_file(file, self.root)
        if found is None:
            return {}, None
        if found not in self._limits:
            self._limits[found] = read_limits(found)
        return self._limits[found], found

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
            sequential=ask.most is not None,
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
            sequential=ask.most is not None,
        )


def merged(asks: Sequence[Ask]) -> list[Ask]:
    """Asks grouped by the images and spaces they want, each member once."""
    groups: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for ask in asks:
        group = groups.setdefault((ask.images, ask.most, ask.spaces, ask.labelled), {})
        for kind in ("prompts", "triplets", "stereotypes"):
            group.setdefault(kind, {}).update({one.id: one for one in getattr(ask, kind)})
    return [
        Ask(
            images=images,
            most=most,
            spaces=spaces,
            labelled=labelled,
            **{kind: tuple(m.values()) for kind, m in group.items()},
        )
        for (images, most, spaces, labelled), group in groups.items()
    ]


def work_from_json(parts: Iterable[str]) -> Work:
    """What several workers did, added up."""
    total = Work()
    for part in parts:
        one = json.loads(part)
        total.planned = max(total.planned, one["planned"])
        total.most = max(total.most, one["most"])
        total.seconds = max(total.seconds, one["seconds"])
        for name in ("made", "detected", "refused"):
            setattr(total, name, getattr(total, name) + one[name])
        total.notes += one["notes"]
    return total
