"""A model behind an endpoint with OpenAI's chat protocol, for companions that ask it in words.

Base URL and key come from the environment and are neither logged nor stored. Messages of the
endpoint that contain the key are not shown.
"""

from __future__ import annotations

import os
from typing import Any

from pytest_t2i.adapters.endpoints.addresses import base_url, netloc
from pytest_t2i.adapters.endpoints.answers import BrokenPictureError
from pytest_t2i.adapters.endpoints.paid_requests import PaidRequests, RemoteService
from pytest_t2i.adapters.endpoints.parallel_calls import Pace
from pytest_t2i.adapters.endpoints.secrets import secrets_of
from pytest_t2i.adapters.languages.chat import Chat, ChatAnswer
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, LanguageError, MalformedAnswerError, T2IError
from pytest_t2i.protocols import AnswerLimits

with needs("a language model behind HTTP", "llm"):
    import httpx


class ChatEndpoint(RemoteService[ChatAnswer]):
    """One model behind an endpoint with OpenAI's chat protocol; a base class of language models.

    A question is repeated while the endpoint is busy, and given up at its deadline. No message, no
    fingerprint and no answer shows the key. A subclass may name other environment variables.

    Args:
        model: the model's name there.
        limits: limits of an answer.

    Raises:
        ConfigurationError: the key or the address in the environment is missing or invalid.

    >>> from pytest_t2i import AnswerLimits
    >>> class Mine(ChatEndpoint):
    ...     name, key_variable = "mine", "KEY_OF_MY_SERVICE"
    >>> Mine("m", AnswerLimits())
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.ConfigurationError: mine:m needs the environment variable KEY_OF_MY_SERVICE...
    """

    nature = "a language model"
    name = "openai"
    """Name of the adapter, in messages and in the fingerprint."""
    key_variable = "OPENAI_API_KEY"
    """Environment variable of the key."""
    address_variable = "OPENAI_BASE_URL"
    """Environment variable of the address."""
    usual_address = "https://api.openai.com/v1"
    """The address where the variable is not set."""

    def __init__(self, model: str, limits: AnswerLimits) -> None:
        self._model = model
        key = self._key()
        if not key:
            raise ConfigurationError(
                f"{self.name}:{model} needs the environment variable {self.key_variable}, and "
                f"{self.address_variable} where the endpoint is not at {self.usual_address}. For "
                "an endpoint without keys set any word."
            )
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError(
                f"{self.key_variable}: expected printable ASCII characters, got others: set the "
                "variable again"
            )
        address = os.environ.get(self.address_variable, "")
        self._address = base_url(address, self.address_variable, key) or self.usual_address
        self._secrets = secrets_of(key, self._address)
        self._requests = PaidRequests[ChatAnswer](self, limits, self._secrets)
        self._pace = Pace(most=1)
        self._chat = Chat(model, self._address, self._key, limits, self.say)

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip()

    def __str__(self) -> str:
        return f"{self.name}:{self._model} at {netloc(self._address)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def fingerprint(self) -> str:
        """Hash of the address and the model's name; the model behind them may change unseen."""
        return digest([self.name, f"{str(httpx.URL(self._address)).rstrip('/')}/", self._model])

    def failure(self, words: str, remedy: str) -> T2IError:
        """The error of an endpoint that cannot be used."""
        return LanguageError(f"{self}: {words}.{remedy}")

    def ask(self, question: str, **fields: Any) -> str:
        """Ask a question and return the answer, without the model's reasoning.

        Args:
            question: the message of the user.
            fields: further fields of the request, such as ``response_format``. One that the server
                does not take is left out.

        Raises:
            MalformedAnswerError: the answer is refused, cut off, empty or contains the key.
            LanguageError: the endpoint gives no answer.
        """
        messages = [{"role": "user", "content": question}]

        def ask(seconds: float) -> ChatAnswer:
            try:
                return self._chat.ask(messages, seconds, **fields)
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
