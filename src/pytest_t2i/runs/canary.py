"""The canary: pictures of fixed prompts, asked for at the start and compared with the baseline's.

A service may change the model behind a name and say nothing. What it draws for prompts and seeds
that stay the same tells it, by tests that hold at every look (``statistics.sequential.canary``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from filelock import FileLock

from pytest_t2i.adapters.support.black_or_unreadable import gate
from pytest_t2i.data import Generated, Request, Undetected, digest, sign_of
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.detect import detections_of
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.seed_probe import LEAST
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.runs.session import Session
from pytest_t2i.statistics.sequential import canary as tests
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
"""Looks whose pictures are taken together."""
CHANGED = "warning: the model has changed"
"""Begins what is said of a model that is not the baseline's."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What the store keeps of the looks at one baseline's canary."""

    count: int = 0
    signs: list[list[int]] = field(default_factory=list)
    """For each of the latest looks: the sign (-1, 0 or 1) of each prompt's picture."""
    changed: str = ""
    """When it was found that the model has changed; "" where it was not."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What one look found."""

    look: int
    prompts: int
    odd: int
    """Pictures that are farther from both of the baseline's than these are from each other."""
    p_value: float
    """p-value of all tests of the look."""
    level: float
    """What it had to be at most."""
    changed: str
    """When the change was first found; "" where none was."""
    requests: int
    words: str = ""


