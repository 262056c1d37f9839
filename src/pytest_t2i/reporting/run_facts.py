"""What a run was: settings, provenance and counts, in words and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_t2i.adapters.endpoints.spending import fault_words
from pytest_t2i.data import Money, Outcome, Row
from pytest_t2i.errors import some
from pytest_t2i.reporting.formatting import (
    detector_names,
    duration,
    early_stopping_words,
    image_total,
    moment,
    sentence,
    several,
    undetected_counts,
)
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections.words import corrected_by, reason_words, told_accuracy
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.caveats.earlier_looks import looks_in_words
from pytest_t2i.verdicts.check import Check


def made_images(record: RunRecord, rate: str = "") -> str:
    """Return the counts of images: ``4 made (0:02), 6 from the store``."""
    if not record.model:
        return f"{_labelled_total(record)} with people's labels, none made"
    work = record.done
    verb = "read from the folder" if work.is_ready_made else "made"
    is_cut_short = record.outcome is Outcome.INTERRUPTED
    rest = "others in the store or not made yet" if is_cut_short else "from the store"
    return f"{work.made} {verb}{rate if work.made else ''}, {_others(record)} {rest}"


def _labelled_total(record: RunRecord) -> int:
    """Return the number of labelled images on which detectors were evaluated."""
    entry = record.provenance.get("labelled images")
    images = entry.get("images") if isinstance(entry, Mapping) else 0
    return images if isinstance(images, int) else 0


def paid(record: RunRecord) -> str:
    """Return ``spent 0.48 USD, saved 0.24 USD``; "" if no price is known.

    For an interrupted run the saved amount is unknown and left out.
    """
    work = record.done
    if work.spent is None or record.outcome is Outcome.INTERRUPTED:
        return "" if work.spent is None else f"spent {work.spent}"
    saved = "" if work.saved is None else f", saved {work.saved}"
    return f"spent {work.spent}{saved}"


def tried(record: RunRecord) -> str:
    """Return ``10 requests to try the seeds (0.40 USD)``; "" without such requests."""
    work = record.done
    return _requests(work.probed, TRYING, work.spent_on_seeds)


def failed(record: RunRecord) -> str:
    """Return ``faults of the endpoint: busy (HTTP 429): 12, broken connection: 3``, or ""."""
    met = record.done.faults
    return f"faults of the endpoint: {fault_words(met)}" if met else ""


def distinct_words(record: RunRecord) -> str:
    """Return ``57 of 60``, with what repeats and which prompts have no verdict; "" if unknown."""
    counts = record.distinct
    if counts is None:
        return ""
    words = [f"{counts.distinct} of {counts.pictures}"]
    if counts.distinct == counts.pictures:
        words.append("no two of a prompt are equal")
    if repeated := counts.pictures - counts.distinct:
        words.append(f"{repeated} repeat another picture of their prompt and do not count")
    if names := counts.without_verdict:
        words.append(f"no verdict for {some(names, MOST_NAMED)}, where more than a tenth repeat")
    if counts.nearly_equal:
        words.append(f"{counts.nearly_equal} are nearly equal to another one, and count")
    return "; ".join(words)


NOT_COMPARED = "not compared: no baseline (--t2i-baseline FILE)"
"""What a run says whose comparisons with a baseline were skipped."""


def not_compared_words(record: RunRecord) -> str:
    """Return that the run was compared with no baseline; "" where no test asks for one."""
    count = record.not_compared
    skipped = f"; {several(count, 'test')} {'was' if count == 1 else 'were'} skipped"
    return f"{NOT_COMPARED}{skipped}" if count else ""


def looks_words(record: RunRecord) -> str:
    """Return ``2 runs, with 20 and 40 images``: who judged these tests before; "" for nobody."""
    return looks_in_words(record.looked_at_before)


def hanging_lines(record: RunRecord) -> list[tuple[str, str]]:
    """Return names of caveats that verdicts may hang on, such as a certificate, each with a line.

    It has the fact ``hangs_on``, in words, and ``hangs`` where it could turn the verdict.
    """
    named: dict[str, list[tuple[Check, Caveat]]] = {}
    for check in record.checks:
        for caveat in check.caveats:
            if caveat.facts.get("hangs_on"):
                named.setdefault(caveat.name, []).append((check, caveat))
    return [(name, line) for name, pairs in named.items() for line in _lines_on(pairs)]


def _lines_on(pairs: Sequence[tuple[Check, Caveat]]) -> Iterator[str]:
    """Yield a line for each verdict on the model, and one for all verdicts on prompts."""
    for check, caveat in pairs:
        if check.is_of_model:
            yield f"{check.metric} of {check.subject}, {check.outcome}, {caveat.message}"
    prompts = [pair for pair in pairs if not pair[0].is_of_model]
    hanging = [check.subject for check, caveat in prompts if caveat.facts.get("hangs")]
    if prompts:
        named = f": {some(hanging, MOST_NAMED)}" if hanging else ""
        verb = "depends" if len(hanging) == 1 else "depend"
        what = prompts[0][1].facts["hangs_on"]
        yield f"{len(hanging)} of {len(prompts)} verdicts on prompts {verb} on {what}{named}"


MOST_NAMED = 5
"""Largest number of prompts that a line names."""
TRYING = "to try the seeds"


def _requests(count: int, what: str, spent: Money | None) -> str:
    cost = f" ({spent})" if spent is not None else ""
    return f"{count} requests {what}{cost}" if count else ""


def work_table(record: RunRecord) -> list[tuple[str, str]]:
    """Return all counts of a run as (name, value) rows."""
    work = record.done
    rows = list(_of_model(record)) if record.model else []
    if labelled := _labelled_total(record):
        rows.append(("Labelled by people", str(labelled)))
    rows.append(("Examined by a detector", str(work.detected)))
    if work.judged:
        rows.append(("Answers of a judge", str(work.judged)))
    rows += [(sentence(name), line) for name, line in hanging_lines(record)]
    rows += [
        (f"Undetected by {name}", f"{sum(reasons.values())} of {total} images ({_listed(reasons)})")
        for name, reasons, total in undetected_table(record)
    ]
    if record.model:
        rows.append(("Time spent", duration(work.seconds)))
    return rows + [("Note", str(note)) for note in work.notes]


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "none"


def _of_model(record: RunRecord) -> list[tuple[str, str]]:
    work = record.done
    made_label = "Read from the folder" if work.is_ready_made else "Made in this run"
    is_cut_short = record.outcome is Outcome.INTERRUPTED
    rest_label = "In the store or not made yet" if is_cut_short else "From the store"
    rows = [
        ("Images needed", str(work.planned)),
        (made_label, str(work.made)),
        (rest_label, str(_others(record))),
        ("Refused by the model", str(work.refused)),
    ]
    if work.unreadable:
        rows.append(("Unreadable", str(work.unreadable)))
    if looks := looks_words(record):
        rows.append(("Judged before", looks))
    if work.probed:
        rows.append((f"Requests {TRYING}", str(work.probed)))
    if work.faults:
        rows.append(("Faults of the endpoint", fault_words(work.faults)))
    if work.spent is not None:
        requests = [(work.paid, "requests", work.price)] if work.price else []
        if work.judge_price:
            requests.append((work.judge_paid, "judged pictures", work.judge_price))
        each = ", ".join(f"{count} {what} at {price}" for count, what, price in requests)
        rows.append(("Spent", f"{work.spent} ({each})"))
        if work.saved is not None and not is_cut_short:
            rows.append(("Saved by the store", str(work.saved)))
    if stopped := early_stopping_words(record):
        rows.insert(1, ("Early stopping", stopped.partition(": ")[2]))
    return rows


def _others(record: RunRecord) -> int:
    return max(record.done.planned - record.done.made, 0)


Table = list[tuple[str, str]]


def facts(record: RunRecord) -> Table:
    """Return the facts of a run as (name, value) rows, without empty ones."""
    detectors = list(record.settings.get("detectors") or detector_names(record))
    images = sum(len(prompt.images) for prompt in record.prompts)
    sections = [
        ("Model", record.model),
        ("Model version", _told_of_model(record, "version")),
        ("Settings and seeds", _told_of_model(record, "settings")),
        ("Seeds", _words(record, "seeding")),
        ("Labelled images", str(_labelled_total(record) or "")),
        ("Detectors" if len(detectors) > 1 else "Detector", _detectors(detectors)),
        ("Detector accuracy", how_known(record) if detectors and record.model else ""),
        ("Detector by group", _by_group(record) if detectors and record.model else ""),
        ("Images per prompt", _per_prompt(record) if images else ""),
        ("Prompts", f"{len(record.prompts)} ({images} images)" if images else ""),
        ("Choice of pictures", _chosen_pictures(record) if images else ""),
        ("Distinct pictures", distinct_words(record)),
        ("Date", moment(record.created)),
        ("Took", duration(record.seconds)),
        ("Limits set by", who_set_limits(record)),
        ("Labels", label_status(record) if record.model else ""),
        ("Labelled by", _who_labelled(record)),
        ("Measured by", f"{TOOL} {tool_version(record)}" if tool_version(record) else ""),
        ("Commit of the project", commit(record) or NO_COMMIT),
    ]
    return [(name, value) for name, value in sections if value]


def identity(record: RunRecord) -> Table:
    """Return the rows that identify the run and its model, for the cover of the PDF."""
    model = record.provenance.get("model")
    fingerprint = model.get("fingerprint") if isinstance(model, Mapping) else None
    rows = [
        ("Date", moment(record.created)),
        ("Fingerprint of the model", str(fingerprint or "")),
        ("Commit of the project", commit(record) or NO_COMMIT),
        ("Measured by", f"{TOOL} {tool_version(record)}" if tool_version(record) else ""),
    ]
    return [(name, value) for name, value in rows if value]


TOOL = "pytest-t2i"
NO_COMMIT = "not known: the run began in no folder of a git repository, or git was not there"
NEVER = "never measured on pictures like these"


def how_known(record: RunRecord, detector: str = "") -> str:
    """Return a detector's accuracy by people's labels in this run, in words; NEVER if unknown.

    ``detector`` is the name; "" takes the deciding detector.
    """
    detectors = record.settings.get("detectors") or detector_names(record)
    name = detector or next(iter(detectors), "")
    right = [row for row in _accuracies(record) if row.dims.get("detector", row.subject) == name]
    if not right:
        return NEVER
    shares = {str(row.dims["label"]): row.interval for row in right}
    return told_accuracy(right[0].counts.get("labels", 0), shares)


def _accuracies(record: RunRecord) -> list[Row]:
    """Return the share of right labels of each detector and label by people."""
    rows = (row for audit in record.in_order for row in audit.rows if row.about == "detector")
    return [row for row in rows if row.metric == "accuracy" and "label" in row.dims]


def corrections(record: RunRecord) -> list[str]:
    """Return who corrected scores by labels of the run's images, in words."""
    rows = (row for audit in record.in_order for row in audit.rows if row.about == "detector")
    return [corrected_by(row.counts) for row in rows if "annotators" in row.counts]


