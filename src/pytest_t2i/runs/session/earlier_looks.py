"""Earlier runs of the same tests in a store, which looked for a verdict before this one.

A test at 5 % that is repeated with more images, or with other seeds, until it decides is wrong more
often than in 5 % (tests/simulations/reruns.md). So the store keeps, for each model and detector,
with which seeds and how many images each comparison was judged. A rerun of the same pictures is no
new look.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_t2i.data import FactKind, digest
from pytest_t2i.runs.record.record import LookRecord
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.runs.session.session import Session

MOST_KEPT = 50
"""Number of looks that are kept of each comparison."""
Looks = dict[str, list[LookRecord]]
"""Digest of a comparison -> the runs that judged it."""


def earlier_looks(
    results: Results, test: SelectedTest, metric: str, against: str, bound: float
) -> tuple[LookRecord, ...]:
    if not test.selection.needs_model:
        return ()
    return tuple(_earlier(results, test, _name(test, metric, against, bound)))


def looked_before(results: Results) -> tuple[LookRecord, ...]:
    """Return the earlier runs that judged comparisons of this run, in order."""
    records = {look for test, name in _compared(results) for look in _earlier(results, test, name)}
    return tuple(sorted(records, key=lambda look: (look.images, look.seed, look.is_sequential)))


def judged_with(results: Results, test: SelectedTest, bound: float) -> int:
    """Return the fixed number of images of this seed that a limit was judged with before; else 0.

    The test has one comparison.
    """
    (comparison,) = test.comparisons
    earlier = _earlier(results, test, _name(test, comparison.metric, "limit", bound))
    seed = results.session.settings.seed
    images = (look.images for look in earlier if not look.is_sequential and look.seed == seed)
    return next(images, 0)


def fresh_seed(results: Results) -> int:
    looks = results.once(("earlier looks",), lambda: _known(results.session))
    seeds = (look.seed for records in looks.values() for look in records)
    return 1 + max([results.session.settings.seed, *seeds])


def remember_looks(results: Results) -> None:
    """Keep in the store which comparisons this run judged."""
    looks = _known(results.session) if results.session.has_model else {}
    for test, name in _compared(results):
        latest = _look(results, test)
        looks[name] = [*(look for look in looks.get(name, ()) if look != latest), latest][
            -MOST_KEPT:
        ]
    if looks:
        plain = {
            name: [[look.seed, look.images, look.is_sequential] for look in records]
            for name, records in looks.items()
        }
        results.session.store.remember(_fact(results.session), plain)


def _compared(results: Results) -> Iterator[tuple[SelectedTest, str]]:
    """Yield each comparison that was judged: its test and its digest."""
    tests = results.session.tests
    for check in results.checks:
        test = tests.get(check.test)
        is_same = check.decided_by == "identical pictures"
        if test is None or not test.selection.needs_model or check.estimate is None or is_same:
            continue
        yield test, _name(test, check.metric, check.against, check.bound)


def _earlier(results: Results, test: SelectedTest, name: str) -> list[LookRecord]:
    looks = results.once(("earlier looks",), lambda: _known(results.session))
    if name not in looks:
        return []
    latest = _look(results, test)
    return [look for look in looks[name] if look != latest]


def _look(results: Results, test: SelectedTest) -> LookRecord:
    """Return the seed and the number of images with which this run judges a test."""
    session = results.session
    images = test.images if test.stopping is None else test.stopping.most
    counts = (len(session.seeds(prompt, images)) for prompt in test.selection.prompts)
    return LookRecord(session.settings.seed, max(counts, default=images), test.stopping is not None)


def _name(test: SelectedTest, metric: str, against: str, bound: float) -> str:
    """Return the digest of a comparison, whatever the number of images is."""
    selection = test.selection
    return digest(
        [
            sorted(member.text for member in selection.prompts),
            sorted(member.id for member in selection.stereotypes),
            sorted(member.id for member in selection.triplets),
            metric,
            against,
            bound,
        ]
    )[:16]


def _fact(session: Session) -> str:
    """Return the name of the stored fact: one for each model, its settings, and detector."""
    model = session.components.model()
    # A folder of pictures gets another fingerprint with each picture that is added.
    identity = session.settings.under_test if session.has_ready_pictures else model.fingerprint
    return FactKind.LOOKS.of(digest([identity, repr(session.generation), session.detectors[:1]]))


def _known(session: Session) -> Looks:
    fact: Any = session.store.fact(_fact(session)) or {}
    return {name: [LookRecord(*fields) for fields in looks] for name, looks in fact.items()}
