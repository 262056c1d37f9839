"""Carry out a plan: make the images that the store lacks, and run the detectors they need."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.black_or_unreadable import gate
from pytest_t2i.data import FORESEEN, Generated, GenerationSettings, Request, Undetected
from pytest_t2i.errors import (
    BudgetSpentError,
    ConfigurationError,
    GenerationError,
    StoreError,
    T2IError,
)
from pytest_t2i.generation import traces
from pytest_t2i.generation.batch_size import (
    BatchSize,
    FindsBatchSize,
    device_of,
    remember,
    remembered,
)
from pytest_t2i.generation.batch_times import place_of, remember_pace
from pytest_t2i.generation.bill import STOPPED, Bill, bill_of
from pytest_t2i.generation.check_packages import check_packages
from pytest_t2i.generation.check_pictures import SizeCheck, picture_for_detectors
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import DEFAULT_BATCH, Observer, Pictures
from pytest_t2i.generation.detect_elsewhere import told
from pytest_t2i.generation.executors import InProcess, batches_to_store, each_once
from pytest_t2i.generation.heartbeat import signs_of_life
from pytest_t2i.generation.model_probe import probe_model
from pytest_t2i.generation.plan import ImageNeeds, Plan
from pytest_t2i.generation.progress import Progress, Silent
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.run_counts import ImagePace, Work
from pytest_t2i.generation.seeds import try_seeds
from pytest_t2i.generation.store import Store, StoredImage
from pytest_t2i.generation.store.entries import NewImage
from pytest_t2i.generation.store.pruning import name_of_run, note_needed
from pytest_t2i.generation.store.rows import picture_place
from pytest_t2i.generation.traces import embed_texts, encode_texts
from pytest_t2i.protocols import Executor, Varying
from pytest_t2i.sections.words import several

if TYPE_CHECKING:
    from PIL.Image import Image


def _check_variations(plan: Plan, components: Components) -> None:
    """Raise ConfigurationError for a variation that the model cannot make.

    Otherwise the model's plain images would be stored as varied ones.
    """
    variations = {request.variation for request in plan if request.variation is not None}
    mitigating = components.mitigating()
    if mitigating is not None:
        # The run's own mitigation wraps the model when the model is loaded.
        variations = {member for member in variations if not mitigating.named.makes(member)}
    model = components.model() if any(member.name for member in variations) else None
    for variation in variations:
        if model is None or not variation.name:
            continue
        loaded = model.get()
        if not (isinstance(loaded, Varying) and loaded.takes(variation)):
            raise ConfigurationError(
                f"model {model.name!r} makes no images of the variation {variation.name!r}: "
                "expected a model whose takes(variation) returns True for it. Choose another "
                "model, or deselect these tests with -k"
            )


WAIT_FOR_OTHERS = 0.2
"""Seconds between two looks into the store."""
TELL_AFTER = 10.0
"""Seconds without progress after which a note names the other process."""
GIVE_UP_AFTER = 900.0
"""Seconds without progress after which the run ends with an error."""


@dataclass
class WaitForOthers:
    """Waits for images that other processes make, names those processes, and has a time limit."""

    store: Store
    say: Callable[[str], None]
    _missing: int = -1
    _since: float = 0.0
    _told: bool = False

    def wait(self, missing: Sequence[str]) -> None:
        """Wait briefly; StoreError after a quarter of an hour without progress."""
        now = time.monotonic()
        if len(missing) != self._missing:
            self._missing, self._since, self._told = len(missing), now, False
        idle = now - self._since
        if idle > TELL_AFTER and not self._told:
            self._told = True
            owners = ", ".join(self.store.owners(missing)) or "another process"
            self.say(
                f"waiting for {several(len(missing), 'image')} that other processes make: {owners}"
            )
        if idle > GIVE_UP_AFTER:
            owners = ", ".join(self.store.owners(missing)) or "another process"
            raise StoreError(
                f"{owners} claimed {several(len(missing), 'image')}, and finished none for "
                f"{GIVE_UP_AFTER / 60:.0f} minutes. End that process, and run again."
            )
        time.sleep(WAIT_FOR_OTHERS)


LOADING = "loading the libraries of the model and its detectors"
"""The step in which PyTorch and diffusers are imported: half a minute on a slow disk."""
LOADING_FIRST = 2.0
"""Seconds until its first line, as a few have passed in silence before."""
AT_ONCE = 4096
"""Number of images that are looked up in the store at a time, so that few rows are held."""
CLAIMED = 256
"""Number of images that one process claims at a time; the rest is left for other processes."""
TURNS = 3
"""Number of rounds in which damaged images are made again, before the run ends with an error."""


@dataclass
class Runner:
    """Carries out a plan."""

    components: Components
    store: Store
    progress: Progress = field(default_factory=Silent)
    batch: int | None = None
    work: Work = field(default_factory=Work)
    tries_seeds: bool = False
    """Whether a model that may ignore seeds is probed before its first picture."""
    _unread: dict[str, str] = field(default_factory=dict)
    _needed: set[str] = field(default_factory=set)
    _pace: ImagePace = field(default_factory=ImagePace)
    _settings: GenerationSettings | None = None
    """Settings of the images made last."""
    _other_size: GenerationError | None = None
    """The error of the first picture of another aspect; no further picture is requested."""
    _undetected: T2IError | None = None
    """The error of a detector while pictures are paid for; those under way are still kept."""

    @cached_property
    def observer(self) -> Observer:
        """Runs detectors on the images."""
        return Observer(self.components, self.store, self.progress, self.batch)

    @cached_property
    def _name(self) -> str:
        """Name of the run, under which the store records the images it needs."""
        return name_of_run(self.components.run_id or self.components.own_id)

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
    def sizes(self) -> SizeCheck:
        """The sizes of the pictures, compared with those that were requested."""
        return SizeCheck(self.components.model().name)

    @cached_property
    def size(self) -> BatchSize:
        """The batch size: the option's, the catalogue's, or one to be found by trying."""
        if batch := self.batch or self.components.model_batch():
            return BatchSize(batch)
        fingerprint = self.components.model().fingerprint
        return BatchSize(DEFAULT_BATCH, remembered(self.store, fingerprint, self._say))

    @property
    def _kept_at_once(self) -> int:
        """Number of images stored together; 1 for an endpoint, whose images are paid for."""
        return 1 if self.components.counts_requests else self.size.now

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
            self._ready(plan)
        self._make_and_look(plan)
        self.work.detected = self.observer.detected
        self.work.seconds += time.monotonic() - started
        return self.work

    def _make_and_look(self, plan: Plan) -> None:
        """Make and detect; pictures that turn out damaged when they are opened are made again."""
        for _ in range(TURNS):
            self._unread.clear()
            try:
                self._make_within_budget(plan)
                self.observer.look(self._pictures(plan))
                self._detect_previews(plan)
            except BudgetSpentError as error:
                if str(error) in self.work.notes:
                    raise
                needs = {plan.keys[request]: wanted for request, wanted in plan.needs.items()}
                self.work.notes.append(self._unjudged_words(needs))
                raise BudgetSpentError(self.work.notes[-1]) from None
            finally:
                self.count_judged()
            if not self._unread:
                return
        problem = next(iter(self._unread.values()))
        raise StoreError(
            f"{len(self._unread)} images cannot be read, such as: {problem} Nothing is stored of "
            "them: check the disk, and run again"
        )

    def _tell_unseen(self, plan: Plan) -> None:
        """Note once which traces are not those of the mitigated pictures."""
        mitigating = self.components.mitigating()
        observed = set().union(*(needs.observe for needs in plan.needs.values()))
        for note in mitigating.unseen(observed) if mitigating is not None else ():
            if note not in self.work.notes:
                self._say(note)

    def _unjudged_words(self, needs: Mapping[str, ImageNeeds]) -> str:
        """A note on what was spent when the budget ended while pictures were judged."""
        spending = self.components.judge_spending
        left = self.observer.left_to_judge(needs)
        if spending is None:
            return f"{STOPPED}: {several(left, 'picture')} left to judge"
        more = spending.price.times(left)
        return (
            f"{STOPPED} of {spending.budget}: {spending.spent} spent, {several(left, 'picture')} "
            f"left to judge, which costs about {more}. What was judged is kept: the "
            "same command resumes "
            f'with --t2i-budget "{more}"'
        )

    def count_judged(self) -> None:
        """Take over the counts of the run's judges."""
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
        if self.work.made:
            self._remember_pace()
        if words := self.sizes.words if "sizes" in self.__dict__ else "":
            self.work.notes.append(words)
        if (close := getattr(self.__dict__.get("executor"), "close", None)) is not None:
            close()
        if not self.components.run_id:  # other workers of the run use the counters
            self.components.counts.clear()

    def _remember_pace(self) -> None:
        """Store the pace of a local model."""
        handle, settings = self.components.model(), self._settings
        model: Any = handle.loaded
        if handle.lists_images or settings is None or model is None:
            return
        if (pace := self.size.times.pace) is not None:
            place = place_of(device_of(model), settings)
            remember_pace(self.store, handle.fingerprint, {place: pace})

    def keys(self, plan: Plan) -> dict[Request, str]:
        """The store's key of every request, which the plan has from now on."""
        plan.keys = dict(zip(plan, self.components.keys(plan), strict=True))
        return plan.keys

    def _pictures(self, plan: Plan) -> Pictures:
        """The stored images of a plan, opened when they are needed."""
        stored = self.store.images(list(plan.keys.values()))
        if not self.work.is_ready_made:
            for request, key in plan.keys.items():
                if key in stored:
                    self.sizes.compare(key, request, stored[key].size)
        unseen = {key: image.undetected for key, image in stored.items() if image.undetected}
        needs = {plan.keys[r]: needs for r, needs in plan.needs.items() if plan.keys[r] in stored}
        refusals = {key: stored[key].refusal or "" for key in unseen}
        return Pictures(needs, lambda key: self._open(stored[key], refusals), unseen, refusals)

    def _detect_previews(self, plan: Plan) -> None:
        """Run detectors on the denoising previews, where a test needs them."""
        asking = [r for r, needs in plan.needs.items() if FORESEEN in needs.observe]
        strips = self.store.arrays([plan.keys[r] for r in asking], FORESEEN)
        stored = self.store.images(list(strips))
        for request in asking:
            key, needs = plan.keys[request], plan.needs[request]
            if key in stored and (array := self.store.open_array(strips[key])).size:
                self.observer.look_at(
                    traces.denoising_previews(array, stored[key].sha256, needs.detectors)
                )

    def _open(self, stored: StoredImage, told: dict[str, str]) -> Image | Undetected | None:
        """The picture; None where it cannot be read now, in which case nothing is stored.

        One that cannot be decoded is named in ``told``.
        """
        try:
            picture = self.store.open_image(stored)
            if picture is None:
                told[stored.key] = f"{Undetected.UNREADABLE}: {picture_place(stored.key)}"
            return gate(picture)
        except StoreError as error:
            self._unread[stored.key] = str(error)
            return None

    # images

    def _make_within_budget(self, plan: Plan) -> None:
        if self.bill is None:
            self._make(plan)
            return
        try:
            # Another worker of the run may have spent the budget.
            if not self.bill.is_over:
                self._make(plan)
        except GenerationError:
            if not self.bill.is_over:
                raise
        finally:
            self.work.price, self.work.paid = str(self.bill.price), self.bill.paid
        left = len(self._missing(plan, list(plan))) if self.bill.is_over else 0
        if left:
            judge_price = self.components.judge_price
            self.work.notes.append(self.bill.stopped(left, self.work.planned, judge_price))
            raise BudgetSpentError(self.work.notes[-1])

    def _ready(self, plan: Plan) -> None:
        """Do everything that precedes the first picture."""
        self.work.is_ready_made = is_ready_made(self.components.model())
        self._needed.update(self.keys(plan).values())
        self.work.planned = len(self._needed)
        note_needed(self.store.folder, self._name, self._needed)
        _check_variations(plan, self.components)
        self._tell_unseen(plan)
        embed_texts(plan, self.components, self.store)
        encode_texts(plan, self.components, self.store)

    def _try_seeds(self, settings: GenerationSettings) -> None:
        if self.tries_seeds:
            self.tries_seeds = False
            self.work.probed += try_seeds(self.components, settings, self.bill, self.progress.say)
            for note in probe_model(self.components, settings, self.progress.say):
                self.progress.say(note)
                self.work.notes.append(note)

    def _make(self, plan: Plan) -> None:
        missing = self._missing(plan, list(plan))
        if missing or self.components.settings.probe == "again":
            self._try_seeds(next(iter(plan)).settings)
        if not missing:
            return
        self._settings = next(iter(plan)).settings
        activity = "reading pictures of" if self.work.is_ready_made else "making images with"
        cost = "" if self.bill is None else self.bill.before(len(missing), self.progress.say)
        self._pace.begin()
        self.progress.start(f"{activity} {self.components.model().name}{cost}", len(missing))
        try:
            waiting = WaitForOthers(self.store, self._say)
            while missing:
                count = self._make_free(plan, missing)
                # Wait for images that another process claimed; make them here if it gives up.
                before, missing = missing, self._missing(plan, missing)
                if count and len(missing) == len(before):
                    raise StoreError(
                        f"{several(count, 'image')} were made and written to the store, and none "
                        f"is found there. Check the disk of {self.store.folder} with t2i store "
                        "verify, and run again."
                    )
                if missing and not count:
                    waiting.wait([plan.keys[request] for request in missing])
        finally:
            self.progress.stop()

    def _make_free(self, plan: Plan, among: Sequence[Request]) -> int:
        """Make the images that no other process makes, and return their number."""
        before, claimed = self.work.made, list[str]()
        name = self.components.settings.executor
        model = self.components.model()
        self.store.name_model(model.fingerprint, model.name)
        requests = self._claimed(plan, among, claimed)
        if isinstance(self.executor, InProcess):
            self.executor.meanwhile = lambda: self.observer.load(plan.needs.values())
            self.observer.turn = self.executor.turn
        pairs = each_once(self.executor, requests, name)
        try:
            for part in batches_to_store(pairs, lambda: self._kept_at_once):
                self._keep(plan, part)
        finally:
            self.store.release(claimed)
            self._remember_size()
        if (error := self._other_size or self._undetected) is not None:
            self._undetected = None
            raise error
        return self.work.made - before

    def _remember_size(self) -> None:
        """Store the batch size for the next run."""
        if (batch := self.size.told) is not None:
            fingerprint = self.components.model().fingerprint
            remember(self.store, fingerprint, {batch.place: batch.found})

    def _claimed(
        self, plan: Plan, among: Sequence[Request], claimed: list[str]
    ) -> Iterator[Request]:
        """Claim requests as the executor takes them; the rest is left for other processes."""
        for start in range(0, len(among), CLAIMED):
            if self._other_size or self._undetected:
                return
            part = among[start : start + CLAIMED]
            mine = set(self.store.claim([plan.keys[request] for request in part]))
            claimed += mine
            # Another process may have made some of them just before this one claimed them.
            todo = self._missing(plan, [r for r in part if plan.keys[r] in mine])
            for request in todo:
                if self._other_size or self._undetected:
                    return
                yield traces.asked(request, plan.needs[request], looks=self._looks_elsewhere)

    def _missing(self, plan: Plan, among: Sequence[Request]) -> list[Request]:
        parts = (among[start : start + AT_ONCE] for start in range(0, len(among), AT_ONCE))
        return [request for part in parts for request in self._missing_of(plan, part)]

    def _missing_of(self, plan: Plan, among: Sequence[Request]) -> list[Request]:
        images = self.store.images([plan.keys[request] for request in among])
        names = {request: traces.wanted(plan.needs[request]) for request in among}
        arrays = {
            name: self.store.arrays(
                [plan.keys[r] for r, mine in names.items() if name in mine], name
            )
            for name in sorted(set().union(*names.values()))
        }
        unseen = {r for r, mine in names.items() if traces.missing(arrays, plan.keys[r], mine)}
        return [
            r
            for r in among
            if plan.keys[r] not in images or (r in unseen and images[plan.keys[r]].file is not None)
        ]

    def _keep(self, plan: Plan, part: list[tuple[Request, Generated]]) -> None:
        plain = [(r.plain, generated) for r, generated in part if self._has_size(r, generated)]
        name = self.components.model().name
        pictures = {
            plan.keys[r]: picture_for_detectors(r, generated, name) for r, generated in plain
        }
        model = self.components.model().fingerprint
        new = [
            NewImage(
                plan.keys[r], model, r, g, pictures[plan.keys[r]] is Undetected.BLACK_IMAGE,
                traces.kept(g, plan.needs[r]),
            )
            for r, g in plain
        ]  # fmt: skip
        self.store.add_images(new)
        self.work.made += len(new)
        if self.bill is not None:
            self.bill.made(len(new))
        self.progress.advance(len(new))
        # Detectors run while the pictures are in memory; no file is read back.
        stored = self.store.images(list(pictures))
        unseen = {key: image.undetected for key, image in stored.items() if image.undetected}
        reasons = Counter(unseen.values())
        self.work.refused += reasons[Undetected.REFUSED]
        self.work.unreadable += reasons[Undetected.UNREADABLE]
        needs: dict[str, ImageNeeds] = {plan.keys[r]: plan.needs[r] for r, _ in plain}
        if self._looks_elsewhere:
            self._take_detections(needs, {plan.keys[r]: generated for r, generated in plain})
        refusals = {key: stored[key].refusal or "" for key in unseen}
        if self._undetected is None:
            self._look_at_new(Pictures(needs, pictures.__getitem__, unseen, refusals))
        self.work.seconds_per_image = self._pace.batch(len(new))

    def _look_at_new(self, pictures: Pictures) -> None:
        """Look at pictures while they are in memory; an error waits for those that are paid for."""
        try:
            self.observer.look_at(pictures)
        except T2IError as error:
            if not self.components.counts_requests:
                raise
            self._undetected = error

    def _has_size(self, request: Request, generated: Generated) -> bool:
        """Whether a picture is kept; the first whose aspect is another ends the run."""
        error = None if self.work.is_ready_made else self.sizes.error(request, generated)
        self._other_size = self._other_size or error
        return error is None

    @property
    def _looks_elsewhere(self) -> bool:
        return self.components.settings.detect_where == "worker"

    def _take_detections(
        self, needs: Mapping[str, ImageNeeds], images: Mapping[str, Generated]
    ) -> None:
        """Store the detections that workers made."""
        for fingerprint, detections in told(self.components.detector, needs, images).items():
            self.store.add_detections(fingerprint, detections)
            self.observer.detected += len(detections)

    def _say(self, note: str) -> None:
        self.work.notes.append(note)
        self.progress.say(note)
