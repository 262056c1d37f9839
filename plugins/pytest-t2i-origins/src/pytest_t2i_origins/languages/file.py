"""A language model whose answer is read from a file, for models that run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_t2i import LoadOptions, T2IError, digest, read_text, user_path


def load(options: LoadOptions) -> Written:
    """Load the answer from the file ``source``.

    Raises T2IError without a file, and for a file that cannot be read.
    """
    if not options.source:
        raise T2IError(
            "--llm file: expected the name of a file, got none: write --llm file:answer.json"
        )
    file = user_path(options.source)
    return Written(read_text(file, kind="file with an answer"), str(file))


class Written:
    """A Language that always gives the answer in a file."""

    def __init__(self, text: str, answer_file: str) -> None:
        self._text = text
        self.fingerprint = digest(["written", text])
        self.answer_file = answer_file
        """The file. Repeating a question does not change the answer."""

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """The content of the file, whatever the question is."""
        del question, schema
        return self._text
