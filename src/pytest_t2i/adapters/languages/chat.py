"""Chat with a model behind an endpoint with OpenAI's protocol, by a schema where it takes one.

Judges of pictures and language models ask in this way. The protocol is small, and what a library
would add, repeated requests, is what ``PaidRequests`` does without paying twice.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from pytest_t2i.adapters.endpoints.answers import (
    BAD_REQUEST,
    UNPROCESSABLE,
    FinalFaultError,
    fault_in,
)
from pytest_t2i.adapters.endpoints.shapes import at
from pytest_t2i.adapters.languages.reasoning import without_reasoning
from pytest_t2i.adapters.loading import needs
from pytest_t2i.protocols import AnswerLimits

with needs("a language model behind HTTP", "llm"):
    from pytest_t2i.adapters.endpoints.http_client import Call, HttpClient

REPORTED = ("model", "system_fingerprint")
"""Fields of an answer that tell the version."""
REASONINGS = ("reasoning_content", "reasoning")
"""Fields of a message with the model's reasoning, which is never an answer."""
NO_MESSAGE = "the answer's choice has no message"


class ChatAnswer(NamedTuple):
    """One answer of a model."""

    text: str = ""
    refusal: str = ""
    """The model's words where its policy forbids an answer; "" otherwise."""
    problem: str = ""
    """What the answer lacks; "" where it has a whole text."""
    versions: Mapping[str, str] = {}
    """The version that the answer reports, in the model's words."""


class Chat:
    """A model behind an endpoint; fields that the server does not take are left out later."""

    def __init__(
        self,
        model: str,
        address: str,
        key: Callable[[], str],
        limits: AnswerLimits,
        say: Callable[[str], object],
    ) -> None:
        """Args: the model's name there, the base URL, the key, limits, and who is told."""
        self._model, self._key, self._say = model, key, say
        self._client, self._lock = HttpClient(address, limits), Lock()
        self.left_out: frozenset[str] = frozenset()
        """Fields that the server does not take."""

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        seconds: float,
        *,
        learns: bool = True,
        **optional: Any,
    ) -> ChatAnswer:
        """Ask once. ``optional`` are fields that the server may not take.

        With ``learns`` a question that is refused for them is asked without, and they are left out
        from then on where that is answered. Raises the error that an answer holds in the place of a
        message.
        """
        until = time.monotonic() + seconds
        sent = {name: value for name, value in optional.items() if name not in self.left_out}
        refused: set[str] = set()
        while True:
            try:
                answer = self._once(messages, sent, until)
                break
            except FinalFaultError as error:
                names = _refused_fields(error, sent)
                if not learns or not names:
                    raise
                refused |= names
                sent = {name: value for name, value in sent.items() if name not in names}
        with self._lock:
            new, self.left_out = sorted(refused - self.left_out), self.left_out | refused
        for name in new:
            self._say(f"does not take {name.replace('_', ' ')}, which is left out")
        return answer

    def _once(
        self, messages: Sequence[Mapping[str, Any]], sent: Mapping[str, Any], until: float
    ) -> ChatAnswer:
        body = {"model": self._model, "messages": messages, "stream": False, **sent}
        call = Call("chat/completions", body, headers=self._headers)
        return _read(self._client.answer(call, max(until - time.monotonic(), 0.001)))

    def models(self, seconds: float) -> Any:
        return self._client.answer(Call("models", headers=self._headers, method="GET"), seconds)

    @property
    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._key()}"} if self._key() else {}


def by_schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field ``response_format`` for an answer by a JSON schema.

    >>> by_schema("answer", {})["type"]
    'json_schema'
    """
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": schema},
    }


def _refused_fields(error: FinalFaultError, sent: Mapping[str, Any]) -> set[str]:
    """The fields for which a question may have been refused: those that are named, else all."""
    if error.status not in {BAD_REQUEST, UNPROCESSABLE}:
        return set()
    refused = {n for n in sent if re.search(rf"\b{n}\b|\b{n.partition('_')[0]}\b", str(error))}
    return refused or {*sent}


def _read(answer: Any) -> ChatAnswer:
    """What an answer says; raises the error that it holds in the place of a message."""
    choice = at(at(answer, "choices"), 0)
    message = at(choice, "message")
    if not isinstance(message, Mapping):
        text = answer if isinstance(answer, bytes) else json.dumps(answer)
        if fault := fault_in(text):
            raise fault
        choices = at(answer, "choices")
        has_choice = isinstance(choices, list) and choices
        return ChatAnswer(problem=NO_MESSAGE if has_choice else "the answer has no choice")
    versions = {name: words for name in REPORTED if (words := at(answer, name))}
    content, refusal, end = (
        at(message, "content"), at(message, "refusal"), at(choice, "finish_reason"),
    )  # fmt: skip
    if isinstance(content, list):
        parts = [at(p, "text") for p in content if at(p, "type") not in {"thinking", "reasoning"}]
        content = " ".join(part for part in parts if isinstance(part, str))
    if end == "content_filter" or (isinstance(refusal, str) and refusal):
        words = refusal if isinstance(refusal, str) and refusal else "the content filter"
        return ChatAnswer(refusal=" ".join(words.split()), versions=versions)
    text, problem = without_reasoning(content) if isinstance(content, str) else "", ""
    if end == "length":
        problem = "the answer was truncated at the endpoint's limit of tokens"
    elif "content" not in message:
        problem = NO_MESSAGE
    elif not isinstance(content, str):
        problem = "the answer's content is no text" if content else "the answer is empty"
    elif not text.strip():
        problem = "the answer is empty"
    if problem == "the answer is empty" and any(at(message, name) for name in REASONINGS):
        problem += " besides its reasoning"
    return ChatAnswer(text, problem=problem, versions=versions)
