"""Any endpoint that speaks OpenAI's protocol, through the ``openai`` library.

Base URL and key come from the environment and are neither logged nor stored; a message of the
endpoint that holds the key is not shown.
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
"""Environment variables."""
OPENAI = "https://api.openai.com/v1"
"""Where OpenAI's own endpoint is."""
TRIES = 6
"""Times that a busy or absent endpoint is asked again; the library waits in between."""
SECONDS = 120.0
"""Longest wait for one answer."""
NO_SCHEMA = (openai.BadRequestError, openai.UnprocessableEntityError)
"""HTTP 400 and 422: what a server says that knows no schema."""


def load(options: LoadOptions) -> Endpoint:
    """An endpoint's model.

    Args:
        options: ``source`` names the model there, such as "gpt-4o". ``extra`` may hold ``seconds``.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: no model is named, or the environment holds no key or no address.
    """
    if not options.source:
        raise ConfigurationError("the language adapter openai needs a model: --llm openai:NAME")
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise ConfigurationError(
            f"openai:{options.source} needs the environment variable {KEY}, and {BASE_URL} where "
            "the endpoint is not OpenAI's. An endpoint that asks for no key takes any word."
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"{KEY}: expected printable ASCII")
    # At its lowest level the library writes whole requests.
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
    # The library closes only what it made itself.
    weakref.finalize(client, http.close)
    return client


class Endpoint:
    """One model behind an endpoint; obeys Language."""

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
        """Hash of the address and of the model's name: what answers there may change unseen."""
        return digest(["openai", str(self._client.base_url), self._model])

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The answer to one question; as JSON by the schema, where the endpoint takes one.

        Raises:
            MalformedAnswerError: the answer is cut off, empty, refused or not as the protocol says,
                or holds the key; asking again may help.
            LanguageError: the endpoint does not answer, or refuses the request.
        """
        try:
            return self._without_key(self._told(self._asked(question, schema)))
        except NO_SCHEMA as error:
            if schema is None or not self._takes_schema:
                raise self._failure(error) from None
            # Servers of models of one's own often know no schema: the question says it, too.
            self._takes_schema = False
            return self.answer(question, schema)
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    def _asked(self, question: str, schema: Mapping[str, Any] | None) -> Any:
        how: dict[str, Any] = {}
        if schema is not None and self._takes_schema:
            named = {"name": "answer", "schema": schema, "strict": True}
            how["response_format"] = {"type": "json_schema", "json_schema": named}
        answered = self._within_deadline(
            lambda: self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=[{"role": "user", "content": question}], **how
            )
        )
        if is_cut(answered.http_response):
            raise LanguageError(
                f"{self._who} sends an answer of more than {self._limits.megabytes:g} MiB. See "
                "that it is a language model's; --answer-limit allows more."
            )
        try:
            return answered.parse()
        except (ValueError, RecursionError) as error:
            # Not the error's words: they may quote the body, and that the key.
            told = f"the answer's HTTP body is no whole JSON ({type(error).__name__})"
            raise MalformedAnswerError(told) from None

    def _within_deadline(self, ask: Callable[[], Any]) -> Any:
        """What the endpoint gives in time, all tries together."""
        try:
            return within(self._limits.seconds, ask, self._client.close)
        except DeadlinePassedError:
            self._client = self._connect()
            raise LanguageError(
                f"{self._who} gave no whole answer in {self._limits.seconds:g} seconds, all tries "
                "together. See how busy it is; --answer-deadline allows more time."
            ) from None

    @property
    def _who(self) -> str:
        return f"openai:{self._model}: {host(str(self._client.base_url))}"

    @staticmethod
    def _told(answered: Any) -> str:
        # The library checks no types: any of these may be absent or of another kind.
        choices = getattr(answered, "choices", None)
        if not choices or not isinstance(choices, list):
            raise MalformedAnswerError("the answer holds no choice")
        ended = getattr(choices[0], "finish_reason", None)
        message: Any = getattr(choices[0], "message", None)
        if getattr(message, "refusal", None) or ended == "content_filter":
            raise MalformedAnswerError("the model refused to answer")
        if ended == "length":
            raise MalformedAnswerError("the answer was cut off at the endpoint's limit of tokens")
        if not hasattr(message, "content"):
            raise MalformedAnswerError("the answer's choice holds no message")
        if not message.content:
            raise MalformedAnswerError("the answer is empty")
        if not isinstance(message.content, str):
            raise MalformedAnswerError("the answer's content is no text")
        return message.content

    def _without_key(self, content: str) -> str:
        """The content, which would go into messages, further questions and files."""
        if holds(content, self._key):
            raise MalformedAnswerError("the answer holds the key and is not shown")
        return content

    def _failure(self, error: Exception) -> LanguageError:
        """What went wrong, without the key, whose words an endpoint may echo."""
        if isinstance(error, openai.APIConnectionError):
            return self._silence(error)
        status = getattr(error, "status_code", None)
        told = str(error)
        told = "its message holds the key and is not shown" if self._key in told else told[:300]
        code = f" (HTTP {status})" if status else ""
        return LanguageError(f"openai:{self._model}: {type(error).__name__}{code}: {told}")

    def _silence(self, error: Exception) -> LanguageError:
        """Nobody answers, or breaks off: who was asked, how often, and what the network says."""
        times = self._client.max_retries + 1
        asked = "once" if times == 1 else f"{times} times"
        told = str(error.__cause__ or error)
        why = "" if self._key in told else f"; {type(error.__cause__ or error).__name__}: {told}"
        return LanguageError(
            f"{self._who} does not answer (asked "
            f"{asked}{why[:300]}). See that it runs, and that {BASE_URL} names it."
        )