def look_at_canary(session: Session, recorded: Baseline | None, runner: Runner) -> None:
    """Ask for the pictures, compare them with the baseline's, and keep them for one to be recorded.

    Of the processes of one run one does so. Raises ConfigurationError where the baseline has no
    canary, or a smaller one.
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
        asked = before or _fixed(count)
        rounds = REPEATS if session.settings.save_baseline is not None else 1
        requests = rounds * count
        left_out = "no canary is asked for"
        bill = runner.bill
        if bill is not None and (reason := bill.cannot_pay(requests, left_out)):
            runner.progress.say(reason)
            return
        cost = "" if bill is None else f" for {bill.of(requests)}"
        runner.progress.say(f"canary: asking for {requests} pictures{cost}")
        seen = _pictures(session, asked, rounds)
        session.work.canary += requests
        compared = _compare(session, before, [one[0] for one in seen], requests) if before else None
        if compared is not None:
            runner.progress.say(f"canary: {compared.words}")
        now = [
            CanaryPrompt(prompt.text, prompt.seed, tuple(pictures))
            for prompt, pictures in zip(asked, seen, strict=True)
        ]
        session.store.remember(
            _of_run(session),
            {
                "compared": None if compared is None else msgspec.to_builtins(compared),
                "recorded": as_plain(now) if rounds == REPEATS else [],
            },
        )


def compared(session: Session) -> dict[str, Any] | None:
    """What the canary of this run found; None where none was compared."""
    known = session.store.fact(_of_run(session)) if session.settings.canary else None
    found: dict[str, Any] | None = None if known is None else known["compared"]
    return found


def recorded(session: Session) -> tuple[CanaryPrompt, ...]:
    """The canary of this run, for a baseline; () where none was asked for."""
    known = session.store.fact(_of_run(session)) if session.settings.canary else None
    return () if known is None else read_canary(session.store.folder, known["recorded"])


def forget(session: Session) -> None:
    """The run is over, and its record written."""
    session.store.forget(_of_run(session))


def _of_run(session: Session) -> str:
    components = session.components
    return f"canary-of-run:{components.run_id or components.own_id}"


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
    """Why pictures differ whether or not the model has changed; "" where they need not."""
    names = (session.settings.under_test, recorded.model)
    mine, theirs = (name.partition("@")[0] for name in names)
    if mine != theirs:
        return f"the baseline is of another model, {recorded.model}"
    if recorded.conditions.get("generation") != asdict(session.generation):
        return "the baseline was made under other settings"
    return ""


def _fixed(count: int) -> tuple[CanaryPrompt, ...]:
    """Prompts of people: nothing that a policy forbids, and something that a detector sees."""
    texts = [prompt.text for prompt in builtin_axes().profession.prompts()]
    return tuple(
        CanaryPrompt(texts[k % len(texts)], SEED + k // len(texts), ()) for k in range(count)
    )


def _pictures(
    session: Session, asked: Sequence[CanaryPrompt], rounds: int
) -> list[list[CanaryPicture]]:
    """[prompt][round]: what comes now, by the model itself, whatever the store has."""
    model: Any = session.components.model().get()
    requests = [Request(one.text, one.seed, session.generation) for one in asked]
    seen = [_seen(session, list(model.generate(requests))) for _ in range(rounds)]
    return [list(of_prompt) for of_prompt in zip(*seen, strict=True)]


def _seen(session: Session, generated: Sequence[Generated]) -> list[CanaryPicture]:
    gated = [Undetected.REFUSED if g.image is None else gate(g.image) for g in generated]
    images = [one for one in gated if not isinstance(one, Undetected)]
    ref = DetectorRef(session.detectors[0])
    said = iter(detections_of(session.components, ref, images))
    return [
        CanaryPicture(
            None if g.image is None else _thumbnail(g.image),
            0 if isinstance(one, Undetected) else sign_of(next(said).said),
        )
        for g, one in zip(generated, gated, strict=True)
    ]


def _thumbnail(image: Any) -> bytes:
    from PIL.Image import Resampling

    return bytes(image.convert("RGB").resize((SIDE, SIDE), Resampling.BOX).tobytes())


def distance(one: bytes | None, other: bytes | None) -> float:
    """Mean difference of two pictures' colours; 0 where none differs by 2 of 255 or more.

    >>> distance(bytes(192), bytes(192)), distance(None, None), distance(None, bytes(192))
    (0.0, 0.0, 255.0)
    """
    if one is None or other is None:
        return 0.0 if one is other else 255.0
    import numpy as np

    first, second = (np.frombuffer(each, np.uint8).astype(np.int16) for each in (one, other))
    apart = np.abs(first - second)
    return float(apart.mean()) if apart.max() >= LEAST else 0.0


def odd_pictures(before: Sequence[CanaryPrompt], now: Sequence[CanaryPicture]) -> tests.Odd:
    """How many of today's are farther from both of the baseline's than these from each other."""
    then, today = [], []
    for prompt, picture in zip(before, now, strict=True):
        first, second = (one.thumbnail for one in prompt.pictures)
        then.append(distance(first, second))
        today.append([distance(one, picture.thumbnail) for one in (first, second)])
    return tests.odd_pictures(then, today)


def _compare(
    session: Session,
    before: Sequence[CanaryPrompt],
    now: Sequence[CanaryPicture],
    requests: int,
) -> Compared:
    import numpy as np

    name = f"canary:{digest(as_plain(before))}"
    known = _looks(session, name)
    look, signs = known.count + 1, [*known.signs, [one.sign for one in now]][-LATEST:]
    then = np.array([[one.sign for one in prompt.pictures] for prompt in before])
    pictures = odd_pictures(before, now)
    p_value = tests.smallest_of(
        [
            tests.odd_p_value(*pictures),
            tests.lean_p_value(then, np.array(signs[-1:]).T),
            tests.lean_p_value(then, np.array(signs).T),
        ]
    )
    level = tests.level_at(look, 1 - session.settings.confidence)
    today = datetime.now(UTC).isoformat(timespec="seconds")
    changed = known.changed or (today if p_value <= level else "")
    session.store.remember(name, msgspec.to_builtins(Looks(look, signs, changed)))
    found = Compared(look, len(before), pictures.odd, p_value, level, changed, requests)
    return replace(found, words=_words(found, is_new=not known.changed))


def _looks(session: Session, name: str) -> Looks:
    try:
        return msgspec.convert(session.store.fact(name) or {}, Looks)
    except msgspec.ValidationError:
        return Looks()


def _words(found: Compared, *, is_new: bool) -> str:
    of = f"{found.odd} of {found.prompts} fixed pictures are not like the baseline's"
    told = f"{of} (p = {found.p_value:.2g}, look {found.look})"
    if found.changed:
        when = "" if is_new else f", as was found {found.changed}"
        return (
            f"{CHANGED} since the baseline{when}: {told}. Pictures in the store may be of the one "
            "before: another folder (--t2i-store) keeps today's apart, and a new baseline "
            "(--t2i-save-baseline) begins anew"
        )
    if (
        tests.smallest_of([tests.odd_p_value(found.prompts, found.prompts)] * tests.TESTS)
        > found.level
    ):
        return (
            f"{told}; so many looks at {found.prompts} prompts show no change any more: take more "
            "prompts, with a new baseline"
        )
    return f"nothing says that the model has changed: {told}"
