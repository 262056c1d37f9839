"""Carry out a plan: make the images that the store lacks, and run the detectors they need."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property

from pytest_t2i.data import Request
from pytest_t2i.errors import BudgetSpentError, StoreError
from pytest_t2i.generation import traces
from pytest_t2i.generation.batch_size import (
    BatchSize,
    FindsBatchSize,
    remember_speed,
    remembered,
)
from pytest_t2i.generation.bill import Bill, bill_of, unjudged_words, within_budget
from pytest_t2i.generation.check_plan import check_packages, check_variations
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import DEFAULT_BATCH, Observer
from pytest_t2i.generation.examine import Examine
from pytest_t2i.generation.executors import InProcess, batches_to_store, each_once
from pytest_t2i.generation.heartbeat import signs_of_life
from pytest_t2i.generation.missing_images import MissingImages
from pytest_t2i.generation.model_probe import probe_model
from pytest_t2i.generation.plan import Plan
from pytest_t2i.generation.progress import Progress, Silent
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.generation.seeds import try_seeds
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.pruning import name_of_run, note_needed
from pytest_t2i.protocols import Executor

LOADING = "loading the libraries of the model and its detectors"
"""The step in which PyTorch and diffusers are imported: half a minute on a slow disk."""
LOADING_FIRST = 2.0
"""Seconds until its first line, as a few have passed in silence before."""
TURNS = 3
"""Number of rounds in which damaged images are made again, before the run ends with an error."""


@dataclass
class Runner:
    """Takes plans through their steps: check, read, probe, make, and have detectors look."""

    components: Components
    store: Store
    progress: Progress = field(default_factory=Silent)
    batch: int | None = None
    work: Work = field(default_factory=Work)
    tries_seeds: bool = False
    """Whether a model that may ignore seeds is probed before its first picture."""
    _needed: set[str] = field(default_factory=set)

    @cached_property
    def observer(self) -> Observer:
        """Runs detectors on the images."""
        return Observer(self.components, self.store, self.progress, self.batch)

    @cached_property
    def executor(self) -> Executor:
        """The executor, which makes the missing images."""
        executor = self.components.executor(self.size.now, self._say)
        if isinstance(executor, FindsBatchSize):
            executor.find_batch_size(self.size)
        return executor

    @cached_property
    def bill(self) -> Bill | None:
        """The cost of the images; None where no price is known."""
        return bill_of(self.components)

    @cached_property
    def size(self) -> BatchSize:
        """The batch size: the option's, the catalogue's, or one to be found by trying."""
        if batch := self.batch or self.components.model_batch():
            return BatchSize(batch)
        fingerprint = self.components.model().fingerprint
        return BatchSize(DEFAULT_BATCH, remembered(self.store, fingerprint, self._say))

    @cached_property
    def _examine(self) -> Examine:
        return Examine(self.observer, self.bill, self.work)

    @cached_property
    def _name(self) -> str:
        """Name of the run, under which the store records the images it needs."""
        return name_of_run(self.components.run_id or self.components.own_id)

    def run(self, plan: Plan) -> Work:
        """Make the missing images, then run detectors on them.

        A kill at any moment loses at most two batches of pictures.
        """
        started = time.monotonic()
        if not plan.needs:
            return self.work
        with signs_of_life(LOADING, self.progress.say, first=LOADING_FIRST):
            check_packages(plan, self.components)
        with signs_of_life("reading the model and prompts", self.progress.say):
            self._read(plan)
        try:
            self._make_and_look(plan)
        except BudgetSpentError as error:
            if str(error) in self.work.notes:
                raise
            left = self.observer.left_to_judge({plan.keys[r]: n for r, n in plan.needs.items()})
            self.work.notes.append(unjudged_words(self.components.judge_spending, left))
            raise BudgetSpentError(self.work.notes[-1]) from None
        finally:
            self.count_judged()
        self.work.detected = self.observer.detected
        self.work.seconds += time.monotonic() - started
        return self.work

    def count_judged(self) -> None:
        run, spending = self.components.judge_run, self.components.judge_spending
        self.work.judged = run.judged.total()
        self.work.notes += [note for note in run.notes if note not in self.work.notes]
        if spending is not None:
            self.work.judge_price = str(spending.price)
            self.work.judge_paid = spending.count.judged
        self.work.faults = self.components.counts.faults

    def close(self) -> None:
        """Close the executor, which stays open between plans, and the run's counter."""
        if self.work.made and self.size.words:
            self.work.notes.append(self.size.words)
        if self.work.planned and (words := self._examine.sizes.words):
            self.work.notes.append(words)
        if (close := getattr(self.__dict__.get("executor"), "close", None)) is not None:
            close()
        if not self.components.run_id:  # other workers of the run use the counters
            self.components.counts.clear()

    def keys(self, plan: Plan) -> dict[Request, str]:
        """The store's key of every request, which the plan has from now on."""
        plan.keys = dict(zip(plan, self.components.keys(plan), strict=True))
        return plan.keys

    def _read(self, plan: Plan) -> None:
        """Do everything that precedes the first picture."""
        self.work.is_ready_made = is_ready_made(self.components.model())
        self._needed.update(self.keys(plan).values())
        self.work.planned = len(self._needed)
        note_needed(self.store.folder, self._name, self._needed)
        check_variations(plan, self.components)
        if (mitigating := self.components.mitigating()) is not None:
            observed = set().union(*(needs.observe for needs in plan.needs.values()))
            for note in mitigating.unseen(observed):
                if note not in self.work.notes:
                    self._say(note)
        traces.read_texts(plan, self.components, self.store)

    def _make_and_look(self, plan: Plan) -> None:
        """Make and detect; pictures that turn out damaged when they are opened are made again."""
        judge_price = self.components.judge_price
        for _ in range(TURNS):
            with within_budget(
                self.bill, self.work, lambda: len(self._missing(plan).requests), judge_price
            ) as pays:
                if pays:
                    self._make(plan)
            unread = self._examine.look(plan)
            if not unread:
                return
        raise StoreError(
            f"{len(unread)} images cannot be read, such as: {next(iter(unread.values()))} Nothing "
            "is stored of them: check the disk, and run again"
        )

    def _missing(self, plan: Plan) -> MissingImages:
        return MissingImages(self.store, plan, self._say)

    def _make(self, plan: Plan) -> None:
        missing, model = self._missing(plan), self.components.model()
        settings = next(iter(plan)).settings
        if self.tries_seeds and (missing.requests or self.components.settings.probe == "again"):
            self.tries_seeds = False
            self.work.probed += try_seeds(self.components, settings, self.bill, self.progress.say)
            for note in probe_model(self.components, settings, self.progress.say):
                self._say(note)
        if not missing.requests:
            return
        count = len(missing.requests)
        activity = "reading pictures of" if self.work.is_ready_made else "making images with"
        cost = "" if self.bill is None else self.bill.before(count, self.progress.say)
        self.store.name_model(model.fingerprint, model.name)
        self._examine.pace.begin()
        self.progress.start(f"{activity} {model.name}{cost}", count)
        try:
            while missing.requests:
                missing.look_again(self._make_free(plan, missing))
        finally:
            self.progress.stop()

    def _make_free(self, plan: Plan, missing: MissingImages) -> int:
        before, components = self.work.made, self.components
        if isinstance(self.executor, InProcess):
            self.observer.turn = self.executor.turn
            self.executor.meanwhile = lambda: self.observer.load(plan.needs.values())
        looks = components.settings.detect_where == "worker"
        requests = (
            traces.asked(request, plan.needs[request], looks=looks)
            for request in missing.claim(self._examine.is_over)
        )
        pairs = each_once(self.executor, requests, components.settings.executor)
        # The images of an endpoint are paid for: each is stored at once.
        at_once = (lambda: 1) if components.counts_requests else (lambda: self.size.now)
        try:
            for part in batches_to_store(pairs, at_once):
                self._examine.keep(plan, part)
        finally:
            missing.release()
            if self.work.made > before:
                settings = next(iter(plan)).settings
                remember_speed(self.store, components.model(), self.size, settings)
        self._examine.raise_error()
        return self.work.made - before

    def _say(self, note: str) -> None:
        self.work.notes.append(note)
        self.progress.say(note)