MOST_AUTHORS = 3


def who_set_limits(record: RunRecord) -> str:
    """Return the limits' authors, and how many lack an author or reason; "" without limits."""
    limits = {(c.metric, c.bound): c for c in record.checks if c.has_limit}.values()
    if not limits:
        return ""
    authors = list(dict.fromkeys(check.author for check in limits if check.author))
    anonymous = sum(not check.author for check in limits)
    author_words = some(authors, MOST_AUTHORS) if authors else "no name given"
    parts = [author_words]
    if authors and anonymous:
        parts.append(f"{anonymous} of {len(limits)} without an author")
    if bare := sum(not check.reason for check in limits):
        parts.append(f"{bare} of {len(limits)} without a reason")
    return "; ".join(parts)


NO_LABELS = "none, as nobody has labelled these images"
CORRECT_NONE = (
    "given, but they correct no score of this run: they are too few, unsettled, or of other groups"
)


def label_status(record: RunRecord) -> str:
    """Return how people's labels corrected the scores of this run, in words."""
    if corrected := corrections(record):
        return corrected[0]
    if tried_on := max((row.counts.get("labels", 0) for row in _accuracies(record)), default=0):
        return f"detectors were tried on {tried_on} labelled images"
    return CORRECT_NONE if record.settings.get("labels") else NO_LABELS


