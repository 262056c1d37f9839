"""Pictures for a command that chooses its prompts as it goes, made and stored as in a run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from pytest_t2i.adapters.catalogue import PIPELINES, ModelEntry
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import EMPTY, GenerationSettings, Money, Prompt
from pytest_t2i.errors import BudgetSpentError, ConfigurationError
from pytest_t2i.generation.bill import STOPPED
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.progress import Progress, Silent, terminal_progress
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions, ReadyMade
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.session.session import Session
from pytest_t2i.settings import Settings

KEPT = ("model", "seed", "images", "trust_remote_code", "batch", "executor", "model_option",
        "mitigation", "dtype")  # fmt: skip
"""Settings of a recorded run that another command takes over."""


class Workbench:
    """The model, detector, encoder and store of a command that chooses its prompts as it goes.

    >>> from pytest_t2i import Need, Prompt
    >>> def count_labels(bench: Workbench, prompt: Prompt) -> list[str | None]:
    ...     seeds = bench.seeds(prompt, 4)
    ...     bench.make([Need(prompt, seeds, frozenset({bench.detector}))])
    ...     found = bench.observations().detections(prompt, seeds, bench.detector)
    ...     return [detection.label for detection in found]
    """

    def __init__(
        self,
        settings: Settings,
        components: Components | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Resolve every name.

        Raises ConfigurationError for settings that cannot be used, for an unknown name and for a
        folder of pictures. Parts that are loaded already, and what shows the images that are made,
        are those of another workbench.
        """
        self.settings = settings
        self.components = components or Components(settings, Store(settings.store))
        """The parts of the run by their names."""
        self._session = Session(settings, self.components)
        try:
            self._session.validate()
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace("--t2i-", "--")) from None
        model = self.components.model()
        if model.lists_images and isinstance(model.get(), ReadyMade):
            raise ConfigurationError(
                f"{model.name} is a folder of pictures made elsewhere, but this command chooses "
                "its prompts as it goes: name a model that makes images"
            )
        # Each call makes only a few images.
        self._progress = progress or Silent()
        self._runner = Runner(self.components, self._session.store, self._progress, settings.batch)

    @classmethod
    def of_run(cls, record: RunRecord, chosen: Mapping[str, Any] = EMPTY) -> Workbench:
        """Return a workbench with the settings of a recorded run, whose progress is shown.

        Args:
            record: the run; its recorded generation settings hold without defaults of a catalogue.
            chosen: settings that replace the recorded ones, by their names (``store``, ``model``).
        """
        recorded = {name: record.settings.get(name) for name in KEPT}
        files = {name: record.settings.get(name) for name in ("store", "catalogue")}
        recorded |= {
            name: Path(file) for name, file in files.items() if file and Path(file).exists()
        }
        generation = record.provenance.get("generation") or {}
        settings = Settings(
            detectors=tuple(record.settings.get("detectors") or ()),
            generation=msgspec.convert(generation, GenerationSettings),
            probe="never",
            **{name: value for name, value in recorded.items() if value is not None},
        )
        return cls(replace(settings, **chosen), progress=terminal_progress())

    def beside(
        self, options: LoadOptions | None = None, name: str = "", **changed: Any
    ) -> Workbench:
        """Return a workbench with the same store and detectors, and another model or settings.

        Args:
            options: the model loads with these options in place of its own: a part of the pipeline
                from another folder, another scheduler, as an entry of the catalogue holds them
                under ``extra``.
            name: name of the model with these options.
            **changed: settings that replace those of this workbench.

        Raises:
            T2IError: a name is unknown, or settings cannot be used.
        """
        # Free what pipelines held that nothing uses any more; each refers to itself.
        torch = sys.modules.get("torch")
        if torch is not None:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        components = self.components.with_settings(replace(self.settings, **changed))
        if options is not None:
            entry = components.entry or ModelEntry(name, PIPELINES, options, batch=None)
            components.catalogue.models[name] = replace(entry, alias=name, options=options)
            components.settings = replace(components.settings, model=name)
        return Workbench(components.settings, components, self._progress)

    @property
    def model_fingerprint(self) -> str:
        """The fingerprint of the model."""
        return self.components.model().fingerprint

    @property
    def model_facts(self) -> Mapping[str, str]:
        """Readable facts of the model: digests of its parts, scheduler, number format."""
        facts = self.components.model().provenance
        return MappingProxyType({name: str(fact) for name, fact in facts.items()})

    @property
    def load_options(self) -> LoadOptions:
        """The options that the model loads with."""
        return self.components.defaults()

    def part_folder(self, part: str) -> str:
        """Return the folder of a part of the pipeline, which is fetched where it is not there."""
        from pytest_t2i.adapters.models.pipelines import pipeline_folder

        options = self.load_options
        return str(options.extra.get("parts", {}).get(part) or pipeline_folder(options) / part)

    @property
    def price(self) -> Money | None:
        """Price of one image; None where none is known."""
        return self.components.price

    @property
    def made(self) -> int:
        """The images that this workbench made; those of the store are left out."""
        return self._runner.work.made

    @property
    def detector(self) -> DetectorRef:
        """The detector whose detections count."""
        return DetectorRef(self._session.detectors[0])

    @property
    def encoder(self) -> str:
        """The name of the encoder of images."""
        return self._session.encoder

    @property
    def batch(self) -> int | None:
        """The images per batch, by the options or the catalogue; None where neither says."""
        return self.settings.batch or self.components.model_batch()

    @property
    def generation(self) -> GenerationSettings:
        """The settings of every image: those of the options, else those of the catalogue."""
        return self._session.generation

    def seeds(self, prompt: Prompt, images: int) -> tuple[int, ...]:
        """Return the seeds of a prompt's first images."""
        return self._session.seeds(prompt, images)

    def make(self, needs: Iterable[Need]) -> None:
        """Make and observe what the store lacks."""
        plan = Plan(self._session.request_settings)
        plan.add_all(needs)
        self._runner.run(plan)

    def observations(self) -> Observations:
        """Return a reader of what was made and observed."""
        return Observations(self.components, self._session.request_settings)

    def close(self) -> None:
        """End the processes that make images."""
        self._runner.close()

    @contextmanager
    def showing(self, title: str, images: int) -> Iterator[Progress]:
        """Show a bar or lines on the standard error in this context; then say notes, and close."""
        progress = terminal_progress(sys.stderr)
        progress.start(title, images)
        try:
            yield progress
        finally:
            self.close()
            progress.stop()
            for note in self._runner.work.notes:
                if not note.startswith(STOPPED):
                    progress.say(note)

    @contextmanager
    def paying(self, images: int, say: Callable[[str], None], further: str = "") -> Iterator[None]:
        """Make paid images in this context, and report their cost where a price is known.

        Args:
            images: the largest number of images that are made in the context.
            say: receives the lines about the cost.
            further: words after the line about the largest number.

        Raises:
            BudgetSpentError: the budget does not pay for another image.
        """
        bill = self._runner.bill
        if bill is None:
            yield
            return
        say(f"at most {several(images, 'image')}{bill.before(images, say)}{further}")
        try:
            yield
        except BudgetSpentError:
            raise BudgetSpentError(
                f"stopped at the budget of {bill.spending.budget}: {bill.spending.spent} spent. "
                "Finished images are kept: the same command resumes from there, with a new --budget"
            ) from None
        finally:
            spent = bill.spending.spent
            requests = several(bill.spending.count.requests, "request")
            pictures = several(self._runner.work.made, "image")
            say(f"spent {spent} for {requests}; {pictures} made")
