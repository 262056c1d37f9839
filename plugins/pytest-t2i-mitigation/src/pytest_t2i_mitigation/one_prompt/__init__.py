"""Pictures of one prompt with and without a mitigation, from the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError, load

from pytest_t2i_mitigation.one_prompt.make import Pair, pairs
from pytest_t2i_mitigation.one_prompt.page import counted, how, write

PICTURES = 4
"""The default number of seeds."""


def show(
    model: str,
    mitigations: Sequence[str],
    prompt: str,
    report: Path,
    options: Mapping[str, Any],
) -> int:
    """Make the pictures, print the result of each seed, and write the page; return 0.

    Raises T2IError for arguments that do not fit, and pictures that cannot be made.
    """
    if len(mitigations) != 1:
        raise T2IError(
            "expected one --mitigation beside a prompt, such as --mitigation random-counterpart; "
            "t2i list mitigations lists them"
        )
    told = dict(options)
    count, first = told.pop("images", PICTURES), told.pop("seed", 0)
    if count < 1 or first < 0:
        raise T2IError(
            f"expected --images of 1 or more and --seed of 0 or more, got {count} and {first}"
        )
    loaded = load(model, mitigation=mitigations[0], **told)
    _say(
        f"{count} seeds; a picture with the mitigation costs {loaded.passes:.3g} times a plain one"
    )
    made = []
    for pair in pairs(loaded, prompt, range(first, first + count)):
        made.append(pair)
        _say(_line(pair))
    _say(counted(made))
    _say(f"page: {write(report, prompt, mitigations[0], loaded, made)}")
    return 0


def _line(pair: Pair) -> str:
    before, after = (one.label or "undetected" for one in pair.said[:2])
    return f"seed {pair.request.seed}: {before} -> {after}  {how(pair)}".rstrip()


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command line tool
