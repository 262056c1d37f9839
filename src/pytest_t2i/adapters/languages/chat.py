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

from pytest_t2i.adapters.support.answers import (
    BAD_REQUEST,
    UNPROCESSABLE,
    FinalFaultError,
    fault_in,
)
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.protocols import AnswerLimits

with needs("a language model behind HTTP", "llm"):
    from pytest_t2i.adapters.support.http_client import Call, HttpClient

REPORTED = ("model", "system_fingerprint")
"""Fields of an answer that tell the version."""
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
        self._not_taken: set[str] = set()

    def ask(
        self, messages: Sequence[Mapping[str, Any]], seconds: float, **optional: Any
    ) -> ChatAnswer:
        """Ask once. ``optional`` are fields that the server may not take.

        Raises the error that an answer holds in the place of a message.
        """
        until = time.monotonic() + seconds
        sent = {name: value for name, value in optional.items() if name not in self._not_taken}
        body = {"model": self._model, "messages": messages, "stream": False, **sent}
        call = Call("chat/completions", body, headers=self._headers)
        try:
            return _read(self._client.answer(call, max(seconds, 0.001)))
        except FinalFaultError as error:
            name = _refused_field(str(error), sent)
            if name is None:
                raise
            with self._lock:
                is_new = name not in self._not_taken
                self._not_taken.add(name)
        if is_new:
            self._say(f"does not take {name.replace('_', ' ')}, which is left out")
        return self.ask(messages, until - time.monotonic(), **optional)

    def models(self, seconds: float) -> Any:
        """The answer to ``GET /models``."""
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


def _refused_field(words: str, sent: Mapping[str, Any]) -> str | None:
    """A field that the server does not take; None where the error is another one."""
    if not words.startswith((f"HTTP {BAD_REQUEST}", f"HTTP {UNPROCESSABLE}")):
        return None
    named = (name for name in sent if re.search(rf"\b{name}\b|\b{name.partition('_')[0]}\b", words))
    # Some servers do not say which field it is; schemas are the one that most of them lack.
    return next(named, next(iter(sent), None))


def _read(answer: Any) -> ChatAnswer:
    """What an answer says; raises the error that it holds in the place of a message."""
    choice = _at(_at(answer, "choices"), 0)
    message = _at(choice, "message")
    if not isinstance(message, Mapping):
        text = answer if isinstance(answer, bytes) else json.dumps(answer)
        if fault := fault_in(text):
            raise fault
        choices = _at(answer, "choices")
        has_choice = isinstance(choices, list) and choices
        return ChatAnswer(problem=NO_MESSAGE if has_choice else "the answer has no choice")
    versions = {name: words for name in REPORTED if (words := _at(answer, name))}
    content, refusal, end = (
        _at(message, "content"), _at(message, "refusal"), _at(choice, "finish_reason"),
    )  # fmt: skip
    if isinstance(content, list):
        parts = [_at(part, "text") for part in content]
        content = " ".join(part for part in parts if isinstance(part, str))
    if end == "content_filter" or (isinstance(refusal, str) and refusal):
        words = refusal if isinstance(refusal, str) and refusal else "the content filter"
        return ChatAnswer(refusal=" ".join(words.split()), versions=versions)
    text, problem = content if isinstance(content, str) else "", ""
    if end == "length":
        problem = "the answer was truncated at the endpoint's limit of tokens"
    elif "content" not in message:
        problem = NO_MESSAGE
    elif not isinstance(content, str):
        problem = "the answer's content is no text" if content else "the answer is empty"
    elif not text:
        problem = "the answer is empty"
    return ChatAnswer(text, problem=problem, versions=versions)


def _at(value: Any, name: str | int) -> Any:
    """A value in an answer; None where the answer has another shape."""
    if isinstance(value, Mapping) and isinstance(name, str):
        return value.get(name)
    if isinstance(value, list) and isinstance(name, int) and name < len(value):
        return value[name]
    return None
