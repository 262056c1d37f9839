"""Numbers, texts, bounds and lines as reports and terminals show them."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from markupsafe import Markup, escape

from pytest_t2i.audits.engine.counts import Counts
from pytest_t2i.data import Bounds, Interval, Outcome, Undetected
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.sections import Form
from pytest_t2i.sections.escaping import COMMAND, clean
from pytest_t2i.sections.words import plural_metric as plural_metric  # noqa: PLC0414 - for others
from pytest_t2i.sections.words import reason_words
from pytest_t2i.sections.words import several as several  # noqa: PLC0414 - for others
from pytest_t2i.verdicts.check import Check

MINUS = "\u2212"
OUTCOMES = {
    Outcome.FAIL: "failed",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.PASS: "passed",
}
"""What checks of an outcome have done, the worst first."""


def outcome_counts(outcomes: Sequence[Outcome | None]) -> list[str]:
    """Return ``2 failed``, ``5 passed`` and so on, the worst first, without zeros."""
    return [
        f"{outcomes.count(outcome)} {word}"
        for outcome, word in OUTCOMES.items()
        if outcome in outcomes
    ]


OPTION = re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)*")
"""Name of an option, which a browser would break after any of its dashes."""


def signed(value: float, digits: int = 2) -> str:
    """Format a number as ``+0.85``, with a true minus sign and no sign at 0."""
    text = f"{value:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", MINUS)


def plain(value: float | None, digits: int = 3) -> str:
    """Format a number as ``0.850``; a dash for None."""
    return "\u2013" if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def written(end: float, form: Form) -> str:
    """Format an end of a scale: ``1``, ``+0.05``, ``100 %``."""
    if form == "percent":
        return percent(end)
    return signed(end) if form == "signed" else f"{end:g}"


def sentence(words: str) -> str:
    """Return the words with a capital first letter; other letters stay as they are.

    >>> sentence("it rose between SDXL and SD3")
    'It rose between SDXL and SD3'
    """
    return words[:1].upper() + words[1:]


def step(words: str) -> str:
    """Return a step as a sentence; a command at its beginning keeps its letters.

    >>> step("look at the pictures"), step("`t2i plan` tells the images")
    ('Look at the pictures', '`t2i plan` tells the images')
    """
    return words if COMMAND.match(words) else sentence(words)


NO_IMAGE = "no clear image"


REPEATED = "repeats"


def absent(labels: Mapping[str, int]) -> str:
    """Return why there is no gender score, by the numbers of distinct images per label.

    >>> absent({}), absent({"monk-4": 3}), absent({"male": 1})
    ('no clear image', 'no gender label', 'repeats')
    """
    if not labels:
        return NO_IMAGE
    return REPEATED if {"male", "female"}.intersection(labels) else "no gender label"


def tells_others(record: RunRecord) -> bool:
    """Whether the deciding detector has other labels than male and female, such as ages."""
    labels = {label for prompt in record.prompts for label in prompt.decided.labels}
    return bool(labels) and not {"male", "female"} & labels


def plain_interval(interval: Interval | None, digits: int = 3) -> str:
    """Format an interval as ``0.12 [0.08, 0.17]``, with true minus signs."""
    if interval is None:
        return "no interval"
    low, high = plain(interval.low, digits), plain(interval.high, digits)
    return f"{plain(interval.estimate, digits)} [{low}, {high}]"


def interval_words(interval: Interval | None, digits: int = 2, *, instead: str = NO_IMAGE) -> str:
    """Format an interval as ``+0.85 [+0.70, +0.93]``; ``instead`` for None."""
    if interval is None:
        return instead
    ends = f"{signed(interval.low, digits)}, {signed(interval.high, digits)}"
    return f"{signed(interval.estimate, digits)} [{ends}]"


def percent(share: float) -> str:
    """Format a share as ``25 %``, or ``0.2 %`` where a whole number would be 0."""
    return f"{100 * share:.{int(0.0 < share < 0.005)}f} %"  # noqa: PLR2004 - rounds to 0


def with_commands(text: str) -> Markup:
    """Return escaped HTML with texts between backticks as code, and options that do not break.

    >>> with_commands("`t2i label page <folder>`, with --seed")
    Markup('<code>t2i label page &lt;folder&gt;</code>, with <span class="option">--seed</span>')
    """
    coded = COMMAND.sub(r"<code>\1</code>", str(escape(clean(text))))
    markup_text = OPTION.sub(r'<span class="option">\g<0></span>', coded)
    return Markup(markup_text)  # noqa: S704 - escaped before


def bounds_words(bounds: Bounds | None, digits: int = 3) -> str:
    """Format bounds as ``0.360 to 0.840``; a dash for None."""
    if bounds is None:
        return "\u2013"
    return f"{plain(bounds.low, digits)} to {plain(bounds.high, digits)}"


def counted_beside(prompt: PromptRecord) -> str:
    """Return the counts behind a prompt's score; people's stand before those of the detector alone.

    After a correction by people's labels the detector's counts do not give the score, so that
    they stand beside the detector's own.
    """
    detector_counts = counted(prompt.decided)
    if prompt.uncorrected is None:
        return detector_counts
    detector = next(iter(prompt.counts), "the detector")
    people = ", ".join(f"{count} {label}" for label, count in ordered(prompt.people))
    labels = sum(prompt.people.values())
    return (
        f"estimated for all images from people's {several(labels, 'label')} ({people}); "
        f"{detector} alone {signed(prompt.uncorrected)} ({detector_counts})"
    )


def counted(counts: Counts) -> str:
    """Format counts as ``12 male, 7 female, 1 undetected (1 no face)``."""
    parts = [f"{count} {label}" for label, count in ordered(counts.labels)]
    if counts.undetected:
        reasons = ", ".join(
            f"{count} {reason_words(reason)}" for reason, count in sorted(counts.undetected.items())
        )
        parts.append(f"{sum(counts.undetected.values())} undetected ({reasons})")
    return ", ".join(parts) or "no image"


def ordered(labels: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return (label, count) in a fixed order, male first as in Lyu Table 7."""
    return sorted(
        labels.items(), key=lambda pair: (pair[0] != "male", pair[0] != "female", pair[0])
    )


