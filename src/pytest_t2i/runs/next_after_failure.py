"""Next steps after a failure of a limit or against a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_t2i.audits.summary import AFTER_FAILURE, Step
from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.runs.results import Results
from pytest_t2i.verdicts.check import Check

LABELS = 200
"""Number of images that people label: it shows an accuracy of 0.9 to within about 0.05."""
TOPIC = "failure"
GONE = "the store has none of the baseline's"


def after_failures(results: Results, then: Mapping[str, object]) -> Iterator[Step]:
    """Yield the pictures to look at, and the advice to have people label a sample of images.

    Args:
        results: results of the run, with its checks.
        then: prompt id -> pictures of the baseline's model that the report shows.
    """
    failed = [check for check in results.checks if check.outcome is Outcome.FAIL]
    beyond = [check for check in failed if check.against == "limit"]
    if beyond:
        look = f"look at the pictures of {some(_subjects(beyond))} in the report"
        yield Step(AFTER_FAILURE, look, TOPIC)
        if not any(check.against == "baseline" and check.is_of_model for check in failed):
            yield from (Step(AFTER_FAILURE, text) for text in _have_people_label(results))
    elif failed:
        subjects = _subjects(failed)
        both = [subject for subject in subjects if subject in then]
        where = "then and now, in the report" if both else f"in the report ({GONE})"
        yield Step(
            AFTER_FAILURE, f"look at the pictures of {some(both or subjects)} {where}", TOPIC
        )


def _have_people_label(results: Results) -> Iterator[str]:
    session = results.session
    if session.has_model and session.settings.labels is None:
        wanted = session.images_wanted()
        each = max(1, min(LABELS // len(wanted), *wanted.values()))
        command = f"t2i sample {results.run_file} labels --per-prompt {each}"
        yield (
            "a detector's error looks like a model's: have people look at "
            f"{each * len(wanted)} images (`{command}`, `t2i label`)"
        )


def _subjects(checks: Sequence[Check]) -> list[str]:
    return list(dict.fromkeys(check.subject for check in checks))
