"""An answer that lies in a file: of a model that was asked elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import read_text, user_path
from pytest_t2i.protocols import LoadOptions


def load(options: LoadOptions) -> Written:
    """The file of ``source``.

    Raises ConfigurationError where none is named, FileFormatError where it cannot be read.
    """
    if not options.source:
        raise ConfigurationError("the language adapter file needs a file: --llm file:answer.json")
    file = user_path(options.source)
    return Written(read_text(file, kind="file with an answer"), str(file))


class Written:
    """A written answer; obeys Language."""

    def __init__(self, text: str, answer_file: str) -> None:
        self._text = text
        self.fingerprint = digest(["written", text])
        self.answer_file = answer_file
        """Where the answer lies, whatever is asked: asking again does not change it."""

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        """What stands in the file, whatever is asked."""
        del question, schema
        return self._text
