"""The canary: pictures of fixed prompts, made at the start and compared with the baseline's.

A service may change the model behind a name without notice. The pictures of fixed prompts and seeds
show such a change, by tests that are valid at every look (``statistics.sequential.canary``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from filelock import FileLock

from pytest_t2i.adapters.support.black_or_unreadable import gate
from pytest_t2i.data import FactKind, Generated, Request, Undetected, digest, sign_of
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.check_pictures import as_generated
from pytest_t2i.generation.detect import detections_of
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.seeds import LEAST
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.runs.session import Session
from pytest_t2i.statistics import canary as tests
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.canary_prompts import (
    REPEATS,
    SIDE,
    CanaryPicture,
    CanaryPrompt,
    as_plain,
    read_canary,
)

SEED = 20271
"""Seed of the first picture of each fixed prompt."""
LATEST = 50
"""Number of the latest looks whose labels are tested together."""
CHANGED = "warning: the model has changed"
"""The beginning of the message about a changed model."""


@dataclass(frozen=True, slots=True)
class Looks:
    """The store's record of all looks at the canary of one baseline."""

    count: int = 0
    signs: list[list[int]] = field(default_factory=list)
    """[look][prompt] sign (-1, 0 or 1) of each picture, for the latest looks."""
    changed: str = ""
    """Time at which a change was first found; "" if none was."""


@dataclass(frozen=True, slots=True)
class CanaryComparison:
    """The result of one look."""

    look: int
    prompts: int
    odd: int
    """Number of pictures farther from both of the baseline's than these from each other."""
    p_value: float
    """p-value of all tests of the look together."""
    level: float
    """Largest p-value that counts as a change."""
    changed: str
    """Time at which a change was first found; "" if none was."""
    requests: int
    words: str = ""


def look_at_canary(session: Session, recorded: Baseline | None, runner: Runner) -> None:
    """Make the canary's pictures, compare them with the baseline's, and keep them for a new one.

    Only one process of a run does so. Raises ConfigurationError when the baseline has no canary, or
    a smaller one.
    """
    count = session.settings.canary
    if not (count and session.needs_model):
        return
    before = _before(recorded, count)
    if recorded is not None and (reason := _not_alike(session, recorded)):
        runner.progress.say(f"no canary is compared: {reason}")
        session.work.notes.append(f"no canary is compared: {reason}")
        before = ()
        if session.settings.save_baseline is None:
            return
    with FileLock(session.store.folder / "locks" / "canary"):
        if session.store.fact(_of_run(session)) is not None:
            return
        prompts = before or _fixed(count)
        rounds = REPEATS if session.settings.save_baseline is not None else 1
        requests = rounds * count
        left_out = "no canary is asked for"
        bill = runner.bill
        if bill is not None and (reason := bill.cannot_pay(requests, left_out)):
            runner.progress.say(reason)
            return
        cost = "" if bill is None else f" for {bill.of(requests)}"
        runner.progress.say(f"canary: asking for {requests} pictures{cost}")
        rows = _pictures(session, prompts, rounds)
        session.work.canary += requests
        compared = (
            _compare(session, before, [of_prompt[0] for of_prompt in rows], requests)
            if before
            else None
        )
        if compared is not None:
            runner.progress.say(f"canary: {compared.words}")
        now = [
            CanaryPrompt(prompt.text, prompt.seed, tuple(pictures))
            for prompt, pictures in zip(prompts, rows, strict=True)
        ]
        session.store.remember(
            _of_run(session),
            {
                "compared": None if compared is None else msgspec.to_builtins(compared),
                "recorded": as_plain(now) if rounds == REPEATS else [],
            },
        )


def canary_values(session: Session) -> dict[str, Any] | None:
    """Return the result of this run's canary as plain values; None if none was compared."""
    fact = session.store.fact(_of_run(session)) if session.settings.canary else None
    result: dict[str, Any] | None = None if fact is None else fact["compared"]
    return result


def recorded_canary(session: Session) -> tuple[CanaryPrompt, ...]:
    """Return the canary of this run for a new baseline; () if the run has none."""
    fact = session.store.fact(_of_run(session)) if session.settings.canary else None
    return () if fact is None else read_canary(session.store.folder, fact["recorded"])


def forget_canary(session: Session) -> None:
    """Remove the canary of this run from the store, once the run's record is written."""
    session.store.forget(_of_run(session))


def _of_run(session: Session) -> str:
    components = session.components
    return FactKind.CANARY_OF_RUN.of(components.run_id or components.own_id)


def _before(recorded: Baseline | None, count: int) -> tuple[CanaryPrompt, ...]:
    if recorded is None:
        return ()
    if len(recorded.canary) < count:
        has = f"a canary of {len(recorded.canary)}" if recorded.canary else "no canary"
        raise ConfigurationError(
            f"--t2i-canary {count}: the baseline {recorded.file} has {has}. Record one with "
            f"--t2i-save-baseline {recorded.file} --t2i-canary {count}"
            + (f", or ask for {len(recorded.canary)}" if recorded.canary else "")
        )
    return recorded.canary[:count]


def _not_alike(session: Session, recorded: Baseline) -> str:
    """Return why the pictures would differ even if the model had not changed, else ""."""
    names = (session.settings.under_test, recorded.model)
    mine, theirs = (name.partition("@")[0] for name in names)
    if mine != theirs:
        return f"the baseline is of another model, {recorded.model}"
    if recorded.conditions.get("generation") != asdict(session.generation):
        return "the baseline was made under other settings"
    return ""


