"""Pictures for a command that chooses its prompts as it goes, made and stored as in a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import GenerationSettings, Prompt
from pytest_t2i.errors import BudgetSpentError, ConfigurationError
from pytest_t2i.generation.bill import STOPPED
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.progress import Bar, Lines, Progress, Silent
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import ReadyMade
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.session import Session
from pytest_t2i.settings import Settings


class Workbench:
    """The model, detector, encoder and store of a command that chooses its prompts as it goes.

    >>> from pytest_t2i import Need, Prompt
    >>> def count_labels(bench: Workbench, prompt: Prompt) -> list[str | None]:
    ...     seeds = bench.seeds(prompt, 4)
    ...     bench.make([Need(prompt, seeds, frozenset({bench.detector}))])
    ...     found = bench.observations().detections(prompt, seeds, bench.detector)
    ...     return [detection.label for detection in found]
    """

    def __init__(self, settings: Settings) -> None:
        """Resolve every name.

        Raises ConfigurationError for settings that cannot be used, for an unknown name and for a
        folder of pictures.
        """
        self.settings = settings
        self.components = Components(settings, Store(settings.store))
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
        self._runner = Runner(self.components, self._session.store, Silent(), settings.batch)

    @property
    def model_fingerprint(self) -> str:
        """The fingerprint of the model."""
        return self.components.model().fingerprint

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
        progress: Progress = Bar(sys.stderr) if sys.stderr.isatty() else Lines(_print_progress)
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
            pictures = several(self._runner.work.made, "image")
            say(f"spent {spent} for {several(bill.paid, 'request')}; {pictures} made")


def _print_progress(text: str) -> None:
    """Print to standard error; the standard output has the results alone."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool
