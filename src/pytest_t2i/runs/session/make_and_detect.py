"""Generation and detection of all images that the selected tests of a run need."""

from __future__ import annotations

from contextlib import closing

from pytest_t2i.audits.engine.peoples_labels import recognised, unsettled_words
from pytest_t2i.generation.detect import look_at_labelled
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.progress import Progress
from pytest_t2i.generation.ready_made import check_supply
from pytest_t2i.generation.seeds import seeding_of
from pytest_t2i.runs.session.early_stopping import Rounds
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.session import Session
from pytest_t2i.verdicts.limits_file import LimitFiles


def make_and_detect(results: Results, limits: LimitFiles, progress: Progress) -> None:
    session = results.session
    session.check_labels()
    runner = Runner(
        session.components, session.store, progress, session.settings.batch, tries_seeds=True
    )
    with closing(runner):
        session.work = runner.work
        if changed := session.components.version_note if session.has_model else "":
            runner.progress.say(changed)
            session.work.notes.append(changed)
        images = session.images_wanted()
        notes = check_supply(session.components.model(), images) if images else []
        if session.settings.sequential:
            Rounds(session, results, limits, runner).make()
        else:
            runner.run(results.make_plan())
        if session.tries_detectors and session.labelled is not None:
            refs = map(DetectorRef, session.detectors)
            try:
                look_at_labelled(runner.observer, session.labelled, refs)
            finally:
                session.work.detected = runner.observer.detected
                runner.count_judged()
        mitigating = session.components.mitigating()
        notes += [] if mitigating is None else mitigating.notes
        session.work.notes += [*notes, *_seed_notes(session), *_notes_on_labels(results)]


def _seed_notes(session: Session) -> list[str]:
    seeding = session.has_model and seeding_of(
        session.store, session.components.model().fingerprint
    )
    return [seeding.words] if seeding and seeding.kind != "seeded" else []


def _notes_on_labels(results: Results) -> list[str]:
    session, labelled = results.session, results.session.labelled
    if session.settings.labels is None or labelled is None:
        return []
    notes = [*labelled.notes]
    if words := unsettled_words(labelled, "people's labels decide nothing"):
        notes.append(words)
    samples = [
        results.one_sample(prompt, test)
        for test in session.tests.values()
        for prompt in test.selection.prompts
    ]
    if samples and not recognised(samples, labelled):
        notes.append(
            "none of the labelled images is of this run: the run's scores are not corrected"
        )
    elif samples and not labelled.vocabulary.is_gender:
        groups = ", ".join(labelled.vocabulary.clear)
        notes.append(f"labels of {groups} correct no score: labels of male and female do")
    return notes
