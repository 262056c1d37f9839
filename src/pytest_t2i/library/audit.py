"""The audit of a model from a script or a notebook, with the numbers and verdicts of pytest."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.generation.progress import Silent, shown
from pytest_t2i.library.audit_result import Audited
from pytest_t2i.library.in_memory import is_nameless, name_of
from pytest_t2i.library.session import clean_errors, session_for, settings_for, temporary_store
from pytest_t2i.metrics.info import register
from pytest_t2i.protocols import Detector
from pytest_t2i.runs.make_and_detect import make
from pytest_t2i.runs.marker_arguments import KEYWORDS, select
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest, Selection, narrowed, told_apart
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.limits_file import LimitFiles

FILE = Path("audit.py")
"""A stand-in for the test file, beside which limits.toml is looked up."""


@clean_errors()
def audit(
    model: Any,
    *selected: Any,
    images: int = 20,
    detector: str | Detector | Sequence[str] | None = None,
    audits: Sequence[str] = ("parity",),
    fingerprint: str | None = None,
    name: str | None = None,
    progress: bool = True,
    **options: Any,
) -> Audited:
    """Make images of prompts, detect and measure: a fairness run without pytest.

    Args:
        model: a diffusers pipeline, any ``TextToImage``, a function from prompts and seeds to
            pictures, or a value of ``--t2i-model``. A hash of its weights and configuration
            identifies a pipeline.
        selected: arguments of the marker ``t2i``: axes, prompts, triplets, stereotypes.
        images: number of images per prompt.
        detector: one or several values of ``--t2i-detector``, or an object that obeys
            ``Detector``. None takes the catalogue's detector of the model, and ``clip-enhance``
            with its default weights for a model in memory.
        audits: names of the audits whose fixtures are measured.
        fingerprint: version of a function, which stands for all that changes its pictures; without
            it every call makes new pictures.
        name: name of a model in memory in reports and tables, to distinguish two models.
        progress: whether to show a progress bar.
        options: other options of a run by their names, such as ``seed=1`` or ``steps=4``, and
            keywords of the marker, such as ``observe="features"``.

    Returns:
        An object with measurements as attributes, verdicts, tables and a report.

    Raises:
        ConfigurationError: an option or the model cannot be used, or nothing is selected.
        UnknownNameError: there is no such audit, detector, model or option.
        ModelLoadError: the detector's weights are not on this machine and cannot be fetched.

    >>> from PIL import Image
    >>> from pytest_t2i import Detection, axes
    >>> class Colour:
    ...     fingerprint, labels = "colour-1", ("male", "female")
    ...     def detect(self, images):
    ...         return [Detection("male") for _ in images]
    >>> plain = lambda prompts, seeds: [Image.new("RGB", (8, 8), seed % 2**24) for seed in seeds]
    >>> nurse = axes.profession.only("nurse")
    >>> known = audit(plain, nurse, images=9, detector=Colour(), progress=False)
    >>> known.model_bias_score.interval.low > 0.2
    True
    """
    known = {audit.name: audit for audit in installed_audits()}
    for wanted in audits:
        if wanted not in known:
            raise UnknownNameError("audit", wanted, known)
    for each in known.values():
        for metric in each.metrics:
            register(metric)
    of_audits = {name: word for one in known.values() for name, word in one.keywords.items()}
    understood = {*of_audits, *KEYWORDS} - {"images"}
    keywords = {name: options.pop(name) for name in [*options] if name in understood}
    # A function without a fingerprint cannot be identified later: its pictures lie in a temporary
    # store that lives as long as the returned object.
    with ExitStack() as temporary:
        if is_nameless(model, fingerprint) and "store" not in options:
            options["store"] = temporary.enter_context(temporary_store())
        given = None if detector is None or isinstance(detector, str | Sequence) else detector
        asked = detector if given is None else name_of(given)
        settings = settings_for(model, images, asked, options, name)
        session = session_for(settings, model, fingerprint, given)
        selection = select(selected, keywords, (), of_audits)
        session.learn(selection)
        cases = _cases(selection, [known[name] for name in audits], settings)
        session.tests = told_apart({case.node_id: case for of in cases.values() for case in of})
        session.selected = len(session.tests)
        results = Results(session)
        with _default_named(unsaid=detector is None and not isinstance(model, str)):
            limits = LimitFiles(Path.cwd(), settings.limits)
            make(results, limits, shown() if progress else Silent())
        named = {name: tuple(session.tests[c.node_id] for c in of) for name, of in cases.items()}
        session.judged |= session.tests.keys()
        audited = Audited(results, named)
        weakref.finalize(audited, temporary.pop_all().close)
    return audited


@contextmanager
def _default_named(*, unsaid: bool) -> Iterator[None]:
    """Add advice to a ModelLoadError if ``unsaid``: no detector was named for a model in memory.

    Raises ModelLoadError that names the default detector and says how to choose another.
    """
    try:
        yield
    except ModelLoadError as error:
        if not unsaid:
            raise
        raise ModelLoadError(
            f"{error} No detector was given, so the pictures of a model in memory need the default "
            "one, clip-enhance with its usual weights. Give another one: detector=NAME (`t2i list "
            "detectors` names them), or an object with fingerprint, labels and detect(images)."
        ) from None


def _cases(
    selection: Selection, audits: Sequence[Audit[Any]], settings: Settings
) -> dict[str, tuple[SelectedTest, ...]]:
    """Return the test cases of each fixture by its name, as pytest would make them."""
    cases = {
        name: tuple(_cases_of(name, fixture, selection, settings))
        for audit in audits
        for name, fixture in audit.fixtures.items()
        if fixture.about is not None and not (fixture.finds and settings.objects is None)
    }
    asked = {name: of for name, of in cases.items() if of}
    if not asked:
        raise ConfigurationError(
            "nothing is selected: give axes or prompts, such as pytest_t2i.axes.profession"
        )
    return asked


def _cases_of(
    name: str, fixture: Fixture, selection: Selection, settings: Settings
) -> Iterable[SelectedTest]:
    if fixture.about is None or not (members := selection.members(fixture.about)):
        return
    for group, id_ in (
        [((m,), f"[{m.id}]") for m in members] if fixture.one_by_one else [(members, "")]
    ):
        narrow = narrowed(selection, {name: fixture}, {fixture.about: group}, installed_audits())
        images = selection.images(settings.images)
        yield SelectedTest(f"{FILE}::{name}{id_}", FILE, narrow, images, images)