def _fixed(count: int) -> tuple[CanaryPrompt, ...]:
    """Return fixed prompts of people, which no policy forbids and a detector can label."""
    texts = [prompt.text for prompt in builtin_axes().profession.prompts()]
    return tuple(
        CanaryPrompt(texts[k % len(texts)], SEED + k // len(texts), ()) for k in range(count)
    )


def _pictures(
    session: Session, prompts: Sequence[CanaryPrompt], rounds: int
) -> list[list[CanaryPicture]]:
    """Make the pictures anew, whatever the store has; return them as [prompt][round]."""
    model: Any = session.components.model().get()
    requests = [Request(prompt.text, prompt.seed, session.generation) for prompt in prompts]
    rounds_of_pictures = [
        _seen(session, list(as_generated(model.generate(requests)))) for _ in range(rounds)
    ]
    return [list(of_prompt) for of_prompt in zip(*rounds_of_pictures, strict=True)]


def _seen(session: Session, generated: Sequence[Generated]) -> list[CanaryPicture]:
    gated = [Undetected.REFUSED if g.image is None else gate(g.image) for g in generated]
    images = [picture for picture in gated if not isinstance(picture, Undetected)]
    ref = DetectorRef(session.detectors[0])
    detections = iter(detections_of(session.components, ref, images))
    return [
        CanaryPicture(
            None if g.image is None else _thumbnail(g.image),
            0 if isinstance(picture, Undetected) else sign_of(next(detections).said),
        )
        for g, picture in zip(generated, gated, strict=True)
    ]


def _thumbnail(image: Any) -> bytes:
    from PIL.Image import Resampling

    return bytes(image.convert("RGB").resize((SIDE, SIDE), Resampling.BOX).tobytes())


def distance(one: bytes | None, other: bytes | None) -> float:
    """Return the mean absolute difference of two thumbnails' colours, from 0 to 255.

    The distance is 0 if no value differs by 2 or more. None, a refused picture, is at distance 255
    from any thumbnail.

    >>> distance(bytes(192), bytes(192)), distance(None, None), distance(None, bytes(192))
    (0.0, 0.0, 255.0)
    """
    if one is None or other is None:
        return 0.0 if one is other else 255.0
    import numpy as np

    first, second = (
        np.frombuffer(thumbnail, np.uint8).astype(np.int16) for thumbnail in (one, other)
    )
    apart = np.abs(first - second)
    return float(apart.mean()) if apart.max() >= LEAST else 0.0


def count_odd_pictures(before: Sequence[CanaryPrompt], now: Sequence[CanaryPicture]) -> tests.Odd:
    """Count today's pictures that are farther from both of the baseline's than those are apart."""
    then, today = [], []
    for prompt, picture in zip(before, now, strict=True):
        first, second = (earlier.thumbnail for earlier in prompt.pictures)
        then.append(distance(first, second))
        today.append([distance(earlier, picture.thumbnail) for earlier in (first, second)])
    return tests.odd_pictures(then, today)


def _compare(
    session: Session,
    before: Sequence[CanaryPrompt],
    now: Sequence[CanaryPicture],
    requests: int,
) -> CanaryComparison:
    import numpy as np

    name = FactKind.CANARY.of(digest(as_plain(before)))
    looks = _looks(session, name)
    look, signs = looks.count + 1, [*looks.signs, [picture.sign for picture in now]][-LATEST:]
    then = np.array([[picture.sign for picture in prompt.pictures] for prompt in before])
    pictures = count_odd_pictures(before, now)
    p_value = tests.smallest_of(
        [
            tests.odd_p_value(*pictures),
            tests.lean_p_value(then, np.array(signs[-1:]).T),
            tests.lean_p_value(then, np.array(signs).T),
        ]
    )
    level = tests.level_at(look, 1 - session.settings.confidence)
    today = datetime.now(UTC).isoformat(timespec="seconds")
    changed = looks.changed or (today if p_value <= level else "")
    session.store.remember(name, msgspec.to_builtins(Looks(look, signs, changed)))
    result = CanaryComparison(look, len(before), pictures.odd, p_value, level, changed, requests)
    return replace(result, words=_words(result, is_new=not looks.changed))


def _looks(session: Session, name: str) -> Looks:
    try:
        return msgspec.convert(session.store.fact(name) or {}, Looks)
    except msgspec.ValidationError:
        return Looks()


def _words(result: CanaryComparison, *, is_new: bool) -> str:
    odd = f"{result.odd} of {result.prompts} fixed pictures are not like the baseline's"
    numbers = f"{odd} (p = {result.p_value:.2g}, look {result.look})"
    if result.changed:
        when = "" if is_new else f", as was found {result.changed}"
        return (
            f"{CHANGED} since the baseline{when}: {numbers}. Pictures in the store may be of the "
            "earlier model: use another folder (--t2i-store) for today's pictures, and record a "
            "new baseline (--t2i-save-baseline)"
        )
    if (
        tests.smallest_of([tests.odd_p_value(result.prompts, result.prompts)] * tests.TESTS)
        > result.level
    ):
        return (
            f"{numbers}; after {result.look} looks, {result.prompts} prompts can no longer show a "
            "change: take more prompts, with a new baseline"
        )
    return f"no evidence that the model has changed: {numbers}"
