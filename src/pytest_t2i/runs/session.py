"""The state of one run in one process: its components, its selected tests, what was done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from filelock import FileLock

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.audits.instruments import Instruments
from pytest_t2i.data import GenerationSettings, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import user_path
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.generation.seeds import seeds_for
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import FILE_NAME, LabelledSet, load_labelled_set
from pytest_t2i.prompts import CaptionFile, read_captions
from pytest_t2i.protocols import Calibrated
from pytest_t2i.runs.selection import SelectedTest, Selection, images_wanted
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import Compared

DEFAULT_FINDER = "grounded-sam"
"""Unless the catalogue names one for the model: what Wu uses."""
SUITED = "auto"
"""Word for the object detector that suits the model."""
NO_FINDER = "t2i: no object detector given; run with --t2i-objects auto, or a name"
NO_LABELS = "t2i: no labelled images given; run with --t2i-labels FOLDER"


@dataclass
class Session:
    """The state of one run in one process.

    Over 20 methods: hooks and fixtures share this one state of a run.
    """

    settings: Settings
    components: Components
    audits: tuple[Audit[Any], ...] = field(default_factory=installed_audits)
    """Every registered audit, each behind those whose records it reads."""
    started: float = field(default_factory=time.time)
    tests: dict[str, SelectedTest] = field(default_factory=dict)
    """By node id, in the order of collection."""
    work: Work = field(default_factory=Work)
    checks: list[Check] = field(default_factory=list)
    compared: dict[str, list[Compared]] = field(default_factory=dict)
    """Node id -> records of what the test compared."""
    failed_otherwise: list[str] = field(default_factory=list)
    """Node ids of tests that failed without a FAIL among their checks."""
    failed_because: dict[str, str] = field(default_factory=dict)
    """Node id of a test that failed -> the first line of why."""
    selected: int = 0
    """Tests that were to be judged."""
    judged: set[str] = field(default_factory=set)
    """Node ids of tests that have run."""
    is_interrupted: bool = False
    """Whether the run was stopped before its end."""

    # what it works with

    @cached_property
    def fixtures(self) -> Mapping[str, Fixture]:
        """The fixtures of all audits, by name."""
        return {name: made for audit in self.audits for name, made in audit.fixtures.items()}

    @property
    def store(self) -> Store:
        """Where everything is kept."""
        return self.components.store

    @cached_property
    def detectors(self) -> tuple[str, ...]:
        """Detectors by name; the first one's word decides."""
        return self.components.detector_names

    @cached_property
    def encoder(self) -> str:
        """The encoder of image space."""
        return self.components.encoder_name

    @cached_property
    def finder(self) -> str:
        """The object detector: the option's; with "auto", or none, what suits the model."""
        if self.settings.objects not in (None, SUITED):
            return str(self.settings.objects)
        entry = self.components.catalogue.models.get(self.settings.model or "")
        return (entry.objects if entry else None) or DEFAULT_FINDER

    @cached_property
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
            return load_labelled_set(user_path(self.labels))
        folder = self.store.folder / "labelled" / f"{self.labels}-{sets.version(self.labels)}"
        with FileLock(folder.parent.parent / "locks" / f"{folder.name}.lock"):
            if not (folder / FILE_NAME).is_file():
                sets.get(self.labels)(folder)
        return load_labelled_set(folder)

    @property
    def captions(self) -> CaptionFile | None:
        """Captions that are prompts, and what was left out of their file; None without."""
        given = self.settings.captions
        return None if given is None else read_captions(given)

    @cached_property
    def calibration(self) -> Calibrated | None:
        """What says which prompts the model is calibrated for; None: any, or there is no model."""
        return self.components.calibration() if self.has_model else None

    def validate(self) -> None:
        """Resolve every name, so that a mistyped one is told before anything is made."""
        if self.has_model:
            self.components.model()
            self.components.check_budget()
            self._check_mitigation()
            self._check_canary()
        if self.settings.labels is not None:
            _ = self.labelled
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

    def _check_canary(self) -> None:
        if self.settings.canary and not self.components.counts_requests:
            raise ConfigurationError(
                f"--t2i-canary: {self.components.model().name} is known by its weights. Expected a "
                "model behind HTTP: openai:MODEL, hf:PROVIDER/MODEL or a class made from "
                "EndpointModel."
            )

    def learn(self, selection: Selection) -> None:
        """Tell the run's mitigation the triplets of a marker, before its prompts are looked at."""
        if (mitigating := self.components.mitigating()) is not None:
            mitigating.learn(selection.triplets)

    def check_labels(self) -> None:
        """Refuse detectors whose labels are others than people gave the images.

        Raises ConfigurationError.
        """
        wanted = self.settings.labels is not None or self.tries_detectors
        if wanted and self.labelled is not None:
            for name in self.detectors:
                said = self.components.detector(DetectorRef(name)).labels
                self.labelled.vocabulary.check_detector(name, said, self.labelled.folder)

    # what was asked

    @property
    def tries_detectors(self) -> bool:
        """Whether a selected test is about detectors on labelled images."""
        return any(test.selection.detectors for test in self.tests.values())

    @property
    def needs_model(self) -> bool:
        """Whether a selected test asks for images."""
        return any(test.selection.needs_model for test in self.tests.values())

    def images_wanted(self) -> dict[str, int]:
        """Images per prompt text that the selected tests need together."""
        return images_wanted((test.selection, test.images) for test in self.tests.values())

    def seeds(self, neutral: Prompt, images: int) -> tuple[int, ...]:
        """The seeds of a prompt; a model of ready-made images has its own."""
        return seeds_for(self.components.model(), self.settings.seed, neutral.text, images)

    def texts_of(self, prompt: Prompt) -> set[str]:
        """What the images of a prompt are made from: itself, or what a mitigation makes of it."""
        mitigating = self.components.mitigating()
        if mitigating is None:
            return {prompt.text}
        return mitigating.made_from(prompt, self.seeds(prompt, self.settings.images))

    def make_plan(self, context: AuditContext, tests: Sequence[SelectedTest] | None = None) -> Plan:
        """Everything that tests ask for; None: all that are selected.

        ``context`` is what audits work with.
        """
        plan = Plan(self.generation, self.components.mitigating())
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
        """What the instruments of OASIS need for what a test selects."""
        attributes = tuple(attribute for _, attribute in selection.subjects)
        return Instruments(
            self.encoder, self.settings.seed, selection.observe, attributes, self.seeds
        )


def distinct(tests: Iterable[SelectedTest]) -> list[SelectedTest]:
    """Tests that ask for something of their own; of those that ask for the same, the first."""
    asked = {(t.selection, t.images, t.planned, t.stopping): t for t in reversed(list(tests))}
    return list(reversed(asked.values()))
