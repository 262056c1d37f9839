"""Numbers and names as readers see them on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from markupsafe import Markup, escape

from pytest_t2i.adapters.support.escaping import COMMAND, clean
from pytest_t2i.audits.label_counts import Counts
from pytest_t2i.data import Bounds, Interval, Leaning, Outcome, Undetected
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.sections import Form
from pytest_t2i.sections.words import reason_words
from pytest_t2i.verdicts.check import Check

MINUS = "\u2212"
OPTION = re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)*")
"""Name of an option: a browser would break it after any of its dashes."""


def signed(value: float, digits: int = 2) -> str:
    """``+0.85``, with a true minus sign; no sign at 0."""
    text = f"{value:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", MINUS)


def plain(value: float | None, digits: int = 3) -> str:
    """``0.850``, or a dash where there is none."""
    return "\u2013" if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def written(end: float, form: Form) -> str:
    """An end of a scale: ``1``, ``+0.05``, ``100 %``."""
    if form == "percent":
        return percent(end)
    return signed(end) if form == "signed" else f"{end:g}"


def sentence(words: str) -> str:
    """The words with a large first letter; names within keep theirs.

    >>> sentence("it rose between SDXL and SD3")
    'It rose between SDXL and SD3'
    """
    return words[:1].upper() + words[1:]


NO_IMAGE = "no clear image"


def absent(labels: Collection[str]) -> str:
    """Why there is no score of men and women: no clear image, or labels of something else.

    >>> absent({}), absent({"monk-4": 3})
    ('no clear image', 'no gender label')
    """
    return NO_IMAGE if {"male", "female"}.intersection(labels) or not labels else "no gender label"


def tells_others(record: RunRecord) -> bool:
    """Whether the deciding detector's labels are others than male and female, such as ages."""
    labels = {label for prompt in record.prompts for label in prompt.decided.labels}
    return bool(labels) and not {"male", "female"} & labels


def plain_interval(interval: Interval | None, digits: int = 3) -> str:
    """``0.12 [0.08, 0.17]``, with true minus signs."""
    if interval is None:
        return "no interval"
    low, high = plain(interval.low, digits), plain(interval.high, digits)
    return f"{plain(interval.estimate, digits)} [{low}, {high}]"


def interval_words(interval: Interval | None, digits: int = 2, *, instead: str = NO_IMAGE) -> str:
    """``+0.85 [+0.70, +0.93]``, or what its absence means."""
    if interval is None:
        return instead
    ends = f"{signed(interval.low, digits)}, {signed(interval.high, digits)}"
    return f"{signed(interval.estimate, digits)} [{ends}]"


def percent(share: float) -> str:
    """``25 %``; ``0.2 %`` where a whole number would be none."""
    return f"{100 * share:.{int(0.0 < share < 0.005)}f} %"  # noqa: PLR2004 - rounds to 0


def percent_interval(interval: Interval) -> str:
    """``25 % [20, 31]``."""
    low, high = (round(100 * end) for end in (interval.low, interval.high))
    return f"{percent(interval.estimate)} [{low}, {high}]"


def with_commands(text: str) -> Markup:
    """What stands between backticks, as code; options in one piece; all of it escaped.

    >>> with_commands("`t2i label <folder>`, with --seed")
    Markup('<code>t2i label &lt;folder&gt;</code>, with <span class="option">--seed</span>')
    """
    coded = COMMAND.sub(r"<code>\1</code>", str(escape(clean(text))))
    whole = OPTION.sub(r'<span class="option">\g<0></span>', coded)
    return Markup(whole)  # noqa: S704 - escaped before


def bounds_words(bounds: Bounds | None, digits: int = 3) -> str:
    """``0.360 to 0.840``, or a dash where nothing is undetected."""
    if bounds is None:
        return "\u2013"
    return f"{plain(bounds.low, digits)} to {plain(bounds.high, digits)}"


def counted(counts: Counts) -> str:
    """``12 male, 7 female, 1 undetected (no face)``."""
    parts = [f"{count} {label}" for label, count in ordered(counts.labels)]
    if counts.undetected:
        reasons = ", ".join(
            f"{count} {reason_words(reason)}" for reason, count in sorted(counts.undetected.items())
        )
        parts.append(f"{sum(counts.undetected.values())} undetected ({reasons})")
    return ", ".join(parts) or "no image"


def ordered(labels: Mapping[str, int]) -> list[tuple[str, int]]:
    """Labels in a fixed order, male first as in Lyu Table 7."""
    return sorted(
        labels.items(), key=lambda pair: (pair[0] != "male", pair[0] != "female", pair[0])
    )


