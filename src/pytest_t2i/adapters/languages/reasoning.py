"""Take the reasoning out of what a language model wrote."""

from __future__ import annotations

import re

from pytest_t2i.adapters.endpoints.answers import json_in

REASONED = re.compile(
    r"</(?:\w+:)?(?:think|thinking|thought|reason|reasoning|analysis)\s*>|\[/THINK\]|\u25c1/think\u25b7"
    r"|<\|channel\|>final\s*(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>|<channel\|>"
    r"|<\|end_of_thought\|>|<unused95>",
    re.IGNORECASE,
)
"""Marks at the end of a model's reasoning."""
REASONING = re.compile(
    r"<(?:\w+:)?(?:think|thinking|thought|reason|reasoning|analysis)\s*>|\[THINK\]|\u25c1think\u25b7"
    r"|<\|channel\|?>|<\|begin_of_thought\|>|<unused94>",
    re.IGNORECASE,
)
"""Marks at its begin."""


def without_reasoning(text: str) -> str:
    """What follows the last mark at the end of a model's reasoning, without further reasoning.

    Args:
        text: what a language model wrote, of which its reasoning may be a part.

    A text that is JSON is an answer, whatever marks it quotes.

    >>> without_reasoning("Perhaps {}?</think> {1}"), without_reasoning("<think>Perhaps {}")
    ('{1}', '')
    """
    if json_in(text.strip()) is not None:
        return text
    ends = list(REASONED.finditer(text))
    answer = REASONING.split(text[ends[-1].end() :] if ends else text, maxsplit=1)[0]
    return text if answer == text else answer.strip()
