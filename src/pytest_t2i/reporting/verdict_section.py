"""The verdict of a run in one sentence, and its checks in groups with one limit each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.reporting.formatting import (
    allowed_drawn,
    counted,
    excess_of,
    metric_words,
    plural_metric,
    why_allowed,
)
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.verdicts.caveats.undetected import lack_labels
from pytest_t2i.verdicts.check import Check


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """The checks with the same metric, bound, author and reason."""

    metric: str
    allowed: str
    reason: str
    """Reason and author of the bound; NO_REASON for a limit without one."""
    checks: tuple[Check, ...]

    def is_listed_by(self, metric: str) -> bool:
        """Whether all of them are against limits of prompts, which stand in the list of prompts."""
        return all(
            check.metric == metric and check.against == "limit" and not check.is_of_model
            for check in self.checks
        )


def headline(record: RunRecord) -> str:
    """Return the verdict of a run in one or a few sentences."""
    if record.is_interrupted:
        return f"Stopped after {record.judged} of {record.selected} tests; run it again to finish."
    if record.outcome is Outcome.FAIL:
        return _why_failed(record)
    if not record.checks:
        return "Nothing was compared with a limit: this run only measured."
    if record.outcome is Outcome.PASS:
        return _why_passed(record)
    return _why_inconclusive(record)


def _why_inconclusive(record: RunRecord) -> str:
    if any(lack_labels(check.caveats) for check in record.checks):
        return "Too many images are undetected to decide."
    weighing = [check for check in record.checks if check.weighs_on_run]
    inconclusive = [check for check in weighing if check.outcome is Outcome.INCONCLUSIVE]
    # Checks without an estimate lack something else than images; their messages name it.
    open_ones = inconclusive or [c for c in record.checks if c.outcome is Outcome.INCONCLUSIVE]
    if open_ones and all(check.estimate is None and check.message for check in open_ones):
        messages = some(list(dict.fromkeys(check.message for check in open_ones)))
        return f"There is nothing to decide on: {messages}."
    if inconclusive:
        reasons = ", ".join(dict.fromkeys(map(_inconclusive, inconclusive)))
        return f"Too few {_lacking(inconclusive)} to decide: {reasons}."
    if not record.model:
        return "Too few labelled images to decide most checks."
    return f"Too few {_lacking(open_ones)} to decide most prompts."


def _lacking(inconclusive: Sequence[Check]) -> str:
    """Return what would decide: "labels" if all verdicts rest on people's labels, else "images"."""
    return "labels" if all(check.is_by_people for check in inconclusive) else "images"


def _inconclusive(check: Check) -> str:
    """Return what an inconclusive check of the run leaves open, in words."""
    name = metric_words(check.metric)
    if check.is_change:
        return f"whether it is worse than the {check.against}"
    return f"{name} of the model"


def _why_passed(record: RunRecord) -> str:
    """Return what a PASS states, and what stays open."""
    tally = record.tally()
    text = " ".join(_passed(record))
    if record.judged < record.selected:
        return f"{text} Only {record.judged} of {record.selected} tests were run."
    if inconclusive := tally[Outcome.INCONCLUSIVE]:
        stay = "check stays" if inconclusive == 1 else "checks stay"
        return f"{text} {inconclusive} single {stay} inconclusive."
    return text


def _passed(record: RunRecord) -> Iterator[str]:
    """Yield the results against limits and baseline of a run that passed."""
    checks = record.checks
    of_limits = [check for check in checks if check.against == "limit"]
    if any(check.is_of_model for check in of_limits):
        yield "The model is within every limit."
    elif of_limits:
        yield _of_parts(of_limits, {prompt.id for prompt in record.prompts})
    for against in ("baseline", "anchor"):
        if compared := [check for check in checks if check.against == against]:
            same = all(check.decided_by == "identical pictures" for check in compared)
            yield (
                f"Identical to the {against}: the same model and the same pictures."
                if same
                else f"Not found to be worse than the {against}."
            )
    if record.not_compared:
        yield "Not compared: no baseline."


def _of_parts(checks: Sequence[Check], prompts: Collection[str]) -> str:
    """Return the result of checks that are not about the model: prompts, stereotypes, detectors."""
    if all(check.outcome is Outcome.PASS for check in checks):
        return "Every check is within its limit."
    if all(check.subject in prompts for check in checks):
        return "Most prompts are within their limits."
    return "Most checks are within their limits."


def _why_failed(record: RunRecord) -> str:
    reasons = list(_reasons_of_failure(record))
    if reasons:
        return " ".join(reasons)
    inconclusive = f"{record.tally()[Outcome.INCONCLUSIVE]} of {len(record.checks)} checks"
    return f"The gate is strict, and too few images leave {inconclusive} inconclusive."


def _reasons_of_failure(record: RunRecord) -> Iterator[str]:
    for against, words in (
        ("limit", "Outside the limits"),
        ("baseline", "Worse than the baseline"),
        ("anchor", "Worse than the anchor (first baseline)"),
    ):
        failed = _failed([check for check in record.checks if check.against == against])
        if failed:
            yield f"{words}: {failed}."
    if count := len(record.failed_otherwise):
        yield f"{count} test{'s' * (count > 1)} failed without a verdict."


def _failed(checks: Sequence[Check]) -> str:
    total = Counter(check.metric for check in checks)
    failed = Counter(check.metric for check in checks if check.outcome is Outcome.FAIL)
    parts = []
    for metric, count in sorted(failed.items(), key=lambda pair: total[pair[0]]):
        name = metric_words(metric)
        of_several = f"{count} of {total[metric]} {plural_metric(name)}"
        parts.append(f"the {name}" if total[metric] == 1 else of_several)
    return ", ".join(parts)


def check_groups(record: RunRecord, outcome: Outcome) -> list[CheckGroup]:
    """Return the checks of one outcome by metric and limit, the most urgent first."""
    groups: dict[tuple[str, str, str], list[Check]] = {}
    for check in record.checks:
        if check.outcome is outcome:
            key = (check.metric, allowed_drawn(check), why_allowed(check))
            groups.setdefault(key, []).append(check)
    return [
        CheckGroup(
            metric_words(metric),
            allowed,
            reason,
            tuple(sorted(members, key=_urgency)),
        )
        for (metric, allowed, reason), members in sorted(
            groups.items(), key=lambda group: _whole_first(record, *group)
        )
    ]


def subject_notes(record: RunRecord) -> dict[str, str]:
    """Return the counts behind each check's subject, in a few words, by the subject's id."""
    notes = {prompt.id: counted(prompt.decided) for prompt in record.prompts if prompt.counts}
    rows = (row for audit in record.audits.values() for row in audit.rows)
    return notes | {row.subject: str(row.facts["note"]) for row in rows if "note" in row.facts}


def _whole_first(
    record: RunRecord, key: tuple[str, str, str], checks: list[Check]
) -> tuple[bool, int]:
    return not record.of_prompt(key[0]), len(checks)


def _urgency(check: Check) -> tuple[float, float, str]:
    """Return the sort key of a check: the furthest beyond its bound first."""
    return (
        -excess_of(check),
        1.0 if check.p_value is None else check.p_value,
        check.subject,
    )
