"""Language models behind any endpoint with OpenAI's protocol, through the ``openai`` library.

Base URL and key come from the environment and are neither logged nor stored. Messages of the
endpoint that contain the key are not shown.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from pytest_t2i.adapters.languages.addresses import Waiting, base_url, holds, host
from pytest_t2i.adapters.support.http_limits import (
    PLAIN,
    DeadlinePassedError,
    cut_at,
    is_cut,
    within,
)
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, LanguageError, MalformedAnswerError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

with needs("the language adapter openai", "llm"):
    import openai

KEY, BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""Environment variables of key and address."""
OPENAI = "https://api.openai.com/v1"
"""Address of OpenAI's own endpoint."""
TRIES = 6
"""Number of repeated requests to a busy or absent endpoint; the library waits in between."""
SECONDS = 120.0
"""Longest wait for one answer, in seconds."""
NO_SCHEMA = (openai.BadRequestError, openai.UnprocessableEntityError)
"""Errors (HTTP 400 and 422) of a server that does not support schemas."""


def load(options: LoadOptions) -> Endpoint:
    """Load a language model behind an endpoint.

    Args:
        options: ``source`` is the model's name there, such as "gpt-4o"; ``extra`` may have
            ``seconds``, the longest wait for an answer.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: no model is named, or the key or address in the environment is missing
            or invalid.
    """
    if not options.source:
        raise ConfigurationError(
            "--llm openai: expected the name of a model, got none: write --llm openai:NAME"
        )
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise ConfigurationError(
            f"openai:{options.source} needs the environment variable {KEY}, and {BASE_URL} where "
            "the endpoint is not OpenAI's. For an endpoint without keys set any word."
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"{KEY}: expected printable ASCII characters, got others: set the variable again"
        )
    # At its lowest level the library logs whole requests.
    logging.getLogger("openai").setLevel(logging.WARNING)
    address = base_url(os.environ.get(BASE_URL, ""), BASE_URL, key) or OPENAI
    return Endpoint(lambda: _client(options, key, address), options.source, key, options.answers)


def _client(options: LoadOptions, key: str, address: str) -> openai.OpenAI:
    waiting = Waiting(f"openai:{options.source}", host(address), TRIES + 1)
    hooks = {
        **waiting.hooks,
        "response": [*waiting.hooks["response"], cut_at(options.answers.bytes)],
    }
    http = openai.DefaultHttpxClient(event_hooks=hooks, headers=PLAIN)
    client = openai.OpenAI(
        api_key=key,
        base_url=address,
        max_retries=TRIES,
        timeout=float(options.extra.get("seconds", SECONDS)),
        http_client=http,
    )
    # The library does not close an HTTP client that it did not make.
    weakref.finalize(client, http.close)
    return client


class Endpoint:
    """A Language: one model behind an endpoint."""

    def __init__(
        self, connect: Callable[[], Any], model: str, key: str, limits: AnswerLimits
    ) -> None:
        self._connect, self._model, self._key, self._limits = connect, model, key, limits
        self._client = connect()
        self._takes_schema = True

    def __repr__(self) -> str:
        return f"<Endpoint of {self._model}>"

    @property
    def fingerprint(self) -> str:
        """Hash of the address and the model's name; the model behind them may change unseen."""
        return digest(["openai", str(self._client.base_url), self._model])

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """Answer a question, as JSON by the schema where the endpoint supports schemas."""
        try:
            return self._without_key(self._told(self._asked(question, schema)))
        except NO_SCHEMA as error:
            if schema is None or not self._takes_schema:
                raise self._failure(error) from None
            # Many servers do not support schemas; the question describes the schema, too.
            self._takes_schema = False
            return self.answer(question, schema)
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    def _asked(self, question: str, schema: Mapping[str, Any] | None) -> Any:
        how: dict[str, Any] = {}
        if schema is not None and self._takes_schema:
            answer_schema = {"name": "answer", "schema": schema, "strict": True}
            how["response_format"] = {"type": "json_schema", "json_schema": answer_schema}
        answered = self._within_deadline(
            lambda: self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=[{"role": "user", "content": question}], **how
            )
        )
        if is_cut(answered.http_response):
            raise LanguageError(
                f"{self._who}: expected an answer of at most {self._limits.megabytes:g} MiB, got a "
                "larger one. Check that the endpoint is a language model, or raise --answer-limit."
            )
        try:
            return answered.parse()
        except (ValueError, RecursionError) as error:
            # The error's own text may quote the body, which may contain the key.
            message = f"the answer's HTTP body is no whole JSON ({type(error).__name__})"
            raise MalformedAnswerError(message) from None

    def _within_deadline(self, ask: Callable[[], Any]) -> Any:
        """The endpoint's answer within the deadline for all attempts together."""
        try:
            return within(self._limits.seconds, ask, self._client.close)
        except DeadlinePassedError:
            self._client = self._connect()
            raise LanguageError(
                f"{self._who}: expected a complete answer within {self._limits.seconds:g} seconds, "
                "all attempts together, got none. Check the endpoint's load, or raise "
                "--answer-deadline."
            ) from None

    @property
    def _who(self) -> str:
        return f"openai:{self._model}: {host(str(self._client.base_url))}"

    @staticmethod
    def _told(answered: Any) -> str:
        # The library does not check types: any of these may be absent or of another type.
        choices = getattr(answered, "choices", None)
        if not choices or not isinstance(choices, list):
            raise MalformedAnswerError("the answer has no choice")
        ended = getattr(choices[0], "finish_reason", None)
        message: Any = getattr(choices[0], "message", None)
        if getattr(message, "refusal", None) or ended == "content_filter":
            raise MalformedAnswerError("the model refused to answer")
        if ended == "length":
            raise MalformedAnswerError("the answer was truncated at the endpoint's limit of tokens")
        if not hasattr(message, "content"):
            raise MalformedAnswerError("the answer's choice has no message")
        if not message.content:
            raise MalformedAnswerError("the answer is empty")
        if not isinstance(message.content, str):
            raise MalformedAnswerError("the answer's content is no text")
        return message.content

    def _without_key(self, content: str) -> str:
        """The content, which may be shown in messages; MalformedAnswerError if the key is in it."""
        if holds(content, self._key):
            raise MalformedAnswerError("the answer contains the key and is not shown")
        return content

    def _failure(self, error: Exception) -> LanguageError:
        """A LanguageError for an error of the library, without the key, which it may quote."""
        if isinstance(error, openai.APIConnectionError):
            return self._silence(error)
        status = getattr(error, "status_code", None)
        message = str(error)
        message = (
            "its message holds the key and is not shown" if self._key in message else message[:300]
        )
        code = f" (HTTP {status})" if status else ""
        return LanguageError(f"openai:{self._model}: {type(error).__name__}{code}: {message}")

    def _silence(self, error: Exception) -> LanguageError:
        """A LanguageError for an endpoint that does not answer, with the network's message."""
        times = self._client.max_retries + 1
        attempts = "once" if times == 1 else f"{times} times"
        message = str(error.__cause__ or error)
        why = (
            ""
            if self._key in message
            else f"; {type(error.__cause__ or error).__name__}: {message}"
        )
        return LanguageError(
            f"{self._who} does not answer (asked "
            f"{attempts}{why[:300]}). See that it runs, and that {BASE_URL} names it."
        )