def interval_text(interval: Interval | None) -> str:
    """Format an interval as ``0.120 [0.080, 0.170]``; a dash for None."""
    if interval is None:
        return "-"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


ACRONYMS = ("spi", "ssim", "wals")


def metric_words(name: str) -> str:
    """Return a metric's name as words.

    >>> metric_words("model_bias_score"), metric_words("centred_spi")
    ('model bias score', 'centred SPI')
    """
    return " ".join(word.upper() if word in ACRONYMS else word for word in name.split("_"))


def function_of(node: str) -> str:
    """Return the name of the test function of a node id.

    >>> function_of("suites/test_a.py::TestIt::test_b[profession-nurse::x]")
    'test_b'
    """
    return node.partition("[")[0].rpartition("::")[2]


def change_words(check: Check) -> str:
    """Format a change as ``0.310 -> 0.340, change +0.030 [-0.020, +0.080]``.

    Identical pictures, whose score stands elsewhere, and a change without an estimate are described
    in words.
    """
    has_both = check.before is not None and check.after is not None
    if check.decided_by == "identical pictures":
        return "identical pictures"
    pair = f"{check.before:.3f} -> {check.after:.3f}" if has_both else ""
    if check.estimate is None:
        return check.message or "nothing to compare"
    word = "worsening" if check.operator.startswith(">") else "change"
    change = f"{word} {check.estimate:+.3f} [{check.low:+.3f}, {check.high:+.3f}]"
    return f"{pair}, {change}" if pair else change


def chance_words(check: Check) -> str:
    """Return the score without its correction for few images; "" where there is none.

    >>> from pytest_t2i.verdicts.check import Check
    >>> nothing = dict.fromkeys(["estimate", "low", "high", "level"])
    >>> common = {**nothing, "method": "", "n": 3, "operator": "<=", "bound": 0.2}
    >>> chance_words(Check("t", "m", "model", "PASS", paper=0.163, floor=0.18, **common))
    'not corrected for few images: 0.163; a fair model shows 0.18 by chance'
    """
    return "" if check.paper is None else paper_words(check.paper, check.floor)


def paper_words(paper: float, floor: float | None) -> str:
    """Return the estimate of the paper, and what a fair model shows in it."""
    fair = "" if floor is None else f"; a fair model shows {floor:.2f} by chance"
    return f"not corrected for few images: {paper:.3f}{fair}"


def judged_words(check: Check) -> tuple[str, str, str]:
    """Return what was judged, its result and what is allowed, for every renderer."""
    of = "" if check.subject == "model" else f" of {check.subject}"
    result = check.message or "no evidence"
    if check.is_change:
        result = change_words(check)
    elif check.estimate is not None:
        result = f"{check.estimate:.3f} [{check.low:.3f}, {check.high:.3f}]"
    allowed = f"{allowed_words(check)}{unreasoned(check)}"
    return f"{metric_words(check.metric)}{of}", result, allowed


def excess_of(check: Check) -> float:
    """Return how far a check's estimate lies beyond its bound; negative within the bound."""
    beyond = (check.estimate or 0.0) - check.bound
    return -beyond if check.operator.startswith(">") else beyond


def side_of(check: Check) -> str:
    """Return the side of its limit on which an inconclusive check's estimate lies; else ""."""
    if check.outcome is not Outcome.INCONCLUSIVE or check.estimate is None or check.is_change:
        return ""
    return "beyond" if excess_of(check) > 0.0 else "within"


