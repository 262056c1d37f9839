"""Language models behind any endpoint with OpenAI's protocol.

Base URL and key come from the environment and are neither logged nor stored. Messages of the
endpoint that contain the key are not shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pytest_t2i.adapters.languages.chat import Chat, ChatAnswer, by_schema
from pytest_t2i.adapters.support.addresses import base_url
from pytest_t2i.adapters.support.answers import BrokenPictureError
from pytest_t2i.adapters.support.hosts import netloc
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.adapters.support.paid_requests import PaidRequests, RemoteService
from pytest_t2i.adapters.support.parallel_calls import Pace
from pytest_t2i.adapters.support.secrets import secrets_of
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, LanguageError, MalformedAnswerError, T2IError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

with needs("the language adapter openai", "llm"):
    import httpx

KEY, BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""Environment variables of key and address."""
OPENAI = "https://api.openai.com/v1"
"""Address of OpenAI's own endpoint."""


def load(options: LoadOptions) -> Endpoint:
    """Load a language model behind an endpoint.

    Args:
        options: ``source`` is the model's name there, such as "gpt-4o"; ``answers`` has the limits
            of an answer.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: no model is named, or the key or address in the environment is missing
            or invalid.
    """
    if not options.source:
        raise ConfigurationError(
            "--llm openai: expected the name of a model, got none: write --llm openai:NAME"
        )
    key = _key()
    if not key:
        raise ConfigurationError(
            f"openai:{options.source} needs the environment variable {KEY}, and {BASE_URL} where "
            "the endpoint is not OpenAI's. For an endpoint without keys set any word."
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"{KEY}: expected printable ASCII characters, got others: set the variable again"
        )
    address = base_url(os.environ.get(BASE_URL, ""), BASE_URL, key) or OPENAI
    return Endpoint(options.source, address, options.answers)


def _key() -> str:
    return os.environ.get(KEY, "").strip()


class Endpoint(RemoteService[ChatAnswer]):
    """A Language: one model behind an endpoint."""

    nature = "a language model"

    def __init__(self, model: str, address: str, limits: AnswerLimits) -> None:
        """Args: the model's name there, the base URL, and limits of answers."""
        self._model, self._address = model, address
        self._secrets = secrets_of(_key(), address)
        self._requests = PaidRequests[ChatAnswer](self, limits, self._secrets)
        self._chat, self._pace = Chat(model, address, _key, limits, self.say), Pace(most=1)

    def __str__(self) -> str:
        return f"openai:{self._model} at {netloc(self._address)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def fingerprint(self) -> str:
        """Hash of the address and the model's name; the model behind them may change unseen."""
        return digest(["openai", f"{str(httpx.URL(self._address)).rstrip('/')}/", self._model])

    def failure(self, words: str, remedy: str) -> T2IError:
        """The error of a language model; commands name the limits without "t2i"."""
        return LanguageError(f"{self}: {words}.{remedy}".replace("--t2i-", "--"))

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """Answer a question, as JSON by the schema where the endpoint supports schemas.

        Raises LanguageError where there is no answer, MalformedAnswerError for one without a text.
        """
        # The question describes the schema, too, for servers that do not support schemas.
        optional: dict[str, Any] = {}
        if schema:
            optional["response_format"] = by_schema("answer", schema)
        messages = [{"role": "user", "content": question}]

        def ask(seconds: float) -> ChatAnswer:
            try:
                return self._chat.ask(messages, seconds, **optional)
            except BrokenPictureError as error:
                if error.kind != "broken":
                    raise
                # Who asks asks again, and says what was wrong: this answer may have been paid.
                return ChatAnswer(problem=f"the answer's HTTP body is no whole JSON: {error}")

        reply = self._requests.send(ask, self._pace)
        problem = "the model refused to answer" if reply.refusal else reply.problem
        if not problem and self._secrets.are_in(reply.text):
            problem = "the answer contains the key and is not shown"
        if problem:
            raise MalformedAnswerError(problem)
        return reply.text
