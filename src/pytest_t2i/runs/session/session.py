"""The state of one run in one process: components, selected tests, checks and counts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_t2i.adapters.detectors.rubrics import JUDGE
from pytest_t2i.adapters.registry import brought_by_companion
from pytest_t2i.audits.audit import Audit, Fixture
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.context import AuditContext
from pytest_t2i.audits.engine.instruments import Instruments
from pytest_t2i.data import GenerationSettings, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import FileLock, user_path
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.generation.seeds import seeds_for
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import FILE_NAME, LabelledSet, load_labelled_set
from pytest_t2i.prompts import CaptionFile, read_captions
from pytest_t2i.protocols import Calibrated
from pytest_t2i.runs.session.selection import SelectedTest, Selection, images_wanted
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.caveats.built_in import all_caveats
from pytest_t2i.verdicts.caveats.run_level import RunLevel
from pytest_t2i.verdicts.certificate import Certificate, read_certificate
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import Compared

DEFAULT_FINDER = "grounded-sam"
"""Object detector if the catalogue names none for the model; Wu uses it."""
SUITED = "auto"
"""Value of --t2i-objects for the object detector of the model."""
NO_FINDER = "t2i: no object detector given; run with --t2i-objects auto, or a name"
NO_LABELS = "t2i: no labelled images given; run with --t2i-labels FOLDER"


@dataclass
class Session:
    """The state of one run in one process."""

    settings: Settings
    components: Components
    audits: tuple[Audit, ...] = field(default_factory=installed_audits)
    """All registered audits, each after those whose records it reads."""
    started: float = field(default_factory=time.time)
    tests: dict[str, SelectedTest] = field(default_factory=dict)
    """Selected tests by node id, in the order of collection."""
    work: Work = field(default_factory=Work)
    checks: list[Check] = field(default_factory=list)
    compared: dict[str, list[Compared]] = field(default_factory=dict)
    """Node id -> audits' records of what the test compared."""
    failed_otherwise: list[str] = field(default_factory=list)
    """Node ids of tests that failed without a FAIL among their checks."""
    failed_because: dict[str, str] = field(default_factory=dict)
    """Node id of a test that failed -> first line of the reason."""
    selected: int = 0
    """Number of tests that are to be judged."""
    judged: set[str] = field(default_factory=set)
    """Node ids of tests that have run."""
    is_interrupted: bool = False
    """Whether the run was stopped before its end."""

    # components

    @cached_property
    def fixtures(self) -> Mapping[str, Fixture]:
        """The fixtures of all audits, by name."""
        return {name: fixture for audit in self.audits for name, fixture in audit.fixtures.items()}

    @property
    def store(self) -> Store:
        return self.components.store

    @cached_property
    def detectors(self) -> tuple[str, ...]:
        """The names of the detectors; the detections of the first are judged."""
        return self.components.detector_names

    @cached_property
    def encoder(self) -> str:
        return self.components.encoder_name

    @cached_property
    def finder(self) -> str:
        """The name of the object detector: the option's; for "auto" or none, the model's."""
        if self.settings.objects not in (None, SUITED):
            return str(self.settings.objects)
        entry = self.components.entry
        return (entry and entry.objects) or DEFAULT_FINDER

    @cached_property
    def generation(self) -> GenerationSettings:
        """The generation settings: those of the options, else those of the catalogue."""
        if not self.has_model:
            return self.settings.generation
        options, default = self.settings.generation, self.components.defaults().defaults
        return GenerationSettings(
            *(
                getattr(options, name)
                if getattr(options, name) is not None
                else getattr(default, name)
                for name in GenerationSettings.__slots__
            )
        )

    @cached_property
    def request_settings(self) -> RequestSettings:
        return RequestSettings(self.generation, self.components.mitigating())

    @property
    def has_model(self) -> bool:
        """Whether a model is under test; otherwise only detectors are, on labelled images."""
        return self.settings.model is not None

    @property
    def has_ready_pictures(self) -> bool:
        """Whether the model under test has pictures made elsewhere and makes none."""
        return self.has_model and is_ready_made(self.components.model())

    @property
    def labels(self) -> str | None:
        """The source of labelled images: the option's, else the model's in the catalogue."""
        entry = self.components.entry
        return self.settings.labels or (entry.labels if entry else None)

    @cached_property
    def labelled(self) -> LabelledSet | None:
        """The labelled images; None without any.

        The first access writes a registered set into the store.
        """
        if self.labels is None:
            return None
        sets = self.components.registries.labelled_sets
        if self.labels not in sets:
            folder = user_path(self.labels)
            brings = brought_by_companion("labelled_set", self.labels)
            if brings and not folder.exists():
                raise ConfigurationError(
                    f"the labelled images {self.labels!r} are those of a companion that is not "
                    f"installed. {brings}"
                )
            return load_labelled_set(folder)
        folder = self.store.folder / "labelled" / f"{self.labels}-{sets.version(self.labels)}"
        with FileLock(folder.parent.parent / "locks" / f"{folder.name}.lock"):
            if not (folder / FILE_NAME).is_file():
                sets.get(self.labels)(folder)
        return load_labelled_set(folder)

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate of the judged detector; None without --t2i-judge-certificate."""
        file = self.settings.judge_certificate
        return None if file is None else read_certificate(file)

    @cached_property
    def caveats(self) -> tuple[object, ...]:
        """What qualifies the verdicts of the run."""
        return all_caveats(self.components.registries.caveats)

    @property
    def captions(self) -> CaptionFile | None:
        """The captions of --t2i-captions, read anew; None without."""
        path = self.settings.captions
        return None if path is None else read_captions(path)

    @cached_property
    def calibration(self) -> Calibrated | None:
        """The object that knows the model's calibrated prompts; None if any prompt is."""
        return self.components.calibration() if self.has_model else None

    def validate(self) -> None:
        """Resolve every name, so that a mistyped one raises an error before anything is made."""
        if self.has_model:
            self.components.model()
            self.components.check_budget()
            self._check_mitigation()
        self.components.check_judge_price()
        if self.settings.labels is not None:
            _ = self.labelled
        _ = self.certificate, self.caveats
        for name in self.detectors:
            self.components.detector(DetectorRef(name))
        if self.settings.objects is not None:
            self.components.finder(self.finder)

    def _check_mitigation(self) -> None:
        model = self.components.model()
        if self.components.mitigating() is not None and is_ready_made(model):
            raise ConfigurationError(
                f"--t2i-mitigation: the pictures of {model.name} were made elsewhere, a mitigation "
                "acts while they are made"
            )

    def learn(self, selection: Selection) -> None:
        """Pass a marker's triplets to the run's mitigation, before its prompts are examined."""
        if (mitigating := self.components.mitigating()) is not None:
            mitigating.learn(selection.triplets)

    def check_labels(self) -> None:
        """Raise ConfigurationError if a detector's labels are not those of the labelled images."""
        is_needed = self.settings.labels is not None or self.tries_detectors
        if is_needed and self.labelled is not None:
            # People's labels correct the first detector; a judge's other attributes have no labels.
            further = () if self.tries_detectors else self.detectors[1:]
            beside = {name for name in further if name.startswith(JUDGE)}
            for name in (name for name in self.detectors if name not in beside):
                labels = self.components.detector(DetectorRef(name)).labels
                self.labelled.vocabulary.check_detector(name, labels, self.labelled.folder)

    # selected tests

    @property
    def tries_detectors(self) -> bool:
        """Whether a selected test evaluates detectors on labelled images."""
        return any(test.selection.detectors for test in self.tests.values())

    @property
    def needs_model(self) -> bool:
        return any(test.selection.needs_model for test in self.tests.values())

    @cached_property
    def run_level(self) -> RunLevel | None:
        """The level that all comparisons of the selected tests share; None without that option."""
        level = self.settings.run_level
        if level is None:
            return None
        families = {test.family or test.node_id: test.counted or 1 for test in self.tests.values()}
        return RunLevel(level, sum(families.values()))

    def images_wanted(self) -> dict[str, int]:
        """Return the images per prompt text that the selected tests need together."""
        return images_wanted((test.selection, test.images) for test in self.tests.values())

    def seeds(self, neutral: Prompt, images: int) -> tuple[int, ...]:
        """Return the seeds of a prompt's images; those of ready-made images are fixed."""
        model, most = self.components.model(), self.components.most_seed
        return seeds_for(model, self.settings.seed, neutral.text, images, most)

    def texts_of(self, prompt: Prompt) -> set[str]:
        """Return the texts of a prompt's images: its own, or those of a mitigation."""
        mitigating = self.components.mitigating()
        if mitigating is None:
            return {prompt.text}
        return mitigating.made_from(prompt, self.seeds(prompt, self.settings.images))

    def make_plan(self, context: AuditContext, tests: Sequence[SelectedTest] | None = None) -> Plan:
        """Return the plan of everything that tests need; None takes all selected tests."""
        plan = Plan(self.request_settings)
        refs = frozenset(DetectorRef(name) for name in self.detectors)
        for test in distinct(self.tests.values() if tests is None else tests):
            plan.extras |= test.selection.extras
            plan.add_all(
                Need(prompt, self.seeds(prompt, test.images), refs)
                for prompt in test.selection.prompts
            )
            for audit in self.audits:
                plan.add_all(audit.needs(context, test))
        return plan

    def instruments(self, selection: Selection) -> Instruments:
        """Return the traces, attributes and encoder that a test needs besides its images."""
        attributes = tuple(attribute for _, attribute in selection.subjects)
        return Instruments(
            self.encoder, self.settings.seed, selection.observe, attributes, self.seeds
        )


def distinct(tests: Iterable[SelectedTest]) -> list[SelectedTest]:
    """Return the tests without those that need the same as an earlier one."""
    by_need = {(t.selection, t.images, t.planned, t.stopping): t for t in reversed(list(tests))}
    return list(reversed(by_need.values()))