def interval_text(interval: Interval | None) -> str:
    """Estimate with its interval, or a dash."""
    if interval is None:
        return "-"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


SINGULAR_S = ("s", "x", "ch", "sh")


ACRONYMS = ("spi", "ssim", "wals")


def metric_words(name: str) -> str:
    """A metric's name as words.

    >>> metric_words("model_bias_score"), metric_words("centred_spi")
    ('model bias score', 'centred SPI')
    """
    return " ".join(word.upper() if word in ACRONYMS else word for word in name.split("_"))


def plural(name: str) -> str:
    """More than one of a metric.

    >>> plural("accuracy"), plural("prompt bias score"), plural("group entropy")
    ('accuracies', 'prompt bias scores', 'group entropies')
    """
    if name.endswith("y") and name[-2:-1] not in set("aeiou"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(SINGULAR_S) else f"{name}s"


def several(count: int, name: str) -> str:
    """How many of something.

    >>> several(1, "run"), several(2, "prompt")
    ('1 run', '2 prompts')
    """
    return f"{count} {name if count == 1 else plural(name)}"


def function_of(node: str) -> str:
    """The test function of a node id.

    >>> function_of("suites/test_a.py::TestIt::test_b[profession-nurse::x]")
    'test_b'
    """
    return node.partition("[")[0].rpartition("::")[2]


def change_words(check: Check) -> str:
    """``0.310 -> 0.340, change +0.030 [-0.020, +0.080]``, or that nothing changed."""
    known = check.before is not None and check.after is not None
    pair = f"{check.before:.3f} -> {check.after:.3f}" if known else ""
    if check.decided_by == "identical pictures":
        return f"{pair}, identical pictures" if pair else "identical pictures"
    if check.estimate is None:
        return check.message or "nothing to compare"
    word = "worsening" if check.operator.startswith(">") else "change"
    change = f"{word} {check.estimate:+.3f} [{check.low:+.3f}, {check.high:+.3f}]"
    return f"{pair}, {change}" if pair else change


def excess(check: Check) -> float:
    """How far a check's estimate lies beyond its bound; below 0 within."""
    beyond = (check.estimate or 0.0) - check.bound
    return -beyond if check.operator.startswith(">") else beyond


def leaning(check: Check) -> str:
    """``likely fail 0.93``, ``likely pass 0.97``, ``open``; "" where no probability is known."""
    if check.lean is None:
        return ""
    if check.leaning == "open":
        return "open"
    sure = check.lean if check.leaning == "fail" else 1.0 - check.lean
    return f"likely {check.leaning} {sure:.2f}"


def lean_counts(checks: Iterable[Check]) -> str:
    """``80 likely pass, 3 likely fail, 7 open``; "" where no probability is known."""
    counts: Counter[Leaning] = Counter(check.leaning for check in checks if check.leaning)
    words: dict[Leaning, str] = {"pass": "likely pass", "fail": "likely fail", "open": "open"}
    return ", ".join(f"{counts[key]} {text}" for key, text in words.items() if counts[key])


def undetected_of(record: RunRecord, detector: str) -> Counter[Undetected]:
    """Images of a run that a detector gives no label, by reason."""
    reasons: Counter[Undetected] = Counter()
    for prompt in record.prompts:
        if detector in prompt.counts:
            reasons.update(prompt.counts[detector].undetected)
    return reasons


def images_of(record: RunRecord) -> int:
    """Images of all prompts."""
    return sum(len(prompt.images) for prompt in record.prompts)


def detector_names(record: RunRecord) -> list[str]:
    """Detectors of the run's prompts, the deciding one first."""
    return list(dict.fromkeys(name for prompt in record.prompts for name in prompt.counts))


def anchor(identifier: str) -> str:
    """An id as a link target: no blanks."""
    return "-".join(identifier.split())


def moment(created: str) -> str:
    """``2026-11-20 17:07 UTC`` of an ISO time; other text as it is."""
    try:
        return datetime.fromisoformat(created).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return created


def duration(seconds: float) -> str:
    """``3 min 29 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def early_stopping(record: RunRecord) -> str:
    """How many of the images that the tests might have asked for were enough.

    "" if not asked, or not known because the run was cut short.
    """
    most, planned = record.done.most, record.done.planned
    is_told = most and record.outcome is not Outcome.INTERRUPTED
    return f"early stopping: {planned} of {most} images were enough" if is_told else ""


def probability(chance: float | None) -> str:
    """``93%``, or that it cannot be told."""
    return "cannot be told" if chance is None else f"{chance:.0%}"