def tool_version(record: RunRecord) -> str:
    """Return the version of pytest-t2i that made the run; "" if it is not recorded."""
    environment = record.provenance.get("environment")
    return str(environment.get(TOOL, "")) if isinstance(environment, Mapping) else ""


def commit(record: RunRecord) -> str:
    """Return the project's commit, and whether tracked files differ from it; "" if unknown."""
    project = record.provenance.get("project")
    if not isinstance(project, Mapping) or not project.get("commit"):
        return ""
    differs = ", with changes that are not committed" if project.get("changed") else ""
    return f"{project['commit']}{differs}"


def _chosen_pictures(record: RunRecord) -> str:
    """Return where the pictures come from, and who chose them, in words."""
    if record.done.is_ready_made:
        return (
            "read from a folder, those of each prompt in order up to the number asked for; whoever "
            "filled the folder chose them"
        )
    left_out = "none was left out" if not record.done.refused else "refused ones are counted"
    return f"made by the model from seeds that were fixed before, in their order; {left_out}"


def _who_labelled(record: RunRecord) -> str:
    """Return who labelled how many images, and when; "" without people's labels."""
    facts = record.provenance.get("people's labels")
    if not isinstance(facts, Mapping) or not isinstance(facts.get("annotators"), Mapping):
        return ""
    names = [f"{name} ({count})" for name, count in facts["annotators"].items()]
    return f"{some(names, MOST_NAMED)}; last changed {moment(str(facts.get('written', '')))}"