def side_counts(checks: Iterable[Check]) -> str:
    """Return ``80 estimated within, 3 estimated beyond``; "" without an inconclusive estimate."""
    counts = Counter(map(side_of, checks))
    return ", ".join(
        f"{counts[side]} estimated {side}" for side in ("within", "beyond") if counts[side]
    )


def undetected_counts(record: RunRecord, detector: str) -> Counter[Undetected]:
    """Count the images of a run without a label by this detector, by reason."""
    reasons: Counter[Undetected] = Counter()
    for prompt in record.prompts:
        if detector in prompt.counts:
            reasons.update(prompt.counts[detector].undetected)
    return reasons


def image_total(record: RunRecord) -> int:
    """Return the number of images of all prompts."""
    return sum(len(prompt.images) for prompt in record.prompts)


def images_of_labels(record: RunRecord) -> str:
    """Return ``690 labelled images; 320 more are compared without labels``.

    >>> images_of_labels(RunRecord("", 1.0, "mine", {}, {}, {"planned": 320}))
    '0 labelled images; 320 more are compared without labels'
    """
    total = image_total(record)
    others = record.done.planned - total
    more = f"; {others:,} more are compared without labels" if others > 0 else ""
    return f"{several(total, 'labelled image')}{more}"


def detector_names(record: RunRecord) -> list[str]:
    """Return the names of the run's detectors, the deciding one first."""
    return list(dict.fromkeys(name for prompt in record.prompts for name in prompt.counts))


def anchor(identifier: str) -> str:
    """Return an id as a link target, with dashes for blanks."""
    return "-".join(identifier.split())


def moment(created: str) -> str:
    """Format an ISO time as ``2026-11-20 17:07 UTC``; return any other text unchanged."""
    try:
        return datetime.fromisoformat(created).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return created


def duration(seconds: float) -> str:
    """Format a duration as ``3 min 29 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def early_stopping_words(record: RunRecord) -> str:
    """Return how many of the possible images sufficed, in words."""
    most, planned = record.done.most, record.done.planned
    if not most or record.outcome is Outcome.INTERRUPTED:
        return ""
    if planned == most:
        return f"early stopping: all {most} images were needed"
    return f"early stopping: {planned} of {most} images were enough"


def probability(chance: float | None) -> str:
    """Format a probability as ``93%``; "cannot be told" for None."""
    return "cannot be told" if chance is None else f"{chance:.0%}"


SIGNS = {"<=": "\u2264", ">=": "\u2265"}


def allowed_words(check: Check) -> str:
    """Return what a check allows: ``<= 0.3``, or for a change a margin or no significant growth."""
    if not check.is_change:
        return f"{check.operator} {check.bound:g}"
    if check.decided_by == "permutation test":
        return f"at most {check.bound:g} more, and no growth that a permutation test finds"
    if check.decided_by == "identical pictures":
        return "the same pictures"
    further = "less" if check.operator.startswith(">") else "more"
    return f"at most {check.bound:g} {further} than the {check.against}"


NO_REASON = "no reason given"


def why_allowed(check: Check) -> str:
    """Return the reason for a check's bound and its author; NO_REASON for a limit without one."""
    if not check.has_limit:
        return check.reason
    author = f"; set by {check.author}" if check.author else ""
    return f"{check.reason or NO_REASON}{author}"


def unreasoned(check: Check) -> str:
    """Return the remark after a limit without a reason; "" for any other check."""
    return f" ({NO_REASON})" if check.has_limit and not check.reason else ""


def allowed_drawn(check: Check) -> str:
    """Return ``allowed_words`` with typographic signs: ``\u2264 0.3``."""
    words = allowed_words(check)
    for sign, symbol in SIGNS.items():
        words = words.replace(sign, symbol)
    return words


NARROWEST = 40
"""Fewest columns for which lines are broken; narrower terminals break lines themselves."""
TOGETHER = re.compile(r"\[[^\[\]]{1,40}\]| (?:<=|>=|=|->) |\d \w")
"""Texts that stay on one line: an interval, a bound, a p-value, before and after, a count."""
GLUE = "\u00a0"


def wrapped(line: str, width: int | None) -> list[str]:
    """Break a line into several; all but the first are indented by two more columns.

    >>> wrapped("model bias score 0.100 [0.050, 0.200], allowed <= 0.3", 40)
    ['model bias score 0.100 [0.050, 0.200],', '  allowed <= 0.3']
    """
    if width is None or width < NARROWEST or len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    glued = TOGETHER.sub(lambda match: match[0].replace(" ", GLUE), line)
    lines = textwrap.wrap(
        glued.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [part.replace(GLUE, " ") for part in lines]
