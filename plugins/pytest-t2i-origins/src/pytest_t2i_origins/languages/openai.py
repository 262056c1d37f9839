"""Language models behind any endpoint with OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_t2i import ChatEndpoint, LoadOptions, T2IError


def load(options: LoadOptions) -> Endpoint:
    """Load a language model behind an endpoint.

    Args:
        options: ``source`` is the model's name there, such as "gpt-4o"; ``answers`` has the limits
            of an answer.

    Raises:
        T2IError: no model is named, the key or address in the environment is missing or invalid,
            or the library is not installed.
    """
    if not options.source:
        raise T2IError(
            "--llm openai: expected the name of a model, got none: write --llm openai:NAME"
        )
    return Endpoint(options.source, options.answers)


class Endpoint(ChatEndpoint):
    """A Language: one model behind an endpoint."""

    def failure(self, words: str, remedy: str) -> T2IError:
        """The error of a language model; commands name the limits without "t2i"."""
        return super().failure(words, remedy.replace("--t2i-", "--"))

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """Answer a question, as JSON by the schema where the endpoint supports schemas.

        Raises LanguageError where there is no answer, MalformedAnswerError for one without a text.
        """
        # The question describes the schema, too, for servers that do not support schemas.
        if not schema:
            return self.ask(question)
        named = {"name": "answer", "strict": True, "schema": schema}
        return self.ask(question, response_format={"type": "json_schema", "json_schema": named})