NOT_BY_GROUP = (
    "by age, skin tone and the like never measured; t2i detector check --by ... --certificate "
    "FILE measures it, and --t2i-judge-certificate FILE brings it here"
)


def _by_group(record: RunRecord) -> str:
    """Return the detector's certified accuracy by group, each attribute's lowest, in words."""
    certificate = record.provenance.get("certificate")
    groups = certificate.get("right by group") if isinstance(certificate, Mapping) else None
    if not isinstance(certificate, Mapping) or not isinstance(groups, Mapping) or not groups:
        return NOT_BY_GROUP
    lowest = [
        f"{attribute}: lowest for {_lowest(counts)}"
        for attribute, counts in groups.items()
        if isinstance(counts, Mapping) and counts
    ]
    source = f"certificate of {certificate.get('date')}, {certificate.get('images')} images"
    return f"{'; '.join(lowest)} ({source})"


SHARE = re.compile(r"(\d{1,12}) of (\d{1,12})")


def _lowest(counts: Mapping[str, Any]) -> str:
    """Return the group with the lowest share: ``18 to 30 (61 of 72 right)``."""
    shares = {group: SHARE.fullmatch(str(text)) for group, text in counts.items()}
    labelled = {
        group: (int(match[1]), int(match[2]))
        for group, match in shares.items()
        if match and int(match[2])
    }
    if not labelled:
        return "no group, as none has a label"
    group = min(labelled, key=lambda name: labelled[name][0] / labelled[name][1])
    right, total = labelled[group]
    return f"{group} ({right} of {total} right)"


def _words(record: RunRecord, key: str) -> str:
    """Return the sentence of a part of the provenance; "" if the part is absent."""
    part = record.provenance.get(key)
    return str(part.get("words", "")) if isinstance(part, Mapping) else ""


def _told_of_model(record: RunRecord, key: str) -> str:
    """Return what a service tells of its model, such as the version; "" if it does not."""
    model = record.provenance.get("model")
    return str(model.get(key, "")) if isinstance(model, Mapping) else ""


def _per_prompt(record: RunRecord) -> str:
    """Return the images per prompt: the option's number, else the range of actual numbers."""
    if not record.done.most and not record.done.is_ready_made:
        return str(record.settings.get("images", "-"))
    counts = sorted(len(prompt.images) for prompt in record.prompts)
    return str(counts[-1]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _detectors(names: list[str]) -> str:
    return f"{names[0]} (decides), {', '.join(names[1:])}" if len(names) > 1 else "".join(names)


def undetected_table(record: RunRecord) -> list[tuple[str, dict[str, int], int]]:
    """Return (detector, reason -> images without a label, all images) of every detector."""
    rows = []
    for name in detector_names(record):
        reasons = sorted(undetected_counts(record, name).items())
        words = {reason_words(reason): count for reason, count in reasons}
        rows.append((name, words, image_total(record)))
    return rows if any(reasons for _, reasons, _ in rows) else []


UNREAD = "scheduler_values"
"""Name of a fact that only programs read; its hash stands beside it."""


def facts_table(values: Mapping[str, Any]) -> Table:
    """Return nested provenance as rows, without those that have no value or only programs read."""
    rows = (row for row in flattened(values) if row[1] not in {"", "-"})
    return [row for row in rows if row[0].rpartition(".")[2] != UNREAD]


def flattened(values: Mapping[str, Any], prefix: str = "") -> Table:
    """Return nested settings as rows with dotted names."""
    rows: Table = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows += flattened(value, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(map(str, value)) or "-"))
        else:
            rows.append((name, "-" if value is None else str(value)))
    return rows
